"""The table of baselines for reading: our default beside the best of each of the field's ways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.frame.report import Row, origin, plus_minus, table

KEYS = ("pool", "model", "overhead", "measure", "case", "share")
GROUPS = ("documents", "pooling", "documents, regression")
"""Columns, of which the best counts."""
POOLING = "fixed-depth pooling"
REGRESSION = ", regression"
BEYOND = 1000
SHOWN = 0.02


def by_question(rows: Sequence[Row]) -> dict[tuple[Any, ...], dict[str, Row]]:
    """Return the rows of each question by baseline."""
    found: dict[tuple[Any, ...], dict[str, Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[key] for key in KEYS), {})[row["baseline"]] = row
    return found


def group_of(baseline: str) -> str | None:
    """Return the column that a baseline is of; none for our own methods."""
    if baseline == "ours":
        return None
    if baseline.endswith(REGRESSION):
        return "documents, regression"
    return "pooling" if baseline == POOLING else "documents"


def best_in(rows: dict[str, Row], group: str) -> Row | None:
    """Return the most efficient row of a group of baselines; none where it has none."""
    return max((row for name, row in rows.items() if group_of(name) == group), key=_rank, default=None)


def behind(rows: Sequence[Row], groups: Sequence[str], measure: str | None = None) -> list[tuple[Row, Row]]:
    """Return our row and a baseline's for each question where any of the groups errs less than we do."""
    found = []
    for own in by_question(rows).values():
        others = [row for group in groups if (row := best_in(own, group)) is not None]
        other = max(others, key=_rank, default=None)
        if other is not None and measure in (None, other["measure"]) and _rank(other) > _rank(own["ours"]):
            found.append((own["ours"], other))
    return found


def markdown(result: Row) -> str:
    """Return the tables of a result, a section for each pool and model."""
    rows = result["rows"]
    lines = ["# The field's own baselines at equal cost", "", *_origin(result)]
    for pool, model in sorted({(row["pool"], row["model"]) for row in rows}):
        own = [row for row in rows if (row["pool"], row["model"]) == (pool, model)]
        lines += ["", f"## {pool}, {model}", "", *_table(own)]
    return "\n".join(lines)


def _origin(result: Row) -> list[str]:
    rows = result["rows"]
    n = len(by_question(rows))
    lost = {group: len(behind(rows, [group])) for group in GROUPS}
    told = ", ".join(f"{group} in {count}" for group, count in lost.items())
    return [
        f"{origin(result)}; {result['repetitions']:,} "
        "repetitions. How many times the labels passive needs; ± is the Monte-Carlo standard error. Each column is the "
        "best of its baselines in all configurations, chosen after the event; their budget is met on average, ours is "
        "a hard limit.",
        "",
        "*documents*: infAP, xinfAP, infNDCG, statAP and the DCG of such samples, of random queries, without a model; "
        "*regression*: the same samples with the model's predictions of queries as a regressor. *pooling*: the first "
        "documents of random queries, what is not judged counting as not relevant. *bias*: its share of the mean "
        "squared error; it stays as it is however many queries are judged.",
        "",
        f"Of {n} questions a baseline errs less than our default: {told}.",
    ]


def _table(rows: Sequence[Row]) -> list[str]:
    lines = []
    for found in by_question(rows).values():
        ours = found["ours"]
        name = f"{ours['measure']}, {ours['case']}, {ours['overhead']:g}"
        lines.append([name, f"**{_figure(ours)}**", *(_cell(best_in(found, group)) for group in GROUPS)])
    return table(["measure, case, overhead", "ours", *GROUPS], lines)


def _cell(row: Row | None) -> str:
    if row is None:
        return ""
    small = f"{row['baseline']}; {row['configuration']}"
    share = bias_share(row)
    small += f"; {share:.0%} bias" if share >= SHOWN else ""
    return f"{_figure(row)} <sub>{small}</sub>"


def bias_share(row: Row) -> float:
    """Compute the share of a mean squared error that is the square of a bias, less Monte-Carlo error."""
    return max(row["bias"] ** 2 - row["bias_se"] ** 2, 0.0) / row["rmse"] ** 2 if row["rmse"] else 0.0


def _figure(row: Row) -> str:
    if row["efficiency"] is None or row["efficiency"] >= BEYOND:
        return f"> {BEYOND:,}"
    return plus_minus(row["efficiency"], row["efficiency_se"])


def _rank(row: Row) -> float:
    """Return the efficiency of a row; none means that every repetition hits the truth."""
    return float("inf") if row["efficiency"] is None else float(row["efficiency"])
