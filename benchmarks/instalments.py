"""Samples whose depths follow labels, as people judge them: ``python -m benchmarks.instalments``.

*Sheets*: campaigns in instalments on MQ2008, OHSUMED and passages of TREC DL 2021, nDCG@10, one ranking, a tenth of
what judging everything costs; how many sheets, how much of the budget is asked, in which share of samples what was kept
was enough, and in which the answer is that of one place at a time with nine tenths of the budget, bit for bit.

*Bias*: of one place at a time under a hard budget in pools of 3, 12 and 50 queries, 10⁵ repetitions, as a share of the
root mean squared error: the difference form, whose bound is a hundredth, the fitted one, and today's depth; and of
instalments in the pool of 12.

*Table*: MQ2008's nDCG@10 at overheads of 0, 1 and 5 items, how many times passive's labels, by looks.
Stores benchmarks/results/instalments.json.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from activeeval import METHODS, NDCG, Campaign, QueryPool, Rankings, Target
from activeeval.core.design import Design
from activeeval.core.simulation import replicate
from activeeval.core.simulation.replications import repetition_seeds
from benchmarks.coverage import MODELS
from benchmarks.history import BELIEFS, POOLS
from benchmarks.machine import ROOT, data_folder, describe, figure, show, store
from benchmarks.pools import mq2008

MODULE = "benchmarks.instalments"
SHARE, SEED, KEPT = 0.1, 1, 0.9
SIZES = {3: 0.6, 12: 0.5, 50: 0.3}
"""Queries of pools for bias, and which share of judging all of it the budget is: any query fits it alone."""
CASES, OVERHEADS = ("one ranking", "two rankers", "index update"), (0.0, 1.0, 5.0)
PARTS = ("sheets", "bias", "table")
Row = dict[str, Any]


def judged(design: Design, labels: Any, seed: Any, *, by_instalments: bool = True) -> Campaign:
    """Return a campaign judged to its end."""
    campaign = Campaign(design, rng=seed, by_instalments=by_instalments)
    while (unit := campaign.ask()) is not None:
        campaign.tell(unit, [int(labels[item]) for item in unit.items])
    return campaign


def sheets(options: argparse.Namespace) -> Iterator[Row]:
    """Yield the figures of campaigns in instalments."""
    for name, make in POOLS.items():
        pool, n = make(), options.campaigns
        labels, target = pool.inputs.grades, pool.target("nDCG@10", "one ranking", 0.0)
        for model in ("good", "uniform"):
            asked = MODELS[BELIEFS[model]](pool.beliefs).for_method(METHODS["depth"], pool.max_grade + 1)
            for looks in ("3", "1"):
                budget = SHARE * METHODS["passive"].design(target).cost
                design = METHODS["depth"].looking(looks).design(target, **asked, budget=budget)
                at_once = replicate(design, labels, [KEPT * budget], n, SEED).values[:, 0]
                started = time.perf_counter()
                done = [judged(design, labels, seed) for seed in repetition_seeds(SEED, n)]
                seconds = (time.perf_counter() - started) / n
                is_whole = np.array([each.n_complete_blocks == len(each.design.blocks) for each in done])
                same = np.array([each.estimate().value for each in done]) == at_once
                numbers = [each.paths.n_instalments for each in done]
                spent = [each.spent / budget for each in done]
                what = f"{name}, {model}, looks {looks}"
                more = {"most": max(numbers), "seconds": seconds}
                yield figure(f"{what}: sheets", float(np.mean(numbers)), "", **more)
                yield figure(f"{what}: asked", float(np.mean(spent)), "of the budget", most=max(spent))
                yield figure(f"{what}: enough was kept", float(is_whole.mean()), "of samples", at_least=0.95)
                yield figure(f"{what}: then the same", float(same[is_whole].mean()), "of samples", at_least=1.0)


def small(n_queries: int) -> tuple[Target, np.ndarray, np.ndarray]:
    """Return nDCG@3 of a pool of so many queries, its labels, and a model that is wrong about them."""
    random = np.random.default_rng(n_queries)
    sizes = random.integers(3, 9, n_queries)
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    names = [f"q{k}" for k in range(n_queries)]
    pool = QueryPool(names, offsets, [f"d{k}" for k in range(offsets[-1])], query_costs=np.full(n_queries, 0.5))
    target = Target(NDCG("exp", cutoff=3), Rankings.from_scores(pool, random.standard_normal(offsets[-1])))
    return target, random.integers(0, 3, offsets[-1]), random.dirichlet((0.6, 0.5, 0.4), offsets[-1])


def biases(options: argparse.Namespace) -> Iterator[Row]:
    """Yield biases over root mean squared errors."""
    for n, share in SIZES.items():
        target, labels, probs = small(n)
        truth = float(target.pool.query_probs @ target.values(labels))
        cost = METHODS["depth"].design(target, probs).cost
        for name, looks in (("depth_plain", "each"), ("depth_plain", "3"), ("depth", "each"), ("depth_plain", "off")):
            design = METHODS[name].looking(looks).design(target, probs)
            errors = replicate(design, labels, [share * cost], options.repetitions, SEED).values[:, 0] - truth
            yield _bias(f"{n} queries, {name}, looks {looks}", errors, name == "depth_plain")
    target, labels, probs = small(12)
    truth = float(target.pool.query_probs @ target.values(labels))
    design = METHODS["depth_plain"].looking("3").design(target, probs)
    design = design.with_budget(SIZES[12] * design.cost)
    done = [judged(design, labels, seed) for seed in repetition_seeds(SEED, options.instalments)]
    yield _bias("12 queries, depth_plain in instalments", np.array([each.estimate().value for each in done]) - truth)


def _bias(what: str, errors: np.ndarray, is_exact: bool = False) -> Row:
    rmse = math.sqrt(float((errors**2).mean()))
    more = {"standard_error": 1 / math.sqrt(errors.size), "repetitions": errors.size, "rmse": rmse}
    bias = abs(float(errors.mean())) / rmse
    return figure(f"bias of {what}", bias, "of the error", at_most=0.01 if is_exact else None, **more)


def table(options: argparse.Namespace) -> Iterator[Row]:
    """Yield how many times passive's labels each way of looking is worth."""
    pool = mq2008(data_folder())
    for case in CASES:
        for overhead in OVERHEADS:
            target = pool.target("nDCG@10", case, overhead)
            truth = float(pool.inputs.pool.query_probs @ target.values(pool.inputs.grades))
            passive = METHODS["passive"].design(target)
            budget, squares = SHARE * passive.cost, {}
            asked = pool.beliefs.for_method(METHODS["depth"], pool.max_grade + 1)
            designs = {"passive": passive}
            for looks in ("off", "1", "3", "each"):
                designs[looks] = METHODS["depth"].looking(looks).design(target, **asked)
            for looks, design in designs.items():
                run = replicate(design, pool.inputs.grades, [budget], options.rows, SEED)
                squares[looks] = (run.values[:, 0] - truth) ** 2
            for looks in ("off", "1", "3", "each"):
                times = float(squares["passive"].mean() / squares[looks].mean())
                relative = squares["passive"] / squares["passive"].mean() - squares[looks] / squares[looks].mean()
                error = times * float(relative.std()) / math.sqrt(relative.size)
                what = f"nDCG@10, {case}, overhead {overhead:g}, looks {looks}"
                yield figure(what, times, "times passive", standard_error=error)


def main() -> None:
    """Measure and store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=PARTS)
    parser.add_argument("--repetitions", type=int, default=100_000, help="for bias")
    parser.add_argument("--campaigns", type=int, default=60)
    parser.add_argument("--instalments", type=int, default=4_000, help="campaigns for their bias")
    parser.add_argument("--rows", type=int, default=1_000, help="repetitions for the table")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results" / "instalments.json")
    options = parser.parse_args()
    about, figures = describe(MODULE), {}
    for name, part in zip(PARTS, (sheets, biases, table), strict=True):
        if name in (options.only or PARTS):
            figures[name] = list(part(options))
            show(name, figures[name])
    store(options.out, {**about, "figures": figures})


if __name__ == "__main__":
    main()
