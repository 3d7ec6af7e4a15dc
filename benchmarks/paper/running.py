"""The repetitions: each case on each fold by each method; what is stored is not run again."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from activeeval import DCG, ERR, Rankings, Target
from activeeval.methods import METHODS, Plan, default_method
from activeeval.modelling import GradeBeliefs
from activeeval.simulation import Summary, simulate
from benchmarks.machine import store
from benchmarks.paper.cases import CASES, MEASURES, OWN_BUDGETS, PAPER_METHODS, REMOVED, UPDATE, Case, budgets_for
from benchmarks.paper.folds import Collection
from benchmarks.paper.training import SEED, Trained

Floats = NDArray[np.float64]
KEPT = ("method", "budget", "repetitions", "truth", "rmse", "rmse_se", "mae", "mae_se", "bias", "bias_se")
KEPT += ("coverage", "coverage_se", "queries", "items", "spent", "spent_sd", "selection_error", "selection_error_se")


@dataclass(frozen=True)
class Run:
    """A collection whose rankers are trained, and how often the paper's methods and our own are repeated."""

    collection: Collection
    repetitions: int
    own_repetitions: int

    @property
    def budgets(self) -> tuple[float, ...]:
        """The budgets of all folds, in mean costs of a query; a fold leaves out those below its dearest query."""
        sizes = [fold.counts.size for fold in self.collection.folds]
        return budgets_for(sum(sizes) - max(sizes))

    def path(self, case: Case, fold: int) -> Path:
        """Where the rows of a case on a fold are stored."""
        folder = self.collection.folder / f"repetitions-{self.repetitions}-{self.own_repetitions}"
        return folder / f"{case.key}-fold-{fold + 1}.json"

    def tasks(self, figures: Sequence[int]) -> list[tuple[Case, int]]:
        """Return the cases of some figures on every fold."""
        folds = range(len(self.collection.folds))
        return [(case, fold) for fold in folds for case in CASES if case.figure in figures]


def run(job: Run, figures: Sequence[int], n_jobs: int) -> list[dict[str, Any]]:
    """Run what is missing; return for each case and fold ``rows``, by measure, method and budget, and ``seconds``."""
    tasks = job.tasks(figures)
    missing = [task for task in tasks if not job.path(*task).exists()]
    Parallel(n_jobs=n_jobs)(delayed(_run_and_store)(job, *task) for task in missing)
    return [json.loads(job.path(*task).read_text()) for task in tasks]


def _run_and_store(job: Run, case: Case, fold: int) -> None:
    found = run_case(job, case, fold)
    path = job.path(case, fold)
    store(path, found)
    print(f"{job.collection.name}, fold {fold + 1}: {case.title} in {sum(found['seconds'].values()):.0f} s", flush=True)


def run_case(job: Run, case: Case, fold: int) -> dict[str, Any]:
    """Run one case on one fold."""
    trained = Trained(job.collection, fold)
    pool, grades = job.collection.pool(fold)
    first = Rankings.from_scores(pool, trained.scores(case.first))
    second = _second(case, trained, first)
    beliefs = GradeBeliefs(trained.probs(case.beliefs), trained.factor(case.beliefs))
    rows: list[dict[str, Any]] = []
    seconds: dict[str, float] = {}
    for k, name in enumerate(MEASURES):
        target = Target(ERR(job.collection.max_grade) if name == "ERR" else DCG(), first, second)
        dearest = float(np.bincount(pool.item_queries, pool.item_costs).max())
        budgets = [budget for budget in job.budgets if budget >= dearest]
        seed = np.random.SeedSequence([SEED, fold, CASES.index(case), k])
        with _timed(seconds, "paper's designs"):
            plans = _plans(PAPER_METHODS, target, beliefs)
        with _timed(seconds, "paper's repetitions"):
            found = simulate(plans, grades, budgets, job.repetitions, seed)
        if job.own_repetitions:
            with _timed(seconds, "own designs"):
                plans = _plans(("passive", default_method(target.measure).name), target, beliefs)
            with _timed(seconds, "own repetitions"):
                few = [budgets[i] for i in OWN_BUDGETS if i < len(budgets)]
                found += simulate(plans, grades, few, job.own_repetitions, seed)[len(few) :]
        where = {"figure": case.figure, "case": case.title, "measure": name, "fold": fold + 1}
        rows += [where | _kept(summary) for summary in found]
    return {"rows": rows, "seconds": seconds}


@contextmanager
def _timed(seconds: dict[str, float], part: str) -> Iterator[None]:
    started = time.perf_counter()
    yield
    seconds[part] = seconds.get(part, 0.0) + time.perf_counter() - started


def _kept(summary: Summary) -> dict[str, Any]:
    values = asdict(summary)
    return {name: values[name] for name in KEPT}


def _second(case: Case, trained: Trained, first: Rankings) -> Rankings | None:
    if case.second is None:
        return None
    if case.second == UPDATE:
        return first.without(REMOVED, np.random.default_rng([SEED, trained.fold]))
    return Rankings.from_scores(first.pool, trained.scores(case.second))


def _plans(names: Sequence[str], target: Target, beliefs: GradeBeliefs) -> dict[str, Plan]:
    n_grades = beliefs.probs.shape[1]
    return {name: METHODS[name].plan(target, **beliefs.for_method(METHODS[name], n_grades)) for name in names}
