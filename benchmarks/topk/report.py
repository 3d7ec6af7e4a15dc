"""The tables of the experiments on top-k truths."""

from __future__ import annotations

from benchmarks.frame import claims
from benchmarks.frame.claims import HOLDS
from benchmarks.frame.report import Row, plus_minus, table
from benchmarks.topk.claims import PAPER, RANKER_ORDER

COLUMNS = {"graded": ("N@1", "N@3", "N@5", "N@10", "ERR"), "top-k": ("κ-N@1", "κ-N@3", "κ-N@5", "κ-N@10", "κ-ERR")}
READINGS = (
    "Where the paper leaves a choice, this is what was read into it: the pair loss of FocusedBoost without"
    " (y_u − y_v), as its Algorithm 2 has it and its equation not; average precision on a top that is all relevant"
    " as the mean over the cuts that part it; κ-ERR with 1/rank where 1/n is printed; the two terms of a focused loss"
    " divided by their value for a ranker that knows nothing; nDCG of a query without a relevant item 0 and part of the"
    " mean; tied scores in the order of document ids, descending."
)


def markdown(result: Row) -> str:
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
        *claims.table(result["claims"]),
        "",
        *_boosts(result),
        *_tables(result),
    ]
    return "\n".join(lines)


def _origins(origins: Row) -> list[str]:
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


def _when(result: Row) -> list[str]:
    control = result["control"]
    pairs: dict[tuple[str, str], list[str]] = {}
    for row in control["rows"]:
        ahead = " (ahead)" if row["verdict"] == HOLDS else ""
        cells = pairs.setdefault((row["ranker"], row["parent"]), [])
        cells.append(plus_minus(row["gap"], row["se"], "+.4f") + ahead)
    named = result["directions"] | {f"control, {angle}°": values for angle, values in control["directions"].items()}
    keys = ("order by order", "order by choice", "choice by choice", "choice by order")
    head = ("truth", "pairs of the top, by its order", "by its choice", "top and rest, by its choice", "by its order")
    return [
        "### When focusing pays",
        "",
        "Generated truths, whose ten best of forty items are chosen by one direction of the features and ordered by"
        " another; ten worlds for each angle between the two, 60 queries to learn from, 160 to test on. κ-N@10 ahead of"
        " a parent, ± standard error over worlds.",
        "",
        *table(
            ["focused", "parent", *(f"{angle}°" for angle in control["rankers"])],
            ([*pair, *cells] for pair, cells in pairs.items()),
        ),
        "",
        "Are the two directions one? The share of pairs in order by a RankSVM that learned the order of the top"
        " alone, and by one that learned what is in the top; on test queries.",
        "",
        *table(head, ([name, *(f"{values[key]:.3f}" for key in keys)] for name, values in named.items())),
        "",
        "![lead by angle](results/figures/topk-control.svg)",
        "",
    ]


def _boosts(result: Row) -> list[str]:
    body = []
    for row in result["focused_boost"]:
        gap = plus_minus(row["gap"], row["se"], "+.4f")
        body.append([row["data"], gap, f"{row['p_below']:.3f}", "yes" if row["reached"] else "no"])
    return [
        "### FocusedBoost against RankBoost",
        "",
        "On the top-k truth, κ-N@10; no more than .003 behind is asked.",
        "",
        *table(["collection", "difference", "p (below −.003)", "reached"], body),
        "",
    ]


def _tables(result: Row) -> list[str]:
    lines = []
    for case, found in result["rankers"].items():
        name, world = case.split()
        lines += [f"### {name}, {world} truth ({result['queries'][name]} queries, k = {result['k'][name]})", ""]
        means = ((ranker, found[ranker]["means"]) for ranker in RANKER_ORDER)
        body = ([ranker, *(f"{of[measure]:.4f}" for measure in COLUMNS[world])] for ranker, of in means)
        lines += [*table(["ranker", *COLUMNS[world]], body), ""]
    lines += ["### The paper's figures (k = 10, truths judged by people)", ""]
    body = ([f"{name} {measure}", *(f"{x:.4f}" for x in values)] for (name, measure), values in PAPER.items())
    lines += [*table(["", *RANKER_ORDER], body), ""]
    return [
        *lines,
        "![κ-NDCG by cutoff](results/figures/topk-ranks.svg)",
        "",
        "![over β](results/figures/topk-beta.svg)",
    ]
