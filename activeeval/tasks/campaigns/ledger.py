"""What judges have said: a campaign's log, folded event by event."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from activeeval.campaign import Unit
from activeeval.cases.truths import graded
from activeeval.io.comparisons import Truth
from activeeval.io.tables.draws import CANNOT
from activeeval.store import EventRow
from activeeval.tasks.campaigns.making import WHOLE

Pair = tuple[str, str]


@dataclass(slots=True, kw_only=True)
class Ledger:
    """What judges have said, event by event.

    Attributes
    ----------
    by_unit : dict
        By the number of the unit, document and judge the event that counts, of a grade or of one that cannot be given.
    late : list of EventRow
        Answers that are kept and do not count.
    put_off : list of EventRow
        When somebody has said ``later``.
    clock_ms : list of int
        The active time of all answers whose time was taken, also of those that do not count (any more).
    """

    by_unit: dict[tuple[int, str], dict[str, EventRow]] = field(default_factory=dict)
    late: list[EventRow] = field(default_factory=list)
    put_off: list[EventRow] = field(default_factory=list)
    clock_ms: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, events: Iterable[EventRow]) -> Ledger:
        """Return what a log comes to."""
        ledger, said = cls(), dict[int, EventRow]()
        for event in events:
            if event.kind in ("judged", "cannot"):
                said[event.seq] = event
                ledger.by_unit.setdefault((event.unit or 0, event.doc_id), {})[event.judge] = event
            elif event.kind == "retracted" and event.supersedes in said:
                gone = said[event.supersedes]
                ledger.by_unit[gone.unit or 0, gone.doc_id].pop(gone.judge, None)
            elif event.kind == "late":
                ledger.late.append(event)
            elif event.kind == "later":
                ledger.put_off.append(event)
            if event.active_ms is not None:
                ledger.clock_ms.append(event.active_ms)
        return ledger

    @property
    def answers(self) -> list[EventRow]:
        """All that stands, by unit."""
        return [event for _, own in sorted(self.by_unit.items()) for event in own.values()]

    @property
    def standing(self) -> dict[Pair, dict[str, EventRow]]:
        """What stands by item, a query and a document, and judge: the last of what rounds have asked."""
        found: dict[Pair, dict[str, EventRow]] = {}
        for event in self.answers:
            found.setdefault((event.query_id, event.doc_id), {})[event.judge] = event
        return found

    def said(self, unit: Unit, n_before: int, judges_per_item: int) -> dict[int, dict[str, int]]:
        """Return what judges say of a unit's items; of one that too few have judged nothing yet.

        Parameters
        ----------
        n_before : int
            How many units the rounds before have.
        """
        found = {}
        for item, doc in zip(unit.items, unit.item_ids, strict=True):
            events = self.by_unit.get((n_before + unit.number, doc), {})
            grades = {judge: CANNOT if one.grade is None else one.grade for judge, one in events.items()}
            found[item] = grades if len(grades) >= judges_per_item else {}
        return found

    def ranked(self, unit: Unit, k: int) -> dict[int, dict[str, int]]:
        """Return what the judge of a whole query says of its items, as κ-grades; nothing while it waits."""
        found: dict[int, dict[str, int]] = {item: {} for item in unit.items}
        for judge, event in self.by_unit.get((unit.number, WHOLE), {}).items():
            grades = graded(truth_of(event.body), k) if event.kind == "judged" else {}
            for item, doc in zip(unit.items, unit.item_ids, strict=True):
                found[item][judge] = grades.get(doc, CANNOT)
        return found


def truth_of(body: Mapping[str, Any]) -> Truth:
    """Return the truth that the event of a settled query holds."""
    return Truth(*(tuple(body.get(part, ())) for part in Truth._fields))
