"""Convert tables to judgments by the format that their columns show.

Formats are sheets of a sample, a campaign's log, comparisons, top-k truths, and grades.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from activeeval.core.checks import LARGEST_GRADE
from activeeval.core.errors import shown
from activeeval.core.judgments.judge_names import judge_name
from activeeval.core.judgments.judgment import BAD, CANNOT, GRADE, JUDGE_KINDS, UNJUDGED, WAITS, Judge, Judgment
from activeeval.core.judgments.log import OF_MACHINE, REOPENED
from activeeval.core.judgments.policies import refuse_as_labels
from activeeval.core.judgments.table import Judgments
from activeeval.core.results import Note, Told
from activeeval.core.types import Bytes, Floats, Ints
from activeeval.formats.judgments.machines import machine_form
from activeeval.formats.reading_rules import coded_gains, rules
from activeeval.formats.tables.cells import as_float

if TYPE_CHECKING:
    from activeeval.core.judgments.comparisons import Truth
    from activeeval.formats.tables.sheets import Sheet

_GRADE = ("rating", "relevance", "label", "grade")
_LOG = {"seq", "kind", "judge", "query_id", "doc_id", "unit", "grade", "reason", "supersedes"}
_UNSAID = "as the table says"
_UNSAID_SHEET = "as the sheet says"


def of_table(sheet: Sheet, kind: str = "person") -> Judgments:
    """Convert a table to judgments, by the form that its columns show.

    ``kind`` ("person" or "machine") is that of judges whose kind the table does not state. Raises InputError if a
    grader wrote the table, and FormatError with ``path:line`` for a wrong cell.
    """
    from activeeval.formats.dialects import by_roles

    plain = by_roles(sheet.plainly_named())
    if origin := machine_form(plain.columns):
        refuse_as_labels(sheet.source, origin)
    for is_form, judgments_of in _FORMS:
        if is_form(set(plain.columns)):
            return judgments_of(plain, kind)
    return _of_grades(plain, kind)


def is_of_campaigns(columns: set[str]) -> bool:
    """Check whether columns are those of a sample's sheet or a campaign's log."""
    return {"sample", "block"} <= columns or columns >= _LOG


def is_truths(columns: set[str]) -> bool:
    """Check whether columns are those of a table of ranks, not of grades."""
    return "rank" in columns and columns.isdisjoint({*_GRADE, "score"})


def _with_places(judgments: Judgments, sheet: Sheet, places: Sequence[int] | None = None) -> Judgments:
    """Attach row places of a table to judgments: by default its rows in order."""
    lines = sheet.lines if places is None else places
    notes = (*judgments.read_notes, *sheet.notes)
    return replace(judgments, source=sheet.source, places=lines, has_lines=sheet.lines is not None, read_notes=notes)


def _of_sheet(sheet: Sheet, kind: str) -> Judgments:
    """Convert a sample's sheet to judgments by judges of a ``kind``, including rows without a grade, which wait."""
    from activeeval.formats.tables.draws import CANNOT as CANNOT_CELL, EMPTY, draws_of

    draws = draws_of(sheet, sheet.source)
    kinds = np.full(draws.n_rows, GRADE, dtype=np.uint8)
    kinds[draws.grade == CANNOT_CELL], kinds[draws.grade == EMPTY] = CANNOT, WAITS
    notes = draws.note.tolist()
    judges, numbers = _judges(draws.judge.tolist(), [kind] * draws.n_rows)
    return Judgments(
        query_ids=draws.query_id,
        item_ids=draws.doc_id,
        values=np.maximum(draws.grade, UNJUDGED),  # also where the cell is empty
        kinds=kinds,
        judge=numbers,
        judges=judges,
        reasons=[note or _UNSAID_SHEET for note in notes],
        blocks=draws.block,
        source=sheet.source,
        places=draws.lines,
        has_lines=draws.lines is not None,
        sample=draws.sample,
    )


