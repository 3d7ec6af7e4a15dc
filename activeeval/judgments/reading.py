"""The one door from files to judgments, whatever form they have.

A form is told by the name and by the columns: TREC text (qrels, prels), LETOR lines, and tables of any kind, which are
sheets of a sample, a campaign's log, comparisons, top-k truths, or grades.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from activeeval.checks import LARGEST_GRADE
from activeeval.errors import FormatError, shown
from activeeval.io.judges import judge_name
from activeeval.io.suffixes import TABLES, PathLike, bare_suffix
from activeeval.io.text.plain import first_words, plain_grades
from activeeval.judgments.judgment import BAD, CANNOT, GRADE, JUDGE_KINDS, UNJUDGED, WAITS, Judge, Judgment
from activeeval.judgments.log import REOPENED
from activeeval.judgments.table import Judgments, joined
from activeeval.pool.texts import Texts
from activeeval.types import Bytes, Ints

if TYPE_CHECKING:
    from activeeval.io.comparisons import Truth
    from activeeval.io.tables.draws import Draws
    from activeeval.io.tables.sheets import Sheet
    from activeeval.io.text.trec import Qrels
    from activeeval.results import Note

_GRADE = ("rating", "relevance", "label", "grade")
_LOG = {"seq", "kind", "judge", "query_id", "doc_id", "unit", "grade", "reason", "supersedes"}
_WHOLE, _PRELS = re.compile(r"-?[0-9]+"), 5
_UNSAID = "as the table says"
_UNSAID_SHEET = "as the sheet says"


def read(path: PathLike, *, kind: str = "person", is_plain: bool = False) -> Judgments:
    """Read judgments of any form.

    Parameters
    ----------
    path : path
        TREC judgments, also with probabilities (prels); LETOR lines; or a table (.csv, .tsv, .jsonl, .parquet, .xlsx,
        .ods): a judged sheet of a sample, grades (columns query_id or q_id, qid or query; doc_id or docno, docid; grade
        or relevance, label, rating, score; and, where there are any, judge, judge_kind and note), a campaign's log as
        ``campaign export --format jsonl`` writes it, of which what stands at its end counts, comparisons (query,
        preferred, other; tie, judge), or top-k truths (query, rank, doc_id). Text may be packed by gzip.
    kind : {"person", "machine"}
        What judges are of whom the file does not say it.
    is_plain : bool
        Read plain text in Python, as far as that goes, for whoever is done before compiled readers have started.

    Raises
    ------
    FormatError
        ``path:line: what is wrong``.
    InputError
        Where the file cannot be read.
    """
    if bare_suffix(path) in TABLES:
        from activeeval.io.tables.sheets import read_sheet

        return of_table(read_sheet(path), kind)
    if is_plain and (grades := plain_grades(path)) is not None:
        return _of_pairs(grades, os.fspath(path), kind)
    words = first_words(path)
    if words[:2] == ["SQLite", "format"]:
        raise FormatError(
            os.fspath(path), None, "is a store of campaigns, expected the log that `campaign export` writes of one"
        )
    if words and words[0].startswith("{"):
        from activeeval.io.tables.sheets import read_sheet

        return of_table(read_sheet(path, ".jsonl"), kind)
    if any(word.startswith("qid:") for word in words[1:2]):
        return _of_letor(path, kind)
    from activeeval.io.text.trec import read_prels, read_qrels

    text = read_prels(path) if _is_prels(words) else read_qrels(path)
    return _distinct(text.query_ids, text.doc_ids, text.grades, os.fspath(path), kind)


def read_all(paths: Sequence[PathLike]) -> Judgments:
    """Read judgments of several files; who is not named is called as the file.

    A file that is given by two paths is one judge, and so is a sheet with its copy: what differs in no answer says
    nothing of how far two agree.
    """
    first: dict[Hashable, str] = {}
    parts = []
    for path in paths:
        judgments = read(path)
        same: Hashable = _answers(judgments) if judgments.sample else os.path.realpath(path)
        parts.append(judgments.named(first.setdefault(same, os.fspath(path))))
    return joined(parts)


def labels_of(source: Any, policy: str = "median") -> Qrels:
    """Return the labels of judgments in any form, on file or in memory.

    Parameters
    ----------
    source : path, Judgments, Qrels, mapping or data frame
        In memory as `activeeval.io.loading.load_qrels` takes them.
    policy : {"refuse", "majority", "median"}
        What becomes of an item that several judges grade differently.

    Raises
    ------
    InputError
        Where the file cannot be read, or holds no grades.
    """
    judgments = read(source) if isinstance(source, (str, os.PathLike)) else source
    if isinstance(judgments, Judgments):
        labels: Qrels = judgments.labels(policy)
        return replace(labels, notes=_notes_of(source, judgments)) if judgments is not source else labels
    from activeeval.io.loading import load_qrels

    return load_qrels(judgments)


def _notes_of(path: PathLike, judgments: Judgments) -> tuple[Note, ...]:
    """Return what whoever takes a file's judgments for labels should know."""
    from activeeval.io.sampled import sampled_note
    from activeeval.results import Note

    source, notes = os.fspath(path), []
    instead = f"activeeval estimate SAMPLE {source}" if judgments.sample else sampled_note(path)
    if instead:
        notes.append(Note("of a sample", {"source": source, "instead": instead}))
    n_cannot = int((judgments.kind_of == CANNOT).sum()) if judgments.holds("cannot") else 0
    if n_cannot:
        notes.append(Note("cannot count", {"source": source, "n": n_cannot}))
    return tuple(notes)


