"""A pool in files gone over by each engine: processor seconds, the driver's memory, and the bytes that come back.

    python -m benchmarks.engines [--queries 1000000] [--method items] [--engine here --engine processes:2 …]
        [--pool FOLDER] [--out benchmarks/results/engines.json]

Every engine draws a sample of 1,000 mean items of the same pool in a process of its own. It first draws one of a few
partitions, so that its workers are there and have read their compiled code: that, with what the engine took to start,
is its start-up, and stands apart. Processor time is of the driver and of all processes that it started, Spark's
Java among them; the peak of memory is the driver's alone. Bytes come back from tasks, and are those of the results
that `Engine.map` yields. The pool is generated before, by processes, and removed at the end unless it was named.
Runs on Linux alone: /proc tells what processes took.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from activeeval import DCG, ERR, chunked_design
from activeeval.sampling.drawn_sample import DrawnSample
from activeeval.scale.engines.selection import opened_engine
from activeeval.scale.partitions import PartitionedPool
from activeeval.scale.scratch import Folder
from benchmarks.engines_pools import N_GRADES, N_ITEMS, PARTITION_QUERIES, WritePartition, n_partitions
from benchmarks.engines_tree import keep_orphans, tree_seconds
from benchmarks.frame.experiment import Experiment, Options
from benchmarks.frame.processes import ONE_THREAD, apart
from benchmarks.frame.report import figure
from benchmarks.memory import peak_mb

ENGINES = ("here", "processes:2", "dask:2", "ray:2", "spark:2")
MEASURES = {"items": DCG(), "depth": ERR(N_GRADES - 1), "active": DCG()}
BUDGET = 1000.0
N_QUERIES, N_WARM, WARM_QUERIES = 1_000_000, 8, 40
PASSES = {"SurveyTask": "survey", "_DuplicateSearch": "unique", "UnitsTask": "levels", "FetchTask": "fetch"}
MOST_TIMES = {"processes": 1.1, "dask": 1.15, "ray": 1.15, "spark": 1.3}
MOST_RETURNED = 20


class Counted:
    """An engine whose results are counted, pass by pass."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self.passes: dict[str, dict[str, float]] = {}

    @property
    def n_workers(self) -> int:
        """How many tasks run at once."""
        return int(self._engine.n_workers)

    def map(self, task: Any, keys: Iterable[Any]) -> Iterator[bytes]:
        """Yield the results."""
        empty = {"bytes": 0.0, "tasks": 0.0, "clock_s": 0.0, "processor_s": 0.0}
        counted = self.passes.setdefault(PASSES[type(task).__name__], empty)
        clock, processor = time.perf_counter(), tree_seconds()
        for content in self._engine.map(task, keys):
            counted["bytes"] += len(content)
            counted["tasks"] += 1
            yield content
        counted["clock_s"] += time.perf_counter() - clock
        counted["processor_s"] += tree_seconds() - processor


# One engine, in a process of its own


def run_one(text: str, pattern: str, warm: str, method: str) -> dict[str, Any]:
    """Measure an engine that draws a sample of a pool."""
    keep_orphans()
    with tempfile.TemporaryDirectory(prefix="activeeval-tables-") as place, opened_engine(text) as engine:
        _drawn(Counted(engine), warm, method, tempfile.mkdtemp(dir=place))
        start_up = tree_seconds()
        before, tables, counted = peak_mb(), tempfile.mkdtemp(dir=place), Counted(engine)
        started = time.perf_counter()
        campaign = _drawn(counted, pattern, method, tables)
        clock, processor, peak = time.perf_counter() - started, tree_seconds() - start_up, peak_mb()
        units, digests = (_size(tables, kind) for kind in ("units", "queries"))
        sample = Path(place, "drawn.sample")
        DrawnSample(campaign=campaign, questions=("run",), systems=("new",), seed=0).write_alone(str(sample))
        return {
            "engine": text,
            "processor_s": processor,
            "clock_s": clock,
            "start_up_s": start_up,
            "driver_peak_mb": peak,
            "driver_mb_before": before,
            "passes": counted.passes,
            "returned_bytes": sum(each["bytes"] for each in counted.passes.values()),
            "sample_bytes": sample.stat().st_size,
            "units_bytes": units,
            "digests_bytes": digests,
            "n_units": len(campaign.planned),
            "units_digest": _digest(campaign),
        }


