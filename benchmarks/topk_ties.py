"""How far the order of arrival moves a top-k truth with ties: ``python -m benchmarks.topk_ties``.

Every query of MQ2008 with more than k documents is labelled by Algorithm 1 again and again, its documents arriving in
another random order each time, by a judge whose answers do not change. *Grades*: he goes by the grades and calls equal
ones alike. *Margin*: he sees the grade with normal noise of scale one half and calls alike what is less than a half
apart, so that his ties are those of no ranking. Figures are κ-NDCG and κ-ERR @10 of one ranker in the mean of the
queries and its difference to another: the range over the orders with a label of its own for every document of the top,
which the order of arrival decides in a tie, and with labels that tied documents share, which count the mean over their
orders; beside them how far the mean over the orders of arrival is from the one number of shared labels. Stores
benchmarks/results/topk_ties.json.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from activeeval import QueryPool, Rankings, kERR, kNDCG
from activeeval.core.types import Floats, Ints
from activeeval.formats.text.letor import read_letor
from activeeval.formats.text.scores import read_scores_of
from activeeval.topk import TopKLabelling
from activeeval.topk.assessors import Assessor, Assessors
from benchmarks.frame.experiment import RESULTS, Experiment, Options
from benchmarks.frame.report import figure, section_tables
from benchmarks.pools import mq2008_files

RANKERS = ("ListNet", "RankBoost")
CUTOFF = 10
NOISE, MARGIN = 0.5, 0.5


class Judged(NamedTuple):
    """Queries of more than k documents: the pool, two rankings, and the relevance that each judge goes by."""

    pool: QueryPool
    rankings: list[Rankings]
    relevance: dict[str, Floats]


def judged(k: int, seed: int) -> Judged:
    """Return MQ2008, each ranker out of its fold."""
    letor = read_letor(mq2008_files(), features=False)
    whole = letor.pool()
    pool, items = whole.subset(np.flatnonzero(np.diff(whole.query_offsets) > k))
    known = letor.grades[items].astype(np.float64)
    seen = known + NOISE * np.random.default_rng(seed).standard_normal(known.size)
    scores = (read_scores_of(mq2008_files(name), letor)[items] for name in RANKERS)
    return Judged(pool, [Rankings.from_scores(pool, each) for each in scores], {"grades": known, "margin": seen})


def truths(case: Judged, kind: str, k: int, seed: int) -> tuple[Ints, Ints, int]:
    """Return κ-grades of one order of arrival, own and shared, and how many ties other answers overrule."""
    person = Assessors(tie_margin=MARGIN if kind == "margin" else 0.0).person(seed)
    random, offsets = np.random.default_rng(seed), case.pool.query_offsets.tolist()
    own, shared = np.empty((2, case.pool.n_items), dtype=np.int64)
    n_overruled = 0
    for first, last in pairwise(offsets):
        done = _labelled(person, case.relevance[kind][first:last], k, random)
        own[first:last] = done.grades(share_ties=False)
        shared[first:last] = done.grades()
        n_overruled += done.n_overruled
    return own, shared, n_overruled


def _labelled(person: Assessor, relevance: Floats, k: int, random: np.random.Generator) -> TopKLabelling:
    return person.label(relevance, TopKLabelling(relevance.size, k, rng=random)).labelling


def rows(k: int, kind: str, n_orders: int, seed: int) -> list[dict[str, Any]]:
    """Return the figures of a k and a judge."""
    case = judged(k, seed)
    made = [truths(case, kind, k, seed + order) for order in range(n_orders)]
    found = []
    for measure in (kNDCG(k, CUTOFF), kERR(k, CUTOFF)):
        by_query = np.array(
            [
                [[measure.score(case.pool, truth, one) for one in case.rankings] for truth in labels[:2]]
                for labels in made
            ]
        )  # order, own or shared, ranker, query
        for what, values in (("one", by_query[:, :, 0]), ("difference", by_query[:, :, 0] - by_query[:, :, 1])):
            means = values.mean(axis=2)
            error = values[0, 1].std(ddof=1) / np.sqrt(case.pool.n_queries)
            own, shared = np.ptp(means, axis=0)
            gap = means[:, 0].mean() - means[:, 1].mean()
            spread = means[:, 0].std(ddof=1)
            note = (
                f"shared labels {shared:.2g}; value {means[:, 1].mean():.4f}, std error over queries {error:.4f}; mean "
                f"over orders of arrival {gap:+.1e} from it, ± {spread / np.sqrt(n_orders):.1e}"
            )
            details = {"shared": float(shared), "std_error": float(error), "gap": float(gap), "std": float(spread)}
            found.append(figure(f"k = {k}, {kind}, {measure}, {what}", own, "", note=note, **details))
    n_queries, n_overruled = case.pool.n_queries, np.mean([labels[2] for labels in made])
    found.append(figure(f"k = {k}, {kind}, ties overruled a query", n_overruled / n_queries, "", queries=n_queries))
    return found


def markdown(result: dict[str, Any]) -> str:
    """Return the tables of a result."""
    told = f"{result['orders']} orders of arrival; the figure is the range with labels of their own."
    return "\n".join([told, "", *section_tables(result["sections"])])


def section(options: Options, kind: str) -> list[dict[str, Any]]:
    """Measure both k for a judge."""
    return [row for k in (5, 10) for row in rows(k, kind, options.orders, options.seed)]


EXPERIMENT = Experiment(
    __spec__,
    __doc__,
    sections={
        "grades": ("A judge who goes by the grades, MQ2008", partial(section, kind="grades")),
        "margin": ("A judge whose ties are of no ranking, MQ2008", partial(section, kind="margin")),
    },
    out=RESULTS / "topk_ties.json",
    orders=30,
    seed=1,
)


if __name__ == "__main__":
    EXPERIMENT.main()
