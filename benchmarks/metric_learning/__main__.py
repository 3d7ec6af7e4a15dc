"""The experiments on learning gains and discounts from preferences (Zhou, Zha, Chang and Xue), beside what they say.

    python -m benchmarks.metric_learning                      all of it, 20 repetitions
    python -m benchmarks.metric_learning --only web           one experiment; what is stored of the others is kept

Every figure is a mean over random repetitions with its standard error. Results go to
benchmarks/results/metric-learning.json; `python -m benchmarks.tables` draws them.
"""

from __future__ import annotations

from typing import Any

from benchmarks.frame.experiment import RESULTS, Experiment, Options, stored
from benchmarks.machine import describe
from benchmarks.metric_learning import claims, web
from benchmarks.metric_learning.experiments import EXPERIMENTS, FEW_REPETITIONS, NEEDS_DATA
from benchmarks.metric_learning.running import run


def measure(options: Options) -> dict[str, Any]:
    """Run the chosen experiments; what is stored of the others is kept, each with its command and commit."""
    done = dict(stored(options.out).get("experiments", {}))
    about = describe(EXPERIMENT.module)
    for name in options.only or EXPERIMENTS:
        if name in NEEDS_DATA and not web.is_there():
            print(f"{name}: left out, the collections of the data kit are not at hand")
            continue
        repetitions = min(options.repetitions, FEW_REPETITIONS.get(name, options.repetitions))
        # times are taken alone
        found = run([EXPERIMENTS[name]], repetitions, 1 if name in FEW_REPETITIONS else options.jobs)
        done[name] = found[name] | {key: about[key] for key in ("command", "git_commit")}
    experiments = {name: done[name] for name in EXPERIMENTS if name in done}
    # a result keeps the command that ran all of it
    whole = {key: value for key, value in stored(options.out).items() if options.only and key in about}
    return whole | {"experiments": experiments, "claims": claims.rows_of(experiments)}


EXPERIMENT = Experiment(
    __spec__,
    __doc__,
    measure,
    packages=("clarabel",),
    out=RESULTS / "metric-learning.json",
    only={"action": "append", "choices": list(EXPERIMENTS), "help": "repeatable; all by default"},
    repetitions=20,
    jobs=1,
)


if __name__ == "__main__":
    EXPERIMENT.main()
