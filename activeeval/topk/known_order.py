"""Order of items from comparisons: the first answer of each pair, and its transitive closure.

For every item the known better and known worse items are stored as bits of an integer. An answer "b is better than w"
makes all items at least as good as b better than all items at most as good as w. The sets are closed at all times, so
an implied order is a look-up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Self

Pair = tuple[int, int]


class KnownOrder:
    """The first answers to pairs of items 0 … n−1, and the order that they imply.

    Parameters
    ----------
    arrival : sequence of int
        All items; of two tied items the earlier one in this order counts as the better one.

    Examples
    --------
    >>> known = KnownOrder([0, 1, 2])
    >>> known.add(0, 1, 0), known.add(1, 2, None)
    (True, True)
    >>> known.standing(2, 1), known.implied(2, 0), known.implied(0, 2)
    (False, False, True)
    """

    def __init__(self, arrival: Sequence[int]) -> None:
        """Start without answers; ``arrival`` has all items, and breaks ties: the earlier item counts as better."""
        self._place = {item: place for place, item in enumerate(arrival)}
        self._answers: dict[Pair, int | None] = {}  # first answer of each pair: the preferred item, None for a tie
        self._times: dict[Pair, int] = {}  # number of answers
        self._sides: dict[Pair, Pair] = {}  # the pair as last presented
        self._better = dict.fromkeys(arrival, 0)  # for each item, the known better ones as bits: bit i for item i
        self._worse = dict.fromkeys(arrival, 0)

    def copy(self) -> Self:
        """Return an independent copy."""
        twin = type(self)([])
        twin._place = self._place  # never changes, so that both share it
        for name in ("_answers", "_times", "_sides", "_better", "_worse"):
            setattr(twin, name, getattr(self, name).copy())
        return twin

    def add(self, first: int, second: int, preferred: int | None) -> bool:
        """Record an answer about two items: the preferred one, None for a tie.

        Return False if it contradicts the pair's first answer, which is kept.
        """
        pair = _key(first, second)
        self._times[pair], self._sides[pair] = self._times.get(pair, 0) + 1, (first, second)
        if pair in self._answers:
            return self._answers[pair] == preferred
        self._answers[pair] = preferred
        best = min(pair, key=self._place.__getitem__) if preferred is None else preferred
        self._close(best, second if best == first else first)
        return True

    def _close(self, best: int, worst: int) -> None:
        """Update the transitive closure with a new relation best > worst; sets of items are bits of integers."""
        at_least, at_most = self._better[best] | 1 << best, self._worse[worst] | 1 << worst
        for item in _members(at_least):
            self._worse[item] |= at_most
        for item in _members(at_most):
            self._better[item] |= at_least

    def times(self, first: int, second: int) -> int:
        """Count the answers to a pair, repeats included."""
        return self._times.get(_key(first, second), 0)

    def swapped(self, first: int, second: int) -> Pair:
        """Return a pair with its sides swapped from its last presentation; unchanged if it was never presented."""
        return self._sides.get(_key(first, second), (second, first))[::-1]

    def answer(self, first: int, second: int) -> int | None:
        """Look up the first answer about two compared items: the preferred one, None for a tie."""
        return self._answers[_key(first, second)]

    def standing(self, first: int, second: int) -> bool | None:
        """Check whether `first` counts as better than `second` by the pair's own answer; None without an answer."""
        pair = _key(first, second)
        if pair not in self._answers:
            return None
        preferred = self._answers[pair]
        return self._place[first] < self._place[second] if preferred is None else preferred == first

    def implied(self, first: int, second: int) -> bool | None:
        """Check whether `first` is better than `second`, by the pair's own answer or by others.

        The result is None if no answer implies an order of the two, or answers contradict each other.
        """
        direct = self.standing(first, second)
        is_above, is_below = bool(self._worse[first] >> second & 1), bool(self._better[first] >> second & 1)
        return direct if direct is not None else None if is_above == is_below else is_above

    def pairs(self) -> list[Pair]:
        """List the compared pairs in the order of their first answers."""
        return list(self._answers)

    def better(self, item: int) -> int:
        """Return the items known to be better than an item, as bits: bit i stands for item i."""
        return self._better[item]

    def worse(self, item: int) -> int:
        """Return the items known to be worse than an item, as bits: bit i stands for item i."""
        return self._worse[item]


def bits(items: Sequence[int]) -> int:
    """Encode a set of items as the bits of an integer: bit i stands for item i."""
    return sum(1 << item for item in items)


def _members(remaining: int) -> Iterator[int]:
    """Yield the items of a set of bits, smallest first."""
    while remaining:
        lowest = remaining & -remaining
        yield lowest.bit_length() - 1
        remaining ^= lowest


def _key(first: int, second: int) -> Pair:
    """Sort a pair, so that both presentations of it have the same key."""
    return (first, second) if first < second else (second, first)
