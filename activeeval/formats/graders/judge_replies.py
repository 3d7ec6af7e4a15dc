"""Convert the judgments of graders on a sheet or in a campaign to replies."""

from __future__ import annotations

import numpy as np

from activeeval.core.judgments import Judgments
from activeeval.core.judgments.judgment import GRADE
from activeeval.formats.graders.replies import Replies
from activeeval.formats.judgments.table_forms import is_of_campaigns, of_table
from activeeval.formats.tables.sheets import Sheet


def judge_replies(judgments: Judgments) -> Replies:
    """Convert the grades of graders among judgments to replies; if all judges are people, those of all."""
    if not judgments.is_of_grades:
        judgments.refuse("grades")
    is_of_people = judgments.is_of_people
    chosen = np.flatnonzero((judgments.kind_of == GRADE) & ~is_of_people)
    graded = judgments.where(chosen) if chosen.size else judgments.where(judgments.kind_of == GRADE)
    values = graded.values.astype(np.float64)
    values[values < 0] = np.nan
    models = np.array([judge.name for judge in graded.judges], dtype=object)[graded.judge_of]
    places = graded.places
    return Replies(
        query_ids=graded.query_ids,
        doc_ids=graded.item_ids,
        values=values,
        models=models if any(models) else None,
        n_of_people=int(is_of_people.sum()) if chosen.size else 0,
        line_of=places.__getitem__ if graded.has_lines and places is not None else None,
        source=graded.source,
    )


def replies_of_sheet(sheet: Sheet) -> Replies | None:
    """Convert graders' judgments on a sample's sheet or in a campaign's log to replies; None for any other table."""
    if not is_of_campaigns(set(sheet.columns)):
        return None
    return judge_replies(of_table(sheet, "machine"))
