"""What grade models look at beside features: the rankings' own scores, probabilities and grades that somebody gave."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from activeeval.cases.inputs import Inputs
from activeeval.errors import ChoiceError, InputError
from activeeval.grade_models import run_features
from activeeval.io.keys import positions_in
from activeeval.io.loading import load_probabilities, load_qrels
from activeeval.io.text.trec import Qrels
from activeeval.judgments import Judgments, read
from activeeval.measures.checks import checked_nodes
from activeeval.pool import QueryPool
from activeeval.types import Floats

GIVEN = ("scores", "probs", "grades")
"""Models that look at columns of their own."""


def given_columns(inputs: Inputs, name: str, tables: Mapping[str, Any] | None = None) -> Inputs:
    """Return the inputs with what the model of a name looks at beside the features, unless it is these.

    Parameters
    ----------
    name : str
        ``scores``: what the rankings say of each item; ``probs=FILE``: its probabilities; ``grades=FILE``: somebody's
        grade, NaN where there is none.
    tables : mapping of str to object, optional
        What stands for a file, as of `activeeval.cases.choices.Choices`.

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
        values = _probabilities((tables or {}).get(path, path), inputs.pool)
    else:
        values = graded_by(_machine_grades((tables or {}).get(path, path)), inputs.pool)
    return inputs.with_columns(name, values, of_training)


def _probabilities(source: Any, pool: QueryPool) -> Floats:
    """Return the probabilities of the pool's items: of a file or a frame, or what a function says of the pool."""
    if not callable(source):
        return load_probabilities(source).align(pool)
    nodes, _ = checked_nodes(pool, source(pool), None)
    return np.asarray(nodes[0])


def _machine_grades(source: Any) -> Qrels:
    """Return the grades of a model: of a file, of judgments, or of what `load_qrels` takes."""
    judgments = read(source, kind="machine") if isinstance(source, (str, os.PathLike)) else source
    grades: Qrels = judgments.model_grades() if isinstance(judgments, Judgments) else load_qrels(judgments)
    return grades


def graded_by(qrels: Qrels, pool: QueryPool) -> Floats:
    """Return somebody's grades of the pool's items as one column, NaN where there is none."""
    positions = positions_in(pool, qrels.query_ids, qrels.doc_ids)
    held = np.flatnonzero((positions >= 0) & (qrels.grades >= 0))
    if not held.size:
        raise InputError(f"{qrels.source}: grades no item of the pool")
    values = np.full((pool.n_items, 1), np.nan)
    values[positions[held], 0] = qrels.grades[held]
    return values
