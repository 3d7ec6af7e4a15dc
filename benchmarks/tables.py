"""RESULTS.md, a table of efficiencies and the paper's figures from the stored JSON: ``python -m benchmarks.tables``.

Nothing is copied by hand; README takes the table of `benchmarks.headlines` as it is.

What a result means where it differs from the paper is text in benchmarks/notes.md, whose figures `benchmarks.prose`
fills in.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import (
    campaigns,
    durability,
    effective_sample_size,
    efficiency_report,
    engines_report,
    forecasters,
    house,
    looking,
    many_systems,
    nights,
    one_sample,
    peers,
    planning,
    segments,
    topk_ties,
    user_study,
)
from benchmarks.adaptation import pictures as adaptation_pictures, report as adaptation
from benchmarks.frame.report import figures_table
from benchmarks.machine import ROOT
from benchmarks.metric_learning import markdown as metric_learning, pictures as metric_learning_pictures
from benchmarks.paper import claims, likeness, pictures
from benchmarks.paper.averages import curve, labels_saved
from benchmarks.paper.cases import MEASURES
from benchmarks.prose import filled
from benchmarks.topk import pictures as topk_pictures, report as topk

RESULTS = ROOT / "benchmarks" / "results"
Result = dict[str, Any]
HEADLINES = {2: "10–20 %", 3: "30–55 %", 4: "ERR 75 %, DCG 30 %", 5: "ERR 45 %, DCG 30 %"}
FIGURES = {
    1: "Documents of a query, and what labelling a query costs.",
    2: "One ranking: error over budget.",
    3: "Two rankers: how often the worse one is taken for the better one.",
    4: "Index update: error of the estimated difference.",
    5: "More training data: error of the estimated difference, over budget (top) and size (bottom).",
    6: "Where queries are drawn (left) and how many (right).",
}


def write(results: Path = RESULTS, notes: Path | None = None) -> Path:
    """Write RESULTS.md beside the folder of results and return its path."""
    path = results.parent / "RESULTS.md"
    own = notes or ROOT / "benchmarks" / "notes.md"
    parts = ["# Results", "Made by `python -m benchmarks.tables` from the files in `benchmarks/results`."]
    stored = sorted(results.glob("paper-*.json"), key=lambda p: (not p.stem.startswith("paper-mslr"), p.stem))
    parts += [_paper(json.loads(one.read_text()), results) for one in stored]
    if own.exists():
        parts.append(filled(own.read_text().strip(), results))
    for name, (title, render) in SECTIONS.items():
        one = results / f"{name}.json"
        if one.exists():
            result = json.loads(one.read_text())
            if name in PICTURES:
                PICTURES[name](result, results / "figures")
            parts.append(f"## {title}\n\n{_origin(result)}\n\n{render(result)}")
    path.write_text("\n\n".join(parts) + "\n")
    if (results / "efficiency.json").exists():
        names = ("efficiency.json", "efficiency-poisson.json", "peer-efficiency.json")
        efficiency, yardstick, peer = (_rows(results / name) for name in names)
        (results / "efficiency.md").write_text(efficiency_report.markdown(efficiency, yardstick, peer) + "\n")
        (results / "readme-table.md").write_text(efficiency_report.readme_table(efficiency, peer) + "\n")
    return path


def _rows(path: Path) -> Result:
    return dict(json.loads(path.read_text())) if path.exists() else {"rows": []}


def _origin(result: Result) -> str:
    versions = ", ".join(f"{name} {number}" for name, number in result["versions"].items() if number)
    machine = result["machine"]
    return (
        f"`{result['command']}`, commit {result['git_commit']}, {result['date'][:10]}; {versions};"
        f" {machine['cpu']}, {machine['cores_used']} cores, {machine['memory_gb']} GB."
    )


def _table(header: list[str], rows: list[list[str]]) -> str:
    return "\n".join("| " + " | ".join(line) + " |" for line in [header, ["---"] * len(header), *rows])


def _paper(result: Result, folder: Path) -> str:
    name = result["collection"]
    pictures.save_all(result, folder / "figures")
    parts = [
        f"## The paper's experiments: {name}",
        _origin(result),
        f"{result['queries']:,} queries, {result['items']:,} items, {result['folds']} folds (one trains, the others are"
        f" the pool), {result['repetitions']:,} repetitions a fold, {result['own_repetitions']} of our own methods.",
        _seconds(result["seconds"]),
        _table(["the paper says", "found here", "verdict"], [list(row) for row in claims.rows_of(result)]),
        "Labels saved at the largest budget, by mean absolute error (figure 3: by model selection error, at the largest"
        " budget at which passive still errs beyond doubt), ± Monte-Carlo standard error; and how many times the labels"
        " passive would need (ratio of mean squared errors at the largest budget).",
        _headlines(result),
    ]
    for number in pictures.numbers_in(result):
        picture = f"{folder.name}/figures/{name}-figure-{number}.svg"
        parts.append(f"**Figure {number}.** {FIGURES[number]}\n\n![figure {number}]({picture})")
    return "\n\n".join(parts)


def _seconds(seconds: dict[str, float]) -> str:
    parts = [f"{name} {value:,.0f} s" for name, value in seconds.items() if name not in ("processes", "training")]
    return (
        f"Time: training {seconds['training']:,.0f} s by the clock; added up over {seconds['processes']} processes: "
        + "; ".join(parts)
        + "."
    )


def _headlines(result: Result) -> str:
    rows = []
    for figure, said in HEADLINES.items():
        for case in claims.cases_of(result["rows"], figure):
            for measure in MEASURES:
                rows.append([str(figure), case, measure, said, *_methods(result["rows"], case, measure)])
    header = [
        "figure",
        "case",
        "measure",
        "paper: saved",
        "active",
        "active_uniD",
        "active_uniC",
        "own method: passive needs",
    ]
    return _table(header, rows)


def _methods(rows: list[Result], case: str, measure: str) -> list[str]:
    cells = []
    for method in ("active", "active_uniD", "active_uniC"):
        saved = labels_saved(rows, case, measure, method)
        last = curve(rows, case, measure, method)[-1]
        text = "outside" if saved is None else f"{saved[0]:.0%} ± {saved[1]:.0%}"
        if saved is not None and saved[2] < last["budget"]:
            text += f" at {saved[2]:g}"
        cells.append(f"{text}; {_efficiency(last, 2)}")
    own = [curve(rows, case, measure, method) for method in ("items", "depth")]
    best = next((found[-1] for found in own if found), None)
    cells.append("" if best is None else f"{best['method']}: {_efficiency(best, 1)} times")
    return cells


def _efficiency(row: Result, places: int) -> str:
    if row["efficiency"] is None:
        return "no error left"
    return f"{row['efficiency']:.{places}f} ± {row['efficiency_se']:.{places}f}"


def _figures(result: Result) -> str:
    """Return the tables of a result whose sections hold figures with targets."""
    tables = (
        f"### {one['title']}\n\n{_apart(one, result)}" + "\n".join(figures_table(one["figures"]))
        for one in result["sections"].values()
    )
    return "\n\n".join(tables)


def _apart(section: Result, result: Result) -> str:
    """Return where a section comes from that was not made with the others, or at what load of the machine."""
    other = section.get("git_commit", result["git_commit"]) != result["git_commit"]
    parts = [f"commit {section['git_commit']}, {section['date'][:10]}"] if other else []
    parts += [f"load of the machine {section['load']:g}"] if "load" in section else []
    return f"({'; '.join(parts)})\n\n" if parts else ""


def _scaling(result: Result) -> str:
    return "\n".join(figures_table(result["figures"])) + "\n\n![time and memory over size](results/scaling.svg)"


def _engines(result: Result) -> str:
    beside = [RESULTS / f"engines-{name}.json" for name in ("small", "large", "depth")]
    return engines_report.markdown(
        result, *(json.loads(path.read_text()) if path.exists() else None for path in beside)
    )


SECTIONS: dict[str, tuple[str, Callable[[Result], str]]] = {
    "mslr-like": ("How the generated collection was matched to MSLR-WEB30K", likeness.markdown),
    "metric-learning": ("Learning gains and discounts from preferences", metric_learning.render),
    "one-sample": ("One sample, many questions", one_sample.markdown),
    "many-systems": ("Many systems, one sample", many_systems.markdown),
    "planning": ("What is planned beside what happens", planning.markdown),
    "segments": ("Half-widths by segment", segments.markdown),
    "forecasters": ("Forecasts of a half-width beside what comes", forecasters.markdown),
    "effective-sample-size": ("How right effective sample sizes are", effective_sample_size.markdown),
    "peers": ("Speed and precision beside the peers", peers.markdown),
    "topk": ("Rankers of a top-k truth", topk.markdown),
    "adaptation": ("Boosted trees adapted to clicks", adaptation.markdown),
    "user_study": ("Top-k labelling by simulated people", user_study.markdown),
    "topk_ties": ("Top-k truths with ties, by order of arrival", topk_ties.markdown),
    "nights": ("Ten nights of index updates, earlier labels known", nights.markdown),
    "campaigns": ("Campaigns in the store, by unreliable judges", campaigns.markdown),
    "looking": ("Looking at a stored campaign", looking.markdown),
    "house": ("How the house stands", house.markdown),
    "durability": ("What the store promises", durability.markdown),
    "page": ("The judging page on SQLite", _figures),
    "page-postgresql": ("The judging page on PostgreSQL", _figures),
    "sample-size": ("Size and time of a sample's file", _figures),
    "scaling": ("Pools of 10³ to 10⁷ queries in chunks", _scaling),
    "engines": ("A pool in files, gone over by engines", _engines),
    "kernels": ("Kernels, readers, start", _figures),
}
PICTURES: dict[str, Callable[[Result, Path], None]] = {
    "metric-learning": metric_learning_pictures.save_all,
    "topk": topk_pictures.save_all,
    "adaptation": adaptation_pictures.save_all,
}


if __name__ == "__main__":
    print(write())
