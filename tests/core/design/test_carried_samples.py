"""Samples that go on from earlier ones: two nights integrated over fixed numbers, cell by cell between thresholds.

Every night is drawn and read by the library; only the numbers are set, to the middle of each cell in which nothing
changes. Truths are the measures of plain Python, variances the sums of the module's derivation.
"""

import itertools
import math
from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest
from core_cases import uneven_pool
from each_once import each_once
from naive import dcg, err, ndcg, pool_of, random_probs, rankings_of

from activeeval import DCG, ERR, METHODS, NDCG, Campaign, InputError, QueryPool, Rankings, Target
from activeeval.core.design import carried_samples
from activeeval.core.design.carried_samples import CarriedScheme, EarlierLabels, going_on, numbers_of, reread
from activeeval.core.estimation import evaluate, evidence_of
from activeeval.core.pool import hashed_uniforms
from activeeval.formats.sample_file import from_arrays, to_arrays

TOP = 2
MEASURES = {
    "dcg": (DCG(), dcg),
    "err": (ERR(TOP), lambda grades, ranking: err(grades, ranking, TOP)),
    "ndcg": (NDCG("exp"), ndcg),
}
KEY = 20_261_125


@dataclass(frozen=True)
class Nights:
    """A pool with two nights: lists, what is believed on each, true grades."""

    pool: QueryPool
    lists: tuple[list[list[int]], ...]
    probs: tuple[np.ndarray, ...]
    grades: np.ndarray

    def ranking(self, night):
        return rankings_of(self.pool, self.lists[night])

    def design(self, method, measure, night, versus=None, judged=None):
        """Return the plain design of a night, of its own value or of what it is more than another night."""
        other = None if versus is None else self.ranking(versus)
        target = Target(MEASURES[measure][0], self.ranking(night), other)
        return replace(METHODS[method].continuing.design(target, self.probs[night], judged=judged), is_fitted=False)

    def truth(self, measure, night, versus=None):
        """Return the true value over the pool, in plain Python."""
        starts, total = self.pool.query_offsets.tolist(), 0.0
        for q, p in enumerate(self.pool.query_probs.tolist()):
            own = self.grades[starts[q] : starts[q + 1]].tolist()
            value = MEASURES[measure][1](own, self.lists[night][q])
            total += p * (value - (0.0 if versus is None else MEASURES[measure][1](own, self.lists[versus][q])))
        return total

    def within(self, members):
        """Return nights of which only some queries are ever asked."""
        probs = np.where(members, self.pool.query_probs, 0.0)
        return replace(
            self, pool=SimpleNamespace(query_offsets=self.pool.query_offsets, query_probs=probs / probs.sum())
        )

    def residuals(self, night):
        """Return p c (g − μ) of every item for DCG, as the model of the night expects gains."""
        gains, e = np.array([2.0**y - 1 for y in range(TOP + 1)]), np.zeros(self.pool.n_items)
        for q, p in enumerate(self.pool.query_probs.tolist()):
            for rank, z in enumerate(self.lists[night][q]):
                item = int(self.pool.query_offsets[q]) + z
                surprise = gains[self.grades[item]] - self.probs[night][item] @ gains
                e[item] = p * surprise / math.log2(rank + 2)
        return e


def exact(probs):
    """Return probabilities that 32 bits hold."""
    first = np.round(probs[:, :-1] * 1024) / 1024
    return np.column_stack((first, 1 - first.sum(axis=1)))


def nights_of(seed, lengths=(3, 2), n_nights=2):
    """Return nights with other lists, other beliefs, unequal costs and unequal p."""
    random, n = np.random.default_rng(seed), sum(lengths)
    pool = uneven_pool(random, lengths)
    whole = [[random.permutation(k).tolist() for k in lengths] for _ in range(n_nights)]
    lists = [
        whole[0],
        *([ranks[: max(k - 1, 1)] for ranks, k in zip(each, lengths, strict=True)] for each in whole[1:]),
    ]
    probs = tuple(exact(random_probs(random, n, TOP + 1)) for _ in range(n_nights))
    return Nights(pool, tuple(lists), probs, random.integers(0, TOP + 1, n))


