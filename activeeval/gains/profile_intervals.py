"""Confidence intervals of gains and discounts: the values that a likelihood ratio test does not reject.

The penalty on the weights biases gains and discounts. Resampled pairs have the same bias, so the bootstrap
(`activeeval.gains.stability`) does not show it. With few kinds of pairs, such as lists of two grades, the bootstrap is
worse: every resample is alike, while a whole range of discounts orders all pairs the same way. The likelihood
(`activeeval.gains.likelihood`) has no penalty, and is constant over that range. t is linear in the discounts and in the
gains: the range is explored by linear programs, each with t linearised at the end of the previous one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog
from scipy.special import ndtri
from sklearn.utils.validation import check_is_fitted

from activeeval.core.checks import strict_share
from activeeval.core.errors import InputError
from activeeval.core.results import Caution
from activeeval.core.types import Bools, Floats, Ints
from activeeval.gains.learner import GainDiscountLearner, check_alike
from activeeval.gains.likelihood import TOLERANCE, Likelihood
from activeeval.gains.pair_summary import open_pairs
from activeeval.gains.pairs import PreferenceData

# Factor on the quantile of χ² with one degree of freedom, which is valid only for many preferences and a smooth
# likelihood: measured over the cells of benchmarks/metric_learning/coverage.py.
_WIDER = 1.3
# width, of the range from 0 to 1, above which an interval is flagged
_WIDE = 0.5
_OUTSIDE = 1e-3
# Informative preferences per kind of pair: above the first, kinds repeat, and a measure that agrees with all
# preferences is sought; above the second, no interval is given if preferences contradict each other. With lists of
# five, two grades and a tenth of the answers reversed, intervals covered a discount in .62 to .78 of 40 repetitions at
# 2.5 and 8.5 preferences per kind, and in .93 or more at 1.3.
_REPEATED, _FEW_KINDS = 1.25, 2.0
_CONTRADICTED = 0.01
# number of pairs in a linear program, those with the least lead: the solution is checked against all others
_CLOSEST = 300
_LEAST_STEP = 1e-4
# below the smallest lead that six digits of gains and discounts separate from 0
_NONE = 1e-9
# queries or pairs; with fewer, their variance is hardly known
_FEW_UNITS = 20


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class GainIntervals:
    """Confidence intervals of gains and discounts.

    Attributes
    ----------
    gains : ndarray, shape (2, L)
        Lower and upper ends by grade, as shares of the best grade's gain.
    discounts : ndarray, shape (2, K)
        Lower and upper ends by rank, as shares of the first rank's.
    confidence : float
        Nominal coverage of each interval.
    turned : float
        ε of the largest likelihood: share of the preferences reversed at random, whatever the lists.
    n_telling : int
        Number of informative preferences: those on which two measures of the shape can disagree.
    unit : str
        Unit assumed to be drawn independently: ``"queries"`` or ``"pairs"``.
    n_units : int
        Number of these units.
    cautions : tuple of Caution
    """

    gains: Floats
    discounts: Floats
    confidence: float
    turned: float
    n_telling: int
    unit: str
    n_units: int
    cautions: tuple[Caution, ...]


def gain_intervals(learner: GainDiscountLearner, data: PreferenceData, confidence: float = 0.95) -> GainIntervals:
    """Compute confidence intervals of learned gains and discounts.

    An interval holds the values with Λ = 2 (ℓ_max − ℓ) ≤ q, where ℓ is the largest log-likelihood of all measures with
    that one gain or discount (profile likelihood). Only preferences count: neither the penalty nor the margin, and no
    tie. Each interval is extended to include the learned value.

    Parameters
    ----------
    learner : GainDiscountLearner
        Fitted on ``data``; of shape "decreasing" or "monotone".
    confidence : float

    Raises
    ------
    InputError
        On documents without grades, free weights or an invalid confidence; and if contradictory preferences are of too
        few kinds of pairs for an interval of known coverage.

    Examples
    --------
    >>> from activeeval import GainDiscountLearner, PreferenceData
    >>> lists = np.random.default_rng(0).integers(0, 3, size=(2, 200, 4))
    >>> first, second = (np.array([0, 1, 3])[side] @ [1, 0.6, 0.5, 0.4] for side in lists)
    >>> better = (first > second)[:, None]
    >>> data = PreferenceData(np.where(better, *lists), np.where(better, *lists[::-1]), ties=first == second)
    >>> intervals = gain_intervals(GainDiscountLearner(C=10.0, shape="decreasing").fit(data), data)
    >>> low, high = intervals.gains
    >>> print(low.round(2), high.round(2))
    [0.   0.25 1.  ] [0.  0.4 1. ]
    """
    check_is_fitted(learner)
    check_alike(data, learner.n_ranks_, learner.n_levels_, learner.documents_)
    if data.documents or learner.shape == "free":
        kind = "documents that nobody graded" if data.documents else "free weights"
        raise InputError(f"there are no intervals of {kind}: they are of gains and discounts with a shape")
    strict_share(confidence, "confidence")
    chosen = np.flatnonzero(~data.ties & (data.preferred != data.other).any(axis=1))
    # groups: the query of each preference, or the preference itself, as the unit that is drawn independently
    preferences, groups = data.subset(chosen), np.unique(data.groups()[chosen], return_inverse=True)[1]
    informative = open_pairs(preferences)
    likelihood = Likelihood.of(preferences, learner.shape == "decreasing")
    best = likelihood.best()
    agreeing = _agreeing_of_few_kinds(likelihood, best, informative, confidence)
    n_free = likelihood.n_ranks + likelihood.n_steps - 2  # the first discount and the best gain are the scale
    drops = _drop(confidence, len(np.unique(groups[informative])), n_free) * _design_effects(likelihood, best, groups)
    low, high = _ends(likelihood, best, drops, agreeing)
    readout = learner.read_out()
    learned = np.concatenate((readout.discounts, readout.gains[1:]))
    n_units, unit = int(groups.max()) + 1, "queries" if data.is_grouped else "pairs"
    few = [Caution("warning", "rough intervals", {"n": n_units, "unit": unit})] if n_units < _FEW_UNITS else []
    whole = np.array([np.minimum(low, learned), np.maximum(high, learned)])
    discounts, gains = np.split(whole, [likelihood.n_ranks], axis=1)
    return GainIntervals(
        gains=np.hstack((np.zeros((2, 1)), gains)),
        discounts=discounts,
        confidence=confidence,
        turned=float(best[-1]),
        n_telling=int(informative.sum()),
        unit=unit,
        n_units=n_units,
        cautions=(*few, *_cautions(low, high, learned, confidence, likelihood.n_ranks)),
    )


def _agreeing_of_few_kinds(likelihood: Likelihood, best: Floats, informs: Bools, confidence: float) -> Floats | None:
    """Find a z (variables of a measure) that agrees with all preferences, if kinds of pairs repeat; else None.

    `informs`, shape (n,), marks the informative preferences, `best` has the z of the largest likelihood: increments of
    discounts and gains, log steepness, and last the share of preferences reversed at random. With few kinds of pairs a
    range of measures orders all pairs alike, which the likelihood alone does not show.

    Raises
    ------
    InputError
        If preferences contradict each other and are of too few kinds of pairs for an interval.
    """
    a_kind = _pairs_a_kind(likelihood.rows[informs])
    agreeing = one_agreeing(likelihood, best) if a_kind > _REPEATED else None
    if a_kind > _FEW_KINDS and agreeing is None and best[-1] > _CONTRADICTED:
        raise InputError(
            f"there is no {confidence:.0%} interval: the preferences contradict each other, and are of so few kinds of "
            f"pairs ({a_kind:.1f} preferences a kind) that whole ranges of gains and discounts order them alike"
        )
    return agreeing


def _pairs_a_kind(rows: Floats) -> float:
    """Compute the mean number of preferences per kind of pair; 1 without rows.

    ``rows``, shape (n, ranks · grades), are 1 where only the preferred list has a grade or better at a rank, −1 where
    only the other has. Pairs are of one kind if their rows are equal or opposite.
    """
    if not len(rows):
        return 1.0
    first = rows[np.arange(len(rows)), (rows != 0).argmax(axis=1)]
    return len(rows) / len(np.unique(rows * first[:, None], axis=0))


def _drop(confidence: float, n: int, n_free: int) -> float:
    """Compute the allowed drop of the log-likelihood within an interval.

    It is half the quantile of χ² with one degree of freedom, which holds for many preferences, times a factor found by
    simulation, and larger if the number `n` of independent units with informative preferences is small beside that of
    free gains and discounts, `n_free`.
    """
    quantile = float(ndtri((1 + confidence) / 2)) ** 2
    return quantile / 2 * _WIDER * (1 + n_free / max(n - n_free, n_free, 1))


def _ends(likelihood: Likelihood, best: Floats, drops: Floats, agreeing: Floats | None) -> tuple[Floats, Floats]:
    """Compute the least and the largest c_1 … c_K, g(1) … g(Y), two arrays of shape (K + Y,).

    `drops`, shape (K + Y,), has the allowed drop of the log-likelihood for each; `best` is the most likely z (variables
    of the measure); `agreeing` is a z that agrees with all preferences, or None. Every end is the extreme over the
    points of all searches, as a search for one end can reach a farther end of another.
    """
    readings = likelihood.readings
    # c_1 and g(Y) are the scale
    sought = [(sign * readings[place], drops[place]) for place in range(1, len(drops) - 1) for sign in (1, -1)]
    points = np.array([best, *(likelihood.farthest(towards, best, drop) for towards, drop in sought)])
    losses = np.array([likelihood.loss(z)[0] for z in points])
    is_within = losses[:, None] <= losses[0] + drops + TOLERANCE
    values = points @ readings.T
    low = np.where(is_within, values, np.inf).min(axis=0)
    high = np.where(is_within, values, -np.inf).max(axis=0)
    if agreeing is None:
        return low, high
    reached = np.array([farthest_agreeing(likelihood, towards, agreeing) for towards, _ in sought]) @ readings.T
    return np.minimum(low, reached.min(axis=0)), np.maximum(high, reached.max(axis=0))


def _design_effects(likelihood: Likelihood, best: Floats, groups: Ints) -> Floats:
    """Compute the design effect of clustering by query on the variance of each gain and discount, at least 1.

    The result has shape (K + Y,). With s_i the derivative of a preference's log-likelihood by z and a = (Σ s_i s_iᵀ)⁻¹
    r for a gain or discount r · z: Σ_q (Σ_{i in q} aᵀs_i)² over Σ_i (aᵀs_i)². `best` is the most likely z (variables of
    the measure); `groups`, shape (n,), has the query of each preference.
    """
    slopes = likelihood.slopes(best)
    towards = np.linalg.pinv(slopes.T @ slopes, hermitian=True) @ likelihood.readings.T
    along = slopes @ towards
    sums = np.zeros((int(groups.max()) + 1, along.shape[1]))
    np.add.at(sums, groups, along)
    alone = (along**2).sum(axis=0)
    return np.asarray(np.maximum((sums**2).sum(axis=0) / np.where(alone > 0, alone, 1.0), 1.0))


def _cautions(low: Floats, high: Floats, learned: Floats, confidence: float, n_ranks: int) -> list[Caution]:
    """List warnings about wide intervals, and about learned values that the penalty moved out of them.

    `low`, `high` and `learned` have shape (K + Y,): discounts of `n_ranks` ranks, then gains.
    """

    def places(chosen: Bools) -> dict[str, tuple[int, ...]]:
        """Convert a mask over discounts and gains to numbers of ranks and grades, from 1."""
        ranks, grades = (tuple((np.flatnonzero(part) + 1).tolist()) for part in np.split(chosen, [n_ranks]))
        return {"ranks": ranks, "grades": grades}

    known = []
    if np.any(wide := high - low > _WIDE):
        size = {"confidence": confidence, "width": _WIDE}
        known.append(Caution("warning", "wide intervals", {**size, **places(wide)}))
    if np.any(pulled := (learned < low - _OUTSIDE) | (learned > high + _OUTSIDE)):
        known.append(Caution("warning", "pulled by the penalty", places(pulled)))
    return known


def one_agreeing(likelihood: Likelihood, start: Floats) -> Floats | None:
    """Find a z that puts every preferred list first, or None, by maximising the least lead step by step from `start`.

    z has the increments of discounts and gains; the lead is t, the preferred list's value minus the other's.
    """
    z, radius = start, 1.0
    while (lead := _least_lead(likelihood, z)) <= _NONE and radius > _LEAST_STEP:
        reached = _step(likelihood, np.zeros(z.size), z, radius, 1.0)
        if reached is None or _least_lead(likelihood, reached) <= lead:
            radius /= 3
        else:
            z = reached
    return z if lead > _NONE else None


def farthest_agreeing(likelihood: Likelihood, direction: Floats, start: Floats) -> Floats:
    """Find the z of least direction · z that still agrees with every preference, from a `start` that agrees.

    z has the increments of discounts and gains, then log s and ε, which stay; all have shape (K + Y + 2,).
    """
    z, radius = start, 1.0
    while radius > _LEAST_STEP:
        reached = _step(likelihood, direction, z, radius, 0.0)
        if reached is None or _least_lead(likelihood, reached) < -_NONE:
            radius /= 3
        elif direction @ (z - reached) > _LEAST_STEP:
            z = reached
        else:
            break
    return z


def _least_lead(likelihood: Likelihood, z: Floats) -> float:
    """Compute the smallest lead t (preferred list's value minus the other's) over the preferences at z.

    z has the increments of discounts and gains.
    """
    return float(likelihood.leads(z)[0].min())


def _step(likelihood: Likelihood, direction: Floats, z: Floats, radius: float, margin: float) -> Floats | None:
    """Solve one linear program within a `radius` of z, with t (the leads) linearised: t(x) ≈ J x − t, as t is bilinear.

    With `margin` 0, direction · x is minimised subject to non-negative leads. With a margin > 0 and direction 0, the
    least lead is maximised, up to the margin. Return None if the program has no solution.
    """
    # variables: the increments x of discounts and gains, then the least lead, at most `margin`; x keeps c_1 = g(Y) = 1
    leads, slopes = likelihood.leads(z)
    closest = np.argsort(leads, kind="stable")[:_CLOSEST]
    low, high = np.array(likelihood.limits)[:-2].T
    bounds = np.column_stack((np.maximum(low, z[:-2] - radius), np.minimum(high, z[:-2] + radius)))
    solution = linprog(
        np.append(direction[:-2], -1.0),
        np.column_stack((-slopes[closest], np.ones(closest.size))),
        -leads[closest],
        np.column_stack((likelihood.readings[[0, -1], :-2], np.zeros(2))),
        np.ones(2),
        [*bounds, (-margin, margin)],
        method="highs",
    )
    return np.concatenate((solution.x[:-1], z[-2:])) if solution.status == 0 else None
