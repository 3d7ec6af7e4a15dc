"""Every stored result again, in order, from one commit: ``python -m benchmarks.all``, or ``make figures``.

    python -m benchmarks.all [--only NAME] [--from NAME] [--fast] [--list]

Each step is a command of its own whose JSON records the commit; how many minutes it took goes to
benchmarks/results/minutes.json, and benchmarks/README.md, which says what stands where, is written from both. --fast
leaves out what takes an hour or more. Nothing is run while activeeval has changes that are not committed: figures are
of a commit.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from dataclasses import dataclass

from benchmarks.machine import ROOT, store

BENCHMARKS = ROOT / "benchmarks"
MINUTES = BENCHMARKS / "results" / "minutes.json"
LONG = 60


@dataclass(frozen=True, slots=True)
class Step:
    """A command, what its figures are, and the files that it writes, in benchmarks/."""

    name: str
    figures: str
    command: str
    files: tuple[str, ...]


def _paper(collection: str, options: str) -> Step:
    what = f"the paper's figures 1–6 and claims on {collection}: RESULTS.md"
    return Step(f"paper-{collection}", what, f"benchmarks.paper{options}", (f"results/paper-{collection}.json",))


STEPS = (
    Step(
        "generator",
        "how the generated collection was matched to MSLR-WEB30K: RESULTS.md",
        "benchmarks.paper --check-generator",
        ("results/mslr-like.json",),
    ),
    _paper("mslr-like", ""),
    *(_paper(name, f" --collection {name} --jobs 1") for name in ("mq2007-agg", "mq2008", "ohsumed")),
    Step(
        "metric-learning",
        "learning gains and discounts from preferences: RESULTS.md",
        "benchmarks.metric_learning --jobs 2",
        ("results/metric-learning.json",),
    ),
    Step(
        "coverage",
        "coverage and bias in fixed lists of cells, one of 30 to 50 queries; what cautions are worth",
        "benchmarks.coverage",
        ("results/coverage.json", "results/coverage.md"),
    ),
    Step(
        "gate-intervals",
        "intervals of a gate where few queries differ, t beside them",
        "benchmarks.gate_intervals",
        ("results/gate-intervals.json", "results/gate-intervals.md"),
    ),
    Step(
        "gate",
        "how often a gate stops a change, by number of queries: the table of docs/gate.md",
        "benchmarks.gate",
        ("results/gate.json",),
    ),
    Step(
        "population",
        "coverage of intervals for the population, by joint degrees of freedom and by those of the pool's part",
        "benchmarks.population",
        ("results/population.json",),
    ),
    Step(
        "peer-efficiency",
        "the best that a peer offers, in efficiency.md and readme-table.md",
        "benchmarks.peer_efficiency",
        ("results/peer-efficiency.json",),
    ),
    Step(
        "efficiency",
        "how many times the labels passive needs, limits, peers and the yardstick beside it; readme-table.md",
        "benchmarks.efficiency",
        ("results/efficiency.json", "results/efficiency.md"),
    ),
    Step(
        "baselines",
        "our defaults beside infAP, xinfAP, infNDCG, statAP, strata, active inference, pooling at equal cost",
        "benchmarks.baselines",
        ("results/baselines.json", "results/baselines.md"),
    ),
    Step(
        "uniform-factor",
        "what a query factor is worth where none was learned: σ = 1.2",
        "benchmarks.uniform_factor",
        ("results/uniform-factor.json",),
    ),
    Step(
        "graders",
        "graders that are machines over a design without a model, useless ones too; peers, and the bias that is left",
        "benchmarks.graders",
        ("results/graders.json",),
    ),
    Step(
        "asking",
        "whether to ask a machine, and about which items: as planned and as replayed",
        "benchmarks.asking",
        ("results/asking.json",),
    ),
    Step(
        "history",
        "depth that follows a query's own labels over depth that is planned, nDCG@10",
        "benchmarks.history --looks each --looks 3 --looks 1",
        ("results/history.json",),
    ),
    Step(
        "history-measures",
        "the same for RR@10, Success@10 and ERR@10",
        "benchmarks.history --repetitions 300 --measure RR@10 --measure Success@10 --measure ERR@10 --looks each "
        "--looks 3 --out benchmarks/results/history-measures.json",
        ("results/history-measures.json",),
    ),
    Step(
        "history-ideal",
        "the same for AP and R@20",
        "benchmarks.history --repetitions 300 --measure AP --measure R@20 --looks each --looks 3 "
        "--out benchmarks/results/history-ideal.json",
        ("results/history-ideal.json",),
    ),
    Step(
        "instalments",
        "samples whose depths follow labels, sheet by sheet; biases under a hard budget; nDCG@10 by looks",
        "benchmarks.instalments",
        ("results/instalments.json",),
    ),
    Step(
        "several-models",
        "several grade models in one sample against the best of them",
        "benchmarks.several_models",
        ("results/several-models.json",),
    ),
    Step(
        "adaptive",
        "rounds of judging that learn from each other, against one sample",
        "benchmarks.adaptive",
        ("results/adaptive.json",),
    ),
    Step(
        "savings",
        "savings on MQ2008 and TREC Robust 2003, beside random sampling without replacement",
        "benchmarks.savings",
        ("results/savings.json",),
    ),
    Step(
        "one-sample",
        "one sample for four questions, read early; what is spent of a hard budget: RESULTS.md",
        "benchmarks.one_sample",
        ("results/one-sample.json",),
    ),
    Step(
        "many-systems",
        "one sample for all pairs of 8 rankers and of 17 runs: RESULTS.md",
        "benchmarks.many_systems",
        ("results/many-systems.json",),
    ),
    Step(
        "topk",
        "ten rankers on graded and on top-k truth, the paper's claims: RESULTS.md",
        "benchmarks.topk",
        (
            "results/topk.json",
            "results/figures/topk-control.png",
            "results/figures/topk-ranks.png",
            "results/figures/topk-beta.png",
        ),
    ),
    Step(
        "adaptation",
        "boosted trees adapted to clicks, λ curves, ranking SVMs, time and memory, the paper's claims: RESULTS.md",
        "benchmarks.adaptation",
        ("results/adaptation.json", "results/figures/adaptation-lambda.png", "results/figures/adaptation-models.png"),
    ),
    Step(
        "user-study",
        "top-k labelling by simulated people beside the published study; comparisons by n, k and order: RESULTS.md",
        "benchmarks.user_study",
        ("results/user_study.json",),
    ),
    Step(
        "topk-ties",
        "how far the order of arrival moves a top-k truth with ties: RESULTS.md",
        "benchmarks.topk_ties",
        ("results/topk_ties.json",),
    ),
    Step(
        "traffic",
        "queries drawn from a log: how many stay, coverage for all its traffic, time and memory of 10 million events",
        "benchmarks.traffic",
        ("results/traffic.json",),
    ),
    Step(
        "nights",
        "ten nights of index updates, earlier labels known: RESULTS.md",
        "benchmarks.nights",
        ("results/nights.json",),
    ),
    Step(
        "watched",
        "thirty nights of a watch, every label counting on; delays: RESULTS.md",
        "benchmarks.watched",
        ("results/nights.json",),
    ),
    Step(
        "watched-alarms",
        "alarms of a watch on bad nights, false ones in 100 nights, how many intervals of values hold",
        "benchmarks.watched_alarms",
        ("results/watched-alarms.json",),
    ),
    Step(
        "watched-seconds",
        "what a night of a watch takes: RESULTS.md",
        "benchmarks.watched_seconds",
        ("results/nights.json",),
    ),
    Step(
        "effective-sample-size",
        "how right an effective sample size is, and how often one is given: RESULTS.md",
        "benchmarks.effective_sample_size",
        ("results/effective-sample-size.json",),
    ),
    Step(
        "planning",
        "what is planned beside what happens: half-widths, pilots, power, the time of a plan: RESULTS.md",
        "benchmarks.planning",
        ("results/planning.json",),
    ),
    Step(
        "segments",
        "half-widths by segment: what the least budget saves, and whether samples get there: RESULTS.md",
        "benchmarks.segments",
        ("results/segments.json",),
    ),
    Step(
        "forecasters",
        "two forecasts of the half-width at the end of a budget, beside what comes",
        "benchmarks.forecasters",
        ("results/forecasters.json",),
    ),
    Step("grade-models", "log-loss of the grade models", "benchmarks.grade_models", ("results/grade_models.json",)),
    Step(
        "peers",
        "speed beside the peers, estimates beside PPI++: RESULTS.md",
        "benchmarks.peers",
        ("results/peers.json",),
    ),
    Step(
        "sampling",
        "`activeeval sample` from start to end, four measures of arrays, what half the trees teach of the query factor",
        "benchmarks.sampling",
        ("results/sampling.json",),
    ),
    Step(
        "kernels", "kernels, readers, start-up, first use: RESULTS.md", "benchmarks.kernels", ("results/kernels.json",)
    ),
    Step(
        "whole-process",
        "`activeeval score` from start to end, reading LETOR, beside pytrec_eval",
        "benchmarks.whole_process",
        ("results/whole-process.json",),
    ),
    Step(
        "campaigns",
        "campaigns through the store: coverage with unreliable judges, kills, nights",
        "benchmarks.campaigns",
        ("results/campaigns.json",),
    ),
    Step(
        "looking",
        "seconds to look at a stored campaign, again after one more judgment, and for its report: RESULTS.md",
        "benchmarks.looking",
        ("results/looking.json",),
    ),
    Step(
        "advice",
        "advice that is followed: what it decides beside what it prints, false verdicts over four readings",
        "benchmarks.advice",
        ("results/advice.json",),
    ),
    Step(
        "house",
        "what the laws of the house ask for, counted, and things walked through it: RESULTS.md",
        "benchmarks.house",
        ("results/house.json",),
    ),
    Step(
        "durability",
        "what the store promises, with the tests that try to break it: RESULTS.md",
        "benchmarks.durability",
        ("results/durability.json",),
    ),
    Step(
        "page",
        "the judging page on SQLite: kills, pages that go on, the door, coverage, answers under load, start",
        "benchmarks.page --database SQLite --seconds 25 --kills 50 --through-http 600",
        ("results/page.json",),
    ),
    Step(
        "page-postgresql",
        "the judging page on PostgreSQL: kills, pages that go on, answers under load, start",
        "benchmarks.page --database PostgreSQL --seconds 25 --kills 50 --only kills --only pages --only answers "
        "--only start --json benchmarks/results/page-postgresql.json",
        ("results/page-postgresql.json",),
    ),
    Step("replication", "campaigns replayed a second", "benchmarks.replication", ("results/replication.json",)),
    Step("depth", "designs for a pool of MSLR-WEB30K's size", "benchmarks.depth", ("results/depth.json",)),
    Step(
        "sample-size",
        "size and time of a sample's file: RESULTS.md, docs/formats.md",
        "benchmarks.sample_size",
        ("results/sample-size.json",),
    ),
    Step(
        "scaling",
        "time and memory of pools in chunks: RESULTS.md",
        "benchmarks.scaling",
        ("results/scaling.json", "results/scaling.svg", "results/scaling.png"),
    ),
    Step(
        "engines",
        "processor time of engines over a pool in files, bytes that come back: RESULTS.md, docs/scale.md",
        "benchmarks.engines",
        ("results/engines.json",),
    ),
    *(
        Step(
            f"engines-{name}",
            f"the same by two processes, {what}: RESULTS.md",
            f"benchmarks.engines {words} --engine processes:2 --out benchmarks/results/engines-{name}.json",
            (f"results/engines-{name}.json",),
        )
        for name, what, words in (
            ("small", "10⁵ queries", "--queries 100000"),
            ("large", "10⁷ queries", "--queries 10000000"),
            ("depth", "method depth", "--queries 300000 --method depth"),
        )
    ),
    Step(
        "tables",
        "RESULTS.md, the papers' figures as pictures, a table of efficiencies: all from the files above",
        "benchmarks.tables",
        ("RESULTS.md", "results/readme-table.md"),
    ),
)
INTRODUCTION = """# What stands where

