"""Read judgments from a file of any supported format.

The format is found by the name and the first lines: TREC text (qrels, prels), LETOR lines, tables of any kind, whose
formats are in `activeeval.formats.judgments.table_forms`, and other tools' files of `activeeval.formats.dialects`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from activeeval.core.errors import FormatError
from activeeval.core.judgments.judgment import CANNOT, Judge
from activeeval.core.judgments.table import Judgments
from activeeval.core.pool.texts import Texts, joined_texts
from activeeval.core.types import Ints
from activeeval.formats.chunks import ruled_judgments
from activeeval.formats.dataset_ids import is_dataset_id, read_dataset
from activeeval.formats.dialects import read_as
from activeeval.formats.file_kinds import JSON, kind_of, read_json
from activeeval.formats.graders.file_forms import is_book
from activeeval.formats.judgments.machines import machine_form, of_book, of_document, of_machine
from activeeval.formats.judgments.table_forms import of_table
from activeeval.formats.reading_rules import rules
from activeeval.formats.suffixes import TABLES, PathLike, bare_suffix
from activeeval.formats.text.plain import first_lines, plain_grades

if TYPE_CHECKING:
    from activeeval.core.pool.keyed import Qrels
    from activeeval.core.results import Caution, Note
    from activeeval.formats.tables.sheets import Sheet

_WHOLE, _PRELS = re.compile(r"-?[0-9]+"), 5
_FROM_ONE = 2
"""Least range of grades without 0 that suggests a scale from 1: lists of relevant items alone have grades 1 and 2."""


def read(path: PathLike, *, kind: str = "person", is_plain: bool = False, machine_is_truth: bool = False) -> Judgments:
    r"""Read judgments from a file of any supported format.

    Parameters
    ----------
    path : path
        TREC judgments, also with probabilities (prels); LETOR lines; or a table (.csv, .tsv, .jsonl, .parquet, .xlsx,
        .ods): a judged sheet of a sample, grades (columns query_id or q_id, qid or query; doc_id or docno, docid; grade
        or relevance, label, rating, score; optionally judge, judge_kind and note), a campaign's log as
        ``campaign export --format jsonl`` writes it, whose final state counts, comparisons (query, preferred,
        other; tie, judge), or top-k truths (query, rank, doc_id); JSON {query: {document: grade}}; or a file of
        another tool, see `activeeval.formats.dialects`. Text may be compressed (gzip, bzip2, xz, Zstandard).
    kind : {"person", "machine"}
        Kind of the judges whose kind the file does not state.
    is_plain : bool
        Read simple text in Python if possible, which saves the start of the compiled readers for small files.
    machine_is_truth : bool
        Accept graders' grades as labels, as `Judgments.as_truth` does.

    Raises
    ------
    FormatError
        ``path:line: what is wrong``.
    InputError
        If the file cannot be read, or a grader wrote it and `kind` or `machine_is_truth` does not allow that.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     qrels = pathlib.Path(folder, "qrels.txt")
    ...     _ = qrels.write_text("q1 0 a 2\nq1 0 b 0\n")
    ...     judgments = read(qrels)
    >>> [(judgment.item, judgment.value) for judgment in judgments]
    [('a', 2), ('b', 0)]
    """
    judgments = _read(path, "machine" if machine_is_truth else kind, is_plain=is_plain)
    return _finished(judgments, machine_is_truth)


def read_from_sheet(path: PathLike, sheet: Sheet, *, machine_is_truth: bool) -> Judgments:
    """Read judgments from the table that a file holds; raises as `read`."""
    return _finished(of_sheet(path, sheet, "machine" if machine_is_truth else "person"), machine_is_truth)


def _finished(judgments: Judgments, machine_is_truth: bool) -> Judgments:
    """Apply the reading rules: texts of queries become ids, chunks become documents.

    With ``machine_is_truth`` graders' grades count as labels.
    """
    if texts := rules().queries:
        from activeeval.formats.judgments.query_names import with_query_ids

        judgments = with_query_ids(judgments, texts)
    ruled = ruled_judgments(judgments)
    return ruled.as_truth() if machine_is_truth else ruled


def _read(path: PathLike, kind: str, *, is_plain: bool) -> Judgments:
    """Read judgments from a file of any format, before the reading rules apply.

    ``kind`` ("person" or "machine") is that of judges whose kind the file does not state; ``is_plain`` avoids the
    compiled readers for small files.
    """
    if is_dataset_id(path):
        judgments = _distinct(*read_dataset(os.fspath(path)), os.fspath(path), kind)
        return replace(judgments, read_notes=(read_as(path, "a data set of ir_datasets"),))
    form = kind_of(path)
    if form == JSON:
        return of_json(path, kind)
    if form:
        from activeeval.formats.tables.read_tables import read_sheet

        return of_sheet(path, read_sheet(path, form), kind)
    if is_plain and (grades := plain_grades(path)) is not None:
        queries, items = (Texts.from_list([pair[side] for pair in grades]) for side in range(2))
        return _distinct(queries, items, np.array(list(grades.values()), dtype=np.int64), os.fspath(path), kind)
    words = " ".join(first_lines(path)).split()
    if words[:2] == ["SQLite", "format"]:
        raise FormatError(
            os.fspath(path), None, "is a store of campaigns, expected the log that `campaign export` writes of one"
        )
    if any(word.startswith("qid:") for word in words[1:2]):
        return _of_letor(path, kind)
    from activeeval.formats.text.trec import read_prels, read_qrels

    text = read_prels(path) if _is_prels(words) else read_qrels(path)
    judgments = _distinct(text.query_ids, text.doc_ids, text.grades, os.fspath(path), kind)
    judgments = replace(judgments, gains=getattr(text, "gains", None))
    if bare_suffix(path) not in TABLES:
        return judgments
    return replace(judgments, read_notes=(read_as(path, "TREC text: query, iteration, document, grade"),))


def held_or_read(source: PathLike | Judgments, **how: Any) -> Judgments:
    """Read judgments from a file with `read`; return `Judgments` unchanged."""
    return source if isinstance(source, Judgments) else read(source, **how)


def read_all(sources: Mapping[str, PathLike | Judgments]) -> Judgments:
    """Read judgments of several sources into one; a judge without a name gets the name of the source.

    A file that is given by two paths counts as one judge, and so do two sheets with the same answers: copies say
    nothing about agreement.
    """
    first: dict[Hashable, str] = {}
    parts = []
    for name, source in sources.items():
        judgments = held_or_read(source)
        place = name if isinstance(source, Judgments) else os.path.realpath(source)
        same: Hashable = _answers(judgments) if judgments.sample else place
        parts.append(judgments.named(first.setdefault(same, name)))
    return _joined(parts)


def _joined(parts: Sequence[Judgments]) -> Judgments:
    """Concatenate the judgments of several sources, with one list of judges."""
    judges = tuple(dict.fromkeys(judge for part in parts for judge in part.judges))
    number = {judge: k for k, judge in enumerate(judges)}
    numbers = [np.array([number[judge] for judge in part.judges])[part.judge_of] for part in parts]
    seconds = [np.full(len(part), np.nan) if part.seconds is None else part.seconds for part in parts]
    return Judgments(
        query_ids=joined_texts([part.query_ids for part in parts]),
        item_ids=joined_texts([part.item_ids for part in parts]),
        values=np.concatenate([part.values for part in parts]),
        kinds=np.concatenate([part.kind_of for part in parts]),
        judge=np.concatenate(numbers),
        judges=judges,
        others=[other for part in parts for other in part.others or [""] * len(part)],
        seconds=np.concatenate(seconds),
        source=", ".join(part.source for part in parts),
    )


def labels_of(source: Any, policy: str = "median", *, machine_is_truth: bool = False) -> Qrels:
    """Reduce judgments in any format, on file or in memory, to one label an item.

    Parameters
    ----------
    source : path, Judgments, Qrels, mapping or data frame
        In memory as `activeeval.formats.loading.load_qrels` takes them.
    policy : {"refuse", "majority", "median"}
        How to resolve an item that judges grade differently.
    machine_is_truth : bool
        Accept graders' grades in a file as labels.

    Raises
    ------
    InputError
        If the file cannot be read, has no grades, or a grader wrote it and `machine_is_truth` is False.
    """
    is_file = isinstance(source, (str, os.PathLike))
    judgments = read(source, machine_is_truth=machine_is_truth) if is_file else source
    if isinstance(judgments, Judgments):
        labels: Qrels = judgments.labels(policy)
        of_file = _notes_of(source, judgments) if judgments is not source else ()
        of_scale = scale_note(labels.grades, judgments.source) if labels.gains is None else []
        return replace(labels, notes=(*of_file, *judgments.notes(), *_several_grades(judgments, policy), *of_scale))
    from activeeval.formats.loading import load_qrels

    return load_qrels(judgments)


def _notes_of(path: PathLike, judgments: Judgments) -> tuple[Note | Caution, ...]:
    """Collect the notes and warnings about using a file's judgments as labels."""
    from activeeval.core.results import Note
    from activeeval.formats.sampled_note import sampled_note

    source, notes = os.fspath(path), []
    instead = f"activeeval estimate SAMPLE {source}" if judgments.sample else sampled_note(path)
    if instead:
        notes.append(Note("of a sample", {"source": source, "instead": instead}))
    n_cannot = int((judgments.kind_of == CANNOT).sum()) if judgments.holds("cannot") else 0
    if n_cannot:
        notes.append(Note("cannot count", {"source": source, "n": n_cannot}))
    return tuple(notes)


