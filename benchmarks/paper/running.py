"""The repetitions: each case on each fold by each method; what is stored is not run again."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from activeeval import DCG, ERR, QueryPool, Rankings, Target
from activeeval.core.design.methods import METHODS, default_method
from activeeval.core.measures import SampledMeasure
from activeeval.core.simulation import Summary, simulate
from benchmarks.machine import store
from benchmarks.paper.cases import CASES, MEASURES, OWN_BUDGETS, PAPER_METHODS, REMOVED, UPDATE, Case, budgets_for
from benchmarks.paper.folds import Collection
from benchmarks.paper.training import SEED, Trained

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

    @property
    def tasks(self) -> list[tuple[Case, int]]:
        """The cases on every fold."""
        return [(case, fold) for fold in range(len(self.collection.folds)) for case in CASES]


def run(job: Run, n_jobs: int) -> list[dict[str, Any]]:
    """Run what is missing; return for each case and fold ``rows``, by measure, method and budget, and ``seconds``."""
    missing = [task for task in job.tasks if not job.path(*task).exists()]
    Parallel(n_jobs=n_jobs)(delayed(_run_and_store)(job, *task) for task in missing)
    return [json.loads(job.path(*task).read_text()) for task in job.tasks]


def _run_and_store(job: Run, case: Case, fold: int) -> None:
    found = run_case(job, case, fold)
    path = job.path(case, fold)
    store(path, found)
    print(f"{job.collection.name}, fold {fold + 1}: {case.title} in {sum(found['seconds'].values()):.0f} s", flush=True)


@dataclass(frozen=True)
class _Family:
    """Methods that are repeated alike: the paper's, or passive and our own default of a measure.

    Budgets are in mean costs of a query.
    """

    name: str
    model: dict[str, Any]
    budgets: list[float]
    repetitions: int

    def methods(self, measure: SampledMeasure) -> tuple[str, ...]:
        """Return the methods to run, the reference first."""
        return PAPER_METHODS if self.name == "paper's" else ("passive", default_method(measure).name)


def run_case(job: Run, case: Case, fold: int) -> dict[str, Any]:
    """Run one case on one fold."""
    trained = Trained(job.collection, fold)
    pool, grades = job.collection.pool(fold)
    first = Rankings.from_scores(pool, trained.scores(case.first))
    second = _second(case, trained, first)
    measures = {"ERR": ERR(job.collection.max_grade), "DCG": DCG()}
    seconds: dict[str, float] = {}
    rows: list[dict[str, Any]] = []
    for family in _families(job, case, trained, pool, seconds):
        for k, name in enumerate(MEASURES):
            target = Target(measures[name], first, second)
            with _timed(seconds, f"{family.name} designs"):
                designs = {one: METHODS[one].design(target, **family.model) for one in family.methods(target.measure)}
            seed = np.random.SeedSequence([SEED, fold, CASES.index(case), k])
            with _timed(seconds, f"{family.name} repetitions"):
                found = simulate(
                    designs,
                    grades,
                    family.budgets,
                    family.repetitions,
                    seed,
                    unit=designs["passive"].cost / target.pool.n_queries,
                )
            where = {"figure": case.figure, "case": case.title, "measure": name, "fold": fold + 1}
            is_known = {(row["measure"], row["method"]) for row in rows}
            rows += [where | _kept(summary) for summary in found if (name, summary.method) not in is_known]
    return {"rows": rows, "seconds": seconds}


def _families(job: Run, case: Case, trained: Trained, pool: QueryPool, seconds: dict[str, float]) -> Iterator[_Family]:
    dearest = float(np.bincount(pool.item_queries, pool.item_costs).max())
    budgets = [budget for budget in job.budgets if budget >= dearest]
    probs = trained.probs(case.beliefs)
    yield _Family("paper's", {"grade_probs": probs}, budgets, job.repetitions)
    few = [budgets[k] for k in OWN_BUDGETS if k < len(budgets)]
    if job.own_repetitions and case.has_own and few:
        with _timed(seconds, "own designs"):
            model = {"grade_probs": probs, "factor": trained.factor(case.beliefs)}
        yield _Family("own", model, few, job.own_repetitions)


@contextmanager
def _timed(seconds: dict[str, float], part: str) -> Iterator[None]:
    started = time.perf_counter()
    yield
    seconds[part] = seconds.get(part, 0.0) + time.perf_counter() - started


def _kept(summary: Summary) -> dict[str, Any]:
    values = summary.row()
    return {name: values[name] for name in KEPT}


def _second(case: Case, trained: Trained, first: Rankings) -> Rankings | None:
    if case.second is None:
        return None
    if case.second == UPDATE:
        return first.without(REMOVED, np.random.default_rng([SEED, trained.fold]))
    return Rankings.from_scores(first.pool, trained.scores(case.second))
