"""Names of judges, in a module that whoever only needs a name has at once."""

from __future__ import annotations


def judge_name(text: str) -> str:
    """Return the name of a judge, however it is written: blanks and capitals tell nobody apart.

    Examples
    --------
    >>> judge_name(" Ann  Lee ")
    'ann lee'
    """
    return " ".join(text.split()).casefold()
