"""The figures that README leads with, each read from the file of its benchmark: a table of six."""

from __future__ import annotations

from typing import Any

from benchmarks.coverage_report import mean_coverage
from benchmarks.frame.experiment import RESULTS, stored

LABELS = "judgments of random queries for the same precision"
WHERE = {"pool": "MQ2008", "model": "forest", "overhead": 1.0, "share": 0.1}


def headlines(link: str = "benchmarks/results/") -> str:
    """Return the table in markdown; links lead to the files, as README writes them, or are left out."""
    kills = [stored(RESULTS / f"{name}.json")["sections"]["kills"]["figures"] for name in ("page", "page-postgresql")]
    answers = sum(_figure(figures, "answers acknowledged") for figures in kills)
    lost = sum(_figure(figures, "acknowledged and lost") for figures in kills)
    counted = [row for row in stored(RESULTS / "coverage.json")["rows"] if row["is_counted"] and not row["is_few"]]
    watched = stored(RESULTS / "nights.json")["sections"]["mq2008"]["figures"]
    nights = _figure(watched, "labels a night from the tenth on: every label counts on")
    large = stored(RESULTS / "engines-large.json")
    coverage = f"{mean_coverage(counted)[0]:.1%}"
    memory = f"{large['rows'][0]['driver_peak_mb']:.0f} MB"
    rows = (
        (f"{LABELS}: nDCG@10, two rankers", _times("two rankers"), "efficiency.md"),
        ("the same: nDCG@10, effect of an index update", _times("index update"), "efficiency.md"),
        (f"coverage of 95 % intervals, mean of {len(counted):,} cells", coverage, "coverage.md"),
        ("labels of a watch from its tenth night on, relative to a new sample", f"{nights:.2f}", "nights.json"),
        (f"judgments lost, of {answers:,.0f}, while the server was killed 100 times", f"{lost:.0f}", "page.json"),
        ("memory of the driver for 10⁷ queries × 20 documents in files, on two cores", memory, "engines-large.json"),
    )
    lines = [f"| {what} | {f'[{value}]({link}{file})' if link else value} |" for what, value, file in rows]
    return "\n".join(["| measured | |", "|---|---|", *lines, ""])


def _times(case: str) -> str:
    rows = [row for row in stored(RESULTS / "efficiency.json")["rows"] if WHERE.items() <= row.items()]
    (row,) = [row for row in rows if (row["measure"], row["case"], row["method"]) == ("nDCG@10", case, "depth")]
    times = float(row["efficiency"])
    return f"{times:.0f} times" if times >= 10 else f"{times:.1f} times"


def _figure(figures: list[dict[str, Any]], what: str) -> float:
    (value,) = [figure["value"] for figure in figures if figure["what"] == what]
    return float(value)
