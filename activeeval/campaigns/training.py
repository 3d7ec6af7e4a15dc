"""Training items with known grades, which each judge grades before the real ones; they never count."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from activeeval.campaigns.desk_views import ItemView
from activeeval.campaigns.report.judges_content import TrainingScore
from activeeval.campaigns.store import ItemTexts, Store
from activeeval.core.errors import InputError, shown
from activeeval.core.judgments.log import Event
from activeeval.core.judgments.wilson_intervals import share_of

if TYPE_CHECKING:
    from activeeval.formats.tables.sheets import Sheet

MOST = 10
"""Maximum number of training items, the first of the file: judges would read more with less care."""
_TEXTS = ("need", "title", "text", "url")
_IDS = ("query_id", "doc_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownItem:
    """An item with a known grade, for training or as a control.

    Attributes
    ----------
    key : str
        Digest of its content.
    item : ItemView
        The item as displayed.
    grade : int
    why : str
        Reason for the grade; may be empty.
    """

    key: str
    item: ItemView
    grade: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingView:
    """The page of a training item (one with a known grade, judged before the real ones).

    Attributes
    ----------
    known : KnownItem
        The item, with its known grade and the reason.
    number, n : int
        Number of the item, from 1, and number of items.
    said : int or None
        The judge's grade; None before the answer.
    """

    known: KnownItem
    number: int
    n: int
    said: int | None


def read_known(path: str, max_grade: int, most: int | None = MOST) -> list[KnownItem]:
    """Read items with known grades: a table of query, grade and optionally need, title, text, url and why.

    Controls also have columns query_id and doc_id.

    Parameters
    ----------
    path : str
        File of the table.
    max_grade : int
        Largest grade of the scale.
    most : int or None
        Maximum number of items, the first of the table; None for all.

    Raises
    ------
    InputError
        If there is no such table, or a grade is not on the scale.
    """
    from activeeval.formats.tables.read_tables import sheet_parts

    items: list[KnownItem] = []
    for part in sheet_parts(path, 4096):
        sheet = part.plainly_named()
        for name in ("query", "grade"):
            sheet.column(name, (name,))  # raises InputError if the column is missing
        items += [_item(sheet, row, max_grade) for row in range(sheet.n_rows)]
    if not items:
        raise InputError(f"{path}: has no item with a known grade")
    return items[:most]


def training_of(store: Store, name: str, judge: str, known: Sequence[KnownItem]) -> TrainingView | None:
    """Build the page of the judge's next training item; None if the judge has answered all ``known`` items."""
    done = {str(event.body["item"]) for event in store.trainings(name, judge)} if known else set()
    for number, item in enumerate(known, start=1):
        if item.key not in done:
            return TrainingView(known=item, number=number, n=len(known), said=None)
    return None


def trained_on(store: Store, name: str, judge: str, known: Sequence[KnownItem], number: int) -> TrainingView:
    """Build the page of the answered training item with this number, from 1.

    Raises InputError if the judge has not answered it. ``known`` are all training items.
    """
    grades = {str(event.body["item"]): event.grade for event in store.trainings(name, judge)}
    if not 1 <= number <= len(known) or known[number - 1].key not in grades:
        raise InputError(f"item {number} of the training is not answered yet")
    item = known[number - 1]
    return TrainingView(known=item, number=number, n=len(known), said=grades[item.key])


def trained(events: Sequence[Event]) -> list[TrainingScore]:
    """Count how often each judge gave the known grade in training."""
    by_judge: dict[str, list[bool]] = {}
    for event in events:
        if event.kind == "trained":
            by_judge.setdefault(event.judge, []).append(event.grade == event.body["expected"])
    return [
        TrainingScore(judge=judge, share=share_of(sum(right), len(right))) for judge, right in sorted(by_judge.items())
    ]


def _item(sheet: Sheet, row: int, max_grade: int) -> KnownItem:
    """Read an item with a known grade from a row of a table; raise FormatError if its grade is not on the scale."""
    texts = {name: _text(sheet, row, name) for name in ("query", "grade", "why", *_TEXTS)}
    grade = texts["grade"].removesuffix(".0")
    if not (grade.isascii() and grade.isdigit() and int(grade) <= max_grade):
        sheet.fail(row, "grade", f"{shown(texts['grade'])} is not a grade, expected one from 0 to {max_grade}")
    query_id, doc_id = (_text(sheet, row, name) for name in _IDS)
    key = hashlib.sha256("\0".join((*texts.values(), *filter(None, (query_id, doc_id)))).encode()).hexdigest()[:32]
    item_texts = ItemTexts(query_text=texts["query"], text={name: texts[name] for name in _TEXTS})
    return KnownItem(key=key, item=ItemView.of(query_id, doc_id, item_texts), grade=int(grade), why=texts["why"])


def _text(sheet: Sheet, row: int, name: str) -> str:
    """Read a cell of a table as text; "" if the column (``name``) or the value is missing."""
    from activeeval.formats.tables.cells import is_empty

    value = sheet.columns[name][row] if name in sheet.columns else None
    return "" if is_empty(value) else str(value)
