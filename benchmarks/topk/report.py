"""The tables of the experiments on top-k truths."""

from __future__ import annotations

from typing import Any

from benchmarks.frame.claims import HOLDS, table
from benchmarks.topk.claims import PAPER, RANKER_ORDER

Result = dict[str, Any]
COLUMNS = {"graded": ("N@1", "N@3", "N@5", "N@10", "ERR"), "top-k": ("κ-N@1", "κ-N@3", "κ-N@5", "κ-N@10", "κ-ERR")}
READINGS = (
    "Where the paper leaves a choice, this is what was read into it: the pair loss of FocusedBoost without"
    " (y_u − y_v), as its Algorithm 2 has it and its equation not; average precision on a top that is all relevant"
    " as the mean over the cuts that part it; κ-ERR with 1/rank where 1/n is printed; the two terms of a focused loss"
    " divided by their value for a ranker that knows nothing; nDCG of a query without a relevant item 0 and part of the"
    " mean; tied scores in the order of document ids, descending."
)


def markdown(result: Result) -> str:
    """Return the tables of a result: the claims first, then what they rest on."""
    lines = [
        *_origins(result["origins"]),
        f"Means over the test queries of five folds. {READINGS}",
        "",
        *_when(result),
        "### The paper's claims",
        "",
        "*Holds*: the 95 % interval lies above 0 (or the 90 % one within ± .01, or Holm rejects in every column);"
        " *excluded*: it lies below the paper's size, or beyond the bound; else *not shown*. ± is a standard error.",
        "",
        *table(result["claims"]),
        "",
        *_published(result),
        *_tables(result),
    ]
    return "\n".join(lines)


def _origins(origins: Result) -> list[str]:
    """Return where each part of the result comes from: parts of one commit and number of processes together."""
    parts: dict[tuple[str, str, int], list[str]] = {}
    for name, one in origins.items():
        parts.setdefault((one["git_commit"], one["date"][:10], one["n_jobs"]), []).append(name)
    lines = []
    for (commit, date, n_jobs), names in parts.items():
        minutes = sum(origins[name]["seconds"] for name in names) / 60
        n = f"{n_jobs} process" + ("" if n_jobs == 1 else "es")
        lines += [f"{', '.join(names)}: commit {commit}, {date}, {minutes:.0f} minutes in {n}.", ""]
    return lines


def _when(result: Result) -> list[str]:
    control = result["control"]
    lines = [
        "### When focusing pays",
        "",
        "Generated truths, whose ten best of forty items are chosen by one direction of the features and ordered by"
        " another; ten worlds for each angle between the two, 60 queries to learn from, 160 to test on. κ-N@10 ahead of"
        " a parent, ± standard error over worlds.",
        "",
        *_row(["focused", "parent", *(f"{angle}°" for angle in control["rankers"])], is_head=True),
    ]
    pairs = dict.fromkeys((row["ranker"], row["parent"]) for row in control["rows"])
    for ranker, parent in pairs:
        cells = [
            f"{row['gap']:+.4f} ± {row['se']:.4f}{' (ahead)' if row['verdict'] == HOLDS else ''}"
            for row in control["rows"]
            if (row["ranker"], row["parent"]) == (ranker, parent)
        ]
        lines += _row([ranker, parent, *cells])
    lines += [
        "",
        "Are the two directions one? The share of pairs in order by a RankSVM that learned the order of the top"
        " alone, and by one that learned what is in the top; on test queries.",
        "",
        *_row(
            ["truth", "pairs of the top, by its order", "by its choice", "top and rest, by its choice", "by its order"],
            is_head=True,
        ),
    ]
    named = dict(result["directions"].items())
    named |= {f"control, {angle}°": values for angle, values in control["directions"].items()}
    for name, values in named.items():
        keys = ("order by order", "order by choice", "choice by choice", "choice by order")
        lines += _row([name, *(f"{values[key]:.3f}" for key in keys)])
    lines += ["", "![lead by angle](results/figures/topk-control.svg)", ""]
    return lines


def _published(result: Result) -> list[str]:
    lines = [
        "### Beside published scores",
        "",
        "N@10 of the score files that come with LETOR, on the same queries. MQ2008's folds are LETOR's; on OHSUMED the"
        " published rankers learned from 63 of 106 queries, ours from three fifths of the 64 that are at hand. *Below*"
        " where Holm's procedure over a collection's three one-sided tests says so, at 5 %.",
        "",
        *_row(["collection", "ours, theirs", "ours", "published", "difference", "p (below)", ""], is_head=True),
    ]
    for row in result["published"]:
        figures = [f"{row['ours']:.4f}", f"{row['published']:.4f}", f"{row['gap']:+.4f} ± {row['se']:.4f}"]
        lines += _row([row["data"], row["rankers"], *figures, f"{row['p_below']:.3f}", row["verdict"]])
    lines += [
        "",
        "FocusedBoost against RankBoost on the top-k truth, κ-N@10; no more than .003 behind is asked.",
        "",
        *_row(["collection", "difference", "p (below −.003)", "reached"], is_head=True),
    ]
    for row in result["focused_boost"]:
        is_reached = "yes" if row["reached"] else "no"
        lines += _row([row["data"], f"{row['gap']:+.4f} ± {row['se']:.4f}", f"{row['p_below']:.3f}", is_reached])
    return [*lines, ""]


def _tables(result: Result) -> list[str]:
    lines = []
    for case, found in result["rankers"].items():
        name, world = case.split()
        lines += [f"### {name}, {world} truth ({result['queries'][name]} queries, k = {result['k'][name]})", ""]
        lines += _row(["ranker", *COLUMNS[world]], is_head=True)
        for ranker in RANKER_ORDER:
            lines += _row([ranker, *(f"{found[ranker]['means'][measure]:.4f}" for measure in COLUMNS[world])])
        lines.append("")
    lines += ["### The paper's figures (k = 10, truths judged by people)", "", *_row(["", *RANKER_ORDER], is_head=True)]
    for (name, measure), values in PAPER.items():
        lines += _row([f"{name} {measure}", *(f"{value:.4f}" for value in values)])
    pictures = ("![κ-NDCG by cutoff](results/figures/topk-ranks.svg)", "![over β](results/figures/topk-beta.svg)")
    return [*lines, "", *(line for picture in pictures for line in (picture, ""))][:-1]


def _row(cells: list[str], *, is_head: bool = False) -> list[str]:
    line = "| " + " | ".join(cells) + " |"
    return [line, "| " + " | ".join(["---"] * len(cells)) + " |"] if is_head else [line]