def of_table(sheet: Sheet, kind: str = "person") -> Judgments:
    """Return the judgments of a table that was read; else as `read`."""
    plain = sheet.plainly_named()
    for is_form, judgments_of in _FORMS:
        if is_form(set(plain.columns)):
            return judgments_of(plain, kind)
    return _of_grades(plain, kind)


def is_truths(columns: set[str]) -> bool:
    """Return whether a table of such columns is one of ranks and not of grades."""
    return "rank" in columns and columns.isdisjoint({*_GRADE, "score"})


def _answers(judgments: Judgments) -> frozenset[tuple[Any, ...]]:
    """Return what a sheet says, whatever the order of its rows."""
    return frozenset((row.query, row.item, row.value, row.kind, row.judge) for row in judgments if row.kind != "waits")


def _is_prels(words: Sequence[str]) -> bool:
    """Return whether a line is ``query document grade method probability``."""
    if len(words) != _PRELS or not all(map(_WHOLE.fullmatch, words[2:4])):
        return False
    try:
        return 0 < float(words[4]) <= 1
    except ValueError:
        return False


def _distinct(queries: Texts, items: Texts, grades: Any, source: str, kind: str) -> Judgments:
    judges = (Judge("", kind),)
    return Judgments(query_ids=queries, item_ids=items, values=grades, judges=judges, source=source, is_distinct=True)


def _of_pairs(grades: Mapping[tuple[str, str], int], source: str, kind: str) -> Judgments:
    queries, items = (Texts.from_list([pair[side] for pair in grades]) for side in range(2))
    return _distinct(queries, items, np.array(list(grades.values()), dtype=np.int64), source, kind)


def _of_letor(path: PathLike, kind: str) -> Judgments:
    from activeeval.io.text.letor import read_letor

    data = read_letor(path, features=False)
    pool = data.pool()
    return _distinct(pool.query_texts[pool.item_queries], pool.item_texts, data.grades, os.fspath(path), kind)


def _placed(sheet: Sheet) -> dict[str, Any]:
    """Return where the rows of a table stand."""
    return {"source": sheet.source, "places": sheet.lines, "has_lines": sheet.lines is not None}


def _of_sheet(sheet: Sheet, kind: str) -> Judgments:
    from activeeval.io.tables.draws import draws_of

    return of_draws(draws_of(sheet, sheet.source), sheet.source, kind)


