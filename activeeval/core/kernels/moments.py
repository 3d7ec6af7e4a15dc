"""First two moments of additive and cascade measures, for one ranking or the difference of two.

Both kernels loop over the queries of a pool and compute a difference of two rankings, of which the
second can be empty: the value of one ranking is its difference from an empty list. Rankings are cut
at the length of the discount vector ``c``.

Additive, L = Σ_i c_i g(y_i). With μ = E[g], v = Var[g] and Δc_z = c_{pos1(z)} − c_{pos2(z)}
(0 if a list lacks the item):  E[δ] = Σ_z Δc_z μ_z,  Var[δ] = Σ_z Δc_z² v_z.

Cascade, T_i = c_i ℓ_i + (1 − ℓ_i) T_{i+1}, L = T_1. Per item e = E[ℓ], s = E[ℓ²], f = 1 − e,
t = e − s = E[ℓ(1 − ℓ)], h = 1 − 2e + s = E[(1 − ℓ)²], d = Var[ℓ].

*One ranking.* One backward pass gives E[T_i] = c_i e_i + f_i E[T_{i+1}]. As
T_i − E[T_i] = (c_i − E[T_{i+1}])(ℓ_i − e_i) + (1 − ℓ_i)(T_{i+1} − E[T_{i+1}]) has uncorrelated
terms, Var[T_i] = d_i (c_i − E[T_{i+1}])² + h_i Var[T_{i+1}], a sum of squares.

*Comparison.* The ranks on which both lists agree at the head factor out,
δ = Π_{l ≤ H}(1 − ℓ_l) · (T_1 − T_2). If two lists of equal length agree from some rank on, the tail's
value T' is independent of the items before it: with B = Σ_i ℓ_i Π(1 − ℓ) = 1 − Π(1 − ℓ) over the
ranks between, T_1 − T_2 = V_c − T' V_1, where V_c is the difference of the lists between with
discounts c and V_1 = B_1 − B_2 that with discounts 1. So E[T_1 − T_2] = E[V_{c − E T'}] and
E[(T_1 − T_2)²] = E[V_{c − E T'}²] + Var[T'] E[V_1²]; if both contain the same items between, V_1 = 0
and the tail drops out. So neither head nor tail causes cancellation. For the lists between,
Var[V] = Var[V(r_1)] + Var[V(r_2)] − 2 Cov[V(r_1), V(r_2)]; with P = Π_{l ≤ H}(1 − ℓ_l) over the head,
Var[δ] = E[P²] Var[T_1 − T_2] + Var[P] E[T_1 − T_2]², with Var[P] by its own recursion.

*Cross moment in O(n log n).* E[T_1 T_2] = Σ_i Σ_j c_i c_j E[ℓ_{z_i} ℓ_{w_j} Π_{l<i}(1 − ℓ) Π_{m<j}(1 − ℓ)].
One sweep over r_1 updates a segment tree over the ranks j of r_2. Leaf j holds
U_j = c_j · E[the factors of w_j and of prefix_1(i) ∪ prefix_2(j)] / glob, with glob the factor common to
all leaves. Item z of r_1 at place p of r_2 contributes
c_i glob (e_z Σ_{j<p} U_j + (s_z/e_z) U_p + (t_z/f_z) Σ_{j>p} U_j), then enters prefix_1:
glob ← f_z glob, U_p ← t_z/(e_z f_z) U_p, U_j ← h_z/f_z² U_j for j > p. As t = e f − d, the
contribution is c_i glob ((t/f) Σ_j U_j + (d/f) Σ_{j<p} U_j + (d/e + d/f) U_p), without any
subtraction, and the multipliers are t/(e f) = (e − d/f)/e and h/f² = 1 + d/f². A node stores
S = S_left + τ S_right, so one walk from the leaf to the root computes the last two sums together
(``extra``) and does both updates. Lists end after a certain stop (f = 0) and where Π f < 1e-150: beyond, the
multipliers would overflow while the sums underflow.
"""

from __future__ import annotations

import numpy as np

from activeeval.core.kernels.compiling import jit as _jit

_NEGLIGIBLE = 1e-150