def at_numbers(monkeypatch, numbers, is_nested):
    """Let every place have the number of its item, or where places follow each other of its query."""

    def given(order, key, versions):
        return numbers[order.place_queries if is_nested else order.items]

    monkeypatch.setattr(carried_samples, "numbers_of", given)


def judge_all(design, grades, key=KEY):
    """Return a campaign of which everything that it asks for is judged, and the items that it asked for."""
    campaign, asked = Campaign(design, key=key), []
    while (unit := campaign.ask()) is not None:
        campaign.tell(unit, grades[list(unit.items)].tolist())
        asked += unit.items
    return campaign, asked


def said_by(campaign, within=None):
    """Return R̂ and V̂ of a campaign, of some queries or all; of an empty sample what the model expects."""
    design, reading = campaign.design, campaign.design.readings[0]
    if within is not None:
        reading = design.reading(replace(reading.target, within=within))
    judge = reading.judge(np.asarray(campaign.labels.grades))
    evidence = evidence_of(design, reading, judge, campaign.whole_selection)
    if not (evidence.values.size or evidence.is_census):
        return evidence.base + evidence.population[1], 0.0
    result = evaluate(evidence)
    return result.value, result.plain_variance


def after(hand, probs, asked, grades):
    """Return what is in hand once what a night asked for is judged."""
    settled = hand.is_settled.copy()
    settled[asked] = True
    return replace(hand, probs=probs, is_settled=settled, grades=np.where(settled, grades, -1))


@dataclass
class Enumerated:
    """The law of two nights: chances, the estimates and variances of both, and what each asked for."""

    chances: np.ndarray
    values: np.ndarray
    variances: np.ndarray
    asked: list
    probs: tuple[np.ndarray, np.ndarray]

    def mean(self, of_outcomes):
        return float(self.chances @ of_outcomes)

    def cov(self, a, b):
        return self.mean((a - self.mean(a)) * (b - self.mean(b)))


def enumerated(nights, designs, budgets, monkeypatch, enough=None, within=None):
    """Return the law of two nights that go on from each other, the second one up to what is enough."""
    is_nested, n = designs[0].order.is_nested, nights.pool.n_items
    nothing = EarlierLabels.nothing(n)
    first, probs1 = going_on(designs[0], nothing, budgets[0])
    second, probs2 = going_on(designs[1], replace(nothing, probs=probs1), budgets[1], enough)
    ends = [np.zeros(0)] * (nights.pool.n_queries if is_nested else n)
    for design in (first, second):
        for place, probability in enumerate(design.order.place_rates.tolist()):
            whose = int(design.order.place_queries[place] if is_nested else design.order.items[place])
            ends[whose] = np.append(ends[whose], probability)
    cells = []
    for own in ends:
        bounds = np.unique(np.concatenate(([0.0, 1.0], own)))
        cells.append([((low + high) / 2, high - low) for low, high in itertools.pairwise(bounds.tolist())])
    rows = []
    for outcome in itertools.product(*cells):
        at_numbers(monkeypatch, np.array([middle for middle, _ in outcome]), is_nested)
        one, asked1 = judge_all(first, nights.grades)
        hand = after(nothing, probs1, asked1, nights.grades)
        two, asked2 = judge_all(going_on(designs[1], hand, budgets[1], enough)[0], nights.grades)
        said = [said_by(campaign, within) for campaign in (one, two)]
        rows.append((math.prod(width for _, width in outcome), said, (asked1, asked2)))
    assert len(rows) == math.prod(map(len, cells))
    return Enumerated(
        np.array([chance for chance, *_ in rows]),
        np.array([[value for value, _ in said] for _, said, _ in rows]).T,
        np.array([[variance for _, variance in said] for _, said, _ in rows]).T,
        [asked for *_, asked in rows],
        (probs1, probs2),
    )


CASES = [
    ("items_plain", "dcg", None),
    ("items_plain", "dcg", 0),
    ("depth_plain", "err", None),
    ("depth_plain", "err", 0),
    ("depth_plain", "ndcg", None),
    ("depth_plain", "ndcg", 0),
]


