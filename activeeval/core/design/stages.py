"""Stages: what is judged of a query (all of it, a random prefix of the judging order, or independent items).

A stage turns targets and a grade model into places (positions of items in the judging order of their query), the
variances of the targets' values at each, and readings (what estimators need besides the labels).
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from activeeval.core.design.beliefs import GradeProbs
from activeeval.core.design.expectations import NO_DEPTHS, expectations_of, walked
from activeeval.core.design.histories import ranked_first
from activeeval.core.design.label_values import label_values
from activeeval.core.design.n_threads import n_threads
from activeeval.core.design.order_places import OrderPlaces
from activeeval.core.design.orders import Order
from activeeval.core.design.prefix_readings import PrefixReading
from activeeval.core.design.rates import Ratios, Variances, pooled
from activeeval.core.design.readings import Reading, check_reaches
from activeeval.core.kernels import rates, sequential_values
from activeeval.core.measures import Measure, Target
from activeeval.core.measures.target import common_lists
from activeeval.core.pool import pool_hashes
from activeeval.core.results import Moments
from activeeval.core.types import Bools, Floats, Ints, sealed

LEAST_ITEM_SHARE = 0.01
"""Least probability of an item once its query is sampled: limits the weight of one item to a hundred."""
MISPLACED_SHARE = 0.25
"""Share of a query's variance spread over all its places if f_k is a plug-in (nDCG, R, AP), because models expect too
little of deep places. Of .1, .2, .27, .35 and .5 those about .2 had the least error on MQ2008, MQ2007-agg and LightGBM
together; less is better with forests, by 5 %, more with the uniform model if many items are relevant, by 10 %. A least
probability of .35 times the first place's instead left 1.1 (LightGBM) to 5 times (OHSUMED) the variance; it is better
by 5 to 20 % for one ranking with the uniform model on MQ2007-agg and LightGBM."""
LEAST_RANK_SHARE = 0.6
"""Least probability of a rank weighted like the first: a model wrong about the first labels underrates the rest."""
_BLOCK_ITEMS = 50_000
_SAMPLED_PLACES, _FEWEST_SAMPLES, _MOST_SAMPLES = 8192, 4, 32
"""Label sets drawn per query for E[D²]: a power of two between 4 and 32, with at most 8,192 places beyond 4 sets. After
an index update, 32 sets leave half the error of RR and four fifths of that of nDCG on OHSUMED relative to 16 sets, 64
little less; more would be too slow for long lists."""


class Stage(Protocol):
    """Interface of a stage: what is judged of a query.

    ``beliefs`` is the grade model (`GradeProbs`); it may be None unless the stage `needs_model`. ``known`` (n_items,)
    are grades known beforehand, −1 for unknown. A place is wanted if its label is unknown and can change a value.

    Attributes
    ----------
    name : str
    is_nested : bool
        True if a prefix is judged; see `activeeval.core.design.Order`.
    needs_model : bool
    """

    name: ClassVar[str]
    is_nested: ClassVar[bool]
    needs_model: ClassVar[bool]

    def fits(self, measure: Measure) -> bool:
        """True if a measure can be estimated from the judged part."""

    def model(self, beliefs: GradeProbs) -> GradeProbs:
        """Return the grade model to predict with, derived from ``beliefs``: the same, or one that is never certain."""

    def places(self, targets: Sequence[Target], beliefs: Any, known: Ints) -> OrderPlaces:
        """Arrange the items that targets need as places (items in judging order) of their queries.

        ``known`` (n_items,) are grades known beforehand, −1 for unknown: these items need not be judged.
        """

    def variances(self, target: Target, places: OrderPlaces, beliefs: Any) -> Variances:
        """Compute the variance of each query's value, and the part that each item's label removes."""

    def pooled(self, places: OrderPlaces, variances: Variances) -> Ratios:
        """Compute the optimal sqrt(variance / cost) of queries and items; those judged together share a ratio."""

    def reading(self, target: Target, order: Order, beliefs: Any, known: Ints) -> Reading:
        """Build what an estimator needs of a target besides labels; InputError if the order lacks an item for it."""


def wanted_places(targets: Sequence[Target], known: Ints, priority: Floats | None = None) -> OrderPlaces:
    """Arrange the items that targets need as places; those whose unknown label can change a value come first.

    ``priority`` (n_items in lists,) sorts the places of a query, larger values first; by default by best rank. A place
    is an item in the judging order of its query.
    """
    offsets, items = common_lists(targets)
    return OrderPlaces.of(targets[0].pool, offsets, items, wanted_items(targets, known), priority)


def wanted_items(targets: Sequence[Target], known: Ints) -> Bools:
    """Flag the items, shape (n_items,), whose label is unknown (``known`` < 0) and can change a target's value."""
    return np.asarray(np.any([target.matters for target in targets], axis=0) & (known < 0))


