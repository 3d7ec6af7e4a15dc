"""Grades known before a sample is drawn: from judgments, judged sheets or the known grades of other samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from activeeval.core.errors import InputError, fail_unshared
from activeeval.core.judgments import Judgments
from activeeval.core.judgments.policies import (
    DisagreedItem,
    add_grade,
    agreement_of,
    check_alike,
    given_grades,
    one_grade,
    truth_of_machines,
)
from activeeval.core.pool import QueryPool
from activeeval.core.results import Caution, Note, Told
from activeeval.core.types import Ints
from activeeval.formats.arrays import is_arrays
from activeeval.formats.judgments.from_files import read, scale_note
from activeeval.formats.sample_file import MACHINES, read_campaign
from activeeval.formats.suffixes import SPREADSHEETS, bare_suffix

_TELLING = 2
"""Largest grade below which a file may be on a smaller scale: binary judgments end at 1."""
Row = tuple[str, str, int, str]


@dataclass(frozen=True, slots=True)
class KnownGrades:
    """Known grades from a source in memory or from a file.

    Attributes
    ----------
    source : str
        Name of the source in messages.
    grades : sequence of (query, item, grade, judge)
        The judge is "" if unnamed; all unnamed judges of a source count as one.
    notes : tuple of Note or Caution
        Notes of the reader.
    judgments : Judgments or None
        One row for each grade, if they come from a file.
    """

    source: str
    grades: Sequence[Row]
    notes: tuple[Note | Caution, ...] = ()
    judgments: Judgments | None = None

    def rows(self) -> Iterator[tuple[str, Row]]:
        """Yield (place, row) for each grade: the place is the line of the file or the name of the source."""
        for k, row in enumerate(self.grades):
            yield self.source if self.judgments is None else self.judgments.place(k), row


def known_grades_of(
    sources: Sequence[str | KnownGrades],
    pool: QueryPool,
    policy: str = "refuse",
    max_grade: int | None = None,
    *,
    machine_is_truth: bool = False,
) -> tuple[Ints, tuple[Note | Caution, ...]]:
    """Merge the known grades of a pool's items, shape (n_items,), −1 if unknown; also return notes.

    Parameters
    ----------
    sources : sequence of str or KnownGrades
        Files (judgments for `activeeval.formats.judgments.from_files.read`, or samples), or grades.
    policy : {"refuse", "majority", "median"}
        Rule for an item with different grades; see `activeeval.core.judgments.policies`.
    max_grade : int, optional
        Largest grade of the scale.
    machine_is_truth : bool
        Accept graders' grades in files as labels.

    Raises
    ------
    InputError
        If grades of an item differ under policy "refuse", one judge gives an item two grades, a grade is above
        `max_grade`, or a source grades no item of the pool.
    """
    # by position of the item in the pool, then by judge: the grade, and where it stands (as a file with its line)
    by_item: dict[int, dict[str, int]] = {}
    places_of: dict[int, dict[str, str]] = {}
    # ``places``: position of each item, by its query's index and its id
    places, queries = pool.item_positions(), {name: q for q, name in enumerate(pool.query_texts)}
    notes: list[Note | Caution] = []
    for source in sources:
        known_grades = _read(source, machine_is_truth=machine_is_truth) if isinstance(source, str) else source
        path, rows = known_grades.source, known_grades.rows()
        notes += known_grades.notes
        n_graded, n_in_pool, largest = 0, 0, 0
        outside: list[str] = []
        for where, (query, item, grade, judge) in rows:
            if grade < 0:
                continue
            n_graded += 1
            z = places.get((queries.get(query, -1), item))
            if z is None:
                outside.append(item if query in queries else query)
            else:
                n_in_pool, largest = n_in_pool + 1, max(largest, grade)
                if max_grade is not None and grade > max_grade:
                    problem = f"{where}: grade {grade} of {pool.place(z)} is above `max_grade` {max_grade}"
                    raise InputError(problem, field="max_grade")
                add_grade(by_item.setdefault(z, {}), judge or path, grade, f"{where}: {pool.place(z)}")
                places_of.setdefault(z, {})[judge or path] = where
        if n_graded == 0:
            raise InputError(f"{path}: holds no grade yet")
        if n_in_pool == 0:
            problem = f"{path}: none of its {n_graded} grades is of an item of the pool"
            unknown = [query for _, (query, *_) in known_grades.rows() if query not in queries]
            fail_unshared(problem, outside, [*queries, *(item for _, item in places)], unknown)
        if max_grade is not None and largest < min(max_grade, _TELLING):
            notes.append(Note("low grades", {"source": path, "largest": largest, "max_grade": max_grade}))
        if n_in_pool < n_graded:
            notes.append(Note("foreign grades", {"source": path, "n": n_graded - n_in_pool, "of": n_graded}))
    if policy == "refuse":
        check_alike((DisagreedItem(pool.place(z), by_item[z], places_of[z]) for z in by_item), field="judged_policy")
    agreement = agreement_of(by_item.values())
    if agreement.several:
        shared: dict[str, Told] = {"n": agreement.several, "n_alike": agreement.alike, "policy": policy}
        notes.append(Note("several grades", shared))
    known = np.full(pool.n_items, -1, dtype=np.int64)
    known[list(by_item)] = [one_grade(given_grades(grades), policy) for grades in by_item.values()]
    return known, tuple(notes)


def _read(path: str, *, machine_is_truth: bool) -> KnownGrades:
    """Read the human grades of a judgments file, or the known grades of a sample's file.

    `machine_is_truth` accepts graders' grades as labels. InputError is raised if the file cannot be read.
    """
    # .xlsx and .ods are zip files too, like a sample's file
    if is_arrays(path) and bare_suffix(path) not in SPREADSHEETS:
        campaign, arrays = read_campaign(path)
        design = campaign.design
        pool = design.pool
        columns = (pool.query_texts[pool.item_queries], pool.item_texts, design.known)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        cautions = tuple(truth_of_machines(source, int(n)) for source, n in arrays.get(MACHINES, ()))
        return KnownGrades(path, [(query, item, grade, "") for query, item, grade in rows], cautions)
    judgments = read(path, machine_is_truth=machine_is_truth)
    graded = judgments.of_people()
    of_scale = () if judgments.sample else scale_note(graded.values, path)
    return KnownGrades(path, list(graded_rows(graded)), (*judgments.notes(), *of_scale), graded)


def graded_rows(judgments: Judgments) -> Iterator[Row]:
    """Yield (query, item, grade, judge's name) for each human grade.

    Raises
    ------
    InputError
        If the judgments are comparisons or ranks, or by graders only.
    """
    names = [judge.name for judge in judgments.judges]
    graded = judgments.of_people()
    columns = (graded.query_ids, graded.item_ids, graded.values, graded.judge_of)
    for query, item, grade, judge in zip(*(column.tolist() for column in columns), strict=True):
        yield query, item, grade, names[judge]
