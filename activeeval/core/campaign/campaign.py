"""Campaign: ask for a unit (what is judged at once), tell its grades, estimate any target, replay a log.

The units follow from a design and a key; their state is the fold of an append-only event log
(`activeeval.core.judgments.state`). A live campaign appends an event and applies it, a replay applies the same events
again, and a campaign whose log is kept in a store applies the events added since its last update.
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
"""Maps a query id and item ids to a grade for each item; None for an item that cannot be judged."""

_NOTHING = "the first block is not complete, so no estimate is possible yet"


class Campaign(Record):
    """A judging campaign: hands out units, records their grades and estimates any target from them.

    Parameters
    ----------
    design : Design
    budget : float, optional
        In mean items of the pool; required if the design has none. See `Design.with_budget`.
    rng : Generator, SeedSequence, int or None
        A seed determines the sample, independent of the order of rows; None takes the operating system's randomness.
    blocks : sequence of float, optional
        Cumulated budgets at which the sample may be read early; see `Design.with_budget`.
    key : int, optional
        In place of ``rng``: the key of a sample that was drawn before.
    rules : Rules, optional
        Number of judges per item and aggregation of their grades; by default the last judgment counts.
    **ways
        paths, by_batches and surely, for a design with adaptive depth; see
        `activeeval.core.campaign.requested_units.RequestedUnits`; by default one place at a time, the lowest.

    Raises
    ------
    BudgetError
        If the budget does not pay for the most expensive unit.

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
        """Set the design's budget and draw the sample of a key, given by ``key`` or from ``rng`` and known grades.

        ``budget`` and ``blocks``, cumulated budgets at which the sample may be read, are in mean items (the mean item
        costs 1); by default the design's. ``rules``: judges per item, and aggregation of their grades. ``ways`` are
        ``paths``, ``by_batches`` and ``surely``, for adaptive depth (labels decide how deep to judge).
        """
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
        """Return a copy that can be estimated from all units (items judged at once) before the first ungraded one.

        Otherwise only whole blocks (parts of the budget) are used. Units must be judged strictly in order: to skip
        units and read below the first skipped one would bias the estimate. With replacement nothing changes.
        """
        strict = copy(self)
        strict._is_strict = self.design.scheme.can_be_topped_up
        return strict

    @property
    def selection(self) -> Selection:
        """Sampled items that estimates use: all blocks (parts of the budget) that are judged; StateError if none is."""
        return self._readable()[0]

    @property
    def grade_slope(self) -> GradeSlope | None:
        """Slope of human grades on the model's expected grades, over the items that estimates use (`selection`)."""
        return grade_slope(self.design, self.selection, np.asarray(self.labels.grades))

    @property
    def read_budget(self) -> float:
        """Budget, in mean items (cost 1), that estimates use once all is judged: without adaptive depth's reserve."""
        return self.drawn_design.blocks[-1]

    @property
    def reached_budget(self) -> float:
        """Budget, in mean items (which cost 1), that the sample has reached: further judgments continue from there."""
        if self.design.scheme.goes_on:  # it continues earlier samples: its budget was an expected cost
            return self.selection.cost
        is_done = self.paths is not None and not self.progress.waiting and not self.goes_on
        return min(self.selection.cost, self.read_budget) if is_done else self.read_budget  # may end below it

    @property
    def n_unread(self) -> int:
        """Number of judged items that estimates leave out, as the budget ended before them; 0 while judging goes on."""
        if self.paths is None or self.progress.waiting or self.goes_on:
            return 0
        read = set(self.design.order.items[self.selection.places].tolist())
        return sum(item not in read for unit in self.units for item in unit.items)

    @property
    def whole_selection(self) -> Selection:
        """Sampled items that estimates use once all of the sample is judged."""
        return self.block_selection(len(self.design.blocks) - 1)

    @property
    def complete_block(self) -> tuple[int, float]:
        """Number, from 1, of the last block (budget part) that is judged, and the level where it ends; 0 and 0 if none.

        Units are judged by ascending level. In strict order, the level is that of the lowest ungraded unit.
        """
        n = self.n_complete_blocks
        return (0, 0.0) if not n and not self._n_in_order() else (n, self.selection.level)

    def run(self, judge: Judge) -> Estimate:
        """Judge every unit by ``judge(query_id, item_ids)``, which returns grades (None: cannot judge); estimate."""
        while (unit := self.ask()) is not None:
            self.tell(unit, judge(unit.query_id, list(unit.item_ids)))
        return self.estimate()

    def estimate(self, target: Target | None = None, *, scope: str = "pool") -> Estimate:
        """Estimate a target from the whole sample, or up to the end of its last judged block (part of the budget).

        Parameters
        ----------
        target : Target, optional
            Any target that the sample covers; by default the first one that it was made for.
        scope : {"pool", "population"}
            The queries that the estimate is for: those of the pool, or all that these are a sample of.

        Raises
        ------
        StateError
            If no block is complete: ignoring units (items judged at once) that wait for grades would bias the estimate.
        InputError
            If an item whose label can change the target's value could not be drawn.
        """
        selection, share = self._readable()
        return read(self.design, selection, self.labels, self._labels.cannot, target, scope, share)

    def interval(
        self, kind: IntervalKind | str, confidence: float = 0.95, target: Target | None = None, *, scope: str = "pool"
    ) -> Interval:
        """Compute an interval of a kind, given by instance or name, for a target (by default the sample's first).

        ``scope`` is "pool", its queries, or "population", all queries that these are a sample of. Raise InputError if
        the kind is unknown, or "group-sequential" and no block (budget part) just ended; else the errors of `estimate`.
        """
        kind = find_interval(kind)() if isinstance(kind, str) else kind
        selection, share = self._readable()
        n, whole = self.n_complete_blocks, self.design.planned or math.nan  # a campaign has a budget
        selections, shares = [self.block_selection(k) for k in range(n)], [b / whole for b in self.design.blocks[:n]]
        if not selections or selections[-1].level != selection.level:  # read inside a block
            if kind.name == "group-sequential":
                raise InputError("group-sequential intervals are planned for the ends of blocks")
            selections, shares = [selection], [share]
        looks = looks_at(self.design, selections, shares, self.labels, target, scope)
        return kind.interval(looks, confidence)

    def half_width_at_end(
        self, confidence: float = 0.95, target: Target | None = None, *, scope: str = "pool"
    ) -> float:
        """Predict the half-width of the t interval once all of the sample is judged.

        ``target`` is by default the sample's first; ``scope`` is "pool", its queries, or "population", all queries that
        these are a sample of. NaN for a pool processed in parts that do not fit in memory: these allow no prediction.
        """
        outlook = self.outlook(target, scope=scope)
        if outlook is None:
            return math.nan
        if self.paths is not None and self._followed.is_spent:  # no more can be requested
            return outlook.at_selection(self.selection, confidence)
        if self.paths is not None and self.n_complete_blocks < len(self.drawn_design.blocks):
            return outlook.at_budget(self.read_budget, confidence)  # the final selection is not known yet
        return outlook.at_selection(self.whole_selection, confidence)

    def outlook(self, target: Target | None = None, *, scope: str = "pool") -> Outlook | None:
        """Forecast the variance at larger budgets for a scope, "pool" or "population"; None if the pool is in parts."""
        before = self._variances(self.readings[:-1], target, scope)
        return Outlook.of(self.design, self.selection, self.labels, target, scope, before)

    @property
    def readings(self) -> list[Selection]:
        """Sampled items at each interim analysis: at the planned budget, at every top-up (budget increase), and now.

        If the planned budget is not all judged, there is a single analysis, the current one.
        """
        drawn, now = self.drawn_design, self.selection
        planned = (drawn.planned or math.inf) * (1 - ROUNDING)
        ends = [k for k in range(self.n_complete_blocks) if drawn.blocks[k] >= planned]
        return [*(whole for whole in map(self.block_selection, ends) if whole.level < now.level), now]

    def confidence_now(self, confidence: float, target: Target | None = None, *, scope: str = "pool") -> float:
        """Compute the confidence to use now so that the intervals of all interim analyses hold jointly.

        Their joint confidence is ``confidence``. For the population it is at least that for the pool (inner interval).
        """
        each = [confidence_after(variances, confidence) for variances in self._looks(target, scope)]
        return max(each, default=confidence)

    def p_value_now(self, p_value: float, target: Target | None = None, *, scope: str = "pool") -> float:
        """Adjust a single analysis's p value for all interim analyses so far, which share the error probability."""
        each = [p_value_after(variances, p_value) for variances in self._looks(target, scope)]
        return max(each, default=p_value)

    def _looks(self, target: Target | None, scope: str) -> list[list[float]]:
        """Compute variances at all interim analyses, for the pool, then ``scope`` if wider; [] if there is only one."""
        readings = self.readings
        scopes = [scope] if scope == "pool" else ["pool", scope]
        return [self._variances(readings, target, each) for each in scopes] if readings[1:] else []

    def _variances(self, selections: Sequence[Selection], target: Target | None, scope: str) -> list[float]:
        """Return the variance of a target's estimate from each of several selections (sampled items)."""
        if not selections:
            return []
        looks = looks_at(self.design, selections, [1.0] * len(selections), self.labels, target, scope)
        return [look.evaluated.variance for look in looks]

    def topped_up(self, more: float) -> Campaign:
        """Return the campaign with ``more`` budget, in mean items (which cost 1): same judgments and one more block."""
        log = [event for event in self._log if event.kind != "ended"]  # judging goes on
        return self._rebuilt(self.grown(more), log)

    def grown(self, more: float) -> Design:
        """Return the design with ``more`` budget, in mean items (which cost 1); InputError if it cannot have more."""
        grown, before = self.drawn_design.topped_up(more), self.drawn_design
        if self.paths is None or grown.budget is None or before.budget is None:
            return grown
        return replace(grown, blocks=(*before.blocks, grown.budget * before.blocks[-1] / before.budget))  # less reserve

    def believing(self, design: Design) -> Self:
        """Return the campaign, with all its judgments, under another design: other predictions, same judging order."""
        return self._rebuilt(design, self._log)

    @property
    def ways(self) -> dict[str, Any]:
        """The constructor's options for adaptive depth (labels decide how deep to judge), with their current values."""
        return {"paths": self.paths, "by_batches": self.by_batches, "surely": self.surely}

    def unjudged(self, rules: Rules | None = None) -> Campaign:
        """Return the campaign, with the same sample, without any judgments, optionally with other rules of judging."""
        return Campaign(self.drawn_design, key=int(self.key), rules=rules or self.rules, **self.ways)

    def following(self) -> tuple[Campaign, bool]:
        """Draw the next batch of items that the labels determine; return the new campaign, and True if it has a batch.

        Without a batch, the new campaign fixes the sampling rates found so far: later corrections do not change them.
        """
        following = self.believing(self.drawn_design)
        return following, following.go_on()

    def _rebuilt(self, design: Design, log: Iterable[Event]) -> Self:
        """Rebuild the campaign with another design from the same log: its own, or a store's, which it then follows."""
        ways: dict[str, Any] = {"key": int(self.key), "rules": self.rules, **self.ways}
        if not self._has_external_log:
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
        """Rebuild a campaign from its log, ready to continue; ``rng``, ``key``, ``rules`` and ``ways`` as it had them.

        Raise StateError if its units (items judged at once) are not those of the design and the key, or an event names
        an item outside them; InputError if the log contains something other than an event, or a grade off the scale.
        """
        campaign = cls(design, rng=rng, key=key, rules=rules, **ways)
        for event in log:
            campaign._check_event(event)
            if event.kind == "ended":
                campaign.go_on()
            campaign._append(event)
        return campaign

    def _readable(self) -> tuple[Selection, float]:
        """Return the sampled items that estimates may use now, and their share of the budget; StateError if none."""
        blocks, n = self.design.blocks, self.n_complete_blocks
        n_in_order, n_units = self._n_in_order(), len(self.drawing.queries)
        if n_in_order and (n == 0 or self.drawing.block_ends[n - 1] < n_units):
            selection = self.drawing.selection(n_in_order)
            return selection, selection.cost / blocks[-1]  # strict order: all units before the first ungraded one
        if self.paths is not None and n_units and self._followed.is_spent:
            return self.block_selection(n), 1.0  # adaptive depth: no more can be requested, the reserve is used up
        if n == 0 and n_units:
            raise self._incomplete()
        return self.block_selection(max(n, 1) - 1), (blocks[n - 1] / blocks[-1] if n else 0.0)

    def _n_in_order(self) -> int:
        """Count the units before the first ungraded one; 0 if estimates may use only whole blocks (budget parts)."""
        return self._labels.n_below_lowest if self._is_strict and self.paths is None else 0

    def _incomplete(self) -> StateError:
        """Build the error that says why no estimate is possible yet."""
        if self._is_strict:
            return StateError("the lowest unit waits for grades, so no estimate is possible yet")
        if self.paths is not None:
            return self._incomplete_batch()
        end, units = self.drawing.block_ends[0], self._labels.units
        n_asked = min(len(units), end)
        waiting = [unit for unit in units[:end] if self._labels.waits(unit)]
        parts = [f"{end - n_asked} were not requested"] if n_asked < end else []
        if waiting:
            first = f"unit {waiting[0].number} of query {waiting[0].query_id!r}"
            parts.append(f"{len(waiting)} wait for grades, the first is {first}")
        left = " and ".join(parts)
        return StateError(f"{_NOTHING}: of its {end} units {left}")

    def _incomplete_batch(self) -> StateError:
        """Build the error that says, with adaptive depth, why no estimate is possible yet."""
        if not (n := self.progress.waiting + sum(len(unit.items) for unit in self.planned[len(self.units) :])):
            return UndrawnError(f"{_NOTHING}: the labels so far determine the next batch: draw it first")
        waiting = next(unit for unit in self.planned if unit.number > len(self.units) or self.n_open(unit))
        return StateError(f"{_NOTHING}: {n} items wait, the first of batch {waiting.block}, query {waiting.query_id!r}")
