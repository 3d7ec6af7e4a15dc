"""The table of coverage for reading: means, cells below the bar, the worst ones named."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from scipy.stats import binom

from activeeval.core.estimation.significance import holm
from activeeval.core.results import MORE_SPREAD
from benchmarks.frame.report import REACHED, Row, origin, plus_minus, table

LEVEL, BAR = 0.05, 0.9
MEAN_RANGE, MEAN_RANGE_OF_FEW = (0.945, 0.965), (0.94, 0.965)
LOW, VERY_LOW = 0.92, 0.88
MANY_QUERIES, WIDEST = 200, 1.06
MOST_BELOW, MOST_UNDER, MOST_FAR = 8, 0.12, 0.04
N_WORST = 10
ROUNDING = 1e-9
"""What sums of costs may be off by."""
FACTORS = ("model", "collection", "measure", "case", "overhead", "share", "method")


def significantly_below(rows: Sequence[Row]) -> list[Row]:
    """Return the rows whose coverage is below 90 % by exact binomial tests, Holm's level of 5 % over all of them."""
    held = [round(row["coverage"] * row["repetitions"]) for row in rows]
    adjusted = holm(binom.cdf(held, [row["repetitions"] for row in rows], BAR))
    return [row for row, p in zip(rows, adjusted, strict=True) if p <= LEVEL]


def mean_coverage(rows: Sequence[Row]) -> tuple[float, float]:
    """Return the mean coverage of cells and its Monte-Carlo standard error; cells are independent."""
    error = math.sqrt(sum(row["coverage_se"] ** 2 for row in rows)) / len(rows)
    return float(np.mean([row["coverage"] for row in rows])), error


def markdown(result: Row, plans: Sequence[Row] = ()) -> str:
    """Return the summary of a result: of the long list, of 30 to 50 queries, and of what is stored of plans."""
    lines = ["# Coverage of 95 % intervals", "", *_origin(result)]
    for is_few, title in ((False, "Twenty judged queries and more"), (True, "Pools of 30 to 50 queries")):
        counted = [row for row in result["rows"] if row["is_counted"] and row.get("is_few", False) == is_few]
        if counted:
            lines += ["", f"## {title}", "", *_of_list(counted, is_few=is_few)]
    return "\n".join([*lines, *_of_plans(plans)])


def _of_plans(plans: Sequence[Row]) -> list[str]:
    """Write the share of samples whose half-widths lie within the range of their plan, the mean over cells."""
    rows = [row for row in plans if row["unit"] == "inside"]
    if not rows:
        return []
    lines = []
    for row in rows:
        lines.append([row["what"], f"{row['value']:.1%}", row["target"], REACHED[row["reached"]], row.get("note", "")])
    what = (
        "Half-widths of samples within the range of four in five that the plan gave for the same options, in the mean "
        "of cells (`python -m benchmarks.planning`): *ranges* and *few* of one question, *joint* of several together."
    )
    return ["", "## Plans", "", what, "", *table(["plans of", "inside", "to reach", "", ""], lines)]


def _of_list(counted: list[Row], *, is_few: bool) -> list[str]:
    below = significantly_below(counted)
    low = [row for row in counted if row["coverage"] < LOW]
    by_coverage = sorted(counted, key=lambda row: row["coverage"])
    by_bias = sorted(counted, key=lambda row: -abs(row["bias_to_rmse"]))
    lines = [*_verdicts(counted, below, is_few=is_few), "", "### Cautions", "", *_cautions(counted)]
    lines += ["", "### Means", "", *_means(counted)]
    lines += ["", "### Significantly below 90 % (Holm, 5 % over the table)", "", *_named(below)]
    lines += ["", f"### The {N_WORST} worst", "", *_named(by_coverage[:N_WORST])]
    lines += ["", f"### Below {LOW:.0%}", "", *_named(sorted(low, key=lambda row: row["coverage"]))]
    lines += ["", "### Narrow and wrong", "", *_named([row for row in counted if row["wrong_and_narrow"]])]
    return [*lines, "", f"### The {N_WORST} most biased, in units of their RMSE", "", *_named(by_bias[:N_WORST])]


