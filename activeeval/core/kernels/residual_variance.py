"""What a query's labels leave open: the variance of its value given those seen, and from where on no label can matter.

Given a node u of the query factor grades are independent, so that labels drawn once for every node serve any prefix:
labels that are seen take the places of drawn ones, and the nodes weigh as the seen ones have it. With D draws a node

    C_k = Σ_u ω⁽ᵏ⁾_u (1/D) Σ_d L_ud² − (Σ_u ω⁽ᵏ⁾_u (1/D) Σ_d L_ud)²

at O(draws) a label for additive numerators, times the length of the lists else.

A value *stops* where no label can change it, whatever grade is still to come: the numerator cannot move (no item whose
rank counts is unknown; in a cascade nobody comes so far), and there is no ideal, the numerator is 0, or the ideal is
the same were all the rest of the lowest or of the highest grade. No draw has a part in that.
"""

from __future__ import annotations

import numpy as np

from activeeval.core.kernels.compiling import jit as _jit
from activeeval.core.kernels.label_draws import (
    LabelDraws,
    draw_labels,
    drawn_variance,
    grade_at,
    ideal_value,
    lists_of,
    lists_value,
    reveal_label,
    stratified,
)
from activeeval.core.kernels.sequential_values import ADDITIVE, CASCADE

_DRAWS = 256  # of all nodes together; 192 to 256 leave ρ an error of a tenth
_FEWEST = 8
_PATHS = np.uint64(20261125)
_IMPOSSIBLE = 1e-300
_NOTHING = 1e-12  # of a difference of numerators that is but rounding


@_jit
def _nobody_comes(ranked, n, values, is_known):
    """Return whether nobody comes to an item of a list whose label is not known."""
    stays = 1.0
    for i in range(n):
        k = ranked[i]
        if k < 0:
            continue
        if not is_known[k]:
            return False
        stays *= 1.0 - values[k]
        if stays == 0.0:
            return True
    return True


