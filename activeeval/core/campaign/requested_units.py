"""The units of a campaign requested so far, the labels of their items, and the units that these labels lead to."""

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
    """The units of a drawing requested so far, and the labels of their items.

    Parameters
    ----------
    design : Design
        With a budget.
    key : uint64
        Key of the sample.
    rules : Rules
    paths : QueryPaths, optional
        With adaptive depth: the known part of the paths of queries, and the places requested so far.
    by_batches : bool
        With adaptive depth: request all places likely to be needed at a time, instead of only the lowest place.
    surely : bool
        With batches: see `activeeval.core.campaign.adaptive_batches.AdaptiveBatches.following`.
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
        """The design; with adaptive depth, under the current labels."""
        return self.drawn_design if self.paths is None else self._followed.design

    @cached_property
    def _followed(self) -> AdaptiveBatches:
        """State of adaptive depth under the current labels; recomputed after a label changes.

        What follows from the labels becomes fixed once it is drawn: until then a correction of a label changes it.
        """
        assert self.paths is not None
        planned, labels = self.drawn_design, self._labels.soft
        settled = np.zeros(planned.pool.n_items, dtype=np.bool_)
        settled[list(self._labels.settled)] = True
        paths, design = planned.looked(self.paths, labels, settled)
        return AdaptiveBatches(planned, design, paths, settled, self.key)

    def go_on(self) -> bool:
        """With adaptive depth: draw the places that the labels lead to; return True if there are any.

        There are none if the next place depends on a missing label, or if the budget may not pay for it.
        """
        if self.paths is None:
            return False
        following = self._followed.following(surely=self.surely) if self.by_batches else self._followed.lowest()
        self.paths = following or self._followed.paths  # rates fixed by labels stay, whatever is corrected later
        if following is None:
            return False
        self._forget()
        self.__dict__.pop("planned", None)
        return True

    @property
    def keeps_what_labels_led_to(self) -> bool:
        """True if all rates determined by labels are fixed, so that corrections move no threshold."""
        return self.paths is None or self._followed.paths is self.paths

    def _forget(self) -> None:
        """With adaptive depth: clear cached values that depend on labels."""
        for name in ("_followed", "_of_paths"):
            self.__dict__.pop(name, None)

    @cached_property
    def _of_paths(self) -> DrawnUnits:
        """Units drawn so far with adaptive depth."""
        return self._followed.drawn()

    @property
    def goes_on(self) -> bool:
        """True if depths follow labels and these lead to places not requested so far."""
        return self.paths is not None and self._followed.following(surely=self.surely) is not None

    def keep(self) -> None:
        """With adaptive depth: make the rates that follow from the current labels permanent."""
        if self.paths is not None:
            self.paths = self._followed.paths
            self._forget()

    @property
    def n_complete_blocks(self) -> int:
        """Number of complete blocks, counted from the first."""
        if self.paths is not None:
            return self._followed.n_complete
        ends = self.drawing.block_ends
        n = self._labels.n_complete(len(ends))
        return next((k for k, end in enumerate(ends[:n]) if len(self._labels.units) < end), n)

    def block_selection(self, block: int) -> Selection:
        """Return the selection at the end of a block, from 0."""
        return (
            self.drawing.selection(self.drawing.block_ends[block])
            if self.paths is None
            else self._followed.selection(block)
        )

    def block_of(self, unit: Unit) -> int:
        """Return the block of a unit, from 1; the number of blocks plus 1 above all thresholds."""
        return unit.block if self.paths is None else self._followed.block_at(unit.level)

    @property
    def drawing(self) -> DrawnUnits:
        """The units known so far, with their selections."""
        return self._planned_drawing if self.paths is None else self._of_paths

    @property
    def units(self) -> tuple[Unit, ...]:
        """All units drawn so far."""
        return tuple(self._labels.units)

    @cached_property
    def planned(self) -> tuple[Unit, ...]:
        """All units of the sample, drawn or not; with adaptive depth, all that the labels lead to so far."""
        return units_of(self.drawn_design.order, self.drawing)

    @property
    def planned_end(self) -> str:
        """Reason why the sample ends where it does."""
        return self.drawing.ended

    @property
    def waiting(self) -> tuple[Unit, ...]:
        """Drawn units that wait for a grade."""
        return tuple(unit for unit in self._labels.units if self._labels.waits(unit))

    @property
    def is_open(self) -> bool:
        """True if an item of the units so far waits for a grade."""
        return self._labels.is_open

    def n_open(self, unit: Unit) -> int:
        """Count the items of a drawn unit that wait for a grade."""
        return self._labels.n_open(unit)

    @property
    def spent(self) -> float:
        """Cost of the units so far, in mean items."""
        return sum(unit.cost for unit in self._labels.units)

    @property
    def grades(self) -> Ints:
        """Aggregated grades so far, shape (n_items,), −1 for none; as `SoftLabels.grades` for mean gains."""
        return self._labels.grades

    @property
    def labels(self) -> SoftLabels:
        """Labels for estimates: `grades`, or distributions for items with disagreement under the mean-gain policy."""
        return self._labels.soft

    @property
    def settled(self) -> frozenset[int]:
        """Positions of the items that are judged or cannot be judged."""
        return self._labels.settled

    @property
    def progress(self) -> Progress:
        """Numbers of items of the units so far that are judged, waiting, and unjudgeable."""
        return self._labels.progress

    @property
    def agreement(self) -> Agreement:
        """Numbers of items judged by several judges and of those on which they agree."""
        return self._labels.agreement