@_jit
def additive_moments(query_offsets, probs, gains, discounts, offsets1, items1, offsets2, items2, mean, variance):
    """Fill ``mean`` and ``variance`` (n_queries,) of a sum of discounted gains, for one ranking or a difference of two.

    Sawade et al. (2013), eqs. (16)–(18) for DCG: L = Σ_z Δc_z g(y_z) with Δc_z the discount of an item in the first
    list minus that in the second.

    Parameters
    ----------
    query_offsets : array of int64, shape (n_queries + 1,)
        Offsets of the queries on the item axis.
    probs : array, shape (n_items, n_grades)
        Grade probabilities; the items' grades are independent.
    gains, discounts : arrays, shapes (n_grades,) and (depth,)
        Gain of each grade, and weight of each rank.
    offsets1, items1, offsets2, items2 : arrays of int64
        Both rankings: query q ranks ``items1[offsets1[q]:offsets1[q + 1]]``, best first; ``items2`` is empty for one.
    """
    n_grades = gains.size
    longest = 0
    for q in range(query_offsets.size - 1):
        longest = max(longest, query_offsets[q + 1] - query_offsets[q])
    contrast = np.zeros(longest)
    for q in range(query_offsets.size - 1):
        start, stop = query_offsets[q], query_offsets[q + 1]
        for i in range(min(offsets1[q + 1] - offsets1[q], discounts.size)):
            contrast[items1[offsets1[q] + i] - start] += discounts[i]
        for i in range(min(offsets2[q + 1] - offsets2[q], discounts.size)):
            contrast[items2[offsets2[q] + i] - start] -= discounts[i]
        total = 0.0
        spread = 0.0
        for z in range(start, stop):
            c = contrast[z - start]
            contrast[z - start] = 0.0
            if c != 0.0:
                mu = 0.0
                for y in range(n_grades):
                    mu += probs[z, y] * gains[y]
                v = 0.0
                for y in range(n_grades):
                    v += probs[z, y] * (gains[y] - mu) ** 2
                total += c * mu
                spread += c * c * v
        mean[q] = total
        variance[q] = spread


@_jit
def _stop_moments(probs, stop_probs, start, used, e, d):
    """Fill e = E[ℓ] and d = Var[ℓ], mean and variance of the stop probability ℓ, of the used items of a query.

    ``probs`` (n_items, n_grades) are the grade probabilities, ``stop_probs`` (n_grades,) the stop probability of each
    grade. ``used``, ``e`` and ``d`` are indexed by item minus ``start``, the query's first item; ``used`` is reset.
    """
    for k in range(used.size):
        if used[k]:
            first = 0.0
            for y in range(stop_probs.size):
                first += probs[start + k, y] * stop_probs[y]
            spread = 0.0
            for y in range(stop_probs.size):
                spread += probs[start + k, y] * (stop_probs[y] - first) ** 2
            e[k] = min(first, 1.0)
            d[k] = spread
            used[k] = False


@_jit
def _gather(items, start, e, d, e_ranked, d_ranked):
    """Copy e and d (moments of the stop probability) in the order of a list; return the number of ranks that count.

    Ranks count until the expected share of users who go on is negligible. ``e`` and ``d`` are indexed by item minus
    ``start``, the query's first item; ``e_ranked`` and ``d_ranked`` receive them by rank.
    """
    reach = 1.0
    for i in range(items.size):
        k = items[i] - start
        e_ranked[i] = e[k]
        d_ranked[i] = d[k]
        reach *= 1.0 - e[k]
        if reach < _NEGLIGIBLE:
            return i + 1
    return items.size


@_jit
def _absolute(e, d, discounts, first, last):
    """Compute mean and variance of a cascade's value T over the ranks ``first … last − 1`` of one list.

    T_i = c_i ℓ_i + (1 − ℓ_i) T_{i+1} with discounts c, and e and d the mean and variance of the stop probability ℓ by
    rank.
    """
    mean = 0.0
    variance = 0.0
    for i in range(last - 1, first - 1, -1):
        f = 1.0 - e[i]
        gap = discounts[i] - mean
        variance = d[i] * gap * gap + (f * f + d[i]) * variance
        mean = discounts[i] * e[i] + f * mean
    return mean, variance