Every figure of README.md, RESULTS.md, results/efficiency.md and results/coverage.md is stored with the command and the
commit that made it. `make figures` (`python -m benchmarks.all`) makes all of them again, in this order; `--fast` leaves
out what takes an hour or more, `--only NAME` runs one. Minutes are those of the last run, on two cores. The data kit is
found through $ACTIVEEVAL_SHARED; without it the collections of LETOR and TREC are left out by the commands that need
them. The peers' Python is made once by `python -m benchmarks.peer_environment`; trec_eval, where it was built, is given
to `python -m benchmarks.peers --trec-eval PATH`.

"""
NOT_AGAIN = """
Not made again: `results/efficiency-poisson.json`, the yardstick of efficiency.md (Poisson samples of the same rates, as
they were drawn before levels took their place), and `results/scaling-10m.json` (`python -m benchmarks.scaling --method
items --method active --largest 10000000`), whose 10⁷ queries take more memory than most machines have.
"""


def readme(minutes: dict[str, float]) -> str:
    """Return the text of benchmarks/README.md."""
    lines = ["| figures | command | file | minutes |", "|---|---|---|---|"]
    for step in STEPS:
        taken = minutes.get(step.name)
        shown = "" if taken is None else f"{taken:.0f}" if taken >= 1 else "< 1"
        files = ", ".join(f"`{file}`" for file in step.files)
        lines.append(f"| {step.figures} | `python -m {step.command}` | {files} | {shown} |")
    return INTRODUCTION + "\n".join(lines) + "\n" + NOT_AGAIN


def stored_minutes() -> dict[str, float]:
    """Return the minutes of each step's last run."""
    return dict(json.loads(MINUTES.read_text())) if MINUTES.exists() else {}


