"""One collection from training to stored result."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np

from activeeval import DCG, METHODS, Rankings, Target
from benchmarks.frame.report import Row
from benchmarks.machine import describe, store
from benchmarks.paper.averages import averaged
from benchmarks.paper.folds import Collection
from benchmarks.paper.running import Run, run
from benchmarks.paper.training import RF_CLASS, SIZES, Trained, sized, train

_HISTOGRAM_BINS, _MAP_BINS = 60, 40


def measure(job: Run, n_jobs: int, out: Path) -> Row:
    """Train, repeat, and store the result."""
    collection = job.collection
    for fold in range(len(collection.folds)):
        train(collection, fold, n_jobs)
    started = time.perf_counter()
    found = run(job, n_jobs)
    seconds = _seconds(collection, found, n_jobs)
    result = _frame(job) | {"seconds": seconds | {"designs and repetitions, this call": time.perf_counter() - started}}
    rows = averaged([row for one in found for row in one["rows"]])
    result |= {"rows": sorted(rows, key=lambda row: row["figure"]), "figure_6": sampling_map(collection)}
    store(out / f"paper-{collection.name}.json", result)
    return result


def _frame(job: Run) -> Row:
    """Describe how a result came about, and make figure 1."""
    collection = job.collection
    return describe("benchmarks.paper") | {
        "collection": collection.name,
        "signature": json.loads((collection.folds[0].folder / "ready.json").read_text()),
        "repetitions": job.repetitions,
        "own_repetitions": job.own_repetitions,
        "folds": len(collection.folds),
        "queries": int(sum(fold.counts.size for fold in collection.folds)),
        "items": int(sum(fold.grades.size for fold in collection.folds)),
        "grade_shares": _grade_shares(collection),
        "sizes": _sizes(collection),
        "figure_1": _histograms(collection),
    }


def _grade_shares(collection: Collection) -> list[float]:
    counts = sum(np.bincount(fold.grades, minlength=collection.max_grade + 1) for fold in collection.folds)
    return [round(float(share), 5) for share in counts / counts.sum()]


def _sizes(collection: Collection) -> list[int]:
    """Count the rows that the larger forests of figure 5 learn from, on the first fold."""
    paths = [Trained(collection, 0).folder / f"{sized(size)}.json" for size in SIZES[1:]]
    return [json.loads(path.read_text())["rows"] if path.exists() else 0 for path in paths]


def _seconds(collection: Collection, found: list[Row], n_jobs: int) -> dict[str, float]:
    """Return where the time went: training by the clock, the rest added up over processes."""
    notes = [path for fold in range(len(collection.folds)) for path in Trained(collection, fold).folder.glob("*.json")]
    trained = sum(json.loads(path.read_text()).get("seconds", 0.0) for path in notes)
    parts: dict[str, float] = {"training": trained, "processes": n_jobs}
    for one in found:
        for part, seconds in one["seconds"].items():
            parts[part] = parts.get(part, 0.0) + seconds
    return parts


def _histograms(collection: Collection) -> Row:
    counts = np.concatenate([fold.counts for fold in collection.folds])
    costs = np.concatenate([np.bincount(fold.queries, fold.costs) for fold in collection.folds])
    made = {}
    for name, values in (("items", counts), ("costs", costs / costs.mean())):
        heights, edges = np.histogram(values, _HISTOGRAM_BINS)
        made[name] = {"counts": heights.tolist(), "edges": [round(float(edge), 4) for edge in edges]}
        made[name] |= {"mean": float(values.mean()), "largest": float(values.max())}
    return made


def sampling_map(collection: Collection) -> Row:
    """Return the mean of q*(x)/p(x) over cost and expected DCG, for the forest that learned on the first fold."""
    trained = Trained(collection, 0)
    pool, _ = collection.pool(0)
    target = Target(DCG(), Rankings.from_scores(pool, trained.scores(RF_CLASS)))
    design = METHODS["active"].design(target, trained.probs((RF_CLASS,)))
    p, order, means = pool.query_probs, design.order, design.reading().predictions
    ratio, costs = design.scheme.sampling_probs / p, order.dearest_units * pool.item_costs.mean()
    cost_edges = np.geomspace(costs.min(), costs.max() * 1.0001, _MAP_BINS + 1)
    value_edges = np.linspace(means.min(), means.max() + 1e-9, _MAP_BINS + 1)
    total, _, _ = np.histogram2d(costs, means, (cost_edges, value_edges), weights=ratio)
    number, _, _ = np.histogram2d(costs, means, (cost_edges, value_edges))
    with np.errstate(invalid="ignore"):
        cells = np.where(number > 0, total / number, np.nan)
    return {
        "cost_edges": cost_edges.round(5).tolist(),
        "value_edges": value_edges.round(4).tolist(),
        "ratio": [[None if np.isnan(cell) else round(float(cell), 4) for cell in line] for line in cells],
        "overall": float(p @ means),
        "rank correlation of q* with cost and with |E[L] − R|": [
            _rank_correlation(ratio, costs),
            _rank_correlation(ratio, np.abs(means - p @ means)),
        ],
    }


def _rank_correlation(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.corrcoef(np.argsort(np.argsort(a)), np.argsort(np.argsort(b)))[0, 1])
