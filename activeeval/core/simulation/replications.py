"""Repeated campaigns on a pool whose labels are known, with the kernels that a campaign uses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike

from activeeval.core.checks import check_names
from activeeval.core.design import Design, Levels, Reading, Replacement, Scheme, ascending, whole
from activeeval.core.design.replacement import DRAWS_PER_QUERY
from activeeval.core.design.schemes import ROUNDING
from activeeval.core.errors import InputError
from activeeval.core.estimation import (
    EstimatorResult,
    EvidenceArrays,
    IntervalKind,
    Student,
    evaluated,
    evidence_arrays,
    find_interval,
    looks_of,
)
from activeeval.core.interval_ends import default_ends, half_widths
from activeeval.core.kernels import estimates, replication
from activeeval.core.measures import Target
from activeeval.core.measures.ranking_checks import checked_grades
from activeeval.core.pool import Seed, key_of, known_digest, pool_hashes
from activeeval.core.types import Floats, Ints

Keys = Sequence[np.uint64]
Run = Callable[[Keys], Floats]
_MOST, _MOST_PLACES = 1000, 2_000_000
"""Largest numbers of repetitions, and of places, processed together to share the work per query; up to 100 MB."""
_MOST_UNIFORMS = 20_000_000
COLUMNS = (
    *("values", "variances", "degrees_of_freedom", "observed", "planned"),
    *("n_draws", "n_queries", "n_items", "spent", "n_open", "lows", "highs"),
)
"""Columns of a repetition's result for each budget, in order."""
_ESTIMATED, _PLANNED, _COUNTED, _ENDS = slice(0, 5), 4, slice(5, 10), slice(10, 12)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Replications:
    """Results of all repetitions of one design at all budgets; each array has shape (repetitions, budgets).

    `values` are the estimates and `variances` those from which intervals are computed; `observed` are the variances
    observed in each sample alone and `planned` those that the design planned, as in
    `activeeval.core.estimation.EstimatorResult`. `n_open` counts the judged queries selected by chance, `lows` and
    `highs` are the ends of 95 % intervals of the requested kind, `spent` is in mean items.
    """

    values: Floats
    variances: Floats
    degrees_of_freedom: Floats
    observed: Floats
    planned: Floats
    n_draws: Ints
    n_queries: Ints
    n_items: Ints
    n_open: Ints
    spent: Floats
    lows: Floats
    highs: Floats

    def half_widths(self, confidence: float = 0.95) -> Floats:
        """Compute the half-width of each t interval; infinite if the sample does not determine it.

        Raises InputError if the confidence does not lie strictly between 0 and 1.
        """
        return half_widths(self.variances, self.degrees_of_freedom, confidence)


class ReplicationOptions(TypedDict, total=False):
    """Options of `replicate` besides the budgets, the repetitions and their seed.

    Attributes
    ----------
    target : Target, optional
        Any target that the design's order covers; by default the first one that it was made for.
    scope : {"pool", "population"}
        Scope of the estimates. Default: pool.
    expected : bool
        For draws with replacement: a fixed number of draws meets each budget on average, instead of as a hard limit.
    n_jobs : int
        Threads; −1 for all processors. Default: 1.
    interval : str
        A key of `activeeval.core.estimation.INTERVALS`; for the group-sequential kind the budgets are the interim
        analyses. Default: t.
    """

    target: Target | None
    scope: str
    expected: bool
    n_jobs: int
    interval: str


