"""Named tuples that bundle the array arguments of kernels.

Words: a *place* is the position of an item in the judging order of its query; the places of all queries lie on one
axis, query by query. A *node* is a quadrature node of the query factor (a random effect shared by the items of a
query); a model without a factor has one node. The *level* of a place is the threshold above which a sample contains it.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class MeasureTerms(NamedTuple):
    """A measure as the terms from which kernels compute expected values; see `activeeval.core.measures.terms.Terms`.

    A value is a numerator, divided by the value of the ideal (best) ranking if the measure has one.
    """

    numerator: int
    values: Any  # (grades,) gain, stop probability or relevance of each grade
    discounts: Any  # (depth,)
    steps: Any  # (levels,) gain steps of an ideal; empty without an ideal
    reaches: Any  # (grades, levels)
    cumulative: Any  # (n + 1,) value of the first ranks of an ideal


class Lists(NamedTuple):
    """A ranking of every query, and the one it is compared with; if there is none, ``items2`` is empty.

    ``items1[offsets1[q]:offsets1[q + 1]]`` are the items of query q, best first, as positions on the pool's item axis.
    """

    offsets1: Any  # (n_queries + 1,)
    items1: Any
    offsets2: Any
    items2: Any


class Model(NamedTuple):
    """Grade probabilities at each node, and the weights of the nodes.

    A node is a quadrature node of the query factor (a random effect shared by a query's items).
    """

    nodes: Any  # (nodes, n_items, grades)
    weights: Any  # (n_queries, nodes) before any label of the sample


class Rates(NamedTuple):
    """Sampling rates of queries and of their places (items in judging order).

    At the sample's threshold T a query is selected with probability π = min(1, T r), and its place i judged with
    probability a_i = min(1, T r_i), so given the query with G_i = a_i / π.
    """

    query_rates: Any  # (n_queries,) r
    place_rates: Any  # (places,) r_i


class OrderArrays(NamedTuple):
    """Arrays of an `Order` (the places that may be judged, with rates and costs), from which levels are computed.

    ``nested`` is True if a place is judged only together with all earlier ones of its query (a prefix of its list).
    """

    offsets: Any  # (n_queries + 1,) of the places
    query_rates: Any  # (n_queries,) r
    place_rates: Any  # (places,) r_i
    query_hashes: Any  # (n_queries,) uint64
    hashes: Any  # (places,) uint64
    overheads: Any  # (n_queries,)
    costs: Any  # (places,)
    nested: bool


class BundlesBelow(NamedTuple):
    """Places whose level (threshold above which a sample contains them) is below a limit, under several random keys.

    There is one row for each query and key with such places, sorted by query, then key.
    """

    keys: Any  # (rows,) index of the key
    queries: Any  # (rows,)
    row_places: Any  # (rows + 1,) start of each row in `places`
    places: Any  # (n_places,) ascending within a row
    levels: Any  # (n_places,)


class SelectedRows(NamedTuple):
    """The judged places of several samples: each row is a query selected in one of them."""

    queries: Any  # (n,)
    levels: Any  # (n,) T
    counts: Any  # (n,) number of places
    places: Any  # (Σ counts,)


class ReadingQueries(NamedTuple):
    """What an estimate needs to know of each query of the pool; all arrays have length n_queries.

    ``is_open`` is True if an unknown label can change the query's value; other queries are known beforehand.
    """

    probs: Any
    rates: Any
    least_rates: Any  # of places that matter
    is_open: Any
    known_values: Any  # value of the known grades, in addition to the estimate
    regressors: Any  # (n_queries, k)


class Rows(NamedTuple):
    """The judged open queries (those selected by chance, not with certainty) of several samples, sample by sample.

    Each query has a value y and k regressors z, columns of ``totals``; ``within`` is the upper triangle, row by row, of
    their estimated covariance due to the sampling of items within the query.
    """

    probs: Any  # p
    inclusion_probs: Any  # π
    values: Any  # unbiased estimates of L
    totals: Any  # (rows, 1 + k)
    within: Any  # (rows, (1 + k)(2 + k) / 2)
    beyond: Any  # (rows,) 1 if judged beyond the items that move a numerator, else 0; −1 if that does not count


class Nodes(NamedTuple):
    """Regression trees as arrays of nodes, one tree after the other; each node stands before its children."""

    roots: Any  # (n_trees,)
    features: Any  # (n_nodes,) feature to compare, −1 at a leaf
    thresholds: Any  # (n_nodes,) values up to it go left
    left: Any  # (n_nodes,) index of the child
    right: Any
    missing_left: Any  # (n_nodes,) bool, True if a missing value goes left
    zero_is_missing: Any  # (n_nodes,) bool
    columns: Any  # (n_nodes,) index of a leaf


class SparseRows(NamedTuple):
    """A sparse matrix in CSR form: row i has its entries from ``starts[i]`` to ``starts[i + 1] - 1``."""

    starts: Any  # (n_rows + 1,)
    columns: Any
    values: Any
