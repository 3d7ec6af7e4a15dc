"""How many campaigns a second are replayed: ``python -m benchmarks.replication [--baseline CHECKOUT]``.

`items` for DCG of one ranking, 1,800 queries of 120 items, a query factor of nine nodes, turning to a query costing as
much as five items, budgets of 15, 60 and 120 queries judged whole. Seconds are those of the processor, the least of
several rounds. With a checkout of an earlier version its replications are timed beside these, round by round, each in
a process of its own. What no arrangement can do without is counted: a number hashed for every place of the queries
that enter, and the nodes of the factor weighed for every label; both are timed alone.
Stores benchmarks/results/replication.json.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from activeeval import DCG, METHODS, QueryFactor, QueryPool, Rankings, Target, replicate

N_QUERIES, N_ITEMS, OVERHEAD = 1800, 120, 5.0
BUDGETS = (15, 60, 120)
FEW, TOGETHER = 20, 400
TIMES_AS_FAST = 4
ROOT = Path(__file__).resolve().parent.parent


def campaign_to_replay() -> tuple[Any, np.ndarray]:
    """Return the design, of this version or of one whose methods make plans, and the grades."""
    random = np.random.default_rng(0)
    offsets = np.arange(N_QUERIES + 1) * N_ITEMS
    pool = QueryPool(np.arange(N_QUERIES).astype(str), offsets, query_costs=np.full(N_QUERIES, OVERHEAD))
    probs = random.dirichlet((5, 3, 1.3, 0.3, 0.2), size=pool.n_items)
    grades = (random.random((pool.n_items, 1)) > probs.cumsum(axis=1)[:, :-1]).sum(axis=1)
    target = Target(DCG().bound_to(4), Rankings.from_scores(pool, probs @ np.arange(5)))
    factor, method = QueryFactor(sigma=1.0), METHODS["items"]
    make = getattr(method, "plan", method.design)
    return make(target, factor.node_probs(probs), node_weights=factor.node_weights), grades


def seconds_each(repetitions: int, rounds: int) -> list[float]:
    """Return the seconds of one more replication at each budget: what is done once for all is left out."""
    design, grades = campaign_to_replay()

    def seconds(budget: float, n: int) -> float:
        started = time.process_time()
        replicate(design, grades, [budget], n, 1)
        return time.process_time() - started

    found = []
    for queries in BUDGETS:
        budget = queries * (N_ITEMS + OVERHEAD)
        seconds(budget, FEW)
        taken = [seconds(budget, FEW + repetitions) - seconds(budget, FEW) for _ in range(rounds)]
        found.append(min(taken) / repetitions)
    return found


def least_work(rounds: int) -> list[tuple[int, int, float, float]]:
    """Return numbers to hash and labels to weigh in a replication at each budget, and the seconds of either alone."""
    from activeeval.core.kernels import numbers
    from activeeval.core.pool import key_of

    design, grades = campaign_to_replay()
    order, judge, found = design.order, design.reading().judge(grades), []
    keys = np.array([key_of(r) for r in range(TOGETHER)])
    for queries in BUDGETS:
        budget = np.array([queries * (N_ITEMS + OVERHEAD)])
        pi, a = order.inclusion_probs(order.level_for(budget[0]))
        n_numbers, room = int(pi @ np.diff(order.offsets)), np.empty((1, order.items.size))
        limit = design.scheme.limit(order, budget[-1])
        _, (selections,) = next(iter(design.scheme.samples(order, keys, budget, limit)))
        hashing, weighing = [], []
        for _ in range(10 * rounds):
            started = time.process_time()
            numbers.uniforms(np.uint64(7), order.hashes[:n_numbers], 1, room[:, :n_numbers])
            hashing.append(time.process_time() - started)
            started = time.process_time()
            judge.totals(selections)
            weighing.append((time.process_time() - started) / selections.costs.size)
        found.append((n_numbers, int(a.sum()), min(hashing), min(weighing)))
    return found


def run(checkout: Path, repetitions: int) -> list[float]:
    """Return the seconds of one replication with the package of a checkout."""
    command = [sys.executable, str(Path(__file__).resolve()), "--time", str(repetitions)]
    environment = os.environ | {"PYTHONPATH": str(checkout.resolve())}
    done = subprocess.run(command, env=environment, cwd=checkout, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def compare(baseline: Path | None, repetitions: int, rounds: int) -> list[dict[str, Any]]:
    """Return the figures of this version, and of a baseline where there is one."""
    from benchmarks.machine import figure

    checkouts = {"this": ROOT} | ({"baseline": baseline} if baseline else {})
    taken: dict[str, list[list[float]]] = {name: [] for name in checkouts}
    for _ in range(rounds):
        for name, checkout in checkouts.items():
            taken[name].append(run(checkout, repetitions))
    least = {name: np.min(found, axis=0) for name, found in taken.items()}
    rows, floors = [], least_work(rounds)
    for k, queries in enumerate(BUDGETS):
        what = f"items, budget of {queries} queries"
        rows.append(figure(what, 1 / least["this"][k], "a second", note=f"{1000 * least['this'][k]:.3f} ms each"))
        n_numbers, n_labels, hashing, weighing = floors[k]
        rows.append(figure(f"{what}, hashing alone", 1000 * hashing, "ms", note=f"{n_numbers:,} places looked at"))
        note = f"{n_labels:,} labels at nine nodes"
        rows.append(figure(f"{what}, weighing alone", 1000 * weighing, "ms", note=note))
        if baseline:
            ratio, note = least["baseline"][k] / least["this"][k], f"{1000 * least['baseline'][k]:.3f} ms each before"
            rows.append(figure(f"{what}, times as fast", ratio, "x", at_least=TIMES_AS_FAST, note=note))
    return rows


def main() -> None:
    """Measure, print, store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--baseline", type=Path, help="a checkout of the version to compare with")
    parser.add_argument("--repetitions", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--time", type=int, metavar="N", help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results" / "replication.json")
    args = parser.parse_args()
    if args.time:
        print(json.dumps(seconds_each(args.time, args.rounds)))
        return
    from benchmarks.machine import describe, show, store

    result = describe("benchmarks.replication")
    rows = compare(args.baseline, args.repetitions, args.rounds)
    show("Replicated campaigns", rows)
    store(args.out, result | {"sections": {"items": {"title": "Replicated item designs", "figures": rows}}})


if __name__ == "__main__":
    main()
