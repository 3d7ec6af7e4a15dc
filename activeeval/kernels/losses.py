"""Losses of lists as functions of their items' scores, each with a (sub)gradient.

A list's items stand together, best grade first. Every kernel returns Σ_q weight_q · loss_q and adds its gradient
with respect to the scores to ``gradient``.

**Hinge of average precision** (Yue et al. 2007). R are the relevant items, N the others, a ranking z puts each of N
before some of R. With Ψ(z) the mean over R × N of ±(s_i − s_j), + where i stands before j, the loss is

    max_z  1 − AP(z) + Ψ(z) − Ψ(R before N),        Ψ(z) − Ψ(R before N) = −2 / (|R||N|) Σ_{j before i} (s_i − s_j).

For a given pattern of R and N the sum is largest with both in the order of their scores. Let the j-th best of N stand
before the relevant ones from the i_j-th on. Then the l-th relevant item has precision l / (l + #{j : i_j ≤ l}), and
putting j = 1, 2, … in one after the other takes l/(l + j − 1) − l/(l + j) from it: the loss is a sum over j of

    Σ_{l ≥ i_j}  [l/(l + j − 1) − l/(l + j)] / |R|  −  2 (s_l − s_j) / (|R||N|)

in which every j chooses i_j for itself. Each summand falls with j, so that the largest choices rise with j and are
a ranking.

**Permutations** (Plackett and Luce). P_s(π) = Π_j e^{s_π(j)} / Σ_{l ≥ j} e^{s_π(l)} picks the best first, then the best
of those left. What is left is a set, and each permutation goes through one set of each size, so that with Q(S) the
probability under the labels that S is left at some time

    −Σ_π P_y(π) log P_s(π)  =  Σ_S Q(S) log Σ_{i ∈ S} e^{s_i}  −  Σ_i s_i,

    Q(all) = 1,   Q(S ∖ i) gains Q(S) e^{y_i} / Σ_{l ∈ S} e^{y_l}.

Sets are numbers whose bits are items. log Σ_S e^s follows from the set without its lowest item, and the gradient goes
the same way back.

**First places of one permutation** (Xia et al. 2009): Σ_{j ≤ k} log Σ_{l ≥ j} e^{s_l} − s_j of a list in its order,
the sums of its ends built up from the last item, and their gradient handed down from the first.
"""

from __future__ import annotations

import math

import numpy as np

from activeeval.kernels.compiling import jit as _jit


@_jit
def ap_hinges(scores, starts, middles, stops, weights, gradient):
    """Return the weighted hinges of average precision; the items from starts to middles are the relevant ones.

    Parameters
    ----------
    scores : array of float64, shape (n_items,)
    starts, middles, stops : arrays of int64, shape (n_lists,)
        ``starts < middles < stops``; lists may share items.
    weights : array of float64, shape (n_lists,)
    gradient : array of float64, shape (n_items,)
        Out.
    """
    total = 0.0
    for q in range(starts.size):
        relevant = starts[q] + np.argsort(-scores[starts[q] : middles[q]])
        others = middles[q] + np.argsort(-scores[middles[q] : stops[q]])
        n_relevant = relevant.size
        step = 2.0 / (n_relevant * others.size)
        chosen = np.zeros(n_relevant, np.int64)  # how many of the others come in just before each relevant item
        loss = 0.0
        for j in range(1, others.size + 1):
            below = scores[others[j - 1]]
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
            gradient[others[j - 1]] += weights[q] * step * (n_relevant - first)
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
    """Return the weighted −Σ_i P_y(i) log P_s(i), P(i) = e^{s_i} / Σ_l e^{s_l} the probability to be first."""
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
    """Fill ``out`` with Q(S), the probability under the labels that S is what is left at some time.

    Parameters
    ----------
    labels : array of float64, shape (n,)
    out : array of float64, shape (2^n,)
        Set S is the number whose bits are its items.
    """
    n = labels.size
    sums = np.empty(1 << n)
    _subset_log_sums(labels, sums)
    out[:] = 0.0
    out[-1] = 1.0
    for s in range((1 << n) - 1, 0, -1):
        for i in range(n):
            if s >> i & 1:
                out[s ^ (1 << i)] += out[s] * math.exp(labels[i] - sums[s])


