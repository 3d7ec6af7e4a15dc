"""The door from files to what judges said: sheets, judgments, tables of grades, preferences and top-k truths."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from activeeval.io.comparisons import comparisons_of, truths_of
from activeeval.io.files import PathLike, bare_suffix
from activeeval.io.judges import judge_name
from activeeval.io.loading import DOCUMENT, GRADE, QUERY
from activeeval.io.tables.draws import read_draws_if_any
from activeeval.io.tables.sheets import TABLES, Sheet, read_sheet
from activeeval.io.text.trec import read_qrels
from activeeval.judgments.opinions import Graded, Grades, Preferred, Relations


class Opinions(NamedTuple):
    """What the judges of some files said: grades, preferences, or both."""

    grades: Grades
    preferences: Relations


def read_opinions(paths: Sequence[PathLike]) -> Opinions:
    """Read what judges said; a judge is a name in the column ``judge``, or, without one, a file.

    A file that is given by two paths is one judge, and so is a sheet with its copy: what differs in no answer says
    nothing of how far two agree.

    Parameters
    ----------
    paths : sequence of path
        Judged sheets of a sample; judgments as TREC text, or as tables with a column of grades; preferences with the
        columns preferred and other; top-k truths with the column rank, whose documents are preferred to those that
        stand below. What nobody could judge, or has not judged yet, is left out.

    Raises
    ------
    InputError
        Names the file and line that is wrong, or the judge who says two things.
    """
    graded: list[Graded] = []
    preferred: list[Preferred] = []
    first: dict[Hashable, str] = {}
    for path in paths:
        for one in _said(path, first):
            if isinstance(one, Graded):
                graded.append(one)
            else:
                preferred.append(one)
    return Opinions(Grades.of(graded), Relations.of(preferred))


def _said(path: PathLike, first: dict[Hashable, str]) -> Iterator[Graded | Preferred]:
    """Yield what a file says; who is not named is called as the ``first`` file of the same sheet, or of that path."""
    draws = read_draws_if_any(path)
    name = first.setdefault(os.path.realpath(path) if draws is None else draws.answers, os.fspath(path))
    if bare_suffix(path) not in TABLES:
        qrels = read_qrels(path)
        rows = zip(qrels.query_ids.tolist(), qrels.doc_ids.tolist(), qrels.grades.tolist(), strict=True)
        return (Graded(name, *row) for row in rows if row[-1] >= 0)
    if draws is not None:
        judges = _judges(draws.judge.tolist(), name)
        columns = (column.tolist() for column in (draws.query_id, draws.doc_id, draws.grade))
        return (Graded(*row) for row in zip(judges, *columns, strict=True) if row[-1] >= 0)
    sheet = read_sheet(path).plainly_named()
    if {"preferred", "other"} <= sheet.columns.keys():
        return _preferences(sheet, name)
    if "rank" in sheet.columns and not set(GRADE) & sheet.columns.keys():
        return _truth(sheet, name)
    return _graded(sheet, name)


def _judges(words: Sequence[str], name: str) -> list[str]:
    return [judge_name(word) or name for word in words]


def _graded(sheet: Sheet, name: str) -> Iterator[Graded]:
    grade = sheet.column("grade", GRADE)
    grades = sheet.grades(grade, empty=-1).tolist()
    queries, docs = (
        sheet.texts(sheet.column(what, names)).tolist() for what, names in (("query", QUERY), ("document", DOCUMENT))
    )
    judges = _judges(sheet.words("judge") if "judge" in sheet.columns else [""] * sheet.n_rows, name)
    rows = zip(judges, queries, docs, grades, strict=True)
    return (Graded(*row) for row in rows if row[-1] >= 0)


def _preferences(sheet: Sheet, name: str) -> Iterator[Preferred]:
    for query, preferred, other, is_tie, judge in comparisons_of(sheet):
        yield Preferred(judge_name(judge) or name, query, preferred, other, is_tie)


def _truth(sheet: Sheet, name: str) -> Iterator[Preferred]:
    """Yield what a truth says of every two documents: the top in its order, the others tied, as those thrown out.

    Documents that share a rank are tied, those below have all the same.
    """
    for query, truth in truths_of(sheet).items():
        last = len(truth.top) + 1
        placed = [*truth.ranked, *((last, doc) for doc in (*truth.below, *truth.bad))]
        for (rank, doc), (other_rank, other) in combinations(placed, 2):
            yield Preferred(name, query, doc, other, is_tie=rank == other_rank)
