"""Named tuples that bundle the array arguments of kernels."""

from __future__ import annotations

from typing import Any, NamedTuple


class MeasureTerms(NamedTuple):
    """A measure as its terms; see `activeeval.core.measures.terms.Terms`."""

    numerator: int
    values: Any  # (grades,) gain, stop probability or relevance of each grade
    discounts: Any  # (depth,)
    steps: Any  # (levels,) gain steps of an ideal; empty without an ideal
    reaches: Any  # (grades, levels)
    cumulative: Any  # (n + 1,) value of the first ranks of an ideal


class Lists(NamedTuple):
    """A ranking and the one it is compared with, which is empty if there is none."""

    offsets1: Any  # (n_queries + 1,)
    items1: Any
    offsets2: Any
    items2: Any


class Model(NamedTuple):
    """Grade probabilities at the nodes of a query factor, and the weights of the nodes."""

    nodes: Any  # (nodes, n_items, grades)
    weights: Any  # (n_queries, nodes) before any label of the sample


class Rates(NamedTuple):
    """Rates of an order; at level T, π = min(1, T r), a_i = min(1, T r_i) and G_i = a_i / π."""

    query_rates: Any  # (n_queries,) r
    place_rates: Any  # (places,) r_i


class OrderArrays(NamedTuple):
    """Arrays of an order from which levels are computed."""

    offsets: Any  # (n_queries + 1,) of the places
    query_rates: Any  # (n_queries,) r
    place_rates: Any  # (places,) r_i
    query_hashes: Any  # (n_queries,) uint64
    hashes: Any  # (places,) uint64
    overheads: Any  # (n_queries,)
    costs: Any  # (places,)
    nested: bool


class BundlesBelow(NamedTuple):
    """Places with a level below a limit: one row per query and key with such places, sorted by query, then key."""

    keys: Any  # (rows,) index of the key
    queries: Any  # (rows,)
    row_places: Any  # (rows + 1,) start of each row in `places`
    places: Any  # (n_places,) ascending within a row
    levels: Any  # (n_places,)


class SelectedRows(NamedTuple):
    """Rows of selections: a query, the level of its selection, and its selected places, ascending."""

    queries: Any  # (n,)
    levels: Any  # (n,) T
    counts: Any  # (n,) number of places
    places: Any  # (Σ counts,)


class ReadingQueries(NamedTuple):
    """Data of the queries of a reading, each (n_queries,)."""

    probs: Any
    rates: Any
    least_rates: Any  # of places that matter
    is_open: Any
    known_values: Any  # value of the known grades, in addition to the estimate
    regressors: Any  # (n_queries, k)


class Rows(NamedTuple):
    """The open queries of several samples, sample by sample, each (rows,)."""

    probs: Any  # p
    inclusion_probs: Any  # π
    values: Any  # unbiased estimates of L
    totals: Any  # (rows, 1 + k)
    within: Any  # (rows, (1 + k)(2 + k) / 2)
    beyond: Any  # (rows,) 1 if judged beyond the items that move a numerator, else 0; −1 if that does not count


class Nodes(NamedTuple):
    """Trees as arrays of nodes, one tree after the other, each node before its children."""

    roots: Any  # (n_trees,)
    features: Any  # (n_nodes,) feature to compare, −1 at a leaf
    thresholds: Any  # (n_nodes,) values up to it go left
    left: Any  # (n_nodes,) index of the child
    right: Any
    missing_left: Any  # (n_nodes,) bool, True if a missing value goes left
    zero_is_missing: Any  # (n_nodes,) bool
    columns: Any  # (n_nodes,) index of a leaf


class SparseRows(NamedTuple):
    """Rows of a sparse matrix by their nonzero entries (CSR)."""

    starts: Any  # (n_rows + 1,)
    columns: Any
    values: Any
