"""Repetitions: each experiment with its own seeds, rows averaged over repetitions with standard errors."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed

from benchmarks.frame.report import Row

SEED = 2010
Found = tuple[str, Row, dict[str, float]]
Experiment = Callable[[np.random.Generator], Iterator[Found]]


@dataclass(frozen=True, slots=True)
class Job:
    """An experiment: a function that yields (table, keys, values) for one repetition."""

    name: str
    number: int
    run: Experiment

    def rng(self, repetition: int) -> np.random.Generator:
        """Return the generator of a repetition, whatever else is run."""
        own = np.random.SeedSequence(SEED, spawn_key=(self.number,))
        return np.random.default_rng(own.spawn(repetition + 1)[repetition])


def run(jobs: list[Job], repetitions: int, n_jobs: int) -> dict[str, Row]:
    """Return by experiment its averaged tables and the seconds of all its repetitions."""
    tasks = [(job, repetition) for job in jobs for repetition in range(repetitions)]
    done = Parallel(n_jobs=n_jobs)(delayed(_once)(job, repetition, repetitions) for job, repetition in tasks)
    results = {}
    for job in jobs:
        own = [found for (task, _), found in zip(tasks, done, strict=True) if task is job]
        seconds = sum(taken for _, taken in own)
        tables = averaged([found for found, _ in own])
        results[job.name] = {"repetitions": repetitions, "seconds": seconds, "tables": tables}
    return results


def _once(job: Job, repetition: int, repetitions: int) -> tuple[list[Found], float]:
    start = time.process_time()
    found = list(job.run(job.rng(repetition)))
    taken = time.process_time() - start
    if repetition == repetitions - 1:
        print(f"{job.name}: {taken:.1f} s a repetition", flush=True)
    return found, taken


def averaged(repetitions: list[list[Found]]) -> dict[str, list[Row]]:
    """Return the rows of each table: keys, and of every value its mean and ``_se``, its standard error.

    What a repetition says several times under the same keys, as of five folds, is averaged within it first. What is
    undefined in a repetition (NaN) is left out.
    """
    cells: dict[tuple[str, tuple], dict[str, list[list[float]]]] = {}
    for number, found in enumerate(repetitions):
        for table, keys, values in found:
            cell = cells.setdefault((table, tuple(keys.items())), {})
            for name, value in values.items():
                held = cell.setdefault(name, [])
                held.extend([] for _ in range(number + 1 - len(held)))
                held[number].append(float(value))
    tables: dict[str, list[Row]] = {}
    for (table, keys), cell in cells.items():
        row: Row = dict(keys)
        for name, held in cell.items():
            row |= _mean(name, held)
        tables.setdefault(table, []).append(row)
    return tables


def _mean(name: str, held: list[list[float]]) -> Row:
    of_each = np.array([np.mean(kept) for one in held if (kept := [v for v in one if not np.isnan(v)])])
    if not of_each.size:
        return {name: None, f"{name}_se": None}
    error = float(of_each.std(ddof=1) / np.sqrt(of_each.size)) if of_each.size > 1 else None
    return {name: float(of_each.mean()), f"{name}_se": error}
