"""The learner: how it chooses C, what it scores and says, and how much pairs teach it."""

import warnings

import numpy as np
import pytest
from each_once import each_once
from hypothesis import given, settings, strategies as st
from naive import pool_of, rankings_of
from naive_learning import EXPONENTIAL, LINEAR, least_loss, paper_pairs, random_pairs, swapped, true_weights, utilities
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from activeeval import Additive
from activeeval.core.errors import InputError
from activeeval.gains import GainDiscountLearner, PreferenceData, UndeterminedWarning, regularization_choice, similarity
from activeeval.gains.pair_summary import summarize_pairs

pytestmark = pytest.mark.filterwarnings("ignore::activeeval.gains.UndeterminedWarning")

SHAPES = ("decreasing", "monotone", "free")
GRID = (0.01, 0.1, 1.0, 10.0, 100.0)


def learner(**parameters):
    return GainDiscountLearner(**{"C": 1.0, "conflicts": "keep"} | parameters)


# What fit leaves behind


@pytest.mark.parametrize("shape", SHAPES)
def test_weights_are_the_program_s_and_anchored(shape):
    data = random_pairs(1, 80, tied_below=0.4)
    fitted = learner(shape=shape, C=5.0, C_ties=0.5, tie_margin=0.0, margin="grades").fit(data)
    margins = (data.preferred != data.other).sum(axis=1).astype(float)
    expected = least_loss(data, shape, 5.0, 0.5, margins, tie_margin=0.0)
    np.testing.assert_allclose(fitted.weights_, expected - expected[:, :1], rtol=0, atol=1e-5)
    np.testing.assert_array_equal(fitted.weights_[:, 0], 0)
    assert (fitted.C_, fitted.C_ties_, fitted.choices_) == (5.0, 0.5, ())
    assert (fitted.n_ranks_, fitted.n_levels_) == (4, 3)
    assert fitted.pair_summary_ == summarize_pairs(data)
    values = utilities(fitted.weights_, data.preferred) - utilities(fitted.weights_, data.other)
    assert fitted.n_violated_ == np.sum(values[~data.ties] <= 1e-6 * values.max()) > 0
    assert learner(C=5.0).fit(data).C_ties_ == 5.0


def test_it_is_an_estimator():
    data = random_pairs(1, 50)
    for parameters in ({}, {"C": 2.0, "C_ties": 0.0, "shape": "free", "rng": 7}):
        fresh = GainDiscountLearner(**parameters)
        before = fresh.get_params()
        assert GainDiscountLearner(**before).get_params() == before
        copy = clone(fresh).set_params(conflicts="keep")
        assert copy.fit(data) is copy
        assert repr(clone(fresh)) == repr(fresh)
        assert fresh.get_params() == before
        assert not hasattr(fresh, "weights_")
    assert repr(GainDiscountLearner()) == "GainDiscountLearner()"
    assert repr(GainDiscountLearner(C=2.0, shape="free")) == "GainDiscountLearner(C=2.0, shape='free')"


def test_nothing_is_known_before_fit():
    fresh, data = GainDiscountLearner(), random_pairs(1, 10)
    for ask in (fresh.score, fresh.predict, fresh.decision_function):
        with pytest.raises(NotFittedError):
            ask(data)
    for ask in (fresh.read_out, fresh.measure):
        with pytest.raises(NotFittedError):
            ask()


# Scores


