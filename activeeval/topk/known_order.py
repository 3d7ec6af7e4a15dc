"""What comparisons have said: the answer that stands for each pair, and what follows from the answers by transitivity.

For every item a set of those known to be better and one of those known to be worse are kept as bits of a whole number.
An answer "b is better than w" makes all that is at least b better than all that is at most w; so the sets are closed at
any time, and what follows is looked up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Self

Pair = tuple[int, int]


class KnownOrder:
    """The standing answers on pairs of items 0 … n−1, and the order that follows from them.

    Parameters
    ----------
    arrival : sequence of int
        In a tie the item that stands earlier here counts as the better one.

    Examples
    --------
    >>> known = KnownOrder([0, 1, 2])
    >>> known.add(0, 1, 0), known.add(1, 2, None)
    (True, True)
    >>> known.standing(2, 1), known.implied(2, 0), known.implied(0, 2)
    (False, False, True)
    """

    def __init__(self, arrival: Sequence[int]) -> None:
        self._place = {item: place for place, item in enumerate(arrival)}
        self._answers: dict[Pair, int | None] = {}
        self._times: dict[Pair, int] = {}
        self._sides: dict[Pair, Pair] = {}
        self._better = dict.fromkeys(arrival, 0)
        self._worse = dict.fromkeys(arrival, 0)

    def copy(self) -> Self:
        """Return the same knowledge, to which more can be added."""
        twin = type(self)([])
        twin._place = self._place
        for name in ("_answers", "_times", "_sides", "_better", "_worse"):
            setattr(twin, name, getattr(self, name).copy())
        return twin

    def add(self, first: int, second: int, preferred: int | None) -> bool:
        """Take an answer, None for a tie; the first answer on a pair stands. Return whether it is what stands."""
        pair = _key(first, second)
        self._times[pair], self._sides[pair] = self._times.get(pair, 0) + 1, (first, second)
        if pair in self._answers:
            return self._answers[pair] == preferred
        self._answers[pair] = preferred
        best = min(pair, key=self._place.__getitem__) if preferred is None else preferred
        self._close(best, second if best == first else first)
        return True

    def _close(self, best: int, worst: int) -> None:
        at_least, at_most = self._better[best] | 1 << best, self._worse[worst] | 1 << worst
        for item in _members(at_least):
            self._worse[item] |= at_most
        for item in _members(at_most):
            self._better[item] |= at_least

    def times(self, first: int, second: int) -> int:
        """Return how often a pair has been answered."""
        return self._times.get(_key(first, second), 0)

    def swapped(self, first: int, second: int) -> Pair:
        """Return a pair with the sides changed from when it was asked last; as it is where it never was."""
        return self._sides.get(_key(first, second), (second, first))[::-1]

    def answer(self, first: int, second: int) -> int | None:
        """Return the answer that stands for a pair that has one: the preferred item, None for a tie."""
        return self._answers[_key(first, second)]

    def standing(self, first: int, second: int) -> bool | None:
        """Return whether the first of two counts as the better one by their own answer; None without one."""
        pair = _key(first, second)
        if pair not in self._answers:
            return None
        preferred = self._answers[pair]
        return self._place[first] < self._place[second] if preferred is None else preferred == first

    def implied(self, first: int, second: int) -> bool | None:
        """Return what answers on other pairs say too; None where they say nothing, or both as they contradict."""
        direct = self.standing(first, second)
        above, below = bool(self._worse[first] >> second & 1), bool(self._better[first] >> second & 1)
        return direct if direct is not None else None if above == below else above

    def pairs(self) -> list[Pair]:
        """Return the pairs that have an answer, in the order in which they got it."""
        return list(self._answers)

    def better(self, item: int) -> int:
        """Return the set of items known to be better, as bits."""
        return self._better[item]

    def worse(self, item: int) -> int:
        """Return the set of items known to be worse, as bits."""
        return self._worse[item]


def bits(items: Sequence[int]) -> int:
    """Return a set of items as bits."""
    return sum(1 << item for item in items)


def _members(held: int) -> Iterator[int]:
    while held:
        lowest = held & -held
        yield lowest.bit_length() - 1
        held ^= lowest


def _key(first: int, second: int) -> Pair:
    return (first, second) if first < second else (second, first)
