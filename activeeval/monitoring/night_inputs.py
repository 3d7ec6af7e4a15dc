"""Collect the inputs of a night: the previous night's run, labels, known grades, and tonight's texts."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from activeeval.campaigns.state import state_of
from activeeval.campaigns.store import MORE, REDRAWN, NightRow, Store, WatchRow
from activeeval.core.errors import InputError, shown
from activeeval.core.judgments import Judgments
from activeeval.formats.judgments.from_files import held_or_read
from activeeval.formats.tables.text_tables import DOCUMENTS, read_texts
from activeeval.formats.text.trec import Run
from activeeval.inputs.known_grades import graded_rows
from activeeval.monitoring.judged_labels import by_night, labels_so_far, record_of_step, state_of_step
from activeeval.monitoring.night_outputs import ItemHistory, NightRecord, Pair, merge_histories, pairs_in, with_texts
from activeeval.monitoring.settings import Settings

MOST_REDRAWN = 99
"""Most times that a night can be redrawn: its steps are sorted by a number of two digits."""
MOST_DAYS_AHEAD = 31
"""Most days that a night may be in the future: time zones differ by a day, mistyped dates by more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NightInputs:
    """Inputs of a night (a dated run) from the caller.

    Attributes
    ----------
    run : str or Run
        Tonight's run: a file, or in memory.
    date : str
        For example 2026-11-25.
    judged : sequence of str or Judgments
        Known judgments, files or in memory.
    documents, queries : str or None
        Files of texts by document and by query; a document whose text has changed loses its grade.
    machine_is_truth : bool
        Accept graders' grades in files of judgments as labels.
    largest : int
        A grade known to be on the scale; 0 if none is known.
    answers : mapping of (query, document) to int, or None
        Answers of a scripted judge: a night with an item that has no answer is refused.
    replaces : bool
        Redraw the last night, of the same date, because its run was wrong. Its labels still count, and the store
        keeps both drawings.
    """

    run: Any
    date: str
    judged: Sequence[str | Judgments] = ()
    documents: str | None = None
    queries: str | None = None
    machine_is_truth: bool = False
    largest: int = 0
    answers: Mapping[Pair, int] | None = None
    replaces: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NightState:
    """State of a watch before a step of a night: earlier runs, tonight's texts, item histories, labels, known grades.

    A night is a dated run of the watched index.

    Attributes
    ----------
    number : int
        Number of the step, from 1.
    step : str
        Name of the step, see `NightRow.date`.
    last : str
        The previous step; "" for the first.
    left : NightRecord or None
        Record of the previous step.
    queries : tuple of str
        Queries of the watch; empty before its first night.
    night : str
        Date of the previous night; "" if there is none.
    run : Run or None
        Run of the previous night.
    digests : dict
        Digest of each text of tonight, by query and document.
    histories : dict
        History of each item that was ever drawn, by query and document.
    labels : dict
        Grade of each judged item, −1 if it cannot be judged.
    taught : dict
        The labels that train the grade model. Labels on suspicion do not train the model of their own night, so that
        sampling rates stay and all inclusion probabilities rise alike.
    known_grades : dict
        Grades from other sources, with the digest of the text of each.
    machines : dict of str to int
        By file, the number of graders' grades accepted as people's, on earlier nights or tonight.
    n_changed : int
        Number of items whose text has changed.
    """

    number: int
    step: str
    last: str
    left: NightRecord | None
    queries: tuple[str, ...]
    night: str
    run: Run | None
    digests: dict[Pair, int]
    histories: dict[Pair, ItemHistory]
    labels: dict[Pair, int]
    taught: dict[Pair, int]
    known_grades: dict[Pair, tuple[int, int]]
    machines: dict[str, int]
    n_changed: int


def last_night(store: Store, name: str) -> NightRow:
    """Return the last step of watch `name` (a sample of a night), without its record.

    A night is a dated run of the watched index.

    Raises
    ------
    InputError
        If the watch has no night yet.
    """
    nights = store.watches.nights(name)
    if not nights:
        raise InputError(f"watch {name} has no night yet: `watch night` draws the first")
    return nights[-1]


