"""Expected cost, counts and variance of a design in partitions, by level: sums over all partitions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from activeeval.core.design import Order, OrderPlaces, RatePlan, RateSums
from activeeval.core.design.rates import variance_terms
from activeeval.core.types import Floats
from activeeval.scale.designs import ChunkedDesign
from activeeval.scale.engines import Engine
from activeeval.scale.packed_arrays import packed, unpacked
from activeeval.scale.recipe import Recipe
from activeeval.scale.scratch import Scratch
from activeeval.scale.tables import UnitTable

_WIDE = np.exp2(np.arange(-60.0, 121.0))
"""Levels of the first pass, which computes costs only: rates are p sqrt(V / λ), and p is small in large pools."""
_N_LEVELS = 64
"""Number of levels between the smallest usable budget and all items: costs of 1 to 10⁶ are then interpolated to a
thousandth."""


def expected_sums(design: ChunkedDesign) -> tuple[dict[str, Any], list[Floats]]:
    """Sum the expected cost, counts and variances of a design by threshold level, in two passes over its unit tables.

    All units with a random level up to the threshold are judged, so that a higher one costs more.

    Returns
    -------
    fields : dict
        Fields of `activeeval.core.planning.ForecastBySums` common to all targets.
    variances : list of ndarray, shape (n_levels,)
        Variance of the estimate of each target for the pool.
    """
    wide, least = _sums(design, _WIDE, only_costs=True)  # least: cost of the dearest unit, the smallest budget
    # levels from the one whose cost is just below half the smallest budget to the one that judges all items
    near = np.clip(np.searchsorted(wide[0], [0.5 * least, 0.999999 * design.cost]), 1, _WIDE.size - 1)
    levels = np.geomspace(_WIDE[near[0] - 1], _WIDE[near[1]], _N_LEVELS)
    (costs, queries, items, by_chance, *variances), _ = _sums(design, levels, only_costs=False)
    fields = {"costs": costs, "queries": queries, "items": items, "by_chance": by_chance}
    fields |= {"n_queries": design.n_queries, "cost": design.cost, "least": min(least, design.cost)}
    return fields, variances


def _sums(design: ChunkedDesign, levels: Floats, *, only_costs: bool) -> tuple[Floats, float]:
    """Sum expected cost, counts and variances over all partitions, at some threshold levels.

    Returns ``(sums, cost of the dearest unit)``; sums have shape (1, n_levels) with `only_costs`, else (4 + n_targets,
    n_levels): cost, opened queries, judged items, opened queries that are not certain, and each target's variance.
    """
    engine: Engine = design.engine
    task = OutlookTask(
        recipe=design.recipe, scratch=design.scratch, sums=design.survey.sums, levels=levels, only_costs=only_costs
    )
    total, least = np.zeros((1, levels.size)), 0.0
    for k, content in enumerate(engine.map(task, range(len(design.survey.names)))):
        arrays = unpacked(content)
        total = total + arrays["sums"]
        least = max(least, float(arrays["least"][0]))
        design.progress(f"planned {k + 1} of {len(design.survey.names)} partitions")
    return total, least


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OutlookTask:
    """Task: compute the expected sums of a partition from its unit table, for each of several threshold levels.

    `sums` are those of the whole pool; with `only_costs` only the expected cost is computed.
    """

    recipe: Recipe
    scratch: Scratch
    sums: RateSums
    levels: Floats
    only_costs: bool

    def __call__(self, number: int) -> bytes:
        """Compute the sums of a partition by its number, as bytes of two arrays.

        "sums" has a column for each level, and the cost as its row; without ``only_costs`` also opened queries, judged
        items, opened queries not certain to be judged, and the variance of each target. "least", shape (1,), is the
        cost of the most expensive unit, which is judged at once: the smallest budget that works.
        """
        table = UnitTable.unpacked(self.scratch.read(f"units-{number}"))
        if not table.numbers.size:
            n = 1 if self.only_costs else 4 + len(table.variances)
            return packed({"sums": np.zeros((n, self.levels.size)), "least": np.zeros(1)})
        order = table.order(self.recipe, self.sums)
        if self.only_costs:
            sums = np.array([[order.expected_cost(level) for level in self.levels.tolist()]])
        else:
            plans = _plans(table, order)
            sums = np.array([_at(order, plans, level) for level in self.levels.tolist()]).T
        return packed({"sums": sums, "least": np.array([order.dearest_units.max()])})


def _plans(table: UnitTable, order: Order) -> list[RatePlan]:
    """Build the variance model of each target from the table's variances, for the sampling rates of an order.

    A place is an item in the judging order of its query, sampled with probability min(1, T · rate) at level T. An entry
    of ``table.variances`` holds what the model leaves open of one target; ``of_query`` (n_queries,) and ``of_open``
    (n_places,) are the parts that opening each query and judging each place remove, times p², p the query's weight in
    the mean. ``is_nested``: places are judged from the top down, else independently.
    """
    places, p = OrderPlaces.of_order(order), order.query_probs
    terms = [variance_terms(places, variances, p, is_nested=order.is_nested) for variances in table.variances]
    return [
        RatePlan(
            order=order,
            places=np.arange(order.items.size),
            offsets=order.offsets,
            of_query=of_query,
            of_open=of_open,
            query_rates=order.query_rates,
            place_rates=order.place_rates,
        )
        for of_query, of_open in terms
    ]


def _at(order: Order, plans: list[RatePlan], level: float) -> list[float]:
    """Compute the expected sums at a threshold level: cost, opened queries, judged items, and variance of each target.

    All units with a random level up to the threshold are judged. The fourth number, queries by chance, counts opened
    queries whose units are not certain to be judged.
    """
    pi, judged = order.inclusion_probs(level)
    opened = plans[0].turned_to(pi, judged)
    by_chance = opened[~plans[0].is_certain(judged)].sum()
    variances = [plan.variance(pi, judged) for plan in plans]
    return [order.expected_cost(level), float(opened.sum()), float(judged.sum()), float(by_chance), *variances]
