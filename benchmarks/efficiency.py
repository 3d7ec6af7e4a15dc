"""How many times the labels passive needs for the precision of each method: ``python -m benchmarks.efficiency``.

Every method × {DCG, ERR, nDCG@10} × {one ranking, two rankers, index update} × judged pools × budgets of 2 to 30 %
of what judging the whole pool costs (10 % for the large one), with a forest that was trained on other queries, at an
overhead of five items a query; at overheads of one item and none, and with a useless (uniform) model, a few methods.
Passive is Algorithm 1 with q = p and full lists; passive@10 and passive@20 judge the head of every list alone and take
it for the whole.
Stores every row in benchmarks/results/efficiency.json and the tables in benchmarks/results/efficiency.md; rows of other
pools, models or overheads that are already there are kept.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace

import numpy as np
from joblib import Parallel, delayed

from activeeval import Target, parse_measure
from activeeval.methods import METHODS
from activeeval.modelling import GradeBeliefs, uniform_beliefs
from activeeval.simulation import replicate, simulate
from benchmarks.machine import ROOT, describe
from benchmarks.pools import POOLS, JudgedPool, load

MEASURES = ("DCG", "ERR", "nDCG@10")
CASES = ("one ranking", "two rankers", "index update")
SHARES = (0.02, 0.05, 0.1, 0.2, 0.3)
LARGE, SHARES_OF_LARGE = 5000, (0.1,)
OVERHEADS = (5.0, 1.0, 0.0)
HEADS = (10, 20)
MODELS = ("forest", "uniform", "uniform + factor")
FEW = ("passive", "active", "greg", "depth", "items")
RESULTS = ROOT / "benchmarks" / "results"
KEPT = ("method", "budget", "rmse", "bias", "bias_se", "coverage", "coverage_se", "width", "undetermined")
KEPT += ("queries", "items", "spent", "spent_sd", "efficiency", "efficiency_se")


def affordable(target: Target, shares: tuple[float, ...]) -> list[tuple[float, float]]:
    """Return shares and budgets that pay for the dearest single query, which passive needs."""
    costs = METHODS["passive"].plan(target).stage.costs
    return [(share, share * costs.sum()) for share in shares if share * costs.sum() >= costs.max()]


def believed(pool: JudgedPool, model: str) -> GradeBeliefs:
    """Return what a model believes of a pool's grades."""
    if model == "forest":
        return pool.beliefs
    return uniform_beliefs(pool.workload.pool.n_items, pool.max_grade, with_factor=model == "uniform + factor")


def run(pool: JudgedPool, model: str, overhead: float, measure: str, case: str, args: argparse.Namespace) -> list[dict]:
    """Return the rows of one case."""
    return run_with(believed(pool, model), pool, model, overhead, measure, case, args)


def run_with(
    beliefs: GradeBeliefs,
    pool: JudgedPool,
    model: str,
    overhead: float,
    measure: str,
    case: str,
    args: argparse.Namespace,
) -> list[dict]:
    """Return the rows of one case under what is believed of the grades; ``model`` is its name."""
    workload = pool.workload.with_costs(pool.workload.pool.item_costs, overhead)
    versus = pool.versus(case)
    versus = None if versus is None else versus.restricted_to(workload.pool, np.arange(workload.pool.n_items))
    target = Target(parse_measure(measure).bound_to(pool.max_grade), workload.ranking, versus)
    names = [name for name, method in METHODS.items() if method.fits(target.measure)]
    if args.method:
        names = [name for name in names if name in (*args.method, "passive")]
    elif model != "forest" or overhead != OVERHEADS[0]:
        names = [name for name in names if name in FEW]
    plans = {
        name: METHODS[name].plan(target, **beliefs.for_method(METHODS[name], pool.max_grade + 1)) for name in names
    }
    every = SHARES_OF_LARGE if workload.pool.n_queries > LARGE else SHARES
    budgets = affordable(target, args.share or every)
    where = {"pool": pool.name, "model": model, "overhead": overhead, "measure": measure, "case": case}
    started = time.perf_counter()
    summaries = simulate(plans, workload.grades, [b for _, b in budgets], args.repetitions, args.seed)
    shares = {b: share for share, b in budgets}
    rows = [where | {"share": shares[s.budget]} | {k: getattr(s, k) for k in KEPT} for s in summaries]
    seconds = time.perf_counter() - started
    rows += heads(
        target, workload.grades, budgets, {r["budget"]: r for r in rows if r["method"] == "passive"}, where, args
    )
    print(f"{pool.name}, {model}, overhead {overhead:g}, {measure}, {case}: {seconds:.0f} s", flush=True)
    return rows


def heads(target: Target, grades, budgets, passive: dict, where: dict, args: argparse.Namespace) -> list[dict]:
    """Return the rows of passive on the heads of the lists, held against the truth of the full lists."""
    if target.measure.cutoff is not None:
        return []
    truth = float(target.pool.query_probs @ target.values(grades))
    rows = []
    for depth in HEADS:
        head = Target(replace(target.measure, cutoff=depth), target.ranking, target.versus)
        found = replicate(METHODS["passive"].design(head), grades, [b for _, b in budgets], args.repetitions, args.seed)
        squares = (found.values - truth) ** 2
        for k, (share, budget) in enumerate(budgets):
            mse, error = squares[:, k].mean(), squares[:, k].std(ddof=1) / np.sqrt(args.repetitions)
            efficiency = passive[budget]["rmse"] ** 2 / mse
            row = {"method": f"passive@{depth}", "share": share, "budget": budget, "rmse": float(np.sqrt(mse))}
            row |= {"bias": float((found.values[:, k] - truth).mean()), "queries": float(found.n_queries[:, k].mean())}
            row |= {"efficiency": float(efficiency), "efficiency_se": float(efficiency * error / mse)}
            rows.append(where | row)
    return rows


