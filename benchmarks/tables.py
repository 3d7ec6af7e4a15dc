"""RESULTS.md and the papers' figures from the stored JSON: ``python -m benchmarks.tables``.

Nothing is copied by hand; README takes the table of `benchmarks.headlines` as it is.

What a result means where it differs from the paper is text in benchmarks/notes.md, whose figures `benchmarks.prose`
fills in.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from benchmarks import (
    baselines_report,
    coverage,
    durability,
    effective_sample_size,
    efficiency,
    engines_report,
    gate_intervals,
    user_study,
    watched,
)
from benchmarks.adaptation import pictures as adaptation_pictures, report as adaptation
from benchmarks.frame.experiment import RESULTS, stored
from benchmarks.frame.report import Row, sections_of
from benchmarks.machine import ROOT
from benchmarks.metric_learning import markdown as metric_learning, pictures as metric_learning_pictures
from benchmarks.paper import likeness, pictures, report as paper
from benchmarks.prose import filled
from benchmarks.topk import pictures as topk_pictures, report as topk

NOTES = ROOT / "benchmarks" / "notes.md"


def texts(results: Path = RESULTS, notes: Path = NOTES) -> dict[str, str]:
    """Make RESULTS.md, and the tables that stand in the folder of results, from the stored results there."""
    parts = ["# Results", "Made by `python -m benchmarks.tables` from the files in `benchmarks/results`."]
    for result in map(stored, papers(results)):
        title = f"The paper's experiments: {result['collection']}"
        parts.append(f"## {title}\n\n{_origin(result)}\n\n{paper.markdown(result, results.name)}")
    if notes.exists():
        parts.append(filled(notes.read_text().strip(), results))
    for name, (title, render) in SECTIONS.items():
        if result := stored(results / f"{name}.json"):
            parts.append(f"## {title}\n\n{_origin(result)}\n\n{render(result)}")
    made = {"../RESULTS.md": "\n\n".join(parts)}
    made |= {f"{name}.md": render(one) for name, render in FILES.items() if (one := stored(results / f"{name}.json"))}
    return {name: f"{text}\n" for name, text in made.items()}


def papers(results: Path) -> list[Path]:
    """List the results of the paper's experiments, those on the largest collection first."""
    return sorted(results.glob("paper-*.json"), key=lambda path: (not path.stem.startswith("paper-mslr"), path.stem))


def write(results: Path = RESULTS, notes: Path = NOTES) -> Path:
    """Write the texts and the pictures of a folder of results; return the path of RESULTS.md, beside the folder."""
    for name, text in texts(results, notes).items():
        (results / name).write_text(text)
    for result in map(stored, papers(results)):
        pictures.save_all(result, results / "figures")
    for name, save_all in PICTURES.items():
        if result := stored(results / f"{name}.json"):
            save_all(result, results / "figures")
    return results.parent / "RESULTS.md"


def _origin(result: Row) -> str:
    versions = ", ".join(f"{name} {number}" for name, number in result["versions"].items() if number)
    machine = result["machine"]
    return (
        f"`{result['command']}`, commit {result['git_commit']}, {result['date'][:10]}; {versions};"
        f" {machine['cpu']}, {machine['cores_used']} cores, {machine['memory_gb']} GB."
    )


def _engines(result: Row) -> str:
    beside = (stored(RESULTS / f"engines-{name}.json") or None for name in ("small", "large", "depth"))
    return engines_report.markdown(result, *beside)


SECTIONS: dict[str, tuple[str, Callable[[Row], str]]] = {
    "mslr-like": ("How the generated collection was matched to MSLR-WEB30K", likeness.markdown),
    "metric-learning": ("Learning gains and discounts from preferences", metric_learning.render),
    "one-sample": ("One sample, many questions", sections_of),
    "many-systems": ("Many systems, one sample", sections_of),
    "planning": ("What is planned beside what happens", sections_of),
    "segments": ("Half-widths by segment", sections_of),
    "effective-sample-size": ("How right effective sample sizes are", effective_sample_size.markdown),
    "peers": ("Speed beside the peers", sections_of),
    "topk": ("Rankers of a top-k truth", topk.markdown),
    "adaptation": ("Boosted trees adapted to clicks", adaptation.markdown),
    "user_study": ("Top-k labelling by simulated people", user_study.markdown),
    "nights": ("Thirty nights of a watch", watched.markdown),
    "house": ("How the house stands", sections_of),
    "durability": ("What the store promises", durability.markdown),
    "page": ("The judging page on SQLite", sections_of),
    "page-postgresql": ("The judging page on PostgreSQL", sections_of),
    "sample-size": ("Size and time of a sample's file", sections_of),
    "engines": ("A pool in files, gone over by engines", _engines),
    "kernels": ("Kernels, readers, start", sections_of),
}
FILES: dict[str, Callable[[Row], str]] = {
    "efficiency": efficiency.report,
    "coverage": coverage.report,
    "baselines": baselines_report.markdown,
    "gate-intervals": gate_intervals.table,
}
PICTURES: dict[str, Callable[[Row, Path], None]] = {
    "metric-learning": metric_learning_pictures.save_all,
    "topk": topk_pictures.save_all,
    "adaptation": adaptation_pictures.save_all,
}


if __name__ == "__main__":
    print(write())
