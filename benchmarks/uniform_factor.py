"""What a query factor is worth where none was learned: ``python -m benchmarks.uniform_factor``.

Efficiency (times the labels passive needs) of `items` for DCG and `depth` for ERR and nDCG@10, at a tenth of the pool
and an overhead of five items, one ranking, two rankers and an index update: the uniform model with σ from 0 (no factor)
to 1.6, and a forest's probabilities, taken as if somebody had given them, with σ = 0 and 1.2; a = 1, b = 0 throughout.
Stores benchmarks/results/uniform-factor.json.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from itertools import product
from pathlib import Path

from activeeval import QueryFactor
from activeeval.inputs.modelling import UNTRAINED_FACTOR, GradeBeliefs, uniform_beliefs
from benchmarks import efficiency
from benchmarks.efficiency import CASES, RESULTS
from benchmarks.efficiency_report import Row
from benchmarks.machine import describe, store
from benchmarks.pools import POOLS, JudgedPool, load

SIGMAS = {"uniform": (0.0, 0.6, 0.9, UNTRAINED_FACTOR.sigma, 1.6), "given": (0.0, UNTRAINED_FACTOR.sigma)}
MEASURES = ("DCG", "ERR", "nDCG@10")
OVERHEAD = 5.0
SMALL = tuple(name for name in POOLS if name != "generated")


def beliefs_of(pool: JudgedPool) -> dict[tuple[str, float], GradeBeliefs]:
    """Return each model with each σ."""
    bases = {"uniform": uniform_beliefs(pool.inputs.pool.n_items, pool.max_grade), "given": pool.beliefs}
    return {
        (model, sigma): replace(bases[model], factor=QueryFactor(sigma=sigma) if sigma else None)
        for model, sigmas in SIGMAS.items()
        for sigma in sigmas
    }


def rows_of(pool: JudgedPool, options: argparse.Namespace) -> list[Row]:
    """Return the default method's row for each measure and case, model and σ."""
    beliefs = {f"{model} {sigma:g}": (model, sigma, found) for (model, sigma), found in beliefs_of(pool).items()}
    rows = []
    for measure, case in product(MEASURES, CASES):
        named = {name: found for name, (_, _, found) in beliefs.items()}
        for row in efficiency.rows_of(pool, named, (measure, case, OVERHEAD), options):
            model, sigma, _ = beliefs[row["model"]]
            rows.append(row | {"model": model, "sigma": sigma})
    return rows


def table(rows: list[Row]) -> list[str]:
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
    args.share, args.method = [efficiency.SHARE], []
    rows = [row for name in args.pool or SMALL for row in rows_of(load(name), args)]
    described = describe("benchmarks.uniform_factor") | {"repetitions": args.repetitions, "seed": args.seed}
    store(args.out, described | {"rows": rows})
    print("\n".join(table(rows)))


if __name__ == "__main__":
    main()
