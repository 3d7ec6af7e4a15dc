"""What stands beside coefficients of agreement: raw agreement, base rates, AC1 and AC2, intervals, who is stricter."""

import math
from fractions import Fraction
from itertools import combinations
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, strategies as st
from naive_agreement import alike, gwet
from scipy.stats import binom
from test_agreement import PUBLISHED, gradings, rows_of, stated, with_nan

from activeeval.campaigns.report.agreement_messages import severity_sentence, undefined_sentence
from activeeval.core.errors import InputError
from activeeval.core.judgments import coefficient_intervals
from activeeval.core.judgments.agreement import grade_agreement, preference_agreement
from activeeval.core.judgments.coded_grades import CodedGrades, Relations
from activeeval.core.judgments.coefficient_intervals import _bias_corrected, least_units, mean_difference
from activeeval.core.judgments.coefficients import WEIGHTS, gwet_ac


def test_ac_of_the_published_data():
    """Gwet (2014), and his package irrCAC of the same four raters: AC1 0.77544, with quadratic weights 0.914."""
    assert round(gwet_ac(with_nan(PUBLISHED)), 5) == 0.77544
    assert round(gwet_ac(with_nan(PUBLISHED), "quadratic"), 3) == 0.914
    raw, _ = alike(PUBLISHED)
    assert round(float(raw), 5) == 0.81818  # the percent agreement that it prints


tables = st.integers(2, 4).flatmap(
    lambda n: st.lists(
        st.lists(st.one_of(st.none(), st.sampled_from([0, 1, 2, 4])), min_size=n, max_size=n), min_size=1
    )
)


@given(tables)
def test_ac_against_loops_in_fractions(units):
    table = [list(row) for row in zip(*units, strict=True)]
    for weights, power in WEIGHTS.items():
        found, expected = gwet_ac(with_nan(table), weights), gwet(table, power)
        assert (found is None) == (expected is None)
        assert found is None or found == pytest.approx(float(expected), abs=1e-9)


def table_of(grades):
    items = sorted({(q, d) for of in grades.values() for q, own in of.items() for d in own})
    return [[of.get(q, {}).get(d) for q, d in items] for of in grades.values()]


def every_coefficient(agreement):
    yield from (*agreement.alphas.values(), *agreement.acs.values())
    for pair in agreement.pairs:
        yield from (*pair.kappas.values(), pair.difference)
    if agreement.preferences is not None:
        yield from (agreement.preferences.overall, agreement.preferences.strict)


@given(gradings())
def test_what_stands_beside_is_that_of_loops_in_fractions(grades):
    table = table_of(grades)
    if not any(sum(v is not None for v in unit) > 1 for unit in zip(*table, strict=True)):
        return
    found = grade_agreement(CodedGrades.of(rows_of(grades)), n_resamples=3, rng=0)
    raw, base_rate = alike(table)
    for coefficient in (*found.alphas.values(), *found.acs.values()):
        assert coefficient.raw_agreement == pytest.approx(float(raw), abs=1e-12)
        assert coefficient.base_rate == pytest.approx(float(base_rate), abs=1e-12)
    for weights, power in WEIGHTS.items():
        expected = gwet(table, power)
        value = found.acs[weights].value
        assert value is None if expected is None else value == pytest.approx(float(expected), abs=1e-9)
    for pair in found.pairs:
        two = [table[list(grades).index(judge)] for judge in pair.judges]
        shared = [(a, b) for a, b in zip(*two, strict=True) if None not in (a, b)]
        raw, base_rate = alike([list(row) for row in zip(*shared, strict=True)])
        for coefficient in (*pair.kappas.values(), pair.difference):
            assert coefficient.raw_agreement == pytest.approx(float(raw), abs=1e-12)
            assert coefficient.base_rate == pytest.approx(float(base_rate), abs=1e-12)
        assert pair.difference.value == pytest.approx(float(Fraction(sum(a - b for a, b in shared), len(shared))))
    units = [[v for v in unit if v is not None] for unit in zip(*table, strict=True)]
    assert found.n_alike == sum(len(unit) > 1 and len(set(unit)) == 1 for unit in units)
    shared_grades = [v for unit in units if len(unit) > 1 for v in unit]
    assert shared_grades.count(found.common_grade) == max(map(shared_grades.count, shared_grades))


@given(gradings(), st.sampled_from([0.5, 0.9, 0.95]), st.integers(0, 9))
def test_intervals_hold_their_values(grades, confidence, seed):
    table = table_of(grades)
    if not any(sum(v is not None for v in unit) > 1 for unit in zip(*table, strict=True)):
        return
    for coefficient in every_coefficient(grade_agreement(CodedGrades.of(rows_of(grades)), confidence, 20, seed)):
        if coefficient.low is not None:
            assert coefficient.low <= coefficient.value <= coefficient.high
        else:
            assert coefficient.high is None


