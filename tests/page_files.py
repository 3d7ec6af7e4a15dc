"""The files that pages work on: a small generated collection, with runs, judgments, features, clicks and pairs."""

import csv
import json
import subprocess
from pathlib import Path

import numpy as np

N_QUERIES, N_JUDGED, SEED, TOP = 150, 60, 7, 3
MOST_ANSWERS, MOST_SHOWN = 20_000, 12
RUNS = {"old": 2.2, "new": 1.7, "newer": 1.5}
FILES = """
import sys
import numpy as np
from activeeval.core.pool.generated import WEIGHTS, generate_pool
made = generate_pool(int(sys.argv[1]), int(sys.argv[2]))
features = made.features[:, : WEIGHTS.size]
np.savez("made.npz", owners=made.pool.item_queries, grades=made.grades, features=features, known=features @ WEIGHTS)
"""


def make_files(work: Path, python: Path) -> dict[tuple[str, str], int]:
    """Write runs, judgments, LETOR files, scores, preferences, texts; return the true grades."""
    subprocess.run([str(python), "-c", FILES, str(N_QUERIES), str(SEED)], cwd=work, check=True)
    made = np.load(work / "made.npz")
    owners, rng = made["owners"], np.random.default_rng(SEED)
    grades = np.minimum(made["grades"], TOP)
    pairs = [(f"q{q + 101}", f"D{k:05d}") for k, q in enumerate(owners.tolist())]
    rows = list(zip(pairs, grades.tolist(), strict=True))
    write(work / "truth.csv", ["query,document,grade", *(f"{q},{d},{g}" for (q, d), g in rows)])
    judged = [f"{q} 0 {d} {g}" for ((q, d), g), owner in zip(rows, owners, strict=True) if owner < N_JUDGED]
    write(work / "qrels.txt", judged)
    for name, noise in RUNS.items():
        scores = made["known"] + noise * rng.standard_normal(owners.size)
        lines = [line for q in range(N_QUERIES) for line in run_lines(pairs, owners, scores, q, name)]
        write(work / f"{name}.run", lines)
    for part, is_in in (("S1", owners < N_JUDGED), ("S2", owners >= N_JUDGED)):
        lines = [letor_line(pairs[k], grades[k], made["features"][k]) for k in np.flatnonzero(is_in)]
        write(work / f"{part}.txt", lines)
        for ranker, noise in (("ranker", 1.5), ("other", 2.0)):
            scores = made["known"][is_in] + noise * rng.standard_normal(int(is_in.sum()))
            write(work / f"{ranker}.{part}.txt", [f"{score:.5f}" for score in scores])
    segments = [f"q{q + 101},{'even' if q % 2 else 'odd'}" for q in range(N_QUERIES)]
    write(work / "segments.csv", ["query_id,segment", *segments])
    write_preferences(work, rng)
    place = np.arange(owners.size) - np.searchsorted(owners, owners)
    rows_shown = np.flatnonzero((owners < N_JUDGED) & (place < MOST_SHOWN))
    shown, liked = [pairs[k] for k in rows_shown], made["features"][rows_shown, 3]
    rates = np.argsort(np.argsort(liked)) / liked.size  # users like a feature that judges care less for
    clicks = [
        f"{q},{d},{1 + k % 10},1000,{int(900 * rate)}"
        for k, ((q, d), rate) in enumerate(zip(shown, rates, strict=True))
    ]
    write(work / "clicks.csv", ["query_id,doc_id,position,impressions,clicks", *clicks])
    for judge, answers in (("ann", "1"), ("bob", "12")):
        write(work / f"{judge}.txt", list(answers * (MOST_ANSWERS // len(answers))))
    return dict(rows)


def run_lines(pairs: list, owners: np.ndarray, scores: np.ndarray, query: int, tag: str) -> list[str]:
    """Return the lines of one query of a run."""
    own = np.flatnonzero(owners == query)
    best = own[np.argsort(-scores[own])][:20]
    return [f"{pairs[k][0]} Q0 {pairs[k][1]} {rank} {scores[k]:.4f} {tag}" for rank, k in enumerate(best.tolist(), 1)]


def letor_line(pair: tuple[str, str], grade: int, features: np.ndarray) -> str:
    """Return a line of a LETOR file."""
    values = " ".join(f"{j}:{value:.5f}" for j, value in enumerate(features.tolist(), 1))
    return f"{grade} qid:{pair[0]} {values} #docid = {pair[1]}"


def write_preferences(work: Path, rng: np.random.Generator) -> None:
    """Write preferences between lists by the usual gains and discounts, and pairs that wait for one."""
    lines: dict[str, list[str]] = {"prefs": [], "pairs": []}
    for k in range(240):
        one, other = rng.integers(0, TOP + 1, (2, 5))
        worth = [float((2.0**x - 1) @ (1 / np.log2(np.arange(2, 7)))) for x in (one, other)]
        first, second = (one, other) if worth[0] >= worth[1] else (other, one)
        names = ("preferred", "other") if k < 200 else ("first", "second")
        lines["prefs" if k < 200 else "pairs"].append(
            json.dumps({"query": f"q{k}", names[0]: first.tolist(), names[1]: second.tolist()})
        )
    for name, own in lines.items():
        write(work / f"{name}.jsonl", own)


def read_truth(folder: str | Path) -> dict[tuple[str, str], int]:
    """Return the true grades that `make_files` wrote."""
    with open(Path(folder, "truth.csv"), newline="") as held:
        return {(row["query"], row["document"]): int(row["grade"]) for row in csv.DictReader(held)}


def judge(sheet: Path, truth: dict[tuple[str, str], int]) -> None:
    """Fill in the grades of a sheet."""
    with open(sheet, newline="") as held:
        rows = list(csv.DictReader(held))
    with open(sheet, "w", newline="") as out:
        writer = csv.DictWriter(out, rows[0])
        writer.writeheader()
        writer.writerows(row | {"grade": truth[row["query_id"], row["doc_id"]]} for row in rows)


def write(path: Path, lines: list[str]) -> None:
    """Write lines."""
    path.write_text("".join(f"{line}\n" for line in lines))
