"""Folds of ten rankers, each tuned on the validation part with the same effort, scored query by query on the test part.

What is tuned is one grid for a focused ranker and its parents: costs and whether features are divided by their
deviation for those of margins; rounds, how often a feature is taken running and thresholds for those that boost; steps
and the same division for those that follow a gradient. A focused one has β beside, AdaRank the measure that it boosts.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from activeeval import ERR, NDCG, QueryPool, Rankings, kERR, kNDCG, rankers
from activeeval.rankers import RankSVM, choose
from benchmarks.topk.collections import Collection

RANKS = range(1, 11)
MARGINS = {"C": [0.1, 1.0, 10.0, 100.0], "standardize": [True, False]}
"""Losses are about 1 for a ranker that knows nothing; on MQ2008 costs from 1 to 100 are chosen."""
ROUNDS = {"n_iter": [1, 2, 5, 10, 20, 30, 50, 100, 200, 300]}
CUTS = {"n_thresholds": [None, 20]}
REPEATS = {"max_repeats": [None, 1, 5]}
"""Of 1, 2, 3, 4, 5 and 8, FocusedBoost is best with 1 or 2 in four worlds of 30 degrees, .01 to .05 behind with 4, and
.1 behind without a limit: one feature is then taken again and again, whatever the second says."""
BOOSTED = {"measure": ["ndcg", "ap"]}
"""AdaRank goes without thresholds: with them in its grid the same was chosen on every fold of MQ2008 and OHSUMED, in
twenty times the time, as a round that does not pay is taken back and the next weak ranker tried."""
STEPS = {"n_iter": [1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 100], "standardize": [True, False]}
BETAS = {"beta": [0.02, 0.1, 0.3, 0.5, 0.8]}
FINE = tuple(round(0.05 * step, 2) for step in range(21))
Rows = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Features, labels and queries of items."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A ranker with what is tuned of it; ``of_top`` learns from a total order of the top."""

    ranker: Any
    grid: dict[str, list[Any]]
    of_top: bool = False


RANKERS = {
    "SVM-MAP": Entry(rankers.SVMMAP(), MARGINS),
    "RankSVM": Entry(RankSVM(), MARGINS),
    "FocusedSVM": Entry(rankers.FocusedSVM(), MARGINS | BETAS, of_top=True),
    "AdaRank": Entry(rankers.AdaRank(), ROUNDS | REPEATS | BOOSTED),
    "RankBoost": Entry(rankers.RankBoost(), ROUNDS | REPEATS | CUTS),
    "FocusedBoost": Entry(rankers.FocusedBoost(), ROUNDS | REPEATS | CUTS | BETAS, of_top=True),
    "ListNet": Entry(rankers.ListNet(), STEPS),
    "RankNet": Entry(rankers.RankNet(), STEPS),
    "FocusedNet": Entry(rankers.FocusedNet(), STEPS | BETAS, of_top=True),
    "ListMLE": Entry(rankers.ListMLE(rng=0), STEPS, of_top=True),
}
FOCUSED = {"FocusedSVM": ("SVM-MAP", "RankSVM"), "FocusedBoost": ("AdaRank", "RankBoost")}
FOCUSED |= {"FocusedNet": ("ListNet", "RankNet")}
WORLDS = ("graded", "top-k")


def measures(world: str, k: int, max_grade: int) -> dict[str, Any]:
    """Return the measures of a world: of grades, or of the top-k truth."""
    if world == "graded":
        return {f"N@{cutoff}": NDCG("exp", cutoff) for cutoff in RANKS} | {"ERR": ERR(max_grade)}
    return {f"κ-N@{cutoff}": kNDCG(k, cutoff) for cutoff in RANKS} | {"κ-ERR": kERR(k)}


class Parts(NamedTuple):
    """The parts of a collection's queries that are learned from, tuned on and tested on."""

    train: Sequence[int]
    tune: Sequence[int]
    test: Sequence[int]

    @classmethod
    def of_fold(cls, number: int) -> Parts:
        """Three parts to train on, one to tune on, one to test on, as LETOR has them."""
        return cls([(number + step) % 5 for step in range(3)], [(number + 3) % 5], [(number + 4) % 5])