def _of_grades(sheet: Sheet, kind: str) -> Judgments:
    """Convert a table of grades to judgments; an item with an empty cell is waiting.

    ``kind`` ("person" or "machine") is that of judges whose kind the table does not state.
    """
    from activeeval.core.pool.keys import first_repeated_pair
    from activeeval.formats.loading import DOCUMENT, GRADE as KNOWN_GRADE, QUERY
    from activeeval.formats.subtopics import SUBTOPIC, told_subtopics

    is_by_text = "query" in sheet.columns and not any(name in sheet.columns for name in QUERY)
    query = sheet.only_column("query", ("query",) if is_by_text else QUERY)
    # PyTerrier's frames carry an internal number docid beside the docno
    doc = sheet.only_column("document", [name for name in DOCUMENT if name != "docid" or "docno" not in sheet.columns])
    grade = sheet.only_column("grade", _GRADE if any(name in sheet.columns for name in _GRADE) else KNOWN_GRADE)
    values, kinds, gains = _grades(sheet, grade)
    queries, items = sheet.texts(query), sheet.texts(doc)
    words = None
    if not {"judge", "judge_kind"}.isdisjoint(sheet.columns):
        words = sheet.words("judge") if "judge" in sheet.columns else [""] * sheet.n_rows
    repeated = None if words is not None or rules().collapse else first_repeated_pair(queries, items)
    subtopic = next((name for name in SUBTOPIC if name in sheet.columns), None)
    if repeated is not None and (subtopic or (not is_by_text and values[repeated[0]] == values[repeated[1]])):
        # two different grades are reported later, by the policy that reduces them to a label
        first, again = repeated
        at = f"document {shown(items[again])} of query {shown(queries[again])}"
        hint = told_subtopics(*(sheet.texts(subtopic)[row] for row in repeated)) if subtopic else ""
        sheet.fail(again, doc, f"{at} is there twice, first at {sheet.place(first)}; expected it once{hint}")
    judges, numbers = ((Judge("", kind),), None) if words is None else _judges(words, _kinds(sheet, kind))
    judgments = Judgments(
        query_ids=queries,
        item_ids=items,
        values=values,
        kinds=kinds,
        judge=numbers,
        judges=judges,
        reasons=[note or _UNSAID for note in sheet.words("note")] if "note" in sheet.columns else None,
        seconds=_seconds(sheet) if "seconds" in sheet.columns else None,
        is_by_text=is_by_text,
        is_distinct=words is None and repeated is None,
        gains=gains,
    )
    return _with_places(judgments, sheet)


def _grades(sheet: Sheet, name: str) -> tuple[Ints, Bytes | None, Floats | None]:
    """Read a column of grades; return ``(values, kinds, gains)``, the first two of shape (n_rows,).

    Values are negative for no grade; kinds (indices of `KINDS`) are None if all cells are grades. With grades that are
    not whole, if the rules accept them, values are indices into the gains, ascending from 0; else gains are None.
    """
    from activeeval.formats.tables.cells import plain_floats
    from activeeval.formats.tables.grades import CANNOT as CANNOT_WORD, cell_grades

    cells = sheet.columns[name]
    plain = np.asarray(cells, dtype=np.float64) if isinstance(cells, np.ndarray) else plain_floats(cells)
    is_whole = plain is not None and bool((plain == np.floor(plain)).all())
    if rules().gains and not is_whole and (of_gains := _gains(sheet, name)) is not None:
        return of_gains
    if isinstance(cells, np.ndarray):
        return sheet.grades(name), None, None
    if plain is not None and is_whole and np.abs(plain).max(initial=0) <= LARGEST_GRADE:
        return plain.astype(np.int64), None, None
    words = cell_grades(sheet, name, least=-LARGEST_GRADE)
    kinds = [{"": WAITS, CANNOT_WORD: CANNOT}.get(word, GRADE) if isinstance(word, str) else GRADE for word in words]
    values = [UNJUDGED if isinstance(word, str) else word for word in words]
    return np.array(values, dtype=np.int64), np.array(kinds, dtype=np.uint8), None


