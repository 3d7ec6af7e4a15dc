import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from naive_agreement import alpha, kappa, relation_counts
from scipy.stats import binom, chi2_contingency
from sklearn.metrics import cohen_kappa_score

from activeeval.core.errors import InputError
from activeeval.core.judgments.agreement import compare_agreement, grade_agreement, preference_agreement
from activeeval.core.judgments.coded_grades import CodedGrades, Relations
from activeeval.core.judgments.coefficients import METRICS, WEIGHTS, chi_squared, cohen_kappa, krippendorff_alpha
from activeeval.core.judgments.judgment import Judge, Judgment
from activeeval.core.judgments.table import Judgments

NONE = None
PUBLISHED = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, NONE, NONE, NONE],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NONE, 3],
    [NONE, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NONE],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NONE],
]
"""Four observers and twelve units, from "Computing Krippendorff's Alpha-Reliability"."""
PUBLISHED_ALPHAS = {"nominal": 0.743, "ordinal": 0.815, "interval": 0.849, "ratio": 0.797}
TWO_OBSERVERS = ([0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0])
"""The same paper's example of binary data, two observers: α = 0.095."""


def with_nan(table):
    return [[math.nan if v is None else v for v in row] for row in table]


@pytest.mark.parametrize("metric", METRICS)
def test_alpha_of_the_published_data(metric):
    found = krippendorff_alpha(with_nan(PUBLISHED), metric)
    assert round(found, 3) == PUBLISHED_ALPHAS[metric]
    assert found == pytest.approx(float(alpha(PUBLISHED, metric)), abs=1e-12)


def test_alpha_of_two_observers():
    assert round(krippendorff_alpha(TWO_OBSERVERS, "nominal"), 3) == 0.095


def test_kappa_of_published_tables():
    """Two readers of fifty applications: κ = 0.4; two tables that agree as often, 60 of 100: 0.1304 and 0.2593."""
    for (both, first, second, neither), expected in (
        ((20, 5, 10, 15), 0.4),
        ((45, 15, 25, 15), 0.1304),
        ((25, 35, 5, 35), 0.2593),
    ):
        one = [1] * (both + first) + [0] * (second + neither)
        two = [1] * both + [0] * first + [1] * second + [0] * neither
        assert cohen_kappa(one, two) == pytest.approx(expected, abs=5e-5)
        assert cohen_kappa(one, two) == pytest.approx(float(kappa(one, two, 0)), abs=1e-12)


grades_of_two = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=25)


@given(grades_of_two)
def test_kappa_against_loops_and_scikit_learn(pairs):
    one, two = zip(*pairs, strict=True)
    for weights, power in WEIGHTS.items():
        found, expected = cohen_kappa(one, two, weights), kappa(one, two, power)
        if expected is None:
            assert found is None
            continue
        assert found == pytest.approx(float(expected), abs=1e-9)
        theirs = cohen_kappa_score(one, two, weights=None if weights == "none" else weights, labels=range(5))
        assert found == pytest.approx(theirs, abs=1e-9)


@given(st.integers(2, 4), st.integers(1, 8), st.data())
def test_alpha_against_loops(n_judges, n_items, data):
    grade = st.one_of(st.none(), st.integers(0, 4))
    table = [data.draw(st.lists(grade, min_size=n_items, max_size=n_items)) for _ in range(n_judges)]
    for metric in METRICS:
        found, expected = krippendorff_alpha(with_nan(table), metric), alpha(table, metric)
        assert (found is None) == (expected is None)
        assert found is None or found == pytest.approx(float(expected), abs=1e-9)


@st.composite
def gradings(draw):
    """Draw grades of judges: a dict from judge to query to document to grade, not all of them there."""
    documents = {f"q{q}": [f"d{d}" for d in range(draw(st.integers(1, 5)))] for q in range(draw(st.integers(1, 3)))}
    judges = [f"j{j}" for j in range(draw(st.integers(2, 3)))]
    given = st.one_of(st.none(), st.integers(0, 2))
    drawn = {j: {q: {d: draw(given) for d in docs} for q, docs in documents.items()} for j in judges}
    return {j: {q: {d: y for d, y in own.items() if y is not None} for q, own in of.items()} for j, of in drawn.items()}


def rows_of(grades):
    return [(j, q, d, y) for j, of in grades.items() for q, own in of.items() for d, y in own.items()]


def stated(grades):
    """Return the preferences that grades imply, each stated."""
    found = []
    for judge, of in grades.items():
        for query, own in of.items():
            docs = list(own)
            for k, a in enumerate(docs):
                for b in docs[k + 1 :]:
                    best, other = (a, b) if own[a] >= own[b] else (b, a)
                    found.append((judge, query, best, other, own[a] == own[b]))
    return found


@given(gradings(), st.randoms())
def test_tables_against_loops(grades, random):
    """Grades and the preferences that they imply have one table, whatever the order of the rows."""
    expected = relation_counts(grades)
    rows, pairs = rows_of(grades), stated(grades)
    by_judge = CodedGrades.of(rows).relations().tables().sum(axis=0)
    assert by_judge.tolist() == expected
    assert Relations.of(pairs).tables().sum(axis=0).tolist() == expected
    random.shuffle(rows)
    rows.sort(key=lambda row: row[0])  # who is the first judge of two is who comes first
    shuffled = CodedGrades.of(rows).relations().tables().sum(axis=0)
    assert shuffled.tolist() == relation_counts({j: grades[j] for j in sorted(grades)})


