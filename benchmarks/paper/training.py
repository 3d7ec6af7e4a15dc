"""The rankers of the paper: trained on half of one fold, what they say of the other folds kept on disk.

Half of the training fold's queries train; the other half tunes the ordered logit and the ranking SVM and tells how
far the grades of a query go together (the query factor). A file that is there is not made again, so a run that was
broken off goes on where it was. Rows of smaller training sets are beginnings of those of larger ones.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline

from activeeval import Rankings
from activeeval.core.grade_models import ForestGradeModel, OrderedLogitModel, QueryFactor, log_loss
from activeeval.core.measures import DCG
from activeeval.core.pool import QueryPool
from activeeval.core.types import Floats, Ints
from activeeval.rankers import ForestRegressionRanker, RankingSVM
from benchmarks.machine import store
from benchmarks.paper.folds import Collection, Fold

MOST_ROWS = 200_000
SIZES = (0.5, 0.6, 0.8, 1.0)
TREES, LEAF, FEATURES = 100, 20, "sqrt"
LOGIT_ALPHAS = (1.0, 100.0, 10_000.0)
SVM_COSTS = (1e-7, 1e-5, 1e-3)
FACTOR_QUERIES = 1000
SEED = 2013
BLOCK_ROWS = 200_000
RF_CLASS, RF_REG, LOGIT, SVM = "RF_class", "RF_reg", "Logit", "SVM"


def sized(size: float) -> str:
    """Return the name of the forest that learns from a share of the rows."""
    return RF_CLASS if size == 1 else f"{RF_CLASS}-{size:.0%}"


MODELS = (RF_CLASS, LOGIT, SVM, RF_REG, *(sized(size) for size in SIZES[:-1]))


@dataclass(frozen=True)
class Trained:
    """What the rankers that learned on one fold say; everything is read from disk."""

    collection: Collection
    fold: int

    @property
    def folder(self) -> Path:
        """Where the predictions lie."""
        return self.collection.folder / f"trained-on-{self.fold + 1}"

    def scores(self, model: str) -> Floats:
        """Return the model's scores of the pool's items, by which it ranks."""
        said = np.load(self.folder / f"{model}.npy")
        return said @ np.arange(said.shape[1]) if said.ndim == 2 else said.astype(np.float64)

    def probs(self, models: Sequence[str]) -> Floats:
        """Return p(grade | item) of the pool, the mean of several models."""
        return _mean([np.load(self.folder / f"{model}.npy") for model in models])

    def factor(self, models: Sequence[str]) -> QueryFactor:
        """Return the query factor of a model, or of a mean of models, from the queries that tune."""
        path = self.folder / f"factor-{'+'.join(models)}.json"
        if not path.exists():
            held_out = np.load(self.folder / "held-out.npz")
            probs = _mean([np.load(self.folder / f"{model}.held-out.npy") for model in models])
            found = QueryFactor.fit(probs, held_out["grades"], held_out["queries"])
            store(path, {"sigma": found.sigma, "slope": found.slope, "shift": found.shift})
        return QueryFactor(**json.loads(path.read_text()))


def _mean(parts: list[NDArray[Any]]) -> Floats:
    total = parts[0].astype(np.float64)
    for part in parts[1:]:
        total += part
    total /= total.sum(axis=1, keepdims=True)
    return total


@dataclass(frozen=True)
class _Halves:
    """The rows of the training half, in an order of their own, and the queries that tune."""

    fold: Fold
    training: Ints
    tuning: Ints

    @classmethod
    def of(cls, fold: Fold, seed: int) -> _Halves:
        rng = np.random.default_rng([SEED, seed])
        n = fold.counts.size
        trains = np.zeros(n, dtype=bool)
        trains[rng.permutation(n)[: (n + 1) // 2]] = True
        rows = np.flatnonzero(trains[fold.queries])
        chosen = np.flatnonzero(~trains)
        held_out = np.zeros(n, dtype=bool)
        held_out[chosen[: FACTOR_QUERIES if chosen.size > FACTOR_QUERIES else None]] = True
        return cls(fold, rng.permutation(rows)[:MOST_ROWS], np.flatnonzero(held_out[fold.queries]))

    def rows(self, share: float) -> Ints:
        """Return the first rows of the training half, ascending, as reading them then is faster."""
        return np.sort(self.training[: round(share * self.training.size)])


def train(
    collection: Collection, fold: int, n_jobs: int, models: Sequence[str] = MODELS, say: Callable[[str], object] = print
) -> Trained:
    """Train those models that are not there yet on one fold; store what they say of the pool and the tuning queries."""
    trained = Trained(collection, fold)
    trained.folder.mkdir(parents=True, exist_ok=True)
    halves = _Halves.of(collection.folds[fold], fold)
    if not (trained.folder / "held-out.npz").exists():
        own = halves.fold
        np.savez(trained.folder / "held-out.npz", grades=own.grades[halves.tuning], queries=own.queries[halves.tuning])
    for name in models:
        if not (trained.folder / f"{name}.json").exists():
            started = time.perf_counter()
            details = _train_one(trained, halves, name, collection.max_grade, n_jobs)
            seconds = time.perf_counter() - started
            store(trained.folder / f"{name}.json", details | {"seconds": seconds})
            say(f"{collection.name}, fold {fold + 1}: {name} in {seconds:.0f} s")
    return trained


def _train_one(trained: Trained, halves: _Halves, name: str, max_grade: int, n_jobs: int) -> dict[str, Any]:
    """Train and store one model; return what is to be known of it."""
    share = next((size for size in SIZES if sized(size) == name), 1.0)
    rows = halves.rows(share)
    features, grades = halves.fold.features[rows], halves.fold.grades[rows]
    seed = SEED + trained.fold
    held_out = halves.fold.features[halves.tuning]
    truth = halves.fold.grades[halves.tuning]
    details: dict[str, Any] = {"rows": int(rows.size)}
    if name == LOGIT:
        candidates = {a: OrderedLogitModel(a, max_grade=max_grade).fit(features, grades) for a in LOGIT_ALPHAS}
        losses = {a: log_loss(model.predict_proba(held_out), truth) for a, model in candidates.items()}
        details["alpha"] = min(losses, key=losses.__getitem__)
        say = candidates[details["alpha"]].predict_proba
    elif name == SVM:
        queries, own = halves.fold.queries[rows], halves.fold.queries[halves.tuning]
        svms = {c: _svm(c, seed).fit(features, grades, rankingsvm__query_ids=queries) for c in SVM_COSTS}
        values = {c: _mean_dcg(model.predict(held_out), truth, own) for c, model in svms.items()}
        details["C"] = max(values, key=values.__getitem__)
        say = svms[details["C"]].predict
    elif name == RF_REG:
        say = (
            ForestRegressionRanker(TREES, LEAF, FEATURES, n_jobs=n_jobs, random_state=seed)
            .fit(features, grades)
            .predict
        )
    else:
        forest = ForestGradeModel(TREES, LEAF, FEATURES, max_grade=max_grade, n_jobs=n_jobs, random_state=seed)
        say = forest.fit(features, grades).predict_proba
    _keep(trained, name, say, held_out)
    return details


def _svm(C: float, seed: int) -> Pipeline:
    """Return a ranking SVM that takes missing values for the mean and sees that they are missing."""
    return make_pipeline(SimpleImputer(add_indicator=True), RankingSVM(C=C, rng=seed))


def _keep(trained: Trained, name: str, say: Callable[[Any], Floats], held_out: NDArray[Any]) -> None:
    collection = trained.collection
    blocks = []
    for k in collection.others(trained.fold):
        features = collection.folds[k].features
        for start in range(0, features.shape[0], BLOCK_ROWS):
            blocks.append(say(np.asarray(features[start : start + BLOCK_ROWS])).astype(np.float32))
    np.save(trained.folder / f"{name}.held-out.npy", say(held_out).astype(np.float32))
    np.save(trained.folder / f"{name}.npy", np.concatenate(blocks))


def _mean_dcg(scores: Floats, grades: Ints, queries: Ints) -> float:
    starts = np.flatnonzero(np.append(True, queries[1:] != queries[:-1]))
    pool = QueryPool(np.arange(starts.size), np.append(starts, queries.size))
    return float(DCG(cutoff=10).score(pool, grades, Rankings.from_scores(pool, scores)).mean())
