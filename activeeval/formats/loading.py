"""Load judgments, runs, probabilities and costs from files, dicts or data frames."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from activeeval.core.errors import FormatError, InputError, shown
from activeeval.core.pool.keyed import Costs, Probabilities, Qrels
from activeeval.core.pool.keys import distinct_texts, first_repeated_pair, places_within
from activeeval.core.pool.texts import Texts
from activeeval.core.types import Floats, Ints
from activeeval.formats.chunks import ruled_run
from activeeval.formats.dialects import by_roles, document_dialect
from activeeval.formats.file_kinds import JSON, kind_of, listed_values, read_json
from activeeval.formats.files import FileStamp
from activeeval.formats.graders.books import document_sheet
from activeeval.formats.pooling import TablePool, pool_from_tables
from activeeval.formats.reading_rules import coded_gains, rules
from activeeval.formats.suffixes import PathLike, located
from activeeval.formats.tables.cells import tiny_texts
from activeeval.formats.tables.read_tables import frame_sheet, json_sheet, pair_sheet, read_sheet
from activeeval.formats.tables.sheets import Sheet
from activeeval.formats.text.columns import read_columns
from activeeval.formats.text.trec import Run, order_notes, read_qrels, read_run

__all__ = ["TablePool", "load_probabilities", "load_qrels", "load_run", "load_tables", "pool_from_tables", "read_costs"]


QUERY = ("query_id", "q_id", "qid")
# PyTerrier frames carry an internal number docid beside the docno
DOCUMENT = ("doc_id", "docno", "docid")
GRADE = ("relevance", "label", "grade", "score")
SCORE = ("score",)
NOT_JUDGED = -1
"""Grade of an unjudged item, as in TREC qrels."""
_TOLERANCE = 1e-6


def load_qrels(source: Any) -> Qrels:
    """Load judgments from a path, a dict of dicts, a data frame or `Qrels`.

    Parameters
    ----------
    source : path, mapping, frame or Qrels
        A path is a table, JSON {query: {document: grade}}, or TREC text, see `activeeval.formats.file_kinds`. Columns
        are query_id/doc_id/relevance, q_id/doc_id/score or qid/docno/label. None and NaN mean unjudged.

    Examples
    --------
    >>> load_qrels({"q1": {"d1": 2, "d2": 0}}).grades
    array([2, 0])
    """
    if isinstance(source, Qrels):
        return source
    if isinstance(source, (str, os.PathLike)) and not kind_of(source):
        return read_qrels(source)
    sheet = source_sheet(source, "judgments", "relevance")
    column = sheet.column("grade", GRADE)
    coded = None
    if rules().gains:
        coded = coded_gains(sheet.floats(column, NOT_JUDGED), lambda row, problem: sheet.fail(row, column, problem))
    grades, gains = coded or (sheet.grades(column, empty=NOT_JUDGED), None)
    return Qrels(*_pairs(sheet), grades, sheet.source, notes=sheet.notes, gains=gains)


def load_run(source: Any) -> Run:
    """Load a run from a path, a dict of dicts, a data frame or `Run`.

    Parameters
    ----------
    source : path, mapping, frame or Run
        A path is a table, JSON {query: {document: score}}, TREC text, or a run of MS MARCO (query, document, rank),
        see `activeeval.formats.file_kinds`. Columns are query_id/doc_id/score, q_id/doc_id/score or
        qid/docno/score; rank is optional and by default the position of the row within its query, from 1.

    Examples
    --------
    >>> load_run({"q1": {"d1": 0.5, "d2": 1.5}}).scores
    array([0.5, 1.5])
    """
    if isinstance(source, Run):
        return source
    if not isinstance(source, (str, os.PathLike)):
        return ruled_run(_table_run(source))
    stamp = FileStamp.of(located(source)[0])
    run = _table_run(source) if kind_of(source) else read_run(source)
    stamp.check()
    return ruled_run(run)


def _table_run(source: Any) -> Run:
    """Load a run from a table on file or in memory."""
    sheet = source_sheet(source, "run", "score")
    query_ids, doc_ids = _pairs(sheet)
    is_ranked = "rank" in sheet.columns
    is_of_ranks = is_ranked and "score" not in sheet.columns
    column = "rank" if is_of_ranks else sheet.column("score", SCORE)
    if is_ranked:
        ranks = _ranks(sheet, query_ids, are_scores=is_of_ranks)
    else:
        ranks = places_within(distinct_texts(query_ids)[1])
    scores = -ranks.astype(np.float64) if is_of_ranks else sheet.floats(column)
    name = Path(source).name.split(".")[0] if isinstance(source, (str, os.PathLike)) else ""
    # without a rank column the order of a table's rows carries no information
    stated_ranks = ranks if is_ranked else np.zeros_like(ranks)
    notes = order_notes(sheet.source, query_ids, scores, stated_ranks, tiny_texts(sheet.columns[column], scores))
    return Run(query_ids, doc_ids, scores, ranks, name, sheet.source, (*sheet.notes, *notes))


def _ranks(sheet: Sheet, query_ids: Texts, *, are_scores: bool) -> Ints:
    """Read the ranks of a table; raise FormatError if they stand for scores and one is below 0, or twice in a query."""
    ranks = sheet.wholes("rank", least=0 if are_scores else None)
    if not are_scores:
        return ranks
    owners = distinct_texts(query_ids)[1]
    order = np.lexsort((ranks, owners))
    again = np.flatnonzero((np.diff(owners[order]) == 0) & (np.diff(ranks[order]) == 0))
    if again.size:
        row = int(order[again[0] + 1])
        sheet.fail(row, "rank", f"rank {ranks[row]} of query {shown(query_ids[row])} is there twice, expected it once")
    return ranks


def load_tables(qrels: Any, runs: Sequence[Any]) -> tuple[Qrels, list[Run]]:
    """Load judgments and runs in parallel; errors of runs are raised first.

    Parameters
    ----------
    qrels : callable, or as `load_qrels` takes it
        A callable returns the judgments.
    runs : sequence
        Each as `load_run` takes it.
    """
    with ThreadPoolExecutor() as pool:
        loading = [pool.submit(copy_context().run, load_run, run) for run in runs]
        judged = qrels if callable(qrels) else partial(load_qrels, qrels)
        judgments = pool.submit(copy_context().run, judged)
        loaded = [run.result() for run in loading]
        return judgments.result(), loaded


def load_probabilities(source: Any) -> Probabilities:
    """Load distributions over grades from a table (path or data frame) with the columns query_id, doc_id, p0, p1, …

    Raises
    ------
    FormatError
        Names the first row that is not a distribution: not finite, negative, or a sum off 1 by more than 1e-6.
    """
    sheet = source_sheet(source, "probabilities", "")
    names = distribution_columns(sheet)
    if not names or names != [f"p{y}" for y in range(len(names))]:
        present = ", ".join(sheet.columns)
        raise FormatError(
            sheet.source, None, f"no columns p0, p1, … without a gap in: {present}; expected one for each grade"
        )
    query_ids, doc_ids = _pairs(sheet)
    probs = np.ascontiguousarray(np.column_stack([sheet.floats(name) for name in names]))
    check_distributions(sheet, names, probs)
    return Probabilities(query_ids, doc_ids, probs, sheet.source)


def distribution_columns(sheet: Sheet) -> list[str]:
    """List the columns p0, p1, … of a table, in the order of the grades."""
    return sorted((name for name in sheet.columns if re.fullmatch(r"p\d+", name)), key=lambda name: int(name[1:]))


def check_distributions(sheet: Sheet, names: Sequence[str], probs: Floats) -> None:
    """Raise FormatError if a row of a table is not a distribution over grades.

    Parameters
    ----------
    names : sequence of str
        Columns of the probabilities, in the order of the grades 0, 1, …
    probs : ndarray of float64, shape (n, n_grades)

    Raises
    ------
    FormatError
        Names the first row with a negative probability, or a sum off 1 by more than 1e-6.
    """
    for k, name in enumerate(names):
        negative = np.flatnonzero(probs[:, k] < 0)
        if negative.size:
            row = int(negative[0])
            at = _pair_at(sheet, row)
            sheet.fail(row, name, f"holds {float(probs[row, k])!r} at {at}, expected a probability")
    bad = np.flatnonzero(~(np.abs(probs.sum(axis=1) - 1) <= _TOLERANCE))
    if bad.size:
        row = int(bad[0])
        at = _pair_at(sheet, row)
        sheet.fail(row, f"p0 … {names[-1]}", f"the row of {at} sums to {float(probs[row].sum())!r}, expected 1")


def read_costs(path: PathLike) -> Costs:
    """Read costs of items: one positive number a line in the order of the items, or a table with ids.

    A name that ends in .csv, .tsv, .jsonl, .parquet, .xlsx or .ods is a table of query_id, doc_id and cost.
    """
    name, kind = os.fspath(path), kind_of(path)
    if not kind:
        columns = read_columns(path, "n", "one cost a line")
        values = columns.floats(0)
        bad = np.flatnonzero(values <= 0)
        if bad.size:
            columns.fail(int(bad[0]), f"the cost {float(values[bad[0]])!r} is not positive, expected a positive number")
        return Costs(values, None, None, name)
    sheet = by_roles(read_sheet(path, kind))
    column = sheet.column("cost", ("cost",))
    values = sheet.floats(column)
    bad = np.flatnonzero(values <= 0)
    if bad.size:
        sheet.fail(int(bad[0]), column, f"holds {float(values[bad[0]])!r}, expected a positive number")
    query_ids, doc_ids = _pairs(sheet)
    return Costs(values, query_ids, doc_ids, name)


def source_sheet(source: Any, what: str, value_name: str) -> Sheet:
    """Convert a path, a dict of dicts or a data frame to a sheet with at least one row and this library's columns.

    ``what`` names the data in messages. ``value_name`` is the column of a dict's values; "" refuses a dict.
    """
    if isinstance(source, (str, os.PathLike)):
        return _file_sheet(source, value_name)
    if isinstance(source, Mapping) and value_name:
        sheet = _mapping_sheet(source, what, value_name)
    else:
        try:
            sheet = by_roles(frame_sheet(source, f"the {what} frame"), value_name)
        except TypeError:
            kind = type(source).__name__
            kinds = "a path, a dict of dicts or a data frame" if value_name else "a path or a data frame"
            raise InputError(f"{what} must come as {kinds}, got {kind}") from None
    if sheet.n_rows == 0:
        raise InputError(f"{sheet.source} holds no rows")
    return sheet


def _file_sheet(path: PathLike, value_name: str) -> Sheet:
    """Read a table, or JSON, with this library's names of columns; the values of JSON are the column ``value_name``."""
    kind = kind_of(path)
    if kind == JSON:
        value = read_json(path)
        sheet = json_sheet(value, path, value_name)
        return document_sheet(value, path, value_name) if sheet is None else by_roles(sheet, value_name)
    sheet = read_sheet(path, kind or None)
    if document_dialect(sheet.columns) is not None:
        return document_sheet(sheet.records(), path, value_name)
    return by_roles(sheet, value_name)


