"""Pages: headings, paragraphs, tables and charts, written as one HTML file or as markdown. All text is escaped."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from activeeval.errors import visible

_MARKDOWN = re.compile(r"([\\`*_\[\]|#~])")
_STYLE = """\
body { font: 15px/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff; max-width: 62rem; margin: 2rem auto;
  padding: 0 1.2rem; }
h1 { font-size: 1.7rem; margin: 0 0 .3rem; overflow-wrap: anywhere; }
h2 { font-size: 1.25rem; margin: 2.4rem 0 .6rem; border-bottom: 1px solid #ccc; padding-bottom: .2rem; }
h3 { font-size: 1rem; margin: 1.4rem 0 .4rem; }
p, ul { margin: .5rem 0; max-width: 50rem; }
p.warning { border-left: 4px solid #d55e00; padding-left: .7rem; }
nav { font-size: .9rem; margin: .8rem 0; }
nav a { margin-right: .9rem; }
a { color: #0060a0; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: .7rem 0; font-size: .9rem; }
th, td { padding: .22rem .7rem; border-bottom: 1px solid #e4e4e4; text-align: left; vertical-align: top;
  overflow-wrap: anywhere; }
thead th { border-bottom: 2px solid #888; font-weight: 600; vertical-align: bottom; overflow-wrap: normal; }
td.number, th.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
tbody th { font-weight: 600; }
.charts { display: flex; flex-wrap: wrap; gap: 1rem; }
figure { margin: .4rem 0; max-width: 29rem; break-inside: avoid; }
figcaption { font-size: .9rem; font-weight: 600; overflow-wrap: anywhere; }
figure svg { width: 100%; height: auto; }
@media print { body { font-size: 10.5pt; max-width: none; margin: 0; } nav { display: none; }
  h2, h3 { break-after: avoid; } tr { break-inside: avoid; } thead { display: table-header-group; }
  .wide { overflow-x: visible; } }
"""


@dataclass(frozen=True, slots=True)
class Heading:
    """The heading of a section, or of a part of one."""

    text: str
    is_part: bool = False


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Some sentences; a warning stands out."""

    text: str
    is_warning: bool = False


@dataclass(frozen=True, slots=True)
class Lines:
    """Short texts, each on a line of its own."""

    texts: Sequence[str]


@dataclass(frozen=True, slots=True)
class Table:
    """Cells as text; with a header, a column whose cells all look like numbers is set to the right."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Chart:
    """A picture as SVG, which is trusted, with what it shows in words; markdown leaves it out."""

    svg: str
    title: str


@dataclass(frozen=True, slots=True)
class Charts:
    """Pictures side by side."""

    charts: Sequence[Chart]


Block = Heading | Paragraph | Lines | Table | Charts


def html_page(title: str, blocks: Sequence[Block]) -> str:
    """Return a page that needs nothing but itself.

    Examples
    --------
    >>> "<p>1 &lt; 2</p>" in html_page("A page", [Paragraph("1 < 2")])
    True
    """
    sections = [block.text for block in blocks if isinstance(block, Heading) and not block.is_part]
    links = " ".join(f'<a href="#{_anchor(text)}">{_escaped(text)}</a>' for text in sections)
    head = (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_escaped(title)}</title>\n<style>\n{_STYLE}</style>\n</head>\n<body>\n"
    )
    body = "\n".join([f"<h1>{_escaped(title)}</h1>", f"<nav>{links}</nav>", *map(_html, blocks)])
    return f"{head}{body}\n</body>\n</html>\n"


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


def _anchor(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _html(block: Block) -> str:
    if isinstance(block, Heading):
        text = _escaped(block.text)
        return f"<h3>{text}</h3>" if block.is_part else f'<h2 id="{_anchor(block.text)}">{text}</h2>'
    if isinstance(block, Paragraph):
        return f"<p{' class=' + chr(34) + 'warning' + chr(34) if block.is_warning else ''}>{_escaped(block.text)}</p>"
    if isinstance(block, Lines):
        return "<ul>\n" + "\n".join(f"<li>{_escaped(text)}</li>" for text in block.texts) + "\n</ul>"
    if isinstance(block, Table):
        return _html_table(block)
    figures = (f"<figure><figcaption>{_escaped(one.title)}</figcaption>{one.svg}</figure>" for one in block.charts)
    return '<div class="charts">' + "\n".join(figures) + "</div>"


def _escaped(text: str) -> str:
    """Return a text as a page shows it as it is."""
    return escape(visible(" ".join(text.split())))


def _html_table(table: Table) -> str:
    is_headed = any(table.header)
    are_numbers = [is_headed and all(_is_number(row[k]) for row in table.rows) for k in range(len(table.header))]

    def line(cells: Sequence[str], tag: str) -> str:
        parts = (
            f"<{tag}{' class=' + chr(34) + 'number' + chr(34) if right else ''}>{_escaped(cell)}</{tag}>"
            for cell, right in zip(cells, are_numbers, strict=True)
        )
        return f"<tr>{''.join(parts)}</tr>"

    head = f"<thead>{line(table.header, 'th')}</thead>\n" if is_headed else ""
    rows = "\n".join(line(row, "td") for row in table.rows)
    return f'<div class="wide"><table>\n{head}<tbody>\n{rows}\n</tbody>\n</table></div>'


def _is_number(cell: str) -> bool:
    return (
        cell in ("", "n/a")
        or cell.startswith("p ")
        or re.fullmatch(r"[-+±]*[\d,.]+%?( (to|of|±) [-+\d,.]+)?( \(.*\))?", cell) is not None
    )


def _markdown(block: Block) -> str:
    if isinstance(block, Heading):
        return f"{'###' if block.is_part else '##'} {_plain(block.text)}"
    if isinstance(block, Paragraph):
        return f"**{_plain(block.text)}**" if block.is_warning else _plain(block.text)
    if isinstance(block, Lines):
        return "\n".join(f"- {_plain(text)}" for text in block.texts)
    if isinstance(block, Table):
        lines = [block.header, ["---"] * len(block.header), *block.rows]
        cells = [list(map(_plain, line)) if k != 1 else line for k, line in enumerate(lines)]
        return "\n".join(f"| {' | '.join(line)} |" for line in cells)
    return ""


def _plain(text: str) -> str:
    """Return a text as markdown shows it as it is, on one line."""
    one_line = visible(" ".join(text.split()))
    return _MARKDOWN.sub(r"\\\1", one_line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))
