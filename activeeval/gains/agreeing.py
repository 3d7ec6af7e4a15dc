"""Measures that put the preferred list of every pair first, and how far their gains and discounts reach.

A few kinds of pairs, as lists of two grades make them, are ordered rightly by a whole range of measures, however often
each is asked about. t is linear in the discounts and in the gains: the range is walked in linear programs, each with t
straightened where the last one ended.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

from activeeval.core.types import Floats
from activeeval.gains.likelihood import Likelihood

# pairs that a program looks at, those with the least lead: all others are held against what it finds
_CLOSEST = 300
_LEAST_STEP = 1e-4
# below the least lead that six digits of gains and discounts can tell from none
_NONE = 1e-9


def one_agreeing(likelihood: Likelihood, start: Floats) -> Floats | None:
    """Return a z that puts every preferred list first, or none: walk to where the least lead is largest."""
    z, radius = start, 1.0
    while (lead := _least_lead(likelihood, z)) <= _NONE and radius > _LEAST_STEP:
        reached = _step(likelihood, np.zeros(z.size), z, radius, 1.0)
        if reached is None or _least_lead(likelihood, reached) <= lead:
            radius /= 3
        else:
            z = reached
    return z if lead > _NONE else None


def farthest_agreeing(likelihood: Likelihood, direction: Floats, start: Floats) -> Floats:
    """Return the z of the least direction · z that still agrees with every preference, walking from one that does."""
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
    return float(likelihood.leads(z)[0].min())


def _step(likelihood: Likelihood, direction: Floats, z: Floats, radius: float, margin: float) -> Floats | None:
    """Return the end of the straightened range within a radius: t(x) ≈ J x − t, as t is bilinear.

    With a margin the least lead is made large, up to the margin.
    """
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
