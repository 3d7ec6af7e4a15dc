"""Judged queries and click preferences: two sets of the sizes of the paper's, and MQ2008.

The paper's data are private. DS1 and DS2 are generated: what a search engine shows is ranked by the true weights with
noise, people judge its first twenty, and users click on the first ten of other queries. Of MQ2008 the judgments are
real, users click on RankBoost's lists of the same queries. Users' taste is the grade shifted by two features.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from activeeval import PoolGrades, QueryPool, Rankings
from activeeval.adaptation import (
    PositionBased,
    UserPopulation,
    Visits,
    item_pairs,
    preferences_from_clicks,
    simulate_clicks,
)
from activeeval.generated import WEIGHTS, generate_pool, noisy_scores
from activeeval.io.text.letor import read_letor
from activeeval.io.text.scores import read_scores
from activeeval.pool import hashed_uniforms, pool_hashes
from activeeval.rankers.pairs import PreferencePairs
from activeeval.report import click_lines

SEED = 2008
SHOWN = 10
JUDGED = 20
SHIFTS = {0: -0.3, 3: 0.5}
"""Of the generated sets: the judges' first feature, worth 0.3 grades a standard deviation to them, is worth nothing to
users, and their fourth one more than any is to judges."""
MQ2008_SHIFTS = {40: 0.4, 44: -0.4}
"""Of MQ2008: users like pages of many links from outside (PageRank) and of short addresses; judges do not care."""
NOISE = 0.3
VISITS_OF_QUERY = 4000
"""With a fifth of them shuffled over a hundred orders, a document has 8 impressions at a position in each order, some
80 at each position over all orders: enough to be told apart there."""
FOLDS = 5
_PARTS = {"S1": "Fold2", "S2": "Fold3", "S3": "Fold4", "S4": "Fold5", "S5": "Fold1"}


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """Judged rows, and pairs of rows that users prefer, the preferred first; each with the fold of its query.

    `clicked` are the features of the rows that pairs are of; where it is `X`, a query has one fold for both.
    `taste_pairs` are all pairs of documents that users were shown, in the order of the taste that they were given:
    `pairs` are those of them that clicks happened to tell.
    """

    name: str
    X: np.ndarray
    grades: np.ndarray
    queries: np.ndarray
    folds: np.ndarray
    clicked: np.ndarray
    pairs: np.ndarray
    pair_folds: np.ndarray
    taste_pairs: np.ndarray
    taste_folds: np.ndarray
    clicks: tuple[str, ...]
    pair_queries: int

    @property
    def sizes(self) -> dict[str, int]:
        """How many of what there are."""
        return {
            "judged documents": len(self.grades),
            "judged queries": len(np.unique(self.queries)),
            "pairs": len(self.pairs),
            "queries of pairs": self.pair_queries,
        }


def generated(name: str, n_judged: int, n_users: int, n_pairs: int, shifts: Mapping[int, float]) -> Case:
    """Return a case of so many judged queries, of twenty documents at most, and pairs of other queries."""
    judged, users = generate_pool(n_judged + n_users, SEED).split(n_judged)
    held = []
    for seed, (one, depth) in enumerate(((judged, JUDGED), (users, SHOWN))):
        scores = noisy_scores(one.features[:, : WEIGHTS.size] @ WEIGHTS, seed)
        rows = np.sort(Rankings.from_scores(one.pool, scores).cut_at(depth).items)
        held.append((one.pool.with_items(rows), one.features[rows], one.grades[rows], scores[rows]))
    (pool, X, grades, _), (users_pool, clicked, users_grades, scores) = held
    pairs, taste, told = clicked_pairs(users_pool, clicked, users_grades, scores, shifts)
    if len(pairs) > n_pairs:
        pairs = pairs[np.sort(np.random.default_rng(SEED).choice(len(pairs), n_pairs, replace=False))]
    own, users_folds = users_pool.item_queries, _folds(users_pool)
    folds, pair_folds, taste_folds = (
        _folds(pool)[pool.item_queries],
        *(users_folds[own[held[:, 0]]] for held in (pairs, taste)),
    )
    told_pairs = (pairs, pair_folds, taste, taste_folds, told, np.unique(own[pairs[:, 0]]).size)
    return Case(name, X, grades, pool.item_queries, folds, clicked, *told_pairs)


def mq2008(folder: Path, shifts: Mapping[int, float] = MQ2008_SHIFTS) -> Case:
    """Return real judgments, and clicks on the lists of RankBoost, which learned each part's from the others."""
    home = folder / "mq2008"
    data = read_letor([home / f"{part}.txt.gz" for part in _PARTS])
    ranker = home / "rankers" / "RankBoost"
    scores = read_scores([next(ranker.glob(f"{fold}.test*score.gz")) for fold in _PARTS.values()])
    pool, queries = data.pool(), data.pool().item_queries
    rows = np.sort(Rankings.from_scores(pool, scores).cut_at(SHOWN).items)
    found = clicked_pairs(pool.with_items(rows), data.features[rows], data.grades[rows], scores[rows], shifts)
    (pairs, taste), folds = (rows[held] for held in found[:2]), _folds(pool)[queries]
    own = pairs[:, 0]
    told_pairs = (pairs, folds[own], taste, folds[taste[:, 0]], found[2], np.unique(queries[own]).size)
    return Case("MQ2008", data.features, data.grades, queries, folds, data.features, *told_pairs)


def clicked_pairs(
    pool: QueryPool, X: np.ndarray, grades: np.ndarray, scores: np.ndarray, shifts: Mapping[int, float]
) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """Return the pairs of items that users' clicks on a ranking tell, all pairs of taste, and the report of clicks."""
    users = UserPopulation(shifts=shifts, noise=NOISE)
    attractions = users.attractions(PoolGrades(pool, grades), X, rng=SEED)
    visits = Visits(n_visits=VISITS_OF_QUERY * pool.n_queries, depth=SHOWN, shuffled=0.2)
    log = simulate_clicks(Rankings.from_scores(pool, scores), attractions, PositionBased(), visits, rng=SEED)
    found = preferences_from_clicks(log)
    taste = PreferencePairs.of(np.unique(attractions, return_inverse=True)[1], pool.item_queries)
    every = np.stack(taste.draw(taste.n_pairs, np.random.default_rng(0)), axis=1)
    return item_pairs(pool, found.comparisons()), every, click_lines(found.report)


def _folds(pool: QueryPool) -> np.ndarray:
    """Return the fold of each query, by its id alone."""
    return np.floor(FOLDS * hashed_uniforms(SEED, pool_hashes(pool)[0], 1)[0]).astype(np.int64)


CASES: dict[str, Callable[[Path], Case]] = {
    "DS1": lambda folder: generated("DS1", 200, 600, 12_500, SHIFTS),
    "DS2": lambda folder: generated("DS2", 1250, 1000, 20_500, SHIFTS),
    "MQ2008": mq2008,
}
ALIKE: dict[str, Callable[[Path], Case]] = {
    "DS1": lambda folder: generated("DS1", 200, 600, 12_500, {}),
    "DS2": lambda folder: generated("DS2", 1250, 1000, 20_500, {}),
    "MQ2008": partial(mq2008, shifts={}),
}
"""The same with users of the judges' taste: what is left between the data is how pairs come about."""
