"""Grades that are known before a sample is drawn: of judgments, of judged sheets, and what a sample knew."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from activeeval.core.errors import InputError, unseen_difference
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
from activeeval.formats.judgments.from_files import read
from activeeval.formats.sample_file import MACHINES, read_campaign
from activeeval.formats.suffixes import SPREADSHEETS, bare_suffix

_TELLING = 2
"""Judgments of relevant or not end at 1."""
Row = tuple[str, str, int, str]


@dataclass(frozen=True, slots=True)
class KnownGrades:
    """Grades that are known from elsewhere than a file.

    Attributes
    ----------
    source : str
        What messages call it.
    grades : sequence of (query, item, grade, judge)
        The judge is "" where none is named; all of those of a source are one.
    notes : tuple of Note or Caution
        What its reader has to say of them.
    judgments : Judgments or None
        A row for each grade, where they come from a file.
    """

    source: str
    grades: Sequence[Row]
    notes: tuple[Note | Caution, ...] = ()
    judgments: Judgments | None = None

    def rows(self) -> Iterator[tuple[str, Row]]:
        """Yield each grade with its place: that of the judgment in its file, or the source."""
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
    """Return what sources say of a pool's items, −1 where they say nothing, and notes.

    Parameters
    ----------
    sources : sequence of str or KnownGrades
        Files: judgments as `activeeval.formats.judgments.from_files.read` takes them, or samples. Or grades themselves.
    policy : {"refuse", "majority", "median"}
        What becomes of an item that is graded differently; see `activeeval.core.judgments.policies`.
    max_grade : int, optional
        The largest of the scale.
    machine_is_truth : bool
        Take what machines say in files for labels.

    Raises
    ------
    InputError
        Where an item has different grades and the policy is to refuse, one judge gives it two, or a source grades no
        item of the pool.
    """
    by_item: dict[int, dict[str, int]] = {}
    places_of: dict[int, dict[str, str]] = {}
    places, queries = pool.item_positions(), {name: q for q, name in enumerate(pool.query_texts)}
    notes: list[Note | Caution] = []
    for source in sources:
        known_grades = _read(source, machine_is_truth=machine_is_truth) if isinstance(source, str) else source
        path, rows = known_grades.source, known_grades.rows()
        notes += known_grades.notes
        n_graded, n_here, largest = 0, 0, 0
        outside: list[str] = []
        for where, (query, item, grade, judge) in rows:
            if grade < 0:
                continue
            n_graded += 1
            z = places.get((queries.get(query, -1), item))
            if z is None:
                outside.append(item if query in queries else query)
            else:
                n_here, largest = n_here + 1, max(largest, grade)
                if max_grade is not None and grade > max_grade:
                    problem = f"{where}: grade {grade} of {pool.place(z)} is above `max_grade` {max_grade}"
                    raise InputError(problem, field="max_grade")
                add_grade(by_item.setdefault(z, {}), judge or path, grade, f"{where}: {pool.place(z)}")
                places_of.setdefault(z, {})[judge or path] = where
        if n_graded == 0:
            raise InputError(f"{path}: holds no grade yet")
        if n_here == 0:
            unseen = unseen_difference(outside, [*queries, *(item for _, item in places)])
            raise InputError(f"{path}: none of its {n_graded} grades is of an item of the pool{unseen}")
        if max_grade is not None and largest < min(max_grade, _TELLING):
            notes.append(Note("low grades", {"source": path, "largest": largest, "max_grade": max_grade}))
        if n_here < n_graded:
            notes.append(Note("foreign grades", {"source": path, "n": n_graded - n_here, "of": n_graded}))
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
    """Return what people say in a file, or a sample knew: query, item, grade and judge, where one is named."""
    # .xlsx and .ods are packed as arrays are
    if is_arrays(path) and bare_suffix(path) not in SPREADSHEETS:
        campaign, arrays = read_campaign(path)
        design = campaign.design
        pool = design.pool
        columns = (pool.query_texts[pool.item_queries], pool.item_texts, design.known)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        taken = tuple(truth_of_machines(source, int(n)) for source, n in arrays.get(MACHINES, ()))
        return KnownGrades(path, [(query, item, grade, "") for query, item, grade in rows], taken)
    judgments = read(path, machine_is_truth=machine_is_truth)
    graded = judgments.of_people()
    return KnownGrades(path, list(graded_rows(graded)), judgments.notes(), graded)


def graded_rows(judgments: Judgments) -> Iterator[Row]:
    """Yield query, item, grade and the name of the judge of each grade by a person.

    Raises
    ------
    InputError
        Where these are comparisons or ranks, or of machines alone.
    """
    names = [judge.name for judge in judgments.judges]
    graded = judgments.of_people()
    columns = (graded.query_ids, graded.item_ids, graded.values, graded.judge_of)
    for query, item, grade, judge in zip(*(column.tolist() for column in columns), strict=True):
        yield query, item, grade, names[judge]
