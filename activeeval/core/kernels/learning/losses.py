"""Losses of pairs and lists as functions of their items' scores, each with a (sub)gradient.

The items of a list are adjacent, best grade first. Every kernel returns a weighted sum of losses and adds its gradient
with respect to the scores to ``gradient``.

**Pairs.** The margin m = g (s_u − s_v) of a preferred item u and another one v has the loss max(0, 1 − m),
log(1 + e^{−m}), (1 − m)² or e^{−m}. For the last, the logarithm of the sum is returned: it has the same minimizers, is
finite for margins of any size, and its slopes −w_p e^{−m_p} / Σ_p w_p e^{−m_p} are the pair weights of boosting.

**Hinge of average precision** (Yue et al. 2007). R are the relevant items, N the others; a ranking z puts each of N
before some of R. With Ψ(z) the mean over R × N of ±(s_i − s_j), + if i is before j, the loss is

    max_z  1 − AP(z) + Ψ(z) − Ψ(R before N),        Ψ(z) − Ψ(R before N) = −2 / (|R||N|) Σ_{j before i} (s_i − s_j).

For a given pattern of R and N the sum is largest with both in the order of their scores. Let the j-th best of N be
before the relevant ones from the i_j-th on. Then the l-th relevant item has precision l / (l + #{j : i_j ≤ l}), and
inserting j = 1, 2, … one after the other reduces it by l/(l + j − 1) − l/(l + j): the loss is a sum over j of

    Σ_{l ≥ i_j}  [l/(l + j − 1) − l/(l + j)] / |R|  −  2 (s_l − s_j) / (|R||N|)

in which each i_j can be chosen separately. Each summand decreases with j, so that the best choices increase with j and
define a ranking.

**Permutations** (Plackett and Luce). P_s(π) = Π_j e^{s_π(j)} / Σ_{l ≥ j} e^{s_π(l)} draws the best first, then the best
of the remaining items. The remaining items are a set, and each permutation passes through one set of each size, so that
with Q(S) the probability under the labels that S is the remaining set at some time

    −Σ_π P_y(π) log P_s(π)  =  Σ_S Q(S) log Σ_{i ∈ S} e^{s_i}  −  Σ_i s_i,

    Q(all) = 1,   Q(S ∖ i) gains Q(S) e^{y_i} / Σ_{l ∈ S} e^{y_l}.

Sets are numbers whose bits are items. log Σ_S e^s follows from the set without its lowest item, and the gradient is
computed in the reverse order.

**First places of one permutation** (Xia et al. 2009): Σ_{j ≤ k} log Σ_{l ≥ j} e^{s_l} − s_j of a list in its order,
with the sums accumulated from the last item, and the gradient from the first.
"""

from __future__ import annotations

import math

import numpy as np

from activeeval.core.kernels.compiling import jit as _jit

HINGE, LOGISTIC, EXPONENTIAL, SQUARED = 0, 1, 2, 3
# for fewer items, insertion sort is faster than a call of argsort
_FEW = 24


@_jit
def margin_loss(margin, kind):
    """Compute the loss of one margin, and its decrease per unit of margin; return ``(loss, slope)``.

    ``kind`` is `HINGE`, `LOGISTIC` or `SQUARED`, not `EXPONENTIAL`.
    """
    if kind == HINGE:
        return max(0.0, 1.0 - margin), 1.0 if margin < 1.0 else 0.0
    if kind == SQUARED:
        return (1.0 - margin) * (1.0 - margin), 2.0 * (1.0 - margin)
    small = math.exp(-abs(margin))
    return max(0.0, -margin) + math.log1p(small), (small if margin > 0.0 else 1.0) / (1.0 + small)


