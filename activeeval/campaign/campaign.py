"""The conductor: ask for a unit to judge, tell its grades, read any question, replay.

Which units there are follows from a design and a key; what has become of them is a fold over an append-only log. A
live campaign appends an event and applies it, a replay applies the same events again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from numbers import Integral
from typing import Self

import numpy as np

from activeeval.campaign.answers import answered
from activeeval.campaign.drawing import Drawing, drawing_of
from activeeval.campaign.events import CannotJudge, Drawn, Ended, Event, Judged, Retracted, State, Unit
from activeeval.campaign.outlook import Outlook
from activeeval.campaign.reading import looks_at, read
from activeeval.design import Design, Selection
from activeeval.errors import InputError, StateError
from activeeval.estimation import IntervalKind, find_interval
from activeeval.measures import Target
from activeeval.pool import Seed, checked_key, key_of, known_digest, pool_hashes
from activeeval.results import Estimate, Interval
from activeeval.types import Ints

Judge = Callable[[str, list[str]], Sequence[int | None]]


class Campaign:
    """A judging campaign: which units to judge, what judging them has shown, what that says of any question.

    Parameters
    ----------
    design : Design
    budget : float, optional
        In mean items of the pool; needed where the design brings none. See `Design.with_budget`.
    rng : Generator, SeedSequence, int or None
        One seed, one sample, whatever the order of rows; None takes the operating system's randomness.
    blocks : sequence of float, optional
        Cumulated budgets at which the sample may be read early; see `Design.with_budget`.
    key : int, optional
        In place of ``rng``: the key of a sample that was drawn before.

    Raises
    ------
    BudgetError
        Where the budget does not pay for the dearest that may have to be judged at once.

    Examples
    --------
    >>> from activeeval import DCG, QueryPool, Rankings
    >>> from activeeval.design.methods import METHODS
    >>> pool = QueryPool(["q1", "q2", "q3"], [0, 2, 4, 6], list("ababab"))
    >>> target = Target(DCG(), Rankings.from_scores(pool, [2, 1, 2, 1, 2, 1]))
    >>> campaign = Campaign(METHODS["random"].design(target, budget=4), rng=0)
    >>> campaign.run(lambda query_id, item_ids: [1] * len(item_ids)).n_queries
    2
    """

    def __init__(
        self,
        design: Design,
        budget: float | None = None,
        *,
        rng: Seed = 0,
        blocks: Sequence[float] | None = None,
        key: int | None = None,
    ) -> None:
        if budget is not None or blocks is not None:
            given = design.budget if budget is None else budget
            if given is None:
                raise InputError(f"the design of {design.name!r} has no budget: give one")
            design = design.with_budget(given, blocks, expected=design.expected)
        self.design = design
        digest = known_digest(pool_hashes(design.pool)[1], design.known)
        self.key = key_of(rng, digest) if key is None else checked_key(key)
        self._drawing: Drawing = drawing_of(design, self.key)
        self._log: list[Event] = []
        self._state = State()
        self._drawn_items: set[int] = set()
        self._by_level = False

    def by_level(self) -> Self:
        """Return the same campaign, read up to the lowest unit that waits and not at ends of blocks alone.

        Only where units are judged strictly in the order they are asked for: to pass over some of them, and to read
        below the first that was, would bias the estimate. Of draws with replacement it is the campaign itself.
        """
        found = copy(self)
        found._by_level = self.design.scheme.can_be_topped_up
        return found

    @property
    def log(self) -> tuple[Event, ...]:
        """Everything that happened, in order; `replay` makes the same campaign of it."""
        return tuple(self._log)

    @property
    def units(self) -> tuple[Unit, ...]:
        """All units drawn so far."""
        return tuple(self._state.units)

    @property
    def planned(self) -> tuple[Unit, ...]:
        """All units of the sample, drawn or not."""
        return tuple(self._drawing.unit(k) for k in range(self._drawing.block_ends[-1]))

    @property
    def planned_end(self) -> str:
        """Why the sample ends where it does."""
        return self._drawing.ended

    @property
    def waiting(self) -> tuple[Unit, ...]:
        """Units that were drawn and wait for a grade."""
        return tuple(unit for unit in self._state.units if self._state.waits(unit))

    @property
    def spent(self) -> float:
        """What the units so far cost, in mean items."""
        return self._state.spent

    @property
    def ended(self) -> str:
        """Why there will be no further unit; empty while there may be one."""
        return self._state.ended

    @property
    def grades(self) -> Ints:
        """Grades told so far, shape (n_items,); −1 where none was."""
        grades = np.full(self.design.pool.n_items, -1, dtype=np.int64)
        if self._state.grades:
            grades[list(self._state.grades)] = list(self._state.grades.values())
        return grades

    @property
    def settled(self) -> frozenset[int]:
        """Positions of the items that are judged, or cannot be."""
        return frozenset(self._state.grades) | self._state.cannot

    @property
    def selection(self) -> Selection:
        """What an estimate is read from: the highest complete block; raises StateError where none is complete."""
        return self._drawing.selection(self._readable()[0])

    @property
    def whole_selection(self) -> Selection:
        """What an estimate is read from once all of the sample is judged."""
        return self._drawing.selection(self._drawing.block_ends[-1])

    @property
    def complete_block(self) -> tuple[int, float]:
        """The highest block of which nothing waits, from 1, and its threshold level; 0 and 0 where there is none.

        Read by level, the threshold is that of the lowest unit that waits.
        """
        complete = [k for k in range(len(self.design.blocks)) if self._is_complete(k)]
        if not complete and not self._n_by_level():
            return 0, 0.0
        return max(complete, default=-1) + 1, self.selection.level

    def ask(self) -> Unit | None:
        """Return the next unit that somebody has to judge, lowest level first; None when there is none left.

        Several units may be asked for before any is told.
        """
        if self._state.ended:
            return None
        n = len(self._state.units)
        if n == self._drawing.block_ends[-1]:
            self._append(Ended(self._drawing.ended))
            return None
        unit = self._drawing.unit(n)
        self._append(Drawn(unit))
        return unit

    def tell(self, unit: Unit, grades: Sequence[int | None], *, judge: str = "", at: str = "") -> None:
        """Record the grades of a unit's items, in the order of ``unit.items``.

        Parameters
        ----------
        grades : sequence of int or None
            None for an item that cannot be judged.
        judge, at : str
            Who said so, and when.

        Raises
        ------
        StateError
            Where the unit does not wait for grades.
        InputError
            Where the number of grades is wrong or a grade is not one of the scale.
        """
        if not isinstance(unit, Unit):
            raise InputError(f"tell takes a unit that ask returned, got {unit!r}")
        k = unit.number - 1
        if not 0 <= k < len(self._state.units) or self._state.units[k] != unit or not self._state.waits(unit):
            raise StateError(f"unit {unit.number} of query {unit.query_id!r} does not wait for grades")
        is_list = isinstance(grades, Sequence) or (isinstance(grades, np.ndarray) and grades.ndim == 1)
        if not is_list or isinstance(grades, str | bytes):
            raise InputError(f"the grades of query {unit.query_id!r} must be a list, one for each item, got {grades!r}")
        if len(grades) != len(unit.items):
            raise InputError(f"unit {unit.number} has {len(unit.items)} items to judge, got {len(grades)} grades")
        events = [answered(self.design, item, grade, judge, at) for item, grade in zip(unit.items, grades, strict=True)]
        for event in events:
            self._append(event)

    def judge(self, item: int, grade: int | None, *, judge: str = "", at: str = "") -> None:
        """Record the grade of one item, None where it cannot be judged; a later grade takes an earlier one's place.

        Raises
        ------
        StateError
            Where the item belongs to no unit drawn so far.
        InputError
            Where the grade is not one of the scale.
        """
        self._check_drawn(item)
        self._append(answered(self.design, item, grade, judge, at))

    def retract(self, item: int, *, judge: str = "", at: str = "") -> None:
        """Take back what was said of an item: it waits again; raises as `judge` does."""
        self._check_drawn(item)
        self._append(Retracted(item, judge, at))

    def run(self, judge: Judge) -> Estimate:
        """Ask, have ``judge(query_id, item_ids)`` return the grades, tell, until the end; estimate."""
        while (unit := self.ask()) is not None:
            self.tell(unit, judge(unit.query_id, list(unit.item_ids)))
        return self.estimate()

    def estimate(self, target: Target | None = None, *, scope: str = "pool") -> Estimate:
        """Return what the sample says of a question: from all of it, or from its highest complete block.

        Parameters
        ----------
        target : Target, optional
            Any that the sample reaches; by default the first that it was made for.
        scope : {"pool", "population"}
            See `activeeval.estimation.evaluate`.

        Raises
        ------
        StateError
            Where no block is complete: to leave out what waits would bias the estimate.
        InputError
            Where an item whose label can change the target's value could not be drawn.
        """
        n_units, share = self._readable()
        cannot = sorted(self._state.cannot)
        return read(self.design, self._drawing.selection(n_units), self.grades, cannot, target, scope, share)

    def interval(
        self, kind: IntervalKind | str, confidence: float = 0.95, target: Target | None = None, *, scope: str = "pool"
    ) -> Interval:
        """Return the interval of a kind, or the name of one, other than t, which `estimate` has; else as `estimate`."""
        kind = find_interval(kind)() if isinstance(kind, str) else kind
        n_units, share = self._readable()
        ends = [end for k, end in enumerate(self._drawing.block_ends) if self._is_complete(k)]
        shares = [budget / (self.design.planned or budget) for budget in self.design.blocks]
        if n_units not in ends:
            if kind.name == "group-sequential":
                raise InputError("group-sequential intervals are planned for the ends of blocks")
            ends, shares = [n_units], [share]
        selections = [self._drawing.selection(end) for end in ends]
        looks = looks_at(self.design, selections, shares, self.grades, target, scope)
        return kind.interval(looks, confidence)

    def half_width_at_end(
        self, confidence: float = 0.95, target: Target | None = None, *, scope: str = "pool"
    ) -> float:
        """Return what half-width the t interval should have once all of the sample is judged; as `estimate` else.

        NaN where the sample was gathered of a pool in chunks, which does not tell.
        """
        outlook = self.outlook(target, scope=scope)
        return math.nan if outlook is None else outlook.at_selection(self.whole_selection, confidence)

    def outlook(self, target: Target | None = None, *, scope: str = "pool") -> Outlook | None:
        """Return what to expect of more judgments; None of a pool in chunks, which cannot tell; as `estimate` else."""
        return Outlook.of(self.design, self.selection, self.grades, target, scope)

    def topped_up(self, more: float) -> Campaign:
        """Return the campaign with a larger budget: the same sample, all that is known of it, and one more block."""
        return self.replay(
            self.design.topped_up(more), [e for e in self._log if not isinstance(e, Ended)], key=int(self.key)
        )

    @classmethod
    def replay(cls, design: Design, log: Iterable[Event], *, rng: Seed = 0, key: int | None = None) -> Self:
        """Return the campaign that a log describes, ready to go on.

        Raises
        ------
        StateError
            Where its units are not those of the design and the key, or something is said of an item in none of them.
        InputError
            Where it holds what is no event, or a grade off the scale.
        """
        campaign = cls(design, rng=rng, key=key)
        for event in log:
            campaign._check_event(event)
            campaign._append(event)
        return campaign

    def audit(self) -> None:
        """Raise StateError where a drawn unit is not the one that this design and key give."""
        for k, unit in enumerate(self._state.units):
            self._check_unit(k, unit)

    def _check_unit(self, k: int, unit: Unit) -> None:
        given = self._drawing.unit(k) if k < self._drawing.block_ends[-1] else None
        if given is None or (unit.query, unit.items) != (given.query, given.items):
            raise StateError(f"the log says {unit}, but this design and key give {given}")

    def _check_event(self, event: Event) -> None:
        if isinstance(event, Judged | CannotJudge | Retracted):
            self._check_drawn(event.item)
        elif isinstance(event, Drawn):
            self._check_unit(len(self._state.units), event.unit)
        elif not isinstance(event, Ended):
            raise InputError(f"a log holds what happened in a campaign, got {event!r}")
        if isinstance(event, Judged):
            answered(self.design, event.item, event.grade, event.judge, event.at)

    def _check_drawn(self, item: int) -> None:
        if not isinstance(item, Integral) or item not in self._drawn_items:
            raise StateError(f"item position {item} belongs to no unit that was drawn")

    def _is_complete(self, block: int) -> bool:
        end = self._drawing.block_ends[block]
        return len(self._state.units) >= end and not any(map(self._state.waits, self._state.units[:end]))

    def _readable(self) -> tuple[int, float]:
        """Return how many units may be read, and the part of the planned budget that they are."""
        blocks = self.design.blocks
        complete = [k for k in range(len(blocks)) if self._is_complete(k)]
        if complete:
            n_units, share = self._drawing.block_ends[complete[-1]], blocks[complete[-1]] / blocks[-1]
        else:
            n_units, share = 0, 0.0
        if (n_by_level := self._n_by_level()) and n_units < self._drawing.block_ends[-1]:
            n_units, share = n_by_level, self._drawing.selection(n_by_level).cost / blocks[-1]
        if n_units == 0 and self._drawing.block_ends[-1] > 0:
            raise StateError(self._incomplete())
        return n_units, share

    def _n_by_level(self) -> int:
        """Return how many units lie below the lowest that waits; 0 where blocks alone may be read."""
        if not self._by_level:
            return 0
        waits = (k for k, unit in enumerate(self._state.units) if self._state.waits(unit))
        return next(waits, len(self._state.units))

    def _incomplete(self) -> str:
        if self._by_level:
            return "the lowest unit waits for grades, so there is nothing that may be read"
        end = self._drawing.block_ends[0]
        n_asked = min(len(self._state.units), end)
        waiting = [unit for unit in self._state.units[:end] if self._state.waits(unit)]
        parts = [f"{end - n_asked} were not asked for"] if n_asked < end else []
        if waiting:
            first = f"unit {waiting[0].number} of query {waiting[0].query_id!r}"
            parts.append(f"{len(waiting)} wait for grades, the first is {first}")
        left = " and ".join(parts)
        return f"the first block is not complete, so there is nothing that may be read: of its {end} units {left}"

    def _append(self, event: Event) -> None:
        self._state.apply(event)
        self._log.append(event)
        if isinstance(event, Drawn):
            self._drawn_items.update(event.unit.items)
