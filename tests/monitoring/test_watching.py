"""Watches night after night: what is drawn, what goes on counting, what is said, and what is refused."""

import numpy as np
import pytest
from campaigns.store.store_cases import complaint
from watch_cases import (
    DATES,
    GRADES,
    NAME,
    PAIRS,
    TOP,
    Watch,
    run_of,
    settings,
    true_value,
    write_documents,
    write_qrels,
    write_run,
)

from activeeval.campaigns.state import answered, state_of
from activeeval.campaigns.store import watches
from activeeval.core.answers import FINE, OPEN, WORSE, verdict_of
from activeeval.core.campaign.reading import judged_queries
from activeeval.core.errors import InputError
from activeeval.monitoring.judged_labels import certain_grades
from activeeval.monitoring.night_inputs import NightInputs, last_night
from activeeval.monitoring.nights import draw_night
from activeeval.monitoring.settings import checked_policy, set_up
from activeeval.monitoring.spans import change_between

# Nights


def test_nights_cover_the_truth_and_ask_nobody_twice():
    """Of 3 seeds of 2 nights 95 % intervals of value and change miss no more than 3 of 9: P < 1e-3."""
    n_missed = n_read = 0
    for seed in range(3):
        watch, asked = Watch(seed=seed, budget=25.0), []
        for night in (1, 2):
            drawn = watch.draw(night)
            asked.append(watch.asked(night))
            assert (len(asked[-1]), drawn.n_pending) == (drawn.n_new, 0)
            watch.judge(night)
            says = watch.says()
            truths = [true_value(run_of(night)), true_value(run_of(night)) - true_value(run_of(night - 1))]
            for row, truth in zip([*says.values, *says.changes], truths, strict=False):
                n_read += 1
                n_missed += not row.low - 1e-9 <= truth <= row.high + 1e-9
        assert len(set().union(*asked)) == sum(map(len, asked))
    assert n_read == 9
    assert n_missed <= 3


@pytest.mark.parametrize("measure", ["P@5", "DCG@5"])
def test_a_budget_for_everything_reads_every_night_of_two_grades(measure, monkeypatch):
    """A measure with limits reads all judged queries for the shares that differ: every one of them counts."""
    for pair, grade in GRADES.items():
        monkeypatch.setitem(GRADES, pair, int(grade > 1))
    watch = Watch(budget=1000.0, max_grade=1, measures=(measure,))
    (value,) = watch.night(1).values
    assert value.low == value.high == value.value
    (change,) = watch.night(2).changes
    assert change.low == change.high == change.value
    assert change.other.low < change.value < change.other.high
    campaign = state_of(watch.store, watch.campaign(1)).sample.campaign
    pool, target = campaign.design.pool, campaign.design.targets[0]
    grades = np.array([GRADES[pair] for pair in pool.pairs_of(np.arange(pool.n_items))])
    queries, weights, _ = judged_queries(campaign.design, campaign.selection, campaign.labels)
    assert weights @ target.values(grades)[queries] == pytest.approx(campaign.estimate().value)


@pytest.mark.parametrize("is_drawn_before", [False, True])
def test_all_grades_given_are_exactly_known(tmp_path, is_drawn_before):
    """Labels of earlier nights leave nothing to chance once somebody knows everything, in a span neither."""
    write_qrels(tmp_path / "all.qrels")
    watch = Watch.judged() if is_drawn_before else Watch()
    first = watch.draw(1 + is_drawn_before, judged=(str(tmp_path / "all.qrels"),))
    if not is_drawn_before:
        assert (first.n_new, first.n_pending, first.n_known > 100) == (0, 0, True)
        assert watch.says().values[0].value == pytest.approx(true_value(run_of(1)), rel=1e-6)
    last = 2 + is_drawn_before
    watch.draw(last)  # what was given once goes on being known
    says = watch.says()
    assert says.values[0].value == pytest.approx(true_value(run_of(last)), rel=1e-6)
    (span,) = change_between(watch.store, NAME, DATES[0], DATES[last - 1])
    for first, change in ((last - 1, says.changes[0]), (1, span)):
        assert change.value == pytest.approx(true_value(run_of(last)) - true_value(run_of(first)), abs=1e-6)
        assert change.low == pytest.approx(change.high)


def test_which_grades_from_elsewhere_are_certain():
    """Of a whole query that others graded too, and of all; of what was drawn alone none: it came by its number."""
    elsewhere = {("q1", "a"): (1, 0), ("q1", "b"): (0, 0), ("q2", "a"): (2, 0), ("q3", "a"): (1, 0)}
    listed = [*elsewhere, ("q3", "b")]
    of_q1, of_q3 = [("q1", "a", 1, ""), ("q1", "b", 0, "")], ("q3", "a", 1, "")
    assert certain_grades(elsewhere, {("q1", "a"): 1, ("q2", "a"): 2}, listed) == [*of_q1, of_q3]
    assert certain_grades(elsewhere, dict.fromkeys(elsewhere, 0), listed) == []
    assert len(certain_grades(elsewhere, dict.fromkeys(elsewhere, 0), list(elsewhere))) == 4


