"""A drawn sample and the sheet for its judges: the planned items as rows, rows with grades as events.

The sheet carries what a judge needs and the id of its sample; everything else stays with the sample.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from activeeval.campaign.campaign import Campaign
from activeeval.errors import InputError
from activeeval.io.draws import CANNOT, EMPTY, Draws


class Progress(NamedTuple):
    """How many items of a sample have a grade, wait for one, and cannot be judged."""

    judged: int
    waiting: int
    cannot: int


def sheet_of(campaign: Campaign, sample: str) -> Draws:
    """Return the sheet of a campaign: every planned item, unit by unit, none of them judged yet.

    Parameters
    ----------
    sample : str
        The id of the sample, which stands in every row.
    """
    units = campaign.planned
    sizes = np.array([len(unit.items) for unit in units], dtype=np.int64)
    doc_ids = [doc for unit in units for doc in unit.item_ids]
    return Draws(
        sample=sample,
        block=np.repeat(np.array([unit.block for unit in units], dtype=np.int64), sizes),
        query_id=np.repeat(np.array([unit.query_id for unit in units], dtype=np.str_), sizes),
        doc_id=np.array(doc_ids, dtype=np.str_),
        grade=np.full(len(doc_ids), EMPTY, dtype=np.int64),
    )


def take(campaign: Campaign, sheet: Draws, sample: str) -> Progress:
    """Tell a campaign that was not judged yet what a sheet says.

    Rows may stand in any order, and an item in several of them.

    Raises
    ------
    InputError
        Where the sheet is of another sample, lacks an item or holds a foreign one, where an item has two grades or
        one that is not of the scale.
    """
    if sheet.sample != sample:
        raise InputError(f"the sheet is of sample {sheet.sample!r}, expected one of sample {sample!r}")
    while campaign.ask() is not None:
        pass
    grades = _grades(campaign, sheet)
    for item, grade in grades.items():
        if grade != EMPTY:
            campaign.judge(item, None if grade == CANNOT else grade)
    given = list(grades.values())
    n_waiting, n_cannot = given.count(EMPTY), given.count(CANNOT)
    return Progress(judged=len(given) - n_waiting - n_cannot, waiting=n_waiting, cannot=n_cannot)


def _grades(campaign: Campaign, sheet: Draws) -> dict[int, int]:
    """Return what the sheet says of every item of a campaign's units."""
    pool, top = campaign.design.pool, campaign.design.max_grade
    places = {(u.query_id, doc): item for u in campaign.units for item, doc in zip(u.items, u.item_ids, strict=True)}
    grades: dict[int, int] = {}
    rows = zip(sheet.query_id.tolist(), sheet.doc_id.tolist(), sheet.grade.tolist(), strict=True)
    for query, doc, grade in rows:
        item = places.get((query, doc))
        if item is None:
            raise InputError(f"item {doc!r} of query {query!r} is in the sheet, but not in the sample")
        if top is not None and grade > top:
            raise InputError(f"grade {grade} of {pool.place(item)} is above the largest of the scale, {top}")
        before = grades.get(item, EMPTY)
        if EMPTY not in (before, grade) and before != grade:
            one, other = ("cannot" if g == CANNOT else str(g) for g in (before, grade))
            raise InputError(f"{pool.place(item)} has two grades, {one} and {other}")
        grades[item] = grade if before == EMPTY else before
    lost = [item for item in places.values() if item not in grades]
    if lost:
        raise InputError(f"{pool.place(lost[0])} is in the sample, but not in the sheet ({len(lost)} such items)")
    return grades