def of_draws(draws: Draws, source: str, kind: str = "person") -> Judgments:
    """Return the judgments of a sample's sheet; those rows are among them that nobody has judged."""
    from activeeval.io.tables.draws import CANNOT as CANNOT_CELL
    from activeeval.io.tables.draws import EMPTY

    kinds = np.full(draws.n_rows, GRADE, dtype=np.uint8)
    kinds[draws.grade == CANNOT_CELL], kinds[draws.grade == EMPTY] = CANNOT, WAITS
    notes = draws.note.tolist()
    judges, numbers = _judges(draws.judge.tolist(), [kind] * draws.n_rows)
    return Judgments(
        query_ids=draws.query_id,
        item_ids=draws.doc_id,
        values=np.maximum(draws.grade, UNJUDGED),
        kinds=kinds,
        judge=numbers,
        judges=judges,
        reasons=[note or _UNSAID_SHEET for note in notes],
        blocks=draws.block,
        source=source,
        places=draws.lines,
        has_lines=draws.lines is not None,
        sample=draws.sample,
    )


def _of_grades(sheet: Sheet, kind: str) -> Judgments:
    """Return the grades of a table; an item whose cell is empty waits."""
    from activeeval.io.keys import first_repeated_pair
    from activeeval.io.loading import DOCUMENT, QUERY
    from activeeval.io.loading import GRADE as KNOWN_GRADE

    is_by_text = "query" in sheet.columns and not any(name in sheet.columns for name in QUERY)
    query = _column(sheet, "query", ("query",) if is_by_text else QUERY)
    # PyTerrier's frames carry an internal number docid beside the docno
    doc = _column(sheet, "document", [name for name in DOCUMENT if name != "docid" or "docno" not in sheet.columns])
    grade = _column(sheet, "grade", _GRADE if any(name in sheet.columns for name in _GRADE) else KNOWN_GRADE)
    values, kinds = _grades(sheet, grade)
    queries, items = sheet.texts(query), sheet.texts(doc)
    words = None
    if not {"judge", "judge_kind"}.isdisjoint(sheet.columns):
        words = sheet.words("judge") if "judge" in sheet.columns else [""] * sheet.n_rows
    judges, numbers = ((Judge("", kind),), None) if words is None else _judges(words, _kinds(sheet, kind))
    return Judgments(
        query_ids=queries,
        item_ids=items,
        values=values,
        kinds=kinds,
        judge=numbers,
        judges=judges,
        reasons=[note or _UNSAID for note in sheet.words("note")] if "note" in sheet.columns else None,
        is_by_text=is_by_text,
        is_distinct=words is None and first_repeated_pair(queries, items) is None,
        **_placed(sheet),
    )


def _column(sheet: Sheet, what: str, names: Sequence[str]) -> str:
    """Return the column of a meaning; a table with two of them does not say which one is meant."""
    there = [name for name in names if name in sheet.columns]
    if len(there) > 1:
        line = 1 if sheet.lines is not None else None
        raise FormatError(sheet.source, line, f"columns {' and '.join(there)} all say the {what}, expected one of them")
    return sheet.column(what, names)


def _grades(sheet: Sheet, name: str) -> tuple[Ints, Bytes | None]:
    """Return a column of grades, negative where there is none, and the kind of each cell; None where all are grades."""
    from activeeval.io.tables.cells import plain_floats
    from activeeval.io.tables.grades import CANNOT as CANNOT_WORD
    from activeeval.io.tables.grades import cell_grades

    cells = sheet.columns[name]
    if isinstance(cells, np.ndarray):
        return sheet.grades(name), None
    plain = plain_floats(cells)
    if plain is not None and (plain == np.floor(plain)).all() and np.abs(plain).max(initial=0) <= LARGEST_GRADE:
        return plain.astype(np.int64), None
    words = cell_grades(sheet, name, least=-LARGEST_GRADE)
    kinds = [{"": WAITS, CANNOT_WORD: CANNOT}.get(word, GRADE) if isinstance(word, str) else GRADE for word in words]
    values = [UNJUDGED if isinstance(word, str) else word for word in words]
    return np.array(values, dtype=np.int64), np.array(kinds, dtype=np.uint8)


