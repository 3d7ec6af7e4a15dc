"""Time and memory of moments and design for pools of 10³ … 10⁷ queries with 20 items each, which come in chunks.

    python -m benchmarks.scaling [--largest 10000000] [--out benchmarks/results/scaling.json]

Every size, measure and number of rankings runs in a process of its own, on one thread. A chunk is generated from its
own seed; generating its numbers, and making a checked pool and rankings of them, are timed apart. What counts is the
rest: moments, costs, q. Time is that of the processor, which other work on the machine changes least; the clock's
stands beside it. Then two threads against one on chunks that lie ready, in turn, the least time of each. Draws
scaling.svg and scaling.png beside the JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from activeeval import DCG, ERR, Chunk, QueryPool, Rankings, chunked_design
from activeeval.measures import Measure
from benchmarks.machine import ROOT, describe, figure, seconds, show, store
from benchmarks.memory import peak_mb

MODULE = "benchmarks.scaling"
N_ITEMS, N_GRADES, N_PROTOTYPES = 20, 5, 4096
CHUNK_QUERIES = 10_000
LARGEST = 10_000_000
SECONDS, MOST_ROUNDS = 2.0, 30
THREADED_QUERIES, THREADED_ROUNDS = 100_000, 25
MEASURES = {"DCG": DCG(), "ERR": ERR(N_GRADES - 1)}
CASES = {
    f"{name}, {case}": (measure, case == "two rankings")
    for name, measure in MEASURES.items()
    for case in ("one ranking", "two rankings")
}
MOST_MICROSECONDS, MOST_SLOPE = 2.0, 1.05
BYTES_KEPT = 40
PER_ITEM, BY_THE_CLOCK = "microseconds_per_item", "microseconds_per_item_by_the_clock"


def clocks() -> np.ndarray:
    """Return the seconds of the clock and of the processor."""
    return np.array([time.perf_counter(), time.process_time()])


class Generator:
    """Makes chunks, each from a seed of its own, and keeps count of the time that takes."""

    def __init__(self, n_queries: int, compares: bool) -> None:
        self.n_queries, self.compares = n_queries, compares
        self.prototypes = np.random.default_rng(0).dirichlet((5, 3, 1.3, 0.3, 0.2), N_PROTOTYPES)
        self.generating, self.checking = np.zeros(2), np.zeros(2)

    def chunks(self) -> Iterator[Chunk]:
        """Yield the chunks of the pool."""
        for first in range(0, self.n_queries, CHUNK_QUERIES):
            yield self._chunk(first, min(CHUNK_QUERIES, self.n_queries - first))

    def _chunk(self, first: int, n_queries: int) -> Chunk:
        start = clocks()
        rng = np.random.default_rng((1, first))
        offsets = np.arange(n_queries + 1) * N_ITEMS
        probs = self.prototypes[rng.integers(0, N_PROTOTYPES, offsets[-1])]
        lists = [self._lists(rng, offsets) for _ in range(1 + self.compares)]
        costs = rng.uniform(1.0, 3.0, offsets[-1])
        made = clocks()
        pool = QueryPool(np.arange(first, first + n_queries), offsets, item_costs=costs)
        rankings = [Rankings(pool, offsets, items) for items in lists]
        self.generating += made - start
        self.checking += clocks() - made
        return Chunk(rankings[0], probs, rankings[1] if self.compares else None)

    @staticmethod
    def _lists(rng: np.random.Generator, offsets: np.ndarray) -> np.ndarray:
        keys = rng.random((offsets.size - 1, N_ITEMS), dtype=np.float32)
        return (np.argsort(keys, axis=1) + offsets[:-1, None]).ravel()


# One size, in a process of its own


def run_one(case: str, n_queries: int) -> dict:
    """Return the time for an item of each part, in microseconds, and the peak memory of this process."""
    measure, compares = CASES[case]
    one_round(measure, 10, compares)
    at_start = peak_mb()
    rounds: list[dict[str, np.ndarray]] = []
    while not rounds or (sum(one["all"][0] for one in rounds) < SECONDS and len(rounds) < MOST_ROUNDS):
        rounds.append(one_round(measure, n_queries, compares))
    per_item = 1e6 / (n_queries * N_ITEMS)
    medians = {name: per_item * np.median([one[name] for one in rounds], axis=0) for name in rounds[0]}
    return {
        "case": case,
        "n_queries": n_queries,
        "n_items": n_queries * N_ITEMS,
        PER_ITEM: {name: both[1] for name, both in medians.items()},
        BY_THE_CLOCK: {name: both[0] for name, both in medians.items()},
        "rounds": len(rounds),
        "peak_mb": peak_mb(),
        "peak_mb_before": at_start,
        "kept_mb": BYTES_KEPT * n_queries / 1e6,
    }


def one_round(measure: Measure, n_queries: int, compares: bool) -> dict[str, np.ndarray]:
    """Return the seconds, of the clock and of the processor, of each part of making one design."""
    generator = Generator(n_queries, compares)
    start = clocks()
    design = chunked_design(generator.chunks, measure)
    everything = clocks() - start
    if design.n_queries != n_queries or not abs(design.sampling_probs.sum() - 1) < 1e-9:
        raise RuntimeError("the sampling probabilities of the pool do not sum to 1")
    own = everything - generator.generating - generator.checking
    return {"design": own, "checking": generator.checking, "generating": generator.generating, "all": everything}


def in_a_process(*arguments: object) -> dict:
    """Return what this module prints when it is run with some arguments, in a process of its own."""
    command = [sys.executable, "-m", MODULE, *map(str, arguments)]
    one_thread = os.environ | dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    done = subprocess.run(command, cwd=ROOT, env=one_thread, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


# Two threads


def run_threads(case: str, n_queries: int) -> dict:
    """Return the seconds of one and of two threads on chunks that lie ready, taken in turn."""
    measure, compares = CASES[case]
    ready = list(Generator(n_queries, compares).chunks())
    taken: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(THREADED_ROUNDS):
        for n_jobs, times in taken.items():
            times.append(seconds(lambda n=n_jobs: chunked_design(ready, measure, n_jobs=n)))
    one, two = (chunked_design(ready, measure, n_jobs=n).sampling_probs for n in taken)
    return {
        "case": case,
        "n_queries": n_queries,
        "least_seconds": {n: min(times) for n, times in taken.items()},
        "median_seconds": {n: statistics.median(times) for n, times in taken.items()},
        "identical": bool(np.array_equal(one, two)),
        "load": round(os.getloadavg()[0], 2),
    }


# Figures and the picture


def summary(rows: list[dict], threads: list[dict]) -> list[dict]:
    """Return the figures that say whether it scales."""
    figures = []
    for case in CASES:
        figures += of_case(case, [row for row in rows if row["case"] == case])
    for row in threads:
        least, median = (row[name]["2"] / row[name]["1"] for name in ("least_seconds", "median_seconds"))
        note = f"of medians {median:.2f}, load {row['load']}, identical to the bit: {row['identical']}"
        figures.append(figure(f"{row['case']}: two threads over one", least, "", note=note))
    return figures


def of_case(case: str, rows: list[dict]) -> list[dict]:
    """Return the figures of one measure and number of rankings, over all sizes."""
    times, clocked = ([row[name] for row in rows] for name in (PER_ITEM, BY_THE_CLOCK))
    design = max(time["design"] for time in times)
    note = f"by the clock {max(time['design'] for time in clocked):.2f}"
    whole = max(time["design"] + time["checking"] for time in times)
    n_queries, peak, kept = (rows[-1][name] for name in ("n_queries", "peak_mb", "kept_mb"))
    figures = [
        figure(f"{case}: design, dearest size", design, "µs/item", at_most=MOST_MICROSECONDS, note=note),
        figure(f"{case}: with checked pool and rankings", whole, "µs/item", at_most=MOST_MICROSECONDS),
        figure(f"{case}: peak, {n_queries:,} queries", peak, "MB", note=f"{kept:,.2f} MB of it kept"),
    ]
    if len(rows) > 1:
        figures.append(figure(f"{case}: slope of log time on log size", slope(rows), "", at_most=MOST_SLOPE))
    return figures


def slope(rows: list[dict]) -> float:
    """Return the slope of log time on log size."""
    sizes = np.log([row["n_items"] for row in rows])
    times = np.log([row["n_items"] * row[PER_ITEM]["design"] for row in rows])
    return float(np.polyfit(sizes, times, 1)[0])


def plot(rows: list[dict], path: Path) -> None:
    """Draw time per item and peak memory over the number of queries."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, NullFormatter

    drawing = Figure(figsize=(9.2, 3.8), layout="constrained")
    left, right = drawing.subplots(1, 2)
    for case, marker in zip(CASES, "os^D", strict=True):
        own = [row for row in rows if row["case"] == case]
        sizes = [row["n_queries"] for row in own]
        left.plot(sizes, [row[PER_ITEM]["design"] for row in own], marker=marker, ms=4, label=case)
        right.plot(sizes, [row["peak_mb"] for row in own], marker=marker, ms=4, label=case)
    sizes = sorted({row["n_queries"] for row in rows})
    base = min(row["peak_mb"] for row in rows if row["n_queries"] == sizes[0])
    kept = [base + BYTES_KEPT * size / 1e6 for size in sizes]
    items = [base + 8 * N_GRADES * N_ITEMS * size / 1e6 for size in sizes]
    left.axhline(MOST_MICROSECONDS, color="grey", ls="--", lw=1, label="target")
    right.plot(sizes, kept, color="grey", ls="--", lw=1, label="start + what is kept, 40 bytes a query")
    right.plot(sizes, items, color="grey", ls=":", lw=1, label="start + all grade probabilities at once")
    left.set(ylabel="processor time per item of a query (µs)", title="moments, costs and q")
    right.set(ylabel="peak memory of the process (MB)", title=f"chunks of {CHUNK_QUERIES:,} queries")
    for axis in (left, right):
        axis.set(xscale="log", yscale="log", xlabel=f"queries in the pool ({N_ITEMS} items each)")
        axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.yaxis.set_major_formatter("{x:,g}")
        axis.yaxis.set_minor_formatter(NullFormatter())
        axis.grid(alpha=0.3)
        axis.legend(fontsize=7, frameon=False)
    for suffix in (".svg", ".png"):
        drawing.savefig(path.with_suffix(suffix), dpi=150)


