import math
from itertools import pairwise, permutations, product

import numpy as np
import pytest
from each_once import each_once
from hypothesis import given, strategies as st
from naive_topk import asked_by_a_heap, closure, counts_of_all_orders
from scipy.stats import binom

from activeeval.core.errors import InputError
from activeeval.topk import TopKLabelling, expected_comparisons
from activeeval.topk.expected_comparisons import _replacement_probs, likely_values
from activeeval.topk.known_order import KnownOrder
from activeeval.topk.labelling import Discard, PairAnswer

PUBLISHED = {"build": 13, "scan": 112, "sort": 26, "all": 151, "std": 14}
"""What a consistent judge needs at n = 50, k = 10."""


@st.composite
def problems(draw, most=14):
    """Draw a permutation, as the values of the items, a k and whether what follows is left out."""
    n = draw(st.integers(1, most))
    values = draw(st.permutations(range(n)))
    return values, draw(st.integers(1, n)), draw(st.permutations(range(n))), draw(st.booleans())


def by_value(values, pair):
    first, second = (values[item] for item in pair)
    return None if first == second else pair[0] if first > second else pair[1]


def run(labelling, values):
    """Answer by values until the end and return every pair that was asked."""
    asked = []
    while (pair := labelling.ask()) is not None:
        asked.append(pair)
        labelling.tell(by_value(values, pair))
    return asked


def best_first(values, arrival, k):
    """Return the k items of the largest values, those that arrive first where they are equal."""
    return sorted(arrival, key=lambda item: -values[item])[:k]


@given(problems())
def test_a_consistent_judge_gets_the_sorted_top(problem):
    values, k, order, transitive = problem
    labelling = TopKLabelling(len(values), k, order=order, transitive=transitive)
    asked = run(labelling, values)
    assert labelling.top() == best_first(values, order, k)
    assert labelling.n_comparisons == len(asked) == len(labelling.answers)
    assert labelling.n_contradictions == 0


@given(problems())
def test_the_pairs_are_those_of_a_plain_heap(problem):
    values, k, order, _ = problem
    top, expected = asked_by_a_heap(order, k, lambda a, b: values[a] > values[b])
    labelling = TopKLabelling(len(values), k, order=order)
    assert [frozenset(pair) for pair in run(labelling, values)] == [frozenset(pair) for pair in expected]
    assert labelling.top() == top
    assert labelling.n_repeats == len(expected) - len(set(map(frozenset, expected)))


@given(problems(10))
def test_nothing_is_asked_that_follows(problem):
    values, k, order, _ = problem
    labelling, known = TopKLabelling(len(values), k, order=order, transitive=True), set()
    for a, b in run(labelling, values):
        pair = (a, b) if values[a] > values[b] else (b, a)
        assert pair not in known
        known = closure(known | {pair})
    best = labelling.top()
    below = set(range(len(values))) - set(best)
    # what was asked proves the top: nothing less would do
    assert all(pair in known for pair in pairwise(best))
    assert all((best[-1], item) in known for item in below)


@given(st.integers(1, 12), st.data())
def test_tied_items_stand_as_they_arrived(n, data):
    values = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    order, k = data.draw(st.permutations(range(n))), data.draw(st.integers(1, n))
    labelling = TopKLabelling(n, k, order=order, transitive=data.draw(st.booleans()))
    run(labelling, values)
    top = labelling.top()
    assert top == best_first(values, order, k)
    place = {item: place for place, item in enumerate(order)}
    assert all(values[a] == values[b] and place[a] < place[b] for a, b in labelling.ties)
    # neighbours of the top have been compared, so that each of their ties is told
    tied = {pair for pair in pairwise(top) if values[pair[0]] == values[pair[1]]}
    assert tied <= set(labelling.ties)
    own, shared = labelling.grades(share_ties=False), labelling.grades()
    for rank, item in enumerate(top, start=1):
        assert own[item] == k + 1 - rank
    assert shared.tolist() == shared_grades(values, k)


