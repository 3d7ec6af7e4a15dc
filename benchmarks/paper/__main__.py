"""The experiments of Sawade, Bickel, von Oertzen, Scheffer and Landwehr (Machine Learning 92, 2013), section 5.

    python -m benchmarks.paper                        all figures on the generated 31,531-query collection
    python -m benchmarks.paper --mslr ~/MSLR-WEB30K   on the real collection, its folders Fold1 … Fold5
    python -m benchmarks.paper --collection mq2008    on a collection of the data kit

One fold trains, the others are the pool; means over folds and repetitions, bars are standard errors. Our own
default methods (items for DCG, depth for ERR) are further lines, with fewer repetitions, at two budgets. What is
trained and repeated stays in the work folder, so a run that was broken off goes on where it was. Results go to
benchmarks/results/paper-COLLECTION.json, figures beside it, and benchmarks/RESULTS.md is made anew.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from activeeval.core.errors import ActiveEvalError
from benchmarks import tables
from benchmarks.frame.experiment import RESULTS, Experiment
from benchmarks.machine import ROOT, data_folder, keep_freed_memory
from benchmarks.paper import likeness
from benchmarks.paper.folds import COLLECTIONS, mslr, prepare, source_named
from benchmarks.paper.running import Run
from benchmarks.paper.whole import measure

WORK = ROOT / "benchmarks" / "work"


EXPERIMENT = Experiment(
    __spec__,
    __doc__,
    out=RESULTS,
    collection={"choices": COLLECTIONS, "default": "mslr-like"},
    mslr={"type": Path, "help": "folder of MSLR-WEB30K or 10K as published, Fold1 … Fold5"},
    queries={"type": int, "help": "size of the generated collection, 31,531 by default"},
    repetitions=5000,
    own_repetitions=50,
    jobs=2,
    work={"type": Path, "default": WORK, "help": "folder that keeps what is trained and repeated"},
    check_generator=False,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the options choose; return the exit code."""
    options = EXPERIMENT.parse(arguments)
    try:
        if options.check_generator:
            print(likeness.check(data_folder(), options.out))
            return 0
        started = time.perf_counter()
        named = (options.collection, data_folder(), options.queries)
        collection = prepare(mslr(options.mslr) if options.mslr else source_named(*named), options.work)
        job = Run(collection, options.repetitions, options.own_repetitions)
        measure(job, options.jobs, options.out)
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