def _origin(result: Row) -> list[str]:
    rows = result["rows"]
    chance = math.sqrt(2 / math.pi / rows[0]["repetitions"])
    n_refused, n_counted = sum(row["is_refused"] for row in rows), sum(row["is_counted"] for row in rows)
    return [
        f"{origin(result)}, {result['seconds']:,} s.",
        f"{len(rows)} cells, {rows[0]['repetitions']:,} repetitions each; {n_counted} count: in {n_refused} the "
        f"budget was refused, in {len(rows) - n_counted - n_refused} fewer than 20 queries are judged on "
        "average. ± is the Monte-Carlo standard error. An interval that nothing bounds is infinite and holds the "
        "truth; its share is in the column `infinite`. `below` and `above` are the shares of runs whose interval ends "
        "below the truth, and begins above it. Narrow and wrong is an interval that misses and is narrower than 2 % of "
        "2 RMSE. `width` is the median width over 2 · 1.96 RMSE. `queries ≠ 0` counts queries of the pool whose true "
        f"value is not 0. Without any bias the mean of abs(bias) / RMSE is {chance:.3f}.",
    ]


def _verdicts(counted: list[Row], below: list[Row], *, is_few: bool) -> list[str]:
    mean, error = mean_coverage(counted)
    lowest, highest = MEAN_RANGE_OF_FEW if is_few else MEAN_RANGE
    under, far = ([row for row in counted if row["coverage"] < bar] for bar in (LOW, VERY_LOW))
    n, narrow = len(counted), sum(row["wrong_and_narrow"] for row in counted)
    widths = [
        r["width_to_rmse"] for r in counted if r["pool_queries"] >= MANY_QUERIES and r["width_to_rmse"] is not None
    ]
    most = max(row["most_spent_to_budget"] for row in counted)
    worst = max(counted, key=lambda row: abs(row["bias_to_rmse"]))
    verdicts: list[tuple[str, str, str, bool | None]] = [
        ("mean", f"{mean:.2%} ± {error:.2%}", f"{lowest:.1%} to {highest:.1%}", lowest <= mean <= highest),
        *_bars(len(below), under, far, n, is_few=is_few),
        ("repetitions narrow and wrong", f"{narrow}", "0", not narrow),
        (
            "below / above the truth",
            " / ".join(f"{np.mean([r[k] for r in counted]):.2%}" for k in ("below", "above")),
            "",
            None,
        ),
    ]
    if widths:
        width = float(np.median(widths))
        verdicts.append(
            (f"median width, pools of {MANY_QUERIES} queries on", f"{width:.3f}", f"<= {WIDEST}", width <= WIDEST)
        )
    verdicts += [
        ("largest spend / budget", f"{most:.4f}", "<= 1", most <= 1 + ROUNDING),
        ("largest bias, in RMSE", _bias(worst), "", None),
    ]
    return table(["what", "", "to reach", ""], [[what, value, bar, REACHED[ok]] for what, value, bar, ok in verdicts])


def _bars(
    n_below: int, under: list[Row], far: list[Row], n: int, *, is_few: bool
) -> list[tuple[str, str, str, bool | None]]:
    """Judge the number of cells far below 95 %; of few queries, their share."""
    significant = ("cells significantly below 90 %", f"{n_below} of {n}", "" if is_few else f"<= {MOST_BELOW}")
    shares = ((under, LOW, MOST_UNDER), (far, VERY_LOW, MOST_FAR))
    return [
        (*significant, None if is_few else n_below <= MOST_BELOW),
        *(
            (
                f"cells below {bar:.0%}",
                f"{len(own)} of {n}, {len(own) / n:.1%}",
                f"<= {most:.0%}" if is_few else "",
                len(own) <= most * n if is_few else None,
            )
            for own, bar, most in shares
        ),
    ]


