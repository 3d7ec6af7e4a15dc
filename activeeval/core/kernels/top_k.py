"""Number of comparisons of the heap of a top-k labelling, along a chain of replacements.

The heap has slots 0 … k−1; slot s holds the item of rank r_s, 0 the worst, so the root has rank 0. A new item that is
better than the root takes its slot, at a uniform rank r among the k: every other item of a rank up to r moves down by
one. Comparisons are counted during sifting: of two children, then of the worse child with its parent.

If implied comparisons are skipped, B[s, t] is True if slot s is known to be better than t. An answer
"s better than t" adds all pairs of a slot at least as good as s and one at most as good as t. The knowledge about the
root's slot is removed with its item: a path between two items of the heap never goes through a removed one, which is
worse than all.
"""

from __future__ import annotations

from activeeval.core.kernels.compiling import jit as _jit


@_jit
def _compare(s, t, rank, transitive, known):
    """Count a comparison of slots s and t of the heap: 1, or 0 if earlier answers imply it.

    ``rank`` (k,) is the rank of each slot's item, 0 the worst. If ``transitive``, ``known[s, t]`` is True if s is known
    to be better than t; it is extended by all that the answer implies.
    """
    if not transitive:
        return 1
    if known[s, t] or known[t, s]:
        return 0
    best, worst = (s, t) if rank[s] > rank[t] else (t, s)
    for u in range(rank.size):
        if u == best or known[u, best]:
            known[u, worst] = True
            for v in range(rank.size):
                if known[worst, v]:
                    known[u, v] = True
    return 1


@_jit
def _sift(heap, rank, place, size, transitive, known):
    """Sift the slot at a ``place`` of the heap down to its order, the worst item at the top; return the comparisons.

    ``heap`` (k,) holds slots, of which the first ``size`` belong to the heap; ``rank`` (k,) is the rank of each slot's
    item, 0 the worst. If ``transitive``, comparisons implied by those in ``known`` (k, k) are not counted.
    """
    n = 0
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size:
            n += _compare(heap[child], heap[child + 1], rank, transitive, known)
            if rank[heap[child]] > rank[heap[child + 1]]:
                child += 1
        n += _compare(heap[child], heap[place], rank, transitive, known)
        if rank[heap[child]] > rank[heap[place]]:
            break
        heap[place], heap[child] = heap[child], heap[place]
        place = child
    return n


@_jit
def _popped(heap, rank, transitive, known):
    """Count the comparisons to sort a heap by taking out its worst item again and again; the heap is changed.

    ``heap`` (k,) holds slots, ``rank`` (k,) the rank of each slot's item, 0 the worst. If ``transitive``, comparisons
    implied by those in ``known`` (k, k) are not counted.
    """
    n = 0
    for size in range(heap.size - 1, 0, -1):
        heap[0], heap[size] = heap[size], heap[0]
        n += _sift(heap, rank, 0, size, transitive, known)
    return n


@_jit
def chain_comparisons(orders, ranks, transitive, counts):
    """Count the comparisons of a top-k labelling by a heap, along n chains of replacements.

    ``counts[c, j]`` is the number to build chain c's heap of the first k items, to replace its worst item j times by a
    better one, and to sort it at the end.

    Parameters
    ----------
    orders : array of int, shape (n, k)
        The ranks of the first k items in order of arrival.
    ranks : array of int, shape (n, J)
        The rank of each replacing item among the k then in the heap.
    transitive : bool
        If True, comparisons implied by earlier answers are not counted.
    counts : array of int, shape (n, J + 1)
        Out.
    """
    n_chains, k = orders.shape
    for c in range(n_chains):
        rank = orders[c].copy()
        heap = rank.copy()
        for s in range(k):
            heap[s] = s
        # all False: (k, k) if transitive, else (k, 1), which is not read
        known = rank.repeat(k if transitive else 1).reshape(k, -1) < 0
        n = 0
        for place in range(k // 2 - 1, -1, -1):
            n += _sift(heap, rank, place, k, transitive, known)
        counts[c, 0] = n + _popped(heap.copy(), rank, transitive, known.copy())
        for j in range(ranks.shape[1]):
            root = heap[0]
            for s in range(k):
                if s != root and rank[s] <= ranks[c, j]:
                    rank[s] -= 1
            rank[root] = ranks[c, j]
            if transitive:
                known[root, :] = False
                known[:, root] = False
            n += _sift(heap, rank, 0, k, transitive, known)
            counts[c, j + 1] = n + _popped(heap.copy(), rank, transitive, known.copy())
