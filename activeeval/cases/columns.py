"""What grade models look at beside features: the rankings' own scores, probabilities and grades that somebody gave."""

from __future__ import annotations

import numpy as np

from activeeval.cases.inputs import Inputs
from activeeval.errors import ChoiceError, InputError
from activeeval.grade_models import run_features
from activeeval.io.keys import positions_in
from activeeval.io.loading import load_probabilities
from activeeval.io.text.trec import Qrels
from activeeval.judgments import read
from activeeval.pool import QueryPool
from activeeval.types import Floats

GIVEN = ("scores", "probs", "grades")
"""Models that look at columns of their own."""


def given_columns(inputs: Inputs, name: str) -> Inputs:
    """Return the inputs with what the model of a name looks at beside the features, unless it is these.

    Parameters
    ----------
    name : str
        ``scores``: what the rankings say of each item; ``probs=FILE``: its probabilities; ``grades=FILE``: somebody's
        grade, NaN where there is none.

    Raises
    ------
    ChoiceError
        Where the rows of files to train on are not among what a file says.
    """
    kind, _, path = name.partition("=")
    if kind not in GIVEN:
        return inputs
    of_training = None
    if inputs.training is not None:
        of_training = inputs.training.scores
        if kind != "scores":
            raise ChoiceError(
                f"`model` {name} is recalibrated with `train_fraction`, not with `train`", field="train_fraction"
            )
        if of_training is None or of_training.shape[1] != 3 * inputs.scores_held.shape[1] + 1:
            raise ChoiceError(
                "`model` scores with `train` needs each ranker's scores of those files too: `train_scores`",
                field="train_scores",
            )
    if kind == "scores":
        values = run_features(inputs.pool, inputs.scores_held.T)
    elif kind == "probs":
        values = load_probabilities(path).align(inputs.pool)
    else:
        values = graded_by(read(path, kind="machine").model_grades(), inputs.pool)
    return inputs.with_columns(name, values, of_training)


def graded_by(qrels: Qrels, pool: QueryPool) -> Floats:
    """Return somebody's grades of the pool's items as one column, NaN where there is none."""
    positions = positions_in(pool, qrels.query_ids, qrels.doc_ids)
    held = np.flatnonzero((positions >= 0) & (qrels.grades >= 0))
    if not held.size:
        raise InputError(f"{qrels.source}: grades no item of the pool")
    values = np.full((pool.n_items, 1), np.nan)
    values[positions[held], 0] = qrels.grades[held]
    return values