@_jit
def _comers(ranked, n, k, draws, omega, per_node, is_known):
    """Return the share of users who are expected to come to a place along a list; −1 where it is not in the list."""
    stay, rank = 1.0, -1
    for i in range(n):
        if ranked[i] == k:
            rank = i
            break
    if rank < 0:
        return -1.0
    for i in range(rank):
        place = ranked[i]
        if place < 0:
            continue
        stop = 0.0
        if is_known[place]:
            stop = draws.values[place, 0]
        else:
            for d in range(draws.numerators.size - 1):
                stop += omega[d // per_node] / per_node * draws.values[place, d]
        stay *= 1.0 - stop
    return max(stay, 0.0)


@_jit
def _share(measure, lists, lengths, k, draws, omega, per_node, is_known):
    """Return the share of users who are expected to come to a place, by either list; 1 where all do."""
    if measure.numerator != CASCADE or k >= is_known.size:
        return 1.0
    first = _comers(lists.ranked1, lengths[0], k, draws, omega, per_node, is_known)
    second = _comers(lists.ranked2, lengths[1], k, draws, omega, per_node, is_known)
    share = max(first, second)
    return share if share >= 0.0 else 1.0


@_jit
def _stops(measure, lists, lengths, draws, is_known):
    """Return whether no label can change the value any more."""
    lowest, n_unknown = draws.numerators.size - 1, 0
    for k in range(is_known.size):
        n_unknown += not is_known[k]
        if measure.numerator == ADDITIVE:
            if lists.contrast[k] != 0.0 and not is_known[k]:
                return False
        elif measure.numerator != CASCADE and lists.counts[k] and not is_known[k]:
            return False
    if measure.numerator == CASCADE:
        values = draws.values[:, lowest]
        if not _nobody_comes(lists.ranked1, lengths[0], values, is_known):
            return False
        if not _nobody_comes(lists.ranked2, lengths[1], values, is_known):
            return False
    if measure.steps.size == 0:
        return True
    numerator = draws.numerators[lowest]
    if measure.numerator != ADDITIVE:
        asked = (draws.values, lowest, lists.ranked1, lists.ranked2, lengths, measure.discounts)
        numerator = lists_value(measure.numerator, *asked)
    if abs(numerator) <= _NOTHING:
        return True
    counts = (measure.steps, measure.cumulative, draws.levels, lowest)
    return ideal_value(*counts, 0) == ideal_value(*counts, n_unknown)


@_jit
def _learn(omega, nodes, item, y, prior):
    """Weigh the nodes by a label; one that the model excludes, or does not know, teaches nothing."""
    total = 0.0
    for u in range(omega.size):
        omega[u] *= nodes[u, item, y] if y < nodes.shape[2] else 0.0
        total += omega[u]
    for u in range(omega.size):
        omega[u] = omega[u] / total if total > _IMPOSSIBLE else prior[u]


@_jit
def _path_label(model, item, word, weights, s, n):
    """Return the label of an item in the ``s``-th of ``n`` sets that the model draws; a set belongs to one node."""
    at, node = (s + 0.5) / n, 0
    for u in range(weights.size):
        if weights[u] > 0.0:
            node = u
            if at < weights[u]:
                break
        at -= weights[u]
    return grade_at(model.nodes[node, item], stratified(_PATHS, word, s, n))


@_jit
def _follow(measure, reaches, nodes, prior, lists, lengths, draws, query_items, labels, wanted, per_node, left, shares):
    """Reveal labels one by one and fill what each leaves open; return after how many no other can matter."""
    n, n_rows, omega = query_items.size, draws.numerators.size, prior.copy()
    is_known = np.zeros(n, np.bool_)
    is_known[wanted:] = True
    left[0] = drawn_variance(measure, lists, lengths, draws, omega, per_node)
    for k in range(labels.size):
        y = labels[k]
        if y >= 0:
            is_known[k] = True
            reveal_label(measure, reaches, lists, draws, n_rows, k, y)
            _learn(omega, nodes, query_items[k], y, prior)
        left[k + 1] = drawn_variance(measure, lists, lengths, draws, omega, per_node)
        shares[k + 1] = _share(measure, lists, lengths, k + 1, draws, omega, per_node, is_known)
        if _stops(measure, lists, lengths, draws, is_known):
            left[k + 1 : wanted + 1] = 0.0
            return k + 1
    return n + 1


@_jit
def leftover(
    measure,
    lists,
    model,
    query_offsets,
    offsets,
    items,
    block,
    wanted,
    depths,
    grades,
    hashes,
    n_paths,
    left,
    shares,
    stops,
):
    """Walk the places of some queries, and fill what is left open after each label.

    Parameters
    ----------
    measure, lists, model, query_offsets, offsets, items, block
        As in `activeeval.core.kernels.sequential_values.reveal`.
    wanted : array of int64, shape (n_queries,)
        How many places of each query may be judged; they come first, what stands behind is known or does not matter.
    depths : array of int64, shape (n_queries,)
        How many labels of each query are there.
    grades : array of int64, shape (n_items,)
        The labels; −1 where an item cannot be judged.
    hashes : array of uint64 by place
    n_paths : array of int64, shape (n_queries,)
        Of so many sets of labels, a power of two, that the model draws in place of ``grades``; empty where none is.
    left : array, shape (n_rows, n_places + n_queries), of the block
        Out: C_0 … C_k of each query, from its place's number plus its own on; a row for each set.
    shares : array like ``left``
        Out: which share of users is expected to come to the next place; 1 where not a cascade.
    stops : array of int64, shape (n_rows, n_queries), of the block
        Out: after how many labels no other can matter; more than there may be where that is not seen.
    """
    widest = 1
    for q in range(block[0], block[1]):
        widest = max(widest, query_offsets[q + 1] - query_offsets[q])
    n_nodes, per_node = model.nodes.shape[0], _FEWEST
    while 2 * per_node * n_nodes <= _DRAWS:
        per_node *= 2
    n_rows, n_levels = n_nodes * per_node + 1, measure.steps.size
    place, reaches = np.full(widest, -1, np.int64), measure.reaches.astype(np.int64)
    for q in range(block[0], block[1]):
        if wanted[q] == 0:
            continue
        start, base, prior = query_offsets[q], offsets[q], model.weights[q]
        n, first = offsets[q + 1] - base, base + q - offsets[block[0]] - block[0]
        query_items, words = items[base : base + n], hashes[base : base + n]
        at, lengths = lists_of(lists, q, query_items, place, start, measure.discounts)
        drawn = LabelDraws(
            np.empty((n, n_rows)),
            np.empty((n, n_rows), np.int32),
            np.empty(n_rows),
            np.empty((n_rows, n_levels), np.int64),
        )
        draw_labels(measure, reaches, model, at, drawn, query_items, words, per_node)
        for k in range(wanted[q], n):
            if grades[query_items[k]] >= 0:
                reveal_label(measure, reaches, at, drawn, n_rows, k, grades[query_items[k]])
        fresh = LabelDraws(drawn.values.copy(), drawn.grades.copy(), drawn.numerators.copy(), drawn.levels.copy())
        n_sets, n_steps = (n_paths[q], wanted[q]) if n_paths.size else (1, depths[q])
        labels = np.empty(n_steps, np.int64)
        for s in range(n_sets):
            drawn.values[:], drawn.grades[:] = fresh.values, fresh.grades
            drawn.numerators[:], drawn.levels[:] = fresh.numerators, fresh.levels
            for k in range(n_steps):
                labels[k] = grades[query_items[k]]
                if n_paths.size:
                    labels[k] = _path_label(model, query_items[k], words[k], prior, s, n_sets)
            rows = left[s, first : first + n + 1], shares[s, first : first + n + 1]
            stops[s, q - block[0]] = _follow(
                measure,
                reaches,
                model.nodes,
                prior,
                at,
                lengths,
                drawn,
                query_items,
                labels,
                wanted[q],
                per_node,
                *rows,
            )
