"""The stage in which items of a query are judged with probabilities of their own, alone or in pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from activeeval.core.design.beliefs import GradeProbs
from activeeval.core.design.item_readings import ItemReading
from activeeval.core.design.order_places import OrderPlaces
from activeeval.core.design.orders import Order
from activeeval.core.design.paired_items import paired_places, shared_by_pairs
from activeeval.core.design.rates import Ratios, Variances, pooled
from activeeval.core.design.readings import Reading, check_reaches
from activeeval.core.design.stages import LEAST_ITEM_SHARE, wanted_items, wanted_places
from activeeval.core.errors import InputError
from activeeval.core.measures import Measure, Target
from activeeval.core.measures.ranking_checks import mean_over_nodes
from activeeval.core.measures.target import common_lists
from activeeval.core.types import Floats, Ints

_LEARNT = 0.5
"""Labels judged before an item are assumed to resolve half of the variance between nodes; this half remains."""


@dataclass(frozen=True, slots=True)
class Items:
    """Stage in which items of a query are judged independently, alone or in pairs; for additive measures.

    Attributes
    ----------
    learns : bool
        True if an item is predicted from the labels judged before it. Under a hard budget that leaves a bias of
        order 1/n, below a hundredth of the standard error; otherwise the estimate is exactly unbiased.
    in_pairs : bool
        True if an item that gained and one that lost are judged together; see `activeeval.core.design.paired_items`.
    """

    learns: bool = True
    in_pairs: bool = True
    name: ClassVar[str] = "items"
    is_nested: ClassVar[bool] = False
    needs_model: ClassVar[bool] = True

    def fits(self, measure: Measure) -> bool:
        """True if the measure is additive."""
        return bool(getattr(measure, "is_additive", False))

    def model(self, beliefs: GradeProbs) -> GradeProbs:
        """Return the grade model unchanged."""
        return beliefs

    def places(self, targets: Sequence[Target], beliefs: GradeProbs, known: Ints) -> OrderPlaces:
        """Arrange the items that targets need as places (items in judging order), the most informative first."""
        for target in targets:
            self._check(target)
        offsets, items = common_lists(targets)
        priority = np.sum([_item_variances(target, beliefs, items)[0] for target in targets], axis=0)
        if not self.in_pairs:
            return wanted_places(targets, known, priority)
        return paired_places(targets, offsets, items, wanted_items(targets, known), priority)

    def variances(self, target: Target, places: OrderPlaces, beliefs: GradeProbs) -> Variances:
        """Compute the variance of each query's value, and the part that each item's unknown label removes.

        Two items that are judged together share the variance of their joint value.
        """
        variances = target.moments(beliefs.nodes, beliefs.weights).variance
        of_open, moves = _item_variances(target, beliefs, places.items[places.matters])
        if places.joined is not None:
            second = np.flatnonzero(places.joined[places.matters])
            weights = beliefs.weights[places.open_queries[second]]
            products = _LEARNT * mean_over_nodes(weights, moves[:, second] * moves[:, second - 1])
            of_open = shared_by_pairs(of_open, products, second, places.open_costs)
        return Variances(of_query=variances, of_open=of_open, least_shares=np.full(of_open.size, LEAST_ITEM_SHARE))

    def pooled(self, places: OrderPlaces, variances: Variances) -> Ratios:
        """Compute the optimal rates sqrt(variance / cost); items that would exceed their query's share one with it."""
        return pooled(places, variances, is_nested=False)

    def reading(self, target: Target, order: Order, beliefs: GradeProbs, known: Ints) -> Reading:
        """Build the reading (what estimators need besides labels) of a target on an order (places with rates).

        Raises
        ------
        InputError
            If the measure is not additive, or the order lacks an item that the target needs.
        """
        self._check(target, "; name this measure when the sample is drawn, which then judges lists to depths")
        check_reaches(target, order, known, as_prefix=False)
        gains = target.terms(beliefs.max_grade + 1).values
        owners, by_node = order.place_queries, (beliefs.nodes @ gains)[:, order.items]
        means = mean_over_nodes(beliefs.weights[owners], by_node)
        contrast = target.contrast[order.items]
        reading = ItemReading(
            target=target,
            order=order,
            known=known,
            predictions=np.zeros(order.n_queries),
            stage=self,
            beliefs=beliefs,
            learns=self.learns,
            gains=gains,
            contrast=contrast,
            means=means,
        )
        # the predictions follow from the reading's own regressors
        object.__setattr__(reading, "predictions", reading.known_values + reading.regressors[:, 1])
        return reading

    def _check(self, target: Target, advice: str = "") -> None:
        """Raise InputError, with ``advice`` at its end, unless the target's measure is additive."""
        if not self.fits(target.measure):
            raise InputError(f"item designs are for additive measures (DCG, RBP, P), not for {target.measure}{advice}")


ITEMS = Items()


def _item_variances(target: Target, beliefs: GradeProbs, items: Ints) -> tuple[Floats, Floats]:
    """Compute the variance that each item's label removes: c² times the variance of its gain, c the weight of its rank.

    The gain varies within each node of the query factor (a random effect shared by a query's items; a node is one of
    its values) and between nodes. Only the share `_LEARNT` of the latter counts: earlier labels resolve the rest.

    Returns
    -------
    variances : ndarray, shape (n_items,)
    moves : ndarray, shape (n_nodes, n_items)
        c times the expected gain at each node, less its mean over nodes.
    """
    gains = target.terms(beliefs.max_grade + 1).values
    weights = beliefs.weights[target.pool.item_queries[items]]
    nodes = beliefs.nodes[:, items]
    by_node = nodes @ gains
    mean = mean_over_nodes(weights, by_node)
    between = mean_over_nodes(weights, (by_node - mean) ** 2)
    inside = np.array([(p * (gains - m[:, None]) ** 2).sum(axis=1) for p, m in zip(nodes, by_node, strict=True)])
    within = mean_over_nodes(weights, inside)
    contrast = target.contrast[items]
    return np.asarray((within + _LEARNT * between) * contrast**2), np.asarray(contrast * (by_node - mean))
