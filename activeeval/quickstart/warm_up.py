"""Compilation of all numba functions ahead of their first use."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from activeeval.core.campaign import Campaign
from activeeval.core.design.methods import METHODS
from activeeval.core.pool.generated import generate_pool, ranked_by_expected_grade
from activeeval.core.simulation import simulate
from activeeval.formats.text.trec import Run, write_run
from activeeval.inputs.budgets import Budget
from activeeval.inputs.choices import Choices
from activeeval.inputs.prepared_case import prepare
from activeeval.sampling.draw_case import draw
from activeeval.sampling.judged_samples import judged

_MEASURES = ("DCG@3", "ERR@3", "nDCG@3", "AP")


def warm_up(progress: Callable[[str], object] = lambda what: None) -> None:
    """Draw, read and simulate small samples with every method, so that all compiled functions are in the cache.

    Parameters
    ----------
    progress : callable
        Called with the name of each method before its turn.
    """
    with tempfile.TemporaryDirectory() as folder:
        first, second = _runs(Path(folder))
        # an overhead also compiles the functions for queries without one
        case = prepare(Choices(runs=(first,), versus_run=second, max_grade=4, overhead=1.0), use_labels=False)
        for name, method in METHODS.items():
            progress(name)
            for measure in _MEASURES:
                if not method.fits(case.target(measure).measure):
                    continue
                for question in ("run", "difference"):
                    sample = draw(case, [measure], [question], Budget(0.6, is_share=True), method=name)
                    path, sheet = f"{folder}/x.sample", f"{folder}/x.csv"
                    sample.write(path, sheet)
                    design = judged(path, [sheet])[0].campaign.design
                    Campaign(design).run(lambda query, items: [0] * len(items))
                    designs = {"passive": METHODS["passive"].design(design.target), name: design}
                    # based on the more expensive design: a design read from a file holds only the drawn items
                    budget = 0.6 * max(candidate.cost for candidate in designs.values())
                    simulate(designs, np.zeros(design.pool.n_items, dtype=np.int64), [budget], 2)


def _runs(folder: Path) -> tuple[str, str]:
    """Write two small runs to a folder and return their file names."""
    generated = generate_pool(30, np.random.default_rng(0))
    pool, names = generated.pool, []
    ranking = ranked_by_expected_grade(pool, np.eye(5)[generated.grades])
    for name, ranked in (("a", ranking), ("b", ranking.without(0.2, np.random.default_rng(1)))):
        path = folder / f"{name}.run"
        # sorted by rank, so that a query's rows are not contiguous: this also compiles the functions for unsorted files
        by_rank = np.argsort(ranked.ranks, kind="stable")
        items, ranks = ranked.items[by_rank], ranked.ranks[by_rank]
        queries = pool.query_texts[pool.item_queries[items]]
        write_run(Run(queries, pool.item_texts[items], -ranks.astype(np.float64), ranks, name), path)
        names.append(str(path))
    return names[0], names[1]