def _kinds(sheet: Sheet, kind: str) -> list[str]:
    """Return what the judge of each row is: a person or a machine."""
    if "judge_kind" not in sheet.columns:
        return [kind] * sheet.n_rows
    words = [word.strip().lower() or kind for word in sheet.words("judge_kind")]
    for row, word in enumerate(words):
        if word not in JUDGE_KINDS:
            sheet.fail(row, "judge_kind", f"holds {shown(word)}, expected {' or '.join(JUDGE_KINDS)}")
    return words


def _judges(words: Sequence[str], kinds: Sequence[str]) -> tuple[tuple[Judge, ...], Ints]:
    """Return the judges of some rows, and which of them each row is of."""
    names = {word: judge_name(word) for word in set(words)}
    numbers: dict[Judge, int] = {}
    rows = [numbers.setdefault(Judge(names[word], kind), len(numbers)) for word, kind in zip(words, kinds, strict=True)]
    return tuple(numbers), np.array(rows, dtype=np.int64)


def _of_comparisons(sheet: Sheet, kind: str) -> Judgments:
    from activeeval.io.comparisons import comparisons_of

    kinds = _kinds(sheet, kind)
    rows = [
        Judgment(c.query, c.preferred, Judge(judge_name(c.judge), kinds[row]), "preference", int(not c.is_tie), c.other)
        for row, c in enumerate(comparisons_of(sheet))
    ]
    return Judgments.of(rows, **_placed(sheet))


def _of_truths(sheet: Sheet, kind: str) -> Judgments:
    from activeeval.io.comparisons import truths_of

    judge = Judge("", kind)
    rows = [row for query, truth in truths_of(sheet).items() for row in _ranked(query, judge, truth)]
    return Judgments.of(rows, source=sheet.source)


def _ranked(query: str, judge: Judge, truth: Truth, **log: Any) -> Iterator[Judgment]:
    """Yield a judgment for each document that a truth names."""
    for rank, doc in (*truth.ranked, *((0, doc) for doc in truth.below), *((BAD, doc) for doc in truth.bad)):
        yield Judgment(query, doc, judge, "truth", rank, **log)


def _preference(query: str, judge: Judge, first: str, second: str, preferred: str | None, **log: Any) -> Judgment:
    better, other = (second, first) if preferred == second else (first, second)
    return Judgment(query, better, judge, "preference", int(preferred is not None), other, **log)


def _of_log(sheet: Sheet, kind: str) -> Judgments:
    """Return what stands at the end of a campaign's log; of an item that rounds asked for again, in the last one."""
    log = _Log(sheet, kind)
    rows = [*log.answers(), *log.comparisons(), *log.put_off()]
    lines = range(1, sheet.n_rows + 1) if sheet.lines is None else sheet.lines
    places = [lines[row] for row, _ in rows]
    return Judgments.of([judgment for _, judgment in rows], **(_placed(sheet) | {"places": places}))