def before_night(store: Store, watch: WatchRow, tonight: NightInputs, run: Run) -> NightState:
    """Collect the state of a watch before a night: what earlier nights recorded, updated to tonight's texts.

    When a night is redrawn, the state is that before its first drawing, plus the labels and inclusion probabilities of
    the drawings that it replaces. A night is a dated run of the watched index.

    Parameters
    ----------
    tonight : NightInputs
        Date, known judgments and texts of the night.
    run : Run
        Tonight's run, as read.

    Raises
    ------
    InputError
        If the date is invalid or out of order, the night was redrawn too often, a file cannot be read or has no grade,
        or a document with a text on an earlier night has none tonight.
    """
    rows = store.watches.nights(watch.name)
    nights = by_night(rows)
    _check_date(watch.name, tonight, [steps[0].night for steps in nights])
    step = tonight.date
    if tonight.replaces:
        n_drawn = len({row.drawing for row in rows if row.night == tonight.date})
        if n_drawn > MOST_REDRAWN:
            raise InputError(f"watch {watch.name}: {tonight.date} was redrawn {MOST_REDRAWN} times", field="date")
        step, nights = f"{tonight.date}{REDRAWN}{n_drawn:02d}", nights[:-1]
    left = record_of_step(store, watch.name, rows[-1]) if rows else None
    # record of the last night that this one does not replace
    earlier = left if not tonight.replaces else record_of_step(store, watch.name, nights[-1][-1]) if nights else None
    digests = _digests(tonight.documents, run)
    histories = {} if earlier is None else dict(earlier.histories)
    _check_texts(histories, digests, run, tonight)
    histories, n_changed = with_texts(histories, digests, len(rows) + 1)
    if left is not None and tonight.replaces:
        histories = merge_histories(histories, left.histories, digests)
    settings = Settings.of(watch.config)
    labels = labels_so_far(store, watch.name, rows, histories, settings, replaces=tonight.replaces)
    known_grades = {} if earlier is None else dict(earlier.known_grades)
    # a row is a grade and the digest of its text, 0 if unknown: grades of changed texts are dropped
    known_grades = {pair: row for pair, row in known_grades.items() if row[1] in (0, digests.get(pair, row[1]))}
    grades, machines = _known_judgments(tonight)
    for query, document, grade in grades:
        known_grades[query, document] = (grade, digests.get((query, document), 0))
    return NightState(
        number=len(rows) + 1,
        step=step,
        last=rows[-1].date if rows else "",
        left=left,
        queries=earlier.queries if earlier else (),
        night=nights[-1][0].night if nights else "",
        run=earlier.run if earlier else None,
        digests=digests,
        histories=histories,
        labels=labels,
        taught=labels,
        known_grades=known_grades,
        machines=_machines_of(store, rows, nights) | machines,
        n_changed=n_changed,
    )


def before_more(store: Store, watch: WatchRow) -> NightState:
    """Collect the state before drawing labels on suspicion (further labels for the last night, which looks bad).

    The night's own items must be judged already. Their labels do not train the grade model that draws the further ones,
    so that sampling rates stay. A night is a dated run of the watched index.
    """
    rows = store.watches.nights(watch.name)
    earlier = by_night(rows)[:-1]
    left = record_of_step(store, watch.name, rows[-1])
    histories = dict(left.histories)
    return NightState(
        number=len(rows) + 1,
        step=rows[-1].date + MORE,
        last=rows[-1].date,
        left=left,
        queries=left.queries,
        night=earlier[-1][0].night if earlier else "",
        run=record_of_step(store, watch.name, earlier[-1][-1]).run if earlier else None,
        digests={},
        histories=histories,
        labels=labels_so_far(store, watch.name, rows, histories, Settings.of(watch.config)),
        taught=labels_so_far(store, watch.name, rows[:-1], histories, Settings.of(watch.config)),
        known_grades=dict(left.known_grades),
        machines=_machines_of(store, rows, by_night(rows)),
        n_changed=0,
    )