@each_once((("method", "measure", "versus"), CASES), ("seed", [1, 2]))
def test_two_nights_are_unbiased_and_so_are_their_variances(seed, method, measure, versus, monkeypatch):
    """E[estimate] = truth on both nights; where items come on their own E[V̂] = V too."""
    nights = nights_of(seed)
    designs = [nights.design(method, measure, 0), nights.design(method, measure, 1, versus)]
    law = enumerated(nights, designs, (1.3, 0.9), monkeypatch)
    truths = nights.truth(measure, 0), nights.truth(measure, 1, versus)
    assert law.chances.sum() == pytest.approx(1, abs=1e-12)
    for value, truth, variance in zip(law.values, truths, law.variances, strict=True):
        assert law.mean(value) == pytest.approx(truth, abs=1e-10)
        assert law.cov(value, value) > 1e-4
        assert law.mean(variance) == pytest.approx(law.cov(value, value), rel=1e-8)


@each_once(
    (("method", "measure"), [("items_plain", "dcg"), ("depth_plain", "err")]),
    (("enough", "within"), [(0.0, None), (0.8, [True, False]), (0.8, None), (0.0, [True, False])]),
)
def test_a_night_up_to_what_is_enough_is_unbiased_also_in_a_segment(method, measure, enough, within, monkeypatch):
    """The second night lists an item that never could come: E[estimate] = truth, E[V̂] = V all the same."""
    nights = nights_of(1)
    designs = [nights.design(method, measure, 1), nights.design(method, measure, 0)]
    members = None if within is None else np.array(within)
    law = enumerated(nights, designs, (1.3, 0.9), monkeypatch, enough, members)
    truth = nights.truth(measure, 0)
    if within is not None:
        truth = nights.within(members).truth(measure, 0)
    assert law.mean(law.values[1]) == pytest.approx(truth, abs=1e-10)
    assert law.mean(law.variances[1]) == pytest.approx(law.cov(law.values[1], law.values[1]), rel=1e-8)
    never = (law.probs[0] == 0) & designs[1].targets[0].matters
    assert never.any()
    assert (law.probs[1][never] >= 0.1).all()
    if enough == 0:
        assert law.probs[1][~never] == pytest.approx(law.probs[0][~never])


@pytest.mark.parametrize("seed", [1, 2])
def test_variances_and_covariance_of_items_are_those_of_the_formula(seed, monkeypatch):
    """Var = Σ e² (1/M − 1) and Cov = Σ e₁ e₂ (1/max(M₁, M₂) − 1), e = p c (g − μ), of items that both nights list."""
    nights = nights_of(seed, (3, 1))
    designs = [nights.design("items_plain", "dcg", night) for night in (0, 1)]
    law = enumerated(nights, designs, (1.3, 0.9), monkeypatch)
    e = [nights.residuals(night) for night in (0, 1)]
    for k in (0, 1):
        mine = e[k] != 0
        expected = (e[k][mine] ** 2 * (1 / law.probs[k][mine] - 1)).sum()
        assert law.cov(law.values[k], law.values[k]) == pytest.approx(expected, rel=1e-9)
    both = (e[0] != 0) & (e[1] != 0)
    expected = (e[0][both] * e[1][both] * (1 / np.maximum(*law.probs)[both] - 1)).sum()
    assert both.any()
    assert law.cov(*law.values) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("method", "measure"), [("items_plain", "dcg"), ("depth_plain", "err")])
def test_new_labels_cost_the_budget_on_average(method, measure, monkeypatch):
    """And nothing that is in hand is asked for again."""
    nights = nights_of(4)
    designs = [nights.design(method, measure, night) for night in (0, 1)]
    budgets = (1.3, 0.4)
    law = enumerated(nights, designs, budgets, monkeypatch)
    unit = nights.pool.item_costs.mean()
    for k, budget in enumerate(budgets):
        spent = np.array([nights.pool.item_costs[pair[k]].sum() / unit for pair in law.asked])
        assert law.mean(spent) == pytest.approx(budget, rel=1e-9)
    assert not any(set(first) & set(second) for first, second in law.asked)
    assert (law.probs[1] >= law.probs[0]).all()
    is_listed = nights.design(method, measure, 1).targets[0].matters
    assert (law.probs[1][~is_listed] == law.probs[0][~is_listed]).all()
    assert (law.probs[0][~is_listed] > 0).any()