def shared_grades(values, k):
    """κ-grades of values of which equal ones are alike, whether they all fit into the top or not; None is left out."""
    held = [value for value in values if value is not None]
    return [0 if v is None else max(k - sum(other > v for other in held), 0) for v in values]


def test_the_groups_are_the_judges_whatever_the_order_of_arrival():
    """All rankings of four items with ties, all orders of arrival, all k: the comparisons tell every group."""
    for values in product(range(4), repeat=4):
        if set(values) != set(range(len(set(values)))):
            continue
        classes = [[z for z in range(4) if values[z] == v] for v in sorted(set(values), reverse=True)]
        for number, (k, order) in enumerate(product(range(1, 5), permutations(range(4)))):
            labelling = TopKLabelling(4, k, order=order, transitive=number % 2 == 0)
            run(labelling, values)
            n_above = np.cumsum([0, *map(len, classes)])
            held = [own for own, before in zip(classes, n_above[:-1], strict=True) if before < k]
            assert [sorted(group) for group in labelling.groups()] == held
            assert labelling.grades().tolist() == shared_grades(values, k)
            assert labelling.n_overruled == 0


@given(st.integers(0, 2**32), st.integers(1, 14), st.booleans())
def test_the_groups_are_those_of_what_is_left(seed, n, transitive):
    """Where an item that was thrown out is all that told two others to be alike, they are."""
    random = np.random.default_rng(seed)
    values, k = random.integers(0, 4, n).tolist(), int(random.integers(1, n + 1))
    labelling = TopKLabelling(n, k, rng=seed, transitive=transitive, repeat_share=0.2)
    random_steps(labelling, random, 60, values)
    run(labelling, values)
    left = [None if item in labelling.discarded else values[item] for item in range(n)]
    assert labelling.grades().tolist() == shared_grades(left, k)
    assert labelling.n_overruled == 0


@given(st.integers(0, 2**32), st.integers(2, 12))
def test_what_was_told_apart_never_shares_a_label(seed, n):
    """Ties of a judge who sees no difference below a margin are those of no ranking: strict answers stand."""
    random = np.random.default_rng(seed)
    values, k = random.random(n), int(random.integers(1, n + 1))
    labelling = TopKLabelling(n, k, rng=seed)
    while (pair := labelling.ask()) is not None:
        first, second = pair
        is_tied = abs(values[first] - values[second]) < 0.3
        labelling.tell(None if is_tied else max(pair, key=values.__getitem__))
    groups = labelling.groups()
    label = {item: place for place, group in enumerate(groups) for item in group}
    assert [item for group in groups for item in group if item in labelling.top()] == labelling.top()
    told = labelling.preferences()
    assert all(label.get(one, n) != label.get(two, n + 1) for one, two, preferred in told if preferred is not None)
    ties = [(one, two) for one, two, preferred in told if preferred is None]
    assert labelling.n_overruled == sum(label.get(one, n) != label.get(two, n) for one, two in ties)


def random_steps(labelling, random, n_steps, values=None):
    """Tell random answers, of values where there are some, and discard now and then."""
    for _ in range(n_steps):
        pair = labelling.ask()
        left = sorted(set(range(labelling.n_items)) - {e.item for e in labelling.answers if isinstance(e, Discard)})
        if left and random.random() < 0.1:
            labelling.discard(int(random.choice(left)))
        elif pair is not None:
            labelling.tell(by_value(values, pair) if values else random.choice([*pair, None]))


@given(st.integers(0, 2**32), st.integers(1, 10), st.sampled_from([0, 0.3]), st.booleans())
def test_the_state_is_a_fold_over_the_answers(seed, n, share, transitive):
    random = np.random.default_rng(seed)
    k = int(random.integers(1, n + 1))
    options = {"rng": seed, "repeat_share": share, "transitive": transitive}
    labelling, asked = TopKLabelling(n, k, **options), []
    for _ in range(30):
        asked.append(labelling.ask())
        before = len(labelling.answers)
        random_steps(labelling, random, 1)
        if len(labelling.answers) == before:
            asked.pop()
    events = labelling.answers
    for n_told, pair in enumerate(asked):
        assert TopKLabelling.replay(n, k, events[:n_told], **options).ask() == pair
    again = TopKLabelling.replay(n, k, events, **options | {"order": labelling.arrival})
    for name in ("answers", "n_comparisons", "n_repeats", "n_contradictions", "ties"):
        assert getattr(again, name) == getattr(labelling, name)
    for event, pair in zip(events[::-1], asked[::-1], strict=True):
        assert again.undo() == event
        assert again.ask() == pair
    with pytest.raises(InputError, match="there is no answer to take back"):
        again.undo()


