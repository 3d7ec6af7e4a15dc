"""The experiments of Sawade, Bickel, von Oertzen, Scheffer and Landwehr (Machine Learning 92, 2013), section 5.

    python -m benchmarks.paper                        all figures on the generated 31,531-query collection
    python -m benchmarks.paper --figure 4             one figure; what is stored of the others is kept
    python -m benchmarks.paper --mslr ~/MSLR-WEB30K   on the real collection, its folders Fold1 … Fold5
    python -m benchmarks.paper --collection mq2008    on a collection of the data kit

One fold trains, the others are the pool; means over folds and repetitions, bars are standard errors. Our own
default methods (items for DCG, depth for ERR) are further lines, with fewer repetitions, at two budgets. What is
trained and repeated stays in the work folder, so a run that was broken off goes on where it was. Results go to
benchmarks/results/paper-COLLECTION.json, figures beside it, and benchmarks/RESULTS.md is made anew.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from activeeval.core.errors import ActiveEvalError
from benchmarks import tables
from benchmarks.machine import ROOT, data_folder, keep_freed_memory
from benchmarks.paper import likeness
from benchmarks.paper.folds import COLLECTIONS, Source, mslr, prepare, source_named
from benchmarks.paper.running import Run
from benchmarks.paper.whole import ALL_FIGURES, measure

WORK = ROOT / "benchmarks" / "work"
RESULTS = ROOT / "benchmarks" / "results"


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.paper", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--figure", type=int, action="append", choices=ALL_FIGURES, help="repeatable; all by default")
    parser.add_argument("--collection", choices=COLLECTIONS, default="mslr-like")
    parser.add_argument("--mslr", type=Path, metavar="DIR", help="MSLR-WEB30K or 10K as published, Fold1 … Fold5")
    parser.add_argument("--queries", type=_whole, help="size of the generated collection, 31,531 by default")
    parser.add_argument("--repetitions", type=_whole, default=5000)
    parser.add_argument("--own-repetitions", type=int, default=50, help="of our own methods; 0 leaves them out")
    parser.add_argument(
        "--jobs", type=_whole, default=2, help="processes, 5 GB each at full size; no effect on results"
    )
    parser.add_argument("--work", type=Path, default=WORK, help="what is trained and repeated is kept here")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the results")
    parser.add_argument(
        "--check-generator", action="store_true", help="hold the generator against the real sample, only"
    )
    return parser.parse_args(arguments)


def _whole(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {value}")
    return value


def _source(options: argparse.Namespace) -> Source:
    if options.mslr is not None:
        return mslr(options.mslr)
    return source_named(options.collection, data_folder(), options.queries)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the options choose; return the exit code."""
    options = _options(arguments)
    try:
        if options.check_generator:
            print(likeness.check(data_folder(), options.out))
            return 0
        started = time.perf_counter()
        collection = prepare(_source(options), options.work)
        job = Run(collection, options.repetitions, options.own_repetitions)
        figures = tuple(options.figure or ALL_FIGURES)
        measure(job, figures, options.jobs, options.out)
        path = tables.write(options.out)
    except ActiveEvalError as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nstopped; what is trained and repeated is kept, the same command goes on", file=sys.stderr)
        return 130
    print(f"{path}: {time.perf_counter() - started:.0f} s")
    return 0


if __name__ == "__main__":
    keep_freed_memory("benchmarks.paper")
    sys.exit(main())
