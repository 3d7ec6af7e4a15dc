"""Rows as text: aligned, for machines, for markdown and LaTeX."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from activeeval.core.errors import InputError, visible

Row = Mapping[str, Any]
Cell = float | int | str | bool | None
"""What a table shows in a place."""
FORMATS = ("text", "jsonl", "tsv", "md", "latex")
_TSV = str.maketrans("\t\n\r", "   ")
_LATEX = str.maketrans({c: f"\\{c}" for c in "_%&#${}"} | {"\\": "\\textbackslash{}", "^": "\\^{}", "~": "\\~{}"})
_LATEX |= str.maketrans({"<": "\\textless{}", ">": "\\textgreater{}"})


def render(rows: Sequence[Row], form: str, places: int = 4) -> str:
    """Return rows as text in a format; a field that a row lacks is empty.

    Parameters
    ----------
    form : {"text", "jsonl", "tsv", "md", "latex"}
    places : int
        Decimal places of numbers that are not whole; what is for machines, JSON lines and TSV, has all digits.
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
    """Return a line to print below a table, with what LaTeX reads escaped there and what markdown does."""
    seen = visible(note)
    if form == "latex":
        return f"\\par {seen.translate(_LATEX)}"
    return seen.replace("*", "\\*", 1) if form == "md" else seen


def format_cell(value: Any, places: int | None = 4) -> str:
    """Return one value as text, with all digits where no places are given; nothing for None."""
    if value is None:
        return ""
    if isinstance(value, float):
        if not math.isfinite(value):
            return "inf" if value > 0 else "-inf" if value < 0 else "nan"
        text = repr(value) if places is None else f"{value:.{places}f}"
        return text if float(text) else text.lstrip("-")
    return str(value)


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _text(header: Sequence[str], cells: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(header, *cells, strict=True)] if header else []
    is_number = [all(_looks_numeric(line[i]) for line in cells) for i in range(len(header))]

    def line(texts: Sequence[str]) -> str:
        parts = (
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(texts, widths, is_number, strict=True)
        )
        return "  ".join(parts).rstrip()

    return "\n".join([line(header), *map(line, cells)])


def _looks_numeric(text: str) -> bool:
    return text == "" or text.lstrip("-−+> ")[:1].isdigit() or text in ("inf", "-inf", "nan")


def _latex(header: Sequence[str], cells: Sequence[Sequence[str]]) -> str:
    def line(texts: Sequence[str]) -> str:
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
