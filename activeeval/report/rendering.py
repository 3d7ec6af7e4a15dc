"""Table rows as text: aligned, JSON lines, TSV, markdown and LaTeX."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from activeeval.core.errors import InputError, visible

Row = Mapping[str, Any]
Cell = float | int | str | bool | None
"""Value of a table cell."""
FORMATS = ("text", "jsonl", "tsv", "md", "latex")
_TSV = str.maketrans("\t\n\r", "   ")
_LATEX = str.maketrans({c: f"\\{c}" for c in "_%&#${}"} | {"\\": "\\textbackslash{}", "^": "\\^{}", "~": "\\~{}"})
_LATEX |= str.maketrans({"<": "\\textless{}", ">": "\\textgreater{}"})


def render(rows: Sequence[Row], form: str, places: int = 4) -> str:
    """Format rows as text; missing fields are empty.

    Parameters
    ----------
    form : {"text", "jsonl", "tsv", "md", "latex"}
    places : int
        Decimal places of floats; JSON lines and TSV keep all digits.

    Raises
    ------
    InputError
        If the format is unknown.
    """
    if form == "jsonl":
        return "\n".join(json.dumps({k: _finite(v) for k, v in row.items()}, ensure_ascii=False) for row in rows)
    header = list(dict.fromkeys(name for row in rows for name in row))
    cells = [[format_cell(row.get(name), None if form == "tsv" else places) for name in header] for row in rows]
    if form == "tsv":
        return "\n".join("\t".join(cell.translate(_TSV) for cell in line) for line in [header, *cells])
    cells = [list(map(visible, line)) for line in cells]
    if form == "md":
        lines = [header, ["---"] * len(header), *cells]
        return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
    if form == "latex":
        return _latex(header, cells)
    if form != "text":
        raise InputError(f"unknown format {form!r}; known: {', '.join(FORMATS)}")
    return _text(header, cells)


def note_text(note: str, form: str) -> str:
    """Format a line below a table in the format `form`, escaped for LaTeX or markdown."""
    text = visible(note)
    if form == "latex":
        return f"\\par {text.translate(_LATEX)}"
    return text.replace("*", "\\*", 1) if form == "md" else text


def format_cell(value: Any, places: int | None = 4) -> str:
    """Format one value with `places` decimals, with all digits if that is None; a value of None gives ""."""
    if value is None:
        return ""
    if isinstance(value, float):
        if not math.isfinite(value):
            return "inf" if value > 0 else "-inf" if value < 0 else "nan"
        text = repr(value) if places is None else f"{value:.{places}f}"
        return text if float(text) else text.lstrip("-")
    return str(value)


def _finite(value: Any) -> Any:
    """Replace a non-finite float by None."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _text(header: Sequence[str], cells: Sequence[Sequence[str]]) -> str:
    """Align columns as text: numbers to the right, other cells to the left."""
    widths = [max(map(len, column)) for column in zip(header, *cells, strict=True)] if header else []
    is_number = [all(_looks_numeric(line[i]) for line in cells) for i in range(len(header))]

    def line(texts: Sequence[str]) -> str:
        """Format one line of aligned cells."""
        parts = (
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(texts, widths, is_number, strict=True)
        )
        return "  ".join(parts).rstrip()

    return "\n".join([line(header), *map(line, cells)])


def _looks_numeric(text: str) -> bool:
    """Check whether a cell looks like a number."""
    return text == "" or text.lstrip("-−+> ")[:1].isdigit() or text in ("inf", "-inf", "nan")


def _latex(header: Sequence[str], cells: Sequence[Sequence[str]]) -> str:
    """Format cells as a LaTeX tabular."""

    def line(texts: Sequence[str]) -> str:
        """Format one line of LaTeX cells."""
        escaped = (text.translate(_LATEX) for text in texts)
        return "  " + " & ".join(escaped) + " \\\\"

    body = [
        f"\\begin{{tabular}}{{{'l' * len(header)}}}",
        line(header),
        "  \\hline",
        *map(line, cells),
        "\\end{tabular}",
    ]
    return "\n".join(body)
