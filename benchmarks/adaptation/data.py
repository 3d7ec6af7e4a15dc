"""Judged queries and click preferences: generated worlds, and three collections of real judgments and features.

The paper's data are private. DS1 and DS2 are of its sizes and generated: what a search engine shows is ranked by the
true weights with noise, people judge its first twenty, and users click on the first ten of other queries. Their truth
is linear in the features; *bent* is DS1 with a truth of thresholds, an interaction, an absolute value and a minimum,
of the same variance. Of MQ2008, OHSUMED and the excerpt of MSLR the judgments and features are real, users click on a
list of the same queries. Users' taste is the grade shifted by two features.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from activeeval import PoolGrades, QueryPool, Rankings
from activeeval.adaptation import (
    ListImpressions,
    PositionBased,
    UserPopulation,
    item_pairs,
    preferences_from_clicks,
    simulate_clicks,
)
from activeeval.adaptation.messages import click_lines
from activeeval.core.pool import hashed_uniforms, pool_hashes
from activeeval.core.pool.generated import GRADE_QUANTILES, WEIGHTS, generate_pool, noisy_scores
from activeeval.formats.text.letor import LetorData, read_letor
from activeeval.formats.text.scores import read_scores
from activeeval.rankers.pairs import PreferencePairs
from benchmarks.pools import mq2008_files

SEED = 2008
SHOWN = 10
JUDGED = 20
SHIFTS = {0: -0.3, 3: 0.5}
"""Of the generated sets: the judges' first feature, worth 0.3 grades a standard deviation to them, is worth nothing to
users, and their fourth one more than any is to judges.
"""
REAL_SHIFTS = {"MQ2008": {40: 0.4, 44: -0.4}, "OHSUMED": {0: 0.4, 15: -0.4}, "MSLR": {129: 0.4, 126: -0.4}}
"""By feature, in grades: of the web's pages users like those of many links from outside (PageRank) and of short
addresses, of OHSUMED's references those with more of the query's words in the title and fewer in the abstract; judges
do not care.
"""
NOISE = 0.3
VISITS_OF_QUERY = 4000
"""With a fifth of them shuffled over a hundred orders, a document has 8 impressions at a position in each order, some
80 at each position over all orders: enough to be told apart there.
"""
FOLDS = 5
SEEDS = tuple(SEED + number for number in range(10))
Truth = Callable[[np.ndarray], np.ndarray]


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


def linear(x: np.ndarray) -> np.ndarray:
    """Return the relevance of the recipe of generated pools."""
    return np.asarray(x @ WEIGHTS)


def bent(x: np.ndarray) -> np.ndarray:
    """Return a relevance that no linear function of the features comes near, with the variance of the linear one."""
    jumps = 1.5 * (x[:, 0] > 0.5) - 1.0 * (x[:, 6] < -0.5)
    shape = jumps + x[:, 1] * x[:, 2] + np.abs(x[:, 3]) + np.minimum(x[:, 4], x[:, 5])
    return np.asarray((shape - shape.mean()) * np.sqrt((WEIGHTS**2).sum()) / shape.std())


def generated(
    name: str,
    n_judged: int,
    n_users: int,
    n_pairs: int,
    shifts: Mapping[int, float],
    seed: int = SEED,
    truth: Truth = linear,
) -> Case:
    """Generate a case of judged queries, of twenty documents at most, and pairs of other queries."""
    whole = generate_pool(n_judged + n_users, seed)
    relevance = truth(whole.features[:, : WEIGHTS.size])
    if truth is not linear:
        latent = relevance + np.random.default_rng((seed, 1)).logistic(size=relevance.size)
        grades = np.searchsorted(np.quantile(latent, GRADE_QUANTILES), latent, side="left")
        whole = replace(whole, grades=grades.astype(np.int64))
    held = []
    is_judged = whole.pool.item_queries < n_judged
    for number, (one, own, depth) in enumerate(
        zip(whole.split(n_judged), (relevance[is_judged], relevance[~is_judged]), (JUDGED, SHOWN), strict=True)
    ):
        scores = noisy_scores(own, number if seed == SEED else np.random.default_rng((seed, 2, number)))
        rows = np.sort(Rankings.from_scores(one.pool, scores).cut_at(depth).items)
        held.append((one.pool.with_items(rows), one.features[rows], one.grades[rows], scores[rows]))
    (pool, X, grades, _), (users_pool, clicked, users_grades, scores) = held
    pairs, taste, told = clicked_pairs(users_pool, clicked, users_grades, scores, shifts, seed)
    if len(pairs) > n_pairs:
        pairs = pairs[np.sort(np.random.default_rng(seed).choice(len(pairs), n_pairs, replace=False))]
    own_queries, users_folds = users_pool.item_queries, _folds(users_pool)
    folds, pair_folds, taste_folds = (
        _folds(pool)[pool.item_queries],
        *(users_folds[own_queries[rows[:, 0]]] for rows in (pairs, taste)),
    )
    told_pairs = (pairs, pair_folds, taste, taste_folds, told, np.unique(own_queries[pairs[:, 0]]).size)
    return Case(name, X, grades, pool.item_queries, folds, clicked, *told_pairs)


def mq2008(_: Path, shifts: Mapping[int, float]) -> Case:
    """Return clicks on the lists of RankBoost, which learned each part's from the others."""
    return _real("MQ2008", read_letor(mq2008_files()), read_scores(mq2008_files("RankBoost")), shifts)


