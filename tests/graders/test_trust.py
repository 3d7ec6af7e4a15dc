"""Which graders have no say in what is drawn anew: those with which known grades fall, or hardly rise."""

import numpy as np
import pytest

from activeeval import Rankings, generate_pool
from activeeval.core.pool.texts import Texts
from activeeval.formats.graders.grader_grades import Grades
from activeeval.inputs.choices import Choices
from activeeval.inputs.grader_values import distrusted, model_names, with_graders
from activeeval.inputs.loading import Inputs
from activeeval.inputs.prepared_case import _models

N_QUERIES = 60


def told(seed=0):
    """Return inputs, graders that follow people, turn them round or throw dice, and a third of the grades."""
    made, random = generate_pool(N_QUERIES, seed), np.random.default_rng(seed)
    pool, grades = made.pool, made.grades
    inputs = Inputs(pool, (Rankings.from_scores(pool, made.features[:, 0]),), grades, made.features)
    ids = {
        "query_ids": Texts.from_list([pool.query_ids[q] for q in pool.item_queries]),
        "item_ids": Texts.from_list(list(pool.item_ids)),
    }
    noisy = np.round(grades + random.normal(0, 1, grades.size))
    values = {"good": noisy, "turned": -noisy, "dice": random.integers(0, 5, grades.size).astype(np.float64)}
    graders = [Grades(**ids, values=value, name=name) for name, value in values.items()]
    known = np.where(random.random(grades.size) < 1 / 3, grades, -1)
    return with_graders(inputs, graders), graders, known


def test_noise_and_what_is_turned_round_are_found_and_good_graders_are_not():
    """Slopes of several hundred grades have standard errors below .15: one in a million of the three would go wrong."""
    inputs, graders, known = told()
    low, notes = distrusted(inputs, graders, known, 4)
    assert low == ["grader=turned", "grader=dice"]
    assert [note.code for note in notes] == ["grader distrusted"] * 2
    assert "turned" in str(notes[0].numbers["name"])


def test_few_known_queries_say_nothing():
    inputs, graders, known = told()
    few = np.where(inputs.pool.item_queries < 9, known, -1)
    assert distrusted(inputs, graders, few, 4) == ([], [])


@pytest.mark.parametrize(
    ("trust", "models", "regressors"),
    [
        ("auto", ("grader=good", "grader=turned"), ("grader=dice",)),
        ("regressor", ("uniform",), ("grader=good", "grader=turned", "grader=dice")),
        ("off", ("uniform",), ()),
    ],
)
def test_whom_nobody_trusts_is_a_regressor(trust, models, regressors):
    inputs, graders, _ = told()
    low = model_names(graders)[2:] if trust == "auto" else ()
    choices = Choices(grader_trust=trust)
    assert _models(choices, graders, inputs, low) == (models, regressors)
