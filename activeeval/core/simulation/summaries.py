"""Summaries of simulated methods over their repetitions; all figures have Monte-Carlo standard errors."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike

from activeeval.core.checks import check_names
from activeeval.core.design import Design, RatePlan, ascending
from activeeval.core.errors import InputError
from activeeval.core.kernels import estimates
from activeeval.core.measures import Target
from activeeval.core.pool import Seed
from activeeval.core.results import Figure
from activeeval.core.simulation.figures import (
    NO_ERROR,
    efficiency_figure,
    mean_figure,
    rmse_figure,
    selection_error_figure,
    share_figure,
)
from activeeval.core.simulation.replications import Replications, repetition_seeds, replicate_with
from activeeval.core.types import Floats

_N_RESAMPLES = 200
_LEVEL = 0.95
_LESS_SPREAD = 0.1
"""Share of the planned variance below which V̂ counts as too small. Of a third, a fifth and a tenth the first at which
one in five intervals from V̂ alone misses the true value (30 to 50 queries; 4 % of the others do). Because planned
variances raise V̂, the reported intervals miss half as often."""
_FAR = 3.0
"""Standard errors below nominal coverage: correct intervals would be called too short in one of 740 simulations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """One method at one budget, over all repetitions; the se of a figure is its Monte-Carlo standard error.

    Attributes
    ----------
    method, interval, scope : str
        Name of the design, kind and scope of its intervals.
    budget : float
        In the unit of the given budgets.
    repetitions : int
    truth : float
        Performance over the pool with all labels.
    rmse, mae, bias : Figure
        Root mean squared error, mean absolute error, mean error.
    coverage : Figure
        Share of 95 % intervals that contain the true value.
    width : Figure
        Mean full width of the 95 % interval, over the repetitions whose sample gave more than the measure's limits.
    undetermined : Figure
        Share of repetitions whose sample shows no spread: their intervals (infinite without a plan) must not be used.
    coverage_so_far : Figure
        Share of repetitions whose intervals at this budget and all smaller ones contain the true value, which
        group-sequential intervals guarantee.
    less_spread : Figure
        Share of repetitions whose V̂ is below a tenth of the planned variance, because rare large values were missed.
    queries, items : Figure
        Mean number of distinct queries and items judged.
    spent : Figure
        Mean cost, in the unit of the budgets.
    spent_sd, spent_max : float
        Standard deviation and largest of the costs.
    degrees_of_freedom : float
        Mean degrees of freedom of the t intervals, over the repetitions that did not judge everything; far below
        the number of judged queries if few of them dominate the estimate. NaN if all repetitions judged everything.
    efficiency : Figure
        MSE(passive) / MSE(method) at the same budget.
    limit : Figure or None
        Efficiency with the optimal probabilities of places for the model's variances at this cost, without least
        probabilities, rounding or a hard budget; the variances are scaled to explain the error of the method's own
        probabilities. None for draws with replacement and without a model.
    labels_saved : Figure or None
        1 − Λ'/Λ, where the method at Λ' has passive's mean absolute error at Λ, by interpolation
        over the budgets; None if Λ' lies outside them.
    labels_saved_above : float or None
        If Λ' lies below the budgets: lower bound of the share saved, because the smallest budget already has a smaller
        error.
    selection_error : Figure or None
        Share of repetitions that select the worse ranking; comparisons only.
    """

    method: str
    interval: str
    scope: str
    budget: float
    repetitions: int
    truth: float
    rmse: Figure
    mae: Figure
    bias: Figure
    coverage: Figure
    width: Figure
    undetermined: Figure
    coverage_so_far: Figure
    less_spread: Figure
    queries: Figure
    items: Figure
    spent: Figure
    spent_sd: float
    spent_max: float
    degrees_of_freedom: float
    efficiency: Figure
    limit: Figure | None
    labels_saved: Figure | None
    labels_saved_above: float | None
    selection_error: Figure | None

    @property
    def is_too_short(self) -> bool:
        """True if the coverage of 95 % intervals is below 95 % by more than 3 standard errors."""
        return self.coverage.value < _LEVEL - _FAR * math.sqrt(_LEVEL * (1 - _LEVEL) / self.repetitions)

    def row(self, *, with_errors: bool = True) -> dict[str, float | int | str | None]:
        """Tabulate the fields by name, None if unknown; ``with_errors`` adds ``x_se``, the error of each figure."""
        out: dict[str, float | int | str | None] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            is_figure = field.type == "Figure" or field.type == "Figure | None"
            out[field.name] = value.value if isinstance(value, Figure) else value
            if with_errors and is_figure:
                se = value.se if isinstance(value, Figure) else None
                out[f"{field.name}_se"] = None if se is not None and np.isnan(se) else se
        return out


class SimulationOptions(TypedDict, total=False):
    """Options of the repetitions of several designs.

    Attributes
    ----------
    expected : bool
        Draws with replacement meet a budget on average, not as a hard limit.
    n_jobs : int
        Threads; −1 for all processors. Default: 1.
    progress : callable, optional
        Called with the name of each design when its repetitions are done.
    """

    expected: bool
    n_jobs: int
    progress: Callable[[str], object] | None


