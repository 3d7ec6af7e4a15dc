"""Features derived from runs, for items without other features."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from activeeval.core.errors import InputError
from activeeval.core.pool import QueryPool, Rankings
from activeeval.core.types import Floats


def run_features(pool: QueryPool, scores: ArrayLike) -> Floats:
    """Compute features of every item from its score and rank in each run.

    Parameters
    ----------
    pool : QueryPool
    scores : array of float, shape (n_runs, n_items)
        NaN if a run does not contain the item.

    Returns
    -------
    ndarray, shape (n_items, 3 n_runs + 1)
        For each run: score, rank and 1/rank (NaN if the run does not contain the item); then the
        number of runs that contain it; `feature_names` names the columns. Ranks are by score
        descending, ties by item id descending.

    Raises
    ------
    InputError
        If the shape is wrong or a score is infinite.

    Examples
    --------
    >>> pool = QueryPool(["q"], [0, 2], ["a", "b"])
    >>> run_features(pool, [[0.5, 0.75], [3.0, np.nan]])
    array([[0.5 , 2.  , 0.5 , 3.  , 1.  , 1.  , 2.  ],
           [0.75, 1.  , 1.  ,  nan,  nan,  nan, 1.  ]])
    """
    runs = np.asarray(scores, dtype=np.float64)
    if runs.ndim != 2 or runs.shape[0] == 0 or runs.shape[1] != pool.n_items:
        raise InputError(f"scores must have shape (n_runs, {pool.n_items}), got {runs.shape}")
    features = np.full((pool.n_items, 3 * runs.shape[0] + 1), np.nan)
    for run, of_run in enumerate(runs):
        ranking = Rankings.from_scores(pool, of_run)
        features[:, 3 * run] = of_run
        features[ranking.items, 3 * run + 1] = ranking.ranks
        features[ranking.items, 3 * run + 2] = 1.0 / ranking.ranks
    features[:, -1] = (~np.isnan(runs)).sum(axis=0)
    return features


def feature_names(runs: Sequence[str]) -> list[str]:
    """Name the columns of `run_features` from the names of the runs.

    Examples
    --------
    >>> feature_names(["bm25"])
    ['score:bm25', 'rank:bm25', 'reciprocal_rank:bm25', 'n_runs']
    """
    return [f"{column}:{run}" for run in runs for column in ("score", "rank", "reciprocal_rank")] + ["n_runs"]
