"""Ten rankers on graded and on top-k truth: ``python -m benchmarks.topk``.

Five folds (three parts train, one tunes, one tests) of MQ2007-agg with k = 10 as in the paper, MQ2008 with k = 5, and
two collections of about fifty queries, OHSUMED and an excerpt of MSLR-WEB10K. *graded*: N@1 … 10 and ERR; models of the
top learn a random total order according to the grades. *top-k*: κ-N@1 … 10 and κ-ERR on truths whose order within a
grade is that of a signal that was held back. All is tuned by N@10, or κ-N@10, with one grid for focused rankers and
their parents; curves over 21 β are of all folds. A control, ten worlds for each of four angles between what chooses the
top and what orders it. Stores benchmarks/results/topk.json, every claim of the paper beside it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from benchmarks.frame.experiment import Experiment, Options, stored
from benchmarks.machine import data_folder, describe
from benchmarks.topk.claims import claims, no_worse, on_control
from benchmarks.topk.collections import ANGLES, COLLECTIONS, Collection, control
from benchmarks.topk.report import markdown
from benchmarks.topk.running import SPLIT, WORLDS, Fold, Parts, beta_curves, directions, run_fold, summed_up as means_of

SEEDS = range(10)
CONTROL = "control"
BY_NAME, BY_ROW = ("queries", "k", "rankers", "beta", "directions"), ("claims", "focused_boost")
"""Parts of a result: mappings whose keys begin with a collection's name, and rows that name one as their data."""


def merged(before: dict[str, Any], made: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return a result in which some collections are replaced; all keep the order of `COLLECTIONS`."""
    replaced = set(names)
    result = {key: before[key] for key in (CONTROL, "origins") if key in before}
    for part in BY_NAME:
        held = {key: value for key, value in before.get(part, {}).items() if key.split()[0] not in replaced}
        both = held | made.get(part, {})
        result[part] = {key: both[key] for name in COLLECTIONS for key in both if key.split()[0] == name}
    for part in BY_ROW:
        rows = [row for row in before.get(part, []) if row["data"] not in replaced] + made.get(part, [])
        result[part] = [row for name in COLLECTIONS for row in rows if row["data"] == name]
    return result


def on_collection(name: str, folder: Path, parallel: Any) -> dict[str, Any]:
    """Measure rankers on a real collection: curves over β, directions, published scores and claims."""
    collection = COLLECTIONS[name](folder)
    cases = [(world, fold) for world in WORLDS for fold in range(5)]
    done = parallel(delayed(_one_fold)(collection, world, fold) for world, fold in cases)
    by_world = {world: [one for (at, _), one in zip(cases, done, strict=True) if at == world] for world in WORLDS}
    folds = {world: [one["found"] for one in found] for world, found in by_world.items()}
    curves = {world: _by_fold([one["curves"] for one in found]) for world, found in by_world.items()}
    return {
        "queries": {name: collection.pool.n_queries},
        "k": {name: collection.k},
        "rankers": {f"{name} {world}": means_of(found) for world, found in folds.items()},
        "beta": {f"{name} {world}": curves[world] for world in WORLDS},
        "directions": {name: _means([one["directions"] for one in by_world["top-k"]])},
        "claims": claims(name, folds["graded"], folds["top-k"], curves),
        "focused_boost": [no_worse(name, folds["top-k"])],
    }


def _one_fold(collection: Collection, world: str, number: int) -> dict[str, Any]:
    fold = Fold(collection, world, Parts.of_fold(number))
    found = run_fold(fold)
    both = {"found": found, "curves": beta_curves(fold, found)}
    return both | ({"directions": directions(fold)} if world == "top-k" else {})


def _by_fold(curves: list[dict[str, dict[str, list[float]]]]) -> dict[str, dict[str, list[list[float]]]]:
    return {name: {panel: [one[name][panel] for one in curves] for panel in curves[0][name]} for name in curves[0]}


def _means(shares: list[dict[str, np.ndarray]]) -> dict[str, float]:
    return {key: float(np.nanmean(np.concatenate([one[key] for one in shares]))) for key in shares[0]}


def on_angles(n_seeds: int, parallel: Any) -> dict[str, Any]:
    """Measure rankers on generated worlds, by the angle of their two directions."""
    cases = [(angle, seed) for angle in ANGLES for seed in range(n_seeds)]
    done = parallel(delayed(_one_world)(angle, seed) for angle, seed in cases)
    result: dict[str, Any] = {"rows": [], "rankers": {}, "directions": {}}
    for angle in ANGLES:
        worlds = [one for (at, _), one in zip(cases, done, strict=True) if at == angle]
        result["rows"] += on_control(angle, [one["found"] for one in worlds])
        result["rankers"][str(angle)] = means_of([one["found"] for one in worlds])
        result["directions"][str(angle)] = _means([one["directions"] for one in worlds])
    return result


def _one_world(angle: float, seed: int) -> dict[str, Any]:
    fold = Fold(control(angle, seed), "top-k", SPLIT)
    return {"found": run_fold(fold), "directions": directions(fold)}


def measure(options: Options) -> dict[str, Any]:
    """Run the chosen collections and the control; others stay as the file has them."""
    before = stored(options.out) if len(options.collection) < len(PARTS) else {}
    result, origins = merged(before, {}, []), dict(before.get("origins", {}))
    with Parallel(n_jobs=options.jobs) as parallel:
        for name in (part for part in PARTS if part in options.collection):
            origins[name], started = describe(EXPERIMENT.module) | {"n_jobs": options.jobs}, time.perf_counter()
            if name == CONTROL:
                result[CONTROL] = on_angles(options.seeds, parallel)
            else:
                result |= merged(result, on_collection(name, data_folder(), parallel), [name])
            origins[name]["seconds"] = round(time.perf_counter() - started)
            print(f"{name}: {origins[name]['seconds']} s", flush=True)
    return result | {"origins": {name: origins[name] for name in PARTS if name in origins}}


PARTS = (*COLLECTIONS, CONTROL)
EXPERIMENT = Experiment(__spec__, __doc__, measure, report=markdown, collection=PARTS, seeds=len(SEEDS), jobs=2)


if __name__ == "__main__":
    EXPERIMENT.main()
