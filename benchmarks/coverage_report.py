"""The table of coverage for reading: means, cells below the bar, the worst ones named."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from scipy.stats import binom

from activeeval.results import FEWEST_DEGREES
from activeeval.significance import holm

Row = dict[str, Any]

LEVEL, BAR = 0.05, 0.9
MEAN_RANGE = (0.945, 0.955)
LOW = 0.92
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


def markdown(result: dict[str, Any]) -> str:
    """Return the summary of a result."""
    counted = [row for row in result["rows"] if row["is_counted"]]
    lines = ["# Coverage of 95 % intervals", "", *_origin(result, counted)]
    if not counted:
        return "\n".join(lines)
    below, low = significantly_below(counted), [row for row in counted if row["coverage"] < LOW]
    by_coverage = sorted(counted, key=lambda row: row["coverage"])
    by_bias = sorted(counted, key=lambda row: -abs(row["bias_to_rmse"]))
    lines += ["", *_verdicts(counted, below, low), "", "## Means", "", *_means(counted)]
    lines += ["", "## Significantly below 90 % (Holm, 5 % over the table)", "", *_named(below)]
    lines += ["", f"## The {N_WORST} worst", "", *_named(by_coverage[:N_WORST])]
    lines += ["", f"## Below {LOW:.0%}", "", *_named(sorted(low, key=lambda row: row["coverage"]))]
    lines += ["", "## Points that are wrong", "", *_named([row for row in counted if row["wrong_points"]])]
    lines += ["", f"## The {N_WORST} most biased, in units of their RMSE", "", *_named(by_bias[:N_WORST])]
    return "\n".join(lines)


def _origin(result: dict[str, Any], counted: list[Row]) -> list[str]:
    rows = result["rows"]
    chance = math.sqrt(2 / math.pi / rows[0]["repetitions"])
    n_refused = sum(row["is_refused"] for row in rows)
    return [
        f"`{result['command']}`, commit {result['git_commit']}, {result['date'][:10]}, {result['seconds']:,} s.",
        f"{len(rows)} cells, {rows[0]['repetitions']:,} repetitions each; {len(counted)} count: in {n_refused} the "
        f"budget was refused, in {len(rows) - len(counted) - n_refused} fewer than 20 queries are judged on "
        "average. ± is the Monte-Carlo standard error. An interval that nothing bounds is infinite and holds the "
        "truth; its share is in the column `infinite`. `warns` is the share of runs whose effective degrees of freedom "
        f"lie below {FEWEST_DEGREES:g} of the judged queries that chance chose; a cell is warned where their mean "
        "does. `queries ≠ 0` counts queries of the pool whose true value is not 0. Without any bias the mean of "
        f"abs(bias) / RMSE is {chance:.3f}.",
    ]


def _verdicts(counted: list[Row], below: list[Row], low: list[Row]) -> list[str]:
    mean, error = mean_coverage(counted)
    silent = sum(not row["is_warned"] for row in low)
    warned = sum(row["is_warned"] for row in counted if row["coverage"] >= LOW)
    wrong = sum(row["wrong_points"] for row in counted)
    most = max(row["most_spent_to_budget"] for row in counted)
    worst = max(counted, key=lambda row: abs(row["bias_to_rmse"]))
    verdicts = [
        ("mean", f"{mean:.2%} ± {error:.2%}", "94.5–95.5 %", MEAN_RANGE[0] <= mean <= MEAN_RANGE[1]),
        ("cells significantly below 90 %", f"{len(below)}", "0", not below),
        (f"cells below {LOW:.0%} without the warning", f"{silent} of {len(low)}", "0", not silent),
        ("warned cells among all others", f"{warned} of {len(counted) - len(low)}", "", None),
        ("repetitions with a point that is wrong", f"{wrong}", "0", not wrong),
        ("largest spend / budget", f"{most:.4f}", "<= 1", most <= 1 + ROUNDING),
        ("largest bias, in RMSE", _bias(worst), "", None),
    ]
    said = {True: "reached", False: "**not reached**", None: ""}
    return _table(["what", "", "to reach", ""], [[what, value, bar, said[ok]] for what, value, bar, ok in verdicts])


def _means(rows: list[Row]) -> list[str]:
    lines = []
    for factor in FACTORS:
        for level in dict.fromkeys(row[factor] for row in rows):
            own = [row for row in rows if row[factor] == level]
            mean, error = mean_coverage(own)
            biased = np.mean([abs(row["bias_to_rmse"]) for row in own])
            low = sum(row["coverage"] < LOW for row in own)
            shares = (f"{np.mean([row[k] for row in own]):.1%}" for k in ("warns", "undetermined", "spent_to_budget"))
            most = f"{max(row['most_spent_to_budget'] for row in own):.1%}"
            cells = [
                f"{mean:.2%} ± {error:.2%}",
                f"{min(row['coverage'] for row in own):.1%}",
                str(low),
                f"{biased:.3f}",
            ]
            lines.append([factor, str(level), str(len(own)), *cells, *shares, most])
    header = ["", "", "cells", "mean", "lowest", f"below {LOW:.0%}", "mean of abs(bias) / RMSE", "warns", "infinite"]
    header += ["mean spend / budget", "largest"]
    return _table(header, sorted(lines, key=lambda line: FACTORS.index(line[0])))


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
        "warned": lambda row: "yes" if row["is_warned"] else "no",
        "warns": lambda row: f"{row['warns']:.0%}",
        "infinite": lambda row: f"{row['undetermined']:.1%}",
        "wrong points": lambda row: str(row["wrong_points"]),
    }
    lines = [[show(row) for show in columns.values()] for row in rows]
    return _table(list(columns), lines) if lines else ["None."]


def _bias(row: Row) -> str:
    return f"{row['bias_to_rmse']:+.2f} ± {row['bias_to_rmse_se']:.2f}"


def _table(header: list[str], lines: list[list[str]]) -> list[str]:
    return ["| " + " | ".join(line) + " |" for line in (header, ["---"] * len(header), *lines)]
