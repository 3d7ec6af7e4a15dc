"""Every argument of Python that is one of some words, misspelt: one line that names the words, as click has it."""

from __future__ import annotations

import numpy as np
import pytest

import activeeval as ae
from activeeval.core.checks import one_of

RANDOM = np.random.default_rng(0)
GRADES = {f"q{q}": {f"d{d}": int(RANDOM.integers(0, 3)) for d in range(8)} for q in range(30)}
NEW, OLD = ({query: {doc: float(RANDOM.random()) for doc in row} for query, row in GRADES.items()} for _ in range(2))
ASKED = {"measure": "DCG@5", "max_grade": 2, "budget": 60}


def drawn(**changed):
    return ae.sample([NEW, OLD], **ASKED | changed)


def planned(**changed):
    return ae.plan([NEW, OLD], **ASKED | changed)


def compared(**changed):
    return ae.compare(OLD, NEW, judgments=GRADES, **{"measure": "DCG@5"} | changed)


def scored(**changed):
    return ae.score(GRADES, NEW, "DCG@5", **changed)


CASES = [
    (drawn, "questions", "diff", "difference, run, versus, got 'diff'; did you mean difference?"),
    (drawn, "questions", ["run", "verus"], "difference, run, versus, got 'verus'; did you mean versus?"),
    (planned, "questions", "diff", "difference, run, versus, got 'diff'"),
    (drawn, "weights", "minmax", "equal, sum, minimax, got 'minmax'; did you mean minimax?"),
    (planned, "weights", "foo", "equal, sum, minimax, got 'foo'"),
    (drawn, "adaptive_depth", "every", "each, 3, 1, off, got 'every'"),
    (drawn, "contrasts", "al", "all, first, got 'al'; did you mean all?"),
    (drawn, "ties", "name", "id, rank, input, got 'name'"),
    (planned, "scope", "pol", "pool, population, got 'pol'; did you mean pool?"),
    (compared, "scope", "foo", "pool, population, got 'foo'"),
    (compared, "unjudged", "irelevant", "error, irrelevant, got 'irelevant'; did you mean irrelevant?"),
    (compared, "ties", "ids", "id, rank, input, got 'ids'; did you mean id?"),
    (scored, "ties", "ids", "id, rank, input, got 'ids'; did you mean id?"),
    (scored, "no_relevant", "skp", "zero, skip, got 'skp'; did you mean skip?"),
]


@pytest.mark.parametrize(("call", "name", "word", "says"), CASES)
def test_a_misspelt_word_is_refused_with_those_that_there_are(call, name, word, says):
    options = {name: word} | ({"measure": "nDCG@5"} if name == "adaptive_depth" else {})
    with pytest.raises(ae.InputError) as refused:
        call(**options)
    assert f"{name}` must be one of {says}" in str(refused.value).replace(f"{name} must", f"{name}` must")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("call", "options", "says"),
    [
        (drawn, {"pool_depth": "ten"}, "`pool_depth` must be a positive whole number, got 'ten'"),
        (drawn, {"pool_depth": 0}, "`pool_depth` must be a positive whole number, got 0"),
        (drawn, {"seed": "a"}, "`seed` must be a whole number from 0, got 'a'"),
        (planned, {"seed": -1}, "`seed` must be a whole number from 0, got -1"),
        *((call, {"seed": seed}, "seed") for call in (drawn, planned, scored) for seed in (2**63, 10**25, True)),
        (drawn, {"measure": len}, "cannot read the measure"),
        (scored, {"test": "tt"}, "test"),
        (scored, {"correction": "holms"}, "correction"),
        (drawn, {"model": "forrest"}, "forest"),
        (drawn, {"method": "item"}, "items"),
    ],
)
def test_a_value_of_another_kind_is_refused_in_a_line(call, options, says):
    with pytest.raises(ae.InputError) as refused:
        call(**options)
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_word_is_one_of_some_whatever_the_type():
    assert one_of("a", ("a", "b"), "x") == "a"
    for value in (None, 3, ["a"], np.array(["a"])):
        with pytest.raises(ae.InputError, match="x must be one of a, b"):
            one_of(value, ("a", "b"), "x")
