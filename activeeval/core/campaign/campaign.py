"""The conductor: ask for a unit to judge, tell its grades, read any question, replay.

Which units there are follows from a design and a key; what has become of them is the fold of an append-only log
(`activeeval.core.judgments.state`). A live campaign appends an event and applies it, a replay applies the same events
again, and one whose log is kept in a store applies what came since it was looked at last.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np

from activeeval.core.campaign.judging_rules import Rules
from activeeval.core.campaign.outlook import Outlook
from activeeval.core.campaign.reading import looks_at, read
from activeeval.core.campaign.record import Record
from activeeval.core.design import Design, Selection
from activeeval.core.design.schemes import ROUNDING
from activeeval.core.errors import InputError, StateError, UndrawnError
from activeeval.core.estimation import (
    GradeSlope,
    IntervalKind,
    confidence_after,
    find_interval,
    grade_slope,
    p_value_after,
)
from activeeval.core.judgments.log import Event
from activeeval.core.measures import Target
from activeeval.core.pool import Seed, checked_key, key_of, known_digest, pool_hashes
from activeeval.core.results import Estimate, Interval

Judge = Callable[[str, list[str]], Sequence[int | None]]

_NOTHING = "the first block is not complete, so there is nothing that may be read"


class Campaign(Record):
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
    rules : Rules, optional
        How many judges an item takes and what their grades count as; by default the last judgment is what counts.
    **ways
        paths, by_batches and surely, of a design whose depths follow labels; see
        `activeeval.core.campaign.requested_units.RequestedUnits`. By default the lowest place is asked, one at a time.

    Raises
    ------
    BudgetError
        Where the budget does not pay for the dearest that may have to be judged at once.

    Examples
    --------
    >>> from activeeval import DCG, QueryPool, Rankings
    >>> from activeeval.core.design.methods import METHODS
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
        rules: Rules | None = None,
        **ways: Any,
    ) -> None:
        if budget is not None or blocks is not None:
            paid = design.budget if budget is None else budget
            if paid is None:
                raise InputError(f"the design of {design.name!r} has no budget: give one")
            design = design.with_budget(paid, blocks, expected=design.expected)
        digest = known_digest(pool_hashes(design.pool)[1], design.known)
        of_sample = key_of(rng, digest) if key is None else checked_key(key)
        super().__init__(design, of_sample, rules or Rules(), **ways)
        self._is_strict = False

    def in_strict_order(self) -> Self:
        """Return the same campaign, read up to the lowest unit that waits and not at ends of blocks alone.

        Only where units are judged strictly in the order they are asked for: to pass over some of them, and to read
        below the first that was, would bias the estimate. Of draws with replacement it is the campaign itself.
        """
        strict = copy(self)
        strict._is_strict = self.design.scheme.can_be_topped_up
        return strict

    @property
    def selection(self) -> Selection:
        """What an estimate is read from: the highest complete block; raises StateError where none is complete."""
        return self._readable()[0]

    @property
    def grade_slope(self) -> GradeSlope | None:
        """How people's grades rise with what the grade model expected, as far as the sample may be read."""
        return grade_slope(self.design, self.selection, np.asarray(self.labels.grades))

    @property
    def read_budget(self) -> float:
        """The budget, in mean items, that is read once all is judged; less than there is where depths follow labels."""
        return self.drawn_design.blocks[-1]

    @property
    def reached_budget(self) -> float:
        """What more judgments would come beyond: the budget, or what was read of it where nothing more can be asked."""
        if self.design.scheme.goes_on:
            return self.selection.cost
        is_done = self.paths is not None and not self.progress.waiting and not self.goes_on
        return min(self.selection.cost, self.read_budget) if is_done else self.read_budget

    @property
    def n_unread(self) -> int:
        """How many items are judged and not read where nothing more can be asked: they came above the threshold."""
        if self.paths is None or self.progress.waiting or self.goes_on:
            return 0
        read = set(self.design.order.items[self.selection.places].tolist())
        return sum(item not in read for unit in self.units for item in unit.items)

    @property
    def whole_selection(self) -> Selection:
        """What an estimate is read from once all of the sample is judged."""
        return self.block_selection(len(self.design.blocks) - 1)

    @property
    def complete_block(self) -> tuple[int, float]:
        """The highest block of which nothing waits, from 1, and its threshold level; 0 and 0 where there is none.

        Read by level, the threshold is that of the lowest unit that waits.
        """
        n = self.n_complete_blocks
        return (0, 0.0) if not n and not self._n_in_order() else (n, self.selection.level)

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
            See `activeeval.core.estimation.evaluate`.

        Raises
        ------
        StateError
            Where no block is complete: to leave out what waits would bias the estimate.
        InputError
            Where an item whose label can change the target's value could not be drawn.
        """
        selection, share = self._readable()
        return read(self.design, selection, self.labels, self._labels.cannot, target, scope, share)

    def interval(
        self, kind: IntervalKind | str, confidence: float = 0.95, target: Target | None = None, *, scope: str = "pool"
    ) -> Interval:
        """Return the interval of a kind, or the name of one, other than t, which `estimate` has; else as `estimate`."""
        kind = find_interval(kind)() if isinstance(kind, str) else kind
        selection, share = self._readable()
        n, whole = self.n_complete_blocks, self.design.planned or self.design.blocks[-1]
        selections, shares = [self.block_selection(k) for k in range(n)], [b / whole for b in self.design.blocks[:n]]
        if not selections or selections[-1].level != selection.level:
            if kind.name == "group-sequential":
                raise InputError("group-sequential intervals are planned for the ends of blocks")
            selections, shares = [selection], [share]
        looks = looks_at(self.design, selections, shares, self.labels, target, scope)
        return kind.interval(looks, confidence)

    def half_width_at_end(
        self, confidence: float = 0.95, target: Target | None = None, *, scope: str = "pool"
    ) -> float:
        """Return what half-width the t interval should have once all of the sample is judged; as `estimate` else.

        NaN where the sample was gathered of a pool in chunks, which does not tell.
        """
        outlook = self.outlook(target, scope=scope)
        if outlook is None:
            return math.nan
        if self.paths is not None and self._followed.is_spent:
            return outlook.at_selection(self.selection, confidence)
        if self.paths is not None and self.n_complete_blocks < len(self.drawn_design.blocks):
            return outlook.at_budget(self.read_budget, confidence)  # where it ends is not known yet
        return outlook.at_selection(self.whole_selection, confidence)

    def outlook(self, target: Target | None = None, *, scope: str = "pool") -> Outlook | None:
        """Return what to expect of more judgments; None of a pool in chunks, which cannot tell; as `estimate` else."""
        before = self._variances(self.readings[:-1], target, scope)
        return Outlook.of(self.design, self.selection, self.labels, target, scope, before)

    @property
    def readings(self) -> list[Selection]:
        """What was read, the last what is read now: the planned budget and every top-up follow from a reading.

        A sample that is read before its planned budget is judged has one reading, that of now.
        """
        drawn, now = self.drawn_design, self.selection
        planned = (drawn.planned or math.inf) * (1 - ROUNDING)
        ends = [k for k in range(self.n_complete_blocks) if drawn.blocks[k] >= planned]
        return [*(whole for whole in map(self.block_selection, ends) if whole.level < now.level), now]

    def confidence_now(self, confidence: float, target: Target | None = None, *, scope: str = "pool") -> float:
        """Return at which confidence an interval is made now such that those of all `readings` hold with another.

        Of the population it is no less than of the pool, whose interval lies within.
        """
        each = [confidence_after(variances, confidence) for variances in self._looks(target, scope)]
        return max(each, default=confidence)

    def p_value_now(self, p_value: float, target: Target | None = None, *, scope: str = "pool") -> float:
        """Compute the p value that belongs to the interval of `confidence_now`, from that of a plain one."""
        each = [p_value_after(variances, p_value) for variances in self._looks(target, scope)]
        return max(each, default=p_value)

    def _looks(self, target: Target | None, scope: str) -> list[list[float]]:
        """Return the variances at all readings, where there are several, for a scope and the one within it."""
        readings = self.readings
        scopes = [scope] if scope == "pool" else ["pool", scope]
        return [self._variances(readings, target, each) for each in scopes] if readings[1:] else []

    def _variances(self, selections: Sequence[Selection], target: Target | None, scope: str) -> list[float]:
        """Return the variance of the estimate of a target at each of some selections."""
        if not selections:
            return []
        looks = looks_at(self.design, selections, [1.0] * len(selections), self.labels, target, scope)
        return [look.evaluated.variance for look in looks]

    def topped_up(self, more: float) -> Campaign:
        """Return the campaign with a larger budget: the same sample, all that is known of it, and one more block."""
        log = [event for event in self._log if event.kind != "ended"]
        return self._again(self.grown(more), log)

    def grown(self, more: float) -> Design:
        """Return the design that the sample was drawn with, its budget larger: the same sample and one more block."""
        grown, before = self.drawn_design.topped_up(more), self.drawn_design
        if self.paths is None or grown.budget is None or before.budget is None:
            return grown
        return replace(grown, blocks=(*before.blocks, grown.budget * before.blocks[-1] / before.budget))

    def believing(self, design: Design) -> Self:
        """Return the campaign with other predictions: of a design of the same order, with all that was judged."""
        return self._again(design, self._log)

    @property
    def ways(self) -> dict[str, Any]:
        """How it goes on where depths follow labels, as the campaign itself takes it."""
        return {"paths": self.paths, "by_batches": self.by_batches, "surely": self.surely}

    def unjudged(self, rules: Rules | None = None) -> Campaign:
        """Return the campaign as it was before any of its units was judged, by rules of its own."""
        return Campaign(self.drawn_design, key=int(self.key), rules=rules or self.rules, **self.ways)

    def following(self) -> tuple[Campaign, bool]:
        """Return the campaign with the batch that its labels lead to, and whether that is anything.

        Where it is nothing, the campaign with what labels have led to, which no correction changes.
        """
        following = self.believing(self.drawn_design)
        return following, following.go_on()

    def _again(self, design: Design, log: Iterable[Event]) -> Self:
        ways: dict[str, Any] = {"key": int(self.key), "rules": self.rules, **self.ways}
        if not self._is_kept_elsewhere:
            return self.replay(design, log, **ways)
        again = type(self)(design, **ways)
        again.follow(self._log, self._state, self._n_before)
        return again

    @classmethod
    def replay(
        cls,
        design: Design,
        log: Iterable[Event],
        *,
        rng: Seed = 0,
        key: int | None = None,
        rules: Rules | None = None,
        **ways: Any,
    ) -> Self:
        """Return the campaign that a log describes, ready to go on; arguments as of the campaign.

        Raises
        ------
        StateError
            Where its units are not those of the design and the key, or something is said of an item in none of them.
        InputError
            Where it holds what is no event, or a grade off the scale.
        """
        campaign = cls(design, rng=rng, key=key, rules=rules, **ways)
        for event in log:
            campaign._check_event(event)
            if event.kind == "ended":
                campaign.go_on()
            campaign._append(event)
        return campaign

    def _readable(self) -> tuple[Selection, float]:
        """Return what may be read, and the part of the planned budget that it is."""
        blocks, n = self.design.blocks, self.n_complete_blocks
        n_in_order, n_units = self._n_in_order(), len(self.drawing.queries)
        if n_in_order and (n == 0 or self.drawing.block_ends[n - 1] < n_units):
            selection = self.drawing.selection(n_in_order)
            return selection, selection.cost / blocks[-1]
        if self.paths is not None and n_units and self._followed.is_spent:
            return self.block_selection(n), 1.0
        if n == 0 and n_units:
            raise self._incomplete()
        return self.block_selection(max(n, 1) - 1), (blocks[n - 1] / blocks[-1] if n else 0.0)

    def _n_in_order(self) -> int:
        """Return how many units lie below the lowest that waits; 0 where blocks alone may be read."""
        return self._labels.n_below_lowest if self._is_strict and self.paths is None else 0

    def _incomplete(self) -> StateError:
        """Return what to raise where nothing may be read."""
        if self._is_strict:
            return StateError("the lowest unit waits for grades, so there is nothing that may be read")
        if self.paths is not None:
            return self._incomplete_batch()
        end, units = self.drawing.block_ends[0], self._labels.units
        n_asked = min(len(units), end)
        waiting = [unit for unit in units[:end] if self._labels.waits(unit)]
        parts = [f"{end - n_asked} were not asked for"] if n_asked < end else []
        if waiting:
            first = f"unit {waiting[0].number} of query {waiting[0].query_id!r}"
            parts.append(f"{len(waiting)} wait for grades, the first is {first}")
        left = " and ".join(parts)
        return StateError(f"{_NOTHING}: of its {end} units {left}")

    def _incomplete_batch(self) -> StateError:
        if not (n := self.progress.waiting + sum(len(unit.items) for unit in self.planned[len(self.units) :])):
            return UndrawnError(f"{_NOTHING}: what comes next follows from what was judged, and is to be drawn first")
        waiting = next(unit for unit in self.planned if unit.number > len(self.units) or self.n_open(unit))
        return StateError(f"{_NOTHING}: {n} items wait, the first of batch {waiting.block}, query {waiting.query_id!r}")
