"""Expected values with some labels known: (α + β v) / ideal, with v the value of the next item's label.

Computed for every node u of the query factor, given the revealed items and expectations of the others:

*Additive.* α_u = Σ_{i<k} c_i v_i + Σ_{i>k} c_i E[v_i | u], β_u = c_k; in a comparison c is Δc.

*Cascade.* A list is a composition of the maps T_i = c_i ℓ_i + (1 − ℓ_i) T_{i+1}; a segment tree of
maps T ↦ a + b T, one for each list, holds revealed items with their ℓ and the others with E[ℓ | u].
With the map (a, b) before the item's rank and the value T expected after it, α_u = a + b T and
β_u = b (c − T): O(log n) per label. A list is multilinear in its labels, which are independent given u,
so this is exact, also for a difference.

*Average precision.* With r the revealed or expected relevance, Σ_i (r_i / i)(1 + Σ_{j<i} r_j).

*Ideal.* With N_l the known plus expected number of items of at least the l-th gain level,
Σ_l (g_l − g_{l+1}) C(N_l), where C(n) is the sum of the first n discounts, linear between whole
numbers. If no relevant item is known yet, N_l is divided by the probability that there is
one at all: a query without any scores 0.
"""

from __future__ import annotations

from activeeval.core.kernels.compiling import jit as _jit


@_jit
def _compose(tree_a, tree_b, node):
    """Compute the map T ↦ a + b T of a tree node from those of its children.

    ``tree_a`` and ``tree_b`` have shape (tree nodes, n_nodes), with a map for each value u of the query factor (a
    random effect shared by a query's items).
    """
    for u in range(tree_a.shape[1]):
        tree_a[node, u] = tree_a[2 * node, u] + tree_b[2 * node, u] * tree_a[2 * node + 1, u]
        tree_b[node, u] = tree_b[2 * node, u] * tree_b[2 * node + 1, u]


@_jit
def plant(ranked, n, expected, discounts, tree_a, tree_b):
    """Build a list's segment tree of the cascade's maps T_i = c_i ℓ_i + (1 − ℓ_i) T_{i+1}; return its number of leaves.

    ``ranked`` has the row in ``expected`` of the item at each of the first ``n`` ranks. ``expected`` (n_items, n_nodes)
    are the stop probabilities ℓ, expected at each node of the query factor (a random effect shared by a query's items),
    ``discounts`` the c. ``tree_a`` and ``tree_b`` (tree nodes, n_nodes) receive the maps T ↦ a + b T of runs of ranks.
    """
    size = 1
    while size < n:
        size *= 2
    for j in range(size):
        for u in range(tree_a.shape[1]):
            e = expected[ranked[j], u] if j < n else 0.0
            tree_a[size + j, u] = discounts[j] * e if j < n else 0.0
            tree_b[size + j, u] = 1.0 - e
    for node in range(size - 1, 0, -1):
        _compose(tree_a, tree_b, node)
    return size


@_jit
def cascade_terms(tree_a, tree_b, size, rank, discounts, sign, around, alpha, beta):
    """Add one list's α and β: a cascade's expected value is α + β v in the stop probability v of the item at ``rank``.

    Rank −1 means that the list does not contain the item. ``tree_a`` and ``tree_b`` are the list's maps from `plant`,
    ``size`` its number of leaves; ``sign`` is −1 for the list that is subtracted. ``alpha`` and ``beta`` (n_nodes,)
    have an entry for each quadrature node of the query factor (a random effect shared by a query's items). ``around``
    (4, n_nodes) is workspace: the maps before and after the rank.
    """
    n_nodes = alpha.size
    if rank < 0:
        for u in range(n_nodes):
            alpha[u] += sign * tree_a[1, u]
        return
    for u in range(n_nodes):
        around[0, u], around[1, u], around[2, u], around[3, u] = 0.0, 1.0, 0.0, 1.0
    node = size + rank
    while node > 1:
        sibling = node ^ 1
        if node & 1:
            for u in range(n_nodes):
                around[0, u] = tree_a[sibling, u] + tree_b[sibling, u] * around[0, u]
                around[1, u] *= tree_b[sibling, u]
        else:
            for u in range(n_nodes):
                around[2, u] += around[3, u] * tree_a[sibling, u]
                around[3, u] *= tree_b[sibling, u]
        node >>= 1
    for u in range(n_nodes):
        alpha[u] += sign * (around[0, u] + around[1, u] * around[2, u])
        beta[u] += sign * around[1, u] * (discounts[rank] - around[2, u])


@_jit
def settle(tree_a, tree_b, size, rank, discounts, value):
    """Set the stop probability of the item at ``rank`` to ``value``, known from its label, in a list's tree of `plant`.

    Rank −1 (the item is not in the list) changes nothing. ``tree_a`` and ``tree_b`` (tree nodes, n_nodes) hold the
    tree's maps, ``size`` is its number of leaves, ``discounts`` are those of ranks.
    """
    if rank < 0:
        return
    node = size + rank
    for u in range(tree_a.shape[1]):
        tree_a[node, u] = discounts[rank] * value
        tree_b[node, u] = 1.0 - value
    while node > 1:
        node >>= 1
        _compose(tree_a, tree_b, node)


@_jit
def precision_terms(ranked, n, expected, rank, sign, alpha, beta):
    """Add one list's α and β: the expected sum of precisions is α + β v in the relevance v of the item at ``rank``.

    The sum is Σ_i (r_i / i)(1 + Σ_{j<i} r_j), the numerator of average precision, with r the known or expected
    relevance. Rank −1 means that the list does not contain the item. ``ranked`` has the row in ``expected`` (n_items,
    n_nodes) of the item at each of the first ``n`` ranks, one column for each node of the query factor (a random effect
    shared by a query's items); ``sign`` is −1 for the list that is subtracted. ``alpha`` and ``beta`` have shape
    (n_nodes,).
    """
    for u in range(alpha.size):
        so_far, total, slope = 0.0, 0.0, 0.0  # summed per list, so that two equal lists cancel exactly
        for i in range(n):
            if i == rank:
                slope += (1.0 + so_far) / (i + 1.0)
                continue
            value = expected[ranked[i], u]
            total += value / (i + 1.0) * (1.0 + so_far)
            if 0 <= rank < i:
                slope += value / (i + 1.0)
            so_far += value
        alpha[u] += sign * total
        beta[u] += sign * slope


@_jit
def ideal_value(known, added, rest, none_left, steps, cumulative):
    """Compute the expected value of the ideal (best) ranking of a query with some labels known.

    If no known item is relevant, it is conditional on at least one relevant item. The query factor (a random effect of
    the query) is fixed. The value is Σ_l step_l C(N_l): N_l is the number of items of at least the l-th gain level,
    C(n) the sum of the first n discounts (``cumulative``), interpolated, and step_l the difference of successive gains
    (``steps``). 0 if no relevant item is possible. ``known``, ``added`` and ``rest`` (levels,) are the counts of known
    items, of the item considered now, and the expected counts of the others; ``none_left`` is the probability that none
    of the others is relevant.
    """
    is_found = False
    for level in range(steps.size):
        is_found = is_found or known[level] + added[level] > 0.0
    any_left = 1.0 if is_found else 1.0 - none_left
    if any_left <= 0.0:
        return 0.0
    total = 0.0
    last = cumulative.size - 1
    for level in range(steps.size):
        n = min((known[level] + added[level] + rest[level]) / any_left, float(last))
        whole = int(n)
        reached = cumulative[whole]
        if whole < last:
            reached += (n - whole) * (cumulative[whole + 1] - reached)
        total += steps[level] * reached
    return total
