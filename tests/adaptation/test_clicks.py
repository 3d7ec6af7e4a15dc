from collections import Counter

import naive_clicks as naive
import numpy as np
import pytest
from each_once import each_once
from hypothesis import given, strategies as st
from scipy import stats

from activeeval.adaptation.cleaning import CleaningRules, RowOutcome
from activeeval.adaptation.clicks import PairOutcome, preferences_from_clicks
from activeeval.adaptation.messages import click_lines
from activeeval.adaptation.positions import Pairwise, QueryClicks
from activeeval.adaptation.proportion_tests import Strata, exact_p_value
from activeeval.formats.comparisons import write_comparisons
from activeeval.formats.judgments.from_files import read as read_judgments
from activeeval.formats.tables.clicks import ClickLog

NAMES = {
    PairOutcome.KEPT: "kept",
    PairOutcome.FEW_IMPRESSIONS: "few",
    PairOutcome.ROBOTS: "robots",
    PairOutcome.NOT_SIGNIFICANT: "no difference",
    PairOutcome.ABOVE: "above",
    PairOutcome.BOTH_WAYS: "both ways",
}
ROW_NAMES = {
    RowOutcome.KEPT: "kept",
    RowOutcome.FEW_IMPRESSIONS: "few",
    RowOutcome.ROBOT_ROW: "robot row",
    RowOutcome.ROBOT_QUERY: "robot query",
}


def log_of(rows):
    return ClickLog(*map(list, zip(*rows, strict=True)))


def said(found):
    columns = (found.query_ids, found.preferred, found.other, found.z, found.p_values)
    return list(zip(*(column.tolist() for column in columns), strict=True))


counts = st.tuples(st.integers(1, 400), st.floats(0, 1)).map(lambda drawn: (drawn[0], int(drawn[0] * drawn[1])))


@given(counts, counts)
def test_z_is_that_of_the_pooled_test(first, second):
    """z² is the chi-squared of the table of two rows, which scipy computes from expected counts."""
    table = np.array([[c, n - c] for n, c in (first, second)])
    z = float(Strata.of(first, second).z())
    if not table.sum(axis=0).all():
        assert z == 0
        return
    chi_squared = stats.chi2_contingency(table, correction=False)
    assert z**2 == pytest.approx(chi_squared.statistic, rel=1e-9, abs=1e-12)
    if z > 0:
        assert 2 * float(Strata.of(first, second).p_values()) == pytest.approx(chi_squared.pvalue, rel=1e-9, abs=1e-300)


@given(counts, counts)
def test_exact_p_of_one_stratum_is_fishers(first, second):
    (n1, c1), (n2, c2) = first, second
    exact = exact_p_value(np.array([[n1], [n2]]), np.array([[c1], [c2]]))
    assert exact == pytest.approx(float(naive.fisher(n1, c1, n2, c2)), rel=1e-10, abs=1e-300)
    theirs = stats.fisher_exact([[c1, n1 - c1], [c2, n2 - c2]], alternative="greater").pvalue
    assert exact == pytest.approx(theirs, rel=1e-7, abs=1e-15)


few = st.integers(1, 12).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n)))


@given(st.lists(st.tuples(few, few), min_size=1, max_size=3))
def test_exact_p_of_strata_is_their_enumeration(strata):
    flat = [(*first, *second) for first, second in strata]
    n1, c1, n2, c2 = np.array(flat).T
    expected = float(naive.exact_by_enumeration(flat))
    assert exact_p_value(np.stack((n1, n2)), np.stack((c1, c2))) == pytest.approx(expected, rel=1e-10)


