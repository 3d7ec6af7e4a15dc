"""Bound the value of runs with unjudged documents before further judging.

Three values are computed: with all unjudged documents irrelevant, as the grade model expects, and the best possible;
and the precision to expect from a sample of some more labels, given those known.
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
"""Default numbers of further labels, as shares of the unjudged documents that affect the measure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnjudgedBounds:
    """Possible values of a run by a measure, given its unjudged documents.

    Attributes
    ----------
    run, measure, definition : str
    n_queries : int
        Number of queries with judgments.
    n_unjudged, n_counted : int
        Number of unjudged documents among the ranked ones that affect the measure, and number of all of these.
    irrelevant, expected : float
        Mean over the judged queries if no unjudged document has a gain, and as the grade model expects; for queries
        drawn from a log, the weighted mean that represents the log.
    at_best : float or None
        Largest possible value; None if no bound is known.
    more : tuple of (int, float)
        Number of further labels, and the expected half-width of the 95 % interval; () if no plan is possible.
    """

    run: str
    measure: str
    definition: str
    n_queries: int
    n_unjudged: int
    n_counted: int
    irrelevant: float
    expected: float
    at_best: float | None
    more: tuple[tuple[int, float], ...] = ()

    def row(self) -> dict[str, Any]:
        """Convert to a row for JSON and CSV output."""
        named = {name: getattr(self, name) for name in self.__slots__ if name != "more"}
        return named | {f"half_width_with_{n}": half for n, half in self.more}


def unjudged_bounds(
    tables: TablePool,
    run: int,
    source: Any,
    name: str,
    measures: Sequence[Measure],
    *,
    max_grade: int | None = None,
    budgets: Sequence[int] = (),
    progress: Callable[[str], object] = lambda step: None,
) -> list[UnjudgedBounds]:
    """Bound a run's value by each measure, given its unjudged documents.

    Parameters
    ----------
    tables : TablePool
        The judgments and the runs in one pool, from `activeeval.scoring.run_scores.read_tables`.
    run : int
        Position of the run.
    source : path, Run, dict of dicts or data frame
        That run again, to prepare its lists for a plan.
    name : str
        Display name of the run.
    measures : sequence of Measure
    max_grade : int, optional
        Largest grade of the scale; by default the largest judgment.
    budgets : sequence of int
        Numbers of further labels; by default `SHARES` of the unjudged documents.

    Raises
    ------
    InputError
        If a judgment is above the scale, or no model gives the distribution of a measure.
    """
    if tables.gains is not None:
        raise InputError("bounds for unjudged documents need whole grades, and some are fractions")
    top = max(1, int(tables.grades.max())) if max_grade is None else max_grade
    if top < tables.grades.max():
        problem = f"a judgment is {int(tables.grades.max())}, above the largest grade of the scale, {top}"
        raise InputError(problem, field="max_grade")
    bound = [check_sampled(measure.bound_to(top)) for measure in measures]
    case = _case(tables, run, source, [str(measure) for measure in bound], top, progress)
    probs = None if case is None else _as_believed(tables, case)
    return [_bounds(tables, run, name, measure, top, case, probs, budgets) for measure in bound]


def best_value(tables: TablePool, run: int, measure: SampledMeasure, max_grade: int) -> float | None:
    """Compute the largest possible mean of a run over all grades of its unjudged items; None if no bound is known."""
    filled = best_grades(measure, tables.pool, tables.grades, tables.rankings[run], max_grade)
    return None if filled is None else _mean(tables.pool, measure.score(tables.pool, filled, tables.rankings[run]))


def _mean(pool: QueryPool, values: Floats) -> float:
    """Average the values of queries, shape (n_queries,); queries drawn from a log are weighted to represent it."""
    return float(values.mean() if pool.draw is None else values @ pool.query_probs)


def _bounds(
    tables: TablePool,
    run: int,
    name: str,
    measure: SampledMeasure,
    top: int,
    case: PreparedCase | None,
    probs: tuple[Floats, Floats] | None,
    budgets: Sequence[int],
) -> UnjudgedBounds:
    """Bound the value of the ``run``-th run by one measure, given its unjudged documents.

    ``top`` is the largest grade, ``case`` the run's prepared lists (None if it has none). ``probs`` are grade
    probabilities by value of the query factor, shape (n_nodes, n_items, n_grades), and the weights of these values,
    shape (n_queries, n_nodes). ``budgets`` are numbers of further labels to predict the precision of, () for `SHARES`
    of the unjudged documents.
    """
    pool, ranking = tables.pool, tables.rankings[run]
    counted = ranking.items if measure.cutoff is None else ranking.cut_at(measure.cutoff).items
    n_unjudged = int(np.count_nonzero(tables.grades[counted] < 0))
    irrelevant = _mean(pool, measure.score(pool, np.maximum(tables.grades, 0), ranking))
    expected = irrelevant
    more: tuple[tuple[int, float], ...] = ()
    if case is not None and probs is not None and n_unjudged:
        expected = _mean(pool, measure.moments(pool, probs[0], ranking, node_weights=probs[1]).mean)
        share = case.inputs.pool.n_queries / pool.n_queries  # a query without a list is known to score 0
        n_labels = budgets or sorted({max(round(s * n_unjudged), 1) for s in SHARES})
        more = _planned(case, measure, n_labels, share) if pool.draw is None else ()
    return UnjudgedBounds(
        run=name,
        measure=shown_name(measure),
        definition=str(measure),
        n_queries=pool.n_queries,
        n_unjudged=n_unjudged,
        n_counted=counted.size,
        irrelevant=irrelevant,
        expected=expected,
        at_best=best_value(tables, run, measure, top),
        more=more,
    )