@_jit
def _agreement(items1, items2, start, n1, n2, place):
    """Compare two lists of a query; return ``(head, tail, same)``.

    ``head`` is the number of shared ranks at the top, ``tail`` the rank (from 0) at which a shared end starts, −1 for
    lists of different lengths ``n1`` and ``n2``, and ``same`` is True if the ranks between hold the same items.
    ``place`` maps an item minus ``start`` (the query's first item) to its rank in list 2, or −1.
    """
    shorter = min(n1, n2)
    head = 0
    while head < shorter and items1[head] == items2[head]:
        head += 1
    if n1 != n2:
        return head, -1, False
    tail = n1
    while tail > head and items1[tail - 1] == items2[tail - 1]:
        tail -= 1
    for i in range(head, tail):
        if place[items1[i] - start] < 0:
            return head, tail, False
    return head, tail, True


@_jit
def _plant(e2, discounts, head, n2, sums, right):
    """Build the segment tree of `_cross_moment` over ranks ``head … n2 − 1`` of list 2; return its number of leaves.

    Leaf j holds c_j e_j Π_{l<j} (1 − e_l), the expected value at rank j, with e (``e2``) the expected stop
    probabilities. ``sums`` receives the sums of the nodes, ``right`` the pending factors of right children, all 1.
    """
    size = 1
    while size < n2 - head:
        size *= 2
    reach = 1.0
    for j in range(n2 - head):
        e = e2[head + j]
        sums[size + j] = discounts[head + j] * e * reach
        reach *= 1.0 - e
    sums[size + n2 - head : 2 * size] = 0.0
    for node in range(size - 1, 0, -1):
        right[node] = 1.0
        sums[node] = sums[2 * node] + sums[2 * node + 1]
    return size


@_jit
def _cross_moment(items1, start, e1, d1, e2, discounts, head, n1, n2, place, sums, right):
    """Compute E[T_1 T_2] of two lists' cascade values from rank ``head`` on, in O(n log n).

    T_i = c_i ℓ_i + (1 − ℓ_i) T_{i+1}, with discounts c and stop probabilities ℓ, which an item has in common in both
    lists. A sweep over list 1 keeps in leaf j of a segment tree the expected value of stopping at rank j of list 2,
    given the items of list 1 so far; the module has the formulas.

    ``e1``, ``d1`` and ``e2`` are means and variances of the stop probabilities by rank, ``n1`` and ``n2`` the lengths.
    ``place`` maps an item minus ``start`` (the query's first item) to its rank in list 2, or −1. ``sums`` and ``right``
    are workspace for the tree.
    """
    size = _plant(e2, discounts, head, n2, sums, right)
    cross = 0.0
    glob = 1.0
    for i in range(head, n1):
        e = e1[i]
        if e == 0.0:
            continue
        p = place[items1[i] - start] - head
        f = 1.0 - e
        if p < 0 or f == 0.0:
            cross += discounts[i] * glob * e * sums[1]
            glob *= f
            continue
        per_f = 1.0 / f
        to_earlier = d1[i] * per_f
        stay = e - to_earlier
        rho = 1.0 + to_earlier * per_f
        node = size + p
        value = sums[node]
        extra = value * (d1[i] / e + to_earlier)
        value *= stay / e
        whole = sums[1]
        sums[node] = value
        # Arithmetic in place of a branch, because the side of the child is unpredictable for the processor.
        while node > 1:
            from_right = float(node & 1)
            from_left = 1.0 - from_right
            sibling = sums[node ^ 1]
            node >>= 1
            tau = right[node]
            extra = extra * (from_right * tau + from_left) + from_right * to_earlier * sibling
            tau *= from_left * rho + from_right
            right[node] = tau
            value = sibling * (from_right + from_left * tau) + value * (from_left + from_right * tau)
            sums[node] = value
        cross += discounts[i] * glob * (stay * whole + extra)
        glob *= f
    return cross


@_jit
def _difference(list1, start, e1, d1, e2, d2, discounts, head, n1, n2, place, sums, right):
    """Compute mean and variance of the difference of two lists' cascade values from rank ``head`` (from 0) on.

    The variance is Var T_1 + Var T_2 − 2 Cov(T_1, T_2), at least 0. ``start``, ``place``, ``sums`` and ``right`` are
    those of `_cross_moment`, which computes E[T_1 T_2] from ``list1``, the items of list 1, and ``discounts``. ``e1``,
    ``d1``, ``e2`` and ``d2`` are means and variances of the stop probabilities by rank, ``n1`` and ``n2`` the lengths.
    ``place`` maps an item minus ``start`` (the query's first item) to its rank in list 2, or −1. ``sums`` and ``right``
    are workspace.
    """
    mean1, variance1 = _absolute(e1, d1, discounts, head, n1)
    mean2, variance2 = _absolute(e2, d2, discounts, head, n2)
    cross = _cross_moment(list1, start, e1, d1, e2, discounts, head, n1, n2, place, sums, right)
    return mean1 - mean2, max(variance1 + variance2 - 2.0 * (cross - mean1 * mean2), 0.0)


