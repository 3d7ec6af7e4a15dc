"""Build questions for a language model, one for each query–document pair, in the format of batch services.

No service is called: the batch file goes to a service or an offline runner, and the answers return as a file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Self

from activeeval.core.errors import InputError, did_you_mean
from activeeval.formats.files import open_text
from activeeval.formats.graders.batch_answers import RequestedPair
from activeeval.formats.suffixes import PathLike

QUERY, PASSAGE = "{query}", "{passage}"
_PLACE = re.compile(r"\{query\}|\{passage\}")
URL = "/v1/chat/completions"
MOST_SHOWN = 5
"""Number of likeliest tokens requested at the position of the grade: four grades, and one for any other token."""
_UMBRELA = """You judge how well a passage serves the person who typed a search query. Use this scale:

0: the passage is about something else.
1: the passage is about the topic, but does not answer the query.
2: the passage answers the query in part, or the answer is hard to find in it.
3: the passage is written for the query and answers it exactly.

Query: {query}
Passage: {passage}

Think first of what the person wants to know, then of how far the passage gives it and how far it can be trusted. Then
write one line and nothing else:
##final score: the grade, a single digit"""
_BUILT_IN = {"umbrela": _UMBRELA}


@dataclass(frozen=True, slots=True)
class Prompt:
    """Prompt template for a grader: a text with ``{query}`` and ``{passage}``, and the name of its version.

    Examples
    --------
    >>> Prompt("{query}: {passage}?", "v1").about("flea", "An insect.")
    'flea: An insect.?'
    """

    text: str
    version: str

    @classmethod
    def named(cls, name: str) -> Self:
        """Load a built-in prompt by name; its version is the name and a digest of its text."""
        return cls(_BUILT_IN[name], f"{name}-{_digest(_BUILT_IN[name])}")

    @classmethod
    def read(cls, name: PathLike) -> Self:
        """Load a built-in prompt by name, or read one from a file; its version is the digest of its text.

        Raises
        ------
        InputError
            If the file does not exist, or its text lacks {query} or {passage}.
        """
        if name in _BUILT_IN:
            return cls.named(str(name))
        try:
            text = open_text(name).strip()
        except InputError as problem:
            hint = did_you_mean(str(name), _BUILT_IN)
            raise InputError(f"{problem}; {hint}expected {', '.join(_BUILT_IN)} or a file", field="prompt") from None
        lacks = [place for place in (QUERY, PASSAGE) if place not in text]
        if lacks:
            raise InputError(f"{name}: lacks {' and '.join(lacks)}, where the texts go", field="prompt")
        return cls(text, _digest(text))

    def about(self, query: str, passage: str) -> str:
        """Fill in a query and a passage; braces in their texts stay as they are."""
        texts = {QUERY: query, PASSAGE: passage}
        return _PLACE.sub(lambda match: texts[match[0]], self.text)


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a query–document pair: its id, the pair, and the prompt text for the model."""

    custom_id: str
    asked: RequestedPair
    text: str

    def request(self) -> dict[str, Any]:
        """Build the line of the batch file: temperature 0, with the likeliest tokens and their log probabilities."""
        body = {
            "model": self.asked.model,
            "messages": [{"role": "user", "content": self.text}],
            "temperature": 0,
            "logprobs": True,
            "top_logprobs": MOST_SHOWN,
        }
        return {"custom_id": self.custom_id, "method": "POST", "url": URL, "body": body}

    def pair(self) -> dict[str, str]:
        """Build the line of the table of pairs, by which the reader joins answers to pairs."""
        asked = self.asked
        ids = {"custom_id": self.custom_id, "query_id": asked.query_id, "doc_id": asked.doc_id}
        return ids | {"prompt_version": asked.prompt_version, "model": asked.model}


def questions(
    pairs: Iterable[tuple[str, str]], texts: Iterable[tuple[str, str]], prompt: Prompt, model: str
) -> Iterator[Question]:
    """Yield a question for each pair with both texts.

    Parameters
    ----------
    pairs : iterable of (query id, document id)
    texts : iterable of (str, str)
        Texts of the query and of the passage, "" if missing.
    prompt : Prompt
        Template of the question's text.
    model : str
        Name of the language model, as its service calls it.
    """
    for (query_id, doc_id), (query, passage) in zip(pairs, texts, strict=True):
        if query and passage:
            asked = RequestedPair(query_id, doc_id, prompt.version, model)
            yield Question(question_id(asked), asked, prompt.about(query, passage))


def question_id(asked: RequestedPair) -> str:
    """Compute a question's id: the SHA-256 of query, document, prompt version and model, as 64 hexadecimal digits."""
    parts = [asked.query_id, asked.doc_id, asked.prompt_version, asked.model]
    return sha256(json.dumps(parts).encode()).hexdigest()


def _digest(text: str) -> str:
    """Return the first 8 hexadecimal digits of the text's SHA-256."""
    return sha256(text.encode()).hexdigest()[:8]