@dataclass(frozen=True, slots=True)
class WholeQueries:
    """Stage in which every sampled query is judged down to the measure's cutoff."""

    name: ClassVar[str] = "whole"
    is_nested: ClassVar[bool] = True
    needs_model: ClassVar[bool] = False

    def fits(self, measure: Measure) -> bool:
        """Return True: any measure can be estimated."""
        return True

    def model(self, beliefs: GradeProbs) -> GradeProbs:
        """Return the grade model unchanged."""
        return beliefs

    def places(self, targets: Sequence[Target], beliefs: GradeProbs | None, known: Ints) -> OrderPlaces:
        """Arrange the items that targets need as places (items in judging order); ``known`` grades (≥ 0) come last."""
        return wanted_places(targets, known)

    def moments(self, target: Target, beliefs: GradeProbs) -> Moments:
        """Compute mean and variance of each query's value under the model, given the known grades."""
        return target.moments(beliefs.nodes, beliefs.weights)

    def variances(self, target: Target, places: OrderPlaces, beliefs: GradeProbs | None) -> Variances:
        """Compute the variance of each query's value; 1 for all queries without a grade model."""
        n = places.open_costs.size
        variances = np.ones(places.pool.n_queries) if beliefs is None else self.moments(target, beliefs).variance
        return Variances(of_query=variances, of_open=np.zeros(n), least_shares=np.ones(n))

    def pooled(self, places: OrderPlaces, variances: Variances) -> Ratios:
        """Compute sqrt(variance / cost) of every query; all its places (items in judging order) have the same."""
        costs = (
            np.bincount(places.open_queries, places.open_costs, minlength=variances.of_query.size) + places.overheads
        )
        of_query = np.sqrt(np.divide(variances.of_query, costs, out=np.zeros_like(costs), where=costs > 0))
        return Ratios(of_query, of_query[places.open_queries])

    def reading(self, target: Target, order: Order, beliefs: GradeProbs | None, known: Ints) -> Reading:
        """Build the reading (what estimators need besides labels) of a target; InputError if an item is not covered."""
        check_reaches(target, order, known, as_prefix=False)
        unknown = np.full(order.n_queries, np.nan)
        predictions = unknown if beliefs is None else self.moments(target, beliefs).mean
        common: dict[str, Any] = {"target": target, "order": order, "known": known, "stage": self}
        return Reading(**common, predictions=predictions, beliefs=beliefs)


