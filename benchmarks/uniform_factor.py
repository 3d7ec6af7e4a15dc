"""What a query factor is worth where none was learned: ``python -m benchmarks.uniform_factor``.

Efficiency (times the labels passive needs) of `items` for DCG and `depth` for ERR and nDCG@10, at a tenth of the pool
and an overhead of five items, one ranking, two rankers and an index update: the uniform model with σ from 0 (no factor)
to 1.6, and a forest's probabilities, taken as if somebody had given them, with σ = 0 and 1.2; a = 1, b = 0 throughout.
Stores benchmarks/results/uniform-factor.json.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from activeeval import QueryFactor, default_method, parse_measure
from activeeval.modelling import UNTRAINED_FACTOR, uniform_beliefs
from benchmarks.efficiency import CASES, MEASURES, RESULTS, run_with
from benchmarks.machine import describe, store
from benchmarks.pools import POOLS, JudgedPool, load

SIGMAS = {"uniform": (0.0, 0.6, 0.9, UNTRAINED_FACTOR.sigma, 1.6), "given": (0.0, UNTRAINED_FACTOR.sigma)}
OVERHEAD = 5.0


def rows_of(pool: JudgedPool, model: str, sigma: float, args: argparse.Namespace) -> list[dict]:
    """Return the default method's row for each measure and case, under a model with a factor of ``sigma``."""
    base = pool.beliefs
    if model == "uniform":
        base = uniform_beliefs(pool.workload.pool.n_items, pool.max_grade)
    beliefs = replace(base, factor=QueryFactor(sigma=sigma) if sigma else None)
    rows = []
    for measure in MEASURES:
        args.method = [default_method(parse_measure(measure)).name]
        for case in CASES:
            found = run_with(beliefs, pool, model, OVERHEAD, measure, case, args)
            rows += [row | {"sigma": sigma} for row in found if row["method"] in args.method]
    return rows


def table(rows: list[dict]) -> list[str]:
    """Return a markdown table: a row for each model, pool, measure and case, a column for each σ."""
    sigmas = sorted({row["sigma"] for row in rows})
    lines = ["| model, pool, measure, case | " + " | ".join(f"σ = {s:g}" for s in sigmas) + " |"]
    lines.append("| --- " * (len(sigmas) + 1) + "|")
    cells: dict[str, dict[float, str]] = {}
    for row in rows:
        name = ", ".join(row[key] for key in ("model", "pool", "measure", "case"))
        cells.setdefault(name, {})[row["sigma"]] = f"{row['efficiency']:.2f} ± {row['efficiency_se']:.2f}"
    return lines + [f"| {name} | " + " | ".join(own.get(s, "") for s in sigmas) + " |" for name, own in cells.items()]


def main() -> None:
    """Run the pools that the options choose, store all rows and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pool", action="append", choices=tuple(POOLS), help="default: all but the generated one")
    parser.add_argument("--repetitions", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=RESULTS / "uniform-factor.json")
    args = parser.parse_args()
    args.share = (0.1,)
    rows = []
    for name in args.pool or [name for name in POOLS if name != "simulated"]:
        pool = load(name)
        rows += [row for model, sigmas in SIGMAS.items() for s in sigmas for row in rows_of(pool, model, s, args)]
    described = describe("benchmarks.uniform_factor") | {"repetitions": args.repetitions, "seed": args.seed}
    store(args.out, described | {"rows": rows})
    print("\n".join(table(rows)))


if __name__ == "__main__":
    main()
