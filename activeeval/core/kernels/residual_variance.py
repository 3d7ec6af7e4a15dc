"""Remaining variance of a query's value given the labels so far, and the point after which no label can matter.

Given a node u of the query factor grades are independent, so that labels simulated once for every node serve any
prefix: known labels replace simulated ones, and the nodes have their posterior weights. With D draws per node

    C_k = Σ_u ω⁽ᵏ⁾_u (1/D) Σ_d L_ud² − (Σ_u ω⁽ᵏ⁾_u (1/D) Σ_d L_ud)²

in O(draws) per label for additive numerators, times the length of the lists for others.

A value *stops* if no label can change it, for any grades to come: the numerator is fixed (all items at ranks
that count are known; in a cascade no user reaches the others), and there is no ideal, or the numerator is 0, or the
ideal is the same with all unknown labels at the lowest or at the highest grade. This does not depend on the draws.
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

_DRAWS = 256  # over all nodes; with 192 to 256, ρ has an error of a tenth
_FEWEST = 8
_PATHS = np.uint64(20261125)
_IMPOSSIBLE = 1e-300
_NOTHING = 1e-12  # a smaller difference of numerators is rounding error


@_jit
def _reaches_no_unknown(ranked, n, values, is_known):
    """Check whether no user of a cascade reaches an item of a list whose label is unknown.

    ``ranked`` has the place of the item at each of the first ``n`` ranks, an index in judging order, −1 for one that is
    not to be judged, at which nobody stops; ``values`` (n_places,) are stop probabilities, ``is_known`` (n_places,)
    tells which labels are known.
    """
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
def _reach_share(ranked, n, k, draws, omega, per_node, is_known):
    """Compute the expected share of users who reach place ``k`` (an item in judging order) in a list; −1 if not in it.

    Known labels give the stop probabilities of the items above, simulated labels of ``draws`` the others: ``per_node``
    draws for each quadrature node, of weight ``omega`` (n_nodes,), of the query factor (a random effect shared by a
    query's items).
    """
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
    """Compute the expected share of users who reach item ``k`` of the judging order, in the list where it is larger.

    1 if the measure is no cascade, ``k`` is beyond the last item, or no list contains the item. ``lengths`` are the
    numbers of ranks of both lists that count. ``draws`` has ``per_node`` simulated labels for each node of the query
    factor (a random effect of the query), of weight ``omega``; ``is_known`` (n_places,) tells which labels are known.
    """
    if measure.numerator != CASCADE or k >= is_known.size:
        return 1.0
    first = _reach_share(lists.ranked1, lengths[0], k, draws, omega, per_node, is_known)
    second = _reach_share(lists.ranked2, lengths[1], k, draws, omega, per_node, is_known)
    share = max(first, second)
    return share if share >= 0.0 else 1.0


@_jit
def _stops(measure, lists, lengths, draws, is_known):
    """Check whether no further label can change the query's value, for any grades.

    That is so if its numerator is fixed (all labels at ranks that count, or that users of a cascade reach, are known)
    and it is 0, or there is no ideal, or the ideal is the same with all unknown labels at the lowest or highest gain.
    ``lengths`` are the numbers of ranks of both lists that count; ``is_known`` (n_places,) tells which labels are
    known. The last draw of ``draws`` has the lowest grade for all unknown labels.
    """
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
        if not _reaches_no_unknown(lists.ranked1, lengths[0], values, is_known):
            return False
        if not _reaches_no_unknown(lists.ranked2, lengths[1], values, is_known):
            return False
    if measure.steps.size == 0:
        return True
    numerator = draws.numerators[lowest]
    if measure.numerator != ADDITIVE:
        arguments = (draws.values, lowest, lists.ranked1, lists.ranked2, lengths, measure.discounts)
        numerator = lists_value(measure.numerator, *arguments)
    if abs(numerator) <= _NOTHING:
        return True
    counts = (measure.steps, measure.cumulative, draws.levels, lowest)
    return ideal_value(*counts, 0) == ideal_value(*counts, n_unknown)


@_jit
def _learn(omega, nodes, item, y, prior):
    """Update the weights ``omega`` (n_nodes,) of a query's random effect by label ``y`` of an item (Bayes' rule).

    A label that the model excludes or does not know resets them to ``prior``. ``nodes`` (n_nodes, n_items, n_grades)
    are the grade probabilities at each value (quadrature node) of the effect.
    """
    total = 0.0
    for u in range(omega.size):
        omega[u] *= nodes[u, item, y] if y < nodes.shape[2] else 0.0
        total += omega[u]
    for u in range(omega.size):
        omega[u] = omega[u] / total if total > _IMPOSSIBLE else prior[u]


@_jit
def _path_label(model, item, word, weights, s, n):
    """Simulate the label of an item in set ``s`` of ``n`` sets of labels.

    All labels of a set belong to one value of the query's random effect, which has weights ``weights`` (n_nodes,).
    ``model.nodes`` (n_nodes, n_items, n_grades) are the grade probabilities at each value. ``word`` is the hash of the
    item's id, from which the random number comes.
    """
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
    """Reveal the labels of a query one by one; return the number of them after which no other can matter.

    ``left`` receives the variance of the query's value after 0, 1 … labels, ``shares`` the expected share of users who
    reach the next item. ``query_items`` are the items in judging order, ``labels`` their labels, −1 if an item cannot
    be judged; only the first ``wanted`` can be judged. If the labels do not decide, the result is the number of items
    + 1. ``lists`` are the query's rankings (`QueryLists`) and ``lengths`` their numbers of ranks that count, ``draws``
    (`LabelDraws`) its simulated labels, ``per_node`` for each value of its random effect, whose weights are ``prior``.
    ``nodes`` (n_nodes, n_items, n_grades) are grade probabilities, ``reaches`` is 1 where a grade has a level of gain.
    """
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
    """Fill the variance of each query's value that remains after each of its labels, in judging order.

    A place is the position of an item in its query's judging order.

    Parameters
    ----------
    measure, lists, model : MeasureTerms, Lists, Model
    query_offsets, offsets, items : arrays of int64
        Offsets of queries on the item axis; places of each query, and the item at each place.
    block : (int, int)
        First query, and last query plus 1.
    wanted : array of int64, shape (n_queries,)
        Number of places of each query that can be judged. They come first; later ones are known or irrelevant.
    depths : array of int64, shape (n_queries,)
        Number of labels of each query.
    grades : array of int64, shape (n_items,)
        The labels; −1 if an item cannot be judged.
    hashes : array of uint64 by place
        Hashes of the items' ids, from which random numbers are made.
    n_paths : array of int64, shape (n_queries,)
        Number of sets of labels, a power of two, to simulate from the model in place of ``grades``; empty for none.
    left : array, shape (n_rows, n_places + n_queries), of the block
        Out: variance after 0 … k labels of each query, from its first place's index plus its own index on, both counted
        from the block's first query; one row for each set of labels.
    shares : array like ``left``
        Out: expected share of users who reach the next place; 1 if not a cascade.
    stops : array of int64, shape (n_rows, n_queries), of the block
        Out: number of labels after which no other can matter; larger than any possible number if not observed.
    """
    widest = 1
    for q in range(block[0], block[1]):
        widest = max(widest, query_offsets[q + 1] - query_offsets[q])
    # per_node: simulated labels per node, a power of two, so that all nodes have about _DRAWS together
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
        # places after the wanted ones are not to be judged: their grades are known beforehand or do not matter
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