def _case(
    tables: TablePool, run: int, source: Any, measures: list[str], top: int, progress: Callable[[str], object]
) -> PreparedCase | None:
    """Prepare a run's lists with their known grades, on judged queries only; None if the run has no such list.

    ``source`` is the ``run``-th run of the tables, ``measures`` are names, ``top`` is the largest grade. Known grades
    are rows (query, document, grade, judge); those of documents that the run does not list are left out.
    """
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
    """Select the lists of some queries."""
    is_selected = np.array([query in queries for query in run.query_ids.tolist()], dtype=np.bool_)
    columns = {"query_ids": run.query_ids[is_selected], "doc_ids": run.doc_ids[is_selected]}
    return replace(run, scores=run.scores[is_selected], ranks=run.ranks[is_selected], **columns)


def _as_believed(tables: TablePool, case: PreparedCase) -> tuple[Floats, Floats]:
    """Compute grade probabilities of a table pool's items under the grade model of a case (the run's prepared lists).

    They depend on the query factor, a random effect that a query's items share; nodes are the values of the factor
    that numerical integration uses. An unjudged item that no list of the run contains belongs to another run and counts
    as irrelevant, as in scores.

    Returns
    -------
    nodes : ndarray, shape (n_nodes, n_items, n_grades)
        Probabilities of the grades at each node; judged items have their grade with probability 1.
    weights : ndarray, shape (n_queries, n_nodes)
        Probability of each node, given the known grades of the query.
    """
    n_grades = case.max_grade + 1
    method = default_method()
    arguments = case.beliefs.for_method(method, n_grades)
    believed = GradeProbs.of(
        case.inputs.pool, arguments["grade_probs"], factor=arguments["factor"], known=case.known, extra_probs=()
    )
    nodes = np.zeros((len(believed.nodes), tables.pool.n_items, n_grades))
    nodes[:, :, 0] = 1.0
    weights = np.tile(believed.prior, (tables.pool.n_queries, 1))
    query_numbers = {query: q for q, query in enumerate(tables.pool.query_texts.tolist())}
    for q, query in enumerate(case.inputs.pool.query_texts.tolist()):
        weights[query_numbers[query]] = believed.weights[q]
    nodes[:, _positions(tables, case)] = believed.nodes
    judged = np.flatnonzero(tables.grades >= 0)
    nodes[:, judged] = 0.0
    nodes[:, judged, tables.grades[judged]] = 1.0
    return nodes, weights


def _positions(tables: TablePool, case: PreparedCase) -> Ints:
    """Find the position of each item of a case (a run's prepared lists) in the table pool, shape (n_case_items,)."""
    pools = (tables.pool, case.inputs.pool)
    pairs = [zip(p.query_texts[p.item_queries].tolist(), p.item_texts.tolist(), strict=True) for p in pools]
    position_of = {pair: z for z, pair in enumerate(pairs[0])}
    return np.array([position_of[pair] for pair in pairs[1]], dtype=np.int64)


def _planned(
    case: PreparedCase, measure: SampledMeasure, budgets: Sequence[int], share: float
) -> tuple[tuple[int, float], ...]:
    """Predict the half-width with each number of further labels, as pairs; () if no sample can be planned.

    ``share`` is the share of all judged queries that the case (the run's prepared lists) has: the others add no error.
    """
    if measure.needs_all_items:  # its ideal ranking contains judged documents outside the run's lists
        return ()
    more = []
    for n in budgets:
        try:
            plan = plan_sample(case, [str(measure)], budgets=[Budget(float(n))])
        except BudgetError:  # too few labels for a sample, or more than unjudged items
            continue
        except ActiveEvalError:
            return ()
        # the only measure and budget of the plan; "pool": the mean of these queries
        more.append((n, share * plan.questions[0].chosen[0].prospect.half_width("pool")))
    return tuple(more)