def _drawn(engine: Counted, pattern: str, method: str, tables: str) -> Any:
    pool = PartitionedPool.of(pattern)
    design = chunked_design(pool, MEASURES[method], method, engine=engine, scratch=Folder(tables))
    return design.campaign(min(BUDGET, 0.5 * design.cost), pool, rng=0)


def _digest(campaign: Any) -> str:
    """Return in a few letters which units a campaign has: those of all engines are the same."""
    units = [(unit.query_id, tuple(unit.item_ids)) for unit in campaign.planned]
    return hashlib.sha256(repr(units).encode()).hexdigest()[:16]


def _size(folder: str, kind: str) -> int:
    return sum(path.stat().st_size for path in Path(folder).glob(f"{kind}-*"))


# The pool, figures, and what they come to elsewhere


def generate(folder: Path, n_queries: int) -> float:
    """Write a pool by two processes; return the seconds of the clock that it takes."""
    folder.mkdir(parents=True, exist_ok=True)
    started, n = time.perf_counter(), n_partitions(n_queries)
    with opened_engine("here" if n == 1 else "processes:2") as engine:
        for _ in engine.map(WritePartition(str(folder), n_queries), range(n)):
            pass
    return time.perf_counter() - started


def generate_warm(folder: Path) -> None:
    """Write a pool of some small partitions, by which workers get ready."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(N_WARM):
        task = WritePartition(str(folder), number * PARTITION_QUERIES + WARM_QUERIES)
        task(number)


def figures_of(rows: list[dict[str, Any]], n_queries: int) -> list[dict[str, Any]]:
    """Return the figures of the engines, as ratios over the first that is in this process."""
    serial = next((row for row in rows if row["engine"] == "here"), None)
    figures = []
    for row in rows:
        text = row["engine"]
        if serial is None or row is serial:
            seconds = 1e6 * row["processor_s"] / (n_queries * N_ITEMS)
            figures.append(figure(f"{text}: processor", seconds, "µs/item"))
        else:
            ratio, most = row["processor_s"] / serial["processor_s"], MOST_TIMES.get(text.partition(":")[0])
            figures.append(figure(f"{text}: processor over that of here", ratio, "times", at_most=most))
        figures.append(figure(f"{text}: start-up", row["start_up_s"], "s"))
        figures.append(figure(f"{text}: driver's peak", row["driver_peak_mb"], "MB"))
    last = rows[-1]
    over = last["returned_bytes"] / last["sample_bytes"]
    return [
        *figures,
        figure("bytes that come back over those of the sample", over, "times", at_most=MOST_RETURNED),
        figure("unit tables", last["units_bytes"] / (n_queries * N_ITEMS), "bytes/item"),
        figure("digests of ids", last["digests_bytes"] / n_queries, "bytes/query"),
    ]


def measure(options: Options) -> dict[str, Any]:
    """Write the pool, and measure every engine in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="activeeval-pool-") as place:
        folder, warm = options.pool or Path(place, "pool"), Path(place, "warm")
        generating = 0.0 if folder.exists() else generate(folder, options.queries)
        generate_warm(warm)
        words = (str(folder / "*.parquet"), str(warm / "*.parquet"), options.method)
        rows = [apart(run_one, text, *words, environment=ONE_THREAD) for text in options.engine or ENGINES]
        pool_bytes = _size(str(folder), "part")
    assert len({row["units_digest"] for row in rows}) == 1, "engines have drawn different samples"
    return {
        "n_queries": options.queries,
        "items_per_query": N_ITEMS,
        "partition_queries": PARTITION_QUERIES,
        "budget": BUDGET,
        "pool_bytes": pool_bytes,
        "generating_clock_s": generating,
        "load": round(os.getloadavg()[0], 2),
        "rows": rows,
        "figures": figures_of(rows, options.queries),
    }


EXPERIMENT = Experiment(
    __spec__,
    __doc__,
    measure,
    packages=("pyarrow", "distributed", "ray", "pyspark"),
    queries=N_QUERIES,
    method={"choices": list(MEASURES), "default": "items"},
    engine={"action": "append", "help": f"repeatable; by default {', '.join(ENGINES)}"},
    pool=None,
)


if __name__ == "__main__":
    EXPERIMENT.main()
