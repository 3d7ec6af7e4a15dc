"""The part of a sample file that exists only if the sample's queries were selected from a larger pool."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from activeeval.core.design import Design, LargerPool, PlannedVariance, PoolSums

Arrays = Mapping[str, NDArray[Any]]

_SUMS = ("base", "settled_squares", "open_squares", "open_share", "squares")


def gathered_arrays(design: Design) -> dict[str, NDArray[Any]]:
    """Convert a design's sums over the larger pool, from which its queries were selected, to arrays by name.

    ``horizon`` is the sampling level up to which the selection is complete; counts are of all queries, and of those
    whose value an unknown label can change; curves are the variance that the design plans, and would plan if all
    grades were equally likely ("blind"). An empty dict without a larger pool.
    """
    gathered = design.order.larger_pool
    if gathered is None:
        return {}
    totals = [reading.pool_sums for reading in design.readings]
    arrays: dict[str, NDArray[Any]] = {
        "gathered": np.array([gathered.horizon, gathered.cost]),
        "gathered.counts": np.array([(sums.n_queries, sums.n_open) for sums in totals], dtype=np.int64),
        "gathered.sums": np.array([[getattr(sums, name) for name in _SUMS] for sums in totals]),
        "gathered.population": np.array([sums.population for sums in totals]),
    }
    for k, sums in enumerate(totals):
        curves = {"planned": sums.planned, "blind": sums.planned_blindly}
        arrays |= {f"gathered.{name}{k}": curve.array() for name, curve in curves.items() if curve is not None}
    return arrays


def with_gathered(design: Design, arrays: Arrays) -> Design:
    """Restore a design's sums over the larger pool from the arrays of `gathered_arrays`."""
    if "gathered" not in arrays:
        return design
    horizon, cost = arrays["gathered"].tolist()
    larger_pool = LargerPool(key=int(arrays["key"][0]), horizon=horizon, cost=cost)
    rows = zip(arrays["gathered.counts"], arrays["gathered.sums"], arrays["gathered.population"], strict=True)
    totals = []
    for k, ((n_queries, n_open), sums, population) in enumerate(rows):
        fields: dict[str, Any] = dict(zip(_SUMS, sums.tolist(), strict=True))
        fields |= {
            "planned": _curve(arrays, f"gathered.planned{k}"),
            "planned_blindly": _curve(arrays, f"gathered.blind{k}"),
        }
        totals.append(PoolSums(n_queries=int(n_queries), n_open=int(n_open), population=population, **fields))
    return design.gathered(larger_pool, totals)


def _curve(arrays: Arrays, name: str) -> PlannedVariance | None:
    """Restore a curve of planned variance, None if the arrays lack it."""
    return PlannedVariance.of_array(arrays[name]) if name in arrays else None