def _several_grades(judgments: Judgments, policy: str) -> list[Note]:
    """Note how many items several people graded, and how many of these alike; [] if all, or there is one judge.

    ``policy`` is the rule by which different grades become one label.
    """
    if len(judgments.judges) == 1:
        return []
    from activeeval.core.judgments.policies import agreement_of
    from activeeval.core.results import Note, Told

    by_item: dict[tuple[str, str], dict[str, int]] = {}
    for row in judgments.of_people():
        by_item.setdefault((row.query, row.item), {})[row.judge.name] = row.value
    agreement = agreement_of(by_item.values())
    counts: dict[str, Told] = {"n": agreement.several, "n_alike": agreement.alike, "policy": policy}
    return [Note("several grades", counts)] if agreement.several > agreement.alike else []


def scale_note(grades: Ints, source: str) -> list[Note]:
    """Note that a scale may begin above 0: the smallest of three grades or more is not 0. Grades < 0 are missing."""
    from activeeval.core.results import Note

    grades = grades[grades >= 0]
    if not grades.size or not 0 < grades.min() <= grades.max() - _FROM_ONE:
        return []
    return [Note("no zero", {"source": source, "least": int(grades.min())})]


def of_json(path: PathLike, kind: str) -> Judgments:
    """Read judgments from a JSON file: {query: {document: grade}}, a list of objects, or another tool's document.

    ``kind`` ("person" or "machine") is that of judges whose kind the file does not state.
    """
    from activeeval.formats.tables.read_tables import json_sheet

    value = read_json(path)
    sheet = json_sheet(value, path, "grade")
    return of_document(value, path, kind) if sheet is None else of_sheet(path, sheet, kind)