def test_grades_given_of_what_was_drawn_change_nothing(tmp_path):
    """What was drawn goes on counting as drawn, with its probability."""
    watch = Watch.judged()
    write_qrels(tmp_path / "drawn.qrels", sorted(watch.asked(1)))
    drawn = watch.draw(2, judged=(str(tmp_path / "drawn.qrels"),))
    assert (drawn.n_known, drawn.n_in_hand > 0) == (0, True)


def test_what_waits_comes_back_on_the_next_night():
    watch = Watch()
    drawn = watch.draw(1)
    watch.judge(1, limit=drawn.n_new // 2)
    waiting = watch.says()
    assert waiting.waiting == drawn.n_new - drawn.n_new // 2
    assert waiting.exit_code == OPEN
    assert waiting.values[0].value is None
    following = watch.draw(2, run_of(1))
    assert following.n_pending == waiting.waiting
    assert following.n_in_hand == drawn.n_new // 2
    events = watch.store.events(watch.campaign(1))
    judged = {(event.query_id, event.doc_id) for event in events if event.grade is not None}
    assert not judged & watch.asked(2)
    assert watch.asked(1) - judged <= watch.asked(2)


def test_the_same_run_again_is_no_change_in_any_measure():
    measures = ["DCG@5", "P@3"]
    says = Watch.judged(margin=0.1, measures=tuple(measures)).night(2, run_of(1))
    assert [value.measure for value in says.values] == [change.measure for change in says.changes] == measures
    for change in says.changes:
        assert (change.value, change.low, change.high, change.p_value, change.verdict) == (0.0, 0.0, 0.0, 1.0, "equal")
    assert says.exit_code == FINE


# Reference, margin, alarm


@pytest.mark.parametrize("reference", ["first", "file"])
def test_a_lasting_loss_is_an_alarm_against_what_it_is_compared_with(reference, tmp_path):
    """On the third night nothing is lost since the second, much since the first, and since the run in a file."""
    write_run(tmp_path / "good.run", run_of(1))
    named = str(tmp_path / "good.run") if reference == "file" else reference
    watch, lost = Watch(budget=400.0, margin=0.05, reference=named), run_of(1, upside_down=20)
    nights = [watch.night(k, run) for k, run in ((1, run_of(1)), (2, lost), (3, lost))]
    assert [says.exit_code for says in nights] == [FINE, WORSE, WORSE]
    verdicts = {change.versus: change.verdict for change in nights[2].changes}
    assert verdicts == {DATES[1]: "equal", DATES[0] if reference == "first" else "reference": "worse"}


def test_the_verdict_follows_from_the_interval_that_is_shown():
    """[L, U] misses 0 from below on 1 night of 100: its one-sided level is shared by comparisons and looks."""
    for changed, level in (
        ({}, 0.0025),
        ({"budget_on_suspicion": 0.0, "false_alarms": 4.0}, 0.02),
        ({"budget_on_suspicion": 0.0, "reference": "previous"}, 0.01),
    ):
        watch = Watch.judged(**({"reference": "first", "margin": 0.2} | changed))
        watch.night(2)
        says = watch.night(3)
        estimates = {each.versus: each.estimate for each in answered(state_of(watch.store, watch.campaign(3)))[0]}
        for change in says.changes:
            assert (change.low, change.high) == pytest.approx(tuple(estimates[change.versus].interval(1 - 2 * level)))
            assert change.verdict == verdict_of(change.value, change.low, change.high, change.margin)


def test_the_scope_that_decides_is_chosen_and_the_other_stands_beside_it():
    for scope in ("pool", "population"):
        (change,) = Watch.judged(scope=scope).night(2).changes
        assert (change.scope, {change.scope, change.other.scope}) == (scope, {"pool", "population"})
        halves = {each.scope: each.high - each.low for each in (change, change.other)}
        assert halves["pool"] < halves["population"]


# Texts


def test_a_changed_document_loses_its_grade_and_is_drawn_anew(tmp_path):
    documents = tmp_path / "documents.jsonl"
    write_documents(documents)
    watch = Watch(budget=1000.0)
    watch.draw(1, documents=str(documents))
    watch.judge(1)
    changed = sorted(doc for _, doc in watch.asked(1))[:4]
    write_documents(documents, changed=changed)
    drawn = watch.draw(2, run_of(1), documents=str(documents))
    assert drawn.n_changed == 4
    assert {doc for _, doc in watch.asked(2)} == set(changed)
    watch.judge(2)
    drawn = watch.draw(3, run_of(1), documents=str(documents))
    assert (drawn.n_changed, drawn.n_new) == (0, 0)


def test_a_document_without_its_text_is_refused_and_nothing_is_stored(tmp_path):
    documents = tmp_path / "documents.jsonl"
    write_documents(documents)
    watch = Watch()
    watch.draw(1, documents=str(documents))
    lost = sorted(doc for _, doc in watch.asked(1) if doc in run_of(2)[doc.partition("-")[0]])[0]
    write_documents(documents, without=[lost])
    assert lost in complaint(InputError, lambda: watch.draw(2, documents=str(documents)))
    assert "names no `documents`" in complaint(InputError, lambda: watch.draw(2))
    assert watch.is_stored(2) == (False, False)


# Refused


def test_what_does_not_go_on_is_refused():
    watch, other = Watch.judged(), {"q0": {"a": 1.0}, "zz": {"a": 1.0}}
    for date, run, says in (
        (DATES[0], run_of(2), "exists already"),
        ("2026-10-31", run_of(2), "draw nights in order"),
        (DATES[1], other, "is not one of the 20 queries of the watch"),
    ):
        tonight = NightInputs(run=run, date=date)
        assert says in complaint(InputError, lambda: draw_night(watch.store, NAME, tonight))  # noqa: B023
        assert len(watch.store.watches.nights(NAME)) == 1
        assert watch.store.campaigns() == [watch.campaign(1)]


def test_a_bad_date_is_refused():
    watch = Watch()
    for date in ("2026-13-01", "25.11.2026", "20261125", "", "tonight", "2026-1-1", "2026-W01-1"):
        tonight = NightInputs(run=run_of(1), date=date)
        assert "a night's date must be like" in complaint(InputError, lambda: draw_night(watch.store, NAME, tonight))  # noqa: B023


def test_a_query_that_has_no_list_on_either_night_counts_as_0():
    """A budget for everything: the value is the mean over all queries of the watch, in plain Python."""
    watch, short = Watch.judged(budget=1000.0), run_of(2) | {"q3": {}}
    whole = true_value(short)
    del short["q3"]
    for night in (2, 3):
        says = watch.night(night, short)
        assert (says.values[0].value, says.n_missing) == (pytest.approx(whole, rel=1e-6), 1)
    assert says.changes[0].verdict == "equal"


def test_a_watch_that_is_not_there_and_nights_that_are_not():
    watch = Watch()
    tonight = NightInputs(run=run_of(1), date=DATES[0])
    assert "did you mean quality?" in complaint(InputError, lambda: draw_night(watch.store, "qualify", tonight))
    assert "already" in complaint(InputError, lambda: set_up(watch.store, NAME, settings()))
    assert "no night yet" in complaint(InputError, lambda: last_night(watch.store, NAME))
    watch.draw(1)
    watch.draw(2)
    assert "has no night of 2026-11-09" in complaint(InputError, lambda: watch.all_say("2026-11-09"))
    assert "the earlier night comes first" in complaint(InputError, lambda: watch.all_say(DATES[1], DATES[0]))


def test_a_scripted_judge_who_lacks_a_grade_is_refused_and_nothing_is_stored():
    watch = Watch()
    some = {pair: grade for pair, grade in GRADES.items() if pair[0] != "q7"}
    assert "of query 'q7' was drawn and has no grade" in complaint(InputError, lambda: watch.draw(1, answers=some))
    assert watch.is_stored(1) == (False, False)
    assert watch.draw(1, answers=GRADES).n_new > 0


def test_a_mean_gain_is_no_grade():
    assert "majority or median" in complaint(InputError, lambda: checked_policy("mean-gain", 2, ["DCG@5"]))
    assert checked_policy(None, 2, ["DCG@5"]) == "median"
    assert checked_policy(None, 3, ["DCG@5"]) == "majority"


def test_a_watch_that_knows_no_largest_grade_takes_that_of_its_first_night(tmp_path):
    watch = Watch(max_grade=None)
    assert "has no largest grade" in complaint(InputError, lambda: watch.draw(1))
    write_qrels(tmp_path / "some.qrels", [pair for pair in PAIRS if GRADES[pair] == TOP][:3])
    watch.draw(1, judged=(str(tmp_path / "some.qrels"),))
    assert watch.store.campaign(watch.campaign(1)).max_grade == TOP
    watch.judge(1)
    watch.draw(2)
    assert watch.store.campaign(watch.campaign(2)).max_grade == TOP


def test_the_same_seed_draws_the_same_whatever_the_order_of_rows_and_another_another():
    """The order of queries changes nothing either, on the first night nor on the next."""
    draws, other = [], Watch(seed=8)
    other.draw(1)
    for turned in (False, True):
        watch = Watch(seed=7)
        for night in (1, 2):
            run = run_of(night)
            if turned:
                run = {query: dict(reversed(docs.items())) for query, docs in reversed(run.items())}
            watch.night(night, run)
        draws.append((watch.asked(1), watch.asked(2), watch.says().values[0].value))
    assert draws[0][:2] == draws[1][:2]
    assert draws[0][2] == pytest.approx(draws[1][2], rel=1e-9)
    assert draws[0][0] != other.asked(1)


def test_nights_are_there_or_not_as_a_whole(monkeypatch):
    """A fault in the middle of storing leaves neither the night nor its campaign."""
    watch, real = Watch.judged(), watches.insert

    def broken(table):
        if table.name == "night":
            raise OSError("the power is gone")
        return real(table)

    monkeypatch.setattr(watches, "insert", broken)
    with pytest.raises(OSError, match="the power is gone"):
        watch.draw(2)
    assert watch.is_stored(2) == (False, False)
    monkeypatch.undo()
    assert watch.draw(2).n_new > 0
    assert watch.is_stored(2) == (True, True)