def replicate(
    design: Design,
    grades: ArrayLike,
    budgets: Sequence[float],
    repetitions: int,
    rng: Seed = 0,
    **options: Unpack[ReplicationOptions],
) -> Replications:
    """Simulate a campaign (a sample that is judged and estimated) ``repetitions`` times for every budget.

    Parameters
    ----------
    design : Design
    grades : array of int, shape (n_items,)
        The labels of the pool; −1 for an unjudged item, which then counts as unjudgeable.
    budgets : sequence of float
        Ascending, in mean items (the mean item of the pool costs 1).
    rng : Generator, SeedSequence, int or None
        Repetition r draws with the r-th child of this seed, independent of `n_jobs`.
    **options
        `ReplicationOptions`: target, scope, expected, n_jobs and interval.

    Raises
    ------
    BudgetError
        If a budget is too small for the design.
    InputError
        If labels, budgets or options do not fit the design.

    Examples
    --------
    >>> from activeeval import DCG, METHODS, Rankings, Target, generate_pool
    >>> generated = generate_pool(20, rng=0)
    >>> target = Target(DCG(cutoff=5), Rankings.from_scores(generated.pool, generated.features[:, 0]))
    >>> design = METHODS["random"].design(target, budget=50)
    >>> repeated = replicate(design, generated.grades, [25, 50], repetitions=40)
    >>> repeated.values.shape
    (40, 2)
    >>> print(repeated.n_queries.mean(axis=0))
    [4.65 9.65]
    """
    return replicate_with(design, grades, ascending(budgets), repetition_seeds(rng, repetitions), **options)


