"""Ten rankers on graded and on top-k truth: ``python -m benchmarks.topk``.

Five folds (three parts train, one tunes, one tests) of MQ2007-agg with k = 10 as in the paper, MQ2008 with k = 5, and
two collections of about fifty queries, OHSUMED and an excerpt of MSLR-WEB10K. *graded*: N@1 … 10 and ERR; models of the
top learn a random total order according to the grades. *top-k*: κ-N@1 … 10 and κ-ERR on truths whose order within a
grade is that of a signal that was held back. All is tuned by N@10, or κ-N@10, with one grid for focused rankers and
their parents; curves over 21 β are of all folds. Published score files of the same queries beside ours. A control, ten
worlds for each of four angles between what chooses the top and what orders it. Stores benchmarks/results/topk.json,
every claim of the paper beside it.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from benchmarks.machine import ROOT, data_folder, describe, store
from benchmarks.topk.claims import against_published, claims, no_worse, on_control
from benchmarks.topk.collections import ANGLES, COLLECTIONS, PUBLISHED, Collection, control, published_scores
from benchmarks.topk.report import markdown
from benchmarks.topk.running import SPLIT, WORLDS, Fold, Parts, beta_curves, directions, run_fold
from benchmarks.topk.running import summed_up as means_of

MODULE = "benchmarks.topk"
SEEDS = range(10)
N_JOBS = 2
TWINS = {"AdaRank": "AdaRank", "RankBoost": "RankBoost", "RankSVM": "svm_rank"}
"""Our rankers and those published that are the same."""


def main() -> None:
    """Run, print, store."""
    parser = argparse.ArgumentParser(
        prog=f"python -m {MODULE}", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--collection", action="append", choices=COLLECTIONS, help="repeatable; all by default")
    parser.add_argument("--seeds", type=int, default=len(SEEDS), help="worlds of each angle of the control")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results" / "topk.json")
    options = parser.parse_args()
    result = describe(MODULE) | {"n_jobs": N_JOBS}
    started = time.perf_counter()
    with Parallel(n_jobs=N_JOBS) as parallel:
        result |= on_collections(options.collection or list(COLLECTIONS), data_folder(), parallel)
        print(f"collections: {time.perf_counter() - started:.0f} s", flush=True)
        result["control"] = on_angles(options.seeds, parallel)
    result["seconds"] = round(time.perf_counter() - started)
    store(options.out, result)
    print(markdown(result))


def on_collections(names: Iterable[str], folder: Path, parallel: Any) -> dict[str, Any]:
    """Return what rankers reach on real collections, curves over β, directions, published scores and claims."""
    result: dict[str, Any] = {"queries": {}, "k": {}, "rankers": {}, "beta": {}, "directions": {}}
    result |= {"claims": [], "published": [], "focused_boost": []}
    for name in names:
        collection = COLLECTIONS[name](folder)
        result["queries"][name], result["k"][name] = collection.pool.n_queries, collection.k
        cases = [(world, fold) for world in WORLDS for fold in range(5)]
        done = parallel(delayed(_one_fold)(collection, world, fold) for world, fold in cases)
        by_world = {world: [one for (at, _), one in zip(cases, done, strict=True) if at == world] for world in WORLDS}
        folds = {world: [one["found"] for one in found] for world, found in by_world.items()}
        curves = {world: _by_fold([one["curves"] for one in found]) for world, found in by_world.items()}
        result["rankers"] |= {f"{name} {world}": means_of(found) for world, found in folds.items()}
        result["beta"] |= {f"{name} {world}": curves[world] for world in WORLDS}
        result["directions"][name] = _means([one["directions"] for one in by_world["top-k"]])
        result["claims"] += claims(name, folds["graded"], folds["top-k"], curves)
        result["focused_boost"].append(no_worse(name, folds["top-k"]))
        if name in PUBLISHED:
            result["published"] += published(name, collection, folds["graded"], folder)
        print(f"{name}: done", flush=True)
    return result


def _one_fold(collection: Collection, world: str, number: int) -> dict[str, Any]:
    fold = Fold(collection, world, Parts.of_fold(number))
    found = run_fold(fold)
    both = {"found": found, "curves": beta_curves(fold, found)}
    return both | ({"directions": directions(fold)} if world == "top-k" else {})


def _by_fold(curves: list[dict[str, dict[str, list[float]]]]) -> dict[str, dict[str, list[list[float]]]]:
    return {name: {panel: [one[name][panel] for one in curves] for panel in curves[0][name]} for name in curves[0]}


def _means(shares: list[dict[str, np.ndarray]]) -> dict[str, float]:
    return {key: float(np.nanmean(np.concatenate([one[key] for one in shares]))) for key in shares[0]}


def published(name: str, collection: Collection, folds: list[dict[str, Any]], folder: Path) -> list[dict[str, Any]]:
    """Return our graded values beside those of published scores, query by query of the same folds."""
    values = {}
    for ours, theirs in TWINS.items():
        scores = published_scores(name, theirs, folder)
        pairs = []
        for number, found in enumerate(folds):
            fold = Fold(collection, "graded", Parts.of_fold(number))
            rows = collection.rows(fold.parts.test)
            _, labels, queries = fold.judged(fold.parts.test, fold.truth)
            pairs.append((found[ours]["values"]["N@10"], fold.values_of(scores[rows], labels, queries)["N@10"]))
        values[f"{ours}, {theirs}"] = tuple(np.concatenate(one) for one in zip(*pairs, strict=True))
    return against_published(name, values)


def on_angles(n_seeds: int, parallel: Any) -> dict[str, Any]:
    """Return what rankers reach on generated worlds, by the angle of their two directions."""
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


if __name__ == "__main__":
    main()
