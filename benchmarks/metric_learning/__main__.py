"""The experiments on learning gains and discounts from preferences (Zhou, Zha, Chang and Xue), beside what they say.

    python -m benchmarks.metric_learning                      all of it, 20 repetitions
    python -m benchmarks.metric_learning --only web           one experiment; what is stored of the others is kept

Every figure is a mean over random repetitions with its standard error. Results go to
benchmarks/results/metric-learning.json, pictures beside it, and benchmarks/RESULTS.md is made anew.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks import tables
from benchmarks.machine import describe, store
from benchmarks.metric_learning import claims, web
from benchmarks.metric_learning.experiments import EXPERIMENTS, FEW_REPETITIONS, NEEDS_DATA
from benchmarks.metric_learning.running import run

MODULE, NAME = "benchmarks.metric_learning", "metric-learning"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the options choose; return the exit code."""
    parser = argparse.ArgumentParser(
        prog=f"python -m {MODULE}", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", action="append", choices=EXPERIMENTS, help="repeatable; all by default")
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=1, help="processes; no effect on results but times")
    parser.add_argument("--out", type=Path, default=tables.RESULTS, help="folder of the results")
    options = parser.parse_args(arguments)
    started = time.perf_counter()
    path = options.out / f"{NAME}.json"
    now = describe(MODULE, ("clarabel", "cvxpy"))
    result = json.loads(path.read_text()) if path.exists() else now | {"experiments": {}}
    if not options.only:
        result |= now
    for name in options.only or EXPERIMENTS:
        if name in NEEDS_DATA and not web.is_there():
            print(f"{name}: left out, the collections of the data kit are not at hand")
            continue
        repetitions = min(options.repetitions, FEW_REPETITIONS.get(name, options.repetitions))
        # times are taken alone
        found = run([EXPERIMENTS[name]], repetitions, 1 if name in FEW_REPETITIONS else options.jobs)
        result["experiments"][name] = found[name] | {key: now[key] for key in ("command", "git_commit")}
        result["experiments"] = {
            known: result["experiments"][known] for known in EXPERIMENTS if known in result["experiments"]
        }
        store(path, result | {"claims": claims.rows_of(result["experiments"])})
    print(f"{tables.write(options.out)}: {time.perf_counter() - started:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
