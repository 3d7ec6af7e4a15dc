"""Unjudged documents: the three values of a run against all possible grades, what can be planned, what is refused."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from activeeval.core.errors import InputError
from activeeval.core.measures import parse_measure
from activeeval.scoring.run_scores import read_tables
from activeeval.scoring.unjudged import _as_believed, _case, best_value, unjudged_bounds

TOP = 2
QRELS = {"q1": {"a": 2, "b": 0, "z": 1}, "q2": {"a": 1, "c": 0}, "q3": {"a": 1}}
RUN = {"q1": {"a": 5.0, "x": 4.0, "b": 3.0, "y": 2.0}, "q2": {"v": 3.0, "a": 2.0, "w": 1.0}, "q9": {"a": 1.0}}
ADDITIVE = ("P@2", "DCG@3", "DCG", "RBP(p=0.5)", "DCG(gains={0:1,1:5,2:0})@3")
CASCADE = ("ERR@3", "ERR", "RR@3", "Success@2")
DIVIDED = ("nDCG@3", "AP", "R@3")


def tables_of(*measures):
    asked = [parse_measure(text) for text in measures]
    return read_tables(QRELS, [RUN], asked), asked


def filled(tables):
    """Yield grades with every hole filled in every way."""
    bounds = np.flatnonzero(tables.grades < 0)
    for grades in product(range(TOP + 1), repeat=bounds.size):
        whole = tables.grades.copy()
        whole[bounds] = grades
        yield whole


def values_of(tables, measure):
    return [measure.score(tables.pool, grades, tables.rankings[0]).mean() for grades in filled(tables)]


@pytest.mark.parametrize("text", [*ADDITIVE, *CASCADE, *DIVIDED])
def test_at_best_is_the_best_of_all_ways_to_fill_the_holes(text):
    tables, (measure,) = tables_of(text)
    bound = measure.bound_to(TOP)
    assert best_value(tables, 0, bound, TOP) == pytest.approx(max(values_of(tables, bound)), rel=1e-12)


@pytest.mark.parametrize("text", [*ADDITIVE, *CASCADE, *DIVIDED])
def test_irrelevant_is_grade_nought_and_expected_is_the_mean_of_the_model(text):
    tables, (measure,) = tables_of(text)
    (bounds,) = unjudged_bounds(tables, 0, RUN, "a run", [measure], max_grade=TOP)
    bound = measure.bound_to(TOP)
    assert bounds.irrelevant == pytest.approx(values_of(tables, bound)[0], rel=1e-12)
    case = _case(tables, 0, RUN, [str(bound)], TOP, lambda what: None)
    nodes, weights = _as_believed(tables, case)
    by_query = np.zeros(tables.pool.n_queries)
    for grades in filled(tables):
        chances = nodes[:, np.arange(grades.size), grades]
        of_queries = np.multiply.reduceat(chances, tables.pool.query_offsets[:-1], axis=1)  # (n_nodes, n_queries)
        by_query += (weights.T * of_queries).sum(axis=0) * _alone(tables, bound, grades)
    if text not in DIVIDED:  # of these the moments are means over labels that the model draws
        assert bounds.expected == pytest.approx(by_query.mean(), rel=1e-6)
    else:
        assert bounds.expected == pytest.approx(by_query.mean(), abs=0.05)


def _alone(tables, measure, grades):
    """Return each query's value, less what filling the other queries' bounds counts it again."""
    bounds = tables.grades < 0
    offsets = tables.pool.query_offsets
    elsewhere = (TOP + 1.0) ** (bounds.sum() - np.add.reduceat(bounds, offsets[:-1]))
    return measure.score(tables.pool, grades, tables.rankings[0]) / elsewhere


@pytest.mark.parametrize("text", DIVIDED)
def test_of_what_is_divided_by_an_ideal_no_precision_is_planned(text):
    """Filling the bounds with the largest grade is not the best: the ideal rises too."""
    tables, (measure,) = tables_of(text)
    (bounds,) = unjudged_bounds(tables, 0, RUN, "a run", [measure], max_grade=TOP)
    assert bounds.more == ()
    largest = np.where(tables.grades < 0, TOP, tables.grades)
    assert bounds.at_best >= measure.score(tables.pool, largest, tables.rankings[0]).mean()
    if text != "AP":  # whose value would fall in longer lists
        assert min(values_of(tables, measure.bound_to(TOP))) < bounds.irrelevant - 1e-9


def test_of_an_ideal_with_gains_below_nought_no_bound_is_told():
    tables, (measure,) = tables_of("nDCG(gains={0:-1,1:0,2:1})@3")
    (bounds,) = unjudged_bounds(tables, 0, RUN, "a run", [measure], max_grade=TOP)
    assert bounds.at_best is None


@pytest.mark.parametrize("text", DIVIDED)
def test_what_other_runs_rank_changes_nothing(text):
    measure = parse_measure(text)
    other = {query: {"a": 1.0} | {f"{doc}-too": score for doc, score in docs.items()} for query, docs in RUN.items()}
    alone, beside = (read_tables(QRELS, runs, [measure]) for runs in ([RUN], [RUN, other]))
    (expected,) = unjudged_bounds(alone, 0, RUN, "a run", [measure], max_grade=TOP)
    (bounds,) = unjudged_bounds(beside, 0, RUN, "a run", [measure], max_grade=TOP)
    for name in ("irrelevant", "expected", "at_best"):
        assert getattr(bounds, name) == pytest.approx(getattr(expected, name), rel=1e-12)


def test_counts_are_of_judged_queries_and_of_ranks_that_count():
    tables, measures = tables_of("P@2", "DCG")
    first, second = unjudged_bounds(tables, 0, RUN, "a run", measures, max_grade=TOP)
    assert (first.n_unjudged, first.n_counted, second.n_unjudged, second.n_counted) == (2, 4, 4, 7)
    assert first.run == "a run"


def test_more_labels_say_more_and_all_of_them_everything():
    tables, measures = tables_of("DCG")
    (bounds,) = unjudged_bounds(tables, 0, RUN, "a run", measures, max_grade=TOP, budgets=(2, 4, 400))
    halves = dict(bounds.more)
    assert halves[4] == pytest.approx(0, abs=1e-9)
    assert halves[2] > 0
    assert bounds.row()["half_width_with_2"] == halves[2]


def test_a_run_without_holes_or_without_judged_queries_has_one_value():
    tables = read_tables(QRELS, [{"q1": {"a": 2.0, "b": 1.0}}], [parse_measure("P@2")])
    (bounds,) = unjudged_bounds(tables, 0, {"q1": {"a": 2.0, "b": 1.0}}, "r", [parse_measure("P@2")])
    assert (bounds.n_unjudged, bounds.irrelevant, bounds.expected, bounds.at_best) == (0, 1 / 6, 1 / 6, 1 / 6)


def test_a_scale_below_a_judgment_is_refused():
    tables, measures = tables_of("P@2")
    with pytest.raises(InputError, match="a judgment is 2, above the largest grade of the scale, 1"):
        unjudged_bounds(tables, 0, RUN, "a run", measures, max_grade=1)