SPLIT = Parts([0], [1], [2])
"""Of a generated collection."""


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """Rows to train on, to tune on and to test on, by the grades or by the truth."""

    collection: Collection
    world: str
    parts: Parts

    @property
    def truth(self) -> np.ndarray:
        """What rankers are scored by."""
        return self.collection.truth if self.world == "top-k" else self.collection.grades

    def labels(self, of_top: bool) -> np.ndarray:
        """Return the labels for training: grades, a random order of theirs, or the truth."""
        return self.collection.random_order if of_top and self.world == "graded" else self.truth

    def judged(self, parts: Sequence[int], labels: np.ndarray) -> Rows:
        """Return features, labels and queries of parts."""
        rows = self.collection.rows(parts)
        return self.collection.features[rows], labels[rows], self.collection.pool.item_queries[rows]

    def ranker(self, name: str) -> Any:
        """Return a ranker that is not fitted yet."""
        ranker = clone(RANKERS[name].ranker)
        return ranker.set_params(k=self.collection.k) if "k" in ranker.get_params() else ranker

    def chosen(self, name: str) -> tuple[Any, dict[str, Any]]:
        """Return a ranker tuned on the validation part, and its parameters."""
        entry = RANKERS[name]
        decides = kNDCG(self.collection.k, 10) if self.world == "top-k" else NDCG("exp", 10)
        train = self.judged(self.parts.train, self.labels(entry.of_top))
        tune = self.judged(self.parts.tune, self.truth)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            found = choose(self.ranker(name), entry.grid, train=train, validation=tune, measure=decides)
        return found.ranker, dict(found.params)

    def fitted(self, name: str, params: dict[str, Any]) -> Any:
        """Return a ranker fitted on the training parts."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            rows = self.judged(self.parts.train, self.labels(RANKERS[name].of_top))
            return self.ranker(name).set_params(**params).fit(*rows)

    def values(self, ranker: Any) -> dict[str, np.ndarray]:
        """Return every measure of the world for each query of the test part."""
        return self.values_of(ranker.predict(self.collection.features[self.collection.rows(self.parts.test)]))

    def values_of(self, scores: np.ndarray) -> dict[str, np.ndarray]:
        """Return every measure of the test part for scores of its items, whatever they come from."""
        rows, (_, labels, queries) = self.collection.rows(self.parts.test), self.judged(self.parts.test, self.truth)
        offsets = np.concatenate(([0], np.cumsum(np.bincount(np.unique(queries, return_inverse=True)[1]))))
        pool = QueryPool(np.arange(offsets.size - 1), offsets, self.collection.pool.item_ids[rows])
        ranking = Rankings.from_scores(pool, scores)
        asked = measures(self.world, self.collection.k, int(self.collection.grades.max()))
        return {name: measure.score(pool, labels, ranking) for name, measure in asked.items()}


def run_fold(fold: Fold, rankers: Sequence[str] = tuple(RANKERS)) -> dict[str, Any]:
    """Tune every ranker on a fold; collect parameters, and values by measure and query."""
    found = {}
    for name in rankers:
        ranker, params = fold.chosen(name)
        found[name] = {"params": params, "values": fold.values(ranker)}
    return found


def beta_curves(fold: Fold, found: dict[str, Any]) -> dict[str, dict[str, list[float]]]:
    """Return by focused ranker the mean of each measure of the panels by β, all else as it was chosen."""
    panels = ("N@5", "N@10", "ERR") if fold.world == "graded" else ("κ-N@5", "κ-N@10", "κ-ERR")
    curves = {}
    for name in FOCUSED:
        values = [fold.values(fold.fitted(name, found[name]["params"] | {"beta": beta})) for beta in FINE]
        curves[name] = {panel: [float(one[panel].mean()) for one in values] for panel in panels}
    return curves


def directions(fold: Fold) -> dict[str, list[np.ndarray]]:
    """Return by query how well a ranker of the top's order, and one of what is in the top, do both.

    The share of pairs in order: of the top among themselves ("order"), and of the top and the rest ("choice"). Each is
    a RankSVM, its C tuned on what it learns; where one does what the other does, the top has no direction of its own.
    """
    shares: dict[str, list[np.ndarray]] = {}
    for learned in ("order", "choice"):
        train, tune = (_of_part(fold.judged(parts, fold.truth), learned) for parts in fold.parts[:2])
        ranker = choose(RankSVM(), MARGINS, train=train, validation=tune, measure=NDCG("exp", 10)).ranker
        for asked in ("order", "choice"):
            features, labels, queries = _of_part(fold.judged(fold.parts.test, fold.truth), asked)
            shares[f"{asked} by {learned}"] = _pairs_in_order(ranker.predict(features), labels, queries)
    return shares


def _of_part(rows: Rows, what: str) -> Rows:
    """Return the top alone, or all items with what is in the top."""
    features, labels, queries = rows
    if what == "choice":
        return features, np.minimum(labels, 1), queries
    top = labels > 0
    return features[top], labels[top], queries[top]


def _pairs_in_order(scores: np.ndarray, labels: np.ndarray, queries: np.ndarray) -> np.ndarray:
    shares = []
    for query in np.unique(queries):
        own, values = labels[queries == query], scores[queries == query]
        signs = np.sign(own[:, None] - own)
        right = np.sign(values[:, None] - values) * signs
        shares.append(((right[signs > 0] + 1) / 2).mean() if (signs > 0).any() else np.nan)
    return np.array(shares)


def summed_up(folds: list[dict[str, Any]]) -> dict[str, Any]:
    """Return means over the test queries of all folds, and each fold's parameters, by ranker."""
    return {
        name: {
            "means": {
                measure: float(np.concatenate([fold[name]["values"][measure] for fold in folds]).mean())
                for measure in folds[0][name]["values"]
            },
            "params": [fold[name]["params"] for fold in folds],
        }
        for name in folds[0]
    }