@given(gradings())
def test_shares_are_those_of_the_table(grades):
    counts = np.array(relation_counts(grades))
    pairs = Relations.of(stated(grades))
    if not counts.sum():
        with pytest.raises(InputError, match=r"no two judges have a pair|there is only one judge|there is no judge"):
            preference_agreement(pairs, n_resamples=2)
        return
    found = preference_agreement(pairs, n_resamples=20, rng=0)
    assert found.overall.value == pytest.approx(np.trace(counts) / counts.sum(), abs=1e-12)
    strict = counts[::2, ::2].sum()
    assert found.strict.n == strict
    assert found.strict.value == (pytest.approx(np.trace(counts[::2, ::2]) / strict, abs=1e-12) if strict else None)
    for table, line in ((found.by_row, 1), (found.by_column, 0)):
        sums = counts.sum(axis=line)
        assert np.nansum(table, axis=line) == pytest.approx(np.where(sums > 0, 1, 0), abs=1e-12)
    assert found.by_row * counts.sum(axis=1, keepdims=True) == pytest.approx(
        np.where(counts.sum(axis=1, keepdims=True) > 0, counts, np.nan), nan_ok=True
    )


def test_a_table_by_hand():
    """Ann and Bob on three pairs of q: they agree on a > b, differ on a ~ c, contradict each other on b and c."""
    pairs = {"ann": ["ab", "ca", "bc"], "bob": ["ab", "ac", "cb"]}
    rows = [
        Judgment("q", pair[0], Judge(judge), "preference", int(pair != "ca"), other=pair[1])
        for judge, own in pairs.items()
        for pair in own
    ]
    found = preference_agreement(Judgments.of(rows).coded_relations(), rng=0)
    assert found.counts.tolist() == [[1, 0, 1], [1, 0, 0], [0, 0, 0]]
    assert found.by_row[0].tolist() == [0.5, 0, 0.5]
    assert found.by_column[:, 0].tolist() == [0.5, 0.5, 0]
    assert np.isnan(found.by_row[2]).all()
    assert np.isnan(found.by_column[:, 1]).all()
    assert (found.overall.value, found.strict.value, found.strict.n) == (1 / 3, 0.5, 2)
    assert (found.overall.low, found.overall.high) == (None, None)  # of one query nobody knows how much they vary


@given(st.integers(1, 200), st.integers(1, 200), st.data())
def test_chi_squared_against_scipy(n, m, data):
    a, b = data.draw(st.integers(0, n)), data.draw(st.integers(0, m))
    found = chi_squared(a, n, b, m)
    if not 0 < a + b < n + m:
        assert found is None
        return
    theirs = chi2_contingency([[a, n - a], [b, m - b]], correction=False)
    assert found.statistic == pytest.approx(theirs.statistic, abs=1e-9)
    assert found.p_value == pytest.approx(theirs.pvalue, abs=1e-9)


def test_methods_are_compared():
    two = []
    for share in (0.9, 0.6):
        random = np.random.default_rng(1)
        said = []
        for k in range(200):
            said.append(("ann", f"q{k}", "a", "b", False))
            said.append(("bob", f"q{k}", *("ab" if random.random() < share else "ba"), False))
        two.append(preference_agreement(Relations.of(said), rng=0))
    whole = compare_agreement(*two)
    counts = [[int(np.trace(one.counts)), int(one.counts.sum() - np.trace(one.counts))] for one in two]
    assert whole.statistic == pytest.approx(chi2_contingency(counts, correction=False).statistic, abs=1e-9)
    assert compare_agreement(*two, strict=True) == whole  # nobody says a tie
    assert whole.p_value < 1e-6


def test_ends_are_quantiles_of_resampled_queries():
    """Of 100 queries with a pair each a resampled share is binomial; 4000 of them leave an end off by one at most."""
    said = [("ann", f"q{k}", "a", "b", False) for k in range(100)]
    said += [("bob", f"q{k}", *("ab" if k < 80 else "ba"), False) for k in range(100)]
    for level in (0.5, 0.9):
        found = preference_agreement(Relations.of(said), level, 4000, 0).overall
        ends = binom.ppf([(1 - level) / 2, (1 + level) / 2], 100, 0.8) / 100
        assert [found.low, found.high] == pytest.approx(ends, abs=0.0101)


def test_a_seed_has_one_answer():
    random, documents = np.random.default_rng(0), [(f"q{q}", f"d{d}") for q in range(20) for d in range(4)]
    rows = [(judge, *doc, int(random.integers(3))) for judge in ("ann", "bob") for doc in documents]
    one, two, other = (grade_agreement(CodedGrades.of(rows), n_resamples=100, rng=seed) for seed in (3, 3, 4))
    assert one.alphas == two.alphas
    assert (one.acs, one.pairs) == (two.acs, two.pairs)
    assert one.alphas != other.alphas
    assert one.alphas["ordinal"].low < one.alphas["ordinal"].value < one.alphas["ordinal"].high


def test_what_is_not_defined_is_none():
    rows = [(judge, f"q{q}", "d", 2) for judge in ("ann", "bob") for q in range(3)]
    found = grade_agreement(CodedGrades.of(rows), rng=0)
    assert {one.value for one in found.alphas.values()} == {None}
    assert {one.value for one in found.pairs[0].kappas.values()} == {None}
    assert found.preferences is None  # no query has two items
    assert krippendorff_alpha([[1, math.nan], [math.nan, 2]]) is None
    assert cohen_kappa([1, 1], [1, 1]) is None
    assert chi_squared(3, 3, 4, 4) is None
