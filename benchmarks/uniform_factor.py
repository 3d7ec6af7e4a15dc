"""What a query factor is worth where none was learned: ``python -m benchmarks.uniform_factor``.

Efficiency (times the labels passive needs) of `items` for DCG and `depth` for ERR and nDCG@10, at a tenth of the pool
and an overhead of five items, one ranking, two rankers and an index update: the uniform model with σ from 0 (no factor)
to 1.6, and a forest's probabilities, taken as if somebody had given them, with σ = 0 and 1.2; a = 1, b = 0 throughout.
Stores benchmarks/results/uniform-factor.json.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product

from activeeval import QueryFactor
from activeeval.inputs.modelling import UNTRAINED_FACTOR, uniform_beliefs
from benchmarks import efficiency
from benchmarks.efficiency import CASES
from benchmarks.efficiency_report import Row
from benchmarks.frame.experiment import Experiment, Options
from benchmarks.frame.report import pivoted, plus_minus
from benchmarks.pools import POOLS, JudgedPool, load

SIGMAS = {"uniform": (0.0, 0.6, 0.9, UNTRAINED_FACTOR.sigma, 1.6), "given": (0.0, UNTRAINED_FACTOR.sigma)}
MEASURES = ("DCG", "ERR", "nDCG@10")
OVERHEAD = 5.0
SMALL = tuple(name for name in POOLS if name != "generated")


def rows_of(pool: JudgedPool, options: Options) -> list[Row]:
    """Return the default method's row for each measure and case, model and σ."""
    bases = {"uniform": uniform_beliefs(pool.inputs.pool.n_items, pool.max_grade), "given": pool.beliefs}
    beliefs = {
        f"{model} {sigma:g}": replace(bases[model], factor=QueryFactor(sigma=sigma) if sigma else None)
        for model, sigmas in SIGMAS.items()
        for sigma in sigmas
    }
    rows = []
    for measure, case in product(MEASURES, CASES):
        for row in efficiency.rows_of(pool, beliefs, (measure, case, OVERHEAD), options):
            model, sigma = row["model"].split()
            rows.append(row | {"model": model, "sigma": float(sigma)})
    return rows


def table(result: Row) -> str:
    """Write a row for each model, pool, measure and case, a column for each σ."""
    cells = {
        (", ".join(row[key] for key in ("model", "pool", "measure", "case")), row["sigma"]): plus_minus(
            row["efficiency"], row["efficiency_se"]
        )
        for row in result["rows"]
    }
    return "\n".join(pivoted(cells, "model, pool, measure, case", "σ = {:g}"))


def measure(options: Options) -> Row:
    """Run the chosen pools."""
    options.share, options.method = [efficiency.SHARE], []
    return {"rows": [row for name in options.pool for row in rows_of(load(name), options)]}


EXPERIMENT = Experiment(__spec__, __doc__, measure, report=table, pool=SMALL, repetitions=2000, seed=1)


if __name__ == "__main__":
    EXPERIMENT.main()
