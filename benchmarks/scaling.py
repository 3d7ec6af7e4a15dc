"""Pools in chunks: time and memory of samples of 10³ … 10⁷ queries with 20 items each.

    python -m benchmarks.scaling [--largest 10000000] [--method items] [--out benchmarks/results/scaling.json]

Every size and method runs in a process of its own: the chunks go by once for the design, once more for the campaign
with a budget of 1,000 mean items. A chunk is generated from its own seed; generating its numbers, and making a checked
pool and rankings of them, are timed apart. Time is that of the processor, which other work on the machine changes
least; the clock's stands beside it. What is kept are the arrays that the design holds between the two times. Draws
scaling.svg and scaling.png beside the JSON.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np

from activeeval import DCG, ERR, Chunk, QueryPool, Rankings, chunked_design
from benchmarks.frame import pictures
from benchmarks.frame.experiment import Experiment
from benchmarks.frame.processes import ONE_THREAD, apart
from benchmarks.frame.report import figure
from benchmarks.memory import peak_mb

N_ITEMS, N_GRADES, N_PROTOTYPES = 20, 5, 4096
CHUNK_QUERIES = 10_000
LARGEST = 1_000_000
BUDGET = 1000.0
MEASURES = {"items": DCG(), "depth": ERR(N_GRADES - 1), "active": DCG()}
SECONDS, MOST_ROUNDS = 2.0, 10
MOST_SLOPE, MOST_BYTES, MOST_PEAK_MB = 1.05, 80, 1500


def clocks() -> np.ndarray:
    """Return the seconds of the processor and of the clock."""
    return np.array([time.process_time(), time.perf_counter()])


class Generator:
    """Makes chunks, each from a seed of its own, and keeps count of the time that takes."""

    def __init__(self, n_queries: int) -> None:
        self.n_queries = n_queries
        self.prototypes = np.random.default_rng(0).dirichlet((5, 3, 1.3, 0.3, 0.2), N_PROTOTYPES)
        self.taken = np.zeros(2)

    def chunks(self) -> Iterator[Chunk]:
        """Yield the chunks of the pool."""
        for first in range(0, self.n_queries, CHUNK_QUERIES):
            start = clocks()
            chunk = self._chunk(first, min(CHUNK_QUERIES, self.n_queries - first))
            self.taken += clocks() - start
            yield chunk

    def _chunk(self, first: int, n_queries: int) -> Chunk:
        rng = np.random.default_rng((1, first))
        offsets = np.arange(n_queries + 1) * N_ITEMS
        probs = self.prototypes[rng.integers(0, N_PROTOTYPES, offsets[-1])]
        keys = rng.random((n_queries, N_ITEMS), dtype=np.float32)
        items = (np.argsort(keys, axis=1) + offsets[:-1, None]).ravel()
        costs, overheads = rng.uniform(1.0, 3.0, offsets[-1]), rng.uniform(0.0, 4.0, n_queries)
        pool = QueryPool(np.arange(first, first + n_queries), offsets, item_costs=costs, query_costs=overheads)
        return Chunk(Rankings(pool, offsets, items), probs)


# One size, in a process of its own


def run_one(method: str, n_queries: int) -> dict:
    """Return the time of each part, in seconds, what is kept, and the peak memory of this process."""
    one_round(method, 60)
    at_start = peak_mb()
    rounds: list[dict] = []
    while not rounds or (sum(r["all"][1] for r in rounds) < SECONDS and len(rounds) < MOST_ROUNDS):
        rounds.append(one_round(method, n_queries))
    by_name = {name: np.median([r[name] for r in rounds], axis=0) for name in ("design", "campaign", "generating")}
    last = rounds[-1]
    return {
        "method": method,
        "n_queries": n_queries,
        "seconds": {name: float(both[0]) for name, both in by_name.items()},
        "seconds_by_the_clock": {name: float(both[1]) for name, both in by_name.items()},
        "rounds": len(rounds),
        "peak_mb": peak_mb(),
        "peak_mb_before": at_start,
        "kept_bytes_a_query": last["kept"] / n_queries,
        "n_gathered": last["n_gathered"],
        "n_units": last["n_units"],
    }


def one_round(method: str, n_queries: int) -> dict:
    """Return the seconds, of the processor and of the clock, of one design and one campaign."""
    generator, measure = Generator(n_queries), MEASURES[method]
    start = clocks()
    design = chunked_design(generator.chunks, measure, method)
    made, of_design = clocks(), generator.taken.copy()
    kept = kept_bytes(design)
    campaign = design.campaign(min(BUDGET, 0.5 * design.cost), generator.chunks)
    done = clocks()
    return {
        "design": made - start - of_design,
        "campaign": done - made - (generator.taken - of_design),
        "generating": generator.taken,
        "all": done - start,
        "kept": kept,
        "n_gathered": campaign.design.pool.n_queries,
        "n_units": len(campaign.planned),
    }


def kept_bytes(thing: object) -> int:
    """Return the bytes of all arrays and tuples that a dataclass holds, tuples at 100 bytes an entry."""
    if isinstance(thing, np.ndarray):
        return thing.nbytes
    if isinstance(thing, tuple):
        return sum(100 + kept_bytes(one) for one in thing)
    if dataclasses.is_dataclass(thing):
        return sum(kept_bytes(getattr(thing, field.name)) for field in dataclasses.fields(thing))
    return 0


# Figures and the picture


def own_seconds(row: dict) -> float:
    """Return the processor's seconds of design and campaign."""
    return row["seconds"]["design"] + row["seconds"]["campaign"]