def _gains(sheet: Sheet, name: str) -> tuple[Ints, Bytes, Floats] | None:
    """Read a column of grades some of which are fractions, as `_grades`; None if none is."""
    from activeeval.formats.tables.grades import cell_values

    cells = cell_values(sheet, name)
    by_cell = (UNJUDGED if isinstance(cell, str) else np.nan if cell is None else cell for cell in cells)
    numbers = np.array(list(by_cell), dtype=np.float64)
    if not (numbers[np.isfinite(numbers)] % 1 > 0).any():
        return None
    for row, number in enumerate(numbers):
        if not np.isfinite(number):
            problem = f"holds {shown(str(sheet.columns[name][row]))}, expected a number from 0 on, empty or cannot"
            sheet.fail(row, name, problem)
    coded = coded_gains(numbers, lambda row, problem: sheet.fail(row, name, problem))
    kinds = [{"": WAITS, "cannot": CANNOT}.get(cell, GRADE) if isinstance(cell, str) else GRADE for cell in cells]
    return None if coded is None else (coded[0], np.array(kinds, dtype=np.uint8), coded[1])


def _seconds(sheet: Sheet) -> Floats:
    """Read the column of times in seconds; NaN where a cell is no number."""
    seconds = [as_float(cell) for cell in sheet.columns["seconds"]]
    return np.array([np.nan if value is None else value for value in seconds], dtype=np.float64)


def _kinds(sheet: Sheet, kind: str) -> list[str]:
    """Read the kind of each row's judge, person or machine: ``kind`` if the cell is empty or there is no column."""
    if "judge_kind" not in sheet.columns:
        return [kind] * sheet.n_rows
    words = [word.strip().lower() or kind for word in sheet.words("judge_kind")]
    for row, word in enumerate(words):
        if word not in JUDGE_KINDS:
            sheet.fail(row, "judge_kind", f"holds {shown(word)}, expected {' or '.join(JUDGE_KINDS)}")
    return words


def _judges(words: Sequence[str], kinds: Sequence[str]) -> tuple[tuple[Judge, ...], Ints]:
    """Collect the distinct judges of rows, and the index of each row's judge, shape (n_rows,).

    ``words`` are the names in the rows, ``kinds`` "person" or "machine" of each.
    """
    names = {word: judge_name(word) for word in set(words)}
    numbers: dict[Judge, int] = {}
    rows = [numbers.setdefault(Judge(names[word], kind), len(numbers)) for word, kind in zip(words, kinds, strict=True)]
    return tuple(numbers), np.array(rows, dtype=np.int64)


def _of_comparisons(sheet: Sheet, kind: str) -> Judgments:
    """Convert a table of comparisons to judgments; ``kind`` is that of judges whose kind the table does not state."""
    from activeeval.formats.comparisons import comparisons_of

    kinds = _kinds(sheet, kind)
    rows = [
        Judgment(c.query, c.preferred, Judge(judge_name(c.judge), kinds[row]), "preference", int(not c.is_tie), c.other)
        for row, c in enumerate(comparisons_of(sheet))
    ]
    kept, notes = _of_both_orders(rows, sheet.source)  # rows, each with the tie that replaces it, or None
    lines = range(1, sheet.n_rows + 1) if sheet.lines is None else sheet.lines
    judgments = Judgments.of([rows[row] if tie is None else tie for row, tie in kept.items()], read_notes=notes)
    return _with_places(judgments, sheet, [lines[row] for row in kept])