def of_sheet(path: PathLike, sheet: Sheet, kind: str) -> Judgments:
    """Convert a table to judgments; refuse a grader's table unless `kind` is "machine".

    ``kind`` ("person" or "machine") is that of judges whose kind the table does not state.
    """
    from activeeval.formats.dialects import document_dialect

    if document_dialect(sheet.columns) is not None:
        return of_document(sheet.records(), path, kind)
    columns = {name.strip().lower() for name in sheet.columns}
    if origin := machine_form(columns):
        return of_machine(path, origin, kind)
    if not is_book(columns):
        return of_table(sheet, kind)
    from activeeval.formats.graders.books import raters_of

    note = read_as(path, f"a book of Quepid: query, docid and the judges {', '.join(raters_of(sheet))}")
    return replace(of_book(sheet, kind), read_notes=(note, *sheet.notes))


def _answers(judgments: Judgments) -> frozenset[tuple[Any, ...]]:
    """Collect the answers of a sheet, whatever the order of its rows."""
    return frozenset((row.query, row.item, row.value, row.kind, row.judge) for row in judgments if row.kind != "waits")


def _is_prels(words: Sequence[str]) -> bool:
    """Check whether the words of a line are ``query document grade method probability``."""
    if len(words) != _PRELS or not all(map(_WHOLE.fullmatch, words[2:4])):
        return False
    try:
        return 0 < float(words[4]) <= 1
    except ValueError:
        return False


def _distinct(queries: Texts, items: Texts, grades: Any, source: str, kind: str) -> Judgments:
    """Build judgments of one unnamed judge of a ``kind`` ("person" or "machine"), with one grade an item."""
    judges = (Judge("", kind),)
    return Judgments(query_ids=queries, item_ids=items, values=grades, judges=judges, source=source, is_distinct=True)


def _of_letor(path: PathLike, kind: str) -> Judgments:
    """Read the grades of LETOR lines as judgments of one judge of a ``kind``, "person" or "machine"."""
    from activeeval.formats.text.letor import read_letor

    data = read_letor(path, features=False)
    pool = data.pool()
    return _distinct(pool.query_texts[pool.item_queries], pool.item_texts, data.grades, os.fspath(path), kind)