def measure_all(sizes: list[int], n_threaded: int) -> tuple[list[dict], list[dict]]:
    """Run every case at every size, then the threads."""
    rows = []
    for n_queries in sizes:
        for case in CASES:
            rows.append(in_a_process("--one", case, "--queries", n_queries))
            times = ", ".join(f"{name} {value:.3f}" for name, value in rows[-1][PER_ITEM].items())
            print(
                f"{n_queries:>10,} queries, {case:18} µs/item: {times}; peak {rows[-1]['peak_mb']:,.0f} MB", flush=True
            )
    return rows, [in_a_process("--threads", case, "--queries", n_threaded) for case in CASES]


def main() -> None:
    """Measure, print, draw, store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largest", type=int, default=LARGEST, help="sizes are powers of ten from 1000 up to it")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results" / "scaling.json")
    parser.add_argument("--one", choices=CASES, help=argparse.SUPPRESS)
    parser.add_argument("--threads", choices=CASES, help=argparse.SUPPRESS)
    parser.add_argument("--queries", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one or args.threads:
        run, case = (run_one, args.one) if args.one else (run_threads, args.threads)
        json.dump(run(case, args.queries), sys.stdout)
        return
    result = describe(MODULE)
    sizes = [size for size in (10**k for k in range(3, 12)) if size <= args.largest] or [args.largest]
    rows, threads = measure_all(sizes, min(args.largest, THREADED_QUERIES))
    figures = summary(rows, threads)
    show("Pools in chunks", figures)
    setting = {"chunk_queries": CHUNK_QUERIES, "items_per_query": N_ITEMS, "grades": N_GRADES}
    setting["chunk_probabilities_mb"] = 8 * N_GRADES * N_ITEMS * min(CHUNK_QUERIES, args.largest) / 1e6
    args.out.parent.mkdir(parents=True, exist_ok=True)
    plot(rows, args.out)
    store(args.out, result | setting | {"rows": rows, "threads": threads, "figures": figures})


if __name__ == "__main__":
    main()
