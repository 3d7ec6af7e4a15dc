"""The units of a campaign requested so far, the labels of their items, and the units that these labels lead to.

A unit is what is judged at once: items of one query. With adaptive depth, labels decide which places (items in the
judging order of their query) are judged next.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from activeeval.core.campaign.adaptive_batches import KEPT, AdaptiveBatches
from activeeval.core.campaign.judging_rules import Rules
from activeeval.core.campaign.labels import Labels, Progress
from activeeval.core.campaign.units import Unit, units_of
from activeeval.core.design import Design, DrawnUnits, Selection
from activeeval.core.design.query_paths import QueryPaths
from activeeval.core.errors import InputError
from activeeval.core.judgments.policies import Agreement
from activeeval.core.measures import SoftLabels
from activeeval.core.types import Ints

_SHARES = (0.25, 0.5, 0.75, 1.0)
"""Shares of the budget at which blocks of a sample in batches end."""


class RequestedUnits:
    """The units of a sample requested so far, and the labels of their items.

    A unit is what is judged at once: items of one query.
    """

    def __init__(
        self,
        design: Design,
        key: np.uint64,
        rules: Rules,
        paths: QueryPaths | None = None,
        *,
        by_batches: bool = False,
        surely: bool = False,
    ) -> None:
        """Draw a sample; with adaptive depth, where labels decide how deep to judge, what is known of it so far.

        Parameters
        ----------
        design : Design
            With a budget.
        key : uint64
            Key (seed) of the sample.
        rules : Rules
            Number of judges per item, and aggregation of their grades.
        paths : QueryPaths, optional
            With adaptive depth: the sampling rates fixed and the places requested so far, to continue a sample.
        by_batches : bool
            With adaptive depth: request all places (items in judging order) likely to be needed at a time, instead of
            only the next one.
        surely : bool
            With batches: never risk more than the reserve of the budget, so that the sample is always completed; see
            `activeeval.core.campaign.adaptive_batches.AdaptiveBatches.following`.

        Raises
        ------
        InputError
            If the design has no budget, or its order was gathered for another key.
        """
        if design.budget is None:
            raise InputError(f"the design of {design.name!r} has no budget: give one")
        begun = None if design.history is None or paths is not None else QueryPaths.begun(design.history, design.order)
        # batches need blocks and a reserve, unless no label changes a rate or everything can be judged
        pays_for_all = design.budget >= design.order.cost
        if by_batches and begun is not None and not (begun.is_whole(design.order) or pays_for_all):
            design = design.in_blocks([(1 - KEPT) * share * design.budget for share in _SHARES])
        self.drawn_design, self.key, self.rules = design, key, rules
        self.by_batches, self.surely = by_batches, surely
        self._labels = Labels(design, rules)
        self.paths = paths or begun
        if paths is None:
            design.order.check_key(key)
        if begun is not None:
            self.go_on()
        elif paths is None:
            self._planned_drawing = design.scheme.drawn(design.order, key, design.blocks, expected=design.expected)

    @property
    def design(self) -> Design:
        """The design; with adaptive depth (labels decide how deep to judge), as the current labels determine it."""
        return self.drawn_design if self.paths is None else self._followed.design

    @cached_property
    def _followed(self) -> AdaptiveBatches:
        """State of a sample with adaptive depth (labels decide how deep to judge) under the current labels.

        It is recomputed after a label changes. A place's sampling rate, which labels determine, becomes fixed once the
        place (item in judging order) is requested; until then a correction of a label changes it.
        """
        assert self.paths is not None
        planned, labels = self.drawn_design, self._labels.soft
        settled = np.zeros(planned.pool.n_items, dtype=np.bool_)
        settled[list(self._labels.settled)] = True
        paths, design = planned.looked(self.paths, labels, settled)
        return AdaptiveBatches(planned, design, paths, settled, self.key)

    def go_on(self) -> bool:
        """Request the next items that the labels determine (adaptive depth); return True if there are any.

        There are none without adaptive depth, if the next item depends on a missing label, or if the budget may not pay
        for it.
        """
        if self.paths is None:
            return False
        following = self._followed.following(surely=self.surely) if self.by_batches else self._followed.lowest()
        self.paths = following or self._followed.paths  # rates fixed by labels stay, whatever is corrected later
        if following is None:
            return False
        self._forget()
        self.__dict__.pop("planned", None)  # the cached units, to which a batch was added
        return True

    @property
    def keeps_what_labels_led_to(self) -> bool:
        """True if all sampling rates determined by labels are fixed: later corrections do not change the sample.

        It is always True without adaptive depth (labels decide how deep to judge). Labels that determine a further rate
        make `_followed` hold new paths, so that the same object means that nothing is left to fix.
        """
        return self.paths is None or self._followed.paths is self.paths

    def _forget(self) -> None:
        """Clear the cached values of adaptive depth that depend on labels."""
        for name in ("_followed", "_of_paths"):
            self.__dict__.pop(name, None)

    @cached_property
    def _of_paths(self) -> DrawnUnits:
        """Units (items judged at once) requested so far, with adaptive depth (labels decide how deep to judge)."""
        return self._followed.drawn()

    @property
    def goes_on(self) -> bool:
        """True if the labels so far determine further items to request; always False without adaptive depth."""
        return self.paths is not None and self._followed.following(surely=self.surely) is not None

    def keep(self) -> None:
        """Fix the sampling rates that the current labels determine (adaptive depth): corrections do not change them."""
        if self.paths is not None:
            self.paths = self._followed.paths
            self._forget()

    @property
    def n_complete_blocks(self) -> int:
        """Number of blocks (parts of the budget), from the first on, whose units are all requested and judged."""
        if self.paths is not None:
            return self._followed.n_complete
        ends = self.drawing.block_ends
        n = self._labels.n_complete(len(ends))
        return next((k for k, end in enumerate(ends[:n]) if len(self._labels.units) < end), n)

    def block_selection(self, block: int) -> Selection:
        """Return the items sampled by the end of a block (a part of the budget), counted from 0."""
        return (
            self.drawing.selection(self.drawing.block_ends[block])
            if self.paths is None
            else self._followed.selection(block)
        )

    def block_of(self, unit: Unit) -> int:
        """Return the number, from 1, of the block (part of the budget) that contains a unit.

        After the last block it is the number of blocks plus 1, possible with adaptive depth.
        """
        return unit.block if self.paths is None else self._followed.block_at(unit.level)

    @property
    def drawing(self) -> DrawnUnits:
        """The units (items judged at once) known so far: all of the sample, or with adaptive depth those requested."""
        return self._planned_drawing if self.paths is None else self._of_paths

    @property
    def units(self) -> tuple[Unit, ...]:
        """All units (items judged at once) requested so far, in order."""
        return tuple(self._labels.units)

    @cached_property
    def planned(self) -> tuple[Unit, ...]:
        """All units (items judged at once) of the sample, requested or not.

        With adaptive depth, these are the units that labels have determined so far.
        """
        return units_of(self.drawn_design.order, self.drawing)

    @property
    def planned_end(self) -> str:
        """Reason why the sample ends where it does, as text."""
        return self.drawing.ended

    @property
    def waiting(self) -> tuple[Unit, ...]:
        """Requested units (items judged at once) with an item that waits for a grade."""
        return tuple(unit for unit in self._labels.units if self._labels.waits(unit))

    @property
    def is_open(self) -> bool:
        """True if an item of the requested units (items judged at once) waits for a grade."""
        return self._labels.is_open

    def n_open(self, unit: Unit) -> int:
        """Count the items of a requested unit that wait for a grade."""
        return self._labels.n_open(unit)

    @property
    def spent(self) -> float:
        """Cost of the requested units (items judged at once), in mean items (the mean item of the pool costs 1)."""
        return sum(unit.cost for unit in self._labels.units)

    @property
    def grades(self) -> Ints:
        """Aggregated grade of each item so far, shape (n_items,); −1 without one."""
        return self._labels.grades

    @property
    def labels(self) -> SoftLabels:
        """Labels for estimates: the aggregated grade of each item.

        Under the mean-gain policy, an item whose judges differ keeps all their grades; its gain is their mean gain.
        """
        return self._labels.soft

    @property
    def settled(self) -> frozenset[int]:
        """Indices in the pool of the items that are judged or cannot be judged."""
        return self._labels.settled

    @property
    def progress(self) -> Progress:
        """Numbers of items of the requested units (items judged at once) that are judged, waiting, and unjudgeable."""
        return self._labels.progress

    @property
    def agreement(self) -> Agreement:
        """Numbers of items judged by several judges and of those on which they agree."""
        return self._labels.agreement
