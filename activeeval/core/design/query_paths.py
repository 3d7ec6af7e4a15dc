"""State of a sample with adaptive depth: which sampling rates are fixed so far, and which batch requested each place.

With adaptive depth, the labels of a query decide the rates of its later places (positions in its judging order).
A rate is fixed once, by the labels known when the next place was drawn. A later correction of a label changes the
expected value of a query, not the probability with which its places were sampled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from activeeval.core.design.histories import History
from activeeval.core.design.orders import Order
from activeeval.core.design.unresolved_variance import LabelsSoFar, wanted_of
from activeeval.core.types import Bools, Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QueryPaths:
    """The part of an order that is known so far, if the labels of a query decide the rates of its later places.

    Attributes
    ----------
    rates : ndarray, shape (n_places,)
        Rates of places as far as they are fixed; 0 otherwise.
    living : ndarray of int64, shape (n_queries,)
        Number of first places of each query whose labels are requested: all that may be judged, or fewer if no further
        label can change the query's value.
    batches : ndarray of int64, shape (n_places,)
        Batch in which each place was requested, from 1; 0 if it was not.
    """

    rates: Floats
    living: Ints
    batches: Ints

    @classmethod
    def begun(cls, history: History, order: Order) -> Self:
        """Build the paths before any label: only rates up to a query's first re-planning of its depth are known."""
        # number of re-planning points before each place (item in judging order), cumulated over all queries
        n_looks = np.concatenate(([0], np.cumsum(history.looks)))
        is_known = n_looks[:-1] == n_looks[order.offsets[order.place_queries]]
        nothing = np.zeros(order.items.size, dtype=np.int64)
        return cls(rates=np.where(is_known, order.place_rates, 0.0), living=wanted_of(order), batches=nothing)

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Rebuild paths from the named arrays of a sample's file, which `arrays` returned."""
        columns = {name: arrays[f"paths.{name}"] for name in ("rates", "living", "batches")}
        return cls(**columns)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the paths as named arrays, for a sample's file."""
        columns = {"rates": self.rates, "living": self.living, "batches": self.batches}
        return {f"paths.{name}": array for name, array in columns.items()}

    @property
    def n_batches(self) -> int:
        """Number of batches (sheets of items to judge) requested so far."""
        return int(self.batches.max(initial=0))

    def n_known(self, order: Order) -> Ints:
        """Count the places of each query, from the first, whose sampling rates are fixed, shape (n_queries,).

        A place is an item in the judging order of its query.
        """
        return np.bincount(order.place_queries, self.rates > 0, minlength=order.n_queries).astype(np.int64)

    def is_whole(self, order: Order) -> bool:
        """True if all rates are fixed, so that no label can change a rate."""
        return bool((self.n_known(order) == wanted_of(order)).all())

    def depths(self, order: Order, settled: Bools) -> Ints:
        """Count the places of each query that were requested and judged without a gap, from the first; (n_queries,).

        A place is an item in the judging order of its query.

        Parameters
        ----------
        settled : ndarray of bool, shape (n_items,)
            True for items that are judged or cannot be judged.
        """
        is_open = ~(settled[order.items] & (self.batches > 0))
        n_open = np.concatenate(([0], np.cumsum(is_open)))
        leading = (n_open[1:] - n_open[order.offsets[order.place_queries]]) == 0
        return np.bincount(order.place_queries, leading, minlength=order.n_queries).astype(np.int64)

    def extended(self, history: History, seen: LabelsSoFar) -> Self:
        """Return the paths with the further rates that the labels seen so far determine.

        A rate that is fixed already does not change. A query goes on if all its places (items in judging order) with a
        fixed rate have labels. ``history`` holds the rules by which rates follow labels.
        """
        order, known = seen.order, self.n_known(seen.order)
        goes_on = (known < seen.wanted) & (seen.depths >= known)
        if not goes_on.any():
            return self
        rates, living = history.path(seen.of(goes_on), self.rates)
        of_places = goes_on[order.place_queries]
        living = np.where(goes_on, np.maximum(living, seen.depths), self.living)  # judged places keep counting
        return replace(self, rates=np.where(of_places, rates, self.rates), living=living)

    def standing(self, history: History, seen: LabelsSoFar) -> Ints:
        """Count the first places of each query whose labels are requested under the current labels, shape (n_queries,).

        A query stops where no further label can change its value. The correction of a label may undo the stop: the
        places behind it are then requested, as far down as they were sampled. A place is an item in the judging order
        of its query.
        """
        is_stopped = self.living < seen.wanted
        if not is_stopped.any():
            return self.living
        stops = history.stops(seen.of(is_stopped))
        still = np.where(stops <= self.living, self.living, np.where(stops <= seen.depths, stops, seen.wanted))
        return np.where(is_stopped, still, self.living)

    def asking(self, places: Ints) -> Self:
        """Return the paths after one more batch requests some places, given as positions on the order's place axis.

        A place is an item in the judging order of its query.
        """
        batches = self.batches.copy()
        batches[places] = self.n_batches + 1
        return replace(self, batches=batches)