@dataclass(frozen=True, slots=True)
class Depth:
    """Stage in which every sampled query is judged down to a random depth.

    Attributes
    ----------
    looks : str
        Labels after which a query's depth is planned again: one of `activeeval.core.design.histories.LOOKS`.
    """

    looks: str = "off"
    name: ClassVar[str] = "depth"
    is_nested: ClassVar[bool] = True
    needs_model: ClassVar[bool] = True

    def fits(self, measure: Measure) -> bool:
        """True unless the measure requires queries judged whole."""
        return getattr(measure, "reads_parts", True)

    def model(self, beliefs: GradeProbs) -> GradeProbs:
        """Return the `defended` grade model, which is never certain."""
        return beliefs.defended()

    def places(self, targets: Sequence[Target], beliefs: GradeProbs, known: Ints) -> OrderPlaces:
        """Arrange the items that targets need as places, by their best rank in any of the rankings.

        If all targets are divided by an ideal, the most informative items come first. A place is an item in the judging
        order of its query.
        """
        if any(target.terms(beliefs.max_grade + 1).is_exact for target in targets):
            return wanted_places(targets, known)
        _, items = common_lists(targets)
        priority = np.sum([label_values(target, beliefs, items) for target in targets], axis=0)
        if self.looks != "off":
            priority = ranked_first(targets, beliefs, items, priority)
        return wanted_places(targets, known, priority)

    def variances(self, target: Target, places: OrderPlaces, beliefs: GradeProbs) -> Variances:
        """Compute the expected squared change of a query's value by each item's unknown label.

        The labels are simulated from the grade model, with a fixed seed for each item.
        """
        terms = target.terms(beliefs.max_grade + 1)
        arrays = walked(target, terms, beliefs, places.offsets, places.items)
        squares, lengths = np.zeros(places.items.size), np.maximum(np.diff(places.offsets), 1)
        powers = np.floor(np.log2(_SAMPLED_PLACES / lengths)).astype(np.int64)
        n_samples = np.clip(2 ** np.maximum(powers, 0), _FEWEST_SAMPLES, _MOST_SAMPLES)
        hashes = pool_hashes(places.pool)[1][places.items]
        with ThreadPoolExecutor(n_threads()) as threads:
            work = [threads.submit(_expect, arrays, *b, hashes, n_samples, squares) for b in _blocks(places.offsets)]
            for done in work:
                done.result()
        of_open = np.maximum(squares[places.matters], 0.0)
        nothing = np.zeros(places.pool.n_queries)  # the places hold all of the variance
        least, misplaced = _least_depth_shares(target, places), 0.0
        if not terms.is_exact:  # divided by an ideal: any label can matter
            least, misplaced = np.full(of_open.size, LEAST_ITEM_SHARE), MISPLACED_SHARE
        return Variances(of_query=nothing, of_open=of_open, least_shares=least, misplaced=misplaced)

    def pooled(self, places: OrderPlaces, variances: Variances) -> Ratios:
        """Compute the optimal rates sqrt(variance / cost); neighbours share one where it would rise along a query."""
        of_open, offsets = _as_doubted(places, variances), places.open_offsets
        has_any = np.diff(offsets) > 0
        of_open[offsets[:-1][has_any]] += variances.of_query[has_any]  # a query is opened with its first place
        whole = replace(variances, of_open=of_open)
        return pooled(places, whole, is_nested=True)

    def reading(self, target: Target, order: Order, beliefs: GradeProbs, known: Ints) -> Reading:
        """Build the reading (what estimators need besides labels) of a target; InputError if an item is not covered."""
        check_reaches(target, order, known, as_prefix=True)
        lowest_grades = np.maximum(known, 0)  # as if every unknown item had grade 0
        f0, lowest = expectations_of(target, beliefs, order.offsets, order.items, lowest_grades)
        common: dict[str, Any] = {"target": target, "order": order, "known": known, "stage": self}
        return PrefixReading(**common, predictions=f0, beliefs=beliefs, lowest=lowest)


WHOLE, DEPTH = WholeQueries(), Depth()


def _as_doubted(places: OrderPlaces, variances: Variances) -> Floats:
    """Return the variances of the items to judge, with the share ``misplaced`` of a query's total spread by cost.

    This guards against a model that expects the variance at the wrong items.
    """
    owners, costs, n = places.open_queries, places.open_costs, variances.of_query.size
    whole, cost = (np.bincount(owners, each, minlength=n) for each in (variances.of_open, costs))
    density = np.divide(whole, cost, out=np.zeros(n), where=cost > 0)
    return (1.0 - variances.misplaced) * variances.of_open + variances.misplaced * density[owners] * costs


def _least_depth_shares(target: Target, places: OrderPlaces) -> Floats:
    """Compute least probabilities of the items to judge, once their query is sampled, by the weights of their ranks.

    They are `LEAST_RANK_SHARE` for the rank with the query's largest weight, and never rise along a query.
    """
    items, offsets, owners = places.items[places.matters], places.open_offsets, places.open_queries
    worth = np.abs(target.contrast[items])
    largest = np.zeros(offsets.size - 1)
    np.maximum.at(largest, owners, worth)
    share = np.divide(worth, largest[owners], out=np.zeros_like(worth), where=worth > 0)
    rates.never_rising(offsets, share)
    return np.maximum(share * LEAST_RANK_SHARE, LEAST_ITEM_SHARE)


def _expect(
    arrays: tuple[Any, ...], first: int, last: int, hashes: NDArray[np.uint64], n_samples: Ints, squares: Floats
) -> None:
    """Fill ``squares`` (n_places,) for the queries from ``first`` to before ``last``, over simulated labels.

    It receives the expected squared change of the query's value by each label. ``arrays`` come from `walked`;
    ``n_samples`` (n_queries,) is the number of label sets to draw, ``hashes`` (n_places,) seed the draws.
    """
    f0, no_grades, nothing = np.empty(n_samples.size), sealed(np.empty(0), np.int64), np.empty(0)
    sequential_values.reveal(*(*arrays, (first, last), NO_DEPTHS, no_grades, hashes, n_samples, f0, nothing, squares))


def _blocks(offsets: Ints) -> list[tuple[int, int]]:
    """Split queries into runs, (first, last + 1), of about equally many items, whatever the number of processors."""
    edges = np.unique(np.searchsorted(offsets, np.arange(0, offsets[-1], _BLOCK_ITEMS)))
    edges = np.unique(np.concatenate(([0], edges, [offsets.size - 1])))
    return list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))
