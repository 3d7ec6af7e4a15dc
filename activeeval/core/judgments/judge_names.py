"""Normalization of judge names; separate so that importing it is fast."""

from __future__ import annotations

from unicodedata import normalize


def judge_name(text: str) -> str:
    """Normalize the name of a judge.

    Names are equal regardless of blanks, capitals and the Unicode form (NFC or NFD) of accented letters.

    Examples
    --------
    >>> judge_name(" Ann  Lee ")
    'ann lee'
    >>> judge_name("Zoe\u0308") == judge_name("zo\u00eb")
    True
    """
    # casefold after NFD: a composed letter without a single small form would keep its capital
    return normalize("NFC", normalize("NFD", " ".join(text.split())).casefold())
