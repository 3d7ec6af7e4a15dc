"""What ``activeeval watch night`` takes: section *seconds* of `benchmarks.watched`.

A generated collection of 1,000 queries with lists of 100 documents, 40 labels a night, 3 % of the items missing each
night. The store is a file; drawing a night, judging what it asks for and saying what it says are timed on the
processor's clock, each of the last nights in a process of its own.
"""

from __future__ import annotations

import resource
import tempfile
import time
from pathlib import Path

import numpy as np

from activeeval.campaigns.scripted_judge import judge_all
from activeeval.campaigns.store import open_store
from activeeval.monitoring.night_inputs import NightInputs
from activeeval.monitoring.nights import draw_night
from activeeval.monitoring.series import estimate_last_night
from activeeval.monitoring.settings import Settings, set_up
from benchmarks.frame.experiment import Options, Row
from benchmarks.frame.processes import apart
from benchmarks.frame.report import figure

N_QUERIES, N_NIGHTS, N_DOCS = 1000, 31, 100
BUDGET, TOP, MOST_SECONDS = 40.0, 4, 5.0


def collection(n_queries: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the grade of every document of every query, and what a ranker knows of it, (n_queries, N_DOCS) each."""
    rng = np.random.default_rng(9)
    grades = rng.choice(TOP + 1, (n_queries, N_DOCS), p=[0.6, 0.2, 0.1, 0.07, 0.03])
    return grades, grades + 1.5 * rng.standard_normal(grades.shape)


def write_run(path: Path, scores: np.ndarray, night: int) -> None:
    """Write the run of a night."""
    missing = np.random.default_rng((1, night)).random(scores.shape) < 0.03
    with path.open("w") as out:
        for q, row in enumerate(scores):
            ranked = [d for d in np.argsort(-row).tolist() if not missing[q, d]]
            out.writelines(f"q{q} Q0 q{q}-d{d} {k} {row[d]:.5f} made\n" for k, d in enumerate(ranked, 1))


def one_night(place: str, n_queries: int, night: int) -> tuple[float, float, float]:
    """Measure the processor seconds of drawing a night and of saying what it says, and the peak of memory in MB."""
    folder = Path(place)
    grades, scores = collection(n_queries)
    path = folder / f"{night}.run"
    write_run(path, scores, night)
    truth = {(f"q{q}", f"q{q}-d{d}"): int(grades[q, d]) for q in range(n_queries) for d in range(N_DOCS)}
    with open_store(f"sqlite:///{folder}/watch.db") as store:
        begun = time.process_time()
        drawn = draw_night(
            store, "quality", NightInputs(run=str(path), date=f"2026-{1 + night // 28:02d}-{1 + night % 28:02d}")
        )
        draw = time.process_time() - begun
        for _ in judge_all(store, drawn.campaign, "ann", truth):
            pass
        begun = time.process_time()
        estimate_last_night(store, "quality")
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        return draw, time.process_time() - begun, peak


def measured(folder: Path, n_queries: int, n_nights: int) -> list[dict]:
    """Measure each night; every tenth, the last and the one before in a process of its own."""
    with open_store(f"sqlite:///{folder}/watch.db", create=True) as store:
        set_up(store, "quality", Settings(measures=("DCG@10",), budget=BUDGET, max_grade=TOP, seed=3, margin=0.2))
    rows = []
    for night in range(1, n_nights + 1):
        if night % 10 == 0 or night >= n_nights - 1:
            draw, say, memory = apart(one_night, str(folder), n_queries, night)
            rows.append({"night": night, "draw_s": draw, "say_s": say, "memory_mb": memory})
        else:
            one_night(str(folder), n_queries, night)
    return rows


def measure(_: Options) -> Row:
    """Measure the nights of a watch."""
    with tempfile.TemporaryDirectory() as folder:
        rows = measured(Path(folder), N_QUERIES, N_NIGHTS)
    last, first = rows[-1], rows[0]
    note = f"{first['memory_mb']:.0f} MB on night {first['night']}"
    figures = [
        figure("draw a night", last["draw_s"], "s of the processor", at_most=MOST_SECONDS),
        figure("say what it says", last["say_s"], "s of the processor"),
        figure("draw a night, over the first one measured", last["draw_s"] / first["draw_s"], ""),
        figure("memory at most", last["memory_mb"], "MB", note=note),
    ]
    title = f"Night {N_NIGHTS} of a watch of {N_QUERIES:,} queries, lists of {N_DOCS}"
    return {"title": title, "figures": figures, "rows": rows}
