"""Figures in prose: what stands in double braces in benchmarks/notes.md is read from the stored results.

So a sentence cannot keep a figure that its table no longer has. ``{{saved|mq2008|4|index update|DCG}}`` is one.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from benchmarks.paper.averages import labels_saved

NOT_RUN = "(not run)"
_PLACE = re.compile(r"\{\{([^{}]+)\}\}")


def filled(text: str, results: Path) -> str:
    """Fill the figures of a text in; one whose file is not there is `NOT_RUN`.

    Raises
    ------
    KeyError
        Where a place names a figure that there is not.
    """

    def figure(match: re.Match[str]) -> str:
        name, *arguments = match[1].split("|")
        file, read = _FIGURES[name]
        path = results / f"{file.format(*arguments)}.json"
        return read(json.loads(path.read_text()), *arguments) if path.exists() else NOT_RUN

    return _PLACE.sub(figure, text)


def _plain(value: float, places: int) -> str:
    """Return a figure below 1 as prose has it, −.030."""
    return f"{value:+.{places}f}".replace("0.", ".", 1).replace("-", "−").removeprefix("+")


def _saved(result: dict[str, Any], _: str, figure: str, case: str, measure: str) -> str:
    rows = [row for row in result["rows"] if str(row["figure"]) == figure]
    saved = labels_saved(rows, case, measure, "active")
    if saved is None:
        raise KeyError(f"{case}, {measure}: labels saved lie outside the budgets")
    return f"{saved[0]:.0%}".replace("%", " %")


def _lead(result: dict[str, Any], ranker: str, parent: str, angle: str) -> str:
    (row,) = [
        row
        for row in result["control"]["rows"]
        if (row["ranker"], row["parent"], row["angle"]) == (ranker, parent, int(angle))
    ]
    return f"{_plain(row['gap'], 3)} ± {_plain(row['se'], 3)}"


def _direction(result: dict[str, Any], collection: str, which: str) -> str:
    return _plain(result["directions"][collection][which], 3)


def _over_mix(result: dict[str, Any], data: str, against: str) -> str:
    claim = f"the best tuned model has a higher B than {against}"
    (row,) = [row for row in result["claims"] if (row["data"], row["claim"]) == (data, claim)]
    value, error = (float(part) for part in row["found"].split(" ± "))
    return f"{_plain(value, 3)} ± {_plain(error, 3)}"


_FIGURES: dict[str, tuple[str, Any]] = {
    "saved": ("paper-{0}", _saved),
    "lead": ("topk", _lead),
    "direction": ("topk", _direction),
    "tuned over": ("adaptation", _over_mix),
}
"""By name: the file of results, and what reads the figure."""