@given(st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=25)
def test_swapped_lists_have_the_opposite_difference(seed):
    random = np.random.default_rng(seed)
    fitted = learner().fit(random_pairs(seed, 30))
    data = random_pairs(seed + 1, 40, noise=2.0, tied_below=0.3)
    flip = random.random(40) < 0.5
    signs = np.where(flip, -1, 1)
    found = fitted.decision_function(data)
    np.testing.assert_allclose(
        found,
        utilities(fitted.weights_, data.preferred) - utilities(fitted.weights_, data.other),
        rtol=1e-12,
        atol=1e-6 * fitted.weights_.max(),
    )
    np.testing.assert_allclose(fitted.decision_function(swapped(data, flip)), signs * found, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(fitted.predict(data), np.sign(found))
    np.testing.assert_array_equal(fitted.predict(swapped(data, flip)), signs * np.sign(found))
    strict = data.subset(~data.ties)
    right = float(np.mean(found[~data.ties] > 0))
    assert fitted.score(data) == fitted.score(strict) == right
    turned = fitted.score(swapped(strict, np.ones(strict.n_pairs, dtype=bool)))
    assert turned == pytest.approx(1 - right - np.mean(fitted.predict(strict) == 0))


def test_lists_of_equal_utility_are_no_success():
    fitted = learner().fit(random_pairs(1, 30))
    same = PreferenceData([[1, 0, 2, 1]], [[1, 0, 2, 1]])
    assert fitted.predict(same).tolist() == [0]
    assert fitted.score(same) == 0


def test_pairs_of_another_kind_are_refused():
    fitted = learner().fit(random_pairs(1, 30))
    documents = PreferenceData.from_documents([list("abca"[:3])], [list("bac")])
    for depth, n_levels in ((3, 3), (4, 4)):
        with pytest.raises(InputError, match=f"have {depth} ranks of {n_levels} grades, learned were 4 ranks of 3"):
            fitted.score(random_pairs(1, 5, depth=depth, n_levels=n_levels))
    with pytest.raises(InputError, match="all pairs are tied, so that none can be ordered rightly"):
        fitted.score(PreferenceData([[0] * 4], [[2] * 4], ties=[True]))
    others = PreferenceData.from_documents([["x", "b", "c"]], [["b", "x", "c"]])
    fitted = learner().fit(documents)
    assert fitted.score(documents) == 1
    with pytest.raises(InputError, match="the pairs are of other documents than those that were learned"):
        fitted.score(others)


@pytest.mark.parametrize("depth", [3, 6])
def test_the_measure_scores_lists_as_the_weights_do(depth):
    """Weights of one product: values are those of the weights but for what grade 0 is worth at each rank."""
    random = np.random.default_rng(3)
    weights = true_weights([0, 1, 3, 7], depth) + random.normal(size=depth)[:, None]
    fitted = learner().fit(random_pairs(1, 30, depth=depth, n_levels=4))
    fitted.weights_ = weights - weights[:, :1]
    measure = fitted.measure()
    assert isinstance(measure, Additive)
    assert measure.cutoff == depth
    pool = pool_of([9] * 40)
    grades = random.integers(0, 4, size=pool.n_items)
    orders = [random.permutation(9) for _ in range(40)]
    scores = measure.score(pool, grades, rankings_of(pool, orders))
    lists = np.array([grades[9 * q + order[:depth]] for q, order in enumerate(orders)])
    np.testing.assert_allclose(scores, utilities(weights, lists) - weights[:, 0].sum(), rtol=1e-5)


# The choice of C


def test_the_choice_is_the_least_loss_on_what_is_held_out():
    data, validation = random_pairs(1, 60), random_pairs(2, 80, tied_below=0.2)
    fitted = learner(C="cv", grid=GRID, C_ties=0.3).fit(data, validation=validation)
    strict = validation.subset(~validation.ties)
    for C, choice in zip(GRID, fitted.choices_, strict=True):
        weights = least_loss(data, "decreasing", C, 0.3)
        values = utilities(weights, strict.preferred) - utilities(weights, strict.other)
        assert choice.C == C
        assert choice.loss == pytest.approx(np.mean(np.maximum(1 - values, 0) ** 2), rel=1e-3)
        assert choice.precision == pytest.approx(np.mean(values > 0), abs=0.02)
    assert fitted.C_ == min(fitted.choices_, key=lambda choice: choice.loss).C
    assert GRID[0] < fitted.C_ < GRID[-1]
    again = learner(C=fitted.C_, C_ties=0.3).fit(data)
    np.testing.assert_array_equal(fitted.weights_, again.weights_)


def test_cross_validation_learns_from_the_other_folds_alone():
    data = random_pairs(1, 25, tied_below=0.4)
    fitted = learner(C="cv", grid=(0.1, 10.0), n_folds=3, rng=4, C_ties=0.3).fit(data)
    fold = np.random.default_rng(4).permutation(25) % 3
    for C, choice in zip((0.1, 10.0), fitted.choices_, strict=True):
        values = np.empty(25)
        for number in range(3):
            weights = least_loss(data.subset(fold != number), "decreasing", C, 0.3)
            leads = utilities(weights, data.preferred) - utilities(weights, data.other)
            values = np.where(fold == number, leads, values)
        held = values[~data.ties]
        assert choice.loss == pytest.approx(np.mean(np.maximum(1 - held, 0) ** 2), rel=1e-4)
        assert choice.precision == pytest.approx(np.mean(held > 0), abs=0.05)


def test_pairs_of_a_query_are_held_out_together():
    """Every query's pairs are copies: a fold that split them would have learned what it is tested on."""
    queries = np.repeat(np.arange(8), 6)
    data = random_pairs(1, 8).subset(queries)
    data = PreferenceData(data.preferred, data.other, queries=queries)
    program = learner().program(data)
    for n_folds in (2, 5, 8, 9):
        splits = regularization_choice.folds(data, program, n_folds, 0)
        assert len(splits) == min(n_folds, 8)
        assert all(len(set(split.counts[queries == q])) == 1 for split in splits for q in range(8))
    one_query = PreferenceData(data.preferred, data.other, queries=np.zeros(48, int))
    split = regularization_choice.folds(one_query, program, 5, 0)[0]
    assert {len(set(split.counts[queries == q])) for q in range(8)} == {1, 2}


def test_the_seed_decides_and_the_order_of_the_grid_does_not():
    data = random_pairs(1, 70)

    def fitted(grid=GRID, rng=0):
        return learner(C="cv", grid=grid, rng=rng).fit(data)

    first, again, turned = fitted(), fitted(), fitted(GRID[::-1])
    assert first.choices_ == again.choices_
    np.testing.assert_array_equal(first.weights_, again.weights_)
    assert len({choice.loss for choice in first.choices_}) == len(GRID)
    assert turned.choices_ == first.choices_[::-1]
    assert turned.C_ == first.C_
    np.testing.assert_array_equal(turned.weights_, first.weights_)
    assert fitted(rng=1).choices_ != first.choices_
    assert fitted(rng=np.random.default_rng(0)).choices_ == first.choices_
    np.testing.assert_array_equal(fitted(np.array(GRID)).weights_, first.weights_)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_few_pairs_are_folds_of_their_own(n):
    data = random_pairs(1, n, noise=0.0)
    assert learner(C="cv", grid=GRID).fit(data).C_ in GRID
    with pytest.raises(InputError, match="one pair cannot be split for cross-validation: give C"):
        learner(C="cv").fit(data.subset([0]))
    tied = PreferenceData(data.preferred, data.other, ties=np.arange(n) > 0, max_grade=2)
    for C_ties in (None, 0.0):
        with pytest.raises(InputError, match="one preference, or preferences of one query, cannot be split"):
            learner(C="cv", grid=GRID, C_ties=C_ties).fit(tied)


def test_without_grades_lists_are_learned_as_well():
    """The paper: precisely learned without grades, on permutations of one query's documents."""
    random = np.random.default_rng(0)
    worth = np.array([0, 0, 1, 1, 2, 3.0])
    names = np.array(["d1", "d2", "d3", "d4", "d5", "d6"])
    orders = np.array([random.permutation(6) for _ in range(1400)])
    values = utilities(true_weights(worth, 6), orders)
    pairs = np.arange(1400).reshape(-1, 2)
    pairs = pairs[np.abs(np.diff(values[pairs], axis=1)[:, 0]) > 1e-9]
    pairs = np.where((np.diff(values[pairs], axis=1) < 0), pairs, pairs[:, ::-1])
    data = PreferenceData.from_documents(names[orders[pairs[:, 0]]].tolist(), names[orders[pairs[:, 1]]].tolist())
    fitted = GainDiscountLearner(C=100.0).fit(data.subset(np.arange(500)))
    assert fitted.score(data.subset(np.arange(500, data.n_pairs))) > 0.95


# How well


@pytest.mark.statistical
@each_once(
    ("weights", [LINEAR, EXPONENTIAL]),
    (("shape", "at_200", "at_800"), [("monotone", 0.91, 0.965), ("decreasing", 0.945, 0.975)]),
)
def test_pairs_without_noise_are_learned_precisely(shape, at_200, at_800, weights):
    """The paper: about 95 % at 200 pairs and 98 % at 800, with the shape that it has, monotone.

    Of eight seeds at 200 pairs the mean was 0.937 (standard deviation 0.011) with monotone and 0.963 (0.006) with
    decreasing weights, at 800 0.981 (0.003) and 0.985 (0.003), so that the mean of three is below with probability
    under 1e-4. The weights of the other data set get 0.90, the wrong sign 0.05.
    """
    test = paper_pairs(weights, 4000, 999)
    for n, least in ((200, at_200), (800, at_800)):
        found = [learner(C=30.0, shape=shape).fit(paper_pairs(weights, n, seed)) for seed in range(3)]
        assert np.mean([one.score(test) for one in found]) > least
        assert all(similarity(one.weights_, weights) > 0.7 for one in found)


@pytest.mark.statistical
def test_a_quarter_of_flipped_pairs_does_little_harm():
    """The paper asks for 85 % at 200 of 800; here 0.93 with a standard deviation of 0.01; false alarms under 1e-6."""
    data, test = paper_pairs(EXPONENTIAL, 800, 0), paper_pairs(EXPONENTIAL, 4000, 999)
    noisy = swapped(data, np.arange(800) < 200)
    fitted = learner(C="cv", grid=(0.003, 0.03, 0.3, 3.0), n_folds=3).fit(noisy)
    assert fitted.score(test) > 0.85


@pytest.mark.statistical
def test_ties_pull_tied_lists_together():
    """The paper: the mean difference on tied test pairs falls as C_ties grows. Of five seeds, by 15 to 27 %."""
    data, test = (random_pairs(s, 600, noise=0.5, tied_below=0.5) for s in (1, 2))
    gaps = []
    for C_ties in (0.0, 0.3, 1.0):
        fitted = learner(C=0.3, C_ties=C_ties, tie_margin=0.0).fit(data)
        gaps.append(np.abs(fitted.decision_function(test.subset(test.ties))).mean())
        assert fitted.score(test) > 0.9
    assert gaps[0] > 1.05 * gaps[1]
    assert gaps[1] > 1.05 * gaps[2]


# What is refused


def test_data_that_teach_nothing_are_refused():
    with pytest.raises(InputError, match="each of the 2 pairs is a tie: a preference is needed to learn from"):
        learner().fit(PreferenceData([[1], [0]], [[0], [1]], ties=[True, True]))
    with pytest.raises(InputError, match="the pairs must be PreferenceData, got list"):
        learner().fit([[1, 0]])
    with pytest.raises(InputError, match="a validation set chooses C, which is given"):
        learner().fit(random_pairs(1, 9), validation=random_pairs(2, 9))
    with pytest.raises(InputError, match="each of the 1 pairs is a tie"):
        learner(C="cv").fit(random_pairs(1, 9), validation=PreferenceData([[1] * 4], [[2] * 4], ties=[True]))
    with pytest.raises(InputError, match="the pairs have 3 ranks of 3 grades, learned were 4 ranks of 3"):
        learner(C="cv").fit(random_pairs(1, 9), validation=random_pairs(2, 9, depth=3))


def test_contradictions_are_refused_unless_kept():
    lists = [[1, 0], [0, 1], [1, 1]]
    others = [[0, 1], [1, 0], [0, 1]]
    data = PreferenceData(lists, others, places=["a:1", "a:2", "a:3"])
    strict = GainDiscountLearner(C=1.0)
    text = "a:2 prefers the lists of a:1 the other way round, one of 1 such contradictions; with .conflicts. keep "
    with pytest.raises(InputError, match=text):
        strict.fit(data)
    with pytest.raises(InputError, match="pair 2 prefers the lists of pair 1 the other way round"):
        GainDiscountLearner().fit(data.subset([0]), validation=PreferenceData(lists, others))
    strict.fit(PreferenceData(lists, others, queries=["q", "r", "q"]))
    strict.fit(PreferenceData(lists, others, ties=[False, True, False]))
    kept = learner().fit(data)
    assert kept.pair_summary_.contradictory == 1
    assert kept.n_violated_ >= 1


def test_cautions_are_warned_of_where_fit_is_called():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        learner().fit(PreferenceData([[1, 0]], [[0, 1]]))
    assert {warning.category for warning in caught} == {UndeterminedWarning}
    assert {warning.filename for warning in caught} == {__file__}
