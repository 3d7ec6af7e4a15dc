"""One rule from a number to a verdict, against the table of its definition and laws that a decision maker relies on."""

import math
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from activeeval.core.answers import FINE, OPEN, WORSE, Answer, exit_code, verdict_of, wanted_half_width
from activeeval.core.results import Estimate
from activeeval.report.answer_sentences import headline, sentence, table_of

RANK = {"worse": 0, "undecided": 1, "not worse": 2, "equivalent": 2, "equal": 2, "better": 3}


def answer(value, low, high, margin=0.0, **more):
    names = {"system": "new", "versus": "old", "measure": "P@1", "n_queries": 40, "n_items": 80}
    return Answer(value=value, low=low, high=high, margin=margin, **(names | more))


@pytest.mark.parametrize(
    ("value", "low", "high", "margin", "verdict", "code"),
    [
        (-0.58, -0.77, -0.38, 0.0, "worse", WORSE),
        (-0.58, -0.77, -0.38, 0.5, "worse", WORSE),
        (-0.58, -0.77, -0.38, 0.58, "worse", WORSE),  # closed: as large as the margin is as large as matters
        (-0.58, -0.77, -0.38, 0.6, "undecided", OPEN),  # certain, but not as large as matters
        (-0.008, -0.012, -0.004, 0.02, "equivalent", FINE),
        (-0.02, -0.02, 0.02, 0.02, "equivalent", FINE),
        (0.03, 0.01, 0.05, 0.02, "better", FINE),
        (0.01, 0.005, 0.015, 0.02, "equivalent", FINE),  # stands before better
        (0.03, -0.02, 0.08, 0.02, "not worse", FINE),
        (0.03, -0.03, 0.09, 0.02, "undecided", OPEN),
        (0.03, -0.0, 0.09, 0.0, "undecided", OPEN),
        (0.0, 0.0, 0.0, 0.0, "equal", FINE),
        (-1.0, -math.inf, math.inf, 0.0, "undecided", OPEN),
    ],
)
def test_verdict_and_exit_code_are_those_of_the_table(value, low, high, margin, verdict, code):
    given_answer = answer(value, low, high, margin)
    assert given_answer.verdict == verdict
    assert exit_code([given_answer]) == code


@pytest.mark.parametrize(
    ("scope", "same_lists", "margin", "verdict"),
    [
        ("pool", False, 0.0, "equal"),
        ("population", True, 0.0, "equal"),
        ("population", False, 0.0, "undecided"),  # all that were seen tie, others may not
        ("population", False, 0.1, "equivalent"),
    ],
)
def test_an_interval_that_is_0_alone_is_equal_only_for_the_pool_or_of_the_same_lists(
    scope, same_lists, margin, verdict
):
    assert answer(0.0, 0.0, 0.0, margin, scope=scope, same_lists=same_lists).verdict == verdict
    assert verdict_of(0.0, 0.0, 0.0, margin, same_lists=same_lists, scope=scope) == verdict


def test_an_answer_that_its_judgments_do_not_support_is_undecided():
    assert answer(-0.5, -0.7, -0.3, is_supported=False).verdict == "undecided"


def test_one_worse_measure_decides_before_an_open_one():
    worse, open_one, fine = answer(-0.5, -0.7, -0.3), answer(0.1, -0.1, 0.3), answer(0.5, 0.3, 0.7)
    assert [exit_code(group) for group in ([fine, open_one, worse], [fine, open_one], [fine])] == [WORSE, OPEN, FINE]


sizes = st.floats(0, 2, allow_nan=False)


@given(value=st.floats(-1, 1), below=sizes, above=sizes, margin=st.floats(0, 1), shift=sizes)
def test_a_larger_loss_never_has_a_softer_verdict(value, below, above, margin, shift):
    """The same interval around a lower value: the rank of the verdict does not rise but from equal or equivalent."""
    before = verdict_of(value, value - below, value + above, margin)
    after = verdict_of(value - shift, value - shift - below, value - shift + above, margin)
    if before in ("worse", "undecided"):
        assert RANK[after] <= RANK[before] or after == "equivalent"
    if before == "worse":
        assert after == "worse"


@given(value=st.floats(-1, 1), below=sizes, above=sizes, margin=st.floats(0, 1), part=st.floats(0, 1))
def test_a_narrower_interval_never_undoes_a_decision(value, below, above, margin, part):
    """More evidence may not turn a verdict that is decided into an open one."""
    before = verdict_of(value, value - below, value + above, margin)
    after = verdict_of(value, value - part * below, value + part * above, margin)
    if before != "undecided":
        assert after != "undecided"
    assert (before == "worse") <= (after in ("worse", "equal"))


