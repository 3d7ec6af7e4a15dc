"""The tables of the experiments on top-k truths."""

from __future__ import annotations

from typing import Any

from benchmarks.topk.claims import PAPER
from benchmarks.topk.running import RANKERS

Result = dict[str, Any]
COLUMNS = {"graded": ("N@1", "N@3", "N@5", "N@10", "ERR"), "top-k": ("κ-N@1", "κ-N@3", "κ-N@5", "κ-N@10", "κ-ERR")}


def markdown(result: Result) -> str:
    """Return the tables of a result: ours, the paper's, the claims."""
    lines = [f"{result['seconds'] / 60:.0f} minutes in all. Means over the test queries of five folds; k = 5.", ""]
    for case, found in result["rankers"].items():
        name, world = case.split()
        lines += [f"### {name}, {world} truth ({result['queries'][name]} queries)", ""]
        lines += _row(["ranker", *COLUMNS[world], "seconds of a fit"], is_head=True)
        for ranker in RANKERS:
            values = [f"{found[ranker]['means'][measure]:.4f}" for measure in COLUMNS[world]]
            lines += _row([ranker, *values, f"{max(found[ranker]['seconds']):.2f}"])
        lines.append("")
    lines += ["### The paper's figures (k = 10, truths judged by people)", "", *_row(["", *RANKERS], is_head=True)]
    lines += [line for what, values in PAPER.items() for line in _row([what, *(f"{value:.4f}" for value in values)])]
    lines += ["", "### The paper's claims", "", *_row(["collection", "claim", "found", "holds"], is_head=True)]
    for row in result["claims"]:
        lines += _row([row["collection"], row["claim"], row["found"], row["holds"]])
    return "\n".join(lines)


def _row(cells: list[str], *, is_head: bool = False) -> list[str]:
    line = "| " + " | ".join(cells) + " |"
    return [line, "| " + " | ".join(["---"] * len(cells)) + " |"] if is_head else [line]
