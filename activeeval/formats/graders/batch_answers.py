"""Answers to a batch of questions, as OpenAI and vLLM write them, and the pairs that were asked about."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from activeeval.core.checks import LARGEST_GRADE
from activeeval.core.errors import InputError, shown
from activeeval.core.pool.texts import Texts
from activeeval.core.types import Floats
from activeeval.formats.graders.grade_in_text import grade_in, grade_shares
from activeeval.formats.graders.replies import Replies, few_names
from activeeval.formats.suffixes import PathLike
from activeeval.formats.tables.sheets import Sheet, read_sheet

PAIRS = ".pairs.jsonl"
"""How the name of the table ends that says which pair each question is about."""


@dataclass(frozen=True, slots=True)
class RequestedPair:
    """The pair that a question is about, and the question's version.

    Attributes
    ----------
    query_id, doc_id, prompt_version, model : str
    """

    query_id: str
    doc_id: str
    prompt_version: str = ""
    model: str = ""


def read_asked(path: PathLike) -> dict[str, RequestedPair]:
    """Return the pair of each question, by its id: a table custom_id, query_id, doc_id, prompt_version, model."""
    sheet = read_sheet(path)
    names = [sheet.column(name, (name,)) for name in ("custom_id", "query_id", "doc_id")]
    columns = [sheet.texts(name).tolist() for name in names]
    columns += [
        sheet.words(name) if name in sheet.columns else [""] * sheet.n_rows for name in ("prompt_version", "model")
    ]
    return {custom_id: RequestedPair(*rest) for custom_id, *rest in zip(*columns, strict=True)}


def asked_beside(path: PathLike, first_id: str) -> dict[str, RequestedPair]:
    """Return what was asked, of the table of pairs beside a file of answers that holds the first of them."""
    folder = Path(path).parent
    for beside in sorted(folder.glob(f"*{PAIRS}")):
        asked = read_asked(beside)
        if first_id in asked:
            return asked
    problem = f"no table of pairs in its folder (*{PAIRS}, written beside the questions) has the question"
    raise InputError(
        f"{os.fspath(path)}: {problem} {shown(first_id)}; :asked=FILE behind the name names another", field="asked"
    )


class _Reply(NamedTuple):
    """A reply: to what, its grade (NaN without one) and what its tokens say of grades, tokens used, model, line."""

    pair: RequestedPair
    value: float = math.nan
    shares: Mapping[int, float] = {}
    tokens: tuple[int, int] = (0, 0)
    model: str = ""
    text: str = ""
    line: int = 0
    is_answer: bool = False


def batch_replies(parts: Iterator[Sheet], path: PathLike, asked: Mapping[str, RequestedPair] | None = None) -> Replies:
    """Return the replies of a file of answers.

    A question with an error, one whose answer holds no grade, and one without an answer have a missing reply. Several
    answers of a question, or about a pair, are samples.

    Parameters
    ----------
    parts : iterator of Sheet
        The file, by so many rows at a time.
    asked : mapping of str to AskedPair, optional
        The pair of each question; by default of the table beside the file that has them.

    Raises
    ------
    FormatError
        Names the line of an answer to a question that was not asked, or that is no answer.
    """
    replies, answered = list[_Reply](), set[str]()
    for sheet in parts:
        custom_ids, responses = sheet.texts("custom_id").tolist(), sheet.columns["response"]
        asked = asked_beside(path, custom_ids[0]) if asked is None else asked
        for row, custom_id in enumerate(custom_ids):
            if custom_id not in asked:
                sheet.fail(row, "custom_id", f"{shown(custom_id)} is no question of the table of pairs")
            answered.add(custom_id)
            line = 0 if sheet.lines is None else sheet.lines[row]
            replies.extend(_replies_of(responses[row], asked[custom_id], line))
    unanswered = (pair for custom_id, pair in (asked or {}).items() if custom_id not in answered)
    replies.extend(_Reply(pair, model=pair.model) for pair in unanswered)
    return _as_columns(_with_served_models(replies), os.fspath(path))


def _with_served_models(replies: Sequence[_Reply]) -> list[_Reply]:
    """Name the model that answers to an alias (gpt-4o for gpt-4o-2024-08-06) where a request failed or has no answer.

    An alias that two models answered to keeps its failed requests unnamed: nobody knows whose they are.
    """
    served: dict[str, set[str]] = {}
    for reply in replies:
        if reply.is_answer:
            served.setdefault(reply.pair.model, set()).add(reply.model)
    models = {alias: names.pop() if len(names) == 1 else "" for alias, names in served.items()}
    return [
        reply if reply.is_answer else reply._replace(model=models.get(reply.pair.model, reply.model))
        for reply in replies
    ]


def _replies_of(response: Any, pair: RequestedPair, line: int) -> Iterator[_Reply]:
    """Yield what an answer says, a reply for each of its choices; one that is missing where it is an error."""
    body = response.get("body") if isinstance(response, dict) else None
    choices = body.get("choices") if isinstance(body, dict) else None
    if not isinstance(body, dict) or not isinstance(choices, list) or not choices:
        yield _Reply(pair, model=pair.model, line=line)
        return
    usage = body.get("usage")
    tokens = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
    model = str(body.get("model") or pair.model)
    for k, choice in enumerate(choices):
        text = _content(choice)
        value, shares = _graded(text, choice)
        yield _Reply(pair, value, shares, tokens if k == 0 else (0, 0), model, text, line, is_answer=True)


def _count(usage: Any, name: str) -> int:
    count = usage.get(name) if isinstance(usage, dict) else None
    return count if isinstance(count, int) else 0


def _graded(text: str, choice: Any) -> tuple[float, Mapping[int, float]]:
    """Return the grade of a reply, NaN without one, and what its tokens say of grades there."""
    grade = grade_in(text)
    if grade is None or not 0 <= grade[0] <= LARGEST_GRADE:
        return math.nan, {}
    logprobs = choice.get("logprobs")
    return grade[0], grade_shares(logprobs.get("content"), grade[1]) if isinstance(logprobs, dict) else {}


def _content(choice: Any) -> str:
    message = choice.get("message") if isinstance(choice, dict) else None
    content = message.get("content") if isinstance(message, dict) else None
    return content if isinstance(content, str) else ""


def _as_columns(replies: Sequence[_Reply], source: str) -> Replies:
    values = np.array([reply.value for reply in replies], dtype=np.float64)
    probs = _distributions(values, [reply.shares for reply in replies])
    if probs is not None:
        values = probs @ np.arange(probs.shape[1])
    versions = [reply.pair.prompt_version for reply in replies]
    lines = [reply.line for reply in replies]
    return Replies(
        query_ids=Texts.from_list([reply.pair.query_id for reply in replies]),
        doc_ids=Texts.from_list([reply.pair.doc_id for reply in replies]),
        values=values,
        probs=probs,
        tokens=np.array([reply.tokens for reply in replies], dtype=np.int64).reshape(-1, 2),
        models=few_names([reply.model for reply in replies]),
        prompt_versions=few_names(versions) if any(versions) else None,
        explanations=[reply.text for reply in replies],
        is_sampled=True,
        line_of=lines.__getitem__,
        source=source,
    )


def _distributions(values: Floats, shares: Sequence[Mapping[int, float]]) -> Floats | None:
    """Return the distribution over grades of each reply; None where no reply tells one.

    Its grades end at the largest that a reply gives: a token above that is no grade of the scale. A reply that tells
    nothing of its tokens is sure of its grade.
    """
    read = values[~np.isnan(values)]
    if not any(shares) or (read != np.floor(read)).any():
        return None
    n_grades = int(read.max()) + 1
    probs = np.full((values.size, n_grades), np.nan)
    for row, value in enumerate(values.tolist()):
        if value == value:
            within = {grade: share for grade, share in shares[row].items() if grade < n_grades and share > 0}
            probs[row] = 0.0
            for grade, share in (within or {int(value): 1.0}).items():
                probs[row, grade] = share
            probs[row] /= probs[row].sum()
    return probs