@pytest.mark.parametrize("value", [-0.3, -0.07, -0.02, 0.0, 0.04, 0.2])
@pytest.mark.parametrize("margin", [0.0, 0.1])
def test_the_wanted_half_width_is_the_widest_that_decides(value, margin):
    halves = [half / 2000 for half in range(1, 2001)]
    decides = [half for half in halves if verdict_of(value, value - half, value + half, margin) != "undecided"]
    assert wanted_half_width(value, margin) == pytest.approx(max(decides, default=0), abs=6e-4)


@given(value=st.floats(-1, 1), margin=st.floats(0, 1))
def test_an_interval_a_little_narrower_than_the_wanted_half_width_decides(value, margin):
    wanted = wanted_half_width(value, margin)
    if wanted > 1e-6:
        half = wanted * (1 - 1e-9)
        assert verdict_of(value, value - half, value + half, margin) != "undecided"
    else:
        assert wanted >= 0


def test_the_other_scope_is_said_where_its_verdict_differs():
    pool = answer(-0.6, -0.9, -0.3)
    population = answer(-0.6, -1.5, 0.3, scope="population")
    both = pool.with_other(population)
    assert sentence(both).endswith("; for queries like these this is open: −1.50 to 0.30.")
    assert both.fields()["other_verdict"] == "undecided"
    assert pool.with_other(pool).other is None


@pytest.mark.parametrize(
    ("value", "says"), [(-0.02, "it is exactly −0.020"), (0.02, "it is exactly +0.020"), (0.0, "it is exactly 0")]
)
def test_these_queries_are_said_where_they_are_exactly_known(value, says):
    population = answer(value, value - 0.03, value + 0.03, scope="population")
    both = population.with_other(answer(value, value, value))
    assert sentence(both).endswith(f"40 queries, 80 judgments; for these queries {says}.")
    (row,) = table_of([both])
    assert row["these queries"] == "exactly known"
    assert both.fields()["other_low"] == both.fields()["other_high"] == value


def test_other_queries_are_never_exactly_known():
    """Where all queries of a pool have one difference others may still have another."""
    assert answer(0.2, 0.1, 0.3).with_other(answer(0.2, 0.2, 0.2, scope="population")).other is None


def test_items_that_cannot_be_judged_keep_their_room_in_the_interval():
    from activeeval.core.results import Unjudgeable

    estimate = Estimate(
        value=0.2, std_error=0.05, degrees_of_freedom=30.0, n_open=31, n_draws=31, n_queries=31, n_items=60, cost=60.0,
        method="items", cannot=Unjudgeable(n_items=2, low=0.05, high=0.25, treated="as predicted"),
    )  # fmt: skip
    interval = estimate.interval()
    made = Answer.of(estimate, interval, system="new", versus="old", measure="P@1")
    assert (made.low, made.high) == pytest.approx((interval.low - 0.15, interval.high + 0.05))
    assert made.verdict == "undecided"
    room = "2 items cannot be judged: the interval has room for every grade that they could have."
    assert sentence(made).endswith(f"31 queries, 58 judgments; {room}")
    alone = replace(estimate, cannot=Unjudgeable(n_items=1, low=0.1, high=0.2, treated="as no gain"))
    said = sentence(Answer.of(alone, interval, system="new", measure="P@1"))
    assert said.endswith("; 1 item cannot be judged: the interval has room for every grade that it could have.")
    halves = [replace(made, segment=name) for name in ("head", "tail")]
    text = "; some items cannot be judged: the intervals have room for every grade of theirs."
    assert headline(halves)[0].endswith(text)
    assert "cannot be judged" not in headline([replace(half, n_cannot=0) for half in halves])[0]
    raised = Answer.of(estimate, interval, system="new", versus="old", measure="P@1", low=interval.low)
    assert raised.verdict == "better"


def test_a_value_beyond_what_the_measure_can_be_is_shown_inside_its_interval():
    estimate = Estimate(
        value=-1.2, std_error=0.15, degrees_of_freedom=30.0, n_open=31, n_draws=31, n_queries=31, n_items=60, cost=60.0,
        method="items", limits=(-1.0, 1.0),
    )  # fmt: skip
    made = Answer.of(estimate, estimate.interval(), system="new", versus="old", measure="P@1")
    assert (made.value, made.low, made.verdict) == (-1.0, -1.0, "worse")
    assert -1.0 < made.high < 0