def ohsumed(folder: Path, shifts: Mapping[int, float]) -> Case:
    """Return clicks on the lists of RankBoost, of queries that it did not learn from."""
    home = folder / "ohsumed"
    data = read_letor([home / f"Fold{fold}.test.txt.gz" for fold in (1, 2, 3)])
    scores = [next((home / "rankers" / "RankBoost").glob(f"Fold{fold}.test*score.gz")) for fold in (1, 2, 3)]
    return _real("OHSUMED", data, read_scores(scores), shifts)


def mslr(folder: Path, shifts: Mapping[int, float]) -> Case:
    """Return clicks on the lists of BM25, of the whole document."""
    home = folder / "mslr-sample"
    names = ("mslr_fold1_valid_sample.txt.gz", "mslr_fold1_train_sample.from_pickle.txt.gz")
    data = read_letor([home / name for name in names])
    return _real("MSLR", data, data.features[:, 109], shifts)


def _real(name: str, data: LetorData, scores: np.ndarray, shifts: Mapping[int, float]) -> Case:
    """Return real judgments, and clicks of users with a taste of their own on the lists of some scores."""
    pool, queries = data.pool(), data.pool().item_queries
    rows = np.sort(Rankings.from_scores(pool, scores).cut_at(SHOWN).items)
    found = clicked_pairs(pool.with_items(rows), data.features[rows], data.grades[rows], scores[rows], shifts, SEED)
    (pairs, taste), folds = (rows[held] for held in found[:2]), _folds(pool)[queries]
    own = pairs[:, 0]
    told_pairs = (pairs, folds[own], taste, folds[taste[:, 0]], found[2], np.unique(queries[own]).size)
    return Case(name, data.features, data.grades, queries, folds, data.features, *told_pairs)


def clicked_pairs(
    pool: QueryPool, X: np.ndarray, grades: np.ndarray, scores: np.ndarray, shifts: Mapping[int, float], seed: int
) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """Return the pairs of items that users' clicks on a ranking tell, all pairs of taste, and the report of clicks."""
    users = UserPopulation(shifts=shifts, noise=NOISE)
    attractions = users.attractions(PoolGrades(pool, grades), X, rng=seed)
    visits = ListImpressions(n_visits=VISITS_OF_QUERY * pool.n_queries, depth=SHOWN, shuffled=0.2)
    log = simulate_clicks(Rankings.from_scores(pool, scores), attractions, PositionBased(), visits, rng=seed)
    found = preferences_from_clicks(log)
    taste = PreferencePairs.of(np.unique(attractions, return_inverse=True)[1], pool.item_queries)
    every = np.stack(taste.draw(taste.n_pairs, np.random.default_rng(0)), axis=1)
    return item_pairs(pool, found.comparisons()), every, click_lines(found.report)


def _folds(pool: QueryPool) -> np.ndarray:
    """Return the fold of each query, by its id alone."""
    return np.floor(FOLDS * hashed_uniforms(SEED, pool_hashes(pool)[0], 1)[0]).astype(np.int64)


@dataclass(frozen=True, slots=True)
class Source:
    """Where a case comes from: generated once for each seed, or real judgments in five folds of queries."""

    make: Callable[..., Case]
    shifts: Mapping[int, float]
    folder: str = ""

    @property
    def is_generated(self) -> bool:
        return not self.folder

    def cases(self, home: Path, *, alike: bool = False, seeds: tuple[int, ...] = SEEDS) -> list[Case]:
        """Return a case for each seed, or the one of real judgments; alike, with users of the judges' taste."""
        shifts = {} if alike else self.shifts
        if self.is_generated:
            return [self.make(shifts=shifts, seed=seed) for seed in seeds]
        return [self.make(home, shifts)]


SOURCES = {
    "DS1": Source(partial(generated, "DS1", 200, 600, 12_500), SHIFTS),
    "DS1 bent": Source(partial(generated, "DS1 bent", 200, 600, 12_500, truth=bent), SHIFTS),
    "DS2": Source(partial(generated, "DS2", 1250, 1000, 20_500), SHIFTS),
    "MQ2008": Source(mq2008, REAL_SHIFTS["MQ2008"], "mq2008"),
    "OHSUMED": Source(ohsumed, REAL_SHIFTS["OHSUMED"], "ohsumed"),
    "MSLR": Source(mslr, REAL_SHIFTS["MSLR"], "mslr-sample"),
}
"""Those with users of the judges' taste are the control: what is left between the data is how pairs come about."""
