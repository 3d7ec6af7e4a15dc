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
    """Labels of the items of all requested units, updated item by item.

    A unit is what is judged at once: items of one query. An item waits until it has enough grades; then it is judged,
    or unjudgeable if no judge could grade it. Items are given by their index in the pool.
    """

    def __init__(self, design: Design, rules: Rules) -> None:
        """Start without units and labels, except for the labels of earlier samples that the design continues.

        Parameters
        ----------
        design : Design
        rules : Rules
            Number of judges per item, and aggregation of their grades.
        """
        self._design, self._rules = design, rules
        self._units: list[Unit] = []
        self._unit_of: dict[int, Unit] = {}  # by item
        in_hand = design.scheme.in_hand
        self._grades = np.full(design.pool.n_items, -1, dtype=np.int64) if in_hand is None else in_hand.copy()
        self._settled: dict[int, Mapping[str, int]] = {}  # by item that does not wait: grades by judge
        self._cannot: set[int] = set()
        self._differing: dict[int, tuple[int, ...]] = {}  # by item: its grades, if their gains are to be averaged
        self._n_open = Counter[int]()  # waiting items by number of the unit
        self._n_open_of_block = Counter[int]()  # by number of the block, a part of the sample, from 1

    def add(self, unit: Unit) -> None:
        """Add a requested unit (items judged at once); all of its items wait for grades."""
        self._units.append(unit)
        self._unit_of |= dict.fromkeys(unit.items, unit)
        self._n_open[unit.number] = len(unit.items)
        self._n_open_of_block[unit.block] += len(unit.items)

    def judge(self, item: int, grades: Mapping[str, int], decided: int | None = None) -> None:
        """Replace the label of an item by that of all its grades; the item waits if there are too few.

        Parameters
        ----------
        grades : mapping of str to int
            All current grades of the item by judge; `CANNOT` if the judge could not judge it.
        decided : int, optional
            The grade that the lead has decided (adjudicated), in place of the aggregated one once the item does not
            wait.
        """
        unit, was_settled = self._unit_of[item], item in self._settled
        is_differing = self._rules.adjudicate and needs_third(list(grades.values()))
        is_settled = len(grades) >= self._rules.judges_per_item and not is_differing
        self._grades[item] = -1
        for of_items in (self._settled, self._differing):
            of_items.pop(item, None)
        self._cannot.discard(item)
        if is_settled:
            self._settled[item] = dict(grades)
            self._settle(item, given_grades(grades) if decided is None else (decided,))
        if was_settled != is_settled:
            more = -1 if is_settled else 1
            self._n_open[unit.number] += more
            self._n_open_of_block[unit.block] += more

    def _settle(self, item: int, grades: tuple[int, ...]) -> None:
        """Set the label of an item that is complete, aggregated by the policy; without grades it is unjudgeable."""
        self._grades[item] = one_grade(grades, self._rules.policy)
        if not grades:
            self._cannot.add(item)
        elif self._rules.policy == "mean-gain" and len(set(grades)) > 1:
            self._differing[item] = grades

    @property
    def units(self) -> list[Unit]:
        """All requested units (items judged at once), in order."""
        return self._units

    def unit_of(self, item: int) -> Unit | None:
        """Return the unit (items judged at once) of an item, given by index; None if it was not requested."""
        return self._unit_of.get(item)

    def n_open(self, unit: Unit) -> int:
        """Count the items of a requested unit that wait for enough judgments."""
        return self._n_open[unit.number]

    @property
    def is_open(self) -> bool:
        """True if an item of any requested unit waits for a judgment."""
        return any(self._n_open_of_block.values())

    def waits(self, unit: Unit) -> bool:
        """True if an item of this requested unit waits for a judgment."""
        return self._n_open[unit.number] > 0

    def n_complete(self, n_blocks: int) -> int:
        """Count the blocks (sample parts, from number 1) before the first with a waiting item, of ``n_blocks``."""
        waits = (k for k in range(n_blocks) if self._n_open_of_block[k + 1])
        return next(waits, n_blocks)

    @property
    def n_below_lowest(self) -> int:
        """Number of units (items judged at once) before the first one with a waiting item, in the order requested."""
        waits = (k for k, unit in enumerate(self._units) if self._n_open[unit.number])
        return next(waits, len(self._units))

    @property
    def settled(self) -> frozenset[int]:
        """Indices in the pool of the items that are judged or cannot be judged."""
        return frozenset(self._settled)

    @property
    def cannot(self) -> list[int]:
        """Indices in the pool of the items that cannot be judged, ascending; also those of a continued sample."""
        return sorted({*self._cannot, *self._design.scheme.unjudgeable.tolist()})

    @property
    def progress(self) -> Progress:
        """Numbers of requested items that are judged, waiting, and unjudgeable."""
        n_settled, n_cannot = len(self._settled), len(self._cannot)
        return Progress(n_settled - n_cannot, len(self._unit_of) - n_settled, n_cannot)

    @property
    def agreement(self) -> Agreement:
        """Numbers of items judged by several judges and of those on which they agree."""
        return agreement_of(self._settled.values())

    @property
    def grades(self) -> Ints:
        """Aggregated grade of each item, shape (n_items,); −1 without one.

        An item whose judges disagree under the mean-gain policy has the lower median of their grades.
        """
        return self._grades.copy()

    @property
    def soft(self) -> SoftLabels:
        """Label of each item: its aggregated grade.

        Under the mean-gain policy, an item whose judges disagree keeps all their grades; its gain is their mean gain.
        """
        top = self._design.max_grade
        if top is None:  # open scale: use the largest grade seen so far; 0 if no distribution needs a scale
            seen = (grade for grades in self._settled.values() for grade in grades.values())
            top = max(int(self._design.known.max(initial=1)), *seen) if self._differing else 0
        return SoftLabels.of_judges(self.grades, self._differing, top + 1)


def grades_of_place(
    unit: Unit, doc: str, judgments: Mapping[str, Event], judging: Judging
) -> Iterator[tuple[int, dict[str, int]]]:
    """Yield each item (index in the pool) that judgments of a document refer to, with its grades by judge.

    Parameters
    ----------
    unit : Unit
        The unit that contains the document.
    doc : str
        Id of the document.
    judgments : mapping of str to Event
        Current judgments of the document by judge.
    judging : Judging
        Form of the judgments: what a judge answers, and which items an answer grades.
    """
    items = dict(zip(unit.item_ids, unit.items, strict=True))
    for item_id, grades in judging.grades(doc, unit.item_ids, judgments).items():
        yield items[item_id], grades