def _cautions(rows: Sequence[Row]) -> list[str]:
    """Write for each caution its share of runs, and how often the intervals of those runs miss."""
    wording = {"no spread": "do not use: no spread", "more spread": f"note: V̂ / planned > {MORE_SPREAD:g}"}
    lines = []
    for code, what in wording.items():
        told = float(np.mean([row[code]["told"] for row in rows]))
        cells = [f"{told:.1%}"]
        for kind, total in (
            ("misses", lambda row: 1 - row["coverage"]),
            ("misses_alone", lambda row: row["misses_alone"]),
        ):
            of_told, of_all = (
                float(np.mean([row[code][kind] for row in rows])),
                float(np.mean([total(row) for row in rows])),
            )
            cells += [_share(of_told, told), _share(of_all - of_told, 1 - told), _share(of_told, of_all)]
        lines.append([what, *cells])
    shown = ("of these miss (precision)", "of the others", "of all misses (recall)")
    header = ["caution", "runs told", *shown, *(f"by V̂ alone: {what}" for what in shown)]
    return table(header, lines)


def _share(part: float, whole: float) -> str:
    return f"{part / whole:.1%}" if whole > 0 else ""


def _means(rows: list[Row]) -> list[str]:
    lines = []
    for factor in FACTORS:
        for level in dict.fromkeys(row[factor] for row in rows):
            own = [row for row in rows if row[factor] == level]
            mean, error = mean_coverage(own)
            biased = np.mean([abs(row["bias_to_rmse"]) for row in own])
            low = sum(row["coverage"] < LOW for row in own)
            shares = (
                f"{np.mean([row[k] for row in own]):.1%}" for k in ("below", "above", "undetermined", "spent_to_budget")
            )
            most = f"{max(row['most_spent_to_budget'] for row in own):.1%}"
            lowest = min(row["coverage"] for row in own)
            cells = [plus_minus(mean, error, ".2%"), f"{lowest:.1%}", str(low), f"{biased:.3f}"]
            lines.append([factor, str(level), str(len(own)), *cells, *shares, most])
    header = ["", "", "cells", "mean", "lowest", f"below {LOW:.0%}", "mean of abs(bias) / RMSE"]
    header += ["below", "above", "infinite", "mean spend / budget", "largest"]
    return table(header, sorted(lines, key=lambda line: FACTORS.index(line[0])))


def _named(rows: Iterable[Row]) -> list[str]:
    """Return a table of cells, or a line that says there is none."""
    columns: dict[str, Callable[[Row], str]] = {
        "cell": lambda row: row["name"],
        "coverage": lambda row: f"{row['coverage']:.1%} ± {row['coverage_se']:.1%}",
        "bias / RMSE": _bias,
        "queries": lambda row: f"{row['queries']:.0f}",
        "items": lambda row: f"{row['items']:.0f}",
        "queries ≠ 0": lambda row: str(row["nonzero_queries"]),
        "spend / budget": lambda row: f"{row['spent_to_budget']:.3f}, at most {row['most_spent_to_budget']:.3f}",
        "degrees of freedom": lambda row: (
            "" if row["degrees_of_freedom"] is None else f"{row['degrees_of_freedom']:.1f}"
        ),
        "below / above": lambda row: f"{row['below']:.1%} / {row['above']:.1%}",
        "width": lambda row: "" if row["width_to_rmse"] is None else f"{row['width_to_rmse']:.2f}",
        "infinite": lambda row: f"{row['undetermined']:.1%}",
        "narrow and wrong": lambda row: str(row["wrong_and_narrow"]),
    }
    lines = [[show(row) for show in columns.values()] for row in rows]
    return table(list(columns), lines) if lines else ["None."]


def _bias(row: Row) -> str:
    return plus_minus(row["bias_to_rmse"], row["bias_to_rmse_se"], "+.2f")