def _of_both_orders(rows: Sequence[Judgment], source: str) -> tuple[dict[int, Judgment | None], tuple[Note, ...]]:
    """Merge a grader's answers about one pair in both orders: two answers that contradict each other are a tie.

    Returns
    -------
    dict of int to Judgment or None, tuple of Note
        Row of each answer -> the tie that replaces it, if any; the share of contradictions.
    """
    first: dict[tuple[Any, ...], int] = {}
    kept: dict[int, Judgment | None] = {}
    n_twice = n_contradictory = 0
    for row, answer in enumerate(rows):
        pair = (answer.query, answer.judge, *sorted((answer.item, answer.other)))
        before = first.setdefault(pair, row)
        if before == row or not answer.judge.is_machine:
            kept[row] = None
            continue
        n_twice += 1
        is_same = (rows[before].item, rows[before].value) == (answer.item, answer.value)
        if not is_same and (rows[before].value or answer.value):
            n_contradictory += 1
            kept[before] = replace(rows[before], value=0)  # a tie
    numbers: dict[str, Told] = {"source": source, "n": n_contradictory, "of": n_twice}
    return kept, (Note("both orders", numbers),) if n_twice else ()


def _of_truths(sheet: Sheet, kind: str) -> Judgments:
    """Convert a table of top-k truths to judgments of one unnamed judge of a ``kind``, "person" or "machine"."""
    from activeeval.formats.comparisons import truths_of

    judge = Judge("", kind)
    rows = [row for query, truth in truths_of(sheet).items() for row in _ranked(query, judge, truth)]
    return Judgments.of(rows, source=sheet.source)


def _ranked(query: str, judge: Judge, truth: Truth) -> Iterator[Judgment]:
    """Yield a judgment for each document of a truth: its rank, 0 below the top, or `BAD`."""
    for rank, doc in (*truth.ranked, *((0, doc) for doc in truth.below), *((BAD, doc) for doc in truth.bad)):
        yield Judgment(query, doc, judge, "truth", rank)


def _of_log(sheet: Sheet, kind: str) -> Judgments:
    """Convert a campaign's log to the judgments valid at its end; of an item judged in several rounds, the last one."""
    rows = list(_Log(sheet, kind).judgments())
    lines = range(1, sheet.n_rows + 1) if sheet.lines is None else sheet.lines
    places = [lines[row] for row, _ in rows]
    return _with_places(Judgments.of([judgment for _, judgment in rows]), sheet, places)


