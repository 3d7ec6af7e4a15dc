"""The units of a campaign that were asked for, what they are labelled, and which units these labels lead to."""

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


class RequestedUnits:
    """The units of a drawing that were asked for, and the labels of their items.

    Parameters
    ----------
    design : Design
        With a budget.
    key : uint64
        Of the sample.
    rules : Rules
    paths : Paths, optional
        Where depths follow labels: what is known of the paths of queries, and was asked.
    by_batches : bool
        Where depths follow labels: ask for all at a time that is known to be needed, and not for the lowest place.
    surely : bool
        Of batches: see `activeeval.core.campaign.adaptive_batches.AdaptiveBatches.following`.
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
        if design.budget is None:
            raise InputError(f"the design of {design.name!r} has no budget: give one")
        begun = None if design.history is None or paths is not None else QueryPaths.begun(design.history, design.order)
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
        """Whom to judge and how to read it; where depths follow labels, as these have it now."""
        return self.drawn_design if self.paths is None else self._followed.design

    @cached_property
    def _followed(self) -> AdaptiveBatches:
        """What is known where depths follow labels; thrown away where one changes.

        Labels are looked at here, and what follows from them is kept once it is drawn: until then a correction counts.
        """
        assert self.paths is not None
        planned, labels = self.drawn_design, self._labels.soft
        settled = np.zeros(planned.pool.n_items, dtype=np.bool_)
        settled[list(self._labels.settled)] = True
        paths, design = planned.looked(self.paths, labels, settled)
        return AdaptiveBatches(planned, design, paths, settled, self.key)

    def go_on(self) -> bool:
        """Where depths follow labels: draw what these lead to; return whether that is anything.

        Nothing is where the next place follows from a label that waits, nor where the budget may not pay for it.
        """
        if self.paths is None:
            return False
        following = self._followed.following(surely=self.surely) if self.by_batches else self._followed.lowest()
        self.paths = following or self._followed.paths  # what labels led to stays, whatever is corrected now
        if following is None:
            return False
        self._forget()
        self.__dict__.pop("planned", None)
        return True

    @property
    def keeps_what_labels_led_to(self) -> bool:
        """Whether no label has led to more than is kept, so that corrections move no threshold."""
        return self.paths is None or self._followed.paths is self.paths

    def _forget(self) -> None:
        """Where depths follow labels: make anew what rests on these when it is asked for."""
        for name in ("_followed", "_of_paths"):
            self.__dict__.pop(name, None)

    @cached_property
    def _of_paths(self) -> DrawnUnits:
        return self._followed.drawn()

    @property
    def goes_on(self) -> bool:
        """Whether depths follow labels and these lead to something that is not asked so far."""
        return self.paths is not None and self._followed.following(surely=self.surely) is not None

    def keep(self) -> None:
        """Where depths follow labels: let the rates that these have made be what they are."""
        if self.paths is not None:
            self.paths = self._followed.paths
            self._forget()

    @property
    def n_complete_blocks(self) -> int:
        """How many blocks are complete, with all before them."""
        if self.paths is not None:
            return self._followed.n_complete
        ends = self.drawing.block_ends
        n = self._labels.n_complete(len(ends))
        return next((k for k, end in enumerate(ends[:n]) if len(self._labels.units) < end), n)

    def block_selection(self, block: int) -> Selection:
        """Return what comes by the end of a block, from 0."""
        return (
            self.drawing.selection(self.drawing.block_ends[block])
            if self.paths is None
            else self._followed.selection(block)
        )

    def block_of(self, unit: Unit) -> int:
        """Return the block that a unit belongs to, from 1; one more than there are of one above all thresholds."""
        return unit.block if self.paths is None else self._followed.block_at(unit.level)

    @property
    def drawing(self) -> DrawnUnits:
        """The units that there are so far, and what may be read of them."""
        return self._planned_drawing if self.paths is None else self._of_paths

    @property
    def units(self) -> tuple[Unit, ...]:
        """All units drawn so far."""
        return tuple(self._labels.units)

    @cached_property
    def planned(self) -> tuple[Unit, ...]:
        """All units of the sample, drawn or not; where depths follow labels, all that these lead to so far."""
        return units_of(self.drawn_design.order, self.drawing)

    @property
    def planned_end(self) -> str:
        """Why the sample ends where it does."""
        return self.drawing.ended

    @property
    def waiting(self) -> tuple[Unit, ...]:
        """Units that were drawn and wait for a grade."""
        return tuple(unit for unit in self._labels.units if self._labels.waits(unit))

    @property
    def is_open(self) -> bool:
        """Whether an item of the units so far waits for a grade."""
        return self._labels.is_open

    def n_open(self, unit: Unit) -> int:
        """Return how many items of a unit that was drawn wait for a grade."""
        return self._labels.n_open(unit)

    @property
    def spent(self) -> float:
        """What the units so far cost, in mean items."""
        return sum(unit.cost for unit in self._labels.units)

    @property
    def grades(self) -> Ints:
        """Grades that count so far, shape (n_items,); −1 where there is none, as `SoftLabels.grades` for mean gains."""
        return self._labels.grades

    @property
    def labels(self) -> SoftLabels:
        """What estimates are made of: `grades`, and distributions where mean gains count and judges differ."""
        return self._labels.soft

    @property
    def settled(self) -> frozenset[int]:
        """Positions of the items that are judged, or cannot be."""
        return self._labels.settled

    @property
    def progress(self) -> Progress:
        """How many items of the units so far are judged, wait, and cannot be judged."""
        return self._labels.progress

    @property
    def agreement(self) -> Agreement:
        """How many items several judges have judged, and on how many of these they agree."""
        return self._labels.agreement
