"""An answer as a comment in markdown, for a pull request: what is so, in a table, and what was meant."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from activeeval.core.errors import visible
from activeeval.report.rendering import render

WIDTH = 1000
"""Columns of a table that wraps by itself: no name is cut."""
_SPECIAL = re.compile(r"([\\`*_\[\]#~]|<(?=[\w/!?]))")


def comment(
    title: str,
    sentences: Sequence[str],
    rows: Sequence[Mapping[str, str]],
    notes: Sequence[str] = (),
    warnings: Sequence[str] = (),
) -> str:
    """Return a comment in markdown.

    Parameters
    ----------
    title : str
        The verdict.
    sentences : sequence of str
        What it comes from, and what would decide it.
    rows : sequence of mapping
        Of a table; none where there is nothing to show.
    notes : sequence of str
        What the words and numbers mean.
    warnings : sequence of str
        What to be wary of.

    Examples
    --------
    >>> print(comment("Not worse", ["new is better than old."], [{"measure": "P@5", "value": "+0.1"}], ["P is P."]))
    ### Not worse
    <BLANKLINE>
    new is better than old.
    <BLANKLINE>
    | measure | value |
    | --- | --- |
    | P@5 | +0.1 |
    <BLANKLINE>
    <sub>P is P.</sub>
    """
    parts = [f"### {escaped(title)}", "\n".join(f"{line}  " for line in map(escaped, sentences)).rstrip()]
    if rows:
        parts.append(render([{name: escaped(cell) for name, cell in row.items()} for row in rows], "md"))
    if warnings:
        parts.append("\n".join(f"- **warning**: {escaped(line)}" for line in warnings))
    if notes:
        parts.append(f"<sub>{escaped(' '.join(notes))}</sub>")
    return "\n\n".join(part for part in parts if part)


def escaped(text: str) -> str:
    """Return a text that markdown shows as it is.

    Examples
    --------
    >>> print(escaped("a*b_c.run <b>"))
    a\\*b\\_c.run \\<b>
    """
    return _SPECIAL.sub(r"\\\1", visible(text))