class _Log:
    """The columns of a campaign's log."""

    def __init__(self, sheet: Sheet, kind: str) -> None:
        """Read the columns; ``kind`` ("person" or "machine") is that of judges whose kind the log does not state.

        Rows are events. ``_replaced`` has the numbers of events that later ones supersede, ``_bodies`` further fields.
        """
        self._sheet = sheet
        self._kinds, self._reasons = sheet.words("kind"), sheet.words("reason")
        self._queries, self._docs = sheet.words("query_id"), sheet.words("doc_id")
        self._grades = sheet.grades("grade", UNJUDGED)
        self._seqs, self._units = sheet.wholes("seq"), sheet.wholes("unit", UNJUDGED)
        self._replaced = set(sheet.wholes("supersedes", UNJUDGED).tolist())
        bodies = sheet.columns["body"] if "body" in sheet.columns else [None] * sheet.n_rows
        self._bodies = [body if isinstance(body, dict) else {} for body in bodies]
        bodies_and_kinds = zip(self._bodies, _kinds(sheet, kind), strict=True)
        kinds = ("machine" if OF_MACHINE in body else of_row for body, of_row in bodies_and_kinds)
        self._judges = list(map(Judge, map(judge_name, sheet.words("judge")), kinds))
        times = {name: sheet.wholes(name, UNJUDGED).tolist() for name in ("at", "active_ms") if name in sheet.columns}
        self._at, self._active_ms = (times.get(name, [UNJUDGED] * sheet.n_rows) for name in ("at", "active_ms"))

    def _rows(self, *kinds: str) -> Iterator[int]:
        """Yield the rows of the given kinds of events."""
        yield from (row for row, kind in enumerate(self._kinds) if kind in kinds)

    def judgments(self) -> Iterator[tuple[int, Judgment]]:
        """Yield the row of each valid judgment, and the judgment with its time and sequence number."""
        for row, judgment in (*self._answers(), *self._comparisons(), *self._deferred()):
            at, active_ms = self._at[row], self._active_ms[row]
            seconds = active_ms / 1000 if active_ms >= 0 else None
            yield row, replace(judgment, at=at if at >= 0 else None, seconds=seconds, seq=int(self._seqs[row]))

    def _answers(self) -> Iterator[tuple[int, Judgment]]:
        """Yield grades, items that cannot be judged, and truths (rankings of the k best) as ``(row, judgment)``.

        Answers that a later event replaces are left out; of an item in several units (rounds), the last unit counts.
        """
        from activeeval.core.judgments.comparisons import Truth

        rows = [row for row in self._rows("judged", "cannot") if int(self._seqs[row]) not in self._replaced]
        last_unit: dict[tuple[str, str], int] = {}
        for row in rows:
            pair = self._queries[row], self._docs[row]
            last_unit[pair] = max(int(self._units[row]), last_unit.get(pair, UNJUDGED))
        for row in rows:
            query, doc, body = self._queries[row], self._docs[row], self._bodies[row]
            if self._units[row] != last_unit[query, doc]:
                continue
            if self._kinds[row] == "cannot":
                reason = self._reasons[row] or _UNSAID
                yield row, Judgment(query, doc, self._judges[row], "cannot", reason=reason)
            elif "top" in body:
                truth = Truth.from_parts(body)
                yield from ((row, ranked) for ranked in _ranked(query, self._judges[row], truth))
            elif self._grades[row] < 0:
                self._sheet.fail(row, "grade", "is empty, expected a grade of what was judged")
            else:
                yield row, Judgment(query, doc, self._judges[row], value=int(self._grades[row]))

    def _comparisons(self) -> Iterator[tuple[int, Judgment]]:
        """Yield the valid comparisons as ``(row, judgment)``, without those of queries that were retracted later."""
        # rows by unit (a query) and judge; a query that is only reopened keeps them, "undone" takes back the last
        valid: dict[tuple[int, Judge], list[int]] = {}
        for row in self._rows("preferred", "retracted"):
            unit, judge, action = int(self._units[row]), self._judges[row], self._bodies[row].get("what")
            if self._kinds[row] == "retracted":
                valid = {key: rows for key, rows in valid.items() if key[0] != unit or action == REOPENED}
            elif action == "undone":
                del valid.setdefault((unit, judge), [])[-1:]
            else:
                valid.setdefault((unit, judge), []).append(row)
        for row in sorted(row for rows in valid.values() for row in rows):
            body = self._bodies[row]
            if body.get("what") != "compared":
                continue
            first, second, preferred = (body.get(name) for name in ("first", "second", "preferred"))
            if not isinstance(first, str) or not isinstance(second, str) or preferred not in (None, first, second):
                self._sheet.fail(row, "body", f"holds {shown(str(body))}, expected two documents and the better one")
            better, worse = (second, first) if preferred == second else (first, second)
            judge, is_strict = self._judges[row], preferred is not None
            yield row, Judgment(self._queries[row], better, judge, "preference", int(is_strict), worse)

    def _deferred(self) -> Iterator[tuple[int, Judgment]]:
        """Yield deferred items."""
        for row in self._rows("deferred"):
            judge, reason = self._judges[row], self._reasons[row]
            yield row, Judgment(self._queries[row], self._docs[row], judge, "deferred", reason=reason)


_FORMS: tuple[tuple[Callable[[set[str]], bool], Callable[[Sheet, str], Judgments]], ...] = (
    (lambda columns: {"sample", "block"} <= columns, _of_sheet),
    (lambda columns: columns >= _LOG, _of_log),
    (lambda columns: {"preferred", "other"} <= columns, _of_comparisons),
    (is_truths, _of_truths),
)
