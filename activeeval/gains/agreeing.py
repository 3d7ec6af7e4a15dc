"""Measures that put the preferred list of every pair first, and how far their gains and discounts reach.

A few kinds of pairs, as lists of two grades make them, are ordered rightly by a whole range of measures, however often
each is asked about. t is linear in the discounts and in the gains: the range is walked in linear programs, each with t
straightened where the last one ended.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from activeeval.gains.likelihood import Likelihood

Floats = NDArray[np.float64]

# pairs that a program looks at, those with the least lead: all others are held against what it finds
_CLOSEST = 300
_LEAST_STEP = 1e-4
# below the least lead that six digits of gains and discounts can tell from none
_NONE = 1e-9


def agrees(likelihood: Likelihood, z: Floats) -> bool:
    """Tell whether a measure puts every preferred list first."""
    return bool(np.all(likelihood.leads(z)[0] > _NONE))


def farthest_agreeing(likelihood: Likelihood, direction: Floats, start: Floats) -> Floats:
    """Return the z of the least direction · z that still agrees with every preference, walking from one that does."""
    z, radius = start, 1.0
    while radius > _LEAST_STEP:
        reached = _step(likelihood, direction, z, radius)
        if reached is None or not np.all(likelihood.leads(reached)[0] >= -_NONE):
            radius /= 3
        elif direction @ (z - reached) > _LEAST_STEP:
            z = reached
        else:
            break
    return z


def _step(likelihood: Likelihood, direction: Floats, z: Floats, radius: float) -> Floats | None:
    """Return the end of the straightened range within a radius: t(x) ≈ J x − t, as t is bilinear."""
    leads, slopes = likelihood.leads(z)
    closest = np.argsort(leads, kind="stable")[:_CLOSEST]
    low, high = np.array(likelihood.limits)[:-2].T
    bounds = np.column_stack((np.maximum(low, z[:-2] - radius), np.minimum(high, z[:-2] + radius)))
    scale = likelihood.readings[[0, -1], :-2]
    found = linprog(direction[:-2], -slopes[closest], -leads[closest], scale, np.ones(2), bounds, method="highs")
    return np.concatenate((found.x, z[-2:])) if found.status == 0 else None