@_jit
def pair_losses(scores, preferred, rejected, gaps, weights, kind, gradient):
    """Compute the weighted loss of pairs of items, and add its gradient.

    A pair has the margin m = g (s_u − s_v), with the scores s of its preferred item u and its rejected item v. The loss
    is max(0, 1 − m), log(1 + e^{−m}) or (1 − m)², and for `EXPONENTIAL` log Σ w e^{−m} of all pairs.

    Parameters
    ----------
    scores : array of float64, shape (n_items,)
    preferred, rejected : arrays of int64, shape (n_pairs,)
        Items u and v.
    gaps, weights : arrays of float64, shape (n_pairs,)
        Factor g of each margin, and weight w of each pair.
    kind : int
        `HINGE`, `LOGISTIC`, `EXPONENTIAL` or `SQUARED`.
    gradient : array of float64, shape (n_items,)
        The gradient with respect to the scores is added to it.
    """
    least = math.inf
    scale = 1.0
    total = 0.0
    if kind == EXPONENTIAL:
        for p in range(preferred.size):
            least = min(least, gaps[p] * (scores[preferred[p]] - scores[rejected[p]]))
        for p in range(preferred.size):
            total += weights[p] * math.exp(least - gaps[p] * (scores[preferred[p]] - scores[rejected[p]]))
        scale = 1.0 / total
        total = math.log(total) - least
    for p in range(preferred.size):
        margin = gaps[p] * (scores[preferred[p]] - scores[rejected[p]])
        if kind == EXPONENTIAL:
            slope = math.exp(least - margin) * scale
        else:
            loss, slope = margin_loss(margin, kind)
            total += weights[p] * loss
        pull = weights[p] * gaps[p] * slope
        gradient[preferred[p]] -= pull
        gradient[rejected[p]] += pull
    return total


@_jit
def ap_hinges(scores, starts, middles, stops, weights, gradient):
    """Compute the weighted hinges of average precision (Yue et al. 2007) of several lists, and add their gradient.

    A hinge is the maximum over rankings of 1 − AP − 2 / (n m) Σ (s_i − s_j), over the pairs of a relevant item i (of n)
    that stands behind an irrelevant item j (of m), with scores s. The best place of each j is found separately.

    Parameters
    ----------
    scores : array of float64, shape (n_items,)
    starts, middles, stops : arrays of int64, shape (n_lists,)
        List q has the relevant items ``starts[q] … middles[q] − 1`` and the irrelevant ones ``middles[q] … stops[q] −
        1``, at least one of each; lists can share items.
    weights : array of float64, shape (n_lists,)
    gradient : array of float64, shape (n_items,)
        The gradient with respect to the scores is added to it.
    """
    total = 0.0
    for q in range(starts.size):
        relevant = _by_score(scores, starts[q], middles[q])
        irrelevant = _by_score(scores, middles[q], stops[q])
        n_relevant = relevant.size
        step = 2.0 / (n_relevant * irrelevant.size)
        chosen = np.zeros(n_relevant, np.int64)  # number of irrelevant items inserted just before each relevant one
        loss = 0.0
        for j in range(1, irrelevant.size + 1):
            below = scores[irrelevant[j - 1]]
            value = 0.0
            best = 0.0
            first = n_relevant
            for i in range(n_relevant - 1, -1, -1):
                place = i + 1.0
                lost = (place / (place + j - 1) - place / (place + j)) / n_relevant
                value += lost - step * (scores[relevant[i]] - below)
                if value > best:
                    best = value
                    first = i
            loss += best
            gradient[irrelevant[j - 1]] += weights[q] * step * (n_relevant - first)
            if first < n_relevant:
                chosen[first] += 1
        before = 0
        for i in range(n_relevant):
            before += chosen[i]
            gradient[relevant[i]] -= weights[q] * step * before
        total += weights[q] * loss
    return total


