"""Base classes of results that print as sentences and a table, in Python and notebooks, and convert to frames."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from activeeval.core.errors import visible
from activeeval.core.results import Interval
from activeeval.formats.tables.frames import frame_of
from activeeval.report.numbers import counted
from activeeval.report.rendering import Cell, render

_MOST_ROWS = 10


class PrintableResult:
    """Result that prints as sentences and a small table."""

    __slots__ = ()

    @property
    @abstractmethod
    def sentences(self) -> list[str]:
        """Sentences above the table."""

    @property
    def table(self) -> Sequence[Mapping[str, Cell]]:
        """Table rows for reading; empty for no table."""
        return []

    @property
    def footnotes(self) -> list[str]:
        """Explanations of words in the table, printed below it."""
        return []

    @abstractmethod
    def rows(self) -> list[dict[str, Cell]]:
        """List the rows, each a dict of all its fields, as ``-o jsonl`` of the command line prints them."""

    @property
    def frame_kind(self) -> str:
        """Library of the input data frames, "" for other inputs."""
        return ""

    def to_frame(self, kind: str = "") -> Any:
        """Convert the rows to a data frame.

        Parameters
        ----------
        kind : {"", "pandas", "polars", "pyarrow"}
            By default the library of the input frames; else pandas if installed, else polars.
        """
        return frame_of(self.rows(), kind or self.frame_kind)

    def __str__(self) -> str:
        """Format sentences, table and footnotes as text."""
        return shown_text(self.sentences, self.table, self.footnotes)

    def __repr__(self) -> str:
        """Format as text."""
        return str(self)

    def _repr_html_(self) -> str:
        """Format as HTML for notebooks."""
        return shown_html(self.sentences, self.table, self.footnotes)


class NamedInterval:
    """Result with an interval whose ends are also attributes `low` and `high`."""

    __slots__ = ()

    @property
    @abstractmethod
    def interval(self) -> Interval:
        """The interval, which unpacks into its two ends."""

    @property
    def low(self) -> float:
        """Lower end of the interval."""
        return self.interval.low

    @property
    def high(self) -> float:
        """Upper end of the interval."""
        return self.interval.high


def shown_text(sentences: Sequence[str], table: Sequence[Mapping[str, Cell]], footnotes: Sequence[str]) -> str:
    """Format sentences, a table and footnotes as text, separated by empty lines.

    Examples
    --------
    >>> print(shown_text(["All is well."], [{"run": "a", "value": 0.5}], ["Of two runs."]))
    All is well.
    <BLANKLINE>
    run   value
    a    0.5000
    <BLANKLINE>
    Of two runs.
    """
    body = render(table[:_MOST_ROWS], "text") if table else ""
    more = f"… and {counted(n, 'more row')} (to_frame() has all)" if (n := len(table) - _MOST_ROWS) > 0 else ""
    parts = ["\n".join(map(visible, sentences)), "\n".join(filter(None, (body, more))), visible(" ".join(footnotes))]
    return "\n\n".join(filter(None, parts))


def shown_html(sentences: Sequence[str], table: Sequence[Mapping[str, Cell]], footnotes: Sequence[str]) -> str:
    """Format sentences, a table and footnotes as HTML for a notebook; all text is escaped.

    Examples
    --------
    >>> shown_html(["a < b"], [], [])
    '<div><p>a &lt; b</p></div>'
    """
    parts = [f"<p>{'<br>'.join(_escaped(line) for line in sentences)}</p>"] if sentences else []
    if table:
        header = list(dict.fromkeys(name for row in table for name in row))
        lines = [line.split("\t") for line in render(table[:_MOST_ROWS], "tsv").split("\n")[1:]]
        head = "".join(f"<th>{_escaped(name)}</th>" for name in header)
        body = "".join(f"<tr>{''.join(f'<td>{_escaped(cell)}</td>' for cell in line)}</tr>" for line in lines)
        parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
    if (n := len(table) - _MOST_ROWS) > 0:
        parts.append(f"<p>… and {counted(n, 'more row')} (<code>to_frame()</code> has all)</p>")
    parts += [f"<p><small>{_escaped(' '.join(footnotes))}</small></p>"] if footnotes else []
    return f"<div>{''.join(parts)}</div>"


def _escaped(text: str) -> str:
    """Escape a text for HTML."""
    return escape(visible(text))
