"""Simulation of several systems: one shared sample for all their differences, against passive samples for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from activeeval.core.checks import check_names
from activeeval.core.design import Design, ascending
from activeeval.core.estimation import hold_at_once
from activeeval.core.measures import Target
from activeeval.core.pool import Seed
from activeeval.core.results import Figure
from activeeval.core.simulation.figures import mean_figure, share_figure
from activeeval.core.simulation.replications import Replications, repetition_seeds, replicate_with
from activeeval.core.simulation.summaries import SimulationOptions, Summary, summarised
from activeeval.core.types import Floats

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class SimultaneousResults:
    """Results of a method's shared sample for all differences together, at one budget, over all repetitions.

    Attributes
    ----------
    method : str
    budget : float
    repetitions, contrasts : int
        Numbers of repetitions, and of differences of two systems.
    coverage : Figure
        Share of repetitions in which all 95 % simultaneous intervals contain the true values.
    efficiency : Figure
        Mean over the contrasts of the efficiency: mean squared error of the passive sample over that of the shared one.
    """

    method: str
    budget: float
    repetitions: int
    contrasts: int
    coverage: Figure
    efficiency: Figure

    def row(self) -> dict[str, float | int | str]:
        """Tabulate the fields by name, each figure followed by its standard error."""
        return {
            "method": self.method,
            "budget": self.budget,
            "repetitions": self.repetitions,
            "contrasts": self.contrasts,
            "simultaneous_coverage": self.coverage.value,
            "simultaneous_coverage_se": self.coverage.se,
            "mean_efficiency": self.efficiency.value,
            "mean_efficiency_se": self.efficiency.se,
        }


def simulate_contrasts(
    designs: Mapping[str, Design],
    passive: Mapping[Pair, Design],
    targets: Mapping[Pair, Target],
    grades: ArrayLike,
    budgets: Sequence[float],
    repetitions: int,
    rng: Seed = 0,
    *,
    interval: str = "t",
    **options: Unpack[SimulationOptions],
) -> tuple[dict[Pair, list[Summary]], list[SimultaneousResults]]:
    """Compare shared samples of several systems with passive samples, each drawn for a single difference.

    Raises the errors of `simulate`.

    Parameters
    ----------
    designs : mapping of str to Design
        Each made for all contrasts (differences of two systems), sampling without replacement.
    passive : mapping of (int, int) to Design
        The passive design (queries drawn by traffic, judged whole) of each contrast; its keys, two systems by number,
        define the contrasts.
    grades : array of int, shape (n_items,)
        The labels of the pool.
    repetitions : int
        Number of repetitions, each a sample of every design.
    rng : Generator, SeedSequence, int or None
        Repetition r draws with the r-th child of this seed.
    targets : mapping of (int, int) to Target
        The difference of every two systems: variances of pairs that are no contrasts are needed as well.
    budgets : sequence of float
        Ascending, in mean items (the mean item of the pool costs 1).
    interval : str
        Kind of the intervals, a key of `activeeval.core.estimation.INTERVALS` (always t for draws with replacement);
        simultaneous coverage is computed for t intervals only.
    **options
        `SimulationOptions`: expected, n_jobs and progress.

    Returns
    -------
    (dict, list)
        The `Summary` rows of each contrast, by design and budget, and the `SimultaneousResults` of each design and
        budget.
    """
    check_names(options, SimulationOptions)
    expected, n_jobs, progress = options.get("expected", False), options.get("n_jobs", 1), options.get("progress")
    scaled, seeds = ascending(budgets), repetition_seeds(rng, repetitions)

    def run(design: Design, target: Target) -> Replications:
        """Run all repetitions of a design, with estimates for one target, at all budgets."""
        on_average, kind = design.scheme.on_average(expected), design.scheme.interval(interval)
        return replicate_with(
            design, grades, scaled, seeds, target=target, expected=on_average, n_jobs=n_jobs, interval=kind
        )

    reference = {pair: run(design, targets[pair]) for pair, design in passive.items()}
    if progress is not None:
        progress("passive")
    runs: dict[str, dict[Pair, Replications]] = {}
    for name, design in designs.items():
        runs[name] = {pair: run(design, target) for pair, target in targets.items()}
        if progress is not None:
            progress(name)
    kinds = {"passive": "t", **dict.fromkeys(designs, interval)}
    summaries = {
        pair: summarised(
            {"passive": alone, **designs},
            {"passive": reference[pair], **{name: runs[name][pair] for name in designs}},
            grades,
            budgets,
            kinds,
            target=targets[pair],
        )
        for pair, alone in passive.items()
    }
    truths = {pair: of_pair[0].truth for pair, of_pair in summaries.items()}
    at_once = [
        _at_once(name, runs_of, reference, truths, k, float(budget))
        for name, runs_of in runs.items()
        for k, budget in enumerate(budgets)
        if interval == "t"
    ]
    return summaries, at_once


def _at_once(
    name: str,
    runs: Mapping[Pair, Replications],
    reference: Mapping[Pair, Replications],
    truths: Mapping[Pair, float],
    k: int,
    budget: float,
) -> SimultaneousResults:
    """Summarize a method's differences together at the k-th budget.

    ``runs`` and ``reference`` are the repetitions of the shared and the passive samples by contrast (two systems, by
    number), ``truths`` the true differences. ``variances[r, i, j]`` is that of the difference of systems i and j in
    repetition r.
    """
    pairs = list(truths)
    errors = np.array([runs[pair].values[:, k] - truths[pair] for pair in pairs])
    degrees = np.array([runs[pair].degrees_of_freedom[:, k] for pair in pairs])
    n = max(max(pair) for pair in runs) + 1
    variances = np.zeros((errors.shape[1], n, n))
    for (i, j), run in runs.items():
        variances[:, i, j] = variances[:, j, i] = run.variances[:, k]
    all_covered = [hold_at_once(errors[:, r], variances[r], pairs, degrees[:, r]) for r in range(errors.shape[1])]
    of_passive = np.array([reference[pair].values[:, k] - truths[pair] for pair in pairs])
    return SimultaneousResults(
        method=name,
        budget=budget,
        repetitions=errors.shape[1],
        contrasts=len(pairs),
        coverage=share_figure(all_covered),
        efficiency=_mean_efficiency(of_passive**2, errors**2),
    )


def _mean_efficiency(passive: Floats, shared: Floats) -> Figure:
    """Compute the mean over pairs of the ratio of mean squared errors, passive over shared, with its standard error.

    Both arguments are squared errors, shape (n_pairs, repetitions).
    """
    means = shared.mean(axis=1, keepdims=True)
    if not means.all():
        return Figure(float("inf"))
    ratios = passive.mean(axis=1, keepdims=True) / means
    # effect of each repetition on the mean ratio, to first order (delta method)
    moved = ((passive - ratios * shared) / means).mean(axis=0)
    return Figure(float(ratios.mean()), mean_figure(moved).se)