def summary(rows: list[dict]) -> list[dict]:
    """Return the figures that say whether it scales."""
    figures = []
    for method in dict.fromkeys(row["method"] for row in rows):
        own = [row for row in rows if row["method"] == method]
        last = own[-1]
        n_queries, per_item = last["n_queries"], 1e6 * own_seconds(last) / (last["n_queries"] * N_ITEMS)
        kept = max(row["kept_bytes_a_query"] for row in own if row["n_queries"] >= min(1000, n_queries))
        figures += [
            figure(f"{method}: design and campaign, {n_queries:,} queries", per_item, "µs/item"),
            figure(f"{method}: kept", kept, "bytes/query", at_most=MOST_BYTES),
            figure(f"{method}: peak, {n_queries:,} queries", last["peak_mb"], "MB", at_most=MOST_PEAK_MB),
        ]
        if len(own) > 1:
            figures.append(figure(f"{method}: slope of log time on log size", slope(own), "", at_most=MOST_SLOPE))
    return figures


def slope(rows: list[dict]) -> float:
    """Return the slope of log time on log size."""
    sizes, times = np.log([row["n_queries"] for row in rows]), np.log([own_seconds(row) for row in rows])
    return float(np.polyfit(sizes, times, 1)[0])


def plot(rows: list[dict], path: Path) -> None:
    """Draw time per item and peak memory over the number of queries."""
    drawing, axes = pictures.panels(2, 1, 4.6, 3.8)
    (left, right), x = axes[0], f"queries in the pool ({N_ITEMS} items each)"
    for method, marker in zip(MEASURES, "os^", strict=True):
        chosen = [row for row in rows if row["method"] == method]
        sizes = [row["n_queries"] for row in chosen]
        times = [1e6 * own_seconds(row) / (row["n_queries"] * N_ITEMS) for row in chosen]
        left.plot(sizes, times, marker=marker, label=method)
        right.plot(sizes, [row["peak_mb"] for row in chosen], marker=marker, label=method)
    sizes = sorted({row["n_queries"] for row in rows})
    base = min(row["peak_mb"] for row in rows)
    everything = [base + 8 * N_GRADES * N_ITEMS * size / 1e6 for size in sizes]
    right.plot(sizes, everything, color="grey", ls=":", lw=1, label="start + all grade probabilities at once")
    right.axhline(MOST_PEAK_MB, color="grey", ls="--", lw=1, label="target")
    pictures.finish(left, "design and campaign", x, "processor time per item (µs)", xscale="log", ylim=0)
    title = f"chunks of {CHUNK_QUERIES:,} queries"
    pictures.finish(right, title, x, "peak memory (MB)", xscale="log", yscale="log")
    pictures.save([(path.stem, drawing)], path.parent, ("svg", "png"))


def measure(options: argparse.Namespace) -> dict:
    """Run every method at every size in a process of its own, and draw."""
    sizes = [size for size in (10**k for k in range(3, 12)) if size <= options.largest] or [options.largest]
    cases = product(sizes, options.method)
    rows = [apart(run_one, method, n_queries, environment=ONE_THREAD) for n_queries, method in cases]
    plot(rows, options.out)
    return {
        "chunk_queries": CHUNK_QUERIES,
        "items_per_query": N_ITEMS,
        "grades": N_GRADES,
        "budget": BUDGET,
        "load": round(os.getloadavg()[0], 2),
        "rows": rows,
        "figures": summary(rows),
    }


EXPERIMENT = Experiment(__spec__, __doc__, measure, largest=LARGEST, method=tuple(MEASURES))


if __name__ == "__main__":
    EXPERIMENT.main()
