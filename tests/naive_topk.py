"""Obvious forms of what a top-k labelling does: a heap of nested tuples that asks a function, and plain closure."""

from itertools import permutations


def asked_by_a_heap(arrival, k, is_better):
    """Return the top k and every pair that Algorithm 1 compares, in order; the heap is a dict from path to item."""
    asked = []

    def better(a, b):
        asked.append((a, b))
        return is_better(a, b)

    def sink(heap, path):
        children = [child for child in (path + "l", path + "r") if child in heap]
        if not children:
            return
        least = children[0]
        if len(children) == 2 and better(heap[children[0]], heap[children[1]]):
            least = children[1]
        if not better(heap[least], heap[path]):
            heap[path], heap[least] = heap[least], heap[path]
            sink(heap, least)

    paths = [""]
    while len(paths) < k:
        paths += [path + side for path in paths if len(path) == len(paths[-1]) for side in "lr"]
    paths = paths[:k]
    heap = dict(zip(paths, arrival, strict=False))
    for path in reversed(paths):
        sink(heap, path)
    for item in arrival[k:]:
        if better(item, heap[""]):
            heap[""] = item
            sink(heap, "")
    worst_first = []
    for path in reversed(paths):
        worst_first.append(heap[""])
        heap[""] = heap[path]
        del heap[path]
        if path:
            sink(heap, "")
    return worst_first[::-1], asked


def closure(pairs):
    """Return every (better, worse) that follows from those that are given."""
    found = set(pairs)
    while True:
        more = {(a, d) for a, b in found for c, d in found if b == c} - found
        if not more:
            return found
        found |= more


def counts_of_all_orders(n, k, *, transitive):
    """Return how many questions a consistent judge is asked, for every order of n items."""
    found = []
    for order in permutations(range(n)):
        known, n_asked = set(), 0
        for a, b in asked_by_a_heap(order, k, lambda a, b: a > b)[1]:
            pair = (max(a, b), min(a, b))
            if not (transitive and pair in known):
                n_asked += 1
                known = closure(known | {pair})
        found.append(n_asked)
    return found