@_jit
def top_one_cross_entropies(scores, labels, starts, stops, weights, gradient):
    """Compute the weighted cross entropies −Σ_i P_y(i) log P_s(i) of several lists, and add their gradient.

    P(i) = e^{s_i} / Σ_l e^{s_l} is the probability of item i to be first, by ``labels`` y or ``scores`` s (n_items,).
    List q has the items ``starts[q] … stops[q] − 1`` and the weight ``weights[q]``; ``gradient`` (n_items,) is that
    with respect to the scores.
    """
    total = 0.0
    for q in range(starts.size):
        log_sum = _log_sum(scores[starts[q] : stops[q]])
        label_sum = _log_sum(labels[starts[q] : stops[q]])
        for i in range(starts[q], stops[q]):
            target = math.exp(labels[i] - label_sum)
            total += weights[q] * target * (log_sum - scores[i])
            gradient[i] += weights[q] * (math.exp(scores[i] - log_sum) - target)
    return total


@_jit
def subset_probs(labels, out):
    """Fill ``out`` (2^n,) with Q(S), the probability that the items of S remain at some time of a Plackett-Luce draw.

    The draw takes one item after another, item i of the remaining ones with probability proportional to e^{labels_i}
    (n,). Set S is the number whose bits are its items.
    """
    n = labels.size
    sums = np.empty(1 << n)
    _subset_log_sums(labels, sums, np.empty(1 << n))
    out[:] = 0.0
    out[-1] = 1.0
    for s in range((1 << n) - 1, 0, -1):
        for i in range(n):
            if s >> i & 1:
                out[s ^ (1 << i)] += out[s] * math.exp(labels[i] - sums[s])


@_jit
def permutation_cross_entropies(scores, starts, stops, weights, probs, probs_starts, gradient):
    """Compute the weighted −Σ_π P_y(π) log P_s(π) over the permutations π of each list, and add its gradient.

    P_y and P_s are the Plackett-Luce distributions by labels and by ``scores`` (n_items,). List q has the items
    ``starts[q] … stops[q] − 1`` and the weight ``weights[q]``; ``gradient`` (n_items,) is that with respect to the
    scores. ``probs`` has the tables Q(S) of `subset_probs` for the labels, that of list q from ``probs_starts[q]`` on.
    """
    total = 0.0
    longest = 0
    for q in range(starts.size):
        longest = max(longest, stops[q] - starts[q])
    sums = np.empty(1 << longest)
    shares = np.empty(1 << longest)
    pulls = np.empty(1 << longest)
    for q in range(starts.size):
        values = scores[starts[q] : stops[q]]
        n = values.size
        _subset_log_sums(values, sums, shares)
        loss = -values.sum()
        # shares: of the lowest item in Σ e^values of a set; pulls: Q(S), plus what larger sets pass on to S
        pulls[0] = 0.0
        for s in range(1, 1 << n):
            pulls[s] = probs[probs_starts[q] + s]
            loss += pulls[s] * sums[s]
        gradient[starts[q] : stops[q]] -= weights[q]
        for s in range((1 << n) - 1, 0, -1):
            gradient[starts[q] + _lowest(s)] += weights[q] * pulls[s] * shares[s]
            pulls[s & (s - 1)] += pulls[s] * (1.0 - shares[s])
        total += weights[q] * loss
    return total


@_jit
def first_places(scores, starts, stops, depths, weights, gradient):
    """Compute the weighted negative Plackett-Luce log-likelihood of the first items of each list; add its gradient.

    List q has the items ``starts[q] … stops[q] − 1``, best first, and its first ``depths[q]`` count with
    ``weights[q]``. ``gradient`` (n_items,) is that with respect to the ``scores`` (n_items,).
    """
    total = 0.0
    longest = 0
    for q in range(starts.size):
        longest = max(longest, stops[q] - starts[q])
    sums = np.empty(longest)
    for q in range(starts.size):
        values = scores[starts[q] : stops[q]]
        n = values.size
        sums[n - 1] = values[n - 1]
        for j in range(n - 2, -1, -1):
            sums[j] = _log_add(values[j], sums[j + 1])
        loss = 0.0
        pull = 0.0
        for j in range(n):
            if j:
                pull *= math.exp(sums[j] - sums[j - 1])
            if j < depths[q]:
                pull += 1.0
                loss += sums[j] - values[j]
                gradient[starts[q] + j] -= weights[q]
            gradient[starts[q] + j] += weights[q] * pull * math.exp(values[j] - sums[j])
        total += weights[q] * loss
    return total


