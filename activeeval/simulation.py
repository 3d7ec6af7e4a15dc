"""Replicated simulation: what a method's estimates would have been, thousands of times over.

On a pool whose labels are known, Algorithm 1 is run for every repetition, method and budget, with
the kernels that a campaign uses; repetition r with its seed equals the campaign with that seed.
Everything that is simulated comes with its Monte-Carlo standard error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
_N_RESAMPLES = 200


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


@dataclass(frozen=True, slots=True)
class Summary:
    """One method at one budget, over all repetitions; every ``…_se`` is a Monte-Carlo standard error.

    Attributes
    ----------
    method : str
    budget : float
        In the unit that the budgets were given in.
    repetitions : int
    truth : float
        Performance over the pool with all labels.
    rmse, mae, bias : float
        Root mean squared error, mean absolute error, mean error.
    coverage : float
        Share of 95 % intervals that hold the truth.
    width : float
        Mean full width of the 95 % interval, over the repetitions that gave one.
    undetermined : float
        Share of repetitions whose sample shows no spread, so that nothing bounds the interval; the
        infinite interval counts as holding the truth.
    queries, items : float
        Mean number of distinct queries and items judged.
    spent : float
        Mean cost, in the unit of the budgets.
    efficiency : float
        MSE(passive) / MSE(method) at the same budget.
    labels_saved : float or None
        1 − Λ'/Λ, where the method at Λ' has passive's mean absolute error at Λ, by interpolation
        over the budgets; None where Λ' lies outside them.
    selection_error : float or None
        Share of repetitions that take the worse ranking for the better; comparisons only.
    """

    method: str
    budget: float
    repetitions: int
    truth: float
    rmse: float
    rmse_se: float
    mae: float
    mae_se: float
    bias: float
    bias_se: float
    coverage: float
    coverage_se: float
    width: float
    width_se: float
    undetermined: float
    undetermined_se: float
    queries: float
    queries_se: float
    items: float
    items_se: float
    spent: float
    spent_se: float
    efficiency: float
    efficiency_se: float
    labels_saved: float | None
    labels_saved_se: float | None
    selection_error: float | None
    selection_error_se: float | None


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
    return _replicate(design, grades, _ascending(budgets), repetition_seeds(rng, repetitions), expected, n_jobs)


def _replicate(
    design: Design,
    grades: ArrayLike,
    budget_array: Floats,
    seeds: Sequence[np.random.SeedSequence],
    expected: bool,
    n_jobs: int,
) -> Replications:
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


def _ascending(budgets: Sequence[float]) -> Floats:
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


def simulate(
    designs: Mapping[str, Design],
    grades: ArrayLike,
    budgets: Sequence[float],
    repetitions: int,
    rng: np.random.Generator | np.random.SeedSequence | int | None = None,
    *,
    unit: float = 1.0,
    expected: bool = False,
    n_jobs: int = 1,
) -> list[Summary]:
    """Compare designs on a labelled pool, each against ``designs["passive"]``.

    Parameters
    ----------
    designs : mapping of str to Design
        Must hold "passive", the reference.
    budgets : sequence of float
        In units of `unit`, ascending.
    unit : float
        Cost of one unit of budget, in the unit of the item costs.

    Returns
    -------
    list of Summary
        By design, then by budget.
    """
    if "passive" not in designs:
        raise InputError("simulate compares with passive: designs must hold a design named 'passive'")
    scaled = _ascending(budgets) * unit
    seeds = repetition_seeds(rng, repetitions)
    runs = {name: _replicate(design, grades, scaled, seeds, expected, n_jobs) for name, design in designs.items()}
    passive = designs["passive"]
    truth = replication.weighted_sum(passive.query_probs, passive.target.values(grades))
    is_comparison = passive.target.versus is not None
    saved = {
        name: _labels_saved(np.asarray(budgets, dtype=np.float64), run.values - truth, runs["passive"].values - truth)
        for name, run in runs.items()
    }
    return [
        _summary(name, k, float(b), run, runs["passive"], truth, unit, saved[name], is_comparison)
        for name, run in runs.items()
        for k, b in enumerate(budgets)
    ]


def _mean_and_error(sample: Floats) -> tuple[float, float]:
    n = sample.size
    if n == 0:
        return float("nan"), float("nan")
    if n < 2 or not np.all(np.isfinite(sample)):
        return float(sample.mean()), float("nan")
    return float(sample.mean()), float(sample.std(ddof=1) / np.sqrt(n))


def _rmse(errors: Floats) -> tuple[float, float]:
    mse, mse_error = _mean_and_error(errors**2)
    rmse = float(np.sqrt(mse))
    return rmse, mse_error / (2 * rmse) if rmse > 0 else 0.0


def _efficiency(passive_errors: Floats, errors: Floats) -> tuple[float, float]:
    """Return MSE(passive) / MSE(method) and its standard error; repetitions share their seeds, so they pair."""
    a, b = passive_errors**2, errors**2
    if b.mean() == 0:
        return (1.0, 0.0) if a.mean() == 0 else (float("inf"), float("nan"))
    ratio = a.mean() / b.mean()
    _, error = _mean_and_error((a - ratio * b) / b.mean())
    return float(ratio), error


def _summary(
    name: str,
    k: int,
    budget: float,
    run: Replications,
    passive: Replications,
    truth: float,
    unit: float,
    saved: tuple[list[float | None], list[float | None]],
    is_comparison: bool,
) -> Summary:
    errors = run.values[:, k] - truth
    half = run.half_widths()[:, k]
    wrong = 0.5 * (np.sign(run.values[:, k]) * np.sign(truth) <= 0) + 0.5 * (run.values[:, k] * truth < 0)
    selection = _mean_and_error(wrong) if is_comparison and truth != 0 else (None, None)
    return Summary(
        name,
        budget,
        errors.size,
        truth,
        *_rmse(errors),
        *_mean_and_error(np.abs(errors)),
        *_mean_and_error(errors),
        *_mean_and_error((np.abs(errors) <= half + 1e-12 * abs(truth)).astype(np.float64)),
        *_mean_and_error(2 * half[np.isfinite(half)]),
        *_mean_and_error(np.isinf(half).astype(np.float64)),
        *_mean_and_error(run.n_queries[:, k].astype(np.float64)),
        *_mean_and_error(run.n_items[:, k].astype(np.float64)),
        *_mean_and_error(run.spent[:, k] / unit),
        *_efficiency(passive.values[:, k] - truth, errors),
        saved[0][k],
        saved[1][k],
        *selection,
    )


def _labels_saved(
    budgets: Floats, errors: Floats, passive_errors: Floats
) -> tuple[list[float | None], list[float | None]]:
    """Return labels saved at each budget and its bootstrap standard error over repetitions."""
    n = len(errors)
    point = _saved_at(budgets, np.abs(errors).mean(axis=0), np.abs(passive_errors).mean(axis=0))
    counts = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), size=_N_RESAMPLES) / n
    resampled = np.array(
        [
            _saved_at(budgets, own, passive)
            for own, passive in zip(counts @ np.abs(errors), counts @ np.abs(passive_errors), strict=True)
        ]
    )
    values: list[float | None] = []
    standard_errors: list[float | None] = []
    for k, value in enumerate(point):
        known = resampled[np.isfinite(resampled[:, k]), k]
        values.append(float(value) if np.isfinite(value) else None)
        enough = np.isfinite(value) and known.size > _N_RESAMPLES // 2
        standard_errors.append(float(known.std(ddof=1)) if enough else None)
    return values, standard_errors


def _saved_at(budgets: Floats, own: Floats, passive: Floats) -> Floats:
    """Interpolate log Λ over log error; NaN where passive's error lies outside the method's.

    Errors are made to fall with the budget: by their running minimum, and on its plateaus by a
    slope too small to see.
    """
    saved = np.full(budgets.size, np.nan)
    known = (own > 0) & (passive > 0)
    if np.count_nonzero(known) < 2:
        return saved
    log_budget = np.log(budgets[known])
    falls = 1e-9 * log_budget
    log_own, log_passive = (np.log(np.minimum.accumulate(error[known])) - falls for error in (own, passive))
    within = (log_own[-1] <= log_passive) & (log_passive <= log_own[0])
    shifted = np.interp(-log_passive, -log_own, log_budget) - log_budget
    saved[known] = np.where(within, np.where(np.abs(shifted) < 1e-6, 0.0, 1 - np.exp(shifted)), np.nan)
    return saved
