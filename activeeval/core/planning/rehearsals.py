"""Rehearsals: a method's campaign run on labels that are drawn, for what no formula tells beforehand.

A few queries carry most of a comparison: the degrees of freedom of its intervals are a fraction of the judged queries,
and that fraction, as well as how the variance estimates of one sample and another differ, hangs on fourth moments of
what the labels add. Labels drawn from the model show it; those that err as the model erred about held-out queries, or
as a uniform model does, show too by which factor its variance is off.
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
"""Of labels, and of samples for each: the fraction then varies by about a tenth of itself, a half-width of 20 degrees
of freedom by less than a hundredth."""
SHARES = (0.02, 0.05, 0.1, 0.2, 0.4, 0.7)
"""Of the cost of everything: a plan says the same of a budget whatever else is asked."""
_MANY_ITEMS = 100_000
"""Of a larger pool one set of labels says as much: it has more queries."""
MOST_ITEMS = 1_000_000
"""Of a larger pool a sample has so many queries that their degrees of freedom hardly matter: it is not rehearsed."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Noise:
    """How samples of one and the same variance differ in what they say of it.

    Attributes
    ----------
    ratios : ndarray, shape (n,)
        The variance that each sample's interval is made of, over the mean of their estimates of it.
    shares : ndarray, shape (n,)
        Its degrees of freedom over the judged queries that chance chose.
    """

    ratios: Floats
    shares: Floats

    @classmethod
    def of_degrees(cls, degrees_of_freedom: float) -> Noise:
        """Return the noise of a χ², all degrees of freedom alike, as a share of themselves."""
        return cls(ratios=_chi_square_ratios(degrees_of_freedom), shares=np.ones(_N_RATIOS))


_N_RATIOS = 101


@lru_cache(maxsize=256)
def _chi_square_ratios(degrees_of_freedom: float) -> Floats:
    from scipy.special import chdtri

    if not math.isfinite(degrees_of_freedom):
        return np.ones(_N_RATIOS)
    chances = (np.arange(_N_RATIOS) + 0.5) / _N_RATIOS
    return np.asarray(chdtri(degrees_of_freedom, 1 - chances) / degrees_of_freedom)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rehearsal:
    """What campaigns on drawn labels have shown of a method, by the budget.

    Attributes
    ----------
    budgets : ndarray, shape (n,)
        Where it was looked up, ascending; between them by the logarithm of the budget.
    noises : tuple of Noise
        How samples differ there.
    ratio : float
        How many times what the model expects the variance was, the geometric mean over sets of labels and budgets.
    """

    budgets: Floats
    noises: tuple[Noise, ...]
    ratio: float = 1.0

    def near(self, budget: float) -> tuple[tuple[float, Noise], ...]:
        """Return the noise at the budgets on either side of one, in mean items, with their weights."""
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
    """Replay campaigns on labels that are drawn, at `SHARES` of the cost of everything.

    Parameters
    ----------
    design : Design
    draw : callable
        Of a seed returns labels of the design's pool, shape (n_items,), as they may turn out.
    expected : callable
        Of a budget in mean items the variance to expect.
    target : Target, optional
        The first that the design was made for by default.
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
    """Return how samples differ at one of the budgets, and the geometric mean of the sets' mean variances."""
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
