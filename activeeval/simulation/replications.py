"""Campaigns run thousands of times on a pool whose labels are known, with the kernels that a campaign uses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray

from activeeval.design import Design, Sample, draw_sample
from activeeval.errors import InputError
from activeeval.estimation import JudgedSample, Student, census, evaluate, judged_sample
from activeeval.estimation.intervals import IntervalKind
from activeeval.kernels import replication
from activeeval.measures.doors import checked_grades
from activeeval.methods import Plan
from activeeval.simulation.looks import ends, interval_kind, needs_samples, samples_of_a_run

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_CHUNK = 250
_MOST_UNIFORMS = 20_000_000
_CODES = {
    "ratio": replication.RATIO,
    "difference": replication.DIFFERENCE,
    "regression": replication.REGRESSION,
    "lure": replication.LEVELLED,
}


@dataclass(frozen=True, slots=True, eq=False)
class Replications:
    """Every repetition of one method at every budget, each array of shape (repetitions, budgets).

    `lows` and `highs` are the ends of 95 % intervals of the kind that was asked for, `n_open` is the number of draws of
    queries that were not sure to be judged whole.
    """

    values: Floats
    variances: Floats
    degrees_of_freedom: Floats
    n_draws: Ints
    n_queries: Ints
    n_items: Ints
    n_open: Ints
    spent: Floats
    lows: Floats
    highs: Floats

    def half_widths(self, level: float = 0.95) -> Floats:
        """Return the half-width of each t interval; infinite where one draw cannot tell."""
        return Student().half_widths(self.variances, self.degrees_of_freedom, self.n_draws, level)


def replicate(
    design: Design | Plan,
    grades: ArrayLike,
    budgets: Sequence[float],
    repetitions: int,
    rng: np.random.Generator | np.random.SeedSequence | int | None = None,
    *,
    expected: bool = False,
    n_jobs: int = 1,
    interval: str = "t",
) -> Replications:
    """Run a campaign ``repetitions`` times for every budget.

    Parameters
    ----------
    design : Design or Plan
        A plan makes its design for each budget.
    grades : array of int, shape (n_items,)
        The labels of the pool; a negative grade earns nothing.
    budgets : sequence of float
        Ascending, in the unit of the item costs.
    rng : Generator, SeedSequence or int, optional
        Repetition r draws with the r-th child of this seed, whatever `n_jobs` is.
    expected : bool
        Of draws with replacement: budgets in expectation (n* draws) in place of hard ones.
    n_jobs : int
        Threads.
    interval : str
        A key of `activeeval.estimation.INTERVALS`; for kinds that may look again and again the
        budgets are the looks.

    Raises
    ------
    BudgetError
        Where a budget is too small for the design.
    """
    seeds = repetition_seeds(rng, repetitions)
    return replicate_with(design, grades, ascending(budgets), seeds, expected, n_jobs, interval)


def replicate_with(
    design: Design | Plan,
    grades: ArrayLike,
    budget_array: Floats,
    seeds: Sequence[np.random.SeedSequence],
    expected: bool,
    n_jobs: int,
    interval: str = "t",
) -> Replications:
    """Run one repetition for each seed; everything else as in `replicate`."""
    if isinstance(design, Plan) and not design.method.needs_budget:
        design = design.design()
    out = np.empty((len(seeds), budget_array.size, 10))
    if isinstance(design, Design) and design.spends_as_it_goes:
        kind = interval_kind(interval, design, budget_array.tolist())
        _spend(design, grades, budget_array, seeds, expected, n_jobs, out)
        if needs_samples(kind):
            _look(design, grades, budget_array, seeds, kind, out)
        else:
            out[:, :, 7], out[:, :, 8] = ends(kind, out[:, :, 0], out[:, :, 1], out[:, :, 6], out[:, :, 2])
        out[:, :, 9] = out[:, :, 2]
    else:
        for k, budget in enumerate(budget_array.tolist()):
            made = _for_budget(design, budget)
            out[:, k] = _settled(made, grades, seeds, n_jobs, interval_kind(interval, made, [budget]))
    counts = out[:, :, [2, 3, 4, 9]].astype(np.int64)
    return Replications(
        out[:, :, 0],
        out[:, :, 1],
        out[:, :, 6],
        counts[:, :, 0],
        counts[:, :, 1],
        counts[:, :, 2],
        counts[:, :, 3],
        out[:, :, 5],
        out[:, :, 7],
        out[:, :, 8],
    )


def _look(
    design: Design,
    grades: ArrayLike,
    budgets: Floats,
    seeds: Sequence[np.random.SeedSequence],
    kind: IntervalKind,
    out: Floats,
) -> None:
    """Fill in the ends of intervals that need the samples; hard budgets."""
    whole = _whole(design, grades)
    bounds = np.array([design.hard_limit(float(b)) for b in budgets])
    for r, seed in enumerate(seeds):
        for k, sample in enumerate(samples_of_a_run(design, whole, bounds, np.random.default_rng(seed))):
            value, variance = out[r, k, :2]
            if variance == 0 and not np.isfinite(out[r, k, 6]):  # everything is judged
                out[r, k, 7:9] = value
            else:
                found = kind.interval(sample, evaluate(sample, design.estimator), 0.95)
                out[r, k, 7:9] = found.low, found.high


def _for_budget(design: Design | Plan, budget: float) -> Design:
    if isinstance(design, Plan):
        return design.design(budget)
    if design.budget != budget:
        raise InputError(f"the design was made for a budget of {design.budget:g}, not of {budget:g}: give its plan")
    return design


def _spend(
    design: Design,
    grades: ArrayLike,
    budgets: Floats,
    seeds: Sequence[np.random.SeedSequence],
    expected: bool,
    n_jobs: int,
    out: Floats,
) -> None:
    """Fill ``out`` (repetitions, budgets, 7) with runs that draw until each budget is spent."""
    by_count = expected and design.scheme == "replacement"
    if by_count:
        n_sampled = budgets.size
        limits = np.array([design.n_draws(b) for b in budgets], dtype=np.int64)
        bounds = np.full(n_sampled, np.inf)
    else:
        for budget in budgets:
            design.check_hard_budget(float(budget))
        n_sampled = sum(not design.is_census(float(b)) for b in budgets)
        limits = np.full(n_sampled, design.most_draws)
        bounds = np.array([design.hard_limit(float(b)) for b in budgets[:n_sampled]])
        out[:, n_sampled:, :7] = _row(_census(design, grades), design)
    if n_sampled:
        chunks = [slice(start, start + _CHUNK) for start in range(0, len(seeds), _CHUNK)]
        run: Callable[..., Floats] = _runs(design, grades, bounds, limits, float(budgets[n_sampled - 1]), by_count)
        parts = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(run)(seeds[c]) for c in chunks)
        out[:, :n_sampled, :7] = np.concatenate(parts)


def _runs(
    design: Design, grades: ArrayLike, bounds: Floats, limits: Ints, largest: float, by_count: bool
) -> Callable[[Sequence[np.random.SeedSequence]], Floats]:
    """Return the function that runs the repetitions of some seeds."""
    stage, values = design.stage, design.values(_whole(design, grades))
    code, population = _CODES[design.estimator], design.population
    if design.scheme == "sequential":
        arrays = (design.sampling_probs, design.query_probs, stage.regressors, population)
        rest = (design.costs, design.item_counts, values, bounds)

        def without(seeds: Sequence[np.random.SeedSequence]) -> Floats:
            uniforms = _uniforms(seeds, design.pool.n_queries)
            out = np.empty((len(seeds), bounds.size, 7))
            replication.replicate_sequential(uniforms, code, *arrays, *rest, out)
            return out

        return without
    prefixes, _ = stage.prefix_totals(_whole(design, grades), design.item_probs, design.item_counts)
    guess = int(limits.max()) if by_count else int(1.5 * largest / design.expected_cost) + 50
    kernel_arrays = (
        code,
        np.cumsum(design.sampling_probs),
        design.query_probs,
        design.importance_weights,
        stage.regressors,
        population,
        design.offsets,
        design.item_probs,
        stage.slot_costs,
        stage.overheads,
        prefixes,
        values,
        bounds,
        limits,
    )
    return lambda seeds: _with_replacement(kernel_arrays, seeds, bounds.size, guess)


def _with_replacement(
    arrays: tuple[Any, ...], seeds: Sequence[np.random.SeedSequence], n_budgets: int, n_uniforms: int
) -> Floats:
    """Run the repetitions of one chunk, again with longer sequences where one was too short."""
    out = np.empty((len(seeds), n_budgets, 7))
    todo = np.arange(len(seeds))
    while todo.size:
        batch = todo[: max(1, _MOST_UNIFORMS // n_uniforms)]
        uniforms = _uniforms([seeds[r] for r in batch.tolist()], n_uniforms)
        part = np.empty((batch.size, n_budgets, 7))
        complete = np.empty(batch.size, dtype=np.bool_)
        replication.replicate(*(uniforms, *arrays, part, complete))
        out[batch[complete]] = part[complete]
        todo = np.concatenate((todo[batch.size :], batch[~complete]))
        n_uniforms = n_uniforms if complete.all() else 2 * n_uniforms
    return out


def _uniforms(seeds: Sequence[np.random.SeedSequence], n: int) -> Floats:
    return np.stack([np.random.default_rng(seed).random(n) for seed in seeds])


def _settled(
    design: Design, grades: ArrayLike, seeds: Sequence[np.random.SeedSequence], n_jobs: int, kind: IntervalKind
) -> Floats:
    """Return (repetitions, 10) of samples that are settled at once."""
    judge = _judge(design, grades)

    def run(chunk: Sequence[np.random.SeedSequence]) -> list[list[float]]:
        rows = []
        for seed in chunk:
            sample = judge(draw_sample(design, np.random.default_rng(seed)))
            row = [*_row(sample, design), np.nan, np.nan, int(np.count_nonzero(~sample.is_certain))]
            if needs_samples(kind):
                found = kind.interval(sample, evaluate(sample, design.estimator), 0.95)
                row[7:9] = found.low, found.high
            rows.append(row)
        return rows

    chunks = [seeds[start : start + _CHUNK] for start in range(0, len(seeds), _CHUNK)]
    parts = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(run)(chunk) for chunk in chunks)
    out = np.array([row for part in parts for row in part])
    if not needs_samples(kind):
        out[:, 7], out[:, 8] = ends(kind, out[:, 0], out[:, 1], out[:, 6], out[:, 2])
    return out


def _judge(design: Design, grades: ArrayLike) -> Callable[[Sample], JudgedSample]:
    """Return the function that judges a sample with the labels of the pool."""
    stage, whole = design.stage, _whole(design, grades)
    everything = _census(design, grades)
    totals_of = stage.observer(whole, design.item_probs)

    def judge(sample: Sample) -> JudgedSample:
        n, n_items = sample.queries.size, sample.slots.size
        if (n, n_items) == (design.pool.n_queries, design.items.size):
            return everything
        spent = replication.sample_cost(sample.queries, sample.counts, sample.slots, stage.slot_costs, stage.overheads)
        totals, within = totals_of(sample.queries, sample.counts, sample.slots)
        probs = design.sampling_probs[sample.queries]
        return judged_sample(design, sample.queries, probs, totals, within, (n, n, n_items, spent))

    return judge


def _whole(design: Design, grades: ArrayLike) -> Ints:
    return checked_grades(design.pool, grades, design.stage.max_grade)[0]


def _census(design: Design, grades: ArrayLike) -> JudgedSample:
    n = design.pool.n_queries
    return census(design, _whole(design, grades), (n, n, design.items.size, float(np.cumsum(design.costs)[-1])))


def _row(sample: JudgedSample, design: Design) -> list[float]:
    result = evaluate(sample, design.estimator)
    counts = [sample.n_draws, sample.n_queries, sample.n_items, sample.cost]
    return [result.value, result.variance, *counts, result.degrees_of_freedom]


def repetition_seeds(
    rng: np.random.Generator | np.random.SeedSequence | int | None, repetitions: int
) -> list[np.random.SeedSequence]:
    """Return the seed of every repetition; a campaign with one of them equals that repetition."""
    if repetitions < 1:
        raise InputError(f"repetitions must be at least 1, got {repetitions}")
    if isinstance(rng, np.random.SeedSequence):  # spawning counts on: one seed must give one answer each time
        seed_seq: Any = np.random.SeedSequence(rng.entropy, spawn_key=rng.spawn_key, pool_size=rng.pool_size)
    else:
        seed_seq = np.random.default_rng(rng).bit_generator.seed_seq
    children: list[np.random.SeedSequence] = seed_seq.spawn(repetitions)
    return children


def ascending(budgets: Sequence[float]) -> Floats:
    """Return budgets as an array once they ascend."""
    array = np.asarray(budgets, dtype=np.float64)
    if array.ndim != 1 or array.size == 0 or np.any(np.diff(array) <= 0):
        raise InputError(f"budgets must be given once each, in ascending order, got {list(budgets)}")
    return array
