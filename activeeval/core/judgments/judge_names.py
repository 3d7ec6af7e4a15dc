"""Names of judges, in a module that whoever only needs a name has at once."""

from __future__ import annotations

from unicodedata import normalize


def judge_name(text: str) -> str:
    """Return the name of a judge, however it is written.

    Blanks and capitals tell nobody apart, nor whether an accented letter is written as one sign (NFC) or two (NFD).

    Examples
    --------
    >>> judge_name(" Ann  Lee ")
    'ann lee'
    >>> judge_name("Zoe\u0308") == judge_name("zo\u00eb")
    True
    """
    # small letters of what is taken apart: else a sign that has none as a whole keeps its capital
    return normalize("NFC", normalize("NFD", " ".join(text.split())).casefold())
