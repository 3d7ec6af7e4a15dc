"""Read judgments of subtopics from TREC's diversity qrels, tables and data frames."""

from __future__ import annotations

import os
from typing import Any

from activeeval.core.errors import InputError
from activeeval.formats.file_kinds import kind_of
from activeeval.formats.judgments.machines import check_of_people
from activeeval.formats.loading import DOCUMENT, GRADE, NOT_JUDGED, QUERY, source_sheet
from activeeval.formats.reading_rules import rules
from activeeval.formats.subtopics import SUBTOPIC, SubtopicQrels, of_subtopics
from activeeval.formats.text.columns import read_columns

_OF_SUBTOPICS = ("query", "subtopic", "document")


def load_subtopics(source: Any) -> SubtopicQrels:
    r"""Load judgments of subtopics from a path or a data frame.

    Parameters
    ----------
    source : path or frame
        TREC text, whose second column is the subtopic, or a table as of `load_qrels` with a column subtopic_id,
        subtopic, intent or iteration.

    Raises
    ------
    InputError
        If there are no subtopics, a document has two grades for one, a grader wrote the table, or documents are to be
        collapsed or left out by their ids.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     qrels = pathlib.Path(folder, "qrels.txt")
    ...     _ = qrels.write_text("q 1 a 1\nq 2 a 0\nq 2 b 1\n")
    ...     judgments = load_subtopics(qrels)
    >>> judgments.doc_ids.tolist(), judgments.grades, judgments.subtopics
    (['a', 'b'], array([1, 1]), array([0, 1, 1]))
    """
    if rules().collapse or rules().leave_out_self:
        raise InputError("judgments of subtopics are read as they are: leave out `collapse` and `leave_out_self`")
    if isinstance(source, (str, os.PathLike)) and not kind_of(source):
        columns = read_columns(source, "qttn", "query subtopic document grade")
        queries, subtopics, docs = columns.texts
        return of_subtopics(columns.path, (queries, subtopics, docs), columns.grades(0), columns.fail)
    sheet = source_sheet(source, "judgments", "relevance")
    check_of_people(sheet.plainly_named())
    names = [sheet.column(what, of) for what, of in zip(_OF_SUBTOPICS, (QUERY, SUBTOPIC, DOCUMENT), strict=True)]
    grades = sheet.grades(sheet.column("grade", GRADE), empty=NOT_JUDGED)
    queries, subtopics, docs = map(sheet.texts, names)
    ids = (queries, subtopics, docs)
    return of_subtopics(sheet.source, ids, grades, lambda row, problem: sheet.fail(row, names[2], problem))
