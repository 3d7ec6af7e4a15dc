"""What grade models look at beside features: the rankings' own scores, and probabilities that somebody gave."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from activeeval.core.errors import ChoiceError
from activeeval.core.grade_models import run_features
from activeeval.core.measures.ranking_checks import checked_nodes
from activeeval.core.pool import QueryPool
from activeeval.core.types import Floats
from activeeval.formats.loading import load_probabilities
from activeeval.inputs.loading import Inputs

GIVEN = ("scores", "probs")
"""Models that look at columns of their own."""


def given_columns(inputs: Inputs, name: str, tables: Mapping[str, Any] | None = None) -> Inputs:
    """Return the inputs with what the model of a name looks at beside the features, unless it is these.

    Parameters
    ----------
    name : str
        ``scores``: what the rankings say of each item; ``probs=FILE``: its probabilities.
    tables : mapping of str to object, optional
        What stands for a file, as of `activeeval.inputs.choices.Choices`.

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
    else:
        values = _probabilities((tables or {}).get(path, path), inputs.pool)
    return inputs.with_columns(name, values, of_training)


def _probabilities(source: Any, pool: QueryPool) -> Floats:
    """Return the probabilities of the pool's items: of a file or a frame, or what a function says of the pool."""
    if not callable(source):
        return load_probabilities(source).align(pool)
    nodes, _ = checked_nodes(pool, source(pool), None)
    return np.asarray(nodes[0])
