"""Five folds of ten rankers: tuned on the validation part, scored query by query on the test part."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from activeeval import ERR, NDCG, QueryPool, Rankings, kERR, kNDCG
from activeeval.rankers import (
    SVMMAP,
    AdaRank,
    FocusedBoost,
    FocusedNet,
    FocusedSVM,
    ListMLE,
    ListNet,
    RankBoost,
    RankNet,
    RankSVM,
    choose,
)
from benchmarks.topk.collections import Collection, K

RANKS = range(1, 11)
MARGINS = {"C": [0.1, 1.0, 10.0, 100.0]}
"""Losses are about 1 for a ranker that knows nothing; on MQ2008 costs from 1 to 100 are chosen."""
ROUNDS = {"n_iter": [1, 2, 5, 10, 20, 30, 50, 100, 200, 300]}
STEPS = {"n_iter": [1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 100]}
BETAS = {"beta": [0.1, 0.3, 0.5, 0.7, 0.9]}
FINE = [round(0.05 * step, 2) for step in range(21)]


@dataclass(frozen=True, slots=True)
class Entry:
    """A ranker with what is tuned of it; ``of_top`` learns from a total order of the top."""

    ranker: Any
    grid: dict[str, list[Any]]
    of_top: bool = False


RANKERS = {
    "SVM-MAP": Entry(SVMMAP(), MARGINS),
    "RankSVM": Entry(RankSVM(), MARGINS),
    "FocusedSVM": Entry(FocusedSVM(), MARGINS | BETAS, of_top=True),
    "AdaRank": Entry(AdaRank(), ROUNDS | {"max_repeats": [None, 1, 2, 5]}),
    "RankBoost": Entry(RankBoost(), ROUNDS | {"n_thresholds": [None, 10, 30]}),
    "FocusedBoost": Entry(FocusedBoost(), ROUNDS | BETAS, of_top=True),
    "ListNet": Entry(ListNet(), STEPS),
    "RankNet": Entry(RankNet(), STEPS),
    "FocusedNet": Entry(FocusedNet(), STEPS | BETAS, of_top=True),
    "ListMLE": Entry(ListMLE(k=K, rng=0), STEPS, of_top=True),
}
FOCUSED = {"FocusedSVM": ("SVM-MAP", "RankSVM"), "FocusedBoost": ("AdaRank", "RankBoost")}
FOCUSED |= {"FocusedNet": ("ListNet", "RankNet")}


def measures(world: str, max_grade: int) -> dict[str, Any]:
    """Return the measures of a world: of grades, or of the top-k truth."""
    if world == "graded":
        return {f"N@{k}": NDCG("exp", k) for k in RANKS} | {"ERR": ERR(max_grade)}
    return {f"κ-N@{k}": kNDCG(K, k) for k in RANKS} | {"κ-ERR": kERR(K)}


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """Rows to train on, to tune on and to test on; ``labels`` are of the test, by which rankers are scored."""

    collection: Collection
    world: str
    number: int

    def labels(self, of_top: bool) -> np.ndarray:
        """Return what a ranker learns from: grades, a random order of theirs, or the truth."""
        if self.world == "top-k":
            return self.collection.truth
        return self.collection.random_order if of_top else self.collection.grades

    def judged(self, parts: list[int], labels: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return features, labels and queries of parts."""
        rows = self.collection.rows(parts)
        return self.collection.features[rows], labels[rows], self.collection.pool.item_queries[rows]

    @property
    def parts(self) -> tuple[list[int], list[int], list[int]]:
        """Three parts to train on, one to tune on, one to test on, as LETOR has them."""
        return [(self.number + step) % 5 for step in range(3)], [(self.number + 3) % 5], [(self.number + 4) % 5]

    def chosen(self, name: str) -> tuple[Any, dict[str, Any], float]:
        """Return a ranker tuned on the validation part, its parameters, and the seconds of its fit."""
        entry, (train, tune, _) = RANKERS[name], self.parts
        grades = self.collection.truth if self.world == "top-k" else self.collection.grades
        decides = kNDCG(K, 10) if self.world == "top-k" else NDCG("exp", 10)
        rows = self.judged(train, self.labels(entry.of_top))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            found = choose(entry.ranker, entry.grid, train=rows, validation=self.judged(tune, grades), measure=decides)
            started = time.perf_counter()
            clone(entry.ranker).set_params(**found.params).fit(*rows)
        return found.ranker, dict(found.params), time.perf_counter() - started

    def scores(self, ranker: Any) -> dict[str, np.ndarray]:
        """Return every measure of the world for each query of the test part."""
        grades = self.collection.truth if self.world == "top-k" else self.collection.grades
        features, labels, queries = self.judged(self.parts[2], grades)
        offsets = np.concatenate(([0], np.cumsum(np.bincount(np.unique(queries, return_inverse=True)[1]))))
        pool = QueryPool(np.arange(offsets.size - 1), offsets)
        ranking = Rankings.from_scores(pool, ranker.predict(features))
        asked = measures(self.world, int(self.collection.grades.max()))
        return {name: measure.score(pool, labels, ranking) for name, measure in asked.items()}


def run_fold(collection: Collection, world: str, number: int) -> dict[str, Any]:
    """Return what each ranker reaches on a fold: parameters, seconds, and values by measure and query."""
    fold, found = Fold(collection, world, number), {}
    for name in RANKERS:
        ranker, params, seconds = fold.chosen(name)
        values = {measure: own.round(6).tolist() for measure, own in fold.scores(ranker).items()}
        found[name] = {"params": params, "seconds": seconds, "values": values}
    return found


def summed_up(folds: list[dict[str, Any]]) -> dict[str, Any]:
    """Return means over the test queries of all folds, and each fold's parameters and seconds, by ranker."""
    return {
        name: {
            "means": {
                measure: float(np.concatenate([fold[name]["values"][measure] for fold in folds]).mean())
                for measure in folds[0][name]["values"]
            },
            "params": [fold[name]["params"] for fold in folds],
            "seconds": [round(fold[name]["seconds"], 3) for fold in folds],
        }
        for name in RANKERS
    }


def beta_curve(collection: Collection, name: str, number: int = 0) -> list[dict[str, float]]:
    """Return κ-N@10 of the test part by β, all else as it was chosen, on one fold."""
    fold = Fold(collection, "top-k", number)
    _, params, _ = fold.chosen(name)
    rows = []
    for beta in FINE:
        ranker = clone(RANKERS[name].ranker).set_params(**params | {"beta": beta})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            ranker.fit(*fold.judged(fold.parts[0], collection.truth))
        rows.append({"beta": beta, "test": float(fold.scores(ranker)["κ-N@10"].mean())})
    return rows
