"""Arrays that kernels are given together, under names."""

from __future__ import annotations

from typing import Any, NamedTuple


class Value(NamedTuple):
    """A measure as its terms; see `activeeval.measures.terms.Terms`."""

    numerator: int
    values: Any  # (grades,) gain, stop probability or relevance of each grade
    discounts: Any  # (depth,)
    steps: Any  # (levels,) of the gains of an ideal; empty where there is none
    reaches: Any  # (grades, levels)
    cumulative: Any  # (n + 1,) what the first ranks of an ideal are worth


class Lists(NamedTuple):
    """A ranking and the one it is compared with, empty where there is none."""

    offsets1: Any  # (n_queries + 1,)
    items1: Any
    offsets2: Any
    items2: Any


class Model(NamedTuple):
    """Grade probabilities at the nodes of a query factor."""

    nodes: Any  # (nodes, n_items, grades)
    weights: Any  # (n_queries, nodes) before any label of the sample


class Rates(NamedTuple):
    """An order at a level: π = min(1, T r), a_i = min(1, T r_i), G_i = a_i / π."""

    query_roots: Any  # (n_queries,) r
    roots: Any  # (places,) r_i
    level: float  # T


class Taken(NamedTuple):
    """A selection: its queries, how many places of each, and these, ascending within a query."""

    queries: Any  # (n,)
    counts: Any  # (n,)
    slots: Any  # (Σ counts,)
