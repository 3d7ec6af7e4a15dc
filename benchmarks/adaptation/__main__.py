"""Boosted trees adapted to clicks, Chen et al.'s experiments: ``python -m benchmarks.adaptation``.

Is the ranker that judges' grades taught better for users once their clicks have tuned it, and what does it lose? Six
cases. Generated: data of the sizes of DS1 and DS2 with a linear truth, and of DS1's with a bent one, ten worlds each.
Real judgments and features: MQ2008, OHSUMED and an excerpt of MSLR, in five folds of queries. The inconsistency test;
μ, ν and B over λ for the three algorithms with the scaling that the paper prints, and on a common scale; the best
tuned model against its base and three ranking SVMs. What each algorithm takes at 20,000 pairs, 300 trees and 20
leaves. Stores benchmarks/results/adaptation.json, every claim beside it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel

from benchmarks.adaptation.claims import best_algorithm, best_of, choices, claims, models, premise
from benchmarks.adaptation.data import REAL_SHIFTS, SEEDS, SHIFTS, SOURCES
from benchmarks.adaptation.large import METHODS, large_claims, measure
from benchmarks.adaptation.report import markdown
from benchmarks.adaptation.running import EPOCHS, FINE, LAMBDAS, Folds, agreement, balanced, run, svms
from benchmarks.frame.experiment import Experiment, Options, Row
from benchmarks.frame.processes import apart
from benchmarks.machine import data_folder, on_one_thread

AGREEING = "DS1"
"""Where SGD is run to its end; the more pairs, the longer that takes."""
N_JOBS = 2


def measured(name: str, folder: Path, seeds: tuple[int, ...], parallel: Any) -> dict[str, Any]:
    """Return all values of a case by fold, and of the ranking SVMs where users have the judges' taste."""
    cases, alike = (SOURCES[name].cases(folder, alike=is_alike, seeds=seeds) for is_alike in (False, True))
    found = run(cases, parallel) | {"sizes": cases[0].sizes, "clicks": list(cases[0].clicks)}
    found["alike"] = svms(alike, parallel)
    if name == AGREEING:
        found["agreement"] = agreement(cases[0], tuple(found["shapes"][0]))
    return found


def summed_up(found: dict[str, Any]) -> dict[str, Any]:
    """Return means and standard errors over the folds in the place of each fold's values."""
    scales = {
        scale: {how: list(map(_figures, held)) for how, held in found[scale].items()} for scale in ("printed", "common")
    }
    kept = {key: found[key] for key in ("is_independent", "sizes", "clicks", "shapes", "agreement") if key in found}
    named = {model: _figures(values) for model, values in models(found).items()}
    kept |= scales | {"models": named, "choices": choices(found), "best_of": best_of(found)}
    return kept | {"premise": premise(found)}


def _figures(values: Folds | None) -> dict[str, list[float]] | None:
    if values is None:
        return None
    columns = dict(zip(("mu", "nu", "pi", "gap", "tau"), np.array(values).T, strict=True)) | {"b": balanced(values)}
    return {key: [float(one.mean()), float(one.std(ddof=1) / np.sqrt(one.size))] for key, one in columns.items()}


def measure_all(options: Options) -> dict[str, Any]:
    """Measure the chosen cases, then what each method takes in a process of its own."""
    seeds = SEEDS[: options.seeds]
    result: Row = {"n_jobs": N_JOBS, "seeds": list(seeds), "epochs_of_sgd": EPOCHS, "cases": {}, "claims": []}
    result |= {"lambdas": list(LAMBDAS), "fine": list(FINE), "shifts": SHIFTS, "shifts_of_real": REAL_SHIFTS}
    with Parallel(n_jobs=N_JOBS) as parallel:
        for name in options.case:
            found = measured(name, data_folder(), seeds, parallel)
            result["claims"] += claims(name, found)
            result["cases"][name] = summed_up(found)
            print(f"{name}: done", flush=True)
    result["large"] = [apart(measure, method) for method in METHODS]
    result["claims"] += [best_algorithm(result["cases"]), *large_claims(result["large"])]
    return result


EXPERIMENT = Experiment(__spec__, __doc__, measure_all, report=markdown, case=tuple(SOURCES), seeds=len(SEEDS))


if __name__ == "__main__":
    on_one_thread(EXPERIMENT.module)
    EXPERIMENT.main()
