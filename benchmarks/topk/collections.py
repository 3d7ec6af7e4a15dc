"""Judged collections with an order within each grade, and generated ones whose top has a direction of its own.

None of the real ones has list labels. Within a grade the order of the truth is that of a signal which the features can
predict but do not contain: on MQ2008 and OHSUMED the mean rank by the rankers of the kit, each out of its fold; on
MQ2007-agg the mean rank in half of the 21 lists, the others being the features; on the excerpt of MSLR the mean rank by
eight text scores, the other features being what is learned from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import cos, radians, sin
from pathlib import Path

import numpy as np

from activeeval import QueryPool, Rankings, top_k_grades
from activeeval.core.pool import hashed_uniforms, pool_hashes
from activeeval.formats.text.letor import LetorData, read_letor
from activeeval.formats.text.scores import read_scores
from benchmarks.pools import MQ2008

SEED = 2012
HELD_BACK = (2, 3, 5, 6, 7, 9, 11, 13, 15, 17, 19)
"""Eleven lists of the 21 that make the signal. Copies of one another stay on one side: 5, 6 and 7 here, 0 and 1 not."""
TEXT_SCORES = (105, 109, 110, 114, 115, 119, 120, 124)
"""BM25 and three language models (LMIR) of the body and of the whole document, of MSLR's 136 features."""
ANGLES = (0, 30, 60, 90)
N_LEARNED, N_TUNED, N_TESTED = 60, 80, 160
_N_ITEMS, _N_FEATURES, _NOISE = 40, 20, 0.2


@dataclass(frozen=True, slots=True, eq=False)
class Collection:
    """Items of queries with more than k of them, query by query, those of a query in the order of their ids.

    Attributes
    ----------
    name : str
    k : int
        Places of the truth.
    features : ndarray, shape (n_items, n_features)
    grades : ndarray of int64, shape (n_items,)
    truth : ndarray of int64, shape (n_items,)
        κ-grades: by grade, then by the signal.
    parts : ndarray of int64, shape (n_queries,)
        Which of five parts a query belongs to.
    pool : QueryPool
    """

    name: str
    k: int
    features: np.ndarray
    grades: np.ndarray
    truth: np.ndarray
    parts: np.ndarray
    pool: QueryPool

    @property
    def random_order(self) -> np.ndarray:
        """κ-grades of a random total order according to the grades, for models of the top k to learn graded data."""
        noise = hashed_uniforms(SEED, pool_hashes(self.pool)[1], 1)[0]
        return top_k_grades(self.pool, self.grades + noise, self.k)

    def rows(self, parts: Sequence[int]) -> np.ndarray:
        """Return the items of some parts."""
        return np.flatnonzero(np.isin(self.parts, parts)[self.pool.item_queries])


def mq2008(folder: Path) -> Collection:
    """Parts S1 … S5, k = 5, as half of its queries have ten items at most; the folds are LETOR's own."""
    return _of_rankers(folder / "mq2008", [(f"{part}.txt.gz", fold) for part, fold in MQ2008.items()], 5)


def ohsumed(folder: Path) -> Collection:
    """The test parts of three folds, 64 queries in five parts of our own; k = 10."""
    return _of_rankers(folder / "ohsumed", [(f"Fold{fold}.test.txt.gz", fold) for fold in (1, 2, 3)], 10)


def mq2007_agg(folder: Path) -> Collection:
    """Parts A1 and A2, k = 10 as in the paper; features are 1 / (rank + 10), 0 where a list lacks it."""
    data = [read_letor(folder / "mq2007-agg" / f"A{part}.txt.gz") for part in (1, 2)]
    shares = [np.nan_to_num(1.0 / (one.features + 10.0), nan=0.0) for one in data]
    rest = [column for column in range(21) if column not in HELD_BACK]
    signal = np.concatenate([one[:, HELD_BACK].mean(axis=1) for one in shares])
    return _collection("MQ2007-agg", 10, data, signal, [one[:, rest] for one in shares])


def mslr(folder: Path) -> Collection:
    """71 queries of MSLR-WEB10K with five grades, k = 10; features are scaled to [0, 1] by query, as LETOR's are."""
    home = folder / "mslr-sample"
    names = ("mslr_fold1_valid_sample.txt.gz", "mslr_fold1_train_sample.from_pickle.txt.gz")
    data = [read_letor(home / name) for name in names]
    signal = np.concatenate(
        [-np.mean([_ranks(one.pool(), one.features[:, column]) for column in TEXT_SCORES], axis=0) for one in data]
    )
    rest = np.delete(np.arange(136), TEXT_SCORES)
    return _collection("MSLR", 10, data, signal, [_by_query(one)[:, rest] for one in data])


COLLECTIONS: dict[str, Callable[[Path], Collection]] = {
    "mq2007-agg": mq2007_agg,
    "mq2008": mq2008,
    "ohsumed": ohsumed,
    "mslr": mslr,
}


