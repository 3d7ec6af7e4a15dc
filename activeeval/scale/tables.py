"""Unit table of a partition: what later passes need of its items, so that the partition is predicted only once.

The first pass writes, for every item that may be judged, its variance under each target (by the model and for equally
likely grades), its cost if costs differ, and a hash of its ids: 24 bytes for one target. Rates, levels and planned
variances depend on sums over the whole pool, and are computed from the table alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from activeeval.core.design import (
    DesignInput,
    GradeProbs,
    Order,
    OrderPlaces,
    PlannedVariance,
    RateSums,
    Reading,
    RelativeRates,
)
from activeeval.core.design.inputs import relative_rates
from activeeval.core.design.rates import Variances, order_of
from activeeval.core.design.readings import planned_by
from activeeval.core.pool import QueryPool
from activeeval.core.types import Floats, Ints, Words
from activeeval.scale.packed_arrays import Arrays, as_array, long, of_array, packed, short, unpacked
from activeeval.scale.recipe import Recipe

Curves = tuple[tuple[PlannedVariance, PlannedVariance | None], ...]
"""Planned variance of each target: by the model, and for equally likely grades (or None)."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UnitTable:
    """Columns of a partition that later passes need, for its queries with an item that can change a target.

    Attributes
    ----------
    numbers : ndarray of int64, shape (n,)
        Query numbers within the partition, ascending.
    n_queries : int
        Number of all queries of the partition.
    weights : ndarray, shape (n,)
        Their p(x), in the unit of the traffic.
    query_hashes, hashes : ndarray of uint64
        Hashes of the ids of queries and candidate items.
    offsets : ndarray of int64, shape (n + 1,)
        Start of each query's candidate items.
    costs, overheads : ndarray
        Costs of items, and of opening each query, in the unit of the item costs.
    variances : tuple of Variances
        Variances of queries and items under each target, by the grade model.
    blind : tuple of Variances or None
        The same for equally likely grades; None if the largest grade is unknown.
    has_model : bool
        True if a grade model was used.
    """

    numbers: Ints
    n_queries: int
    weights: Floats
    query_hashes: Words
    hashes: Words
    offsets: Ints
    costs: Floats
    overheads: Floats
    variances: tuple[Variances, ...]
    blind: tuple[Variances | None, ...]
    has_model: bool

    @classmethod
    def of(cls, design_input: DesignInput, flat: Order, readings: tuple[Reading, ...]) -> UnitTable:
        """Build the table of a partition from the method's input.

        Parameters
        ----------
        flat : Order
            Sampling order of its items, at any rates; only its ids and p are used.
        readings : tuple of Reading
            Reading (estimator of a target from judged items) of each target.
        """
        places = design_input.places
        counts = np.diff(places.open_offsets)
        numbers = np.flatnonzero(counts)
        blind = tuple(_blind(design_input, reading) for reading in readings)
        return cls(
            numbers=numbers,
            n_queries=counts.size,
            weights=flat.query_probs[numbers],
            query_hashes=flat.query_hashes[numbers],
            hashes=flat.hashes[places.matters],
            offsets=np.concatenate(([0], np.cumsum(counts[numbers]))),
            costs=places.open_costs,
            overheads=places.overheads[numbers],
            variances=tuple(_of_queries(variances, numbers) for variances in design_input.target_variances),
            blind=tuple(None if variances is None else _of_queries(variances, numbers) for variances in blind),
            has_model=design_input.beliefs is not None,
        )

    @classmethod
    def of_queries(cls, flat: Order) -> UnitTable:
        """Build the table for draws with replacement: only ids and traffic of all queries, for later checks.

        ``flat`` is a sampling order of the partition at any rates. Later passes need nothing of its items.
        """
        nothing, n = np.empty(0), flat.query_probs.size
        return cls(
            numbers=np.arange(n),
            n_queries=n,
            weights=flat.query_probs,
            query_hashes=flat.query_hashes,
            hashes=np.empty(0, np.uint64),
            offsets=np.zeros(n + 1, np.int64),
            costs=nothing,
            overheads=nothing,
            variances=(),
            blind=(),
            has_model=False,
        )

    @property
    def places(self) -> OrderPlaces:
        """Candidate items in the form that orders are built from, with numbers as ids of queries and items."""
        n = self.costs.size
        return OrderPlaces(
            pool=QueryPool(np.arange(self.numbers.size), self.offsets),
            offsets=self.offsets,
            items=np.arange(n),
            matters=np.ones(n, dtype=np.bool_),
            costs=self.costs,
            overheads=self.overheads,
            hashes=(self.query_hashes, self.hashes),
        )

    def rates(self, recipe: Recipe, places: OrderPlaces) -> RelativeRates:
        """Compute the sampling rates of the partition up to a common factor; `places` are those of the table.

        All rates are `alike` for a method that does not sample by variance. A stage says what is judged of a query: all
        items, a prefix of its list, or single items.
        """
        method = recipe.method
        return relative_rates(method.stage, places, self.variances, recipe.weights, alike=not method.is_optimal)

    def order(self, recipe: Recipe, sums: RateSums) -> Order:
        """Build the sampling order of the partition (units with their rates); ``sums`` are of the whole pool.

        In a nested order a place (item in judging order) is judged only with all earlier ones of its query.
        """
        places = self.places
        p = self.weights / sums.weight
        is_nested = recipe.method.stage.is_nested
        return order_of(places, self.rates(recipe, places), p, sums, recipe.share, is_nested=is_nested)

    def rate_sums(self, recipe: Recipe) -> tuple[float, float, float]:
        """Compute the partition's sums that depend on target weights: Σ cost p rate, Σ cost p, largest rate."""
        places = self.places
        sums = RateSums.of(places, self.rates(recipe, places).ratios, self.weights)
        return sums.top, sums.bottom, sums.largest

    def curves(self, order: Order) -> Curves:
        """Compute the planned variances of this partition under an order, by target.

        Each is a pair of curves over the sampling level: by the grade model (0 everywhere without one), and for
        equally likely grades (None if the largest grade is unknown).
        """
        places, p = OrderPlaces.of_order(order), order.query_probs
        planned = [planned_by(order, places, each, p) if self.has_model else _NOTHING for each in self.variances]
        blind = [None if each is None else planned_by(order, places, each, p) for each in self.blind]
        return tuple(zip(planned, blind, strict=True))

    def packed(self) -> bytes:
        """Convert the table to bytes, for the scratch folder."""
        arrays: dict[str, NDArray[Any]] = {
            "kind": as_array({"n": self.n_queries, "has_model": self.has_model}),
            "numbers": self.numbers.astype(np.int32),
            "counts": np.diff(self.offsets).astype(np.int32),
            "query_hashes": self.query_hashes,
            "hashes": self.hashes,
            "costs": short(self.costs),
            "overheads": short(self.overheads),
            "weights": short(self.weights),
        }
        for t, (by_model, blind) in enumerate(zip(self.variances, self.blind, strict=True)):
            arrays |= _variance_arrays(f"{t}.", by_model)
            arrays |= {} if blind is None else _variance_arrays(f"{t}.blind.", blind)
        return packed(arrays)

    @classmethod
    def unpacked(cls, content: bytes) -> UnitTable:
        """Rebuild a table from the bytes of `packed`."""
        arrays = unpacked(content)
        kind, n, n_places = of_array(arrays["kind"]), arrays["numbers"].size, arrays["hashes"].size
        n_targets = sum(name.endswith(".of_open") and ".blind" not in name for name in arrays)
        by_model = [_variances_of(f"{t}.", arrays, n, n_places) for t in range(n_targets)]
        blind = [_variances_of(f"{t}.blind.", arrays, n, n_places) for t in range(n_targets)]
        return cls(
            numbers=arrays["numbers"].astype(np.int64),
            n_queries=kind["n"],
            weights=long(arrays["weights"], n),
            query_hashes=arrays["query_hashes"],
            hashes=arrays["hashes"],
            offsets=np.concatenate(([0], np.cumsum(arrays["counts"], dtype=np.int64))),
            costs=long(arrays["costs"], n_places),
            overheads=long(arrays["overheads"], n),
            variances=tuple(variances for variances in by_model if variances is not None),
            blind=tuple(blind),
            has_model=kind["has_model"],
        )