@each_once((("few", "many"), [(60, 2000), (500, 16_500)]), ("level", [0.05, 0.01, 0.001]))
def test_a_level_holds_where_one_was_shown_far_more_often(few, many, level):
    """The chance of a preference among documents that are clicked alike, by going through the counts of both."""
    rate = 0.1
    own, other = (
        np.arange(int(stats.binom.ppf(1e-7, n, rate)), int(stats.binom.isf(1e-7, n, rate)) + 1, max(1, n // 800))
        for n in (few, many)
    )
    n_own, n_docs = own.size, own.size + other.size
    is_own = np.arange(n_docs) < n_own
    shown = np.where(np.stack((~is_own, is_own), axis=1), np.where(is_own, few, many)[:, None], 0)
    clicked = np.where(shown > 0, np.concatenate((own, other))[:, None], 0)
    robots = np.zeros(n_docs, dtype=bool)
    query = QueryClicks(documents=np.arange(n_docs), of_robots=robots, shown=shown, clicked=clicked)
    p_values = Pairwise.of(query).test(True, is_own[:, None] & ~is_own, level)[1][:n_own, n_own:]
    weights = [stats.binom.pmf(counts, n, rate) for counts, n in ((own, few), (other, many))]
    chances = np.outer(*(own / own.sum() for own in weights))
    said = chances[p_values <= level / 2].sum()
    assert 0.5 < said / (level / 2) <= 1
    normal = Strata.of((few, own[:, None]), (many, other)).p_values()
    assert chances[normal <= level / 2].sum() > 1.1 * level / 2  # or there were nothing to mend


def test_large_counts_keep_their_digits():
    """Fisher's p value of a thousand million impressions each, against the normal one, which is as good there."""
    n, c1, c2 = 10**9, 20_400, 20_000
    exact = exact_p_value(np.array([[n], [n]]), np.array([[c1], [c2]]))
    assert exact == pytest.approx(float(Strata.of((n, c1 - 0.5), (n, c2 + 0.5)).p_values()), rel=1e-3)


@st.composite
def logs(draw):
    size = draw(st.sampled_from([30, 700]))
    place = st.tuples(st.sampled_from("pq"), st.sampled_from("abcd"), st.integers(1, 3))
    places = draw(st.lists(place, min_size=1, max_size=16, unique=True))
    rates = st.sampled_from([0.0, 0.05, 0.1, 0.3, 0.5, 0.9, 0.97, 1.0])
    rows = []
    for at in places:
        shown = draw(st.integers(1, size))
        rows.append((*at, shown, int(draw(rates) * shown)))
    return rows


@given(logs(), st.booleans(), st.sampled_from([0.05, 0.4]))
def test_it_is_the_naive_form(rows, skip_above, level):
    rules = CleaningRules(fewest_impressions=8, robot_impressions=500, robot_query_documents=2)
    found = preferences_from_clicks(log_of(rows), level, skip_above=skip_above, rules=rules)
    expected, fates, row_fates = naive.preferences(rows, level, skip_above, 8, 0.95, 500, 0.8, 2)
    assert [(q, d, e) for q, d, e, *_ in said(found)] == [(*one, other[1]) for one, other in sorted(expected)]
    for (_, _, _, z, p), pair in zip(said(found), sorted(expected), strict=True):
        assert (z, p) == pytest.approx(expected[pair], rel=1e-8, abs=1e-300)
    counted = Counter(fates.values())
    expected_pairs = {name: counted[name] for name in NAMES.values()}
    assert {NAMES[fate]: n for fate, n in found.report.pairs.items()} == expected_pairs
    rows_counted = {name: row_fates[name] for name in ROW_NAMES.values()}
    assert {ROW_NAMES[fate]: n for fate, n in found.report.rows.items()} == rows_counted
    assert found.report.n_rows == len(rows)
    assert found.report.n_possible == len(fates)


@given(logs(), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(rows, random):
    shuffled = random.sample(rows, len(rows))
    first, second = (preferences_from_clicks(log_of(own)) for own in (rows, shuffled))
    assert said(first) == said(second)
    assert first.report == second.report


@given(logs())
def test_no_pair_is_there_both_ways(rows):
    pairs = [{d, e} | {q} for q, d, e, *_ in said(preferences_from_clicks(log_of(rows), 0.4))]
    assert all(pairs.count(pair) == 1 for pair in pairs)


def test_skip_above_by_hand():
    """The lower one with more clicks is preferred; the upper one only where the rule is off."""
    lower_is_better = log_of([("q", "a", 1, 500, 50), ("q", "b", 2, 500, 100)])
    upper_is_better = log_of([("q", "a", 1, 500, 100), ("q", "b", 2, 500, 50)])
    assert [row[:3] for row in said(preferences_from_clicks(lower_is_better))] == [("q", "b", "a")]
    found = preferences_from_clicks(upper_is_better)
    assert (found.n_pairs, found.report.pairs[PairOutcome.ABOVE]) == (0, 1)
    found = preferences_from_clicks(upper_is_better, skip_above=False)
    assert [row[:3] for row in said(found)] == [("q", "a", "b")]
    z = stats.chi2_contingency([[100, 400], [50, 450]], correction=False).statistic ** 0.5
    assert found.z[0] == pytest.approx(z)


def test_positions_that_contradict_each_other_say_nothing():
    """At their main positions the lower b is clicked more; where both stood, at 1 and at 3, a is."""
    mains = [("q", "a", 1, 9000, 900), ("q", "b", 2, 9000, 1800)]
    shared = [("q", "b", 1, 3000, 90), ("q", "a", 3, 1000, 200), ("q", "b", 3, 1000, 20)]
    assert [row[1] for row in said(preferences_from_clicks(log_of(mains)))] == ["b"]
    assert [row[1] for row in said(preferences_from_clicks(log_of(mains[:1] + shared)))] == ["a"]
    found = preferences_from_clicks(log_of(mains + shared))
    assert (found.n_pairs, found.report.pairs[PairOutcome.BOTH_WAYS]) == (0, 1)


@pytest.mark.parametrize(
    ("shown", "clicked", "fate"),
    [
        (20, 19, RowOutcome.KEPT),
        (19, 19, RowOutcome.FEW_IMPRESSIONS),
        (1000, 950, RowOutcome.ROBOT_ROW),
        (1000, 949, RowOutcome.KEPT),
        (999, 999, RowOutcome.KEPT),
    ],
)
def test_the_bounds_of_rows_are_the_rules_own(shown, clicked, fate):
    report = preferences_from_clicks(log_of([("q", "a", 1, shown, clicked)])).report
    assert [own for own, n in report.rows.items() if n] == [fate]


@pytest.mark.parametrize(
    ("docs", "clicked", "fate"),
    [("abc", 80, RowOutcome.ROBOT_QUERY), ("abc", 79, RowOutcome.KEPT), ("ab", 100, RowOutcome.KEPT)],
)
def test_the_bounds_of_queries_are_the_rules_own(docs, clicked, fate):
    """The last document is clicked so often of 100 impressions, over two positions; one rarely shown does not count."""
    rows = [("q", doc, at, 100, 100) for at, doc in enumerate(docs[:-1], start=1)]
    rows += [("q", docs[-1], 8, 50, 50), ("q", docs[-1], 9, 50, clicked - 50), ("q", "z", 10, 19, 0)]
    report = preferences_from_clicks(log_of(rows)).report
    assert report.rows[fate] == len(rows) - 1
    assert report.rows[RowOutcome.FEW_IMPRESSIONS] == 1


def test_the_report_says_it_in_lines():
    rows = [("q", "a", 1, 500, 50), ("q", "b", 2, 500, 100), ("q", "c", 3, 19, 1), ("q", "d", 4, 2000, 1950)]
    rows += [("r", doc, at, 30, 29) for at, doc in enumerate("abc", start=1)]
    found = preferences_from_clicks(log_of(rows))
    assert click_lines(found.report) == (
        "7 rows of 2 queries",
        "  2 kept",
        "  1 fewer than 20 impressions",
        "  1 robots: clicked in 95% or more of 1000 impressions or more",
        "  3 robots: a query whose documents, 3 or more, are each clicked in 80% or more",
        "9 pairs of documents",
        "  1 kept",
        "  2 a document without enough impressions",
        "  6 a document that robots clicked",
        "  0 no significant difference at level 0.05",
        "  0 the one clicked more stands above (Skip-Above)",
        "  0 preferred both ways at different positions",
    )
    assert found.report.n_tested == 1


def test_the_pairs_are_written_and_read(tmp_path):
    rows = [("007", "é", 1, 500, 50), ("007", "b c", 2, 500, 100), ("q", "a", 1, 500, 40), ("q", "b", 2, 500, 100)]
    found = preferences_from_clicks(log_of(rows))
    write_comparisons(found.comparisons(), tmp_path / "pairs.jsonl")
    read = read_judgments(tmp_path / "pairs.jsonl").comparisons()
    pairs = [(one.query, one.preferred, one.other, one.is_tie) for one in read]
    assert pairs == [("007", "b c", "é", False), ("q", "b", "a", False)]


def test_an_empty_log_has_no_pairs():
    found = preferences_from_clicks(ClickLog([], [], [], [], []))
    assert (found.n_pairs, found.report.n_possible, found.report.n_rows, found.comparisons()) == (0, 0, 0, [])


@pytest.mark.parametrize(("clicked", "fate"), [((1, 1, 1), "robot query"), ((1, 1), "kept"), ((1, 1, 0), "kept")])
def test_one_impression_is_enough_where_the_rules_say_so(clicked, fate):
    rows = [("q", "abc"[k], 1, 1, n) for k, n in enumerate(clicked)]
    report = preferences_from_clicks(log_of(rows), rules=CleaningRules(fewest_impressions=1)).report
    assert {ROW_NAMES[own]: n for own, n in report.rows.items() if n} == {fate: len(clicked)}


@pytest.mark.parametrize("shown", [[(6, 1), (8, 7)], [(1, 6), (8, 7)], [(0, 6), (8, 7)], [(6, 0), (8, 7)], [(1, 1)]])
def test_positions_with_one_impression_are_strata_as_others(shown):
    shown = np.array(shown).T
    clicked = np.stack((shown[0], np.minimum(shown[1], 1) * (shown[1] > 1)))
    query = QueryClicks(documents=np.arange(2), of_robots=np.zeros(2, dtype=bool), shown=shown, clicked=clicked)
    p_values = Pairwise.of(query).test(True, np.ones((2, 2), dtype=bool), 0.05)[1]
    strata = [(n1, c1, n2, c2) for n1, c1, n2, c2 in zip(shown[0], clicked[0], shown[1], clicked[1], strict=True)]
    expected = naive.exact_by_enumeration([tuple(map(int, one)) for one in strata if one[0] and one[2]])
    assert p_values[0, 1] == pytest.approx(float(expected), rel=1e-12)
