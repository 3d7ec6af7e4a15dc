"""Rehearsals: simulated campaigns of a method on simulated labels, for quantities without a formula.

A few queries carry most of the variance of a comparison: the degrees of freedom of its intervals are a fraction of the
judged queries. This fraction, and the variation of variance estimates between samples, depend on fourth moments of the
labels' contributions. Labels simulated from the model show both. Labels simulated with the model's errors on held-out
queries, or with those of a uniform model, also show the factor by which the expected variance is off.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from activeeval.core.design import Design
from activeeval.core.measures import Target
from activeeval.core.pool import Seed
from activeeval.core.simulation import Replications, replicate
from activeeval.core.types import Floats, Ints

_SETS, _REPETITIONS = 8, 25
"""Number of sets of labels, and of samples for each. The fraction then has a relative error of about a tenth, and a
half-width with 20 degrees of freedom less than a hundredth."""
SHARES = (0.02, 0.05, 0.1, 0.2, 0.4, 0.7)
"""Budgets as shares of the cost of everything; fixed, so that a plan for a budget does not depend on other requests."""
_MANY_ITEMS = 100_000
"""Number of items above which one set of labels is enough, because there are more queries."""
MOST_ITEMS = 1_000_000
"""Number of items above which there is no rehearsal: with more queries the t quantile is nearly normal."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Noise:
    """Variation of variance estimates between samples with the same true variance.

    Attributes
    ----------
    ratios : ndarray, shape (n,)
        Variance used for each sample's interval, divided by the mean of the samples' variance estimates.
    shares : ndarray, shape (n,)
        Its degrees of freedom divided by the number of judged queries selected at random.
    """

    ratios: Floats
    shares: Floats

    @classmethod
    def of_degrees(cls, degrees_of_freedom: float) -> Noise:
        """Build the variation of variance estimates that follow a χ² distribution; all shares are 1."""
        return cls(ratios=_chi_square_ratios(degrees_of_freedom), shares=np.ones(_N_RATIOS))


_N_RATIOS = 101


@lru_cache(maxsize=256)
def _chi_square_ratios(degrees_of_freedom: float) -> Floats:
    """Compute equally likely quantiles of χ² divided by its degrees of freedom, shape (_N_RATIOS,)."""
    from scipy.special import chdtri

    if not math.isfinite(degrees_of_freedom):
        return np.ones(_N_RATIOS)
    chances = (np.arange(_N_RATIOS) + 0.5) / _N_RATIOS
    return np.asarray(chdtri(degrees_of_freedom, 1 - chances) / degrees_of_freedom)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rehearsal:
    """Results of simulated campaigns of a method, by budget.

    Attributes
    ----------
    budgets : ndarray, shape (n,)
        Simulated budgets, ascending, in mean items; values between them are interpolated in the log of the budget.
    noises : tuple of Noise
        Variation between samples at each budget.
    ratio : float
        Ratio of the simulated to the expected variance, geometric mean over sets of labels and budgets.
    """

    budgets: Floats
    noises: tuple[Noise, ...]
    ratio: float = 1.0

    def near(self, budget: float) -> tuple[tuple[float, Noise], ...]:
        """Return the interpolation weights and the variation at the simulated budgets on either side of a budget.

        There is one pair if the budget equals a simulated one or lies outside them, none if nothing was simulated.
        """
        if not self.noises:
            return ()
        place = float(np.interp(math.log(budget), np.log(self.budgets), np.arange(self.budgets.size)))
        below, share = int(place), place % 1.0
        lower = (1.0 - share, self.noises[below])
        return (lower, (share, self.noises[below + 1])) if share else (lower,)


def rehearse(
    design: Design,
    draw: Callable[[Seed], Ints],
    expected: Callable[[float], float],
    rng: Seed = 0,
    *,
    target: Target | None = None,
) -> Rehearsal:
    """Simulate samples of a design on simulated labels, at budgets that are `SHARES` of the cost of everything.

    Parameters
    ----------
    design : Design
        Budgets below its smallest valid one are not simulated.
    draw : callable
        Maps a seed to simulated labels of the design's pool, shape (n_items,).
    expected : callable
        Maps a budget in mean items (the mean item costs 1) to the expected variance.
    target : Target, optional
        What to estimate; by default the design's first target.

    Returns
    -------
    Rehearsal
        Empty, with ratio 1, if no budget is valid or nothing varies.
    """
    least = design.scheme.least(design.order)
    budgets = [budget for share in SHARES if (budget := share * design.cost) >= least]
    if not budgets:
        return Rehearsal(budgets=np.empty(0), noises=())
    n_sets = _SETS if design.pool.n_items <= _MANY_ITEMS else 1
    runs = []
    for seed in np.random.SeedSequence(np.random.default_rng(rng).integers(2**31)).spawn(n_sets):
        runs.append(replicate(design, draw(seed), budgets, _REPETITIONS, seed, target=target))
    noises = [(budget, *_noise(runs, which)) for which, budget in enumerate(budgets)]
    planned = [expected(budget) for budget in budgets]
    compared = [
        (budget, noise, math.log(mean / variance))
        for (budget, noise, mean), variance in zip(noises, planned, strict=True)
        if mean > 0 and 0 < variance < math.inf
    ]
    return Rehearsal(
        budgets=np.array([budget for budget, *_ in compared]),
        noises=tuple(noise for _, noise, _ in compared),
        ratio=math.exp(np.mean([ratio for *_, ratio in compared])) if compared else 1.0,
    )


def _noise(runs: list[Replications], which: int) -> tuple[Noise, float]:
    """Compute the variation between simulated samples at the budget number ``which``.

    ``runs`` has the samples of each set of labels: their ``observed`` variances are unbiased, those in ``variances``,
    shape (n_samples, n_budgets), make the intervals and can be larger. The second result is the geometric mean, over
    these sets, of the mean observed variance; 0 if no sample has one.
    """
    ratios, shares, means = [], [], []
    for run in runs:
        variances, freedom, n_open = run.variances[:, which], run.degrees_of_freedom[:, which], run.n_open[:, which]
        observed = run.observed[:, which]
        tells = np.isfinite(variances) & np.isfinite(freedom) & (variances > 0) & (n_open > 0)
        unbiased = observed[np.isfinite(observed) & tells]
        if unbiased.sum() > 0:
            means.append(float(unbiased.mean()))
            ratios.append(variances[tells] / means[-1])
            shares.append(freedom[tells] / n_open[tells])
    if not means:
        return Noise(ratios=np.empty(0), shares=np.empty(0)), 0.0
    noise = Noise(ratios=np.concatenate(ratios), shares=np.concatenate(shares))
    return noise, math.exp(np.mean(np.log(means)))