def test_where_only_the_threshold_moves_a_second_night_is_the_first_topped_up():
    """The same lists and rates: M after two nights is that of one night at the larger threshold."""
    nights = nights_of(7, lengths=(4, 3))
    design, nothing = nights.design("items_plain", "dcg", 0), EarlierLabels.nothing(7)
    once = going_on(design, nothing, 2.0)[1]
    half = going_on(design, nothing, 1.2)[1]
    twice = going_on(design, replace(nothing, probs=half), 0.8)[1]
    assert twice == pytest.approx(once, rel=1e-9)


# What is carried


def two_nights(nights, budgets=(2.5, 1.5), method="items_plain", measure="dcg", key=KEY):
    """Return what is in hand after a night, the campaign of the second one, judged, and what it asked for."""
    nothing = EarlierLabels.nothing(nights.pool.n_items)
    first, probs = going_on(nights.design(method, measure, 0), nothing, budgets[0])
    hand = after(nothing, probs, judge_all(first, nights.grades, key)[1], nights.grades)
    design, probs = going_on(nights.design(method, measure, 1, 0), hand, budgets[1])
    campaign, asked = judge_all(design, nights.grades, key)
    return hand, campaign, asked, probs


@each_once((("method", "measure"), [("items_plain", "dcg"), ("depth_plain", "ndcg")]), ("key", range(1, 6)))
def test_a_file_of_such_a_sample_has_the_same_units_and_estimate(method, measure, key):
    """To the last bit."""
    nights = nights_of(11, lengths=(4, 3, 5))
    campaign = two_nights(nights, method=method, measure=measure, key=key)[1]
    again = from_arrays(to_arrays(campaign))
    assert isinstance(again.design.scheme, CarriedScheme)
    assert [unit.items for unit in again.planned] == [unit.items for unit in campaign.planned]
    while (unit := again.ask()) is not None:
        again.tell(unit, nights.grades[list(unit.items)].tolist())
    assert said_by(again) == said_by(campaign)


def test_reading_earlier_nights_again_is_the_direct_sum():
    """Σ p c μ + Σ over what is in hand of p c (g − μ) / M, of what three nights have drawn."""
    nights = nights_of(13, lengths=(4, 3, 5), n_nights=3)
    hand, _, asked, probs = two_nights(nights)
    hand = after(hand, probs, asked, nights.grades)
    estimate = Campaign(reread(nights.design("items_plain", "dcg", 1), hand), key=KEY).estimate()
    gains, total, variance = np.array([0.0, 1.0, 3.0]), 0.0, 0.0
    e = nights.residuals(1)
    for q, p in enumerate(nights.pool.query_probs.tolist()):
        for rank, z in enumerate(nights.lists[1][q]):
            item = int(nights.pool.query_offsets[q]) + z
            total += p * float(nights.probs[1][item] @ gains) / math.log2(rank + 2)
            if hand.is_settled[item]:
                total += e[item] / hand.probs[item]
                variance += (e[item] / hand.probs[item]) ** 2 * (1 - hand.probs[item])
    assert estimate.value == pytest.approx(total, rel=1e-12)
    assert hand.is_settled.sum() > 3
    assert estimate.std_error**2 == pytest.approx(variance, rel=1e-9)


def test_what_never_could_come_is_not_read():
    nights = nights_of(14)
    with pytest.raises(InputError, match=r"could never be drawn \(5 such items\)"):
        reread(nights.design("items_plain", "dcg", 0), EarlierLabels.nothing(5))


def test_a_changed_item_has_not_come_and_has_another_number():
    """Its number is that of its hash with the version, all others keep theirs."""
    nights = nights_of(15)
    order = nights.design("items_plain", "dcg", 0).order
    versions = np.zeros(5, dtype=np.uint64)
    was = numbers_of(order, np.uint64(KEY), versions)
    versions[2] = 12345
    now = numbers_of(order, np.uint64(KEY), versions)
    place = order.items.tolist().index(2)
    assert np.flatnonzero(was != now).tolist() == [place]
    assert now[place] == hashed_uniforms(KEY, order.hashes[[place]] ^ np.uint64(12345), 1)[0, 0]
    hand = EarlierLabels.nothing(5)
    hand.probs[:] = [0.9, 0.9, 0.0, 0.9, 0.9]  # M of the changed one begins again
    probs = going_on(nights.design("items_plain", "dcg", 0), hand, 0.2)[1]
    assert 0 < probs[2] < 0.9
    assert (probs[[0, 1, 3, 4]] >= 0.9).all()


