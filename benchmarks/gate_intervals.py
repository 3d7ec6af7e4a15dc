"""Intervals of a gate where few queries differ: ``python -m benchmarks.gate_intervals``.

All of n queries are judged; each changes with a probability, by a size drawn from those that a measure has, and the
interval is for all queries like them. Shares of intervals that hold the true mean difference, and that lie beyond it on
either side, by the default rule (`activeeval.core.interval_ends`) and by t alone. Stores
benchmarks/results/gate-intervals.json, and the table beside it.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from activeeval.core.estimation.significance import mean_interval
from activeeval.core.types import Floats
from benchmarks.frame import report
from benchmarks.frame.experiment import Experiment

SIZES = {"P@1, Success@5": (1.0,), "P@5": (0.2, 0.2, 0.2, 0.4), "RR": (1 / 2, 2 / 3, 1 / 6, 3 / 4, 1 / 12, 1.0, 1 / 4)}
"""By how much a changed query changes; RR between ranks 1, 2, 3, 4 and none."""
CHANGES = (
    *(("down", share, 0.0) for share in (0.01, 0.02, 0.05, 0.1)),
    *(("both", share / 2, share / 2) for share in (0.02, 0.05, 0.1)),
    ("all but 2 %", 0.98, 0.0),
)
"""Name, and the probabilities that a query falls and rises."""
QUERIES = (20, 40, 100, 200)
REPETITIONS = 6000
SEED = 2013
ROUNDING = 1e-9


def drawn(sizes: tuple[float, ...], down: float, up: float, n: int, repetitions: int, seed: int) -> Floats:
    """Draw the differences of n queries, shape (repetitions, n), each row ascending."""
    rng = np.random.default_rng([SEED, seed])
    u, size = rng.random((repetitions, n)), rng.choice(sizes, (repetitions, n))
    return np.sort(np.where(u < down, -size, np.where(u > 1 - up, size, 0.0)), axis=1)


def cell(what: str, change: tuple[str, float, float], n: int, repetitions: int, seed: int) -> dict[str, Any]:
    """Count the intervals that hold the truth, each distinct sample once."""
    name, down, up = change
    truth = (up - down) * float(np.mean(SIZES[what]))
    samples, counts = np.unique(drawn(SIZES[what], down, up, n, repetitions, seed), axis=0, return_counts=True)
    found, weights = [], counts / repetitions
    for values in samples:
        rule, t = mean_interval(values, limits=(-1.0, 1.0)), mean_interval(values)
        found.append((rule.low, rule.high, t.low, t.high))
    ends = np.array(found)
    row: dict[str, Any] = {"values": what, "queries": n, "change": name, "share": down + up}
    for of, low, high in (("", ends[:, 0], ends[:, 1]), ("t_", ends[:, 2], ends[:, 3])):
        above, below = weights @ (low > truth + ROUNDING), weights @ (high < truth - ROUNDING)
        row |= {f"{of}coverage": 1 - above - below, f"{of}above": above, f"{of}below": below}
    widths = (weights @ (ends[:, 1] - ends[:, 0])) / max(weights @ (ends[:, 3] - ends[:, 2]), ROUNDING)
    return {name: float(value) if isinstance(value, np.floating) else value for name, value in row.items()} | {
        "width_to_t": float(widths)
    }


def rows(repetitions: int) -> list[dict[str, Any]]:
    """Simulate every kind of value, change and number of queries."""
    listed = product(SIZES, CHANGES, QUERIES)
    return [cell(what, change, n, repetitions, seed) for seed, (what, change, n) in enumerate(listed)]


def table(result: dict[str, Any]) -> str:
    """Write the least and the worst of each kind of value and change, over the numbers of queries."""
    lines, found = [], result["rows"]
    for start in range(0, len(found), len(QUERIES)):
        group = found[start : start + len(QUERIES)]
        cells = [
            min(row["coverage"] for row in group),
            max(max(row["above"], row["below"]) for row in group),
            float(np.median([row["width_to_t"] for row in group])),
            min(row["t_coverage"] for row in group),
        ]
        first = group[0]
        lines.append([first["values"], f"{first['change']}, {first['share']:.0%}", *(f"{cell:.3f}" for cell in cells)])
    least, tail = min(row["coverage"] for row in found), max(max(row["above"], row["below"]) for row in found)
    worst = f"Of {len(found)} cells ({', '.join(map(str, QUERIES))} queries) the least coverage is {least:.3f}"
    head = ["values", "change", "coverage", "larger tail", "width / t", "coverage of t"]
    return "\n".join([*report.table(head, lines), "", f"{worst}, the largest tail {tail:.3f}.", ""])


EXPERIMENT = Experiment(
    __spec__,
    __doc__,
    lambda options: {"rows": rows(options.repetitions)},
    report=table,
    is_written=True,
    repetitions=REPETITIONS,
)


if __name__ == "__main__":
    EXPERIMENT.main()
