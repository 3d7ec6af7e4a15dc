"""How near a design comes to the best that its model and its costs allow.

Under the model a query turned to with probability ρ, its places judged with probabilities a ≤ ρ, leaves the variance

    Σ_x p² [ V_0 (1/ρ − 1) + Σ_i V_i (1/a_i − 1) ]        at a cost of        Σ_x [ λ_0 ρ + Σ_i λ_i a_i ],

V_0 of the query itself and V_i what judging place i takes away; of lists judged to a depth a never rises. The least
variance at a cost has ρ and a = min(1, κ p sqrt(V / λ)) with V / λ pooled (`activeeval.kernels.rates`): what a design
does too, but for least probabilities, rounding and a budget that is never exceeded.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from activeeval.design.designs import Design
from activeeval.design.orders import Order
from activeeval.design.parts import Part
from activeeval.design.rates import of_stage, pooled
from activeeval.design.schemes import Levels
from activeeval.errors import InputError
from activeeval.kernels import rates as kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Plan:
    """What a design's grade model expects of the probabilities with which places are judged, for its first target.

    Attributes
    ----------
    order : Order
    slots : ndarray of int64, shape (n_wanted,)
        The wanted places on the order's place axis.
    offsets : ndarray of int64, shape (n_queries + 1,)
        Where the wanted places of each query begin.
    of_query, of_open : ndarray, shape (n_queries,) and (n_wanted,)
        p² V_0 and p² V_i.
    query_roots, roots : ndarray, shape (n_queries,) and (n_wanted,)
        p sqrt(V / λ), pooled, without any least probability.
    """

    order: Order
    slots: Ints
    offsets: Ints
    of_query: Floats
    of_open: Floats
    query_roots: Floats
    roots: Floats

    @classmethod
    def of(cls, design: Design) -> Plan:
        """Return the plan of a design that goes by levels and has a grade model.

        Raises
        ------
        InputError
            Where it draws with replacement, or has no grade model.
        """
        if not isinstance(design.scheme, Levels) or design.beliefs is None:
            raise InputError(f"method {design.name!r} has no plan: it needs levels and a grade model")
        stage, known = design.stage, design.known
        places = stage.places(design.targets, design.beliefs, known)
        part = Part(stage=stage, targets=design.targets, beliefs=design.beliefs, known=known, places=places)
        spread, p = part.spreads[0], design.order.query_probs
        owners, ratios = places.open_queries, stage.pooled(places, spread)
        if not stage.is_nested:
            ratios = pooled(places, spread, is_nested=False, least_share=0.0)
        return cls(
            order=design.order,
            slots=np.flatnonzero(places.matters),
            offsets=places.open_offsets,
            of_query=p**2 * of_stage(places, spread, is_nested=stage.is_nested, least_share=0.0),
            of_open=p[owners] ** 2 * spread.of_open,
            query_roots=p * ratios.of_query,
            roots=p[owners] * ratios.of_open,
        )

    def variance(self, turned_to: Floats, judged: Floats) -> float:
        """Return the variance that probabilities leave: ρ (n_queries,) and a (n_wanted,)."""
        return _left(self.of_query, turned_to) + _left(self.of_open, judged)

    def own(self, budget: float) -> float:
        """Return the variance that the design's probabilities leave at a budget in mean items.

        A query of which no item comes was not turned to, and costs nothing.
        """
        pi, a = self.order.inclusion_probs(self.order.level_for(budget))
        judged = a[self.slots]
        return self.variance(pi if self.order.is_nested else self._any_judged(pi, judged), judged)

    def least(self, budget: float) -> float:
        """Return the least variance that any probabilities leave at a budget in mean items."""
        order, level = self.order, np.inf
        if budget < order.cost:
            arrays = (self.offsets, self.query_roots, self.roots, order.overheads, order.costs[self.slots])
            level = float(kernel.level_of_cost(*arrays, True, budget))
        with np.errstate(invalid="ignore"):
            turned_to, judged = (np.minimum(1.0, level * roots) for roots in (self.query_roots, self.roots))
        return self.variance(np.nan_to_num(turned_to), np.nan_to_num(judged))

    def excess(self, budget: float) -> float:
        """Return how many times the least variance the design's own is: 1 or more, 1 where nothing is left."""
        least, own = self.least(budget), self.own(budget)
        if least > 0:
            return max(own / least, 1.0)
        return 1.0 if own <= 0 else np.inf

    def _any_judged(self, pi: Floats, judged: Floats) -> Floats:
        """Return the probability that any place of each query is judged, where places come on their own."""
        owners = np.repeat(np.arange(pi.size), np.diff(self.offsets))
        inside = np.divide(judged, pi[owners], out=np.zeros_like(judged), where=judged > 0)
        with np.errstate(divide="ignore"):
            none = np.bincount(owners, np.log1p(-np.minimum(inside, 1.0)), minlength=pi.size)
        return np.asarray(-pi * np.expm1(none))


def _left(variances: Floats, chances: Floats) -> float:
    """Return Σ V (1/a − 1) over what varies."""
    varies = variances > 0
    with np.errstate(divide="ignore"):
        return float((variances[varies] * (1.0 / chances[varies] - 1.0)).sum())