def replicate_with(
    design: Design,
    grades: ArrayLike,
    budgets: Floats,
    seeds: Sequence[np.random.SeedSequence],
    **options: Unpack[ReplicationOptions],
) -> Replications:
    """Run one repetition for each seed, on an ascending array of budgets.

    The random key of a repetition follows from its seed and the grades known to the design. Repetitions run in chunks,
    in ``n_jobs`` threads.

    Parameters
    ----------
    design : Design
    grades : array of int, shape (n_items,)
        The labels of the pool; −1 for an item that cannot be judged.
    budgets : ndarray, shape (n_budgets,)
        In mean items (the mean item of the pool costs 1).
    **options
        `ReplicationOptions`: target, scope, expected, n_jobs and interval.
    """
    # imported here: slow, and not needed by reports without simulation
    from joblib import Parallel, delayed, effective_n_jobs

    check_names(options, ReplicationOptions)
    scope, expected, n_jobs = options.get("scope", "pool"), options.get("expected", False), options.get("n_jobs", 1)
    if scope != "pool" and design.pool.draw is not None:
        raise InputError(
            "repetitions are for the scope pool only: the draw of its queries from a log is not repeated", field="scope"
        )
    design.with_budget(float(budgets[0]), (), expected=expected)  # raises BudgetError if it is too small
    digest = known_digest(pool_hashes(design.pool)[1], design.known)
    keys = [key_of(seed, digest) for seed in seeds]
    design.order.check_whole()
    labels = checked_grades(design.pool, grades, design.max_grade)[0]
    design = design.followed(labels)  # with adaptive depth: the rates that these labels determine
    reading = design.reading(options.get("target"))
    kind = find_interval(options.get("interval", "t"))()
    task = _ReplicationTask(
        design=design, reading=reading, labels=labels, budgets=budgets, kind=kind, scope=scope, expected=expected
    )
    run, most = _runner(design.scheme, task)
    size = min(most, -(-len(keys) // effective_n_jobs(n_jobs)))
    chunks = [keys[start : start + size] for start in range(0, len(keys), size)]
    parts = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(run)(chunk) for chunk in chunks)
    columns = dict(zip(COLUMNS, np.moveaxis(np.concatenate(parts), 2, 0), strict=True))
    counts = {name: column.astype(np.int64) for name, column in columns.items() if name.startswith("n_")}
    return Replications(**columns | counts)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _ReplicationTask:
    """The design to repeat, and the estimates requested from each repetition; see `replicate`.

    ``reading`` estimates the target from the judged sample, ``kind`` computes intervals.
    """

    design: Design
    reading: Reading
    labels: Ints
    budgets: Floats
    kind: IntervalKind
    scope: str
    expected: bool

    @property
    def is_plain(self) -> bool:
        """True if default intervals for the pool (these queries, not the population they come from) are requested."""
        return isinstance(self.kind, Student) and self.scope == "pool"


@singledispatch
def _runner(scheme: Scheme, task: _ReplicationTask) -> tuple[Run, int]:
    """Choose ``(run, most)`` for a scheme of sampling: a function of keys, and the largest number of keys per call.

    ``run`` computes the repetitions of the given random keys, shape (n_keys, n_budgets, len(COLUMNS)). A scheme without
    a registered function raises TypeError.
    """
    raise TypeError(f"no simulation is implemented for scheme {scheme!r}")


@_runner.register
def _by_levels(scheme: Levels, task: _ReplicationTask) -> tuple[Run, int]:
    """Build ``(run, most)`` for samples that are judged upward in level until the budget is spent.

    ``run`` maps random keys to the results of their repetitions, ``most`` is the largest number of keys per call. The
    level of a unit (items of a query that are judged at once) is its random position in the judging order. Only units
    below ``limit``, which the largest budget cannot exceed, are computed.
    """
    design, budgets, judge = task.design, task.budgets, task.reading.judge(task.labels)
    limit = scheme.limit(design.order, budgets[-1])
    n_places = float(design.order.inclusion_probs(limit)[1].sum())

    def run(keys: Keys) -> Floats:
        """Compute the results of the repetitions with these keys, shape (n_keys, n_budgets, len(COLUMNS)).

        The scheme yields groups of keys by their indices (``which``), each with the judged selections that its budgets
        paid.
        """
        out = np.empty((len(keys), budgets.size, len(COLUMNS)))
        for which, paid in scheme.samples(design.order, np.array(keys), budgets, limit):
            samples = [evidence_arrays(design, task.reading, judge, selections) for selections in paid]
            for k, evidence in enumerate(samples):
                n_queries, n_open = evidence.n_queries, np.diff(evidence.starts)
                counts = (n_queries, n_queries, evidence.n_items, evidence.costs, n_open)  # first: number of draws
                out[which, k, _COUNTED] = np.column_stack(counts)
                if task.is_plain:
                    out[which, k, _ESTIMATED] = evaluated(evidence)
            if not task.is_plain:
                _add_looks(out, which, samples, task)
        if task.is_plain:
            _add_ends(out, task.reading.limits)
        return out

    return run, int(np.clip(_MOST_PLACES / max(n_places, 1.0), 1, _MOST))


def _add_looks(out: Floats, which: Ints, samples: Sequence[EvidenceArrays], task: _ReplicationTask) -> None:
    """Fill estimates and intervals of some repetitions at each interim analysis, one repetition after the other.

    ``out`` has shape (n_keys, n_budgets, len(COLUMNS)); ``which`` are the rows to fill, and ``samples`` has the data of
    these repetitions at each budget.
    """
    shares = (task.budgets / task.budgets[-1]).tolist()
    for row, r in enumerate(which.tolist()):
        looks = looks_of([evidence.of_selection(row) for evidence in samples], shares, task.scope)
        out[r, :, _ESTIMATED] = [_estimated_columns(look.evaluated) for look in looks]
        ends = [task.kind.interval(looks[: k + 1], 0.95) for k in range(len(looks))]
        out[r, :, _ENDS] = [(end.low, end.high) for end in ends]


def _estimated_columns(estimate: EstimatorResult) -> tuple[float, ...]:
    """List an estimate's fields in the order of the first five of `COLUMNS`."""
    return estimate.value, estimate.variance, estimate.degrees_of_freedom, estimate.observed, estimate.planned


def _add_ends(out: Floats, limits: tuple[float, float]) -> None:
    """Fill the ends of default 95 % intervals in ``out`` (n_keys, n_budgets, len(COLUMNS))."""
    ends = default_ends(out[:, :, 0], out[:, :, 1], out[:, :, 2], 0.95, limits)  # values, variances, degrees
    out[:, :, _ENDS] = np.stack(ends, axis=2)


@_runner.register
def _with_replacement(scheme: Replacement, task: _ReplicationTask) -> tuple[Run, int]:
    """Build ``(run, most)`` for draws with replacement, computed by `kernels.replication.replicate`.

    ``run`` maps random keys to the results of their repetitions, ``most`` is the largest number of keys per call.
    Raises InputError for anything but default intervals for the pool. Budgets that pay for all queries (a census) are
    not simulated: their estimate is the true value.
    """
    order, budgets, expected = task.design.order, task.budgets, task.expected
    if not task.is_plain:
        raise InputError(f"draws with replacement support only t intervals of the pool, not {task.kind.name!r}")
    everything = whole(order, np.arange(order.n_queries), 0.0)
    draws, values = scheme.draws_of(order), task.reading.judge(task.labels).totals(everything).totals[:, 0].copy()
    by_hash, costs = draws.queries, draws.costs
    limits = np.full(budgets.size, DRAWS_PER_QUERY * order.n_queries)
    bounds = budgets * (1 + ROUNDING)
    if expected:
        limits = np.array([draws.n_draws(float(b)) for b in budgets], dtype=np.int64)
        bounds = np.full(budgets.size, np.inf)
    n_sampled = sum(expected or not draws.is_census(float(b)) for b in budgets)
    truth = estimates.weighted_sum(order.query_probs, values)
    per_query = (order.query_probs / scheme.sampling_probs, costs, np.diff(order.offsets), values)
    columns = (draws.cumulative, *(array[by_hash] for array in per_query))
    arrays = (truth, *columns, bounds[:n_sampled], limits[:n_sampled])
    n_uniforms = int(limits.max()) if expected else int(1.5 * budgets[-1] / max(draws.expected_cost, 1e-9)) + 50
    n_uniforms = min(n_uniforms, int(limits.max()))

    def run(keys: Keys) -> Floats:
        """Compute the results of the repetitions with these keys, shape (n_keys, n_budgets, len(COLUMNS))."""
        out = np.empty((len(keys), budgets.size, len(COLUMNS)))
        if n_sampled:
            # columns: estimate, variance, degrees of freedom, draws, distinct queries, distinct items, cost
            ran = _runs_of_draws(arrays, keys, n_sampled, n_uniforms)
            out[:, :n_sampled, _ESTIMATED] = ran[:, :, [0, 1, 2, 1, 1]]  # observed: the same variance; planned: below
            out[:, :n_sampled, _COUNTED] = ran[:, :, [3, 4, 5, 6, 3]]
        n = order.n_queries
        out[:, n_sampled:, _ESTIMATED] = (truth, 0.0, np.inf, 0.0, 0.0)
        out[:, n_sampled:, _COUNTED] = (n, n, order.items.size, costs.sum(), n)
        out[:, :, _PLANNED] = 0.0
        _add_ends(out, task.reading.limits)
        return out

    return run, _MOST


def _runs_of_draws(arrays: tuple[Any, ...], keys: Keys, n_budgets: int, n_uniforms: int) -> Floats:
    """Run repetitions of draws with replacement; repeat those whose random sequences were too short with longer ones.

    ``arrays`` are the arguments of `kernels.replication.replicate` between uniforms and results, ``n_uniforms`` is the
    first length. The result has shape (n_keys, n_budgets, 7), with columns estimate, variance, degrees of freedom,
    draws, distinct queries, distinct items and cost.
    """
    out = np.empty((len(keys), n_budgets, 7))
    todo = np.arange(len(keys))
    while todo.size:
        batch = todo[: max(1, _MOST_UNIFORMS // n_uniforms)]
        uniforms = np.stack([np.random.default_rng(int(keys[r])).random(n_uniforms) for r in batch.tolist()])
        part = np.empty((batch.size, n_budgets, 7))
        complete = np.empty(batch.size, dtype=np.bool_)
        replication.replicate(*(uniforms, *arrays, part, complete))
        out[batch[complete]] = part[complete]
        todo = np.concatenate((todo[batch.size :], batch[~complete]))
        n_uniforms = n_uniforms if complete.all() else 2 * n_uniforms
    return out


def repetition_seeds(rng: Seed, repetitions: int) -> list[np.random.SeedSequence]:
    """Derive the seed of every repetition; a campaign with one of them equals that repetition.

    Raises InputError unless there is at least one repetition.
    """
    if repetitions < 1:
        raise InputError(f"repetitions must be at least 1, got {repetitions}")
    if isinstance(rng, np.random.SeedSequence):  # copy it: spawn changes its state, and equal seeds must agree
        seed_seq: Any = np.random.SeedSequence(rng.entropy, spawn_key=rng.spawn_key, pool_size=rng.pool_size)
    else:
        seed_seq = np.random.default_rng(rng).bit_generator.seed_seq
    children: list[np.random.SeedSequence] = seed_seq.spawn(repetitions)
    return children
