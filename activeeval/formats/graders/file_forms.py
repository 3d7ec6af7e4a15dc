"""Which files say themselves that they are a machine's, by the columns of a table and the keys of a JSON document."""

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
"""Columns that tables of machines' grades have, of umbrela, of toolkits and of `grader ask`, and people's have not."""
_NAMED_SO = re.compile(r"\bAI\b|(?i:llm|gpt|openai|ollama|claude|gemini|llama|mistral|qwen|deepseek)")


def is_umbrela(columns: Collection[str]) -> bool:
    """Return whether a table of such columns is what the package umbrela writes."""
    return "judgment" in columns and not {"result_status", "prediction"}.isdisjoint(columns)


def column_of_replies(columns: Collection[str]) -> str:
    """Find the column by which a table says that a machine wrote it, "" where there is none.

    A table with a column ``judge_kind`` says of each row who judged it.

    Examples
    --------
    >>> [column_of_replies(["query_id", "doc_id", "grade", *more]) for more in (["model"], ["model", "judge_kind"])]
    ['model', '']
    """
    return "" if "judge_kind" in columns else next((name for name in _OF_REPLIES if name in columns), "")


def is_batch(columns: Collection[str]) -> bool:
    """Return whether a table of such columns holds the answers to a batch of questions, as OpenAI and vLLM write it."""
    return {"custom_id", "response"} <= set(columns)


def is_book(columns: Collection[str]) -> bool:
    """Return whether a table of such columns is a book of Quepid: a column for each rater."""
    return len(columns) > len(_BOOK) and set(columns) >= _BOOK and _GRADES.isdisjoint(columns)


def is_ai_name(name: str) -> bool:
    """Return whether somebody's name is one that machines have.

    Examples
    --------
    >>> is_ai_name("AI Judge (gpt-4o)"), is_ai_name("Ai Tanaka")
    (True, False)
    """
    return _NAMED_SO.search(name) is not None


def is_of_machines(sheet: Sheet) -> Bools:
    """Return which rows of a table whose names are plain are a machine's, where those of nobody's kind are too."""
    if "judge_kind" not in sheet.columns:
        return np.ones(sheet.n_rows, dtype=np.bool_)
    return np.array([word.strip().lower() != "person" for word in sheet.words("judge_kind")], dtype=np.bool_)


def read_document(path: PathLike) -> Mapping[str, Any] | None:
    """Return a JSON document that holds judgments of OpenSearch or of Quepid; None of any other file.

    A document of OpenSearch may come as the index holds it, in the answer to a search.

    Raises
    ------
    FormatError
        Where it is a list, which no document and no table is.
    """
    if bare_suffix(path) != ".json" or not os.path.isfile(path):
        return None
    # whoever reads plain text alone does not wait for compiled readers
    from activeeval.core.errors import FormatError
    from activeeval.formats.files import MOST_PARSED, open_text
    from activeeval.formats.json_text import parse_json

    try:
        document = parse_json(open_text(path, MOST_PARSED))
    except ValueError:  # lines of JSON, which the reader of these looks at
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