def _mapping_sheet(source: Mapping[Any, Any], what: str, value_name: str) -> Sheet:
    """Convert a dict of dicts, query to document to value, or of lists of documents, to a sheet.

    ``what`` names the data in messages, ``value_name`` is the column of the values.
    """
    source = listed_values(source, f"the {what} dict", is_run=value_name == "score") or source
    for query, documents in source.items():
        if not isinstance(documents, Mapping):
            raise InputError(
                f"{what} of query {query!r} must be a dict, document to {value_name}, got {documents!r:.60}"
            )
    return pair_sheet(source, f"the {what} dict", value_name)


def _pairs(sheet: Sheet) -> tuple[Texts, Texts]:
    """Read the query and document ids of a sheet; raise FormatError if a pair occurs twice."""
    query_column, doc_column = sheet.column("query", QUERY), sheet.column("document", DOCUMENT)
    query_ids, doc_ids = sheet.texts(query_column), sheet.texts(doc_column)
    repeated = None if rules().collapse else first_repeated_pair(query_ids, doc_ids)
    if repeated is not None:
        first, again = repeated
        at = _named(query_ids, doc_ids, again)
        sheet.fail(again, doc_column, f"{at} is there twice, first at {sheet.place(first)}; expected it once")
    return query_ids, doc_ids


def _pair_at(sheet: Sheet, row: int) -> str:
    """Format the pair of a row for a message."""
    query_ids, doc_ids = (sheet.texts(sheet.column(*what)) for what in (("query", QUERY), ("document", DOCUMENT)))
    return _named(query_ids, doc_ids, row)


def _named(query_ids: Texts, doc_ids: Texts, row: int) -> str:
    """Format the pair of a row for a message, from columns of ids."""
    return f"document {shown(doc_ids[row])} of query {shown(query_ids[row])}"
