"""The section of RESULTS.md on the paper's experiments on a collection."""

from __future__ import annotations

from benchmarks.frame.report import Row, plus_minus, table
from benchmarks.paper import claims, pictures
from benchmarks.paper.averages import curve, labels_saved
from benchmarks.paper.cases import MEASURES

HEADLINES = {2: "10–20 %", 3: "30–55 %", 4: "ERR 75 %, DCG 30 %", 5: "ERR 45 %, DCG 30 %"}
METHODS = ("active", "active_uniD", "active_uniC")
FIGURES = {
    1: "Documents of a query, and what labelling a query costs.",
    2: "One ranking: error over budget.",
    3: "Two rankers: how often the worse one is taken for the better one.",
    4: "Index update: error of the estimated difference.",
    5: "More training data: error of the estimated difference, over budget (top) and size (bottom).",
    6: "Where queries are drawn (left) and how many (right).",
}


def markdown(result: Row, folder: str) -> str:
    """Write the section; pictures lie in ``figures`` of a folder."""
    name, seconds = result["collection"], result["seconds"]
    parts = "; ".join(f"{part} {s:,.0f} s" for part, s in seconds.items() if part not in ("processes", "training"))
    text = [
        f"{result['queries']:,} queries, {result['items']:,} items, {result['folds']} folds (one trains, the others are"
        f" the pool), {result['repetitions']:,} repetitions a fold, {result['own_repetitions']} of our own methods.",
        f"Time: training {seconds['training']:,.0f} s by the clock; added up over {seconds['processes']} processes: "
        f"{parts}.",
        "\n".join(table(["the paper says", "found here", "verdict"], claims.rows_of(result))),
        "Labels saved at the largest budget, by mean absolute error (figure 3: by model selection error, at the largest"
        " budget at which passive still errs beyond doubt), ± Monte-Carlo standard error; and how many times the labels"
        " passive would need (ratio of mean squared errors at the largest budget).",
        "\n".join(_headlines(result["rows"])),
    ]
    for number in pictures.numbers_in(result):
        picture = f"{folder}/figures/{name}-figure-{number}.svg"
        text.append(f"**Figure {number}.** {FIGURES[number]}\n\n![figure {number}]({picture})")
    return "\n\n".join(text)


def _headlines(rows: list[Row]) -> list[str]:
    head = ["figure", "case", "measure", "paper: saved", *METHODS, "own method: passive needs"]
    body = [
        [figure, case, measure, said, *_methods(rows, case, measure)]
        for figure, said in HEADLINES.items()
        for case in claims.cases_of(rows, figure)
        for measure in MEASURES
    ]
    return table(head, body)


def _methods(rows: list[Row], case: str, measure: str) -> list[str]:
    cells = []
    for method in METHODS:
        saved = labels_saved(rows, case, measure, method)
        last = curve(rows, case, measure, method)[-1]
        text = "outside" if saved is None else plus_minus(*saved[:2], ".0%")
        if saved is not None and saved[2] < last["budget"]:
            text += f" at {saved[2]:g}"
        cells.append(f"{text}; {_efficiency(last, 2)}")
    others = [found[-1] for method in ("items", "depth") if (found := curve(rows, case, measure, method))]
    return [*cells, f"{others[0]['method']}: {_efficiency(others[0], 1)} times" if others else ""]


def _efficiency(row: Row, places: int) -> str:
    if row["efficiency"] is None:
        return "no error left"
    return plus_minus(row["efficiency"], row["efficiency_se"], f".{places}f")
