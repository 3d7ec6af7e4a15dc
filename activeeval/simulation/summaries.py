"""Methods compared over their repetitions; everything that is simulated has its Monte-Carlo standard error."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from activeeval.design import Design
from activeeval.errors import InputError
from activeeval.kernels import estimates
from activeeval.methods import Plan
from activeeval.results import are_uneven
from activeeval.simulation.replications import Replications, ascending, repetition_seeds, replicate_with

Floats = NDArray[np.float64]
_N_RESAMPLES = 200
_NO_ERROR = 1e-12


@dataclass(frozen=True, slots=True)
class Summary:
    """One method at one budget, over all repetitions; every ``…_se`` is a Monte-Carlo standard error.

    Attributes
    ----------
    method, interval : str
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
    coverage_so_far : float
        Share of repetitions whose intervals at this budget and all smaller ones hold the truth: what
        kinds promise that may look again and again.
    queries, items : float
        Mean number of distinct queries and items judged.
    spent, spent_sd : float
        Mean cost and its standard deviation, in the unit of the budgets.
    degrees_of_freedom : float
        Mean of those of the t intervals, over the repetitions that did not judge everything; far below
        the number of judged queries where few of them dominate the estimate. NaN where all did.
    uneven : float
        Share of repetitions whose estimate cautions that few queries dominate it, `activeeval.results.are_uneven`.
    efficiency : float
        MSE(passive) / MSE(method) at the same budget.
    labels_saved : float or None
        1 − Λ'/Λ, where the method at Λ' has passive's mean absolute error at Λ, by interpolation
        over the budgets; None where Λ' lies outside them.
    selection_error : float or None
        Share of repetitions that take the worse ranking for the better; comparisons only.
    """

    method: str
    interval: str
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
    coverage_so_far: float
    coverage_so_far_se: float
    queries: float
    queries_se: float
    items: float
    items_se: float
    spent: float
    spent_se: float
    spent_sd: float
    degrees_of_freedom: float
    uneven: float
    efficiency: float
    efficiency_se: float
    labels_saved: float | None
    labels_saved_se: float | None
    selection_error: float | None
    selection_error_se: float | None


def simulate(
    designs: Mapping[str, Design | Plan],
    grades: ArrayLike,
    budgets: Sequence[float],
    repetitions: int,
    rng: np.random.Generator | np.random.SeedSequence | int | None = None,
    *,
    unit: float = 1.0,
    expected: bool = False,
    n_jobs: int = 1,
    interval: str | Mapping[str, str] = "t",
    progress: Callable[[str], object] | None = None,
) -> list[Summary]:
    """Compare designs on a labelled pool, each against ``designs["passive"]``.

    Parameters
    ----------
    designs : mapping of str to Design or Plan
        Must hold "passive", the reference.
    budgets : sequence of float
        In units of `unit`, ascending.
    unit : float
        Cost of one unit of budget, in the unit of the item costs.
    interval : str or mapping of str to str
        The kind of the intervals, a key of `activeeval.estimation.INTERVALS`; or that of each design by
        its name, t where it has none.
    progress : callable, optional
        Called with the name of each design when its repetitions are done.

    Returns
    -------
    list of Summary
        By design, then by budget.
    """
    if "passive" not in designs:
        raise InputError("simulate compares with passive: designs must hold a design named 'passive'")
    scaled = ascending(budgets) * unit
    seeds = repetition_seeds(rng, repetitions)
    kinds = {name: interval if isinstance(interval, str) else interval.get(name, "t") for name in designs}
    runs = {}
    for name, design in designs.items():
        runs[name] = replicate_with(design, grades, scaled, seeds, expected, n_jobs, kinds[name])
        if progress is not None:
            progress(name)
    target = designs["passive"].target
    truth = estimates.weighted_sum(target.pool.query_probs, target.values(grades))
    is_comparison = target.versus is not None
    saved = {
        name: labels_saved_at(np.asarray(budgets, dtype=np.float64), run.values - truth, runs["passive"].values - truth)
        for name, run in runs.items()
    }
    return [
        _summary(name, kinds[name], k, float(b), run, runs["passive"], truth, unit, saved[name], is_comparison)
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


def _efficiency(passive_errors: Floats, errors: Floats, scale: float) -> tuple[float, float]:
    """Return MSE(passive) / MSE(method) and its standard error; repetitions share their seeds, so they pair."""
    a, b = (np.where(np.abs(e) <= _NO_ERROR * scale, 0.0, e) ** 2 for e in (passive_errors, errors))
    if b.mean() == 0:
        return (1.0, 0.0) if a.mean() == 0 else (float("inf"), float("nan"))
    ratio = a.mean() / b.mean()
    _, error = _mean_and_error((a - ratio * b) / b.mean())
    return float(ratio), error


def _summary(
    name: str,
    interval: str,
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
    slack = 1e-12 * abs(truth)
    held = (run.lows <= truth + slack) & (run.highs >= truth - slack)
    width: Floats = np.asarray(run.highs[:, k] - run.lows[:, k])
    wrong = 0.5 * (np.sign(run.values[:, k]) * np.sign(truth) <= 0) + 0.5 * (run.values[:, k] * truth < 0)
    degrees = run.degrees_of_freedom[:, k]
    uneven = are_uneven(np.sqrt(run.variances[:, k]), degrees, run.n_open[:, k])
    selection = _mean_and_error(wrong) if is_comparison and truth != 0 else (None, None)
    return Summary(
        name,
        interval,
        budget,
        errors.size,
        truth,
        *_rmse(errors),
        *_mean_and_error(np.abs(errors)),
        *_mean_and_error(errors),
        *_mean_and_error(held[:, k].astype(np.float64)),
        *_mean_and_error(width[np.isfinite(width)]),
        *_mean_and_error(np.isinf(width).astype(np.float64)),
        *_mean_and_error(np.asarray(held[:, : k + 1].min(axis=1), dtype=np.float64)),
        *_mean_and_error(run.n_queries[:, k].astype(np.float64)),
        *_mean_and_error(run.n_items[:, k].astype(np.float64)),
        *_mean_and_error(run.spent[:, k] / unit),
        float(run.spent[:, k].std(ddof=1)) / unit if errors.size > 1 else float("nan"),
        _mean_and_error(degrees[np.isfinite(degrees)])[0],
        float(uneven.mean()),
        *_efficiency(passive.values[:, k] - truth, errors, abs(truth)),
        saved[0][k],
        saved[1][k],
        *selection,
    )


def labels_saved_at(
    budgets: Floats, errors: Floats, passive_errors: Floats
) -> tuple[list[float | None], list[float | None]]:
    """Return labels saved at each budget and its bootstrap standard error over repetitions."""
    n = len(errors)
    point = saved_at(budgets, np.abs(errors).mean(axis=0), np.abs(passive_errors).mean(axis=0))
    counts = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), size=_N_RESAMPLES) / n
    resampled = np.array(
        [
            saved_at(budgets, own, passive)
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


def saved_at(budgets: Floats, own: Floats, passive: Floats) -> Floats:
    """Interpolate log Λ over log error for each budget; NaN where passive's error lies outside the method's.

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