_NOTHING = PlannedVariance.of(np.empty(0), np.empty(0))


def _blind(design_input: DesignInput, reading: Reading) -> Variances | None:
    """Compute a target's variances for equally likely grades, without the grade model.

    The result is None if the largest grade is unknown.
    """
    if reading.top is None:  # the largest grade
        return None
    target, stage = reading.target, design_input.stage
    even = stage.model(GradeProbs.uniform(target.pool, reading.top, design_input.known))
    return stage.variances(target, design_input.places, even)


def _of_queries(variances: Variances, numbers: Ints) -> Variances:
    """Restrict variances to some queries by number: all those with a wanted item, so that values by item stay."""
    return Variances(
        of_query=variances.of_query[numbers],
        of_open=variances.of_open,
        least_shares=variances.least_shares,
        misplaced=variances.misplaced,
    )


def _variance_arrays(prefix: str, variances: Variances) -> Arrays:
    """Convert variances to named arrays with a prefix; an array of equal values is stored as a single value."""
    return {
        f"{prefix}of_query": short(variances.of_query),
        f"{prefix}of_open": short(variances.of_open),
        f"{prefix}least_shares": short(variances.least_shares),
        f"{prefix}misplaced": np.array([variances.misplaced]),
    }


def _variances_of(prefix: str, arrays: Arrays, n: int, n_places: int) -> Variances | None:
    """Rebuild variances from the arrays of `_variance_arrays`, for n queries and n_places items.

    The result is None if `arrays` has none of them.
    """
    if f"{prefix}of_open" not in arrays:
        return None
    return Variances(
        of_query=long(arrays[f"{prefix}of_query"], n),
        of_open=long(arrays[f"{prefix}of_open"], n_places),
        least_shares=long(arrays[f"{prefix}least_shares"], n_places),
        misplaced=float(arrays[f"{prefix}misplaced"][0]),
    )
