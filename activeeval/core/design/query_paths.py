"""How far the paths of queries are known: rates that labels made as they stood then, and which places were asked.

A rate is made once, from the labels that stood when the next place was drawn, and never again: a correction changes
what is expected of a query, and not with which probability its places came.
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
    """What is known so far of an order whose rates follow labels.

    Attributes
    ----------
    rates : ndarray, shape (n_places,)
        Of places, as far as they are known; 0 of others.
    living : ndarray of int64, shape (n_queries,)
        Of how many places of each query labels are asked; all that may be judged unless its value was seen to stop.
    batches : ndarray of int64, shape (n_places,)
        In which batch each place was asked, from 1; 0 where it was not.
    """

    rates: Floats
    living: Ints
    batches: Ints

    @classmethod
    def begun(cls, history: History, order: Order) -> Self:
        """Return what is known before any label: the rates of the places down to the first look."""
        n_looks = np.concatenate(([0], np.cumsum(history.looks)))
        is_known = n_looks[:-1] == n_looks[order.offsets[order.place_queries]]
        nothing = np.zeros(order.items.size, dtype=np.int64)
        return cls(rates=np.where(is_known, order.place_rates, 0.0), living=wanted_of(order), batches=nothing)

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return the paths that `arrays` made arrays of."""
        columns = {name: arrays[f"paths.{name}"] for name in ("rates", "living", "batches")}
        return cls(**columns)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return it as arrays, for a sample's file."""
        columns = {"rates": self.rates, "living": self.living, "batches": self.batches}
        return {f"paths.{name}": array for name, array in columns.items()}

    @property
    def n_batches(self) -> int:
        """How many there were."""
        return int(self.batches.max(initial=0))

    def n_known(self, order: Order) -> Ints:
        """Return of how many places of each query the rates are known, its first ones, shape (n_queries,)."""
        return np.bincount(order.place_queries, self.rates > 0, minlength=order.n_queries).astype(np.int64)

    def is_whole(self, order: Order) -> bool:
        """Whether no label has a say in any further rate."""
        return bool((self.n_known(order) == wanted_of(order)).all())

    def depths(self, order: Order, settled: Bools) -> Ints:
        """Return how many places of each query, its first ones, were asked and judged, shape (n_queries,).

        Parameters
        ----------
        settled : ndarray of bool, shape (n_items,)
            Items that are judged, or cannot be.
        """
        is_open = ~(settled[order.items] & (self.batches > 0))
        n_open = np.concatenate(([0], np.cumsum(is_open)))
        leading = (n_open[1:] - n_open[order.offsets[order.place_queries]]) == 0
        return np.bincount(order.place_queries, leading, minlength=order.n_queries).astype(np.int64)

    def extended(self, history: History, seen: LabelsSoFar) -> Self:
        """Return what is known once labels have been looked at, as deep as `depths` has it."""
        order, known = seen.order, self.n_known(seen.order)
        goes_on = (known < seen.wanted) & (seen.depths >= known)
        if not goes_on.any():
            return self
        rates, living = history.path(seen.of(goes_on), self.rates)
        of_places = goes_on[order.place_queries]
        living = np.where(goes_on, np.maximum(living, seen.depths), self.living)  # what was asked counts as it did
        return replace(self, rates=np.where(of_places, rates, self.rates), living=living)

    def standing(self, history: History, seen: LabelsSoFar) -> Ints:
        """Return of how many places of each query labels are asked as labels stand now, shape (n_queries,).

        A correction may undo a stop: what was dead behind it is to be asked then, as far down as it came.
        """
        is_stopped = self.living < seen.wanted
        if not is_stopped.any():
            return self.living
        stops = history.stops(seen.of(is_stopped))
        still = np.where(stops <= self.living, self.living, np.where(stops <= seen.depths, stops, seen.wanted))
        return np.where(is_stopped, still, self.living)

    def asking(self, places: Ints) -> Self:
        """Return what is known once one more batch asks for some places."""
        batches = self.batches.copy()
        batches[places] = self.n_batches + 1
        return replace(self, batches=batches)
