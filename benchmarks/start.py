"""What it takes to start: cold imports, what the first use compiles; and the replicated simulation."""

from __future__ import annotations

import statistics
import sys
import tempfile
from itertools import product

import numpy as np

from activeeval import METHODS
from activeeval.core.simulation import simulate
from benchmarks.frame.processes import activeeval_command, run, wall_and_cpu
from benchmarks.frame.report import figure
from benchmarks.machine import seconds
from benchmarks.main_job import PAPERS
from benchmarks.pools import CASES, load

BUDGETS = (10.0, 20.0, 40.0, 80.0, 160.0)


def time_start(repeats: int) -> dict:
    """Time new processes, then the first use."""
    return {"figures": time_commands(repeats) + first_use()}


def time_commands(repeats: int) -> list[dict]:
    """Time new processes; their files are in the system's cache."""
    program = activeeval_command()
    commands = {
        "python alone": ([sys.executable, "-c", "pass"], {}),
        "import activeeval": ([sys.executable, "-c", "import activeeval"], {"at_most": 0.5}),
        "activeeval --help": ([*program, "--help"], {"at_most": 0.5}),
        "activeeval simulate --help": ([*program, "simulate", "--help"], {}),
    }
    times = {name: [] for name in commands}
    for _ in range(repeats):
        for name, (command, _) in commands.items():
            times[name].append(seconds(run, command))
    return [
        figure(name, statistics.median(times[name]), "s", **target, minimum_s=min(times[name]), n=repeats)
        for name, (_, target) in commands.items()
    ]


def first_use() -> list[dict]:
    """Time the main job with an empty numba cache and again with the filled one; then with the default methods too."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as cache:
        command = [sys.executable, "-m", "benchmarks.main_job", folder]
        run(command)
        first, first_cpu = wall_and_cpu(lambda: run(command, environment={"NUMBA_CACHE_DIR": cache}))
        again = [wall_and_cpu(lambda: run(command, environment={"NUMBA_CACHE_DIR": cache})) for _ in range(3)]
        more, more_cpu = wall_and_cpu(lambda: run([*command, "--default"], environment={"NUMBA_CACHE_DIR": cache}))
        least, least_cpu = wall_and_cpu(lambda: run([*command, "--default"], environment={"NUMBA_CACHE_DIR": cache}))
    cached, cached_cpu = np.median(again, axis=0)
    rows = {
        "main job, nothing compiled yet": (first, first_cpu, {}),
        "main job, compiled before": (cached, cached_cpu, {}),
        "compiling the main job, once": (first - cached, first_cpu - cached_cpu, {"at_most": 15}),
        "compiling what the default methods add, once": (more - least, more_cpu - least_cpu, {}),
    }
    return [
        figure(name, wall, "s", **target, processor_s=float(cpu), note=f"{cpu:.2f} s of the processor")
        for name, (wall, cpu, target) in rows.items()
    ]


def time_simulation(repetitions: int, seed: int) -> dict:
    """Time the paper's methods at 5 budgets, summaries included, after a short run that compiles."""
    pool, rows = load("mq2008"), []
    for measure, case in product(("DCG", "ERR"), CASES[:2]):
        target = pool.target(measure, case, 0.0)
        designs = {name: METHODS[name].design(target, pool.beliefs.probs) for name in PAPERS}
        unit = designs["passive"].cost / target.pool.n_queries
        simulate(designs, pool.inputs.grades, BUDGETS, 2, seed, unit=unit)
        taken = [
            seconds(lambda d=designs, u=unit: simulate(d, pool.inputs.grades, BUDGETS, repetitions, seed, unit=u))
            for _ in range(3)
        ]
        rows.append(figure(f"{measure}, {case}", statistics.median(taken), "s", at_most=3, times_s=taken))
    return {
        "pool": f"{pool.name}: {pool.inputs.pool.n_queries} queries, {pool.inputs.pool.n_items} items",
        "repetitions": repetitions,
        "methods": list(PAPERS),
        "budgets": list(BUDGETS),
        "figures": rows,
    }
