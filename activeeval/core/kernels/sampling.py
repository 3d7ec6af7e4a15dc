"""Labels that a grade model draws."""

from __future__ import annotations

from activeeval.core.kernels.compiling import jit as _jit


@_jit
def draw_grades(query_offsets, nodes, cumulative_weights, of_query, of_item, grades):
    """Fill ``grades`` (n_items,): one uniform takes each query's node, one the grade of each item.

    ``cumulative_weights`` (n_queries, n_nodes) are those of the nodes of each query.
    """
    n_grades = nodes.shape[2]
    for q in range(query_offsets.size - 1):
        u = 0
        while u < cumulative_weights.shape[1] - 1 and of_query[q] >= cumulative_weights[q, u]:
            u += 1
        for z in range(query_offsets[q], query_offsets[q + 1]):
            # goes on to the last grade without a branch, of which a processor guesses every other one wrong
            left, is_above, y = of_item[z], True, 0
            for grade in range(n_grades - 1):
                is_above = is_above & (left >= nodes[u, z, grade])
                left -= nodes[u, z, grade]
                y += is_above
            grades[z] = y
