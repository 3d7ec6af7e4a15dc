"""Conditioning of a grade model on known grades: the items become certain, and node weights are updated.

With known grades y_i the nodes of a query have the posterior ω_u ∝ ω⁰_u Π_i p(y_i | u).
"""

from __future__ import annotations

from activeeval.core.kernels.compiling import jit as _jit

_IMPOSSIBLE = 1e-300


@_jit
def learn_known(query_offsets, nodes, grades, weights):
    """Update the ``weights`` (n_queries, n_nodes) of the query factor's values by known grades, in place (Bayes' rule).

    The query factor is a random effect shared by a query's items, with n_nodes possible values (nodes). ``nodes``
    (n_nodes, n_items, n_grades) are the grade probabilities at each, ``grades`` (n_items,) the known grades, negative
    if unknown. Query q has the items ``query_offsets[q]`` to ``query_offsets[q + 1] - 1``. A grade that the model holds
    impossible is skipped.
    """
    for q in range(query_offsets.size - 1):
        before = weights[q].copy()
        for z in range(query_offsets[q], query_offsets[q + 1]):
            if grades[z] < 0:
                continue
            total = 0.0
            for u in range(before.size):
                weights[q, u] *= nodes[u, z, grades[z]]
                total += weights[q, u]
            for u in range(before.size):
                weights[q, u] = weights[q, u] / total if total > _IMPOSSIBLE else before[u]


@_jit
def settle_known(nodes, grades):
    """Set the probability of every known grade to 1 in ``nodes`` (n_nodes, n_items, n_grades), overwriting them.

    These are the model's grade probabilities at each value (node) of the query factor, a random effect shared by a
    query's items. ``grades`` (n_items,) are negative where unknown; these items keep their probabilities.
    """
    for z in range(grades.size):
        if grades[z] >= 0:
            for u in range(nodes.shape[0]):
                nodes[u, z, :] = 0.0
                nodes[u, z, grades[z]] = 1.0
