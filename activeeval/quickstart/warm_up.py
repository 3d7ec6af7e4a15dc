"""Compiling ahead of time: what a first call would wait for."""

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
    """Draw, read and replay small samples by every method, so that all that is compiled for them lies in the cache.

    Parameters
    ----------
    progress : callable
        Told what is next.
    """
    with tempfile.TemporaryDirectory() as folder:
        first, second = _runs(Path(folder))
        # with an overhead: what queries that cost nothing need is a part of it
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
                    # the dearer of the two: a design read from file holds no more than what was drawn
                    budget = 0.6 * max(each.cost for each in designs.values())
                    simulate(designs, np.zeros(design.pool.n_items, dtype=np.int64), [budget], 2)


def _runs(folder: Path) -> tuple[str, str]:
    """Write two small runs and return their names."""
    made = generate_pool(30, np.random.default_rng(0))
    pool, names = made.pool, []
    ranking = ranked_by_expected_grade(pool, np.eye(5)[made.grades])
    for name, ranked in (("a", ranking), ("b", ranking.without(0.2, np.random.default_rng(1)))):
        path = folder / f"{name}.run"
        # by rank, so that a query's rows do not follow each other: what files in any order need is a part of it
        by_rank = np.argsort(ranked.ranks, kind="stable")
        items, ranks = ranked.items[by_rank], ranked.ranks[by_rank]
        queries = pool.query_texts[pool.item_queries[items]]
        write_run(Run(queries, pool.item_texts[items], -ranks.astype(np.float64), ranks, name), path)
        names.append(str(path))
    return names[0], names[1]
