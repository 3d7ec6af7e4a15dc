"""Simulation of labels from a grade model."""

from __future__ import annotations

from activeeval.core.kernels.compiling import jit as _jit


@_jit
def draw_grades(query_offsets, nodes, cumulative_weights, of_query, of_item, grades):
    """Simulate grades from a grade model: fill ``grades`` (n_items,).

    ``of_query`` (n_queries,) uniform numbers select each query's node, a value of the query factor (a random effect
    shared by a query's items), and ``of_item`` (n_items,) each item's grade given the node. ``nodes`` (n_nodes,
    n_items, n_grades) are the grade probabilities, ``cumulative_weights`` (n_queries, n_nodes) the cumulated weights of
    the nodes.
    """
    n_grades = nodes.shape[2]
    for q in range(query_offsets.size - 1):
        u = 0
        while u < cumulative_weights.shape[1] - 1 and of_query[q] >= cumulative_weights[q, u]:
            u += 1
        for z in range(query_offsets[q], query_offsets[q + 1]):
            # loops to the last grade without a branch, because a branch would be mispredicted half of the time
            left, is_above, y = of_item[z], True, 0
            for grade in range(n_grades - 1):
                is_above = is_above & (left >= nodes[u, z, grade])
                left -= nodes[u, z, grade]
                y += is_above
            grades[z] = y
