"""Whole processes from files to a number: `activeeval score` beside pytrec_eval, and beside an earlier checkout.

    python -m benchmarks.whole_process [--before CHECKOUT] [--rounds 5] [--out benchmarks/results/whole-process.json]

Robust03 (100 topics) as it comes, and a generated run and judgments of 31,531 queries and 3.79 million lines each,
plain files in the system's cache. In every round each program runs once, one after another; what is compared is the
least time of each, of the clock and of the processor, and the most resident memory. What score cannot go below is
measured beside it: an interpreter that imports numpy and click, and one that calls a single kept kernel of numba's too.
LETOR text is read with all its 136 features by either checkout in the same way.
"""

from __future__ import annotations

import argparse
import gzip
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.machine import ROOT, data_folder, describe, figure, show, store
from benchmarks.readers import repeat_to, sample_text

MODULE = "benchmarks.whole_process"
N_QUERIES, MEAN_ITEMS = 31_531, 119.2
LETOR_MB = 100
PYTREC = """
import sys, pytrec_eval
with open(sys.argv[1]) as handle:
    qrels = pytrec_eval.parse_qrel(handle)
with open(sys.argv[2]) as handle:
    run = pytrec_eval.parse_run(handle)
found = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut_10"}).evaluate(run)
print(sum(one["ndcg_cut_10"] for one in found.values()) / len(found))
"""
KERNEL = """
import click, numpy
from activeeval.core.kernels.text import number_texts
numbers.token_end(numpy.zeros(1, numpy.uint8), 0)
"""
LETOR = """
import statistics, sys, time
from activeeval.formats.text.letor import read_letor
read_letor(sys.argv[1])
times = []
for _ in range(5):
    start = time.process_time()
    read_letor(sys.argv[1])
    times.append(time.process_time() - start)
print(statistics.median(times))
"""


def write_robust(folder: Path) -> tuple[Path, Path] | None:
    """Unpack the judgments and the largest run of Robust03; None where there are none."""
    source = data_folder() / "trec-robust03"
    if not source.exists():
        return None
    run = max((source / "runs").iterdir(), key=lambda path: path.stat().st_size)
    for packed, name in ((source / "robust03_qrels.txt.gz", "robust.qrels"), (run, "robust.run")):
        (folder / name).write_bytes(gzip.decompress(packed.read_bytes()))
    return folder / "robust.qrels", folder / "robust.run"


def write_large(folder: Path) -> tuple[Path, Path]:
    """Write judgments and a run of MSLR-WEB30K's size, whose lists hold what is judged in another order."""
    rng = np.random.default_rng(0)
    paths = folder / "large.qrels", folder / "large.run"
    with paths[0].open("w") as qrels, paths[1].open("w") as run:
        for query in range(1, N_QUERIES + 1):
            n = 1 + int(rng.poisson(MEAN_ITEMS))
            names = 1_000_000 + rng.choice(100 * n, n, replace=False)
            grades = rng.choice(5, n, p=[0.52, 0.32, 0.13, 0.02, 0.01])
            scores, order = np.sort(rng.random(n) * 20)[::-1], rng.permutation(n)
            qrels.write("".join(f"{query} 0 D{name} {y}\n" for name, y in zip(names, grades, strict=True)))
            rows = enumerate(zip(names[order], scores, strict=True), start=1)
            run.write("".join(f"{query} Q0 D{name} {rank} {score:.6f} run\n" for rank, (name, score) in rows))
    return paths


def run_once(command: list[str], checkout: Path) -> tuple[float, float, float, str]:
    """Return seconds of the clock and of the processor, the most resident MB of a process, and its last line."""
    start = time.perf_counter()
    environment = os.environ | {"PYTHONPATH": str(checkout)}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, cwd=tempfile.gettempdir(), env=environment, text=True
    ) as job:
        said = job.stdout.read() if job.stdout else ""
        _, status, usage = os.wait4(job.pid, 0)
        job.returncode = os.waitstatus_to_exitcode(status)
    if job.returncode:
        raise SystemExit(f"{' '.join(command)} failed")
    last = said.strip().splitlines()[-1] if said.strip() else ""
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, last


