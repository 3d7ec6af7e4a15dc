"""Algorithm 1 run thousands of times on a pool whose labels are known, with the kernels that a campaign uses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray

from activeeval.design import Design
from activeeval.errors import InputError
from activeeval.kernels import replication
from activeeval.results import t_quantile

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_CHUNK = 250
_MOST_UNIFORMS = 20_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Replications:
    """Every repetition of one method at every budget, each array of shape (repetitions, budgets)."""

    values: Floats
    variances: Floats
    n_draws: Ints
    n_queries: Ints
    n_items: Ints
    spent: Floats

    def half_widths(self, level: float = 0.95) -> Floats:
        """Return the half-width of each t interval; infinite where one draw cannot tell."""
        degrees = np.maximum(self.n_draws - 1, 1).astype(np.float64)
        return t_quantile(level, degrees) * np.sqrt(self.variances)


def replicate(
    design: Design,
    grades: ArrayLike,
    budgets: Sequence[float],
    repetitions: int,
    rng: np.random.Generator | np.random.SeedSequence | int | None = None,
    *,
    expected: bool = False,
    n_jobs: int = 1,
) -> Replications:
    """Run Algorithm 1 ``repetitions`` times for every budget.

    Parameters
    ----------
    design : Design
    grades : array of int, shape (n_items,)
        The labels of the pool; a negative grade earns nothing.
    budgets : sequence of float
        Ascending, in the unit of the item costs.
    rng : Generator, SeedSequence or int, optional
        Repetition r draws with the r-th child of this seed, whatever `n_jobs` is.
    expected : bool
        Budgets in expectation (n* draws) in place of hard ones.
    n_jobs : int
        Threads.

    Raises
    ------
    BudgetError
        Where a budget is too small for the design.
    """
    return replicate_with(design, grades, ascending(budgets), repetition_seeds(rng, repetitions), expected, n_jobs)


def replicate_with(
    design: Design,
    grades: ArrayLike,
    budget_array: Floats,
    seeds: Sequence[np.random.SeedSequence],
    expected: bool,
    n_jobs: int,
) -> Replications:
    """Run one repetition for each seed; everything else as in `replicate`."""
    values = design.target.values(grades)
    out = np.empty((len(seeds), budget_array.size, 6))
    if expected:
        n_sampled = budget_array.size
        limits = np.array([design.n_draws(b) for b in budget_array], dtype=np.int64)
        bounds = np.full(n_sampled, np.inf)
    else:
        for budget in budget_array:
            design.check_hard_budget(float(budget))
        n_sampled = sum(not design.is_census(float(b)) for b in budget_array)
        limits = np.full(n_sampled, design.most_draws)
        bounds = np.array([design.hard_limit(float(b)) for b in budget_array[:n_sampled]])
        out[:, n_sampled:] = _census_row(design, values)
    if n_sampled:
        arrays = _kernel_arrays(design, values, bounds, limits)
        first_guess = _first_guess(design, budget_array[n_sampled - 1], limits, expected)
        chunks = [slice(start, start + _CHUNK) for start in range(0, len(seeds), _CHUNK)]
        run = delayed(_replicate_chunk)
        parts = Parallel(n_jobs=n_jobs, prefer="threads")(run(arrays, seeds[c], first_guess) for c in chunks)
        out[:, :n_sampled] = np.concatenate(parts)
    counts = out[:, :, 2:5].astype(np.int64)
    return Replications(out[:, :, 0], out[:, :, 1], counts[:, :, 0], counts[:, :, 1], counts[:, :, 2], out[:, :, 5])


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


def _kernel_arrays(design: Design, values: Floats, bounds: Floats, limits: Ints) -> tuple[NDArray[Any], ...]:
    cumulative = np.cumsum(design.sampling_probs)
    weights = design.importance_weights
    return cumulative, design.query_probs, weights, values, design.costs, design.item_counts, bounds, limits


def _first_guess(design: Design, largest: float, limits: Ints, expected: bool) -> int:
    if expected:
        return int(limits.max())
    return int(1.5 * largest / design.expected_cost) + 50


def _replicate_chunk(
    arrays: tuple[NDArray[Any], ...], seeds: Sequence[np.random.SeedSequence], n_uniforms: int
) -> Floats:
    """Run the repetitions of one chunk, again with longer sequences where one was too short."""
    cumulative, query_probs, weights, values, costs, item_counts, bounds, limits = arrays
    out = np.empty((len(seeds), bounds.size, 6))
    todo = np.arange(len(seeds))
    while todo.size:
        batch = todo[: max(1, _MOST_UNIFORMS // n_uniforms)]
        uniforms = np.stack([np.random.default_rng(seeds[r]).random(n_uniforms) for r in batch.tolist()])
        part = np.empty((batch.size, bounds.size, 6))
        complete = np.empty(batch.size, dtype=np.bool_)
        replication.replicate(
            uniforms, cumulative, query_probs, weights, values, costs, item_counts, bounds, limits, part, complete
        )
        out[batch[complete]] = part[complete]
        todo = np.concatenate((todo[batch.size :], batch[~complete]))
        n_uniforms = n_uniforms if complete.all() else 2 * n_uniforms
    return out


def _census_row(design: Design, values: Floats) -> list[float]:
    truth = replication.weighted_sum(design.query_probs, values)
    n_queries = design.pool.n_queries
    return [truth, 0.0, n_queries, n_queries, design.items.size, float(np.cumsum(design.costs)[-1])]