@given(st.floats(-1, 1), st.lists(st.floats(-1, 1), min_size=1, max_size=30), st.integers(2, 50))
def test_an_interval_holds_its_value_wherever_the_resamples_lie(value, resamples, n_queries):
    """Also where all of them lie on one side of it."""
    for moved in (np.array(resamples), np.array(resamples) - 3, np.array(resamples) + 3):
        low, high = _bias_corrected(value, moved, n_queries, 0.95)
        assert min(value, moved.min()) <= low <= value <= high <= max(value, moved.max())


@given(gradings(), st.randoms())
def test_an_answer_does_not_depend_on_the_order_of_rows_and_judges(grades, random):
    rows, pairs = rows_of(grades), stated(grades)
    table = table_of(grades)
    if any(sum(v is not None for v in unit) > 1 for unit in zip(*table, strict=True)):
        before = grade_agreement(CodedGrades.of(rows), n_resamples=15, rng=1)
        random.shuffle(rows)
        after = grade_agreement(CodedGrades.of(rows), n_resamples=15, rng=1)
        assert list(every_coefficient(before)) == list(every_coefficient(after))
        assert (before.judges, before.n_alike) == (after.judges, after.n_alike)
        assert [pair.judges for pair in before.pairs] == [pair.judges for pair in after.pairs]
    try:
        before = preference_agreement(Relations.of(pairs), n_resamples=15, rng=1)
    except InputError:
        return
    random.shuffle(pairs)
    after = preference_agreement(Relations.of(pairs), n_resamples=15, rng=1)
    assert (before.overall, before.strict) == (after.overall, after.strict)
    assert before.counts.tolist() == after.counts.tolist()


def test_why_there_is_no_coefficient():
    """One grade only is not the same as nothing that several judged."""
    both = [(judge, f"q{q}", d, 1) for judge in ("ann", "bob") for q in range(2) for d in "ab"]
    found = grade_agreement(CodedGrades.of(both), n_resamples=10, rng=0)
    for coefficient in (*found.alphas.values(), *found.acs.values(), *found.pairs[0].kappas.values()):
        assert (coefficient.value, coefficient.why_undefined) == (None, "one answer only")
        assert (coefficient.raw_agreement, coefficient.base_rate, coefficient.n) == (1, 1, 4)
    assert found.preferences.strict.why_undefined == "nothing judged by several"
    assert (found.preferences.strict.raw_agreement, found.preferences.strict.base_rate) == (None, None)
    assert found.preferences.overall.why_undefined == found.pairs[0].difference.why_undefined == ""
    said = undefined_sentence(found.alphas["ordinal"], found.n_items, found.common_grade)
    assert said.endswith("the 4 items that several judged got one grade only, 1.")
    assert "no item was judged by several" in undefined_sentence(found.preferences.strict, 0, 1)


def graded(differences, queries=None):
    """Make the grades of ann, and of bob who differs by so much from her, an item a row."""
    rows = []
    for k, gap in enumerate(differences):
        query = f"q{k:02}" if queries is None else f"q{queries[k]:02}"
        rows += [("ann", query, f"d{k:02}", 5), ("bob", query, f"d{k:02}", 5 + int(gap))]
    return grade_agreement(CodedGrades.of(rows), n_resamples=200, rng=0)


def said_of(agreement):
    (pair,) = agreement.pairs
    return severity_sentence(pair.judges, pair.difference, agreement.confidence)


@pytest.mark.parametrize("queries", [None, [0] * 10, [0, 1] * 5])
def test_a_judge_who_is_always_stricter_is_said(queries):
    assert said_of(graded([-1] * 10, queries)) == "bob grades 1.0 lower than ann (95 % interval 1.0 to 1.0, 10 items)."
    assert said_of(graded([2] * 10, queries)).startswith("ann grades 2.0 lower than bob")
    assert said_of(graded([1, -1] * 5, queries)) == ""
    assert said_of(graded([0] * 10, queries)) == ""


