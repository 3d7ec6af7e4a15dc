"""What it takes to start: cold imports, what the first use compiles; and the replicated simulation."""

from __future__ import annotations

import statistics
import sys
import tempfile

import numpy as np

from activeeval import DCG, ERR, METHODS, Rankings, Target
from activeeval.core.grade_models import ForestGradeModel
from activeeval.core.pool.generated import generate_pool, noisy_scores
from activeeval.core.simulation import simulate
from activeeval.formats.text.letor import read_letor
from activeeval.formats.text.scores import read_scores_of
from activeeval.quickstart.demonstration import recipe_forest
from benchmarks.frame.processes import activeeval_command, run, wall_and_cpu
from benchmarks.frame.report import figure
from benchmarks.machine import data_folder, seconds
from benchmarks.main_job import PAPERS
from benchmarks.pools import scores_file

BUDGETS = (10.0, 20.0, 40.0, 80.0, 160.0)
PARTS = ("S1", "S2", "S3", "S4", "S5")
FOLD_THAT_TESTS = {"S1": 2, "S2": 3, "S3": 4, "S4": 5, "S5": 1}


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


def labelled_pool(seed: int):
    """Return pool, grades, probabilities from models that did not see the query, two rankings, and the source."""
    folder = data_folder() / "mq2008"
    if not folder.exists():
        print("no mq2008 in the data folder: a generated pool of its size is used")
        training, rest = generate_pool(320, seed).split(160)
        probs = recipe_forest(seed).fit(training.features, training.grades).predict_proba(rest.features)
        scores = probs @ np.arange(5)
        return rest.pool, rest.grades, probs, [scores, noisy_scores(scores, seed)], "generated, 160 queries"
    data = read_letor([folder / f"{part}.txt.gz" for part in PARTS])
    scores = [
        read_scores_of([scores_file(folder, ranker, FOLD_THAT_TESTS[part]) for part in PARTS], data)
        for ranker in ("RankBoost", "ListNet")
    ]
    part_of_row = np.repeat(np.arange(len(PARTS)), np.diff(data.file_offsets))
    probs = np.empty((data.n_items, 3))
    for part in range(len(PARTS)):
        model = ForestGradeModel(n_estimators=40, max_grade=2, random_state=seed)
        held_out = part_of_row == part
        model.fit(data.features[~held_out], data.grades[~held_out])
        probs[held_out] = model.predict_proba(data.features[held_out])
    return data.pool(), data.grades, probs, scores, "MQ2008, RankBoost against ListNet"


def time_simulation(repetitions: int, seed: int) -> dict:
    """Time the paper's methods at 5 budgets, summaries included, after a short run that compiles."""
    pool, grades, probs, scores, source = labelled_pool(seed)
    first, second = (Rankings.from_scores(pool, s) for s in scores)
    rows = []
    for measure in (DCG(), ERR(probs.shape[1] - 1)):
        for versus in (None, second):
            target = Target(measure, first, versus)
            designs = {name: METHODS[name].design(target, probs) for name in PAPERS}
            unit = designs["passive"].cost / target.pool.n_queries
            simulate(designs, grades, BUDGETS, 2, seed, unit=unit)
            taken = [
                seconds(lambda d=designs, u=unit: simulate(d, grades, BUDGETS, repetitions, seed, unit=u))
                for _ in range(3)
            ]
            what = f"{measure}, {'one ranking' if versus is None else 'comparison'}"
            rows.append(figure(what, statistics.median(taken), "s", at_most=3, times_s=taken))
    return {
        "pool": f"{source}: {pool.n_queries} queries, {pool.n_items} items",
        "repetitions": repetitions,
        "methods": list(PAPERS),
        "budgets": list(BUDGETS),
        "figures": rows,
    }