def tables(rows: list[dict], repetitions: int) -> str:
    """Return the tables for reading: efficiency at a tenth of the pool, coverage, what the safeguards cost."""
    lines = ["# Efficiency: how many times the labels passive needs", ""]
    lines += [
        f"{repetitions} repetitions; ± is the Monte-Carlo standard error. Made by `python -m benchmarks.efficiency`.",
        "",
    ]
    pools = list(dict.fromkeys(r["pool"] for r in rows))
    for model in MODELS:
        for overhead in OVERHEADS:
            for pool in pools:
                own = [
                    r
                    for r in rows
                    if (r["pool"], r["model"], r["overhead"]) == (pool, model, overhead) and at_tenth(r, rows)
                ]
                if own:
                    lines += [
                        f"## {pool}, {model} model, overhead {overhead:g} items, {own[0]['share']:.0%} of the pool",
                        "",
                    ]
                    lines += [*by_method(own), ""]
    lines += ["## Coverage of 95 % intervals", "", *coverage(rows), ""]
    return "\n".join(lines)


def at_tenth(row: dict, rows: list[dict]) -> bool:
    """Whether a row has the budget that is nearest to a tenth of its pool."""
    shares = {r["share"] for r in rows if r["pool"] == row["pool"]}
    return row["share"] == min(shares, key=lambda share: abs(share - 0.1))


def by_method(rows: list[dict]) -> list[str]:
    """Return a markdown table: a row for each method, a column for each measure and case."""
    columns = [(m, c) for m in MEASURES for c in CASES]
    lines = ["| method | " + " | ".join(f"{m}, {c}" for m, c in columns) + " |", "| --- " * (len(columns) + 1) + "|"]
    for method in dict.fromkeys(r["method"] for r in rows):
        cells = {(r["measure"], r["case"]): r for r in rows if r["method"] == method}
        shown = [
            f"{cells[c]['efficiency']:.2f} ± {cells[c]['efficiency_se']:.2f}" if c in cells else "" for c in columns
        ]
        lines.append(f"| {method} | " + " | ".join(shown) + " |")
    return lines


def coverage(rows: list[dict]) -> list[str]:
    """Return, for each method, the mean coverage over cells of 50 queries or more and the cells below 93 %."""
    lines = [
        "| method | cells | mean | lowest | cells outside 93–97 % by more than 2 s.e. |",
        "| --- | --- | --- | --- | --- |",
    ]
    for method in dict.fromkeys(r["method"] for r in rows if "coverage" in r):
        cells = [r for r in rows if r["method"] == method and r["queries"] >= 50 and r["model"] == "forest"]
        if not cells:
            continue
        low = min(cells, key=lambda r: r["coverage"])
        off = [r for r in cells if not 0.93 - 2 * r["coverage_se"] <= r["coverage"] <= 0.97 + 2 * r["coverage_se"]]
        mean = np.mean([r["coverage"] for r in cells])
        place = f"{low['pool']}, {low['measure']}, {low['case']}, {low['share']:.0%}"
        lines.append(f"| {method} | {len(cells)} | {mean:.3f} | {low['coverage']:.3f} ({place}) | {len(off)} |")
    return lines


def main() -> None:
    """Run what the options choose, beside what is stored."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pool", action="append", choices=tuple(POOLS))
    parser.add_argument("--model", action="append", choices=MODELS)
    parser.add_argument("--overhead", action="append", type=float)
    parser.add_argument("--method", action="append", choices=tuple(METHODS))
    parser.add_argument("--measure", action="append", choices=MEASURES)
    parser.add_argument("--share", action="append", type=float, help="of the cost of the whole pool, in place of all")
    parser.add_argument("--repetitions", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--dry", action="store_true", help="print the tables, store nothing")
    args = parser.parse_args()
    path = RESULTS / "efficiency.json"
    stored = json.loads(path.read_text()) if path.exists() else {"rows": []}
    for name in args.pool or POOLS:
        pool = load(name)
        jobs = [
            (model, overhead, measure, case)
            for model in args.model or MODELS
            for overhead in args.overhead or (OVERHEADS if model == "forest" else OVERHEADS[:1])
            for measure in args.measure or MEASURES
            for case in CASES
        ]
        parts = Parallel(n_jobs=args.jobs)(delayed(run)(pool, *job, args) for job in jobs)
        fresh = [row for part in parts for row in part]
        made = {tuple(r[k] for k in ("pool", "model", "overhead", "measure", "case", "method")) for r in fresh}
        kept = [
            r
            for r in stored["rows"]
            if tuple(r[k] for k in ("pool", "model", "overhead", "measure", "case", "method")) not in made
        ]
        stored = describe("benchmarks.efficiency") | {"repetitions": args.repetitions, "rows": kept + fresh}
        if args.dry:
            print(tables(fresh, args.repetitions))
            continue
        path.write_text(json.dumps(stored, indent=1))
        (RESULTS / "efficiency.md").write_text(tables(stored["rows"], args.repetitions) + "\n")
        print(tables(fresh, args.repetitions))


if __name__ == "__main__":
    main()
