"""Nights that look bad: how many labels decide, what they buy, and what the nights after them read."""

import numpy as np
import pytest
from campaigns.store.store_cases import complaint
from watch_cases import DATES, GRADES, NAME, Watch, run_of

from activeeval.core.answers import OPEN, WORSE
from activeeval.core.errors import StateError
from activeeval.monitoring.nights import draw_more
from activeeval.monitoring.spans import change_between
from activeeval.report.answer_sentences import sentence

# Suspicion


def suspicious(seed, **changed):
    """Return a watch after a night that has lost something, of which the verdict is open, and what that night says."""
    watch = Watch.judged(**({"seed": seed, "margin": 0.3, "budget": 16.0, "reference": "first"} | changed))
    return watch, watch.night(2, run_of(1, upside_down=7))


def test_an_open_night_says_how_many_labels_decide_and_no_more_than_are_left():
    n_open = 0
    for seed in range(2):
        watch, says = suspicious(seed, budget=10.0)
        runs = (run_of(1), run_of(1, upside_down=7))
        items = {(query, doc) for run in runs for query, docs in run.items() for doc in docs}
        n_left = len(items) - len(watch.asked(1)) - len(watch.asked(2))
        for change in says.changes:
            needed = change.needed
            assert (needed is not None) == (change.verdict == "undecided")
            if needed is not None and needed.budget is not None:
                n_open += 1
                assert 0 < needed.low <= needed.budget <= needed.high <= n_left
                assert "more judgments" in sentence(change)
                assert "new sample" not in sentence(change)  # they come with the next night
    assert n_open > 1


def test_a_night_that_looks_bad_buys_labels_that_decide():
    """Of 3 seeds some nights look bad and are open; the labels on suspicion come to their budget on average."""
    n_drawn, decided, last = [], [], None
    for seed in range(3):
        watch, says = suspicious(seed)
        if not says.looks_bad:
            continue
        assert says.exit_code == OPEN
        drawn = draw_more(watch.store, NAME, GRADES)
        assert drawn.campaign == f"{watch.campaign(2)}.more"
        waiting = watch.says()
        assert (waiting.waiting, waiting.exit_code, waiting.looks_bad) == (drawn.n_new, OPEN, False)
        assert waiting.changes == says.changes  # the night reads as before until they are judged
        watch.judge_campaign(drawn.campaign)
        after, last = watch.says(), watch
        n_drawn.append(drawn.n_new)
        assert after.values[0].judged == says.values[0].judged + drawn.n_new
        decided.append(after.exit_code == WORSE)
        assert not after.looks_bad
        assert "has its labels on suspicion already" in complaint(StateError, lambda: draw_more(watch.store, NAME))  # noqa: B023
    assert len(n_drawn) >= 2
    assert np.mean(n_drawn) < 1.3 * 32
    assert np.mean(decided) >= 0.5
    check_following_night(last, after)


def check_following_night(watch, second):
    """Check that the night after suspicion goes on from all labels and reads the second the same again."""
    following = watch.draw(3, run_of(1, upside_down=7))
    watch.judge(3)
    nights = watch.all_say()
    assert following.n_pending == 0
    assert [night.date for night in nights] == DATES[:3]
    assert (nights[1].values, nights[1].changes) == (second.values, second.changes)
    assert [change.versus for change in nights[2].changes] == [DATES[1], DATES[0]]
    assert nights[2].changes[0].verdict == "equal"
    (span,) = change_between(watch.store, NAME, DATES[0], DATES[1])
    assert span.value == pytest.approx(nights[2].changes[1].value, abs=2.0)


def test_without_a_budget_on_suspicion_no_night_looks_bad_and_an_undecided_one_is_open():
    nights = [suspicious(seed, budget_on_suspicion=0.0)[1] for seed in range(2)]
    assert not any(says.looks_bad for says in nights)
    assert OPEN in [says.exit_code for says in nights]
    assert all((says.changes[0].verdict == "undecided") == (says.exit_code == OPEN) for says in nights)


def test_labels_on_suspicion_wait_for_those_of_the_night():
    watch = Watch()
    watch.draw(1)
    assert "items of 2026-11-01 are not judged yet" in complaint(StateError, lambda: draw_more(watch.store, NAME))


def test_a_span_is_not_read_while_items_wait():
    watch = Watch.judged()
    watch.draw(2)
    says = complaint(StateError, lambda: change_between(watch.store, NAME, DATES[0], DATES[1]))
    assert "are not judged yet" in says


def test_a_night_on_which_nothing_came_is_open():
    """A budget of a fiftieth of an item: no value, no change, and nothing that waits."""
    watch = Watch(budget=0.02, seed=1)
    drawn = watch.draw(1)
    assert (drawn.n_new, drawn.n_in_hand) == (0, 0)
    says = watch.says()
    assert (says.waiting, says.values[0].value, says.changes) == (0, None, [])
    assert says.exit_code == OPEN