@given(st.integers(0, 2**32), st.integers(1, 12), st.booleans())
def test_a_discarded_item_leaves_the_top_of_the_others(seed, n, transitive):
    random = np.random.default_rng(seed)
    values, k = random.permutation(n).tolist(), int(random.integers(1, n + 1))
    labelling = TopKLabelling(n, k, rng=seed, transitive=transitive)
    random_steps(labelling, random, 60, values)
    for item in [e.item for e in labelling.answers if isinstance(e, Discard)]:
        assert labelling.ask() is None or item not in labelling.ask()
    run(labelling, values)
    gone = {e.item for e in labelling.answers if isinstance(e, Discard)}
    assert labelling.top() == [item for item in best_first(values, labelling.arrival, n) if item not in gone][:k]


@each_once(("transitive", [False, True]), (("phase", "after"), [("build", 5), ("scan", 60), ("sort", 140)]))
def test_a_discard_costs_little(phase, after, transitive):
    """Some 5 comparisons on the mean; where all is nearly settled, 13."""
    more = []
    for seed in range(10):
        plain, labelling = (TopKLabelling(50, 10, rng=seed, transitive=transitive) for _ in range(2))
        run(plain, range(50))
        while labelling.n_comparisons < min(after, plain.n_comparisons - 3):
            labelling.tell(max(labelling.ask()))
        item = max(labelling.ask())
        labelling.discard(item)
        run(labelling, range(50))
        assert labelling.top() == [i for i in range(49, -1, -1) if i != item][:10]
        more.append(labelling.n_comparisons - plain.n_comparisons)
    assert np.mean(more) < (16 if phase == "sort" else 8)


def test_fewer_than_k_are_left():
    labelling = TopKLabelling(4, 3, order="given")
    labelling.discard(1)
    labelling.discard(3)
    run(labelling, range(4))
    assert labelling.top() == [2, 0]
    assert labelling.grades().tolist() == [2, 0, 3, 0]
    labelling.discard(0)
    labelling.discard(2)
    assert labelling.top() == []


@given(st.integers(0, 2**32))
def test_whatever_is_answered_it_ends(seed):
    random = np.random.default_rng(seed)
    n = int(random.integers(1, 40))
    k = int(random.integers(1, n + 1))
    labelling = TopKLabelling(n, k, rng=seed, transitive=bool(random.integers(2)))
    while (pair := labelling.ask()) is not None:
        labelling.tell(random.choice([*pair, None]))
    depth = math.floor(math.log2(k))
    assert labelling.n_comparisons <= k * 2 * depth * 2 + (n - k) * (1 + 2 * depth)
    assert len(set(labelling.top())) == k


@pytest.mark.parametrize("transitive", [False, True])
def test_repeats_swap_sides_and_find_who_likes_one(transitive):
    steady, left, plain = (
        TopKLabelling(50, 10, rng=2, repeat_share=share, transitive=transitive) for share in (0.2, 0.2, 0)
    )
    asked = run(steady, range(50))
    own = run(plain, range(50))
    assert steady.top() == plain.top()
    assert steady.n_contradictions == 0
    assert plain.n_repeats == (0 if transitive else len(own) - len(set(map(frozenset, own))))
    n_repeats = len(asked) - len(set(map(frozenset, asked)))
    assert steady.n_repeats == n_repeats > plain.n_repeats
    last = {}
    for pair in asked:
        assert last.get(frozenset(pair)) != pair  # a second time comes with the sides swapped
        last[frozenset(pair)] = pair
    assert not transitive or all(set(one) != set(two) for one, two in pairwise(asked))
    while (pair := left.ask()) is not None:
        left.tell(pair[0])
    # where a pair comes a third time the sides are those of the first
    assert left.n_repeats >= left.n_contradictions >= left.n_repeats / (1 if transitive else 2) > 0


