"""The conductor: ask for a query to judge, tell its grades, estimate, replay.

A campaign's state is a function of its design, its budget and an append-only log of events; a
live run appends an event and applies it, a replay applies the same events again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Self

import numpy as np
from numpy.typing import NDArray

from activeeval.design import Design, Pick, picks
from activeeval.errors import InputError, StateError
from activeeval.estimation import Decision, JudgedSample, StoppingRule, census, estimate, evaluate, judged_sample
from activeeval.estimation.intervals import IntervalKind
from activeeval.results import Estimate, Interval

Ints = NDArray[np.int64]
Judge = Callable[[str, list[str]], Sequence[int]]


@dataclass(frozen=True, slots=True)
class Draw:
    """A query that was drawn, recorded with its probabilities before anyone judges it.

    Attributes
    ----------
    number : int
        1 for the first draw.
    query : int
        Index of the query in the pool.
    query_id : str
    items : tuple of int
        Positions of the items to judge on the flat item axis, in judging order.
    item_ids : tuple of str
    query_prob : float
        Probability of the query in this draw, of a settled sample π(x); 1 in a census.
    importance_weight : float
        p(x) over that.
    item_probs : tuple of float
        Probability of each item once its query is drawn.
    depth : int
        Number of items to judge, from the first in judging order.
    cost : float
        What judging adds to the spend: the overhead of a query that is new, and the items that no
        earlier draw asked for.
    """

    number: int
    query: int
    query_id: str
    items: tuple[int, ...]
    item_ids: tuple[str, ...]
    query_prob: float
    importance_weight: float
    item_probs: tuple[float, ...]
    depth: int
    cost: float


@dataclass(frozen=True, slots=True)
class Told:
    """The grades that came back for a draw, aligned with its items."""

    number: int
    grades: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Ended:
    """No further draw: the budget cannot pay for the one that came up, or the sample is complete."""

    reason: str


Event = Draw | Told | Ended


def _is_grade(grade: object, top: int | None) -> bool:
    if not isinstance(grade, Real) or isinstance(grade, bool) or not float(grade).is_integer():
        return False
    return float(grade) >= -1 and (top is None or float(grade) <= top)


def _budget(design: Design, budget: float | None) -> float:
    """Return the budget of a campaign, the design's own where it has one."""
    if budget is None and design.budget is None:
        raise InputError(f"the draws of {design.name!r} go on until a budget is spent: give one")
    if design.budget is not None and budget not in (None, design.budget):
        raise InputError(f"the design was made for a budget of {design.budget:g}, not of {budget:g}")
    return float(budget if design.budget is None else design.budget)  # type: ignore[arg-type]


