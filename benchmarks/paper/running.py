"""The repetitions: each case on each fold by each method; what is stored is not run again."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from activeeval import DCG, ERR, Rankings, Target
from activeeval.methods import METHODS, Plan, default_method
from activeeval.modelling import GradeBeliefs
from activeeval.simulation import simulate
from benchmarks.machine import store
from benchmarks.paper.cases import CASES, MEASURES, PAPER_METHODS, REMOVED, UPDATE, Case, budgets_for
from benchmarks.paper.folds import Collection
from benchmarks.paper.training import SEED, Trained

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Run:
    """A collection whose rankers are trained, and how often everything is repeated."""

    collection: Collection
    repetitions: int
    own: bool = True

    def path(self, case: Case, fold: int) -> Path:
        """Where the rows of a case on a fold are stored."""
        methods = "all" if self.own else "paper"
        return self.collection.folder / f"repetitions-{self.repetitions}-{methods}" / f"{case.key}-fold-{fold + 1}.json"


def run(job: Run, figures: Sequence[int], n_jobs: int) -> list[dict[str, Any]]:
    """Return the rows of all folds of the cases of some figures, one for each measure, method and budget."""
    chosen = [case for case in CASES if case.figure in figures]
    tasks = [(case, fold) for fold in range(len(job.collection.folds)) for case in chosen]
    missing = [task for task in tasks if not job.path(*task).exists()]
    Parallel(n_jobs=n_jobs)(delayed(_run_and_store)(job, *task) for task in missing)
    return [row for task in tasks for row in json.loads(job.path(*task).read_text())]


def _run_and_store(job: Run, case: Case, fold: int) -> None:
    rows = run_case(job, case, fold)
    path = job.path(case, fold)
    path.parent.mkdir(parents=True, exist_ok=True)
    store(path, rows)


def run_case(job: Run, case: Case, fold: int) -> list[dict[str, Any]]:
    """Return the rows of one case on one fold, with what designs and repetitions took in seconds."""
    trained = Trained(job.collection, fold)
    pool, grades = job.collection.pool(fold)
    first = Rankings.from_scores(pool, trained.scores(case.first))
    second = _second(case, trained, first)
    probs = trained.probs(case.beliefs)
    beliefs = GradeBeliefs(probs, trained.factor(case.beliefs))
    rows = []
    for k, name in enumerate(MEASURES):
        target = Target(ERR(job.collection.max_grade) if name == "ERR" else DCG(), first, second)
        plans, seconds = _plans(target, beliefs, job.own)
        budgets = [b for b in budgets_for(pool.n_queries) if b >= plans["passive"].stage.costs.max()]
        seed = np.random.SeedSequence([SEED, fold, CASES.index(case), k])
        started = time.perf_counter()
        summaries = simulate(plans, grades, budgets, job.repetitions, seed)
        seconds["repetitions_s"] = time.perf_counter() - started
        where = {"figure": case.figure, "case": case.title, "measure": name, "fold": fold + 1}
        rows += [where | asdict(summary) | seconds for summary in summaries]
    return rows


def _second(case: Case, trained: Trained, first: Rankings) -> Rankings | None:
    if case.second is None:
        return None
    if case.second == UPDATE:
        return first.without(REMOVED, np.random.default_rng([SEED, trained.fold]))
    return Rankings.from_scores(first.pool, trained.scores(case.second))


def _plans(target: Target, beliefs: GradeBeliefs, own: bool) -> tuple[dict[str, Plan], dict[str, float]]:
    """Return the plans of the methods to compare, and the seconds that each family took."""
    n_grades = beliefs.probs.shape[1]
    plans, seconds = {}, {}
    families = {"paper_designs_s": PAPER_METHODS, "own_design_s": (default_method(target.measure).name,) if own else ()}
    for family, names in families.items():
        started = time.perf_counter()
        for name in names:
            method = METHODS[name]
            plans[name] = method.plan(target, **beliefs.for_method(method, n_grades))
        seconds[family] = time.perf_counter() - started
    return plans, seconds
