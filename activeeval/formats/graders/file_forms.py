"""Recognize files written by graders, by the columns of a table and the keys of a JSON document."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from activeeval.core.types import Bools
from activeeval.formats.suffixes import PathLike, bare_suffix

if TYPE_CHECKING:
    from activeeval.formats.tables.sheets import Sheet

OPENSEARCH, QUEPID = "judgmentRatings", "query_doc_pairs"
"""Keys of documents of OpenSearch's Search Relevance and of Quepid's books."""
_BOOK = {"query", "docid"}
_GRADES = {"grade", "relevance", "label", "rating", "score"}
_OF_REPLIES = ("result_status", "prompt_version", "prompt", "model", "explanation")
"""Columns of graders' tables (umbrela, toolkits, `grader ask`) that tables of people's judgments do not have."""
_NAMED_SO = re.compile(r"\bAI\b|(?i:llm|gpt|openai|ollama|claude|gemini|llama|mistral|qwen|deepseek)")


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
    return len(columns) > len(_BOOK) and set(columns) >= _BOOK and _GRADES.isdisjoint(columns)


def is_ai_name(name: str) -> bool:
    """Check whether a rater's name contains the name of a model or provider.

    Examples
    --------
    >>> is_ai_name("AI Judge (gpt-4o)"), is_ai_name("Ai Tanaka")
    (True, False)
    """
    return _NAMED_SO.search(name) is not None


def is_of_machines(sheet: Sheet) -> Bools:
    """Mark the rows of a table by graders, shape (n_rows,); rows without a kind count as graders'.

    Column names are lower-case.
    """
    if "judge_kind" not in sheet.columns:
        return np.ones(sheet.n_rows, dtype=np.bool_)
    return np.array([word.strip().lower() != "person" for word in sheet.words("judge_kind")], dtype=np.bool_)


def read_document(path: PathLike) -> Mapping[str, Any] | None:
    """Read a JSON document of judgments of OpenSearch or Quepid; return None for any other file.

    A document of OpenSearch may be wrapped in a search response.

    Raises
    ------
    FormatError
        If the file is a JSON list, which is neither a document nor a table.
    """
    if bare_suffix(path) != ".json" or not os.path.isfile(path):
        return None
    # imported late: reading plain text does not need the compiled readers
    from activeeval.core.errors import FormatError
    from activeeval.formats.files import MOST_PARSED, open_text
    from activeeval.formats.json_text import parse_json

    try:
        document = parse_json(open_text(path, MOST_PARSED))
    except ValueError:  # perhaps JSON lines, which have their own reader
        return None
    if isinstance(document, list):
        raise FormatError(os.fspath(path), None, "is a list in JSON, expected lines, one object each")
    if not isinstance(document, dict):
        return None
    hits = document.get("hits")
    within = hits.get("hits") if isinstance(hits, dict) else None
    if isinstance(within, list) and len(within) == 1 and isinstance(within[0], dict):
        document = within[0].get("_source", document)
    if not isinstance(document, dict):
        return None
    return document if OPENSEARCH in document or QUEPID in document else None
