"""Holes: what a run's unjudged items may be worth, before anybody judges one of them.

A value is told three times: if all holes are irrelevant, as the grade model expects, and at best; and how precisely a
sample of some more labels would know it, what is judged being known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from activeeval.core.design import GradeProbs
from activeeval.core.design.methods import default_method
from activeeval.core.errors import ActiveEvalError, BudgetError, InputError
from activeeval.core.measures import Measure, SampledMeasure, shown_name
from activeeval.core.measures.best import best_grades
from activeeval.core.measures.target import check_sampled
from activeeval.core.pool import QueryPool
from activeeval.core.types import Floats, Ints
from activeeval.formats.loading import TablePool, load_run
from activeeval.formats.text.trec import Run
from activeeval.inputs.budgets import Budget
from activeeval.inputs.choices import Choices
from activeeval.inputs.known_grades import KnownGrades
from activeeval.inputs.prepared_case import PreparedCase, prepare
from activeeval.sampling.plan_case import plan_sample

SHARES = (0.1, 0.25, 0.5)
"""Of the holes that count: how many more labels are looked at where nobody says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnjudgedBounds:
    """What a run is worth by a measure, as far as that is known.

    Attributes
    ----------
    run, measure, definition : str
    n_queries : int
        Those that have judgments.
    n_holes, n_counted : int
        Ranked items that count and have no grade, and all of them.
    irrelevant, expected : float
        The mean over the judged queries if no hole has a gain, and as the grade model expects; for the log, where the
        queries were drawn from one.
    at_best : float or None
        The largest that it can be; None where no bound is known.
    more : tuple of (int, float)
        With so many more labels the half-width of its 95 % interval; none where nothing can be planned.
    """

    run: str
    measure: str
    definition: str
    n_queries: int
    n_holes: int
    n_counted: int
    irrelevant: float
    expected: float
    at_best: float | None
    more: tuple[tuple[int, float], ...] = ()

    def row(self) -> dict[str, Any]:
        """Return it as a row."""
        named = {name: getattr(self, name) for name in self.__slots__ if name != "more"}
        return named | {f"half_width_with_{n}": half for n, half in self.more}


def holes_of(
    tables: TablePool,
    run: int,
    source: Any,
    name: str,
    measures: Sequence[Measure],
    *,
    max_grade: int | None = None,
    budgets: Sequence[int] = (),
    progress: Callable[[str], object] = lambda what: None,
) -> list[UnjudgedBounds]:
    """Return what the holes of a run may be worth by each measure.

    Parameters
    ----------
    tables : TablePool
        As `activeeval.scoring.run_scores.read_tables` returns it.
    run : int
        Which of its runs.
    source : str or as of `activeeval.formats.loading.load_run`
        That run.
    max_grade : int, optional
        The largest grade of the scale; by default the largest judgment.
    budgets : sequence of int
        How many more labels; by default `SHARES` of the holes.

    Raises
    ------
    InputError
        Where the scale ends below a judgment, or no model says how a measure is distributed.
    """
    top = max(1, int(tables.grades.max())) if max_grade is None else max_grade
    if top < tables.grades.max():
        problem = f"a judgment is {int(tables.grades.max())}, above the largest grade of the scale, {top}"
        raise InputError(problem, field="max_grade")
    asked = [check_sampled(measure.bound_to(top)) for measure in measures]
    case = _case(tables, run, source, [str(measure) for measure in asked], top, progress)
    probs = None if case is None else _as_believed(tables, case)
    return [_holes(tables, run, name, measure, top, case, probs, budgets) for measure in asked]


def best_value(tables: TablePool, run: int, measure: SampledMeasure, max_grade: int) -> float | None:
    """Return the largest mean that a run can have, whatever grades its holes have; None where no bound is known."""
    filled = best_grades(measure, tables.pool, tables.grades, tables.rankings[run], max_grade)
    return None if filled is None else _mean(tables.pool, measure.score(tables.pool, filled, tables.rankings[run]))


def _mean(pool: QueryPool, values: Floats) -> float:
    """Return the mean of the queries' values: for their log, where they were drawn from one."""
    return float(values.mean() if pool.draw is None else values @ pool.query_probs)


