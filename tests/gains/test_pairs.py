"""Pairs at the door, as vectors, as counted, and as taken from runs and documents."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from naive import pool_of, rankings_of
from naive_learning import count_pairs, dcg_difference, difference_rows, extreme_measures, indicator

from activeeval import Rankings
from activeeval.core.errors import InputError
from activeeval.gains import PreferenceData
from activeeval.gains.pair_summary import both_ways, dominance, summarize_pairs

BAD, FAIR, GOOD, EXCELLENT, PERFECT = range(5)


@st.composite
def small_data(draw, n_levels=3):
    """Few queries, ranks and grades, so that pairs are often said again, the other way, or of equal lists."""
    depth = draw(st.integers(1, 3))
    grades = st.lists(st.integers(0, n_levels - 1), min_size=depth, max_size=depth)
    rows = draw(st.lists(st.tuples(grades, grades, st.booleans(), st.integers(0, 1)), min_size=1, max_size=12))
    first, second, ties, queries = zip(*rows, strict=True)
    named = draw(st.booleans())
    return PreferenceData(first, second, ties=ties, queries=queries if named else None, max_grade=n_levels - 1)


# Vectors


def test_the_list_of_the_paper_is_a_vector_of_15():
    """Perfect, Bad, Good against Fair at every rank: ones where the grades stand in their blocks of five."""
    data = PreferenceData([[PERFECT, BAD, GOOD]], [[FAIR, FAIR, FAIR]], max_grade=4)
    vector = data.differences().toarray()[0]
    assert vector.size == 15
    assert np.flatnonzero(vector == 1).tolist() == [4, 5, 12]
    assert np.flatnonzero(vector == -1).tolist() == [1, 6, 11]
    assert indicator([PERFECT, BAD, GOOD], 5) == [0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0]


@given(small_data())
@settings(deadline=None)
def test_differences_are_those_of_the_vectors(data):
    found = data.differences()
    assert found.shape == (data.n_pairs, data.depth * data.n_levels)
    assert found.nnz == 2 * data.distances("grades").sum()
    np.testing.assert_array_equal(found.toarray(), difference_rows(data))


# The door


def test_the_scale_is_what_occurs_or_what_is_given():
    assert PreferenceData([[0, 0]], [[0, 0]]).max_grade == 1
    assert PreferenceData([[0, 0]], [[0, 3]]).max_grade == 3
    assert PreferenceData([[0, 0]], [[0, 3]], max_grade=np.int64(4)).n_levels == 5


def test_what_was_given_may_change_afterwards():
    lists, ties = np.array([[2, 0]]), np.array([False])
    data = PreferenceData(lists, [[0, 1]], ties=ties)
    lists[0, 0], ties[0] = 0, True
    assert data.preferred.tolist() == [[2, 0]]
    assert not data.ties.any()
    for array in (data.preferred, data.other, data.ties):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


@pytest.mark.parametrize(
    ("lists", "text"),
    [
        (np.array([[0, 1], [np.nan, 1]]), r"b\.csv:9: {} holds nan at rank 1, expected a whole grade from 0 on"),
        ([[0, 1], np.array(["1", "0"])], r"b\.csv:9: {} holds '1' at rank 1, expected a whole grade from 0 on"),
        (np.array([[0, 1], [0, -1]]), r"b\.csv:9: {} holds -1 at rank 2, expected a whole grade from 0 on"),
        ([[0, 1], {0, 1}], r"b\.csv:9: {} is \{{0, 1\}}, expected a list of grades, one for each rank"),
    ],
)
def test_lists_of_other_kinds_that_are_none_are_named(lists, text):
    right, places = [[0, 1], [0, 1]], ["a.csv:7", "b.csv:9"]
    for name, sides in {"preferred": (lists, right), "other": (right, lists)}.items():
        with pytest.raises(InputError, match=f"^{text.format(name)}$"):
            PreferenceData(*sides, places=places)


# Parts of data


def test_a_part_keeps_scale_places_and_queries():
    data = PreferenceData(
        [[2, 0], [1, 1], [0, 1]],
        [[0, 0], [0, 1], [1, 0]],
        ties=[False, True, False],
        queries=["b", "a", "b"],
        max_grade=3,
        moved=[2, 1, 0],
    )
    for rows in ([2, 1], np.array([2, 1])):
        part = data.subset(rows)
        assert part.preferred.tolist() == [[0, 1], [1, 1]]
        assert part.ties.tolist() == [False, True]
        assert part.queries.tolist() == ["b", "a"]
        assert (part.n_levels, part.moved.tolist()) == (4, [0, 1])
        assert [part.place(0), part.place(1)] == ["pair 3", "pair 2"]
    assert data.subset([True, False, True]).preferred.tolist() == [[2, 0], [0, 1]]
    for nothing in ([], np.zeros(3, dtype=bool)):
        with pytest.raises(InputError, match="there is no pair of lists among those chosen"):
            data.subset(nothing)


def test_answers_say_which_list_is_preferred():
    data = PreferenceData([[2, 0], [1, 1], [0, 1]], [[0, 0], [0, 1], [1, 0]], ties=[True, False, False])
    said = data.answered([2, 0, 1], [-1, 1, 0])
    assert said.preferred.tolist() == [[1, 0], [2, 0], [1, 1]]
    assert said.other.tolist() == [[0, 1], [0, 0], [0, 1]]
    assert said.ties.tolist() == [False, False, True]


def test_queries_group_pairs_where_there_are_two():
    data = PreferenceData([[1]] * 5, [[0]] * 5, queries=["b", "a", "b", "c", "a"])
    assert data.query_numbers.tolist() == [1, 0, 1, 2, 0]
    assert data.groups().tolist() == [1, 0, 1, 2, 0]
    assert PreferenceData([[1]] * 2, [[0]] * 2, queries=["a", "a"]).groups().tolist() == [0, 1]
    plain = PreferenceData([[1]] * 5, [[0]] * 5)
    assert plain.query_numbers.tolist() == [0] * 5
    assert plain.groups().tolist() == [0, 1, 2, 3, 4]


# The summary of pairs


@given(small_data())
@settings(deadline=None)
def test_the_census_counts_as_plain_loops_do(data):
    summary = summarize_pairs(data)
    assert {name: getattr(summary, name) for name in summary.__slots__} == count_pairs(data)


def test_both_ways_names_the_first_of_each():
    first, second = [1, 0], [0, 1]
    data = PreferenceData(
        [first, first, [1, 1], second, second, first, second],
        [second, second, [1, 1], first, first, second, first],
        queries=["q", "q", "q", "r", "q", "r", "q"],
    )
    assert both_ways(data).tolist() == [[0, 4], [3, 5]]
    assert both_ways(data.subset([0, 1, 2, 3])).shape == (0, 2)


@given(small_data(n_levels=4), st.integers(0, 2**32 - 1))
@settings(deadline=None)
def test_decided_is_what_no_measure_denies(data, seed):
    better, worse, same = dominance(data)
    random = np.random.default_rng(seed)
    drawn = [
        (np.sort(random.exponential(size=data.depth))[::-1], np.sort(random.normal(size=data.n_levels)))
        for _ in range(20)
    ]
    for row, lists in enumerate(zip(data.preferred.tolist(), data.other.tolist(), strict=True)):
        extremes = [dcg_difference(*measure, *lists) for measure in extreme_measures(data.depth, data.n_levels)]
        assert better[row] == (min(extremes) >= 0 and max(extremes) > 0)
        assert worse[row] == (max(extremes) <= 0 and min(extremes) < 0)
        assert same[row] == (not any(extremes))
        values = np.array([dcg_difference(*measure, *lists) for measure in drawn])
        assert not better[row] or values.min() >= -1e-12
        assert not worse[row] or values.max() <= 1e-12


# From runs


def runs_of(seed):
    """Four queries, three runs that rank part of their items, and grades of which some are missing."""
    random = np.random.default_rng(seed)
    pool = pool_of([7, 3, 5, 6])
    lists = {name: [random.permutation(n)[: random.integers(n + 1)].tolist() for n in (7, 3, 5, 6)] for name in "ABC"}
    rankings = {name: rankings_of(pool, parts) for name, parts in lists.items()}
    return pool, random.integers(-1, 4, size=pool.n_items), lists, rankings


@pytest.mark.parametrize("seed", range(6))
def test_pairs_of_runs_are_their_first_grades(seed):
    pool, grades, lists, rankings = runs_of(seed)
    depth = 4
    asked = [(q, *two, tie) for q in range(4) for two in itertools.permutations("ABC", 2) for tie in (0, 1)]
    data = PreferenceData.from_rankings(pool, grades, rankings, [(f"q{q}", *rest) for q, *rest in asked], depth)
    gaps, moved = np.zeros((len(asked), 2), int), []
    for row, (q, *names, tie) in enumerate(asked):
        start, sides = pool.query_offsets[q], []
        for name, found in zip(names, (data.preferred[row], data.other[row]), strict=True):
            items = (lists[name][q] + [None] * depth)[:depth]
            expected = [None if item is None else grades[start + item] for item in items]
            assert found.tolist() == [0 if grade is None else max(grade, 0) for grade in expected]
            gaps[row] += sum(grade == -1 for grade in expected), sum(grade is None for grade in expected)
            sides.append(items)
        moved.append(sum(a != b for a, b in zip(*sides, strict=True)))
        assert data.ties[row] == bool(tie)
        assert data.queries[row] == f"q{q}"
    assert data.distances("documents").tolist() == moved
    assert data.gaps.tolist() == gaps.tolist()
    assert (data.n_unjudged, data.n_missing) == tuple(gaps.sum(axis=0))
    assert data.subset([3, 5]).n_missing == gaps[[3, 5], 1].sum()
    assert data.max_grade == max(1, grades.max())


@pytest.mark.parametrize(
    ("preferences", "fields", "text"),
    [
        ([("q1", "A", "B"), ("q9", "A", "B")], {}, "pair 2 names query 'q9', which the judgments do not hold"),
        ([("q1", "A", "D")], {}, "pair 1: other is 'D', expected one of the runs: 'A', 'B', 'C'"),
        ([("q1", "a", "B")], {}, "pair 1: preferred is 'a', expected one of the runs: 'A', 'B', 'C'"),
        ([("q1", "a", "B")], {"places": ["x:3"]}, "x:3: preferred is 'a', expected one of the runs: 'A', 'B', 'C'"),
        ([], {}, "there is no pair of lists to learn from"),
        ([("q1", "A", "B")], {"depth": 0}, "depth must be a positive whole number, got 0"),
        ([("q1", "A", "B")], {"grades": [1, 2]}, r"grades must have shape \(21,\), got \(2,\)"),
    ],
)
def test_pairs_that_name_no_runs_are_told(preferences, fields, text):
    pool, grades, _, rankings = runs_of(0)
    given_fields = {"grades": grades, "depth": 3} | fields
    with pytest.raises(InputError, match=f"^{text}$"):
        PreferenceData.from_rankings(pool, rankings=rankings, preferences=preferences, **given_fields)


def test_a_grade_above_the_scale_is_told_where_a_pair_holds_it():
    pool = pool_of([2, 1])
    rankings = {"A": rankings_of(pool, [[0, 1], [0]]), "B": rankings_of(pool, [[1, 0], []])}
    data = PreferenceData.from_rankings(pool, [1, 0, 5], rankings, [("q0", "A", "B")], 2, max_grade=2)
    assert data.preferred.tolist() == [[1, 0]]
    with pytest.raises(InputError, match="pair 1: other holds 5 at rank 1, expected a whole grade from 0 to 2"):
        PreferenceData.from_rankings(pool, [1, 0, 5], rankings, [("q1", "B", "A")], 2, max_grade=2)


def test_queries_and_runs_may_go_by_numbers():
    pool = pool_of([2])
    rankings = {1: Rankings.from_scores(pool, [2.0, 1.0]), 2: Rankings.from_scores(pool, [1.0, 2.0])}
    data = PreferenceData.from_rankings(pool, [3, 0], rankings, iter([("q0", 2, 1)]), 2)
    assert data.preferred.tolist() == [[0, 3]]


# From documents


def test_documents_take_the_place_of_grades():
    data = PreferenceData.from_documents([["b", "a"], ["c", "a"]], [["a", "b"], ["b", "a"]], ties=[False, True])
    assert data.documents == ("a", "b", "c")
    assert data.n_levels == 3
    assert data.preferred.tolist() == [[1, 0], [2, 0]]
    assert data.other.tolist() == [[0, 1], [1, 0]]
    assert data.ties.tolist() == [False, True]
    assert data.distances("documents").tolist() == [2, 1]
    better, worse, same = dominance(data)
    assert not (better | worse | same).any()
    part = data.subset([1])
    assert (part.documents, part.n_levels, part.moved.tolist()) == (("a", "b", "c"), 3, [1])
    assert PreferenceData.from_documents([[10, 9]], [[9, 10]]).documents == ("10", "9")
