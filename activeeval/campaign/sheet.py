"""A drawn sample and the sheet for its judges: the planned items as rows, rows with grades as events.

The sheet carries what a judge needs and the id of its sample; everything else stays with the sample.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


def sheet_of(campaign: Campaign, sample: str, after: int = 0) -> Draws:
    """Return the sheet of a campaign: every planned item, unit by unit, none of them judged yet.

    Parameters
    ----------
    sample : str
        The id of the sample, which stands in every row.
    after : int
        How many units stand on an earlier sheet and are left out.
    """
    units = campaign.planned[after:]
    sizes = np.array([len(unit.items) for unit in units], dtype=np.int64)
    doc_ids = [doc for unit in units for doc in unit.item_ids]
    return Draws(
        sample=sample,
        block=np.repeat(np.array([unit.block for unit in units], dtype=np.int64), sizes),
        query_id=np.repeat(np.array([unit.query_id for unit in units], dtype=np.str_), sizes),
        doc_id=np.array(doc_ids, dtype=np.str_),
        grade=np.full(len(doc_ids), EMPTY, dtype=np.int64),
    )


def take(campaign: Campaign, sheets: Mapping[str, Draws], samples: Sequence[str]) -> Progress:
    """Tell a campaign that was not judged yet what sheets say.

    Rows may stand in any order, and an item in several of them.

    Parameters
    ----------
    sheets : mapping of str to Draws
        By the name of the file.
    samples : sequence of str
        The ids of the sample and of those that it grew from.

    Raises
    ------
    InputError
        Where a sheet is of another sample or holds a foreign item, an item is in none of them, has two grades or one
        that is not of the scale.
    """
    for name, sheet in sheets.items():
        if sheet.sample not in samples:
            known = " or ".join(map(repr, samples))
            raise InputError(f"{name}: the sheet is of sample {sheet.sample!r}, expected one of sample {known}")
    while campaign.ask() is not None:
        pass
    said = _said(campaign, sheets)
    for item, (grade, judge) in said.items():
        if grade != EMPTY:
            campaign.judge(item, None if grade == CANNOT else grade, judge=judge)
    given = [grade for grade, _ in said.values()]
    n_waiting, n_cannot = given.count(EMPTY), given.count(CANNOT)
    return Progress(judged=len(given) - n_waiting - n_cannot, waiting=n_waiting, cannot=n_cannot)


def _said(campaign: Campaign, sheets: Mapping[str, Draws]) -> dict[int, tuple[int, str]]:
    """Return what the sheets say of every item of a campaign's units: a grade, and who gave it."""
    pool, top = campaign.design.pool, campaign.design.max_grade
    places = {(u.query_id, doc): item for u in campaign.units for item, doc in zip(u.items, u.item_ids, strict=True)}
    said: dict[int, tuple[int, str]] = {}
    for name, sheet in sheets.items():
        columns = (sheet.query_id, sheet.doc_id, sheet.grade, np.asarray(sheet.judge))
        for query, doc, grade, judge in zip(*(column.tolist() for column in columns), strict=True):
            item = places.get((query, doc))
            if item is None:
                raise InputError(f"{name}: item {doc!r} of query {query!r} is in the sheet, but not in the sample")
            if top is not None and grade > top:
                raise InputError(
                    f"{name}: grade {grade} of {pool.place(item)} is above the largest of the scale, {top}"
                )
            before, _ = said.get(item, (EMPTY, ""))
            if EMPTY not in (before, grade) and before != grade:
                one, other = ("cannot" if g == CANNOT else str(g) for g in (before, grade))
                raise InputError(f"{name}: {pool.place(item)} has two grades, {one} and {other}")
            if before == EMPTY:
                said[item] = (grade, judge)
    lost = [item for item in places.values() if item not in said]
    if lost:
        where = ", ".join(sheets)
        raise InputError(
            f"{where}: {pool.place(lost[0])} is in the sample, but not in the sheet ({len(lost)} such items)"
        )
    return said
