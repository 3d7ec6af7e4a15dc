"""Judged collections with an order within each grade: features to learn from, and a signal that was held back.

Neither collection has list labels. Within a grade the order of the truth is that of a signal which the features can
predict but do not contain: on MQ2008 the mean rank by the eight rankers of the kit, each out of its fold; on MQ2007-agg
the mean rank in half of the 21 lists, the others being the features.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from activeeval import QueryPool, Rankings, top_k_grades
from activeeval.io.text.letor import LetorData, read_letor
from activeeval.io.text.scores import read_scores
from activeeval.pool import hashed_uniforms, pool_hashes

SEED = 2012
K = 5
HELD_BACK = (2, 3, 5, 6, 7, 9, 11, 13, 15, 17, 19)
"""Eleven lists of the 21 that make the signal. Copies of one another stay on one side: 5, 6 and 7 here, 0 and 1 not."""


@dataclass(frozen=True, slots=True, eq=False)
class Collection:
    """Items of queries with more than K of them, query by query.

    Attributes
    ----------
    name : str
    features : ndarray, shape (n_items, n_features)
    grades : ndarray of int64, shape (n_items,)
    truth : ndarray of int64, shape (n_items,)
        κ-grades: by grade, then by the signal.
    parts : ndarray of int64, shape (n_queries,)
        Which of five parts a query belongs to.
    pool : QueryPool
    """

    name: str
    features: np.ndarray
    grades: np.ndarray
    truth: np.ndarray
    parts: np.ndarray
    pool: QueryPool

    @property
    def random_order(self) -> np.ndarray:
        """κ-grades of a random total order according to the grades, for models of the top k to learn graded data."""
        noise = hashed_uniforms(SEED, pool_hashes(self.pool)[1], 1)[0]
        return top_k_grades(self.pool, self.grades + noise, K)

    def rows(self, parts: list[int]) -> np.ndarray:
        """Return the items of some parts."""
        return np.flatnonzero(np.isin(self.parts, parts)[self.pool.item_queries])


def mq2008(folder: Path) -> Collection:
    """Parts S1 … S5; the signal is the mean rank by eight rankers, each trained without the part."""
    home, data, signals = folder / "mq2008", [], []
    for part in range(1, 6):
        one = read_letor(home / f"S{part}.txt.gz")
        fold = 1 if part == 5 else part + 1
        ranks = [
            _ranks(one.pool(), read_scores(next((ranker).glob(f"Fold{fold}.*"))))
            for ranker in sorted((home / "rankers").iterdir())
        ]
        data.append(one)
        signals.append(-np.mean(ranks, axis=0))
    parts = np.repeat(np.arange(5), [one.pool().n_queries for one in data])
    return _collection("MQ2008", data, np.concatenate(signals), [one.features for one in data], parts)


def mq2007_agg(folder: Path) -> Collection:
    """Parts A1 and A2, queries in five parts by their id; features are 1 / (rank + 10), 0 where a list lacks it."""
    data = [read_letor(folder / "mq2007-agg" / f"A{part}.txt.gz") for part in (1, 2)]
    shares = [np.nan_to_num(1.0 / (one.features + 10.0), nan=0.0) for one in data]
    rest = [column for column in range(21) if column not in HELD_BACK]
    signal = np.concatenate([one[:, HELD_BACK].mean(axis=1) for one in shares])
    hashes = np.concatenate([pool_hashes(one.pool())[0] for one in data])
    parts = np.floor(5 * hashed_uniforms(SEED, hashes, 1)[0]).astype(np.int64)
    return _collection("MQ2007-agg", data, signal, [one[:, rest] for one in shares], parts)


COLLECTIONS = {"mq2008": mq2008, "mq2007-agg": mq2007_agg}


def _collection(
    name: str, data: list[LetorData], signal: np.ndarray, features: list[np.ndarray], parts: np.ndarray
) -> Collection:
    pools = [one.pool() for one in data]
    sizes = np.concatenate([np.diff(pool.query_offsets) for pool in pools])
    kept = np.flatnonzero(sizes > K)
    items = np.flatnonzero(np.isin(np.repeat(np.arange(sizes.size), sizes), kept))
    docs = np.concatenate([pool.item_ids for pool in pools])
    ids = np.concatenate([pool.query_ids for pool in pools])
    pool = QueryPool(ids[kept], np.concatenate(([0], np.cumsum(sizes[kept]))), docs[items])
    grades = np.concatenate([one.grades for one in data])[items]
    own = signal[items]
    within = (own - own.min()) / (np.ptp(own) * 1.001)  # below 1, so that it orders items of one grade alone
    truth = top_k_grades(pool, grades + within, K)
    return Collection(name, np.concatenate(features)[items], grades, truth, parts[kept], pool)


def _ranks(pool: QueryPool, scores: np.ndarray) -> np.ndarray:
    ranking = Rankings.from_scores(pool, scores)
    ranks = np.empty(pool.n_items)
    ranks[ranking.items] = ranking.ranks / np.repeat(ranking.lengths, ranking.lengths)
    return ranks