@_jit
def tied_ndcgs(scores, gains, starts, stops, out):
    """Fill ``out`` (n_lists,) with the nDCG of each list sorted by score; ties get the mean over all orders.

    List q has the items ``starts[q] … stops[q] − 1``; their ``gains`` decrease and are not all 0.
    """
    for q in range(starts.size):
        order = _by_score(scores, starts[q], stops[q])
        n = order.size
        value = 0.0
        ideal = 0.0
        i = 0
        while i < n:
            gain = 0.0
            discount = 0.0
            first = i
            while i < n and scores[order[i]] == scores[order[first]]:
                gain += gains[order[i]]
                discount += 1.0 / math.log2(i + 2.0)
                ideal += gains[starts[q] + i] / math.log2(i + 2.0)
                i += 1
            value += gain * discount / (i - first)
        out[q] = value / ideal


@_jit
def tied_precisions(scores, relevances, starts, stops, out):
    """Fill ``out`` (n_lists,) with the average precision of each list sorted by score; ties get the mean over orders.

    Consider n tied items with r relevant ones, after a place with R relevant items up to it. The item at i = 1 … n is
    relevant with probability r/n; then (i − 1)(r − 1)/(n − 1) of the earlier ones in the tie are relevant on average.
    So the tie adds (r/n) Σ_i (R + 1 + (i − 1)(r − 1)/(n − 1)) / (place + i).

    List q has the items ``starts[q] … stops[q] − 1``, with ``relevances`` 0 or 1, not all 0.
    """
    for q in range(starts.size):
        order = _by_score(scores, starts[q], stops[q])
        n = order.size
        value = 0.0
        before = 0.0
        i = 0
        while i < n:
            first = i
            relevant = 0.0
            while i < n and scores[order[i]] == scores[order[first]]:
                relevant += relevances[order[i]]
                i += 1
            if relevant > 0.0:
                size = i - first
                a_place = (relevant - 1.0) / (size - 1.0) if size > 1 else 0.0
                for j in range(size):
                    value += relevant / size * (before + 1.0 + j * a_place) / (first + j + 1.0)
            before += relevant
        out[q] = value / before


@_jit
def _by_score(scores, start, stop):
    """Sort the items ``start`` to ``stop − 1`` by score, highest first; return their indices."""
    if stop - start > _FEW:
        return start + np.argsort(-scores[start:stop])
    items = np.arange(start, stop)
    for i in range(1, items.size):
        item = items[i]
        j = i
        while j and scores[items[j - 1]] < scores[item]:
            items[j] = items[j - 1]
            j -= 1
        items[j] = item
    return items


@_jit
def _log_add(a, b):
    """Compute log(e^a + e^b) without overflow."""
    return max(a, b) + math.log1p(math.exp(-abs(a - b)))


@_jit
def _log_sum(values):
    """Compute log Σ e^values without overflow."""
    top = values.max()
    return top + math.log(np.exp(values - top).sum())


@_jit
def _lowest(s):
    """Find the lowest item (bit number) of a set ``s`` that is stored as the bits of a whole number and not empty."""
    i = 0
    while not s >> i & 1:
        i += 1
    return i


@_jit
def _subset_log_sums(values, sums, shares):
    """Fill ``sums[S]`` with log Σ_{i ∈ S} e^{values_i} for every set S, and ``shares[S]`` with its lowest item's share.

    A set is the number whose bits are its items; both arrays have 2^n entries, of which that of the empty set is not
    set.
    """
    for s in range(1, 1 << values.size):
        rest = s & (s - 1)
        value = values[_lowest(s)]
        sums[s] = value
        shares[s] = 1.0
        if rest:
            ahead = value - sums[rest]
            small = math.exp(-abs(ahead))
            sums[s] += max(0.0, -ahead) + math.log1p(small)
            shares[s] = (1.0 if ahead > 0.0 else small) / (1.0 + small)