def control(angle: float, seed: int) -> Collection:
    """Return a generated truth whose ten best items of forty are chosen by one direction and ordered by another.

    In twenty features, normal and independent; both directions are seen with a noise of a fifth of their spread. At an
    angle of 0 the directions are one, at 90 degrees they have nothing in common. The first queries are learned from,
    then come those to tune on, then the test.
    """
    random = np.random.default_rng((SEED, seed))
    n, k = N_LEARNED + N_TUNED + N_TESTED, 10
    features = random.normal(size=(n, _N_ITEMS, _N_FEATURES))
    noise = _NOISE * random.normal(size=(2, n, _N_ITEMS))
    chosen = features[:, :, 0] + noise[0]
    order = cos(radians(angle)) * features[:, :, 0] + sin(radians(angle)) * features[:, :, 1] + noise[1]
    is_top = np.argsort(np.argsort(-chosen, axis=1), axis=1) < k
    numbers = np.tile(np.char.zfill(np.arange(_N_ITEMS).astype(str), 2), n)  # in the order of the rows
    pool = QueryPool(np.arange(n), _N_ITEMS * np.arange(n + 1), numbers)
    truth = top_k_grades(pool, np.where(is_top, order, order.min() - 1.0).ravel(), k)
    parts = np.repeat([0, 1, 2], (N_LEARNED, N_TUNED, N_TESTED))
    flat = features.reshape(-1, _N_FEATURES)
    return Collection(f"control, {angle:g}°", k, flat, np.minimum(truth, 1), truth, parts, pool)


def _of_rankers(home: Path, files: list[tuple[str, int]], k: int) -> Collection:
    """Return a collection whose signal is the mean rank by the kit's rankers, each file by what did not learn from
    it.
    """
    data, signals = [], []
    for name, fold in files:
        one = read_letor(home / name)
        rankers = sorted((home / "rankers").iterdir())
        ranks = [_ranks(one.pool(), read_scores(next(ranker.glob(f"Fold{fold}.*")))) for ranker in rankers]
        data.append(one)
        signals.append(-np.mean(ranks, axis=0))
    files_parts = np.repeat(np.arange(len(data)), [one.pool().n_queries for one in data]) if len(data) == 5 else None
    return _collection(home.name.upper(), k, data, np.concatenate(signals), [one.features for one in data], files_parts)


def _collection(
    name: str,
    k: int,
    data: list[LetorData],
    signal: np.ndarray,
    features: list[np.ndarray],
    parts: np.ndarray | None = None,
) -> Collection:
    """Keep queries of more than k items; five even parts by the hash of their ids, where there are none.

    Items of a query are sorted by id, so that rankers are tuned with the ties that they are tested with.
    """
    pools = [one.pool() for one in data]
    sizes = np.concatenate([np.diff(pool.query_offsets) for pool in pools])
    if parts is None:
        drawn = hashed_uniforms(SEED, np.concatenate([pool_hashes(pool)[0] for pool in pools]), 1)[0]
        parts = 5 * np.argsort(np.argsort(drawn)) // drawn.size
    kept = np.flatnonzero(sizes > k)
    items = np.flatnonzero(np.isin(np.repeat(np.arange(sizes.size), sizes), kept))
    docs = np.concatenate([pool.item_ids for pool in pools])
    items = items[np.lexsort((docs[items], np.repeat(np.arange(sizes.size), sizes)[items]))]
    ids = np.concatenate([pool.query_ids for pool in pools])
    pool = QueryPool(ids[kept], np.concatenate(([0], np.cumsum(sizes[kept]))), docs[items])
    grades = np.concatenate([one.grades for one in data])[items]
    own = signal[items]
    within = (own - own.min()) / (np.ptp(own) * 1.001)  # below 1, so that it orders items of one grade alone
    truth = top_k_grades(pool, grades + within, k)
    return Collection(name, k, np.concatenate(features)[items], grades, truth, parts[kept], pool)


def _by_query(data: LetorData) -> np.ndarray:
    """Return features scaled by their range in each query, 0 where they do not differ."""
    starts, sizes = data.query_offsets[:-1], np.diff(data.query_offsets)
    low, high = (
        np.repeat(extreme.reduceat(data.features, starts), sizes, axis=0) for extreme in (np.minimum, np.maximum)
    )
    return (data.features - low) / np.where(high > low, high - low, 1.0)


def _ranks(pool: QueryPool, scores: np.ndarray) -> np.ndarray:
    """Return the rank of each item as a share of its list."""
    ranking = Rankings.from_scores(pool, scores)
    ranks = np.empty(pool.n_items)
    ranks[ranking.items] = ranking.ranks / np.repeat(ranking.lengths, ranking.lengths)
    return ranks