def _check_date(name: str, tonight: NightInputs, nights: Sequence[str]) -> None:
    """Raise InputError if tonight's date is malformed, too far ahead or out of order; `nights` has earlier dates.

    A night is a dated run of the watched index.
    """
    last = nights[-1] if nights else ""
    try:
        night = date.fromisoformat(tonight.date)
    except ValueError:
        night = None
    if night is None or night.isoformat() != tonight.date:
        raise InputError(f"a night's date must be like 2026-11-25, got {tonight.date!r}", field="date")
    if (ahead := (night - date.today()).days) > MOST_DAYS_AHEAD:
        problem = (
            f"{tonight.date} is {ahead:,} days ahead, and earlier nights could not be drawn any more: expected at most "
        )
        raise InputError(f"watch {name}: {problem}{MOST_DAYS_AHEAD} days", field="date")
    if tonight.replaces and tonight.date not in nights:
        there = f"the last is {last}" if last else "it has none yet"
        raise InputError(f"watch {name} has no night of {tonight.date} to replace: {there}", field="date")
    if tonight.replaces and tonight.date < last:
        problem = f"{tonight.date} cannot be redrawn: the night of {last} depends on it"
        raise InputError(f"watch {name}: {problem}", field="date")
    if tonight.date == last and not tonight.replaces:
        problem = f"the night of {last} exists already: `replace` redraws it"
        raise InputError(f"watch {name}: {problem}", field="date")
    if tonight.date < last:
        problem = f"{tonight.date} is before the last night, {last}: draw nights in order"
        raise InputError(f"watch {name}: {problem}", field="date")


def _check_texts(
    histories: Mapping[Pair, ItemHistory], digests: Mapping[Pair, int], run: Run, tonight: NightInputs
) -> None:
    """Raise InputError if a document had a text on an earlier night and has none tonight, as it may have changed.

    `histories` and `digests` have the digests of earlier texts (0: no text) and of tonight's, by (query, document). A
    night is a dated run of the watched index.
    """
    for pair in pairs_in(run):
        row = histories.get(pair)
        if row is not None and row.text and pair not in digests:
            where = tonight.documents or "tonight's call names no `documents`"
            problem = f"{where}: document {shown(pair[1])} had a text on an earlier night and has none tonight: "
            raise InputError(problem + "it may have changed", field="documents")


def _digests(documents: str | None, run: Run) -> dict[Pair, int]:
    """Compute a digest of each document's text by (query, document), for documents of a run with a text.

    `documents` is a file of texts; if it is None, the result is empty.
    """
    if documents is None:
        return {}
    pairs = pairs_in(run)
    texts = read_texts(documents, DOCUMENTS, {doc for _, doc in pairs}).by_id
    of_docs = {doc: _digest(text) for doc, text in texts.items() if text}
    return {pair: of_docs[pair[1]] for pair in pairs if pair[1] in of_docs}


def _digest(text: Mapping[str, str]) -> int:
    """Compute a digest of a text's fields: a 64-bit integer with its lowest bit set; 0 stands for an unknown text."""
    words = "\0".join(f"{name}\0{text[name]}" for name in sorted(text))
    return int.from_bytes(hashlib.blake2b(words.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big") | 1


def _machines_of(store: Store, rows: Sequence[NightRow], nights: Sequence[Sequence[NightRow]]) -> dict[str, int]:
    """Count, by file, the graders' grades accepted as people's: known when a night was drawn, or judged on any night.

    If a file occurs in both, the larger count is returned. A night is a dated run of the watched index.

    Parameters
    ----------
    rows : sequence of NightRow
        All steps of the watch.
    nights : sequence of sequence of NightRow
        Steps of the nights whose known grades still count, by night; the last night has the counts of all.
    """
    known = dict(state_of(store, nights[-1][-1].campaign).sample.truth_of_machines) if nights else {}
    for row in rows:
        judged = state_of_step(store, row).machine_judgments
        known |= {source: max(n, known.get(source, 0)) for source, n in judged.items()}
    return known


def _known_judgments(tonight: NightInputs) -> tuple[list[tuple[str, str, int]], dict[str, int]]:
    """Read tonight's known judgments: rows (query, document, grade), and the number of graders' grades in each file.

    Raises
    ------
    InputError
        If a file cannot be read or holds no grade.
    """
    rows: list[tuple[str, str, int]] = []
    machines: dict[str, int] = {}
    for source in tonight.judged:
        judgments = held_or_read(source, machine_is_truth=tonight.machine_is_truth)
        path = source if isinstance(source, str) else judgments.source
        graded = [(query, doc, grade) for query, doc, grade, _ in graded_rows(judgments) if grade >= 0]
        if not graded:
            raise InputError(f"{path}: holds no grade yet", field="judged")
        rows += graded
        machines |= {path: judgments.n_of_machines} if judgments.n_of_machines else {}
    return rows, machines