@pytest.mark.statistical
def test_the_share_of_repeats_is_as_asked_for():
    """False alarms: 1e-4 (for another seed): the normal bound at 3.9 standard deviations."""
    n_asked = n_repeats = 0
    for seed in range(20):
        labelling = TopKLabelling(50, 10, rng=seed, repeat_share=0.15, transitive=True)
        run(labelling, range(50))
        n_asked, n_repeats = n_asked + labelling.n_comparisons, n_repeats + labelling.n_repeats
    assert abs(n_repeats / n_asked - 0.15) < 3.9 * math.sqrt(0.15 * 0.85 / n_asked) + 2 / 150


@pytest.mark.statistical
def test_the_published_number_of_comparisons():
    """False alarms: 1e-4 (for another seed): the mean of 250 within 3.9 standard errors and half of the last digit."""
    counts, parts = [], []
    for seed in range(250):
        labelling = TopKLabelling(50, 10, rng=seed)
        asked = run(labelling, range(50))
        late = set(labelling.arrival[10:])
        first = next(row for row, pair in enumerate(asked) if late & set(pair))
        last = max(row for row, pair in enumerate(asked) if labelling.arrival[-1] in pair and first <= row)
        counts.append(len(asked))
        parts.append((first, last))
    margin = 3.9 * PUBLISHED["std"] / math.sqrt(len(counts)) + 0.5
    assert abs(np.mean(counts) - PUBLISHED["all"]) < margin
    assert abs(np.std(counts) - PUBLISHED["std"]) < 3.9 * PUBLISHED["std"] / math.sqrt(2 * len(counts)) + 0.5
    assert abs(np.mean([first for first, _ in parts]) - PUBLISHED["build"]) < 0.7


def test_wrong_answers_are_one_line():
    labelling = TopKLabelling(3, 2, order="given")
    for wrong in (2, "0", True, 0.5):
        with pytest.raises(InputError, match=r"items 1 and 0 were asked, got .*, expected one of them or None"):
            labelling.tell(wrong)
    with pytest.raises(InputError, match=r"the top 2 are not settled: 2 to 3 comparisons may be left"):
        labelling.top()
    with pytest.raises(InputError, match=r"answers\[1\] is of items 1 and 2, where 2 and 0 were asked"):
        TopKLabelling.replay(3, 2, [PairAnswer(1, 0, 1), PairAnswer(1, 2, 1)], order="given")
    run(labelling, range(3))
    with pytest.raises(InputError, match="no comparison is open: the top 2 are settled; got 1"):
        labelling.tell(1)
    with pytest.raises(InputError, match=r"answers\[3\] is of items 0 and 1, where no comparison was open"):
        TopKLabelling.replay(3, 2, [*labelling.answers, PairAnswer(0, 1, 0)], order="given")
    labelling.discard(1)
    with pytest.raises(InputError, match="item 1 was discarded before"):
        labelling.discard(1)
    with pytest.raises(InputError, match="an item must be at most 2, got 3"):
        labelling.discard(3)


def test_one_item_and_all_items():
    assert TopKLabelling(1, 1).top() == [0]
    assert TopKLabelling(1, 1).remaining() == (0, 0)
    labelling = TopKLabelling(6, 6, rng=0)
    run(labelling, range(6))
    assert labelling.top() == [5, 4, 3, 2, 1, 0]