def simulate(
    designs: Mapping[str, Design],
    grades: ArrayLike,
    budgets: Sequence[float],
    repetitions: int,
    rng: Seed = 0,
    *,
    unit: float = 1.0,
    interval: str | Mapping[str, str] = "t",
    **options: Unpack[SimulationOptions],
) -> list[Summary]:
    """Compare designs by repeated samples of a labelled pool, each against ``designs["passive"]``.

    ``grades`` (n_items,) are the pool's labels; ``repetitions`` samples are drawn of each design, the r-th by the r-th
    child of the seed ``rng``. Raises InputError if "passive" is missing, and errors of `replicate`.

    Parameters
    ----------
    designs : mapping of str to Design
        Must contain "passive", the reference: queries drawn by traffic with replacement, judged whole.
    budgets : sequence of float
        In units of `unit`, ascending.
    unit : float
        Cost of one unit of budget, in mean items (the pool's mean item costs 1).
    interval : str or mapping of str to str
        The kind of the intervals, a key of `activeeval.core.estimation.INTERVALS` (always t for draws with
        replacement); or the kind of each design by its name, t by default.
    **options
        `SimulationOptions`: expected, n_jobs and progress.

    Returns
    -------
    list of Summary
        By design, then by budget.

    Examples
    --------
    >>> from activeeval import DCG, METHODS, Rankings, Target, generate_pool
    >>> generated = generate_pool(20, rng=0)
    >>> target = Target(DCG(cutoff=5), Rankings.from_scores(generated.pool, generated.features[:, 0]))
    >>> designs = {name: METHODS[name].design(target, budget=50) for name in ("passive", "random")}
    >>> for row in simulate(designs, generated.grades, [50], repetitions=40):
    ...     print(f"{row.method}: rmse {row.rmse.value:.2f}, {row.queries.value:.1f} queries")
    passive: rmse 1.08, 9.7 queries
    random: rmse 0.73, 9.7 queries
    """
    check_names(options, SimulationOptions)
    if "passive" not in designs:
        raise InputError("designs must contain 'passive', the reference of all comparisons")
    scaled = ascending(budgets) * unit
    seeds = repetition_seeds(rng, repetitions)
    if isinstance(interval, str):
        interval = {name: design.scheme.interval(interval) for name, design in designs.items()}
    kinds = {name: interval.get(name, "t") for name in designs}
    expected, n_jobs, progress = options.get("expected", False), options.get("n_jobs", 1), options.get("progress")
    runs = {}
    for name, design in designs.items():
        on_average = design.scheme.on_average(expected)
        runs[name] = replicate_with(
            design, grades, scaled, seeds, expected=on_average, n_jobs=n_jobs, interval=kinds[name]
        )
        if progress is not None:
            progress(name)
    return summarised(designs, runs, grades, budgets, kinds, unit=unit)


def summarised(
    designs: Mapping[str, Design],
    runs: Mapping[str, Replications],
    grades: ArrayLike,
    budgets: Sequence[float],
    kinds: Mapping[str, str],
    *,
    unit: float = 1.0,
    target: Target | None = None,
) -> list[Summary]:
    """Summarise the repetitions of each design for ``target`` (default: the designs' first) at each budget.

    ``designs``, ``runs`` (their repetitions) and ``kinds`` (of intervals) have the same keys, "passive", the reference,
    among them. ``grades`` (n_items,) are the pool's labels; ``budgets`` are in units of ``unit`` mean items (cost 1).
    """
    reading = designs["passive"].reading(target)
    truth = estimates.weighted_sum(reading.query_probs, reading.values(np.asarray(grades, dtype=np.int64)))
    errors = {name: run.values - truth for name, run in runs.items()}
    amounts = np.asarray(budgets, dtype=np.float64)
    saved = {name: labels_saved_at(amounts, of_method, errors["passive"]) for name, of_method in errors.items()}
    at_least = {name: saved_above(amounts, of_method, errors["passive"]) for name, of_method in errors.items()}
    plans = {name: RatePlan.of(design) for name, design in designs.items() if _has_plan(design)}
    is_comparison = reading.target.versus is not None
    return [
        _summary(
            {
                "method": name,
                "interval": kinds[name],
                "budget": float(b),
                "labels_saved": saved[name][k],
                "labels_saved_above": at_least[name][k] if saved[name][k] is None else None,
            },
            plans[name].excess(float(b) * unit) if name in plans else None,
            k,
            run,
            errors["passive"][:, k],
            truth,
            unit,
            is_comparison,
        )
        for name, run in runs.items()
        for k, b in enumerate(budgets)
    ]


def _has_plan(design: Design) -> bool:
    """True if the limit of efficiency is defined: one target, a grade model, levels, no rates that depend on labels."""
    is_single = len(design.targets) == 1 and design.history is None
    return design.scheme.is_planned and design.beliefs is not None and is_single


