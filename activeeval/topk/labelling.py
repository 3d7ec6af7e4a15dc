"""Top-k labelling: the k best of n items in order, out of comparisons of two (Niu, Guo, Lan, Cheng, SIGIR 2012).

`algorithm_1` is the paper's as a generator: it yields a pair, is sent whether the first is the better one, and returns
the k best. A labelling is a fold over its events, the answers and the items that were discarded: the generator is run
over the items that are left, what is known answers it, and the first pair that nothing is known of is the next
question. So a person can stop, resume, take an answer back or throw an item out, all in the same way.
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
    """A comparison that was answered: the two items as they were asked, and the preferred one, None for a tie."""

    first: int
    second: int
    preferred: int | None


class Discard(NamedTuple):
    """An item that was thrown out."""

    item: int


Event = PairAnswer | Discard


class TopKLabelling:
    """Find the k best of n items, one comparison at a time.

    A tie leaves things as they stand: of two tied items the one that arrived earlier counts as the better, so it keeps
    its place in the heap and stands before the other in `top`. The truth leaves such items unordered: `groups` and
    `grades` do not depend on the order of arrival, as long as ties are those of a ranking.

    A discarded item is treated as though it had never been there: the next one takes its place, and the top are the k
    best of those that are left. From then on nothing is asked that follows from earlier answers: one discard costs some
    5 comparisons more while items arrive and 13 shortly before the end (n = 50, k = 10), where it would be up to 37.

    Parameters
    ----------
    n_items, k : int
        1 ≤ k ≤ n_items.
    order : {"random", "given"} or sequence of int
        How items arrive: shuffled, 0 … n−1, or as listed. From best to worst by a good guess, as a run has them, is
        cheapest: then few of the later items are better than the root.
    rng : Generator or int, optional
        Of the order and of what is repeated.
    repeat_share : float
        Share of the questions, below 1, that ask a pair a second time, with the sides swapped, to see whether the
        answer is the same. The first answer stands.
    transitive : bool
        Ask nothing that follows from earlier answers. Algorithm 1 itself comes back to some pairs: at n = 50, k = 10 a
        consistent judge is asked 151 ± 14 questions, 15 of them a second time, and 130 ± 14 without what follows.

    Raises
    ------
    InputError
        Where the numbers do not fit, or the order does not hold every item once.

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
        self.n_items = whole_number(n_items, "n_items", 1)
        self.k = whole_number(k, "k", 1)
        if self.k > self.n_items:
            raise InputError(f"k must be at most n_items, got k = {self.k} of {self.n_items} items")
        if not 0 <= repeat_share < 1:
            raise InputError(f"repeat_share must be at least 0 and below 1, got {repeat_share!r}")
        self.repeat_share, self.transitive = float(repeat_share), bool(transitive)
        random = np.random.default_rng(rng)
        self._seed = int(random.integers(2**63))  # before the order, so that a listed order repeats as a random one
        self.arrival = tuple(_arrival(self.n_items, order, random))
        self._begin(())

    @classmethod
    def replay(cls, n_items: int, k: int, answers: Iterable[Event], **options: Any) -> Self:
        """Return the labelling that events have led to; every answer must be of the pair that was asked.

        Parameters
        ----------
        answers : iterable of PairAnswer or Discard
            As `answers` has them.
        **options
            As the labelling had them; with ``order=labelling.arrival`` the seed matters for repeats alone.
        """
        labelling = cls(n_items, k, **options)
        labelling._begin(answers)
        return labelling

    def _begin(self, events: Iterable[Event]) -> None:
        self._events: list[Event] = []
        self._discarded: dict[int, None] = {}
        self._known = KnownOrder(self.arrival)
        self.n_repeats = self.n_contradictions = 0
        self._restart()
        for event in events:
            self._replay_one(event)

    def _replay_one(self, event: Event) -> None:
        if isinstance(event, Discard):
            self.discard(event.item)
            return
        first, second, preferred = event
        asked = self.ask()
        if (first, second) != asked:
            was = "nothing was asked any more" if asked is None else f"{asked[0]} and {asked[1]} were asked"
            raise InputError(f"answers[{len(self._events)}] is of items {first} and {second}, where {was}")
        self.tell(preferred)

    @property
    def answers(self) -> tuple[Event, ...]:
        """Everything that was told, in order."""
        return tuple(self._events)

    @property
    def discarded(self) -> tuple[int, ...]:
        """The items that were thrown out."""
        return tuple(self._discarded)

    @property
    def n_comparisons(self) -> int:
        """How many questions were answered, repeats with them."""
        return len(self._events) - len(self._discarded)

    @property
    def ties(self) -> tuple[Pair, ...]:
        """The pairs that were answered with a tie; the one that counts as the better stands first."""
        tied = [pair for pair in self._known.pairs() if self._known.answer(*pair) is None]
        return tuple(pair if self._known.standing(*pair) else pair[::-1] for pair in tied)

    def ask(self) -> Pair | None:
        """Return the two items to compare, the same until there is an answer; None when the top k are settled."""
        return self._asked

    def tell(self, preferred: int | None) -> None:
        """Answer: the preferred one of the two items that were asked, None for a tie.

        Raises
        ------
        InputError
            Where the item is neither of the two, or nothing is asked.
        """
        if self._asked is None:
            raise InputError(f"nothing is asked: the top {self.k} are settled; got {preferred!r}")
        if preferred is not None and (isinstance(preferred, bool) or preferred not in self._asked):
            first, second = self._asked
            raise InputError(f"items {first} and {second} were asked, got {preferred!r}, expected one of them or None")
        answer = PairAnswer(*self._asked, None if preferred is None else int(preferred))
        self.n_repeats += self._known.times(*self._asked) > 0
        self.n_contradictions += not self._known.add(*answer)
        self._events.append(answer)
        self._advance()

    def discard(self, item: int) -> None:
        """Throw an item out: it is not asked about again and not among the top.

        Raises
        ------
        InputError
            Where there is no such item, or it was thrown out before.
        """
        item = whole_number(item, "an item", 0, self.n_items - 1)
        if item in self._discarded:
            raise InputError(f"item {item} was discarded before")
        self._discarded[item] = None
        self._events.append(Discard(item))
        self._restart()

    def undo(self) -> Event:
        """Take the last event back and return it."""
        if not self._events:
            raise InputError("there is no answer to take back")
        *before, last = self._events
        self._begin(before)
        return last

    def top(self) -> list[int]:
        """Return the k best, best first; fewer where not so many are left.

        Raises
        ------
        InputError
            While comparisons are to come.
        """
        if self._asked is not None:
            left = self.remaining(0, 100)
            raise InputError(f"the top {self.k} are not settled: {left.low} to {left.high} comparisons may be left")
        return list(self._best)

    def groups(self) -> list[list[int]]:
        """Return the k best in groups of items that are alike, best first; the last may hold more than there are ranks.

        Of a judge who has a ranking with ties in mind these are its groups, whatever the order of arrival.
        """
        best = self.top()
        below = [item for item in self.arrival if item not in self._discarded and item not in set(best)]
        return tied_groups(best, below, ((*pair, self._known.answer(*pair)) for pair in self._known.pairs()))

    def grades(self, *, share_ties: bool = True) -> Ints:
        """Return the position-aware labels, shape (n_items,): k + 1 − rank among the top, 0 below.

        Parameters
        ----------
        share_ties : bool
            Items that are alike share the label of the first of them, as `groups` has them; so κ-NDCG and κ-ERR count
            the mean over their orders. Without it each of the top has a label of its own, by the order of arrival.
        """
        labels, rank = np.zeros(self.n_items, dtype=np.int64), 1
        for group in self.groups() if share_ties else [[item] for item in self.top()]:
            labels[group] = self.k + 1 - rank
            rank += len(group)
        return labels

    @property
    def n_overruled(self) -> int:
        """How many ties of the top are none in `groups`, as other answers set their items apart."""
        labels = self.grades()
        left = [pair for pair in self.ties if not set(pair) & self._discarded.keys()]
        return sum(bool(labels[first] != labels[second]) for first, second in left)

    def preferences(self) -> list[PairAnswer]:
        """Return the answers that stand, one a pair, of items that are left."""
        pairs = [pair for pair in self._known.pairs() if not set(pair) & self._discarded.keys()]
        return [PairAnswer(*pair, self._known.answer(*pair)) for pair in pairs]

    def remaining(self, rng: Seed = None, n_samples: int = 200) -> RemainingComparisons:
        """Return how many comparisons are still to come: the 5 % and 95 % quantiles over orders that fit what is known.

        Every sample draws an order of the items that the answers leave open (see `likely_values`) and has a judge who
        goes by it answer the rest.
        """
        n_samples, random = whole_number(n_samples, "n_samples", 1), np.random.default_rng(rng)
        left = [item for item in self.arrival if item not in self._discarded]
        counts = [self._questions_of(likely_values(self._known, left, self.k, random)) for _ in range(n_samples)]
        low, high = np.quantile(counts, [0.05, 0.95], method="inverted_cdf")
        return RemainingComparisons(int(low), int(high))

    def _questions_of(self, values: dict[int, float]) -> int:
        """Return how many questions a judge who goes by values would still be asked."""
        twin = copy.copy(self)
        twin._known, twin._events = self._known.copy(), list(self._events)
        twin._restart()
        while (pair := twin.ask()) is not None:
            twin.tell(max(pair, key=values.__getitem__))
        return twin.n_comparisons - self.n_comparisons

    def _restart(self) -> None:
        """Run Algorithm 1 over the items that are left, from its start."""
        self._steps = algorithm_1([item for item in self.arrival if item not in self._discarded], self.k)
        self._met: Counter[frozenset[int]] = Counter()
        self._pair: Pair | None = None
        self._asked: Pair | None = None
        self._step(None)
        self._advance()

    def _step(self, answer: Any) -> None:
        try:
            self._pair = self._steps.send(answer)
        except StopIteration as end:
            self._pair, self._best = None, end.value

    def _advance(self) -> None:
        """Go on as far as what is known answers, and choose what to ask then."""
        while self._pair is not None and (answer := self._answered(self._pair)) is not None:
            self._met[frozenset(self._pair)] += 1
            self._step(answer)
        if self._pair is None:
            self._asked = None
        else:
            # whoever likes one side better shows it when a pair comes again
            self._asked = self._known.swapped(*(self._repeat() or self._pair))

    def _answered(self, pair: Pair) -> bool | None:
        """Return what answers a pair of Algorithm 1; None where it is to be asked."""
        if self.transitive or self._discarded:
            return self._known.implied(*pair)
        return self._known.standing(*pair) if self._known.times(*pair) > self._met[frozenset(pair)] else None

    def _repeat(self) -> Pair | None:
        """Return an earlier pair to ask a second time instead, once in a while; the last one never."""
        if not self.repeat_share:
            return None
        random = np.random.default_rng((self._seed, len(self._events)))
        if random.random() >= self.repeat_share:
            return None
        asked = [event[:2] for event in self._events[:-1] if isinstance(event, PairAnswer)]
        open_ones = [(a, b) for a, b in asked if self._known.times(a, b) == 1 and not {a, b} & self._discarded.keys()]
        return open_ones[int(random.integers(len(open_ones)))] if open_ones else None


def _arrival(n_items: int, order: str | Sequence[int], random: np.random.Generator) -> list[int]:
    if isinstance(order, str):
        if order not in ("random", "given"):
            raise InputError(f"order must be 'random', 'given' or a list of all items, got {order!r}")
        arrival: list[int] = random.permutation(n_items).tolist() if order == "random" else list(range(n_items))
        return arrival
    listed = [whole_number(item, f"order[{place}]", 0, n_items - 1) for place, item in enumerate(order)]
    if len(listed) != n_items:
        raise InputError(f"order must hold each of the {n_items} items once, got {len(listed)}")
    twice = [item for item, times in Counter(listed).items() if times > 1]
    if twice:
        raise InputError(f"order must hold every item once, got {twice[0]} twice")
    return listed


def algorithm_1(arrival: Sequence[int], k: int) -> LabellingSteps:
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
