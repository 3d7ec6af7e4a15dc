"""The part of a sample on file that is there only where its queries were gathered of a larger pool."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from activeeval.design import Design, LargerPool, Planned, PoolSums, Replacement, ReplacementDraws

Arrays = Mapping[str, NDArray[Any]]

_DECK = ("queries", "cumulative", "costs")


def gathered_arrays(design: Design) -> dict[str, NDArray[Any]]:
    """Return what a design knows of the larger pool, as arrays; none where there is no larger pool."""
    gathered, scheme = design.order.larger_pool, design.scheme
    if gathered is None:
        return {}
    totals = [reading.pool_sums for reading in design.readings]
    arrays: dict[str, NDArray[Any]] = {
        "gathered": np.array([gathered.horizon, gathered.cost]),
        "gathered.counts": np.array([(sums.n_queries, sums.n_open) for sums in totals], dtype=np.int64),
        "gathered.sums": np.array(
            [(t.base, t.settled_squares, t.open_squares, t.open_share, t.squares) for t in totals]
        ),
        "gathered.population": np.array([sums.population for sums in totals]),
    }
    for k, sums in enumerate(totals):
        curves = {"planned": sums.planned, "blind": sums.planned_blindly}
        arrays |= {f"gathered.{name}{k}": curve.array() for name, curve in curves.items() if curve is not None}
    if isinstance(scheme, Replacement) and scheme.draws is not None:
        deck = scheme.draws
        arrays |= {f"deck.{name}": getattr(deck, name) for name in _DECK}
        arrays["deck"] = np.array([deck.size, deck.cost, deck.expected_cost])
    return arrays


def with_gathered(design: Design, arrays: Arrays) -> Design:
    """Return a design that knows again what `gathered_arrays` said of the larger pool."""
    if "gathered" not in arrays:
        return design
    horizon, cost = arrays["gathered"].tolist()
    order = replace(design.order, larger_pool=LargerPool(key=int(arrays["key"][0]), horizon=horizon, cost=cost))
    scheme = design.scheme
    if isinstance(scheme, Replacement):
        size, of_all, expected = arrays["deck"].tolist()
        places = {name: arrays[f"deck.{name}"] for name in _DECK}
        scheme = replace(scheme, draws=ReplacementDraws(**places, size=int(size), cost=of_all, expected_cost=expected))
    rows = zip(
        design.readings, arrays["gathered.counts"], arrays["gathered.sums"], arrays["gathered.population"], strict=True
    )
    readings = []
    for k, (reading, counts, sums, population) in enumerate(rows):
        planned, blind = (_curve(arrays, f"gathered.{name}{k}") for name in ("planned", "blind"))
        totals = replace(_totals(counts.tolist(), sums.tolist(), population), planned=planned, planned_blindly=blind)
        readings.append(replace(reading, order=order, larger_pool_sums=totals))
    return replace(design, order=order, scheme=scheme, readings=tuple(readings))


def _curve(arrays: Arrays, name: str) -> Planned | None:
    return Planned.of_array(arrays[name]) if name in arrays else None


def _totals(counts: list[int], sums: list[float], population: NDArray[np.float64]) -> PoolSums:
    base, settled_squares, open_squares, open_share, squares = sums
    return PoolSums(
        n_queries=counts[0],
        n_open=counts[1],
        population=population,
        base=base,
        settled_squares=settled_squares,
        open_squares=open_squares,
        open_share=open_share,
        squares=squares,
    )