def chosen(options: argparse.Namespace, minutes: dict[str, float]) -> list[Step]:
    """Return the steps to run."""
    names = [step.name for step in STEPS]
    steps = [step for step in STEPS if not options.only or step.name in options.only]
    if options.first:
        steps = [step for step in steps if names.index(step.name) >= names.index(options.first)]
    return [step for step in steps if not options.fast or minutes.get(step.name, 0.0) < LONG]


def commit() -> str:
    """Return the commit that the code is of, or stop where it is of none."""
    changed, head = (
        subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
        for words in (("status", "--porcelain", "activeeval"), ("rev-parse", "--short=12", "HEAD"))
    )
    if changed:
        raise SystemExit("activeeval has changes that are not committed: figures are of a commit")
    return head


def command(step: Step, head: str) -> list[str]:
    """Return what runs a step; what the paper's experiments keep for going on is kept by commit."""
    work = ["--work", f"benchmarks/work/{head}"] if step.name.startswith("paper-") else []
    return [sys.executable, "-m", *step.command.split(), *work]


def main() -> None:
    """Run what is chosen, one after the other."""
    names = [step.name for step in STEPS]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=names, help="repeatable")
    parser.add_argument("--from", dest="first", choices=names, help="this one and all after it")
    parser.add_argument("--fast", action="store_true", help="leave out what takes an hour or more")
    parser.add_argument("--list", action="store_true", help="run nothing, write benchmarks/README.md")
    options = parser.parse_args()
    minutes = stored_minutes()
    if not options.list:
        head = commit()
        for step in chosen(options, minutes):
            print(f"{step.name}: python -m {step.command}", flush=True)
            started = time.perf_counter()
            subprocess.run(command(step, head), cwd=ROOT, check=True)
            minutes[step.name] = round((time.perf_counter() - started) / 60, 1)
            store(MINUTES, minutes)
    (BENCHMARKS / "README.md").write_text(readme(minutes))


if __name__ == "__main__":
    main()
