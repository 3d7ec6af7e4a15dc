"""Answers that take the place of earlier ones, leases that start again, what a lead decides: on both databases."""

import pytest
from store_cases import check_whole, complaint, grade, make_campaign, make_units, work_off

from activeeval.campaigns.store import JudgeAnswer
from activeeval.core.errors import InputError, StateError


def answered(store, judge="ann", value=1, n=1):
    """Answer so many items; return the events."""
    events = []
    for _ in range(n):
        item = store.claim("night", judge)
        events.append(store.submit("night", item.token, grade(value)).event)
    return events


def test_a_correction_takes_the_place_of_an_answer_and_stays_in_the_log(night):
    first, second = answered(night, n=2)
    done = night.correct("night", first.seq, "ann", grade(3, body={"note": "on second thoughts"}), "again")
    assert (done.event.grade, done.event.supersedes, done.event.doc_id) == (3, first.seq, first.doc_id)
    assert done.event.note == "on second thoughts"
    assert [event.seq for event in night.answers_of("night", "ann", 9)] == [done.event.seq, second.seq]
    assert [event.seq for event in night.answers_of("night", "ann", 9, before=done.event.seq)] == [second.seq]
    assert night.answers_of("night", "bob", 9) == []


def test_the_same_correction_again_is_one_and_another_is_refused(night):
    (first,) = answered(night)
    done = night.correct("night", first.seq, "ann", grade(3), "again")
    assert night.correct("night", first.seq, "ann", grade(3), "again").is_repeated
    for key, says in (("again", "is a different answer"), ("more", f"event {done.event.seq} replaced it")):
        with pytest.raises(StateError, match=says):
            night.correct("night", first.seq, "ann", grade(2), key)
    cannot = JudgeAnswer(kind="cannot", reason="a login page")
    assert night.correct("night", done.event.seq, "ann", cannot, "third").event.kind == "cannot"


def test_what_is_nobodys_answer_is_not_corrected(night):
    (first,) = answered(night)
    for seq, judge in ((first.seq, "bob"), (1, "ann"), (999, "ann")):
        with pytest.raises(InputError, match="is not an answer of"):
            night.correct("night", seq, judge, grade(), "k")
    assert "grade must be" in complaint(InputError, lambda: night.correct("night", first.seq, "ann", grade(9), "k"))


def test_a_lease_that_starts_again_keeps_the_item(night, clock):
    item = night.claim("night", "ann")
    clock.sleep(800)
    until = night.renew("night", item.token)
    assert until == clock.now + 900 * 1_000_000
    clock.sleep(800)
    assert night.claim("night", "bob").doc_id != item.doc_id
    assert night.submit("night", item.token, grade()).event.kind == "judged"
    assert night.renew("night", item.token) is None


def test_a_lease_that_went_to_somebody_else_does_not_start_again(store, clock):
    make_campaign(store, make_units(1, 1))
    item = store.claim("night", "ann")
    clock.sleep(1000)
    assert store.claim("night", "bob").doc_id == item.doc_id
    assert store.renew("night", item.token) is None
    assert store.renew("night", "nothing") is None


def test_a_lead_decides_where_judges_differ_and_they_keep_what_they_said(store):
    make_campaign(store, k=2)
    for judge, value in (("ann", 0), ("bob", 3)):
        work_off(store, judge, value=value)
    judged = [event for event in store.events("night") if event.kind == "judged"]
    done = store.adjudicate("night", judged[0].seq, "Zoe", 2, "it answers").event
    assert (done.kind, done.judge, done.grade, done.reason) == ("adjudicated", "zoe", 2, "it answers")
    assert (done.doc_id, done.unit) == (judged[0].doc_id, judged[0].unit)
    assert {event.grade for event in store.answers_of("night", "ann", 99)} == {0}
    for seq, value, reason, says in (
        (judged[0].seq, 2, "", "reason must not be empty"),
        (judged[0].seq, 9, "x", "grade must be"),
        (1, 2, "x", "is not a judgment"),
    ):
        with pytest.raises(InputError, match=says):
            store.adjudicate("night", seq, "zoe", value, reason)
    check_whole(store)


def test_nothing_is_decided_while_another_judge_is_asked_for_or_nobody_differs(store):
    make_campaign(store, k=3)
    for judge, value in (("ann", 0), ("bob", 3)):
        work_off(store, judge, value=value)
    seq = next(event.seq for event in store.events("night") if event.kind == "judged")
    assert "waits for another judge" in complaint(StateError, lambda: store.adjudicate("night", seq, "zoe", 1, "x"))
    store.correct("night", seq, "ann", grade(3), "k")
    assert "do not differ" in complaint(StateError, lambda: store.adjudicate("night", seq, "zoe", 1, "x"))


def test_guidelines_are_kept_by_version(night):
    first, second = night.keep_guidelines("# One"), night.keep_guidelines("# Two")
    assert night.keep_guidelines("# One") == first != second
    assert night.guidelines(second) == "# Two"
    assert "there is no version" in complaint(InputError, lambda: night.guidelines("none"))


def test_clocks_and_remarks_make_no_other_answer_of_it(night):
    item = night.claim("night", "ann")
    first = night.submit("night", item.token, grade(2, active_ms=100, body={"note": "a", "hidden_ms": 1}))
    again = night.submit("night", item.token, grade(2, active_ms=900, body={"note": "b", "hidden_ms": 7}))
    assert again.is_repeated
    assert again.event == first.event


def test_only_an_answer_that_stands_can_be_taken_back(night):
    got = night.claim("night", "ann")
    judged = night.submit("night", got.token, grade(2)).event
    others = "event 6 is an answer of 'ann': retracting another judge's answer needs a reason"
    with pytest.raises(InputError, match=others):
        night.retract("night", judged.seq, "bob")
    for seq, says in ((1, "event 1 is drawn"), (5, "event 5 is shown"), (99, "event 99 is not there")):
        with pytest.raises(StateError, match=says):
            night.retract("night", seq, "ann")
    (corrected,) = night.record("night", "ann", [("q1", "d1-0", grade(3), None)])
    with pytest.raises(StateError, match="is not valid any more: event 7 replaced it"):
        night.retract("night", judged.seq, "ann")
    night.retract("night", corrected.event.seq, "ann")
    with pytest.raises(StateError, match="event 8 replaced it"):
        night.retract("night", corrected.event.seq, "ann")
