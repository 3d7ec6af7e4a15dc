"""The tables of efficiency for reading, each figure beside the limit and the best peer's."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from benchmarks.frame.report import Row, origin, pivoted

ByKey = dict[tuple[Any, ...], Row]

KEYS = ("pool", "model", "overhead", "measure", "case", "method", "share")
PEER_KEYS = ("pool", "model", "overhead", "measure", "case", "share")
MEASURES = ("DCG@10", "ERR@10", "nDCG@10", "P@10", "DCG", "ERR", "RR")
"""In the order of the tables: what people measure, then whole lists."""
LEAST_COVERAGE = 0.9
BEYOND = 1000
"""A query or two of thousands are left to chance: how many thousand times is noise."""


def best(rows: Sequence[Row], *, heads: bool) -> ByKey:
    """Return the peer's row with the highest efficiency of each question, by `PEER_KEYS`: of heads, or of all else.

    Only rows whose intervals hold the truth in nine samples of ten count; of heads, whose bias is the model's, those
    that do so with every model that was run, as nobody knows beforehand which one is right.
    """
    ran = [row for row in rows if "efficiency" in row and row["units"].startswith("heads") == heads]
    least: dict[tuple[Any, ...], float] = {}
    for row in ran:
        least[_way(row)] = min(row["coverage"], least.get(_way(row), 1.0))
    found: ByKey = {}
    for row in ran:
        if (least[_way(row)] if heads else row["coverage"]) >= LEAST_COVERAGE:
            key = tuple(row[name] for name in PEER_KEYS)
            found[key] = max(found.get(key, row), row, key=lambda one: float(one["efficiency"]))
    return found


def _way(row: Row) -> tuple[Any, ...]:
    """Identify the way of a peer, whichever model it uses."""
    return tuple(row[name] for name in (*PEER_KEYS, "peer", "units") if name != "model")


def _ordered(rows: Iterable[Row]) -> list[Row]:
    """Return rows in the order of `MEASURES`, others after them."""
    places = {measure: k for k, measure in enumerate(MEASURES)}
    return sorted(rows, key=lambda row: places.get(row["measure"], len(places)))


def markdown(result: Row, peers: Row) -> str:
    """Return the tables of a result."""
    rows = _ordered(result["rows"])
    beside = [best(peers["rows"], heads=heads) for heads in (False, True)]
    lines = ["# Efficiency: how many times the labels passive needs", "", *_origin(result)]
    lines += ["", _of_peers(peers)] if peers["rows"] else []
    for share, pool, model in sorted({(row["share"], row["pool"], row["model"]) for row in rows}):
        own = [row for row in rows if (row["share"], row["pool"], row["model"]) == (share, pool, model)]
        lines += ["", f"## {pool}, {model}, {share:.0%} of the pool", "", *_table(own, beside)]
    return "\n".join(lines)


def _origin(result: Row) -> list[str]:
    return [
        f"{origin(result)}; the tables show rows of all "
        f"commands that were run, this one with {result['repetitions']:,} repetitions. Efficiency is the ratio of mean "
        "squared errors, passive's by simulation too; ± is the Monte-Carlo standard error. `all known`: every "
        "repetition hits the truth.",
        "",
        "*limit*: what the best probabilities of being judged would reach at this cost, were the model right about "
        "where the variance lies. With ten items a query and an overhead of five no design can visit more than 15/6 "
        "times as many queries as passive does: where figure and limit are near, model and costs set it.",
    ]


def _of_peers(peers: Row) -> str:
    names = ", ".join(f"{name} {version}" for name, version in peers["peers"].items())
    return (
        f"*peer*: the best that peers' own code reaches on the same predictions and budget (`{peers['command']}`, "
        f"commit {peers['git_commit']}; {names}; Monte-Carlo error about {math.sqrt(2 / peers['repetitions']):.0%}), "
        "of all configurations after the event. *heads*: the same where the "
        "first 1 to 5 items of a query are judged and the model's word stands for the rest for ever. Both only where "
        "their 95 % intervals hold the truth in nine samples of ten, heads with every model that was run: what their "
        "bias is nobody knows beforehand, and no label below the heads will tell."
    )


def _table(rows: list[Row], beside: list[ByKey]) -> list[str]:
    """Write a table with a line for each measure, case and method, and a column for each overhead."""
    cells = {(f"{row['measure']}, {row['case']}, {row['method']}", row["overhead"]): _cell(row, beside) for row in rows}
    return pivoted(cells, "measure, case, method", "overhead {:g}")


def _cell(row: Row, beside: list[ByKey]) -> str:
    if not row["rmse"] or row["efficiency"] is None:
        return "all known"
    if row["efficiency"] >= BEYOND:
        return f"> {BEYOND:,}"
    notes = [f"limit {row['limit']:.2f}"] if row.get("limit") is not None else []
    for name, best_of in zip(("peer", "heads"), beside, strict=True):
        other = best_of.get(tuple(row[key] for key in PEER_KEYS))
        notes += [] if other is None else [f"{name} {other['efficiency']:.2f}"]
    small = f" <sub>{', '.join(notes)}</sub>" if notes else ""
    return f"{row['efficiency']:.2f} ± {row['efficiency_se']:.2f}{small}"
