"""The tables of efficiency for reading, each figure beside the limit, the best peer's and the yardstick's."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from scipy.special import ndtr

from activeeval.core.estimation.significance import holm
from benchmarks.frame.report import Row, origin, pivoted, plus_minus, table

ByKey = dict[tuple[Any, ...], Row]

KEYS = ("pool", "model", "overhead", "measure", "case", "method", "share")
PEER_KEYS = ("pool", "model", "overhead", "measure", "case", "share")
MEASURES = ("DCG@10", "ERR@10", "nDCG@10", "P@10", "DCG", "ERR", "RR")
"""In the order of the tables: what people measure, then whole lists."""
CASES = {
    "one ranking": " of one ranking",
    "two rankers": ", two rankers compared",
    "index update": ", effect of an index update",
}
LEVEL = 0.05
LEAST_COVERAGE = 0.9
BEYOND = 1000
"""A query or two of thousands are left to chance: how many thousand times is noise."""
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


def markdown(result: dict[str, Any], yardstick: dict[str, Any], peers: dict[str, Any]) -> str:
    """Return the tables of a result."""
    rows = _ordered(result["rows"])
    pairs = compared(rows, yardstick["rows"])
    beside = [best(peers["rows"], heads=heads) for heads in (False, True)]
    lines = ["# Efficiency: how many times the labels passive needs", "", *_origin(result, yardstick, pairs)]
    lines += ["", _of_peers(peers)] if peers["rows"] else []
    if pairs:
        lines += ["", f"## The {N_WORST} furthest below the yardstick", "", *_furthest(pairs)]
    by_key = {_key(row): row for row in pairs}
    for share, pool, model in sorted({(row["share"], row["pool"], row["model"]) for row in rows}):
        own = [row for row in rows if (row["share"], row["pool"], row["model"]) == (share, pool, model)]
        lines += ["", f"## {pool}, {model}, {share:.0%} of the pool", "", *_table(own, by_key, beside)]
    return "\n".join(lines)


def _origin(result: dict[str, Any], yardstick: dict[str, Any], pairs: list[Row]) -> list[str]:
    lines = [
        f"{origin(result)}; the tables show rows of all "
        f"commands that were run, this one with {result['repetitions']:,} repetitions. Efficiency is the ratio of mean "
        "squared errors, passive's by simulation too; ± is the Monte-Carlo standard error. `all known`: every "
        "repetition hits the truth.",
        "",
        "*limit*: what the best probabilities of being judged would reach at this cost, were the model right about "
        "where the variance lies. With ten items a query and an overhead of five no design can visit more than 15/6 "
        "times as many queries as passive does: where figure and limit are near, model and costs set it.",
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


def _of_peers(peers: dict[str, Any]) -> str:
    names = ", ".join(f"{name} {version}" for name, version in peers["peers"].items())
    return (
        f"*peer*: the best that peers' own code reaches on the same predictions and budget (`{peers['command']}`, "
        f"commit {peers['git_commit']}; {names}; Monte-Carlo error about {math.sqrt(2 / peers['repetitions']):.0%}), "
        "of all configurations after the event. *heads*: the same where the "
        "first 1 to 5 items of a query are judged and the model's word stands for the rest for ever. Both only where "
        "their 95 % intervals hold the truth in nine samples of ten, heads with every model that was run: what their "
        "bias is nobody knows beforehand, and no label below the heads will tell."
    )


def _furthest(pairs: list[Row]) -> list[str]:
    lines = []
    for row in sorted(pairs, key=lambda row: row["p_alone"])[:N_WORST]:
        name = f"{row['pool']}, {row['model']}, overhead {row['overhead']:g}, {row['measure']}, {row['case']}"
        ratio = plus_minus(row["ratio"], row["ratio_se"], ".3f")
        lines.append([f"{name}, {row['method']}", ratio, f"{row['p_alone']:.2g}", f"{row['p_value']:.2g}"])
    return table(["cell", "RMSE / yardstick's", "p alone", "p, Holm"], lines)


def _table(rows: list[Row], pairs: ByKey, beside: list[ByKey]) -> list[str]:
    """Write a table with a line for each measure, case and method, and a column for each overhead."""
    cells = {
        (f"{row['measure']}, {row['case']}, {row['method']}", row["overhead"]): _cell(row, pairs.get(_key(row)), beside)
        for row in rows
    }
    return pivoted(cells, "measure, case, method", "overhead {:g}")


def _cell(row: Row, pair: Row | None, beside: list[ByKey]) -> str:
    if not row["rmse"] or row["efficiency"] is None:
        return "all known"
    if row["efficiency"] >= BEYOND:
        return f"> {BEYOND:,}"
    notes = [f"limit {row['limit']:.2f}"] if row.get("limit") is not None else []
    for name, found in zip(("peer", "heads"), beside, strict=True):
        other = found.get(tuple(row[key] for key in PEER_KEYS))
        notes += [] if other is None else [f"{name} {other['efficiency']:.2f}"]
    mark = ""
    if pair is not None:
        notes.append(f"yardstick {pair['of_yardstick']:.2f}")
        mark = " ▼" if pair["p_value"] <= LEVEL else ""
    small = f" <sub>{', '.join(notes)}</sub>" if notes else ""
    return f"{row['efficiency']:.2f} ± {row['efficiency_se']:.2f}{small}{mark}"


def readme_table(result: dict[str, Any], peers: dict[str, Any], pool: str = "MQ2008", share: float = 0.1) -> str:
    """Write README's first table: with the forest, passive's need, the best peer's and the limit, by overhead."""
    chosen = [row for row in result["rows"] if (row["pool"], row["model"], row["share"]) == (pool, "forest", share)]
    found, cells = best(peers["rows"], heads=False), {}
    for row in (row for row in _ordered(chosen) if row["measure"] in MEASURES[:-1]):
        peer = found.get(tuple(row[key] for key in PEER_KEYS), {})
        shown = " · ".join("–" if x is None else _times(x) for x in (peer.get("efficiency"), row.get("limit")))
        cells[f"{row['measure']}{CASES[row['case']]}", row["overhead"]] = f"**{_times(row['efficiency'])}** · {shown}"
    return "\n".join(pivoted(cells, "what is measured", "overhead {:g}: **ours** · best peer · limit"))


def _times(ratio: float) -> str:
    return f"{ratio:.1f}" if ratio < 20 else f"{ratio:.0f}"
