"""Arrays that kernels are given together, under names."""

from __future__ import annotations

from typing import Any, NamedTuple


class MeasureTerms(NamedTuple):
    """A measure as its terms; see `activeeval.core.measures.terms.Terms`."""

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
    """An order's rates: by level T come π = min(1, T r) and a_i = min(1, T r_i), G_i = a_i / π."""

    query_rates: Any  # (n_queries,) r
    place_rates: Any  # (places,) r_i


class OrderArrays(NamedTuple):
    """An order as levels are found on it."""

    offsets: Any  # (n_queries + 1,) of the places
    query_rates: Any  # (n_queries,) r
    place_rates: Any  # (places,) r_i
    query_hashes: Any  # (n_queries,) uint64
    hashes: Any  # (places,) uint64
    overheads: Any  # (n_queries,)
    costs: Any  # (places,)
    nested: bool


class BundlesBelow(NamedTuple):
    """What comes below a level: a row for every query and key of which something does, ordered by query, then key."""

    keys: Any  # (rows,) which key
    queries: Any  # (rows,)
    row_places: Any  # (rows + 1,) where the places of a row begin
    places: Any  # (places that come,) ascending within a row
    levels: Any  # their levels


class SelectedRows(NamedTuple):
    """Rows of selections: a query, the level of its selection, how many of its places, and these, ascending."""

    queries: Any  # (n,)
    levels: Any  # (n,) T
    counts: Any  # (n,)
    places: Any  # (Σ counts,)


class ReadingQueries(NamedTuple):
    """What is known of the queries of a reading, each (n_queries,)."""

    probs: Any
    rates: Any
    least_rates: Any  # of places that matter
    is_open: Any
    known_values: Any  # what known grades are worth beside what is estimated
    regressors: Any  # (n_queries, k)


class Rows(NamedTuple):
    """The open queries of several samples, sample by sample, each (rows,)."""

    probs: Any  # p
    inclusion_probs: Any  # π
    values: Any  # unbiased for L
    totals: Any  # (rows, 1 + k)
    within: Any  # (rows, (1 + k)(2 + k) / 2)
    beyond: (
        Any  # (rows,) 1 where it was judged beyond what moves a numerator, 0 elsewhere, −1 where that does not count
    )


class Nodes(NamedTuple):
    """Trees as their nodes, one tree after the other, a node before its children."""

    roots: Any  # (n_trees,)
    features: Any  # (n_nodes,) which is compared, −1 at a leaf
    thresholds: Any  # (n_nodes,) values up to it go left
    left: Any  # (n_nodes,) nodes
    right: Any
    missing_left: Any  # (n_nodes,) bool, where a missing value goes
    zero_is_missing: Any  # (n_nodes,) bool
    columns: Any  # (n_nodes,) number of a leaf


class SparseRows(NamedTuple):
    """Rows of a matrix by what is not 0 in them."""

    starts: Any  # (n_rows + 1,)
    columns: Any
    values: Any