def test_what_nobody_can_judge_is_not_asked_again_and_is_counted(monkeypatch):
    nights = nights_of(16)
    hand, everything = EarlierLabels.nothing(5), np.full(5, 0.5)
    hand.probs[:], hand.is_settled[:] = 0.9, [True, False, False, False, False]  # settled without a grade
    at_numbers(monkeypatch, everything, False)
    campaign, asked = judge_all(going_on(nights.design("items_plain", "dcg", 0), hand, 0.1)[0], nights.grades)
    assert 0 not in asked
    assert sorted(asked) == [1, 2, 3, 4]
    cannot = campaign.estimate().cannot
    assert cannot is not None
    assert cannot.n_items == 1
    assert cannot.low < campaign.estimate().value < cannot.high


def test_what_was_drawn_and_not_judged_is_asked_again(monkeypatch):
    """It lies below the probability that it had: whoever passes over it would bias what is read."""
    nights = nights_of(17)
    at_numbers(monkeypatch, np.full(5, 0.5), False)
    hand = EarlierLabels.nothing(5)
    hand.probs[:] = 0.9
    hand.is_settled[1:], hand.grades[1:] = True, nights.grades[1:]
    _, asked = judge_all(going_on(nights.design("items_plain", "dcg", 0), hand, 0.05)[0], nights.grades)
    assert asked == [0]


def test_what_is_given_meanwhile_is_not_asked_though_it_was_drawn(monkeypatch):
    """Nobody wants its label any more; M of it stays what it was."""
    nights, known = nights_of(20), np.full(5, -1)
    at_numbers(monkeypatch, np.full(5, 0.5), False)
    known[0] = nights.grades[0]
    hand = EarlierLabels.nothing(5)
    hand.probs[:] = 0.9
    design, probs = going_on(nights.design("items_plain", "dcg", 0, judged=known), hand, 0.05)
    assert sorted(judge_all(design, nights.grades)[1]) == [1, 2, 3, 4]
    assert probs[0] == 0.9


def test_a_budget_for_everything_judges_everything():
    nights = nights_of(18)
    for method, measure in (("items_plain", "dcg"), ("depth_plain", "err")):
        design, _ = going_on(nights.design(method, measure, 0), EarlierLabels.nothing(5), 100.0)
        campaign, asked = judge_all(design, nights.grades)
        assert sorted(asked) == [0, 1, 2, 3, 4]
        assert campaign.estimate().value == pytest.approx(nights.truth(measure, 0), rel=1e-12)
        assert campaign.estimate().std_error == 0


def test_a_prefix_is_read_as_far_as_all_before_is_in_hand():
    """a_k is the smallest M of the places up to k."""
    nights = nights_of(19, lengths=(4,))
    hand, design = EarlierLabels.nothing(4), nights.design("depth_plain", "err", 0)
    hand.probs[design.order.items] = [0.8, 0.3, 0.9, 0.2]
    again = reread(design, hand)
    assert again.order.place_rates.tolist() == [0.8, 0.3, 0.3, 0.2]
    assert again.order.query_rates.tolist() == [0.8]


def test_what_costs_more_than_the_budget_comes_all_the_same_but_more_rarely():
    """Of places that never could come and that nothing asks for: no more than the budget is spent on them."""
    nights = nights_of(18)
    design = nights.design("items_plain", "dcg", 0)
    for budget, least in ((4.0, 0.1), (0.02, 0.02 / design.order.costs.sum())):
        held = going_on(design, EarlierLabels.nothing(5), budget, 0.0)[1]
        assert held == pytest.approx(np.full(5, least))


def test_overheads_are_refused():
    pool = pool_of((2, 1), query_costs=[1.0, 0.0])
    target = Target(DCG(), Rankings.from_scores(pool, [2.0, 1.0, 1.0]))
    design = METHODS["items_plain"].design(target, np.full((3, 3), 1 / 3))
    with pytest.raises(InputError, match="cannot have overheads"):
        going_on(design, EarlierLabels.nothing(3), 1.0)