def _holes(
    tables: TablePool,
    run: int,
    name: str,
    measure: SampledMeasure,
    top: int,
    case: PreparedCase | None,
    probs: tuple[Floats, Floats] | None,
    budgets: Sequence[int],
) -> UnjudgedBounds:
    pool, ranking = tables.pool, tables.rankings[run]
    counted = ranking.items if measure.cutoff is None else ranking.cut_at(measure.cutoff).items
    n_holes = int(np.count_nonzero(tables.grades[counted] < 0))
    irrelevant = _mean(pool, measure.score(pool, np.maximum(tables.grades, 0), ranking))
    expected = irrelevant
    more: tuple[tuple[int, float], ...] = ()
    if case is not None and probs is not None and n_holes:
        expected = _mean(pool, measure.moments(pool, probs[0], ranking, node_weights=probs[1]).mean)
        share = case.inputs.pool.n_queries / pool.n_queries  # of a query without a list the value is known: 0
        asked = budgets or sorted({max(round(s * n_holes), 1) for s in SHARES})
        more = _planned(case, measure, asked, share) if pool.draw is None else ()
    return UnjudgedBounds(
        run=name,
        measure=shown_name(measure),
        definition=str(measure),
        n_queries=pool.n_queries,
        n_holes=n_holes,
        n_counted=counted.size,
        irrelevant=irrelevant,
        expected=expected,
        at_best=best_value(tables, run, measure, top),
        more=more,
    )


def _case(
    tables: TablePool, run: int, source: Any, measures: list[str], top: int, progress: Callable[[str], object]
) -> PreparedCase | None:
    """Return the lists of a run with what is judged of them, judged queries alone; None where it has none of these."""
    pool, graded = tables.pool, np.flatnonzero(tables.grades >= 0)
    queries, docs = pool.query_texts[pool.item_queries].tolist(), pool.item_texts.tolist()
    rows = [(queries[z], docs[z], int(tables.grades[z]), "") for z in graded.tolist()]
    lists = _of_queries(load_run(source), set(pool.query_texts.tolist()))
    lengths = tables.rankings[run].lengths
    if not lists.scores.size:
        return None
    listed = set(zip(lists.query_ids.tolist(), lists.doc_ids.tolist(), strict=True))
    rows = [row for row in rows if row[:2] in listed]
    choices = Choices(
        runs=(lists,),
        judged=(KnownGrades("the judgments", rows),) if rows else (),
        max_grade=top,
        pool_depth=int(lengths.max()),
    )
    return prepare(choices, use_labels=False, measures=measures, progress=progress)


def _of_queries(run: Run, queries: set[str]) -> Run:
    """Return the lists of some queries."""
    kept = np.array([query in queries for query in run.query_ids.tolist()], dtype=np.bool_)
    columns = {"query_ids": run.query_ids[kept], "doc_ids": run.doc_ids[kept]}
    return replace(run, scores=run.scores[kept], ranks=run.ranks[kept], **columns)


def _as_believed(tables: TablePool, case: PreparedCase) -> tuple[Floats, Floats]:
    """Return node probabilities of every item of a table pool, and each query's weights of the nodes.

    What no list of the run has and nobody has judged is another run's: it counts as irrelevant, as in a score.
    """
    n_grades = case.max_grade + 1
    method = default_method()
    taken = case.beliefs.for_method(method, n_grades)
    believed = GradeProbs.of(
        case.inputs.pool, taken["grade_probs"], factor=taken["factor"], known=case.known, extra_probs=()
    )
    nodes = np.zeros((len(believed.nodes), tables.pool.n_items, n_grades))
    nodes[:, :, 0] = 1.0
    weights = np.tile(believed.prior, (tables.pool.n_queries, 1))
    place_of_query = {query: q for q, query in enumerate(tables.pool.query_texts.tolist())}
    for q, query in enumerate(case.inputs.pool.query_texts.tolist()):
        weights[place_of_query[query]] = believed.weights[q]
    places = _places(tables, case)
    nodes[:, places] = believed.nodes
    judged = np.flatnonzero(tables.grades >= 0)
    nodes[:, judged] = 0.0
    nodes[:, judged, tables.grades[judged]] = 1.0
    return nodes, weights


def _places(tables: TablePool, case: PreparedCase) -> Ints:
    """Return where each item of a case stands in the table pool."""
    pools = (tables.pool, case.inputs.pool)
    pairs = [zip(p.query_texts[p.item_queries].tolist(), p.item_texts.tolist(), strict=True) for p in pools]
    place_of = {pair: z for z, pair in enumerate(pairs[0])}
    return np.array([place_of[pair] for pair in pairs[1]], dtype=np.int64)


def _planned(
    case: PreparedCase, measure: SampledMeasure, budgets: Sequence[int], share: float
) -> tuple[tuple[int, float], ...]:
    """Return the half-width to expect with so many more labels, where a sample of them can be planned for."""
    if measure.needs_all_items:  # its ideal holds judged documents that no list of the run has
        return ()
    more = []
    for n in budgets:
        try:
            plan = plan_sample(case, [str(measure)], budgets=[Budget(float(n))])
        except BudgetError:  # too few to draw, or more than there are
            continue
        except ActiveEvalError:
            return ()
        more.append((n, share * plan.questions[0].chosen[0].prospect.half_width("pool")))
    return tuple(more)
