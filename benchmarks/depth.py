"""How long the designs of a pool of MSLR-WEB30K's size take: ``python -m benchmarks.depth``.

31,531 queries of the generated recipe, five grades, a query factor of nine nodes: depth and item designs of one ranking
and of a comparison from the grade model to the probabilities, on the cores there are. Writes
benchmarks/results/depth.json.
"""

from __future__ import annotations

import argparse
import json
import time

import numpy as np

from activeeval import DCG, ERR, METHODS, Target, generate_pool
from activeeval.core.grade_models import QueryFactor
from activeeval.core.pool import Rankings
from benchmarks.machine import ROOT, describe

BARS = {"one ranking": 10.0, "comparison": 60.0}


def main() -> None:
    """Time the designs, after a warm-up that compiles."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=31_531)
    args = parser.parse_args()
    rows = []
    for n_queries in (50, args.queries):
        generated = generate_pool(n_queries, 1)
        pool = generated.pool.replace(query_costs=np.full(n_queries, 5 * generated.pool.item_costs.mean()))
        random = np.random.default_rng(2)
        probs = random.dirichlet((5, 3, 1.3, 0.3, 0.2), size=pool.n_items)
        factor = QueryFactor(sigma=1.0)
        scores = probs @ np.arange(5)
        first = Rankings.from_scores(pool, scores)
        second = Rankings.from_scores(pool, scores + 0.3 * random.standard_normal(scores.size))
        for measure, method in ((ERR(4), "depth"), (DCG(), "depth"), (DCG(), "items")):
            for case, versus in (("one ranking", None), ("comparison", second)):
                target = Target(measure.bound_to(4), first, versus)
                started = time.perf_counter()
                design = METHODS[method].design(target, probs, factor=factor)
                design.with_budget(0.1 * design.cost)
                seconds = time.perf_counter() - started
                row = {
                    "queries": n_queries,
                    "items": pool.n_items,
                    "nodes": factor.node_weights.size,
                    "measure": str(measure),
                }
                row |= {"method": method, "case": case, "seconds": seconds, "bar": BARS[case]}
                if n_queries == args.queries:
                    rows.append(row)
                    print(f"{measure} {method} {case}: {seconds:.1f} s (bar {BARS[case]:g} s)", flush=True)
    path = ROOT / "benchmarks" / "results" / "depth.json"
    path.write_text(json.dumps(describe("benchmarks.depth") | {"rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
