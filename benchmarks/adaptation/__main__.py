"""Boosted trees adapted to clicks, Chen et al.'s experiments: ``python -m benchmarks.adaptation``.

Is the ranker that judges' grades taught better for users once their clicks have tuned it, and what does it lose? Three
cases: generated data of the sizes of DS1 and DS2, and MQ2008. The inconsistency test; μ, ν and B over λ for the three
algorithms with the scaling that the paper prints, and on a common scale; the best tuned model against its base and
three ranking SVMs. Five folds of queries. What each algorithm takes at 20,000 pairs, 300 trees and 20 leaves. Stores
benchmarks/results/adaptation.json, every claim beside it.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.adaptation.claims import best_algorithm, best_of, choices, claims, models
from benchmarks.adaptation.data import ALIKE, CASES, FOLDS, MQ2008_SHIFTS, SEED, SHIFTS
from benchmarks.adaptation.large import large_claims, measured_apart
from benchmarks.adaptation.report import markdown
from benchmarks.adaptation.running import EPOCHS, FINE, LAMBDAS, Folds, agreement, balanced, run, svms
from benchmarks.machine import ROOT, data_folder, describe, stay_on_one_core, store

MODULE = "benchmarks.adaptation"
REAL = "MQ2008"
AGREEING = "DS1"
"""Where SGD is run to its end; the more pairs, the longer that takes."""


def main() -> None:
    """Run, print, store."""
    parser = argparse.ArgumentParser(
        prog=f"python -m {MODULE}", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--case", action="append", choices=CASES, help="repeatable; all by default")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results" / "adaptation.json")
    options = parser.parse_args()
    stay_on_one_core(MODULE)
    result = describe(MODULE) | {"seed": SEED, "epochs_of_sgd": EPOCHS, "lambdas": list(LAMBDAS), "fine": list(FINE)}
    result |= {"shifts": SHIFTS, "shifts_of_mq2008": MQ2008_SHIFTS, "cases": {}, "claims": []}
    started = time.perf_counter()
    here = [name for name in CASES if name != REAL or (data_folder() / "mq2008").is_dir()]
    for name in options.case or here:
        found = measured(name, data_folder())
        result["claims"] += claims(name, found)
        result["cases"][name] = summed_up(found)
        print(f"{name}: {time.perf_counter() - started:.0f} s", flush=True)
    result["claims"].append(best_algorithm(result["cases"]))
    result["large"] = measured_apart()
    result["claims"] += large_claims(result["large"])
    result["seconds"] = round(time.perf_counter() - started)
    store(options.out, result)
    print(markdown(result))


def measured(name: str, folder: Path) -> dict[str, Any]:
    """Return all values of a case by fold; those of skewed features too where the features are generated."""
    case = CASES[name](folder)
    found = run(case, skewed=name != REAL) | {"sizes": case.sizes, "clicks": list(case.clicks)}
    found["alike"] = svms(ALIKE[name](folder))
    return found | ({"agreement": agreement(case, tuple(found["shapes"][0]))} if name == AGREEING else {})


def summed_up(found: dict[str, Any]) -> dict[str, Any]:
    """Return means and standard errors over the folds in the place of each fold's values."""
    scales = {
        scale: {how: list(map(_figures, held)) for how, held in found[scale].items()} for scale in ("printed", "common")
    }
    kept = {key: found[key] for key in ("sizes", "clicks", "shapes", "agreement") if key in found}
    named = {model: _figures(values) for model, values in models(found).items()}
    return kept | scales | {"models": named, "choices": choices(found), "best_of": best_of(found)}


def _figures(values: Folds | None) -> dict[str, list[float]] | None:
    if values is None:
        return None
    columns = dict(zip(("mu", "nu", "pi", "gap", "tau"), np.array(values).T, strict=True)) | {"b": balanced(values)}
    return {key: [float(one.mean()), float(one.std(ddof=1) / np.sqrt(FOLDS))] for key, one in columns.items()}


if __name__ == "__main__":
    main()
