"""Parse the grade in the text of a reply, and its probabilities if the reply has token probabilities."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

from activeeval.core.checks import LARGEST_GRADE

_SIGNS = r"+\-\u2010-\u2015\u2212\ufe63\uff0d"
_BETWEEN = rf"[^\w{_SIGNS}]"
_NUMBER = rf"([{_SIGNS}]?\d[\w.,%]*)"
_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"final[ _]score{_BETWEEN}{{0,6}}{_NUMBER}",
        rf"[\"']?\b(?:O|overall(?:[ _]score)?|grade|score|rating|relevance(?:[ _](?:score|grade|category))?|judge?ment)"
        rf"\b[\"']?\s*(?:[:=]|is)\s*[\"'*]{{0,3}}{_NUMBER}",
        rf"^{_BETWEEN}*{_NUMBER}\W*$",
        rf"\bcategory\s+{_NUMBER}",
    )
)
"""Tried in order: from the form that a prompt requests to free text."""
_PLAIN = re.compile(r"\d+(?:\.\d+)?")
_GOES_ON = re.compile(rf"\s*(?:/|[{_SIGNS}]|or\b|to\b|and\b|(?:out )?of\b)\s*\d", re.IGNORECASE)
"""Text after a grade that makes it ambiguous: a second grade, or the end of another scale (2/5)."""
Span = tuple[int, int]


def grade_in(reply: str) -> tuple[float, Span] | None:
    """Parse the grade in a reply and its (start, stop) in the text; None if there is none or it is ambiguous.

    The last grade counts, as earlier ones may be part of the reasoning. A grade with a sign, two alternatives, a
    grade with its own scale (2/3) and a malformed number (1a, 1,5) are ambiguous.

    Examples
    --------
    >>> grade_in("It answers in part.\\n##final score: 2")[0], grade_in('{"M": 3, "O": 1}')[0], grade_in("2.")[0]
    (2.0, 1.0, 2.0)
    >>> [grade_in(reply) for reply in ("I cannot say", "-1", "##final score: \u22121", "Score: 1 or 2", "grade: 2/3")]
    [None, None, None, None, None]
    """
    for pattern in _PATTERNS:
        matches = list(pattern.finditer(reply))
        if matches:
            start, number = matches[-1].start(1), matches[-1][1].rstrip(".,")
            stop = start + len(number)
            if not _PLAIN.fullmatch(number) or _GOES_ON.match(reply, stop):
                return None
            return float(number), (start, stop)
    return None


def grade_shares(tokens: Any, span: Span) -> dict[int, float]:
    """Compute the probabilities of integer grades at the token that contains the grade of a reply.

    Parameters
    ----------
    tokens : list of dict
        ``logprobs.content`` of a reply: each with its ``token`` and the likeliest alternatives, ``top_logprobs``.
    span : (int, int)
        Start and stop of the grade in the reply; a grade of several tokens gives an empty dict.
    """
    if not isinstance(tokens, list):
        return {}
    stop = 0
    for token in tokens:
        text = str(token.get("token", "")) if isinstance(token, dict) else ""
        start, stop = stop, stop + len(text)
        if stop <= span[0] or not isinstance(token, dict):
            continue
        is_whole = start <= span[0] and span[1] <= stop
        likeliest = token.get("top_logprobs")
        return _shares(likeliest if isinstance(likeliest, list) and likeliest else [token]) if is_whole else {}
    return {}


def _shares(likeliest: Iterable[Any]) -> dict[int, float]:
    """Add up the probabilities of the tokens that are integer grades, by grade."""
    shares: dict[int, float] = {}
    for token in (token for token in likeliest if isinstance(token, dict)):
        word, logprob = str(token.get("token", "")).strip(" \"'*:\n"), token.get("logprob")
        if word.isascii() and word.isdigit() and int(word) <= LARGEST_GRADE and isinstance(logprob, (int, float)):
            shares[int(word)] = shares.get(int(word), 0.0) + math.exp(min(float(logprob), 0.0))
    return shares
