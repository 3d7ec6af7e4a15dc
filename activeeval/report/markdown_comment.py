"""An answer as a markdown comment of a pull request: verdict, table and explanations."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from activeeval.core.errors import visible
from activeeval.report.rendering import render

WIDTH = 1000
"""Width for tables in markdown, which wrap: names are not shortened."""
_SPECIAL = re.compile(r"([\\`*_\[\]#~]|<(?=[\w/!?]))")


def comment(
    title: str,
    sentences: Sequence[str],
    rows: Sequence[Mapping[str, str]],
    notes: Sequence[str] = (),
    warnings: Sequence[str] = (),
) -> str:
    """Format a comment in markdown.

    Parameters
    ----------
    title : str
        The verdict.
    sentences : sequence of str
        The findings behind the verdict, and the next step.
    rows : sequence of mapping
        Table rows; empty for no table.
    notes : sequence of str
        Explanations of words and numbers.
    warnings : sequence of str
        Warnings.

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
    """Escape the special characters of markdown in a text.

    Examples
    --------
    >>> print(escaped("a*b_c.run <b>"))
    a\\*b\\_c.run \\<b>
    """
    return _SPECIAL.sub(r"\\\1", visible(text))
