"""Recognize tables written by graders, by their columns."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np

from activeeval.core.types import Bools

if TYPE_CHECKING:
    from activeeval.formats.tables.sheets import Sheet

BOOK = {"query", "docid"}
NO_RATERS = {"position", "rank", "title", "url", "id", "query_id", "doc_id", "notes", "information_need", "options"}
"""Columns that a book of Quepid may have beside those of its raters."""
_GRADES = {"grade", "relevance", "label", "rating", "score"}
_OF_REPLIES = ("result_status", "prompt_version", "prompt", "model", "explanation")
"""Columns of graders' tables (umbrela, toolkits, `grader ask`) that tables of people's judgments do not have."""


def is_umbrela(columns: Collection[str]) -> bool:
    """Check whether the columns of a table are those of the package umbrela."""
    return "judgment" in columns and not {"result_status", "prediction"}.isdisjoint(columns)


def column_of_replies(columns: Collection[str]) -> str:
    """Find the column that shows that a grader wrote the table, "" if there is none.

    In a table with a column ``judge_kind`` each row names the kind of its judge.

    Examples
    --------
    >>> [column_of_replies(["query_id", "doc_id", "grade", *more]) for more in (["model"], ["model", "judge_kind"])]
    ['model', '']
    """
    return "" if "judge_kind" in columns else next((name for name in _OF_REPLIES if name in columns), "")


def is_batch(columns: Collection[str]) -> bool:
    """Check whether the columns of a table are those of batch answers, as OpenAI and vLLM write them."""
    return {"custom_id", "response"} <= set(columns)


def is_book(columns: Collection[str]) -> bool:
    """Check whether the columns of a table are those of a Quepid book: query, docid, and a column for each rater."""
    return len(set(columns) - NO_RATERS) > len(BOOK) and set(columns) >= BOOK and _GRADES.isdisjoint(columns)


def is_of_machines(sheet: Sheet) -> Bools:
    """Mark the rows of a table by graders, shape (n_rows,); rows without a kind count as graders'.

    Column names are lower-case.
    """
    if "judge_kind" not in sheet.columns:
        return np.ones(sheet.n_rows, dtype=np.bool_)
    return np.array([word.strip().lower() != "person" for word in sheet.words("judge_kind")], dtype=np.bool_)