@_jit
def _comparison(list1, list2, start, e1, d1, e2, d2, discounts, n1, n2, place, shifted, sums, right):
    """Compute mean and variance of the difference of two lists' cascade values.

    Shared ranks at the top and at the end are split off, so that they cause no cancellation: the top is a factor, the
    probability that a user passes it, and the end is an independent value, whose mean lowers the discounts between
    (``shifted``). ``e1``, ``d1``, ``e2`` and ``d2`` are means and variances of the stop probabilities by rank, ``n1``
    and ``n2`` the lengths of the lists. ``place`` maps an item minus ``start`` (the query's first item) to its rank in
    list 2, or −1. ``shifted``, ``sums`` and ``right`` are workspace.
    """
    head, tail, same = _agreement(list1, list2, start, n1, n2, place)
    reach = 1.0
    reach_variance = 0.0
    for i in range(head):
        f = 1.0 - e1[i]
        reach_variance = (f * f + d1[i]) * reach_variance + d1[i] * reach * reach
        reach *= f
    of_tail = 0.0
    if tail >= 0:
        after, after_variance = _absolute(e1, d1, discounts, tail, n1)
        n1 = n2 = tail
        if not same:
            shifted[:tail] = 1.0
            gap, spread = _difference(list1, start, e1, d1, e2, d2, shifted, head, n1, n2, place, sums, right)
            of_tail = after_variance * (spread + gap * gap)
            for i in range(tail):
                shifted[i] = discounts[i] - after
            discounts = shifted
    gap, spread = _difference(list1, start, e1, d1, e2, d2, discounts, head, n1, n2, place, sums, right)
    return reach * gap, (reach * reach + reach_variance) * (spread + of_tail) + reach_variance * gap * gap


@_jit
def cascade_moments(query_offsets, probs, stop_probs, discounts, offsets1, items1, offsets2, items2, mean, variance):
    """Fill the ``mean`` and ``variance`` (n_queries,) of a cascade measure, for one ranking or the difference of two.

    Sawade et al. (2013), eqs. (16)–(18) for ERR: users go down the list and stop at an item of grade y with probability
    ``stop_probs[y]``; the value is the discount of the rank at which they stop, from ``discounts`` (depth,). Query q
    has the items ``query_offsets[q]`` to ``query_offsets[q + 1] - 1``, with grade probabilities ``probs`` (n_items,
    n_grades), and ranks ``items1[offsets1[q]:offsets1[q + 1]]``, best first; ``items2`` is empty for one ranking.
    """
    longest = 0
    for q in range(query_offsets.size - 1):
        longest = max(longest, query_offsets[q + 1] - query_offsets[q])
    c = discounts.copy()
    used = np.zeros(longest, np.bool_)
    e, d = np.empty(longest), np.empty(longest)
    e1, d1, e2, d2 = np.empty(longest), np.empty(longest), np.empty(longest), np.empty(longest)
    place = np.full(longest, -1, np.int64)
    shifted, sums, right = np.empty(longest), np.empty(4 * longest + 2), np.empty(2 * longest + 2)
    for q in range(query_offsets.size - 1):
        start = query_offsets[q]
        list1 = items1[offsets1[q] : min(offsets1[q + 1], offsets1[q] + c.size)]
        list2 = items2[offsets2[q] : min(offsets2[q + 1], offsets2[q] + c.size)]
        for i in range(list1.size):
            used[list1[i] - start] = True
        for j in range(list2.size):
            used[list2[j] - start] = True
        _stop_moments(probs, stop_probs, start, used[: query_offsets[q + 1] - start], e, d)
        n1 = _gather(list1, start, e, d, e1, d1)
        if list2.size == 0:
            mean[q], variance[q] = _absolute(e1, d1, c, 0, n1)
            continue
        n2 = _gather(list2, start, e, d, e2, d2)
        for j in range(n2):
            place[list2[j] - start] = j
        mean[q], variance[q] = _comparison(list1, list2, start, e1, d1, e2, d2, c, n1, n2, place, shifted, sums, right)
        for j in range(n2):
            place[list2[j] - start] = -1