@_jit
def permutation_cross_entropies(scores, starts, stops, weights, probs, probs_starts, gradient):
    """Return the weighted −Σ_π P_y(π) log P_s(π) over the permutations of each list.

    Parameters
    ----------
    probs : array of float64
        Q(S) of `subset_probs`, one table after the other.
    probs_starts : array of int64, shape (n_lists,)
        Where a list's table begins.
    """
    total = 0.0
    longest = 0
    for q in range(starts.size):
        longest = max(longest, stops[q] - starts[q])
    sums = np.empty(1 << longest)
    pulls = np.empty(1 << longest)
    for q in range(starts.size):
        own = scores[starts[q] : stops[q]]
        n = own.size
        _subset_log_sums(own, sums)
        loss = -own.sum()
        for s in range(1, 1 << n):
            pulls[s] = probs[probs_starts[q] + s]
            loss += pulls[s] * sums[s]
        gradient[starts[q] : stops[q]] -= weights[q]
        for s in range((1 << n) - 1, 0, -1):
            i = _lowest(s)
            rest = s & (s - 1)
            share = math.exp(own[i] - sums[s])
            gradient[starts[q] + i] += weights[q] * pulls[s] * share
            if rest:
                pulls[rest] += pulls[s] * math.exp(sums[rest] - sums[s])
        total += weights[q] * loss
    return total


@_jit
def first_places(scores, starts, stops, depths, weights, gradient):
    """Return the weighted negative log-likelihood that the first ``depths`` items of each list come in their order."""
    total = 0.0
    longest = 0
    for q in range(starts.size):
        longest = max(longest, stops[q] - starts[q])
    sums = np.empty(longest)
    for q in range(starts.size):
        own = scores[starts[q] : stops[q]]
        n = own.size
        sums[n - 1] = own[n - 1]
        for j in range(n - 2, -1, -1):
            sums[j] = _log_add(own[j], sums[j + 1])
        loss = 0.0
        pull = 0.0
        for j in range(n):
            if j:
                pull *= math.exp(sums[j] - sums[j - 1])
            if j < depths[q]:
                pull += 1.0
                loss += sums[j] - own[j]
                gradient[starts[q] + j] -= weights[q]
            gradient[starts[q] + j] += weights[q] * pull * math.exp(own[j] - sums[j])
        total += weights[q] * loss
    return total


@_jit
def tied_ndcgs(scores, gains, starts, stops, out):
    """Fill ``out`` with the nDCG of each list in the order of the scores, ties worth their mean over all orders.

    Parameters
    ----------
    gains : array of float64, shape (n_items,)
        Falling within a list, not all 0.
    out : array of float64, shape (n_lists,)
    """
    for q in range(starts.size):
        own = scores[starts[q] : stops[q]]
        order = np.argsort(-own)
        n = own.size
        value = 0.0
        ideal = 0.0
        i = 0
        while i < n:
            gain = 0.0
            discount = 0.0
            first = i
            while i < n and own[order[i]] == own[order[first]]:
                gain += gains[starts[q] + order[i]]
                discount += 1.0 / math.log2(i + 2.0)
                ideal += gains[starts[q] + i] / math.log2(i + 2.0)
                i += 1
            value += gain * discount / (i - first)
        out[q] = value / ideal


@_jit
def _log_add(a, b):
    """Return log(e^a + e^b)."""
    return max(a, b) + math.log1p(math.exp(-abs(a - b)))


@_jit
def _log_sum(values):
    top = values.max()
    return top + math.log(np.exp(values - top).sum())


@_jit
def _lowest(s):
    """Return the lowest bit of a set that is not empty."""
    i = 0
    while not s >> i & 1:
        i += 1
    return i


@_jit
def _subset_log_sums(values, out):
    """Fill ``out[S]`` with log Σ_{i ∈ S} e^{values_i}; the empty set's place is left alone."""
    for s in range(1, 1 << values.size):
        rest = s & (s - 1)
        own = values[_lowest(s)]
        out[s] = _log_add(own, out[rest]) if rest else own