def measured(programs: dict[str, tuple[list[str], Path]], rounds: int) -> dict[str, dict]:
    """Run every program in every round; return the least of each."""
    runs: dict[str, list[tuple[float, float, float, str]]] = {name: [] for name in programs}
    for command, checkout in programs.values():
        run_once(command, checkout)
    for _ in range(rounds):
        for name, (command, checkout) in programs.items():
            runs[name].append(run_once(command, checkout))
    return {
        name: dict(
            zip(("seconds", "processor_s", "peak_mb"), map(min, zip(*(r[:3] for r in own), strict=True)), strict=True)
        )
        for name, own in runs.items()
    }


def programs_of(qrels: Path, run: Path, before: Path | None) -> dict[str, tuple[list[str], Path]]:
    """Return what is run on a pair of files."""
    score = [sys.executable, "-m", "activeeval", "--quiet", "score", str(qrels), str(run), "nDCG@10"]
    programs = {
        "score": (score, ROOT),
        "pytrec_eval": ([sys.executable, "-c", PYTREC, str(qrels), str(run)], ROOT),
        "numpy and click alone": ([sys.executable, "-c", "import click, numpy"], ROOT),
        "numpy, click and one kept kernel": ([sys.executable, "-c", KERNEL], ROOT),
    }
    return programs | ({} if before is None else {"score, before": (score, before)})


def time_scores(before: Path | None, rounds: int, folder: Path) -> list[dict]:
    """Return the figures of both pairs of files."""
    rows = []
    for name, files, most, most_s, most_mb in (
        ("Robust03", write_robust(folder), 1.2, None, None),
        ("31,531 queries", write_large(folder), None, 3.5, 500),
    ):
        if files is None:
            print(f"{name}: not in the data folder, left out")
            continue
        found = measured(programs_of(*files, before), rounds)
        own, peer = found["score"], found["pytrec_eval"]
        rows += [
            figure(f"{name}: score, whole process", own["seconds"], "s", at_most=most_s, **own),
            figure(f"{name}: score / pytrec_eval", own["seconds"] / peer["seconds"], "", at_most=most, **peer),
            figure(f"{name}: score / pytrec_eval, processor", own["processor_s"] / peer["processor_s"], ""),
        ]
        if (
            most_mb is not None
        ):  # a process starts with the peak of the one that started it: of small files it tells nothing
            rows.append(figure(f"{name}: score, peak", own["peak_mb"], "MB", at_most=most_mb))
        for other in set(found) - {"score", "pytrec_eval"}:
            there = found[other]
            rows.append(figure(f"{name}: score / {other}", own["seconds"] / there["seconds"], "", **there))
    return rows


def time_letor(before: Path | None, folder: Path) -> list[dict]:
    """Return how fast LETOR text is read with all features, in MB of text for a second of the processor."""
    text, source = sample_text()
    path = folder / "letor.txt"
    megabytes = repeat_to(path, text, LETOR_MB)
    command = [sys.executable, "-c", LETOR, str(path)]
    checkouts = {"read_letor": ROOT} | ({} if before is None else {"read_letor, before": before})
    seconds = {name: min(float(run_once(command, there)[3]) for _ in range(3)) for name, there in checkouts.items()}
    bounds = {"read_letor": {"at_least": 200}}
    return [
        figure(f"{name}, 136 features, median", megabytes / own, "MB/s", **bounds.get(name, {}), note=source)
        for name, own in seconds.items()
    ]


def main() -> None:
    """Measure, print, store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--before", type=Path, help="a checkout of an earlier commit, to be measured in the same rounds"
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results" / "whole-process.json")
    args = parser.parse_args()
    origin = describe(MODULE, ("pytrec_eval-terrier", "click"))
    with tempfile.TemporaryDirectory() as name:
        rows = time_scores(args.before, args.rounds, Path(name)) + time_letor(args.before, Path(name))
    show("Whole processes", rows)
    store(args.out, origin | {"rounds": args.rounds, "figures": rows})


if __name__ == "__main__":
    main()
