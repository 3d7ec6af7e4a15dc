"""Many systems in one sample: ``python -m benchmarks.many_systems``.

The 8 rankers of MQ2008 (parts 2 to 5, a forest that learned on part 1) and the 17 runs of TREC Robust 2003 (topics 601
to 650, cut at rank 100, a forest on what the runs say that learned on the older topics, which have no grade 2): one
sample for all pairs, by the default method of each measure, against passive samples of the same budget that are drawn
for one pair each. Where lists share little, as those of the 17 runs, a share of judging all lists pays for far more
queries of one pair, at 40 % for all of them (efficiency 0), and only one pair is then answered. How many times the
labels passive needs, mean, least and largest of all pairs; how often all 95 % simultaneous intervals hold at once; how
often an interval of one pair alone does, on the mean. Stores benchmarks/results/many-systems.json.
"""

from __future__ import annotations

import gzip
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np

from activeeval.core.design.methods import default_method
from activeeval.inputs.budgets import Budget
from activeeval.inputs.choices import Choices
from activeeval.inputs.prepared_case import PreparedCase, prepare
from activeeval.sampling.contests import Contest
from benchmarks.frame.experiment import Experiment, Options, Row
from benchmarks.frame.report import figure
from benchmarks.machine import data_folder
from benchmarks.pools import mq2008_files

SHARES = {"MQ2008": ("10%",), "Robust 2003": ("10%", "40%")}
AT_TEN = ("DCG@10", "ERR@10", "nDCG@10")
OVERHEADS = (0.0, 1.0, 5.0)
GRADED_TOPICS = range(601, 651)
COVERAGE = {"at_least": 94, "at_most": 98}
LEAST = {("MQ2008", "DCG"): 3, ("MQ2008", "ERR"): 4}
"""What the mean efficiency of all pairs is to reach at an overhead of 0."""


def mq2008(overhead: float, model: str) -> PreparedCase:
    """Return the case of the 8 rankers, each on its test parts."""
    home = data_folder() / "mq2008"
    rankers = sorted(path for path in (home / "rankers").iterdir() if path.is_dir())
    scores = [path for ranker in rankers for path in mq2008_files(ranker.name)[1:]]
    train, *letor = mq2008_files()
    choices = Choices(letor=letor, scores=scores, train=[train], overhead=overhead, model=model, seed=1)
    return prepare(choices, use_labels=True)


def robust03(overhead: float, model: str) -> PreparedCase:
    """Return the case of the 17 runs on the topics that have three grades."""
    home = data_folder() / "trec-robust03"
    with tempfile.TemporaryDirectory() as scratch:
        new, old = Path(scratch) / "new.txt", Path(scratch) / "old.txt"
        with gzip.open(home / "robust03_qrels.txt.gz", "rt") as lines:
            judged = list(lines)
        new.write_text("".join(line for line in judged if int(line.split()[0]) in GRADED_TOPICS))
        old.write_text("".join(line for line in judged if int(line.split()[0]) not in GRADED_TOPICS))
        runs = [str(path) for path in sorted((home / "runs").glob("input.*.gz"))]
        given = {"qrels": str(new), "train": (str(old),), "unjudged": "irrelevant", "pool_depth": 100}
        choices = Choices(runs=runs, overhead=overhead, model=model, max_grade=2, seed=1, **given)
        return prepare(choices, use_labels=True)


def rows_of(
    name: str, measures: Sequence[str], overhead: float, model: str, weights: str, options: Options
) -> Iterator[Row]:
    """Yield the figures of one collection at one overhead."""
    case = COLLECTIONS[name](overhead, model)
    for text in measures:
        method = default_method(case.target(text).measure).name
        contest = Contest.of(case, text, [method], weights=weights)
        budgets = [Budget.parse(share).of(*contest.targets) for share in SHARES[name]]
        found, told = contest.simulate(budgets, options.repetitions, rng=options.seed)
        for share, at_once in zip(SHARES[name], told, strict=True):
            own = [s for _, summaries in found for s in summaries if s.method == method and s.budget == at_once.budget]
            efficiencies = np.array([s.efficiency.value for s in own])
            what = f"{name}, {len(case.systems)} systems, {text}, {method}, {weights}, overhead {overhead:g}, {share}"
            bounds = {"at_least": LEAST[name, text]} if _is_target(name, text, overhead, model, weights) else {}
            note = f"± {at_once.efficiency.se:.2f}; from {efficiencies.min():.2f} to {efficiencies.max():.2f}"
            yield figure(f"{what}: efficiency", at_once.efficiency.value, "x", note=note, **bounds)
            note = f"± {100 * at_once.coverage.se:.2f}; {at_once.contrasts} pairs"
            held = 100 * at_once.coverage.value
            yield figure(f"{what}: all hold at once", held, "%", note=note, **(COVERAGE if name == "MQ2008" else {}))
            alone = 100 * np.mean([s.coverage.value for s in own])
            yield figure(f"{what}: one alone holds", alone, "%", note="mean over the pairs")


def _is_target(name: str, text: str, overhead: float, model: str, weights: str) -> bool:
    return (name, text) in LEAST and (overhead, model, weights) == (0.0, "forest", "equal")


COLLECTIONS = {"MQ2008": mq2008, "Robust 2003": robust03}

FULL = ("DCG", "ERR")
SECTIONS = {
    "mq2008": ("MQ2008, a forest from other queries", "MQ2008", (*FULL, *AT_TEN), "forest", ("equal",), OVERHEADS),
    "uniform": ("MQ2008 without any model", "MQ2008", FULL, "uniform", ("equal",), (1.0,)),
    "weights": ("MQ2008 balanced otherwise", "MQ2008", FULL, "forest", ("sum", "minimax"), (1.0,)),
    "robust": ("Robust 2003, a forest from older topics", "Robust 2003", AT_TEN, "forest", ("equal",), (1.0,)),
}


def section(options: Options, name: str) -> Iterator[Row]:
    """Yield the figures of a section."""
    _, pool, measures, model, balances, overheads = SECTIONS[name]
    for overhead, weights in product(overheads, balances):
        yield from rows_of(pool, measures, overhead, model, weights, options)


EXPERIMENT = Experiment(
    __spec__,
    __doc__,
    sections={name: (about[0], partial(section, name=name)) for name, about in SECTIONS.items()},
    repetitions=1000,
    seed=1,
)


if __name__ == "__main__":
    EXPERIMENT.main()
