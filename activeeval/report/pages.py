"""Pages of paragraphs, tables and charts in folding sections, as one HTML file or as markdown. All text is escaped.

HTML comes only from the templates in this package, one for each kind of block.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, ClassVar

from activeeval.core.errors import visible

if TYPE_CHECKING:
    from jinja2 import Environment

_OPTION = re.compile(r"(?<!\S)(--\S+)")
"""An option of a command, within which a line must not break."""
_MARKDOWN = re.compile(r"([\\`*_\[\]|#~])")


MOST_ROWS = 10
"""Number of table rows shown before the reader expands the table."""


@dataclass(frozen=True, slots=True)
class Heading:
    """Heading within a section."""

    kind: ClassVar[str] = "heading"
    text: str


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Paragraph, optionally styled as a warning or headline."""

    kind: ClassVar[str] = "paragraph"
    text: str
    is_warning: bool = False
    is_headline: bool = False


@dataclass(frozen=True, slots=True)
class NextStep:
    """Recommended next step: an introduction (`before`), a command ("" for none), and its purpose (`text`)."""

    kind: ClassVar[str] = "following"
    before: str
    command: str
    text: str


@dataclass(frozen=True, slots=True)
class Lines:
    """List of short texts."""

    kind: ClassVar[str] = "lines"
    texts: Sequence[str]


@dataclass(frozen=True, slots=True)
class Table:
    """Table of text cells with a caption; with a header, columns of numbers are right-aligned."""

    kind: ClassVar[str] = "table"
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""

    @property
    def is_headed(self) -> bool:
        """True if any column has a name."""
        return any(self.header)

    @property
    def first(self) -> Sequence[Sequence[str]]:
        """Rows shown at once; all rows of a table without a header, as it lists facts."""
        return self.rows[:MOST_ROWS] if self.is_headed else self.rows

    @property
    def are_numbers(self) -> list[bool]:
        """For each column, True if all its cells are numbers, so that it is right-aligned."""
        return [self.is_headed and all(_is_number(row[k]) for row in self.rows) for k in range(len(self.header))]


@dataclass(frozen=True, slots=True)
class Chart:
    """SVG chart from a trusted source (not escaped), with a description; omitted in markdown."""

    svg: str
    title: str


@dataclass(frozen=True, slots=True)
class Charts:
    """Charts side by side."""

    kind: ClassVar[str] = "charts"
    charts: Sequence[Chart]


@dataclass(frozen=True, slots=True)
class SideBySide:
    """Blocks next to charts."""

    kind: ClassVar[str] = "columns"
    blocks: Sequence[Block]
    charts: Charts


@dataclass(frozen=True, slots=True)
class Section:
    """Folding section with a heading (`text`), a short summary (`gist`) and blocks; markdown does not fold."""

    kind: ClassVar[str] = "section"
    text: str
    gist: str
    blocks: Sequence[Block]

    @property
    def anchor(self) -> str:
        """HTML id of the section for links."""
        return re.sub(r"[^a-z0-9]+", "-", self.text.lower()).strip("-")


Block = Heading | Paragraph | NextStep | Lines | Table | Charts | SideBySide | Section


def html_page(title: str, blocks: Sequence[Block]) -> str:
    """Render blocks as a self-contained HTML page.

    Examples
    --------
    >>> "<p>1 &lt; 2</p>" in html_page("A page", [Paragraph("1 < 2")])
    True
    """
    return _templates().get_template("page.html.j2").render(title=title, blocks=blocks)


@cache
def _templates() -> Environment:
    """Load the page templates, with automatic escaping."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # imported late, as only reports need it

    environment = Environment(
        loader=PackageLoader("activeeval.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    # filters of the templates: a text on one line, and a text in parts, split at its options
    environment.filters |= {"shown": _on_one_line, "parted": _OPTION.split}
    return environment


def markdown_page(title: str, blocks: Sequence[Block]) -> str:
    r"""Render blocks as a markdown page, without charts.

    Examples
    --------
    >>> print(markdown_page("A page", [Paragraph("a * b")]))
    # A page
    <BLANKLINE>
    a \* b
    <BLANKLINE>
    """
    parts = [f"# {_plain(title)}", *filter(None, map(_markdown, blocks))]
    return "\n\n".join(parts) + "\n"


def _on_one_line(text: str) -> str:
    """Join a text to one line and make invisible characters visible."""
    return visible(" ".join(text.split()))


def _is_number(cell: str) -> bool:
    """Check whether a cell is a number, possibly with sign, unit or interval."""
    return (
        cell in ("", "n/a")
        or cell.startswith("p ")
        or re.fullmatch(r"[-+±]*[\d,.]+%?( (to|of|±) [-+\d,.]+)?( \(.*\))?", cell) is not None
    )


def _markdown(block: Block) -> str:
    """Render a block as markdown; "" for charts."""
    if isinstance(block, Section | SideBySide):
        before = [f"## {_plain(block.text)}", _plain(block.gist)] if isinstance(block, Section) else []
        return "\n\n".join(filter(None, [*before, *map(_markdown, block.blocks)]))
    if isinstance(block, Heading):
        return f"### {_plain(block.text)}"
    if isinstance(block, Paragraph):
        return f"**{_plain(block.text)}**" if block.is_warning or block.is_headline else _plain(block.text)
    if isinstance(block, NextStep):
        command = _on_one_line(block.command)
        code = f"`{command}` " if command and "`" not in command else _plain(f"{command} ") if command else ""
        return f"{_plain(block.before)} {code}{_plain(block.text)}"
    if isinstance(block, Lines):
        return "\n".join(f"- {_plain(text)}" for text in block.texts)
    if isinstance(block, Table):
        lines = [block.header, ["---"] * len(block.header), *block.rows]
        cells = [list(map(_plain, line)) if k != 1 else line for k, line in enumerate(lines)]
        table = "\n".join(f"| {' | '.join(line)} |" for line in cells)
        return f"{_plain(block.caption)}\n\n{table}" if block.caption else table
    return ""


def _plain(text: str) -> str:
    """Escape a text for markdown, on one line."""
    return _MARKDOWN.sub(r"\\\1", _on_one_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))