@pytest.mark.statistical
@pytest.mark.parametrize("n_told", [20, *(pytest.param(n, marks=pytest.mark.slow) for n in (0, 32))])
def test_what_remains_lies_in_its_range(n_told):
    """False alarms: 1e-4 (for another seed) where 90 % lie inside, by the binomial law."""
    n_inside = 0
    for seed in range(30):
        labelling = TopKLabelling(20, 5, rng=seed)
        for _ in range(n_told):
            if labelling.ask() is not None:
                labelling.tell(max(labelling.ask()))
        low, high = labelling.remaining(seed, 40)
        before = labelling.n_comparisons
        run(labelling, range(20))
        n_inside += low <= labelling.n_comparisons - before <= high
    assert n_inside >= binom.ppf(1e-4, 30, 0.9)


@pytest.mark.statistical
def test_likely_orders_of_a_heap_are_alike():
    """False alarms: 1e-4 (for another seed): χ² of the 80 orders of a heap of 7 whose root is known."""
    known = KnownOrder(list(range(7)))
    for child in range(1, 7):
        known.add(child, (child - 1) // 2, child)
    random, counts = np.random.default_rng(4), {}
    n_drawn = 2400
    for _ in range(n_drawn):
        values = likely_values(known, list(range(7)), 7, random)
        order = tuple(sorted(values, key=values.__getitem__))
        counts[order] = counts.get(order, 0) + 1
    assert len(counts) == math.factorial(7) // (7 * 3 * 3)
    expected = n_drawn / len(counts)
    statistic = sum((n - expected) ** 2 / expected for n in counts.values())
    assert statistic < 79 + 3.9 * math.sqrt(2 * 79)


@each_once(("transitive", [False, True]), (("n", "k"), [(6, 3), (6, 4), (5, 5), (4, 1)]))
@pytest.mark.kernel
def test_expected_comparisons_against_all_orders(n, k, transitive):
    counts = counts_of_all_orders(n, k, transitive=transitive)
    mean, std = expected_comparisons(n, k, transitive=transitive)
    assert mean == pytest.approx(np.mean(counts), abs=5 * np.std(counts) / math.sqrt(20_000) + 1e-9)
    assert std == pytest.approx(np.std(counts), abs=5 * np.std(counts) / math.sqrt(2 * 20_000) + 1e-9)


@pytest.mark.parametrize("n", [2, 3, 50, 1000])
@pytest.mark.kernel
def test_expected_comparisons_of_a_heap_of_two(n):
    """One to build, one with the root for every other item, one to sift each replacement: nothing is left to chance."""
    shares = 2 / np.arange(3, n + 1)
    mean, std = expected_comparisons(n, 2)
    assert mean == pytest.approx(n - 1 + shares.sum(), abs=1e-9)
    assert std == pytest.approx(math.sqrt((shares * (1 - shares)).sum()), abs=1e-6)


@pytest.mark.parametrize(("n_most", "k"), [(4, 4), (64, 5), (1024, 10), (1024, 300)])
def test_the_law_of_replacements_loses_nothing(n_most, k):
    probs = _replacement_probs(n_most, k)
    assert probs.sum(axis=1) == pytest.approx(np.ones(n_most - k + 1), abs=1e-9)
    m = np.arange(k + 1, n_most + 1)
    assert probs[-1] @ np.arange(probs.shape[1]) == pytest.approx((k / m).sum(), abs=1e-9)


@pytest.mark.statistical
@each_once(("transitive", [False, True]), (("n", "k"), [(20, 10), (50, 5)]))
def test_expected_comparisons_against_labellings(n, k, transitive):
    """False alarms: 1e-4 each (for another seed): 3.9 standard errors of both simulations."""
    counts = []
    for seed in range(100):
        labelling = TopKLabelling(n, k, rng=seed, transitive=transitive)
        run(labelling, range(n))
        counts.append(labelling.n_comparisons)
    mean, std = expected_comparisons(n, k, transitive=transitive)
    assert abs(np.mean(counts) - mean) < 3.9 * std * math.sqrt(1 / 100 + 1 / 5000)


def test_expected_comparisons_refuses_what_a_labelling_refuses():
    with pytest.raises(InputError, match="k must be at most n_items, got k = 4 of 3 items"):
        expected_comparisons(3, 4)