class _Log:
    """The columns of a campaign's log."""

    def __init__(self, sheet: Sheet, kind: str) -> None:
        self._sheet = sheet
        self._kinds, self._reasons = sheet.words("kind"), sheet.words("reason")
        self._queries, self._docs = sheet.words("query_id"), sheet.words("doc_id")
        self._judges = [
            Judge(judge_name(word), judge_kind)
            for word, judge_kind in zip(sheet.words("judge"), _kinds(sheet, kind), strict=True)
        ]
        self._grades = sheet.grades("grade", UNJUDGED)
        self._seqs, self._units = sheet.wholes("seq"), sheet.wholes("unit", UNJUDGED)
        self._replaced = set(sheet.wholes("supersedes", UNJUDGED).tolist())
        bodies = sheet.columns["body"] if "body" in sheet.columns else [None] * sheet.n_rows
        self._bodies = [body if isinstance(body, dict) else {} for body in bodies]
        times = {name: sheet.wholes(name, UNJUDGED).tolist() for name in ("at", "active_ms") if name in sheet.columns}
        self._at, self._active_ms = (times.get(name, [UNJUDGED] * sheet.n_rows) for name in ("at", "active_ms"))

    def _rows(self, *kinds: str) -> Iterator[int]:
        yield from (row for row, kind in enumerate(self._kinds) if kind in kinds)

    def _logged(self, row: int) -> dict[str, Any]:
        at, active_ms = self._at[row], self._active_ms[row]
        return {
            "at": at if at >= 0 else None,
            "seconds": active_ms / 1000 if active_ms >= 0 else None,
            "seq": int(self._seqs[row]),
        }

    def answers(self) -> Iterator[tuple[int, Judgment]]:
        """Yield grades, items that cannot be judged, and truths of queries that were compared."""
        from activeeval.io.comparisons import Truth

        rows = [row for row in self._rows("judged", "cannot") if int(self._seqs[row]) not in self._replaced]
        last: dict[tuple[str, str], int] = {}
        for row in rows:
            pair = self._queries[row], self._docs[row]
            last[pair] = max(int(self._units[row]), last.get(pair, UNJUDGED))
        for row in rows:
            query, doc, body = self._queries[row], self._docs[row], self._bodies[row]
            if self._units[row] != last[query, doc]:
                continue
            if self._kinds[row] == "cannot":
                reason = self._reasons[row] or _UNSAID
                yield row, Judgment(query, doc, self._judges[row], "cannot", reason=reason, **self._logged(row))
            elif "top" in body:
                truth = Truth.from_parts(body)
                yield from ((row, ranked) for ranked in _ranked(query, self._judges[row], truth, **self._logged(row)))
            elif self._grades[row] < 0:
                self._sheet.fail(row, "grade", "is empty, expected a grade of what was judged")
            else:
                yield row, Judgment(query, doc, self._judges[row], value=int(self._grades[row]), **self._logged(row))

    def comparisons(self) -> Iterator[tuple[int, Judgment]]:
        """Yield the comparisons that stand: of a query that was taken back none from before."""
        stands: dict[tuple[int, Judge], list[int]] = {}
        for row in self._rows("preferred", "retracted"):
            unit, judge, what = int(self._units[row]), self._judges[row], self._bodies[row].get("what")
            if self._kinds[row] == "retracted":
                stands = {key: rows for key, rows in stands.items() if key[0] != unit or what == REOPENED}
            elif what == "undone":
                del stands.setdefault((unit, judge), [])[-1:]
            else:
                stands.setdefault((unit, judge), []).append(row)
        for row in sorted(row for rows in stands.values() for row in rows):
            body = self._bodies[row]
            if body.get("what") != "compared":
                continue
            first, second, preferred = (body.get(name) for name in ("first", "second", "preferred"))
            if not isinstance(first, str) or not isinstance(second, str) or preferred not in (None, first, second):
                self._sheet.fail(row, "body", f"holds {shown(str(body))}, expected two documents and the better one")
            query, judge = self._queries[row], self._judges[row]
            yield row, _preference(query, judge, first, second, preferred, **self._logged(row))

    def put_off(self) -> Iterator[tuple[int, Judgment]]:
        """Yield what judges put off."""
        for row in self._rows("later"):
            judge, reason = self._judges[row], self._reasons[row]
            yield row, Judgment(self._queries[row], self._docs[row], judge, "later", reason=reason, **self._logged(row))


_FORMS: tuple[tuple[Callable[[set[str]], bool], Callable[[Sheet, str], Judgments]], ...] = (
    (lambda columns: {"sample", "block"} <= columns, _of_sheet),
    (lambda columns: columns >= _LOG, _of_log),
    (lambda columns: {"preferred", "other"} <= columns, _of_comparisons),
    (is_truths, _of_truths),
)
