"""Read answers to a batch of questions, as OpenAI and vLLM write them, and the table of pairs of these questions."""

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
from activeeval.formats.tables.read_tables import read_sheet
from activeeval.formats.tables.sheets import Sheet

PAIRS = ".pairs.jsonl"
"""File name suffix of the table that maps each question to its pair of query and document."""


@dataclass(frozen=True, slots=True)
class RequestedPair:
    """The query and document that a question is about, with the prompt version and the model.

    Attributes
    ----------
    query_id, doc_id, prompt_version, model : str
    """

    query_id: str
    doc_id: str
    prompt_version: str = ""
    model: str = ""


def read_question_pairs(path: PathLike) -> dict[str, RequestedPair]:
    """Read the pair of each question by its id, from a table custom_id, query_id, doc_id, prompt_version, model."""
    sheet = read_sheet(path)
    names = [sheet.column(name, (name,)) for name in ("custom_id", "query_id", "doc_id")]
    columns = [sheet.texts(name).tolist() for name in names]
    columns += [
        sheet.words(name) if name in sheet.columns else [""] * sheet.n_rows for name in ("prompt_version", "model")
    ]
    return {custom_id: RequestedPair(*rest) for custom_id, *rest in zip(*columns, strict=True)}


def find_pairs(path: PathLike, first_id: str) -> dict[str, RequestedPair]:
    """Find the table of pairs in the folder of an answers file, by the id of the first question, and read it.

    Raise InputError if no table in the folder contains that id.
    """
    folder = Path(path).parent
    for table in sorted(folder.glob(f"*{PAIRS}")):
        pairs = read_question_pairs(table)
        if first_id in pairs:
            return pairs
    problem = f"no table of pairs in its folder (*{PAIRS}, written beside the questions) has the question"
    raise InputError(
        f"{os.fspath(path)}: {problem} {shown(first_id)}; :asked=FILE behind the name names another", field="asked"
    )


class _Reply(NamedTuple):
    """A reply: its pair, grade (NaN if missing), grade probabilities from tokens, tokens used, model, text and line."""

    pair: RequestedPair
    value: float = math.nan
    shares: Mapping[int, float] = {}
    tokens: tuple[int, int] = (0, 0)
    model: str = ""
    text: str = ""
    line: int = 0
    is_answer: bool = False


def batch_replies(parts: Iterator[Sheet], path: PathLike, asked: Mapping[str, RequestedPair] | None = None) -> Replies:
    """Convert the rows of an answers file to replies.

    A question with an error, without an answer, or whose answer contains no grade has a missing reply. Several
    answers to a question, or about a pair, are samples.

    Parameters
    ----------
    parts : iterator of Sheet
        The file in chunks of rows.
    asked : mapping of str to RequestedPair, optional
        The pair of each question; by default read from the table in the same folder that contains the questions.

    Raises
    ------
    FormatError
        Names the line of an answer to an unknown question, or of a row that is not an answer.
    """
    replies, answered = list[_Reply](), set[str]()
    for sheet in parts:
        custom_ids, responses = sheet.texts("custom_id").tolist(), sheet.columns["response"]
        asked = find_pairs(path, custom_ids[0]) if asked is None else asked
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
    """Name the model behind an alias (gpt-4o-2024-08-06 for gpt-4o) in requests that failed or have no answer.

    If two models answered under an alias, its failed requests stay unnamed, as their model is unknown.
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
    """Yield a reply for each choice (sampled answer) of a response; one missing reply if the response is an error.

    ``pair`` is what was asked, ``line`` the line in the answers file.
    """
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
        # the tokens are those of the whole response: its first reply has them
        yield _Reply(pair, value, shares, tokens if k == 0 else (0, 0), model, text, line, is_answer=True)


def _count(usage: Any, name: str) -> int:
    """Read a token count of the usage field, 0 if it is missing."""
    count = usage.get(name) if isinstance(usage, dict) else None
    return count if isinstance(count, int) else 0


def _graded(text: str, choice: Any) -> tuple[float, Mapping[int, float]]:
    """Read the grade in the ``text`` of a reply (NaN if none), and the probabilities of grades from its tokens.

    ``choice`` is the object of the answer that may have the tokens' log probabilities; without them the second result
    is empty.
    """
    grade = grade_in(text)
    if grade is None or not 0 <= grade[0] <= LARGEST_GRADE:
        return math.nan, {}
    logprobs = choice.get("logprobs")
    return grade[0], grade_shares(logprobs.get("content"), grade[1]) if isinstance(logprobs, dict) else {}


def _content(choice: Any) -> str:
    """Extract the text of a choice, "" if it has none."""
    message = choice.get("message") if isinstance(choice, dict) else None
    content = message.get("content") if isinstance(message, dict) else None
    return content if isinstance(content, str) else ""


def _as_columns(replies: Sequence[_Reply], source: str) -> Replies:
    """Collect replies into columns; with token probabilities, a reply's value is the expected grade."""
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
    """Compute the distribution over grades of each reply, shape (n, n_grades); None without any token probabilities.

    ``values`` (n,) are the grades, NaN if missing, ``shares`` the token probabilities by grade, empty without any.

    Grades end at the largest grade of any reply: a token above it is not a grade of the scale. A reply without token
    probabilities has probability 1 at its grade.
    """
    answered = values[~np.isnan(values)]
    if not any(shares) or (answered != np.floor(answered)).any():
        return None
    n_grades = int(answered.max()) + 1
    probs = np.full((values.size, n_grades), np.nan)
    for row, value in enumerate(values.tolist()):
        if value == value:
            within = {grade: share for grade, share in shares[row].items() if grade < n_grades and share > 0}
            probs[row] = 0.0
            for grade, share in (within or {int(value): 1.0}).items():
                probs[row, grade] = share
            probs[row] /= probs[row].sum()
    return probs