def test_few_items_say_nothing_of_a_judge():
    """Five that are lower come by chance once in sixteen times, six once in thirty-two."""
    assert [said_of(graded([-1] * n)) != "" for n in range(1, 9)] == [False] * 5 + [True] * 3
    assert (least_units(0.95), least_units(0.99), least_units(0.5)) == (6, 8, 2)


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(-3, 3)), min_size=1, max_size=20))
def test_ends_are_means_of_parts_of_the_queries(rows):
    """Each part of the queries has a mean; of 2^n − 1 in order the ends are as far in as the confidence says."""
    query, gaps = (np.array(column) for column in zip(*rows, strict=True))
    found = mean_difference(gaps.astype(float), query, 0.9, 10, np.random.default_rng(0))
    units = [[Fraction(g) for q, g in rows if q == own] for own in sorted(set(query.tolist()))]
    if len(units) < 5:  # 2 of 32 are less than a tenth
        units = [[Fraction(g)] for _, g in rows]
    if len(units) < 5:
        assert (found.low, found.high) == (None, None)
        return
    if len(units) > 11:
        assert found.low is None or found.low <= found.value <= found.high  # ten parts have no tail
        return
    parts = [part for n in range(1, len(units) + 1) for part in combinations(units, n)]
    means = sorted(sum(sum(unit) for unit in part) / sum(len(unit) for unit in part) for part in parts)
    k = math.floor(Fraction(5, 100) * (len(means) + 1))
    assert found.low == pytest.approx(float(means[k - 1]))
    assert found.high == pytest.approx(float(means[-k]))


@pytest.mark.statistical
@pytest.mark.parametrize(("n_queries", "n_items"), [(6, 3), (9, 4), (25, 2), (40, 5), (3, 5)])
def test_of_equally_strict_judges_one_pair_in_twenty_is_called_stricter(n_queries, n_items):
    """False alarms of the test: 1e-4 for another seed, as of a binomial at 0.05.

    Who is higher in a query is so in all its items; of fewer queries than six the items are the units, drawn as such.
    """
    n_said, n_trials = 0, 600
    for seed in range(n_trials):
        random = np.random.default_rng(seed)
        query = np.repeat(np.arange(n_queries), n_items)
        lean = random.choice([-1, 1], n_queries)[query] if n_queries >= 6 else random.choice([-1, 1], query.size)
        gaps = lean * random.integers(0, 3, query.size)
        found = mean_difference(gaps.astype(float), query, 0.95, 400, random)
        n_said += not found.low <= 0 <= found.high
    assert n_said <= binom.ppf(1 - 1e-4, n_trials, 0.05)


@pytest.mark.statistical
def test_a_judge_who_is_stricter_as_a_rule_is_said():
    """0.6 lower in the mean on 30 queries, with 0.86 of noise; false alarms 1e-4 at a power of .95: 86 of 100."""
    n_said = 0
    for seed in range(100):
        random = np.random.default_rng(seed)
        gaps = random.choice([-2, -1, 0, 1], 30, p=[0.15, 0.4, 0.35, 0.1])
        found = mean_difference(gaps.astype(float), np.arange(30), 0.95, 1000, random)
        n_said += found.high < 0
    assert n_said >= 86


@pytest.mark.parametrize(
    ("draws", "share", "means"),
    [
        ([[2, 0], [1, 1], [0, 2], [1, 1]], 0.5, [0, 0.5, 0.5, 1]),
        ([[2, 0], [1, 1], [1, 1], [1, 1]], 0.625, [0, 0.5, 0.5, 0.5]),  # three of four are equal to the value
    ],
)
def test_two_queries_have_an_interval_from_the_resamples_around_their_value(draws, share, means):
    """At a confidence of a half the t quantile of one degree of freedom is 1, widened by sqrt(2 / (2 - 1))."""
    found = coefficient_intervals.coefficient(
        lambda times: float(times @ [0, 1]) / 2, np.array(draws, dtype=float), 0.5, 7, 0.25, 0.75
    )
    shift = 2 * NormalDist().inv_cdf(share)
    at = [3 * NormalDist().cdf(shift + half) for half in (-math.sqrt(2), math.sqrt(2))]
    assert (found.low, found.high) == pytest.approx(tuple(np.interp(at, range(4), means)), abs=1e-9)
    assert (found.value, found.n, found.raw_agreement, found.base_rate) == (0.5, 7, 0.25, 0.75)


@pytest.mark.parametrize(
    ("statistic", "draws", "value"),
    [
        (lambda times: float(times[0]), [[1], [1]], 1.0),  # one query
        (lambda _: None, [[2, 0], [1, 1]], None),
        (lambda times: 0.5 if times.all() else None, [[2, 0], [1, 1]], 0.5),  # one resample has none
    ],
)
def test_a_coefficient_without_an_interval(statistic, draws, value):
    found = coefficient_intervals.coefficient(statistic, np.array(draws, dtype=float), 0.9, 3, None, None)
    assert (found.value, found.low, found.high) == (value, None, None)
