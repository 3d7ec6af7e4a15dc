"""Write the sheet of a sample for its judges, and read judged sheets back as events.

The sheet has only what a judge needs and the id of its sample; everything else stays in the sample file.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher

import numpy as np

from activeeval.core.campaign.campaign import Campaign
from activeeval.core.campaign.judging_rules import Rules
from activeeval.core.errors import InputError, unseen_difference
from activeeval.core.judgments.judge_names import judge_name
from activeeval.core.judgments.policies import DisagreedItem, add_grade, check_alike
from activeeval.core.pool.texts import Texts
from activeeval.formats.tables.draws import CANNOT, EMPTY, Draws


def sheet_of(campaign: Campaign, sample: str, after: int = 0) -> Draws:
    """Build the sheet of a campaign: all planned items, unit by unit, without grades.

    Parameters
    ----------
    sample : str
        The id of the sample, repeated in every row.
    after : int
        Number of leading units to leave out because they are on an earlier sheet.
    """
    units = campaign.planned[after:]
    sizes = np.array([len(unit.items) for unit in units], dtype=np.int64)
    doc_ids = [doc for unit in units for doc in unit.item_ids]
    return Draws(
        sample=sample,
        block=np.repeat(np.array([unit.block for unit in units], dtype=np.int64), sizes),
        query_id=Texts.from_list([unit.query_id for unit in units for _ in unit.items]),
        doc_id=Texts.from_list(doc_ids),
        grade=np.full(len(doc_ids), EMPTY, dtype=np.int64),
    )


def take(campaign: Campaign, sheets: Mapping[str, Draws], samples: Sequence[str], policy: str = "refuse") -> Campaign:
    """Apply the judgments of sheets to a campaign without judgments, and return the judged campaign.

    Rows may be in any order, and an item in several sheets. A judge is a name in the column judge, or, without
    names, the sheet: a sheet given twice, by two paths or as a copy, is one judge.

    Parameters
    ----------
    sheets : mapping of str to Draws
        By the name of the file.
    samples : sequence of str
        The ids of the sample and of the samples that it extends.
    policy : {"refuse", "majority", "median", "mean-gain"}
        How to resolve an item that judges grade differently: an error; the most frequent grade, the lowest of several
        such; the lower median; or the mean of the grades' gains. An item cannot be judged if no judge could judge it.

    Raises
    ------
    InputError
        If a sheet is of another sample or has an item outside of the sample, an item is in no sheet, has two grades by
        one judge, or a grade beyond the scale.
    """
    rules = Rules(policy=policy)
    for name, sheet in sheets.items():
        if sheet.sample not in samples:
            known = " or ".join(map(repr, samples))
            raise InputError(f"{name}: the sheet is of sample {sheet.sample!r}, expected one of sample {known}")
    judged = campaign.unjudged(rules)
    judged.ask_all()
    for item, grades in _grades_by_judge(judged, sheets, policy).items():
        for judge, grade in grades.items():
            judged.add(item, None if grade == CANNOT else grade, judge=judge)
    return judged


def _grades_by_judge(campaign: Campaign, sheets: Mapping[str, Draws], policy: str) -> dict[int, dict[str, int]]:
    """Collect the grades of each item of a campaign by judge; the dict of a waiting item is empty.

    Items are given by their positions in the pool. ``sheets`` are by file; with policy "refuse" judges must agree.
    Raises InputError as `take`.
    """
    pool, top = campaign.design.pool, campaign.design.max_grade
    places = {(u.query_id, doc): item for u in campaign.units for item, doc in zip(u.items, u.item_ids, strict=True)}
    by_item: dict[int, dict[str, int]] = {}
    places_of: dict[int, dict[str, str]] = {}
    first: dict[frozenset[tuple[str, str, int, str]], str] = {}
    for name, sheet in sheets.items():
        unnamed = first.setdefault(sheet.answers, name)  # name of the judge of a sheet without names
        columns = (sheet.query_id, sheet.doc_id, sheet.grade, sheet.judge)
        for row, (query, doc, grade, judge) in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
            item, where = places.get((query, doc)), sheet.place(name, row)
            if item is None:
                foreign = f"{where}: item {doc!r} of query {query!r} is in the sheet, but not in the sample"
                raise InputError(f"{foreign}{_changed_id_hint(query, doc, places, sheets)}")
            if top is not None and grade > top:
                raise InputError(
                    f"{where}: grade {grade} of {pool.place(item)} is above the largest of the scale, {top}"
                )
            grades = by_item.setdefault(item, {})
            if grade != EMPTY:
                judge_key = judge_name(judge) or unnamed
                add_grade(grades, judge_key, grade, f"{where}: {pool.place(item)}")
                places_of.setdefault(item, {})[judge_key] = where
    if policy == "refuse":
        check_alike(DisagreedItem(pool.place(item), by_item[item], places_of[item]) for item in places_of)
    lost = [item for item in places.values() if item not in by_item]
    if lost:
        where = f"{', '.join(sheets)}: {pool.place(lost[0])}"
        missing = f"{where} is in the sample, but not in the sheet ({len(lost)} such items)"
        raise InputError(f"{missing}: expected all sheets of the sample, with all their rows")
    return by_item


def _changed_id_hint(query: str, doc: str, places: Mapping[tuple[str, str], int], sheets: Mapping[str, Draws]) -> str:
    """Guess the planned id that a foreign id was before a spreadsheet changed it, as the end of a message.

    ``query`` and ``doc`` are the foreign pair, ``places`` has the planned pairs.
    """
    present = {pair for s in sheets.values() for pair in zip(s.query_id.tolist(), s.doc_id.tolist(), strict=True)}
    lost = [pair for pair in places if pair not in present]
    if any(query == of_query for of_query, _ in places):
        was = nearest_id(doc, [item for of_query, item in lost if of_query == query])
    else:
        was = nearest_id(
            query, [of_query for of_query, item in lost if item == doc] or [of_query for of_query, _ in lost]
        )
    unseen = unseen_difference([query, doc], [was])
    return f"{unseen}; did a spreadsheet change it? expected {was!r}" if was else ""


def nearest_id(text: str, candidates: Sequence[str]) -> str:
    """Find the candidate that is numerically equal to a text, or else most similar; "" if there are none."""

    def likeness(candidate: str) -> tuple[bool, float]:
        """Compare a candidate with the text: equal as a number, then similarity from 0 to 1."""
        return _is_same_number(text, candidate), SequenceMatcher(None, text.casefold(), candidate.casefold()).ratio()

    return max(dict.fromkeys(candidates), key=likeness, default="")


def _is_same_number(text: str, candidate: str) -> bool:
    """Check whether two texts are the same number to three digits, as a spreadsheet may display it (1.23E+14)."""
    try:
        return math.isclose(float(text), float(candidate), rel_tol=5e-3)
    except ValueError:
        return False
