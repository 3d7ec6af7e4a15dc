"""Top-k labelling: the k best of n items in order, by pairwise comparisons (Niu, Guo, Lan, Cheng, SIGIR 2012).

`algorithm_1` is the paper's algorithm as a generator: it yields a pair, receives whether the first item is better, and
returns the k best. The state of a labelling follows from its events, answers and discarded items: the generator runs
over the remaining items with the known answers, and the first pair without one is the next question.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Generator, Iterable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from activeeval.core.checks import whole_number
from activeeval.core.errors import InputError
from activeeval.core.types import Ints
from activeeval.topk.expected_comparisons import RemainingComparisons, likely_values
from activeeval.topk.known_order import KnownOrder, Pair
from activeeval.topk.tie_groups import tied_groups

Seed = np.random.Generator | int | None
LabellingSteps = Generator[Pair, bool, list[int]]


class PairAnswer(NamedTuple):
    """Answer to a comparison: the two items as presented, and the preferred one, None for a tie."""

    first: int
    second: int
    preferred: int | None


class Discard(NamedTuple):
    """Removal of an item."""

    item: int


Event = PairAnswer | Discard


class TopKLabelling:
    """Find the k best of n items, one comparison at a time.

    A tie changes nothing: of two tied items the one that arrived earlier counts as better, keeps its place in the heap
    and precedes the other in `top`. `groups` and `grades` do not depend on the order of arrival, as long as ties are
    consistent with a ranking.

    A discarded item is removed from the input: the next one takes its place, and the top are the k best of the
    remaining items. From then on, comparisons implied by earlier answers are skipped: one discard costs about 5 more
    comparisons during arrivals and 13 shortly before the end (n = 50, k = 10), instead of up to 37.

    Parameters
    ----------
    n_items, k : int
        1 ≤ k ≤ n_items.
    order : {"random", "given"} or sequence of int
        Order of arrival: shuffled, 0 … n−1, or as listed. A good guess of best to worst, such as a run, needs the
        fewest comparisons, as few later items are then better than the root.
    rng : Generator or int, optional
        Random state of the order and of the repeated questions.
    repeat_share : float
        Share of the questions, below 1, that repeat a pair with the sides swapped, to measure consistency. The first
        answer is kept.
    transitive : bool
        Skip comparisons implied by earlier answers. Algorithm 1 repeats some pairs: at n = 50, k = 10 a consistent
        judge answers 151 ± 14 questions, 15 of them repeats, and 130 ± 14 with this option.

    Raises
    ------
    InputError
        If the numbers are inconsistent, or the order does not hold every item once.

    Examples
    --------
    >>> labelling = TopKLabelling(5, 2, order="given")
    >>> while (pair := labelling.ask()) is not None:
    ...     labelling.tell(max(pair))
    >>> labelling.top(), labelling.n_comparisons, labelling.grades().tolist()
    ([4, 3], 7, [0, 0, 0, 1, 2])
    """

    def __init__(
        self,
        n_items: int,
        k: int,
        order: str | Sequence[int] = "random",
        rng: Seed = None,
        *,
        repeat_share: float = 0.0,
        transitive: bool = False,
    ) -> None:
        """Start a labelling of ``n_items`` items for their ``k`` best; raise InputError if an argument is invalid.

        ``order`` is that of arrival: "random", "given" (0 … n−1) or a list of all items. ``rng`` is the random state of
        the order and of repeats, ``repeat_share`` the share of questions that repeat a pair; ``transitive`` skips
        comparisons implied by earlier answers.
        """
        self.n_items = whole_number(n_items, "n_items", 1)
        self.k = whole_number(k, "k", 1)
        if self.k > self.n_items:
            raise InputError(f"k must be at most n_items, got k = {self.k} of {self.n_items} items")
        if not 0 <= repeat_share < 1:
            raise InputError(f"repeat_share must be at least 0 and below 1, got {repeat_share!r}")
        self.repeat_share, self.transitive = float(repeat_share), bool(transitive)
        random = np.random.default_rng(rng)
        self._seed = int(random.integers(2**63))  # before the order: repeats are the same with a listed order
        self.arrival = tuple(_arrival(self.n_items, order, random))
        self._begin(())

    @classmethod
    def replay(cls, n_items: int, k: int, answers: Iterable[Event], **options: Any) -> Self:
        """Rebuild a labelling of the k best of n_items from its events; each answer must be to the pair presented then.

        Parameters
        ----------
        answers : iterable of PairAnswer or Discard
            All events in order, as the attribute `answers` has them.
        **options
            Options of the labelling; with ``order=labelling.arrival`` the seed only affects repeats.
        """
        labelling = cls(n_items, k, **options)
        labelling._begin(answers)
        return labelling

    def _begin(self, events: Iterable[Event]) -> None:
        """Reset the state and apply events (answers and discarded items)."""
        self._events: list[Event] = []
        self._discarded: dict[int, None] = {}
        self._known = KnownOrder(self.arrival)
        self.n_repeats = self.n_contradictions = 0
        self._restart()
        for event in events:
            self._replay_one(event)

    def _replay_one(self, event: Event) -> None:
        """Apply one event; raise InputError if it answers another pair than the one presented."""
        if isinstance(event, Discard):
            self.discard(event.item)
            return
        first, second, preferred = event
        if (first, second) != (current := self.ask()):
            was = "no comparison was open" if current is None else f"{current[0]} and {current[1]} were asked"
            raise InputError(f"answers[{len(self._events)}] is of items {first} and {second}, where {was}")
        self.tell(preferred)

    @property
    def answers(self) -> tuple[Event, ...]:
        """All events in order: answers and discarded items."""
        return tuple(self._events)

    @property
    def discarded(self) -> tuple[int, ...]:
        """Discarded items."""
        return tuple(self._discarded)

    @property
    def n_comparisons(self) -> int:
        """Number of answered comparisons, repeats included."""
        return len(self._events) - len(self._discarded)

    @property
    def ties(self) -> tuple[Pair, ...]:
        """Pairs answered with a tie; the item that counts as better comes first."""
        tied = [pair for pair in self._known.pairs() if self._known.answer(*pair) is None]
        return tuple(pair if self._known.standing(*pair) else pair[::-1] for pair in tied)

    def ask(self) -> Pair | None:
        """Return the two items to compare, unchanged until `tell` answers them; None when the top k are determined."""
        return self._current

    def tell(self, preferred: int | None) -> None:
        """Record the answer to the current pair: the preferred item, None for a tie.

        Raises
        ------
        InputError
            If the item is not in the current pair, or there is no current pair.
        """
        if self._current is None:
            raise InputError(f"no comparison is open: the top {self.k} are settled; got {preferred!r}")
        if preferred is not None and (isinstance(preferred, bool) or preferred not in self._current):
            items = "items {} and {} were asked".format(*self._current)
            raise InputError(f"{items}, got {preferred!r}, expected one of them or None")
        answer = PairAnswer(*self._current, None if preferred is None else int(preferred))
        self.n_repeats += self._known.times(*self._current) > 0
        self.n_contradictions += not self._known.add(*answer)
        self._events.append(answer)
        self._advance()

    def discard(self, item: int) -> None:
        """Discard an item: it is not compared again and not among the top.

        Raises
        ------
        InputError
            If there is no such item, or it is discarded already.
        """
        item = whole_number(item, "an item", 0, self.n_items - 1)
        if item in self._discarded:
            raise InputError(f"item {item} was discarded before")
        self._discarded[item] = None
        self._events.append(Discard(item))
        self._restart()

    def undo(self) -> Event:
        """Remove the last event and return it; raise InputError if there is none."""
        if not self._events:
            raise InputError("there is no answer to take back")
        *before, last = self._events
        self._begin(before)
        return last

    def top(self) -> list[int]:
        """Return the k best items, best first; fewer if fewer items are left.

        Raises
        ------
        InputError
            While comparisons remain.
        """
        if self._current is not None:
            left = self.remaining(0, 100)
            raise InputError(f"the top {self.k} are not settled: {left.low} to {left.high} comparisons may be left")
        return list(self._best)

    def groups(self) -> list[list[int]]:
        """Return the k best items in groups of tied items, best first; raise InputError while comparisons remain."""
        best = self.top()
        below = [item for item in self.arrival if item not in self._discarded and item not in set(best)]
        return tied_groups(best, below, ((*pair, self._known.answer(*pair)) for pair in self._known.pairs()))

    def grades(self, *, share_ties: bool = True) -> Ints:
        """Compute the position-aware labels, shape (n_items,): k + 1 − rank among the top, 0 below.

        Parameters
        ----------
        share_ties : bool
            True: tied items share the label of the first of them, as in `groups`, so that κ-NDCG and κ-ERR average over
            their orders. False: each of the top items has its own label, in ties by the order of arrival.
        """
        labels, rank = np.zeros(self.n_items, dtype=np.int64), 1
        for group in self.groups() if share_ties else [[item] for item in self.top()]:
            labels[group] = self.k + 1 - rank
            rank += len(group)
        return labels

    @property
    def n_overruled(self) -> int:
        """Number of ties in the top that other answers break, so that `groups` separates their items."""
        labels = self.grades()
        left = [pair for pair in self.ties if not set(pair) & self._discarded.keys()]
        return sum(bool(labels[first] != labels[second]) for first, second in left)

    def preferences(self) -> list[PairAnswer]:
        """List the first answer of each pair of remaining items."""
        pairs = [pair for pair in self._known.pairs() if not set(pair) & self._discarded.keys()]
        return [PairAnswer(*pair, self._known.answer(*pair)) for pair in pairs]

    def remaining(self, rng: Seed = None, n_samples: int = 200) -> RemainingComparisons:
        """Estimate the number of remaining comparisons by its 5 % and 95 % quantiles.

        Each of `n_samples` samples simulates a judge with a random order (by `rng`) consistent with the answers.
        """
        n_samples, random = whole_number(n_samples, "n_samples", 1), np.random.default_rng(rng)
        left = [item for item in self.arrival if item not in self._discarded]
        counts = [self._questions_of(likely_values(self._known, left, self.k, random)) for _ in range(n_samples)]
        low, high = np.quantile(counts, [0.05, 0.95], method="inverted_cdf")
        return RemainingComparisons(int(low), int(high))

    def _questions_of(self, values: dict[int, float]) -> int:
        """Count the remaining comparisons of a judge who prefers the item of higher value; `values` are by item."""
        twin = copy.copy(self)
        twin._known, twin._events = self._known.copy(), list(self._events)
        twin._restart()
        while (pair := twin.ask()) is not None:
            twin.tell(max(pair, key=values.__getitem__))
        return twin.n_comparisons - self.n_comparisons

    def _restart(self) -> None:
        """Run Algorithm 1 over the remaining items, from its start."""
        self._steps = algorithm_1([item for item in self.arrival if item not in self._discarded], self.k)
        self._n_used: Counter[frozenset[int]] = Counter()  # by pair: answers that this run has used
        self._pair: Pair | None = None  # that Algorithm 1 compares next
        self._current: Pair | None = None  # that the judge is presented: `_pair`, or a repeat
        self._step(None)
        self._advance()

    def _step(self, answer: Any) -> None:
        """Advance Algorithm 1 by one answer (None at its start); store its next pair, or its result."""
        try:
            self._pair = self._steps.send(answer)
        except StopIteration as end:
            self._pair, self._best = None, end.value

    def _advance(self) -> None:
        """Advance Algorithm 1 as far as known answers allow, and choose the next pair to present."""
        while self._pair is not None and (answer := self._answered(self._pair)) is not None:
            self._n_used[frozenset(self._pair)] += 1
            self._step(answer)
        # swapped sides on a repeat reveal a preference for one side
        self._current = self._pair and self._known.swapped(*(self._repeat() or self._pair))

    def _answered(self, pair: Pair) -> bool | None:
        """Look up whether the first item of a pair is better; None if the pair must be presented to the judge.

        Algorithm 1 compares some pairs twice. Without `transitive`, and while nothing is discarded, each is presented.
        """
        if self.transitive or self._discarded:
            return self._known.implied(*pair)
        return self._known.standing(*pair) if self._known.times(*pair) > self._n_used[frozenset(pair)] else None

    def _repeat(self) -> Pair | None:
        """Choose at random whether to repeat an earlier pair (never the last one), and which; None for no repeat."""
        if not self.repeat_share:
            return None
        random = np.random.default_rng((self._seed, len(self._events)))
        if random.random() >= self.repeat_share:
            return None
        earlier = [event[:2] for event in self._events[:-1] if isinstance(event, PairAnswer)]
        open_ones = [(a, b) for a, b in earlier if self._known.times(a, b) == 1 and not {a, b} & self._discarded.keys()]
        return open_ones[int(random.integers(len(open_ones)))] if open_ones else None


def _arrival(n_items: int, order: str | Sequence[int], random: np.random.Generator) -> list[int]:
    """Build the order of arrival of items; raise InputError if a listed `order` is not a permutation."""
    if isinstance(order, str):
        if order not in ("random", "given"):
            raise InputError(f"order must be 'random', 'given' or a list of all items, got {order!r}")
        return list(map(int, random.permutation(n_items))) if order == "random" else list(range(n_items))
    listed = [whole_number(item, f"order[{place}]", 0, n_items - 1) for place, item in enumerate(order)]
    if len(listed) != n_items:
        raise InputError(f"order must hold each of the {n_items} items once, got {len(listed)}")
    if twice := [item for item, times in Counter(listed).items() if times > 1]:
        raise InputError(f"order must hold every item once, got {twice[0]} twice")
    return listed


def algorithm_1(arrival: Sequence[int], k: int) -> LabellingSteps:
    """Yield the pairs that Algorithm 1 compares, receive whether the first is better, and return the best, best first.

    The first k items form a min-heap with the least relevant item at the root; every other item is compared with the
    root and replaces it if better; finally the heap is popped.
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
    """Sift the item at `place` down a heap of the first `size` items until both children are better; yields pairs."""
    while (child := 2 * place + 1) < size:
        if child + 1 < size and (yield heap[child], heap[child + 1]):
            child += 1
        if (yield heap[child], heap[place]):
            return
        heap[place], heap[child] = heap[child], heap[place]
        place = child
