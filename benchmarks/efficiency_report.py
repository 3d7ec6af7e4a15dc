"""The table of efficiency for reading, each figure beside the yardstick's: is any significantly below?"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from scipy.special import ndtr

from activeeval.significance import holm

Row = dict[str, Any]

KEYS = ("pool", "model", "overhead", "measure", "case", "method", "share")
LEVEL = 0.05
N_WORST = 10


def _key(row: Row) -> tuple[Any, ...]:
    return tuple(row[key] for key in KEYS)


def compared(rows: Sequence[Row], yardstick: Iterable[Row]) -> list[Row]:
    """Return the rows that the yardstick has too, with what tells the two apart.

    `ratio` is RMSE over the yardstick's, `ratio_se` its Monte-Carlo standard error, `p_value` that of the difference of
    their logarithms, one-sided and adjusted by Holm over all of them: the two runs are independent. Where an RMSE is 0
    nothing was left to chance, and there is nothing to test.
    """
    others = {_key(row): row for row in yardstick}
    found = []
    for row in rows:
        other = others.get(_key(row))
        if other is None or not row["rmse"] or not other["rmse"]:
            continue
        error = math.hypot(*(one["rmse_se"] / one["rmse"] for one in (row, other)))
        ratio = row["rmse"] / other["rmse"]
        figures = {"ratio": ratio, "ratio_se": ratio * error, "of_yardstick": other["efficiency"]}
        found.append(row | figures | {"p_alone": float(ndtr(-math.log(ratio) / error))})
    adjusted = holm([row["p_alone"] for row in found]) if found else []
    return [row | {"p_value": float(p)} for row, p in zip(found, adjusted, strict=True)]


def markdown(result: dict[str, Any], yardstick: dict[str, Any]) -> str:
    """Return the tables of a result."""
    rows = result["rows"]
    pairs = compared(rows, yardstick["rows"])
    lines = ["# Efficiency: how many times the labels passive needs", "", *_origin(result, yardstick, pairs)]
    if pairs:
        lines += ["", f"## The {N_WORST} furthest below the yardstick", "", *_furthest(pairs)]
    by_key = {_key(row): row for row in pairs}
    for share, pool, model in sorted({(row["share"], row["pool"], row["model"]) for row in rows}):
        own = [row for row in rows if (row["share"], row["pool"], row["model"]) == (share, pool, model)]
        lines += ["", f"## {pool}, {model}, {share:.0%} of the pool", "", *_table(own, by_key)]
    return "\n".join(lines)


def _origin(result: dict[str, Any], yardstick: dict[str, Any], pairs: list[Row]) -> list[str]:
    lines = [
        f"`{result['command']}`, commit {result['git_commit']}, {result['date'][:10]}; the tables show rows of all "
        f"commands that were run, this one with {result['repetitions']:,} repetitions. Efficiency is the ratio of mean "
        "squared errors, passive's by simulation too; ± is the Monte-Carlo standard error. `all known`: every "
        "repetition hits the truth."
    ]
    if not pairs:
        return lines
    below = [row for row in pairs if row["p_value"] <= LEVEL]
    mean = math.exp(sum(math.log(row["ratio"]) for row in pairs) / len(pairs))
    return [
        *lines,
        "",
        f"Small print beside each figure: the yardstick, Poisson samples of the same rates (commit "
        f"{yardstick['git_commit']}, {yardstick['repetitions']:,} repetitions). Of {len(pairs)} cells that both have "
        f"**{len(below)} are significantly below it** (RMSE, Holm, {LEVEL:.0%} over the table; they are marked ▼); the "
        f"geometric mean of RMSE over the yardstick's is {mean:.3f}.",
    ]


def _furthest(pairs: list[Row]) -> list[str]:
    lines = ["| cell | RMSE / yardstick's | p alone | p, Holm |", "| --- | --- | --- | --- |"]
    for row in sorted(pairs, key=lambda row: row["p_alone"])[:N_WORST]:
        name = f"{row['pool']}, {row['model']}, overhead {row['overhead']:g}, {row['measure']}, {row['case']}"
        ratio = f"{row['ratio']:.3f} ± {row['ratio_se']:.3f}"
        lines.append(f"| {name}, {row['method']} | {ratio} | {row['p_alone']:.2g} | {row['p_value']:.2g} |")
    return lines


def _table(rows: list[Row], pairs: dict[tuple[Any, ...], Row]) -> list[str]:
    """Return a table with a line for each measure, case and method, and a column for each overhead."""
    overheads = sorted({row["overhead"] for row in rows})
    lines = ["| measure, case, method | " + " | ".join(f"overhead {o:g}" for o in overheads) + " |"]
    lines.append("| --- " * (len(overheads) + 1) + "|")
    cells: dict[str, dict[float, str]] = {}
    for row in rows:
        name = f"{row['measure']}, {row['case']}, {row['method']}"
        cells.setdefault(name, {})[row["overhead"]] = _cell(row, pairs.get(_key(row)))
    return lines + [
        f"| {name} | " + " | ".join(own.get(o, "") for o in overheads) + " |" for name, own in cells.items()
    ]


def _cell(row: Row, pair: Row | None) -> str:
    if not row["rmse"] or row["efficiency"] is None:
        return "all known"
    text = f"{row['efficiency']:.2f} ± {row['efficiency_se']:.2f}"
    if pair is None:
        return text
    mark = " ▼" if pair["p_value"] <= LEVEL else ""
    return f"{text} <sub>{pair['of_yardstick']:.2f}</sub>{mark}"