class Campaign:
    """A judging campaign, one query at a time: Algorithm 1 where queries are drawn with replacement.

    Parameters
    ----------
    design : Design
    budget : float, optional
        In the unit of the item costs. A design that was made for a budget brings its own.
    rng : Generator, SeedSequence or int, optional
        The same seed gives the same draws.
    expected : bool
        Of draws with replacement. False (default): a hard budget that is never overspent; the first
        draw that it cannot pay ends the campaign. True: n* = Λ / E_q[λ] draws, whose cost is the budget
        in expectation. Draws without replacement have a hard budget, settled samples (poisson, cube)
        an expected one.

    Raises
    ------
    BudgetError
        Where a hard budget is below the dearest single query, or an expected one below one draw.

    Examples
    --------
    >>> from activeeval import DCG, QueryPool, Rankings, Target
    >>> from activeeval.methods import METHODS
    >>> pool = QueryPool(["q1", "q2", "q3"], [0, 2, 4, 6], list("ababab"))
    >>> target = Target(DCG(), Rankings.from_scores(pool, [2, 1, 2, 1, 2, 1]))
    >>> campaign = Campaign(METHODS["passive"].design(target), budget=4, rng=0)
    >>> campaign.run(lambda query_id, item_ids: [1] * len(item_ids)).n_queries
    2
    """

    def __init__(
        self,
        design: Design,
        budget: float | None = None,
        *,
        rng: np.random.Generator | np.random.SeedSequence | int | None = None,
        expected: bool = False,
    ) -> None:
        self.design = design
        self.budget = _budget(design, budget)
        is_counted = expected and design.scheme == "replacement"
        self.expected = is_counted or not design.spends_as_it_goes
        if not self.expected:
            design.check_hard_budget(self.budget)
        self.is_census = not self.expected and design.is_census(self.budget)
        self._most_draws = design.n_draws(self.budget) if is_counted else design.most_draws
        self._hard_limit = np.inf if self.expected else design.hard_limit(self.budget)
        came = picks(design, np.random.default_rng(rng))
        settled = None if design.spends_as_it_goes else list(came)
        self._n_settled = design.pool.n_queries if self.is_census else None if settled is None else len(settled)
        self._picks = came if settled is None else iter(settled)
        self._is_asked = np.zeros(design.pool.n_items, dtype=np.bool_)
        self._log: list[Event] = []
        self._draws: list[Draw] = []
        self._drawn: set[int] = set()
        self._awaited: dict[int, Draw] = {}
        self._grades: Ints = np.full(design.pool.n_items, -1, dtype=np.int64)
        self._spent = 0.0
        self._ended = ""

    @property
    def log(self) -> tuple[Event, ...]:
        """Everything that happened, in order; `replay` makes the same campaign of it."""
        return tuple(self._log)

    @property
    def draws(self) -> tuple[Draw, ...]:
        """All draws so far, those of queries drawn before included."""
        return tuple(self._draws)

    @property
    def spent(self) -> float:
        """What the draws so far cost."""
        return self._spent

    @property
    def grades(self) -> Ints:
        """Grades told so far, shape (n_items,); −1 where none was."""
        return self._grades.copy()

    @property
    def awaited(self) -> tuple[Draw, ...]:
        """Draws whose grades have not been told."""
        return tuple(self._awaited.values())

    @property
    def ended(self) -> str:
        """Why there will be no further draw; empty while there may be one."""
        return self._ended

    def ask(self) -> Draw | None:
        """Return the next draw that somebody has to judge, or None when the campaign has ended.

        A query that was drawn before is recorded as a draw and not returned. Several draws may be
        asked for before any is told.
        """
        while not self._ended:
            event = self._next_event()
            self._append(event)
            if isinstance(event, Draw) and event.number in self._awaited:
                return event
        return None

    def tell(self, draw: Draw, grades: Sequence[int]) -> None:
        """Record the grades of a draw's items, in the order of ``draw.items``.

        Raises
        ------
        StateError
            Where the draw is not awaited.
        InputError
            Where the number of grades is wrong or a grade is not a grade of the measure. −1 is an
            item that could not be judged and earns nothing.
        """
        if self._awaited.get(draw.number) != draw:
            raise StateError(f"draw {draw.number} of query {draw.query_id!r} does not wait for grades")
        self._append(self._told(draw.number, grades))

    def run(self, judge: Judge) -> Estimate:
        """Ask, have ``judge(query_id, item_ids)`` return the grades, tell, until the end; estimate."""
        while (draw := self.ask()) is not None:
            self.tell(draw, judge(draw.query_id, list(draw.item_ids)))
        return self.estimate()

    def estimate(self, target: str = "pool") -> Estimate:
        """Return the estimate from all draws.

        Parameters
        ----------
        target : {"pool", "population"}
            See `activeeval.estimation.evaluate`.

        Raises
        ------
        StateError
            Where draws still wait for grades: to leave them out would bias the estimate. Where a sample that is
            settled at once, or the whole pool, has not been asked for to its end: a part of it, in the order
            of the pool, is no random sample.
        """
        return estimate(self.sample(), self.design.estimator, self.design.name, target)

    def interval(self, kind: IntervalKind, level: float = 0.95) -> Interval:
        """Return the interval of a kind other than t, which `estimate` has; else as `estimate`.

        Raises
        ------
        InputError
            Where the kind is not one for the design.
        """
        kind.check(self.design.scheme, self.design.estimator)
        sample = self.sample()
        return kind.interval(sample, evaluate(sample, self.design.estimator), level)

    def decide(self, rule: StoppingRule) -> Decision:
        """Return whether a stopping rule says to stop after the draws told so far; else as `interval`."""
        rule.check(self.design.scheme, self.design.estimator)
        sample = self.sample()
        return rule.decide(sample, evaluate(sample, self.design.estimator))

    def sample(self) -> JudgedSample:
        """Return all draws with what judging them showed; raises as `estimate` does."""
        if self._awaited:
            n, first = len(self._awaited), next(iter(self._awaited.values()))
            raise StateError(f"{n} draws wait for grades, the first is draw {first.number} of {first.query_id!r}")
        n_draws, n_settled = len(self._draws), self._n_settled
        if n_settled is not None and n_draws < n_settled:
            what = "the budget pays for every query" if self.is_census else "the sample is settled as a whole"
            progress = f"{n_draws} of {n_settled} queries are"
            raise StateError(f"{what}: the estimate comes when all of it is judged, {progress}")
        return self._sample()

    @classmethod
    def replay(
        cls,
        design: Design,
        budget: float | None,
        log: Iterable[Event],
        *,
        rng: np.random.Generator | np.random.SeedSequence | int | None = None,
        expected: bool = False,
    ) -> Self:
        """Return the campaign that a log describes, ready to go on with the same ``rng``.

        Raises
        ------
        StateError
            Where a logged draw is not the one that this design and seed give.
        """
        campaign = cls(design, budget, rng=rng, expected=expected)
        for event in log:
            if isinstance(event, Told):
                given: Event = campaign._told(event.number, event.grades)
            elif campaign._ended:
                raise StateError(f"the log goes on after its end: {event}")
            else:
                given = campaign._next_event()
            if given != event:
                raise StateError(f"the log says {event}, but this design and seed give {given}")
            campaign._append(given)
        return campaign

    def _told(self, number: int, grades: Sequence[int]) -> Told:
        """Return the event that grades make, once they are seen to fit the draw."""
        if number not in self._awaited:
            raise StateError(f"draw {number} does not wait for grades")
        draw = self._awaited[number]
        if not isinstance(grades, (Sequence, np.ndarray)) or isinstance(grades, str):
            raise InputError(f"the grades of query {draw.query_id!r} must be a list, one for each item, got {grades!r}")
        if len(grades) != len(draw.items):
            raise InputError(f"query {draw.query_id!r} has {len(draw.items)} items to judge, got {len(grades)} grades")
        top = self.design.stage.max_grade
        for item_id, grade in zip(draw.item_ids, grades, strict=True):
            if not _is_grade(grade, top):
                scale = "0, 1, 2 …" if top is None else f"0 … {top}"
                place = f"item {item_id!r} of query {draw.query_id!r}"
                raise InputError(f"the grade of {place} must be one of {scale} (or -1), got {grade!r}")
        return Told(number, tuple(int(grade) for grade in grades))

    def _sample(self) -> JudgedSample:
        design, draws = self.design, self._draws
        n_items = int(np.count_nonzero(self._is_asked))
        counts = (len(draws), len(self._drawn), n_items, self._spent)
        if len(self._drawn) == design.pool.n_queries and n_items == design.items.size:
            return census(design, self._grades, counts)
        queries = np.array([draw.query for draw in draws], dtype=np.int64)
        probs = np.array([draw.query_prob for draw in draws])
        depths = np.array([draw.depth for draw in draws], dtype=np.int64)
        deepest = np.zeros(design.pool.n_queries, dtype=np.int64)
        np.maximum.at(deepest, queries, depths)
        places = np.empty(design.pool.n_items, dtype=np.int64)
        places[design.items] = np.arange(design.items.size)
        slots = places[[z for draw in draws for z in draw.items]]
        totals, within = design.stage.observer(self._grades, design.item_probs, deepest)(queries, depths, slots)
        return judged_sample(design, queries, probs, totals, within, counts)

    def _next_event(self) -> Event:
        n = len(self._draws)
        if self.is_census:
            if n == self.design.pool.n_queries:
                return Ended("every query has been drawn")
            first, last = self.design.offsets[n], self.design.offsets[n + 1]
            return self._draw(Pick(n, 1.0, np.arange(first, last)))
        if n == self._most_draws:
            return Ended(f"all {n} draws are done")
        pick = next(self._picks, None)
        if pick is None:
            return Ended("the sample is complete")
        draw = self._draw(pick)
        if self._spent + draw.cost > self._hard_limit:
            return Ended(f"query {draw.query_id!r} came up, which the budget cannot pay for")
        return draw

    def _draw(self, pick: Pick) -> Draw:
        pool, query = self.design.pool, pick.query
        items = self.design.items[pick.slots]
        new = items[~self._is_asked[items]]
        overhead = float(pool.query_costs[query]) if new.size and query not in self._drawn else 0.0
        whole = np.ones(items.size) if self.is_census else self.design.item_probs[pick.slots]
        return Draw(
            number=len(self._draws) + 1,
            query=query,
            query_id=str(pool.query_ids[query]),
            items=tuple(items.tolist()),
            item_ids=tuple(pool.item_ids[items].tolist()),
            query_prob=pick.prob,
            importance_weight=float(pool.query_probs[query] / pick.prob),
            item_probs=tuple(whole.tolist()),
            depth=items.size,
            cost=sum(pool.item_costs[new].tolist(), 0.0) + overhead,
        )

    def _append(self, event: Event) -> None:
        self._log.append(event)
        if isinstance(event, Draw):
            self._draws.append(event)
            self._spent += event.cost
            self._drawn.add(event.query)
            items = list(event.items)
            if not self._is_asked[items].all():
                self._awaited[event.number] = event
            self._is_asked[items] = True
        elif isinstance(event, Told):
            draw = self._awaited.pop(event.number)
            self._grades[list(draw.items)] = event.grades
        else:
            self._ended = event.reason
