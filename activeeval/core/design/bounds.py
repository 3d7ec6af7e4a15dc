"""Least judging cost at which the variances of several targets stay below given bounds.

A place is the position of one item in the judging order of its query. With p the probability of a query, ρ the
probability of opening it at cost λ_0, a_i ≤ ρ that of judging its place i at cost λ_i (a never rises along a list
judged to a depth), V_g0 and V_gi the variances that these remove for target g, and bounds v_g:

    minimise Σ_x [ λ_0 ρ + Σ_i λ_i a_i ]    such that    V_g = Σ_x p² [ V_g0 (1/ρ − 1) + Σ_i V_gi (1/a_i − 1) ] ≤ v_g.

In 1/ρ and in the increments of 1/a every V_g is linear and the cost is convex, also where V_g0 is below 0
(`activeeval.core.design.limits`). So multipliers w_g ≥ 0 determine the optimum: for given w it is that of the pooled
variance Σ_g w_g V_g, a = min(1, p sqrt(V / λ)) with V / λ pooled as always (`activeeval.core.kernels.rates`), and

    D(w) = cost + Σ_g w_g (V_g − v_g)    is concave with gradient V_g − v_g; its maximum is the least cost.

Places that share a rate form a block b with W_gb = Σ p² V_g over the block: the second derivatives are −½ W_gb W_hb
over a_b Σ_g w_g W_gb, summed over blocks with a_b < 1. Newton steps that keep w ≥ 0 are halved until D rises.
D has continuous first derivatives, so the steps converge quadratically: within 25 steps in all cases of
tests/core/design/test_bounds.py, which also compares with a general optimiser. A bound implied by others has w_g = 0.

If earlier samples have already taken place i with probability M_i (`activeeval.core.design.carried_samples`), its
label costs only the part above, Σ λ_i (a_i − M_i)⁺, without overheads: this is convex in a as well, and D is as smooth.
For items the optimum is a = max(M, min(1, p sqrt(V / λ))), for lists judged to depths that of a chain above floors
(`activeeval.core.kernels.rates`). A block that stays at the M of one of its places does not move with w, and has no
second derivatives.

As in `limits`, an opened query without any judged item is paid for here and costs nothing in a sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from activeeval.core.design.inputs import DesignInput
from activeeval.core.design.rates import Variances, variance_terms
from activeeval.core.errors import InputError
from activeeval.core.kernels import rates as kernel
from activeeval.core.types import Bools, Floats, Ints

_MOST_STEPS, _MOST_HALVINGS = 100, 60
_CLOSE = 1e-10
_DAMPED = 1e-7
"""Damping relative to a multiplier's own scale v/w: where every relevant place is judged with certainty, D is flat and
second derivatives give no step length."""
_ROUNDING = 1e-13


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LeastCost:
    """Probabilities that meet all bounds at the least cost, with the evidence that they are optimal.

    Attributes
    ----------
    weights : ndarray, shape (n_targets,)
        The multipliers w: cost saved per unit of each bound; 0 where a bound is not reached. Rates computed from
        targets with these weights are the optimal ones.
    variances : ndarray, shape (n_targets,)
        V_g reached, at most the bounds up to ``residual``.
    turned_to, judged : ndarray, shape (n_queries,) and (n_wanted_places,)
        ρ, the probability of opening each query, and a, the probability of judging each wanted place.
    cost : float
        In the unit of the item costs; labels of earlier samples excluded.
    residual : float
        Relative violation of the Karush–Kuhn–Tucker conditions: the largest (V_g − v_g) / v_g above 0, or
        Σ w_g |V_g − v_g| over the cost, if that is more.
    n_steps : int
        Number of Newton steps.
    """

    weights: Floats
    variances: Floats
    turned_to: Floats
    judged: Floats
    cost: float
    residual: float
    n_steps: int


def least_cost(design_input: DesignInput, bounds: Sequence[float] | Floats, floors: Floats | None = None) -> LeastCost:
    """Compute the inclusion probabilities that keep every target's variance below its bound at the least judging cost.

    Parameters
    ----------
    design_input : DesignInput
        The targets, under a grade model.
    bounds : sequence of float, shape (n_targets,)
        Bounds v_g on the variances, above 0; infinite for a target without a bound.
    floors : ndarray, shape (n_wanted_places,), optional
        M: probability with which earlier samples have taken each wanted place (an item whose unknown label can change a
        value). Opening a query must then be free.

    Raises
    ------
    InputError
        If a bound is not a positive number, or floors are combined with overheads.
    """
    limits = np.asarray(bounds, dtype=np.float64)
    n = len(design_input.targets)
    if limits.shape != (n,) or not (limits > 0).all():
        raise InputError(f"bounds must be {n} positive numbers, one for each target, got {bounds!r}")
    if floors is not None and design_input.places.overheads.any():
        raise InputError("a sample that continues earlier ones cannot have overheads per query", field="overhead")
    dual = _Dual.of(design_input, limits, floors)
    point, n_steps = dual.at(dual.start), 0
    while point.residual > _CLOSE and n_steps < _MOST_STEPS:
        higher = dual.climbed(point)
        if higher is None:
            break
        point, n_steps = higher, n_steps + 1
    return LeastCost(
        weights=point.weights,
        variances=point.variances,
        turned_to=point.turned_to,
        judged=point.judged,
        cost=point.cost,
        residual=point.residual,
        n_steps=n_steps,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Point:
    """Probabilities, variances and cost at given multipliers ``weights`` (n_targets,); fields as in `LeastCost`."""

    weights: Floats
    turned_to: Floats
    judged: Floats
    variances: Floats
    bounds: Floats
    cost: float

    @property
    def ascent(self) -> Floats:
        """Gradient of the dual function D, shape (n_targets,): variances minus bounds; 0 for an infinite bound."""
        ascent = np.zeros_like(self.bounds)
        return np.subtract(self.variances, self.bounds, out=ascent, where=np.isfinite(self.bounds))

    @property
    def height(self) -> float:
        """Value of the dual function D: cost plus weighted excess of the variances over their bounds."""
        bound = self.weights > 0  # other targets, also those with an infinite bound, add nothing
        return self.cost + float(self.weights[bound] @ self.ascent[bound])

    @property
    def residual(self) -> float:
        """Relative violation of the Karush–Kuhn–Tucker conditions of the least cost under bounds on variances.

        It is the largest excess of a variance over its bound, relative to the bound, or the sum of weight times
        |variance − bound| over the cost, if that is more.
        """
        bounded = np.isfinite(self.bounds)
        above = float((self.ascent[bounded] / self.bounds[bounded]).max(initial=0.0))
        counts = self.weights > 0
        slack = float(np.abs(self.weights[counts] * self.ascent[counts]).sum())
        return max(above, slack / self.cost if self.cost > 0 else slack)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Dual:
    """Dual function D of the cost minimization (see the module), with each target's variance components.

    Attributes
    ----------
    bounds : ndarray, shape (n_targets,)
        v_g; infinite for a target without a bound.
    of_query, of_open : ndarray, shape (n_targets, n_queries) and (n_targets, n_wanted_places)
        Var[L | x] and V_i.
    query_terms, open_terms : ndarray of the same shapes
        p² V_0 and p² V_i.
    floors : ndarray, shape (n_wanted_places,), or None
        M, if earlier samples have taken some places.
    """

    design_input: DesignInput
    bounds: Floats
    of_query: Floats
    of_open: Floats
    query_terms: Floats
    open_terms: Floats
    floors: Floats | None

    @classmethod
    def of(cls, design_input: DesignInput, bounds: Floats, floors: Floats | None) -> _Dual:
        """Build the dual function D of minimizing the cost under ``bounds`` on variances (n_targets,).

        ``floors`` (n_wanted_places,) are the probabilities with which earlier samples took each wanted place, or None.
        """
        places, variances = design_input.places, design_input.target_variances
        p, is_nested = places.pool.query_probs, design_input.stage.is_nested
        terms = [variance_terms(places, each, p, is_nested=is_nested) for each in variances]
        is_open = np.diff(places.open_offsets) > 0  # the variance left of a fully known query is rounding error
        return cls(
            design_input=design_input,
            bounds=bounds,
            of_query=np.array([each.of_query for each in variances]),
            of_open=np.array([each.of_open for each in variances]),
            query_terms=np.array([np.where(is_open, of_query, 0.0) for of_query, _ in terms]),
            open_terms=np.array([of_open for _, of_open in terms]),
            floors=floors,
        )

    def rates(self, weights: Floats) -> tuple[Floats, Floats]:
        """Compute the optimal inclusion probabilities for weighted targets, not clipped to 1.

        Returns those of opening queries, shape (n_queries,), and of judging wanted places (items whose unknown label
        can change a value), shape (n_wanted_places,).
        """
        return self._fresh(weights) if self.floors is None else self._above(weights, self.floors)

    def _above(self, weights: Floats, floors: Floats) -> tuple[Floats, Floats]:
        """Compute optimal inclusion probabilities that are at least the floors M of earlier samples, not clipped to 1.

        Returns those of queries, (n_queries,), and wanted places (items in judging order), (n_wanted_places,). If
        queries are judged as prefixes, a query has the probability of its first place, else 1.
        """
        places, terms = self.design_input.places, weights @ self.open_terms
        if not self.design_input.stage.is_nested:
            rates = np.maximum(floors, np.sqrt(np.maximum(terms, 0.0) / places.open_costs))
            return np.ones(places.pool.n_queries), rates
        rates, of_queries = np.empty_like(floors), np.zeros(places.pool.n_queries)
        kernel.chain_above(places.open_offsets, terms, places.open_costs, floors, rates)
        has_any = np.diff(places.open_offsets) > 0
        of_queries[has_any] = rates[places.open_offsets[:-1][has_any]]
        return of_queries, rates

    def _fresh(self, weights: Floats) -> tuple[Floats, Floats]:
        """Compute the optimal rates p sqrt(variance / cost) for weighted targets, without earlier samples.

        Returns those of queries, (n_queries,), and of wanted places (items in judging order), (n_wanted_places,).
        """
        places = self.design_input.places
        of_query, of_open = weights @ self.of_query, weights @ self.of_open
        joint = Variances(of_query=of_query, of_open=of_open, least_shares=np.ones_like(of_open))  # shares: not read
        ratios, p = self.design_input.bare_ratios(joint), places.pool.query_probs
        return p * ratios.of_query, p[places.open_queries] * ratios.of_open

    def at(self, weights: Floats) -> _Point:
        """Compute the optimal probabilities, and their variances and cost, for multipliers ``weights`` (n_targets,).

        The probabilities are those of opening each query, ``turned_to``, and of judging each wanted place (an item
        whose unknown label can change a value), ``judged``.
        """
        places = self.design_input.places
        turned_to, judged = (np.minimum(1.0, rates) for rates in self.rates(weights))
        if not self.design_input.stage.is_nested:
            turned_to = np.where(places.overheads == 0, 1.0, turned_to)  # free to open: always opened
        with np.errstate(invalid="ignore"):  # inf − inf for a target without any judged place and V_0 below 0
            left = _left(self.query_terms, turned_to) + _left(self.open_terms, judged)
        variances = np.where(np.isnan(left), np.inf, left)
        paid = judged if self.floors is None else np.maximum(judged - self.floors, 0.0)
        cost = float(places.overheads @ turned_to + places.open_costs @ paid)
        return _Point(
            weights=weights, turned_to=turned_to, judged=judged, variances=variances, bounds=self.bounds, cost=cost
        )

    @cached_property
    def start(self) -> Floats:
        """Starting multipliers (n_targets,): the optimum of each bound alone, w = (cost / (v + Σ V))².

        v is the bound, Σ V the sum of the target's variance terms, the cost that of rates for it alone. Clipping of
        probabilities to 1, and those of earlier samples, are ignored.
        """
        places, alone = self.design_input.places, []
        whole = self.query_terms.sum(axis=1) + self.open_terms.sum(axis=1)
        for only in np.eye(self.bounds.size):
            of_query, of_open = self._fresh(only)
            alone.append(places.overheads @ of_query + places.open_costs @ of_open)
        return np.asarray((np.array(alone) / (self.bounds + whole)) ** 2)

    def climbed(self, point: _Point) -> _Point | None:
        """Take a damped Newton step to a point with a higher dual value, or return None if rounding allows none.

        The step is halved until the value rises, or stays the same to rounding while the violation of the optimality
        conditions (``residual``) falls.
        """
        step = _step(point.ascent, self._curvature(point), point.weights)
        for _ in range(_MOST_HALVINGS):
            higher = self.at(np.maximum(point.weights + step, 0.0))
            if np.isfinite(higher.variances[np.isfinite(self.bounds)]).all():
                if higher.height > point.height * (1 + _ROUNDING):
                    return higher
                if higher.height >= point.height * (1 - _ROUNDING) and higher.residual < point.residual:
                    return higher
            step = step / 2
        return None

    def _curvature(self, point: _Point) -> Floats:
        """Compute the negative second derivatives of D, shape (n_targets, n_targets), plus a small diagonal damping.

        D is the dual function, the cost plus the weighted excess of the variances over their bounds. The element (g, h)
        is Σ_b W_gb W_hb / (2 a_b V_b) over blocks b, sets of query openings and places (items in judging order) that
        share a rate a_b; W_gb is target g's variance term in the block, V_b the sum of these over targets, weighted by
        the multipliers. Blocks judged with certainty, or that stay at a probability of earlier samples, do not count.
        """
        rates, n = self.rates(point.weights), self.of_query.shape[1]
        of_queries, of_places = self._blocks(*rates)
        n_blocks = n + rates[1].size
        # W_gb, shape (n_targets, n_blocks); blocks 0 … n − 1 are those of query openings
        weighed = np.array(
            [
                np.bincount(of_queries, of_query, n_blocks) + np.bincount(of_places, of_open, n_blocks)
                for of_query, of_open in zip(self.query_terms, self.open_terms, strict=True)
            ]
        )
        a = np.ones(n_blocks)
        a[of_queries], a[of_places] = rates[0], rates[1]
        pooled = point.weights @ weighed
        is_free = (a < 1) & (pooled > 0)
        if self.floors is not None:
            is_free &= np.bincount(of_places, rates[1] == self.floors, n_blocks) == 0
        free = weighed[:, is_free]
        curvature = 0.5 * (free / (a * pooled)[is_free]) @ free.T
        # at weight 0 the second derivatives may vanish as well: take the scale of the starting point
        of_weights = np.where(point.weights > 0, point.weights, self.start)
        scale = np.divide(self.bounds, of_weights, out=np.zeros_like(self.bounds), where=of_weights > 0)
        scale = np.where(np.isfinite(scale), scale, 0.0)
        return np.asarray(curvature + np.diag(_DAMPED * scale))

    def _blocks(self, query_rates: Floats, place_rates: Floats) -> tuple[Ints, Ints]:
        """Number the blocks: sets of query openings and places whose rates the optimum makes equal.

        Items sampled independently share a block with their query if they have its rate; along a prefix, successive
        places of equal rate do, the first with the opening of the query. ``query_rates`` (n_queries,) and
        ``place_rates`` (n_wanted_places,) are the optimal rates. Returns the block of opening each query (n_queries,),
        and of each wanted place (an item whose unknown label can change a value), (n_wanted_places,).
        """
        places, n = self.design_input.places, query_rates.size
        owners = places.open_queries
        if not self.design_input.stage.is_nested:  # items with the rate of their query share its block
            joined: Bools = (place_rates >= query_rates[owners]) & (places.overheads[owners] > 0)
            return np.arange(n), np.where(joined, owners, n + np.arange(owners.size))
        is_new = np.ones(owners.size, dtype=np.bool_)
        is_new[1:] = (np.diff(owners) > 0) | (np.diff(place_rates) != 0)
        of_places, of_queries = n + np.cumsum(is_new) - 1, np.arange(n)
        first = places.open_offsets[:-1]
        has_any = np.diff(places.open_offsets) > 0
        of_queries[has_any] = of_places[first[has_any]]
        return of_queries, of_places


def _step(ascent: Floats, curvature: Floats, weights: Floats) -> Floats:
    """Compute the Newton step from ``weights``: those that would fall below 0 go to 0; shapes (n_targets,).

    ``ascent`` is the gradient and ``curvature`` the negative second derivatives, (n_targets, n_targets). The step of
    the other weights is then computed again, until none falls below 0.
    """
    at_zero = (weights == 0) & (ascent <= 0)
    while True:
        step, free = np.where(at_zero, -weights, 0.0), ~at_zero
        left = ascent[free] - curvature[np.ix_(free, at_zero)] @ step[at_zero]
        step[free] = np.linalg.lstsq(curvature[np.ix_(free, free)], left, rcond=1e-14)[0]
        falls = free & (weights + step < 0)
        if not falls.any():
            return step
        at_zero |= falls


def _left(terms: Floats, chances: Floats) -> Floats:
    """Compute each target's variance Σ V (1/a − 1), from terms V (n_targets, n) and probabilities a (n,)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        variances = terms * (1.0 / chances - 1.0)
    return np.asarray(np.where(terms != 0, variances, 0.0).sum(axis=1))