def _summary(
    named: dict[str, Any],
    excess: float | None,
    k: int,
    run: Replications,
    passive_errors: Floats,
    truth: float,
    unit: float,
    is_comparison: bool,
) -> Summary:
    """Summarize the repetitions of one design at the k-th budget.

    ``named`` has further fields of the summary; ``excess`` is the ratio of the design's variance to the least possible
    one, or None; ``passive_errors`` (repetitions,) are those of the reference. A budget's ``unit`` is in mean items.
    """
    errors, slack = run.values[:, k] - truth, NO_ERROR * abs(truth)
    covers = (run.lows <= truth + slack) & (run.highs >= truth - slack)
    width = np.asarray(run.highs[:, k] - run.lows[:, k])
    degrees, spent = run.degrees_of_freedom[:, k], run.spent[:, k] / unit
    reached = efficiency_figure(passive_errors, errors, abs(truth))
    return Summary(
        **named,
        scope="pool",
        repetitions=errors.size,
        truth=truth,
        rmse=rmse_figure(errors),
        mae=mean_figure(np.abs(errors)),
        bias=mean_figure(errors),
        coverage=share_figure(covers[:, k]),
        width=mean_figure(width[np.isfinite(width) & np.isfinite(run.variances[:, k])]),
        undetermined=share_figure(np.isinf(run.observed[:, k])),
        coverage_so_far=share_figure(np.all(covers[:, : k + 1], axis=1)),
        less_spread=share_figure(run.observed[:, k] < _LESS_SPREAD * run.planned[:, k]),
        queries=mean_figure(run.n_queries[:, k].astype(np.float64)),
        items=mean_figure(run.n_items[:, k].astype(np.float64)),
        spent=mean_figure(spent),
        spent_sd=float(spent.std(ddof=1)) if errors.size > 1 else float("nan"),
        spent_max=float(spent.max()),
        degrees_of_freedom=mean_figure(degrees[np.isfinite(degrees)]).value,
        efficiency=reached,
        limit=None if excess is None else Figure(reached.value * excess, reached.se * excess),
        selection_error=selection_error_figure(run.values[:, k], truth) if is_comparison and truth != 0 else None,
    )


def labels_saved_at(budgets: Floats, errors: Floats, passive_errors: Floats) -> list[Figure | None]:
    """Compute the share of labels that a design saves over the passive one at each budget, with bootstrap errors.

    Errors have shape (repetitions, n_budgets). The share is 1 − Λ'/Λ, where the design at budget Λ' has passive's mean
    absolute error at Λ; None where it is unknown.
    """
    n = len(errors)
    point = saved_at(budgets, np.abs(errors).mean(axis=0), np.abs(passive_errors).mean(axis=0))
    weights = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), size=_N_RESAMPLES) / n
    resampled = np.array(
        [
            saved_at(budgets, of_method, passive)
            for of_method, passive in zip(weights @ np.abs(errors), weights @ np.abs(passive_errors), strict=True)
        ]
    )
    out: list[Figure | None] = []
    for k, value in enumerate(point):
        known = resampled[np.isfinite(resampled[:, k]), k]
        se = float(known.std(ddof=1)) if known.size > _N_RESAMPLES // 2 else float("nan")
        out.append(Figure(float(value), se) if np.isfinite(value) else None)
    return out


def saved_above(budgets: Floats, errors: Floats, passive_errors: Floats) -> list[float | None]:
    """Compute a lower bound of the share of labels saved at each budget, relative to the passive design.

    It is known where the smallest budget has a smaller error than passive (queries drawn by traffic, judged whole) by
    two Monte-Carlo standard errors; None elsewhere and at the smallest budget. Errors: (repetitions, n_budgets).
    """
    out: list[float | None] = []
    for budget, passive in zip(budgets, np.abs(passive_errors).T, strict=True):
        gap = mean_figure(passive - np.abs(errors[:, 0]))
        out.append(float(1 - budgets[0] / budget) if gap.value > 2 * gap.se and budget > budgets[0] else None)
    return out


def saved_at(budgets: Floats, errors: Floats, passive: Floats) -> Floats:
    """Compute the share of labels that a method saves at each budget; NaN if passive's error lies outside the method's.

    Passive queries are drawn by traffic and judged whole. The share is 1 − Λ'/Λ, where the method at budget Λ' has
    passive's mean absolute error at Λ; log Λ is interpolated over log error. Both errors have shape (n_budgets,).

    Errors are made decreasing in the budget: by their running minimum, and on its plateaus by a negligible slope.
    """
    saved = np.full(budgets.size, np.nan)
    known = (errors > 0) & (passive > 0)
    if np.count_nonzero(known) < 2:
        return saved
    log_budget = np.log(budgets[known])
    falls = 1e-9 * log_budget
    log_errors, log_passive = (np.log(np.minimum.accumulate(error[known])) - falls for error in (errors, passive))
    within = (log_errors[-1] <= log_passive) & (log_passive <= log_errors[0])
    shifted = np.interp(-log_passive, -log_errors, log_budget) - log_budget
    saved[known] = np.where(within, np.where(np.abs(shifted) < 1e-6, 0.0, 1 - np.exp(shifted)), np.nan)
    return saved
