"""Ten rankers on graded and on top-k truth: ``python -m benchmarks.topk``.

Five folds (three parts train, one tunes, one tests) of MQ2008 and MQ2007-agg, queries of more than five documents,
k = 5. *graded*: N@1 … 10 and ERR; models of the top learn a random total order according to the grades. *top-k*:
κ-N@1 … 10 and κ-ERR on truths whose order within a grade is that of a signal that was held back. β, C and iterations
are tuned by N@10, or κ-N@10; the β curve is of one fold. Stores benchmarks/results/topk.json, every claim of the paper
beside it.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from benchmarks.machine import ROOT, data_folder, describe, store
from benchmarks.topk.claims import claims
from benchmarks.topk.collections import COLLECTIONS
from benchmarks.topk.report import markdown
from benchmarks.topk.running import FOCUSED, beta_curve, run_fold, summed_up

MODULE = "benchmarks.topk"


def main() -> None:
    """Run, print, store."""
    parser = argparse.ArgumentParser(
        prog=f"python -m {MODULE}", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--collection", action="append", choices=COLLECTIONS, help="repeatable; all by default")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results" / "topk.json")
    options = parser.parse_args()
    result = describe(MODULE) | {"folds": {}, "beta": {}, "queries": {}}
    started = time.perf_counter()
    for name in options.collection or COLLECTIONS:
        collection = COLLECTIONS[name](data_folder())
        result["queries"][name] = collection.pool.n_queries
        for world in ("graded", "top-k"):
            result["folds"][f"{name} {world}"] = [run_fold(collection, world, fold) for fold in range(5)]
            print(f"{name}, {world}: {time.perf_counter() - started:.0f} s", flush=True)
        result["beta"][name] = {one: beta_curve(collection, one) for one in FOCUSED}
    result["seconds"] = round(time.perf_counter() - started)
    result["claims"] = claims(result)
    result["rankers"] = {case: summed_up(folds) for case, folds in result.pop("folds").items()}
    store(options.out, result)
    print(markdown(result))


if __name__ == "__main__":
    main()
