"""Algorithm 1 of Niu, Guo, Lan and Cheng (SIGIR 2012): the k best of some items by a heap, asked for pair by pair."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from activeeval.topk.known_order import Pair

Steps = Generator[Pair, bool, list[int]]


def algorithm_1(arrival: Sequence[int], k: int) -> Steps:
    """Yield the pairs that Algorithm 1 compares, take whether the first is the better, and return the best, best first.

    The first k items form a min-heap, its least relevant item at the root; every other item meets the root and takes
    its place when it is better; at last the heap is popped.
    """
    heap = list(arrival[:k])
    for place in reversed(range(len(heap) // 2)):
        yield from _sift(heap, place, len(heap))
    for item in arrival[k:]:
        if (yield item, heap[0]):
            heap[0] = item
            yield from _sift(heap, 0, len(heap))
    for size in reversed(range(1, len(heap))):
        heap[0], heap[size] = heap[size], heap[0]
        yield from _sift(heap, 0, size)
    return heap


def _sift(heap: list[int], place: int, size: int) -> Generator[Pair, bool, None]:
    """Let an item sink until both of its children are better."""
    while (child := 2 * place + 1) < size:
        if child + 1 < size and (yield heap[child], heap[child + 1]):
            child += 1
        if (yield heap[child], heap[place]):
            return
        heap[place], heap[child] = heap[child], heap[place]
        place = child
