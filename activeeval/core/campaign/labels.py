"""Label of every item of a sample, aggregated from its current judgments by a policy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from activeeval.core.campaign.judging_rules import Rules
from activeeval.core.campaign.units import Unit
from activeeval.core.design import Design
from activeeval.core.judgments.judging import Judging
from activeeval.core.judgments.log import Event
from activeeval.core.judgments.policies import Agreement, agreement_of, given_grades, needs_third, one_grade
from activeeval.core.measures import SoftLabels
from activeeval.core.types import Ints


class Progress(NamedTuple):
    """Numbers of items of a sample that are judged, waiting, and unjudgeable."""

    judged: int
    waiting: int
    cannot: int


class Labels:
    """Labels of the items of all drawn units, and which items wait; updated item by item.

    Parameters
    ----------
    design : Design
    rules : Rules
    """

    def __init__(self, design: Design, rules: Rules) -> None:
        self._design, self._rules = design, rules
        self._units: list[Unit] = []
        self._unit_of: dict[int, Unit] = {}
        in_hand = design.scheme.in_hand
        self._grades = np.full(design.pool.n_items, -1, dtype=np.int64) if in_hand is None else in_hand.copy()
        self._given: dict[int, Mapping[str, int]] = {}
        self._cannot: set[int] = set()
        self._differing: dict[int, tuple[int, ...]] = {}
        self._n_open = Counter[int]()
        self._n_open_of_block = Counter[int]()

    def add(self, unit: Unit) -> None:
        """Add a drawn unit, all of whose items wait."""
        self._units.append(unit)
        self._unit_of |= dict.fromkeys(unit.items, unit)
        self._n_open[unit.number] = len(unit.items)
        self._n_open_of_block[unit.block] += len(unit.items)

    def judge(self, item: int, grades: Mapping[str, int], decided: int | None = None) -> None:
        """Update the label of an item from all its grades by judge; `CANNOT` marks a judge who could not judge it.

        The item waits if there are too few grades.

        Parameters
        ----------
        decided : int, optional
            An adjudicated grade, which replaces the aggregation once the item does not wait.
        """
        unit, was_settled = self._unit_of[item], item in self._given
        is_differing = self._rules.adjudicate and needs_third(list(grades.values()))
        is_settled = len(grades) >= self._rules.judges_per_item and not is_differing
        self._grades[item] = -1
        for of_items in (self._given, self._differing):
            of_items.pop(item, None)
        self._cannot.discard(item)
        if is_settled:
            self._given[item] = dict(grades)
            self._settle(item, given_grades(grades) if decided is None else (decided,))
        if was_settled != is_settled:
            more = -1 if is_settled else 1
            self._n_open[unit.number] += more
            self._n_open_of_block[unit.block] += more

    def _settle(self, item: int, grades: tuple[int, ...]) -> None:
        """Aggregate the grades of a complete item by the policy."""
        self._grades[item] = one_grade(grades, self._rules.policy)
        if not grades:
            self._cannot.add(item)
        elif self._rules.policy == "mean-gain" and len(set(grades)) > 1:
            self._differing[item] = grades

    @property
    def units(self) -> list[Unit]:
        """All drawn units, in order."""
        return self._units

    def unit_of(self, item: int) -> Unit | None:
        """Return the unit of a drawn item; None for other items."""
        return self._unit_of.get(item)

    def n_open(self, unit: Unit) -> int:
        """Count the items of a drawn unit that wait for a judgment."""
        return self._n_open[unit.number]

    @property
    def is_open(self) -> bool:
        """True if an item of any drawn unit waits for a judgment."""
        return any(self._n_open_of_block.values())

    def waits(self, unit: Unit) -> bool:
        """True if an item of a drawn unit waits for a judgment."""
        return self._n_open[unit.number] > 0

    def n_complete(self, n_blocks: int) -> int:
        """Count the first blocks, of ``n_blocks``, without waiting items."""
        waits = (k for k in range(n_blocks) if self._n_open_of_block[k + 1])
        return next(waits, n_blocks)

    @property
    def n_below_lowest(self) -> int:
        """Number of units below the lowest waiting one."""
        waits = (k for k, unit in enumerate(self._units) if self._n_open[unit.number])
        return next(waits, len(self._units))

    @property
    def settled(self) -> frozenset[int]:
        """Positions of the items that are judged or cannot be judged."""
        return frozenset(self._given)

    @property
    def cannot(self) -> list[int]:
        """Positions of the items that cannot be judged, ascending."""
        return sorted({*self._cannot, *self._design.scheme.unjudgeable.tolist()})

    @property
    def progress(self) -> Progress:
        """Numbers of drawn items that are judged, waiting, and unjudgeable."""
        n_settled, n_cannot = len(self._given), len(self._cannot)
        return Progress(n_settled - n_cannot, len(self._unit_of) - n_settled, n_cannot)

    @property
    def agreement(self) -> Agreement:
        """Numbers of items judged by several judges and of those on which they agree."""
        return agreement_of(self._given.values())

    @property
    def grades(self) -> Ints:
        """Aggregated grade of each item, shape (n_items,), −1 for none; otherwise as `SoftLabels.grades`."""
        return self._grades.copy()

    @property
    def soft(self) -> SoftLabels:
        """Label of each item; under the mean-gain policy, items with disagreement keep all their grades."""
        top = self._design.max_grade
        if top is None:  # open scale: use the largest grade seen so far
            seen = (grade for grades in self._given.values() for grade in grades.values())
            top = max(int(self._design.known.max(initial=1)), *seen) if self._differing else 0
        return SoftLabels.of_judges(self.grades, self._differing, top + 1)


def grades_of_place(
    unit: Unit, doc: str, judgments: Mapping[str, Event], judging: Judging
) -> Iterator[tuple[int, dict[str, int]]]:
    """Yield each item that judgments of a document refer to, with its grades by judge."""
    items = dict(zip(unit.item_ids, unit.items, strict=True))
    for item_id, grades in judging.grades(doc, unit.item_ids, judgments).items():
        yield items[item_id], grades
