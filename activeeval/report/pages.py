"""Pages: paragraphs, tables and charts in sections that fold, as one HTML file or as markdown. All text is escaped.

HTML is made by the templates beside this file alone, one for each kind of block.
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
"""What a line of a command must not end within."""
_MARKDOWN = re.compile(r"([\\`*_\[\]|#~])")


MOST_ROWS = 10
"""Of a table before the reader asks for all."""


@dataclass(frozen=True, slots=True)
class Heading:
    """The heading of a part of a section."""

    kind: ClassVar[str] = "heading"
    text: str


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Some sentences; a warning and a headline stand out."""

    kind: ClassVar[str] = "paragraph"
    text: str
    is_warning: bool = False
    is_headline: bool = False


@dataclass(frozen=True, slots=True)
class NextStep:
    """What to do next: a word before, a command where there is one, and what it does."""

    kind: ClassVar[str] = "following"
    before: str
    command: str
    text: str


@dataclass(frozen=True, slots=True)
class Lines:
    """Short texts, each on a line of its own."""

    kind: ClassVar[str] = "lines"
    texts: Sequence[str]


@dataclass(frozen=True, slots=True)
class Table:
    """Cells as text, below a caption; with a header, a column whose cells all look like numbers is set to the right."""

    kind: ClassVar[str] = "table"
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""

    @property
    def is_headed(self) -> bool:
        """Whether any column has a name."""
        return any(self.header)

    @property
    def first(self) -> Sequence[Sequence[str]]:
        """The rows that are shown at once; of columns without names, which are facts and not a list, all."""
        return self.rows[:MOST_ROWS] if self.is_headed else self.rows

    @property
    def are_numbers(self) -> list[bool]:
        """Which columns are set to the right."""
        return [self.is_headed and all(_is_number(row[k]) for row in self.rows) for k in range(len(self.header))]


@dataclass(frozen=True, slots=True)
class Chart:
    """A picture as SVG, which is trusted, with what it shows in words; markdown leaves it out."""

    svg: str
    title: str


@dataclass(frozen=True, slots=True)
class Charts:
    """Pictures side by side."""

    kind: ClassVar[str] = "charts"
    charts: Sequence[Chart]


@dataclass(frozen=True, slots=True)
class SideBySide:
    """Blocks beside a picture."""

    kind: ClassVar[str] = "columns"
    blocks: Sequence[Block]
    charts: Charts


@dataclass(frozen=True, slots=True)
class Section:
    """Blocks that are folded below their heading and what they say in a few words; markdown does not fold."""

    kind: ClassVar[str] = "section"
    text: str
    gist: str
    blocks: Sequence[Block]

    @property
    def anchor(self) -> str:
        """What links to it end with."""
        return re.sub(r"[^a-z0-9]+", "-", self.text.lower()).strip("-")


Block = Heading | Paragraph | NextStep | Lines | Table | Charts | SideBySide | Section


def html_page(title: str, blocks: Sequence[Block]) -> str:
    """Return a page that needs nothing but itself.

    Examples
    --------
    >>> "<p>1 &lt; 2</p>" in html_page("A page", [Paragraph("1 < 2")])
    True
    """
    return _templates().get_template("page.html.j2").render(title=title, blocks=blocks)


@cache
def _templates() -> Environment:
    """Return the templates of pages: what they show is escaped, unless a template says that it is safe."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # here, as only a report needs it

    environment = Environment(
        loader=PackageLoader("activeeval.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"shown": _on_one_line, "parted": _OPTION.split}
    return environment


def markdown_page(title: str, blocks: Sequence[Block]) -> str:
    """Return a page as markdown, without its pictures.

    Examples
    --------
    >>> print(markdown_page("A page", [Paragraph("a * b")]))
    # A page
    <BLANKLINE>
    a \\* b
    <BLANKLINE>
    """
    parts = [f"# {_plain(title)}", *filter(None, map(_markdown, blocks))]
    return "\n\n".join(parts) + "\n"


def _on_one_line(text: str) -> str:
    """Return a text on one line, what nobody would see spelt out."""
    return visible(" ".join(text.split()))


def _is_number(cell: str) -> bool:
    return (
        cell in ("", "n/a")
        or cell.startswith("p ")
        or re.fullmatch(r"[-+±]*[\d,.]+%?( (to|of|±) [-+\d,.]+)?( \(.*\))?", cell) is not None
    )


def _markdown(block: Block) -> str:
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
    """Return a text as markdown shows it as it is, on one line."""
    return _MARKDOWN.sub(r"\\\1", _on_one_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))
