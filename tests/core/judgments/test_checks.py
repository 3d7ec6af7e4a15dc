"""The state of controls, and of places that wait for judges, after each event of a log, by hand."""

import pytest

from activeeval.core.judgments.controls import Checks
from activeeval.core.judgments.log import Event
from activeeval.core.judgments.state import State

LOG = (
    # event; whether it is of a control; answers in all; valid answers; open control; answered; deferred
    ({"kind": "judged"}, False, 1, [1], None, {}, []),
    ({"kind": "control_shown", "body": {"item": "x"}}, True, 1, [1], "x", {}, []),
    ({"kind": "renewed", "body": {"item": "x"}}, True, 1, [1], "x", {}, []),
    ({"kind": "passed", "body": {"item": "x"}}, True, 2, [1], None, {"x": 4}, ["x"]),
    ({"kind": "control_shown", "body": {"item": "y"}}, True, 2, [1], "y", {"x": 4}, ["x"]),
    ({"kind": "passed", "body": {"item": "y"}}, True, 3, [1], None, {"x": 4, "y": 6}, ["x", "y"]),
    ({"kind": "control_shown", "body": {"item": "y"}}, True, 3, [1], "y", {"x": 4, "y": 6}, ["x", "y"]),
    # an earlier control is corrected while another one is open
    ({"kind": "checked", "body": {"item": "x"}}, True, 4, [1, 8], "y", {"x": 8, "y": 6}, ["y"]),
    ({"kind": "checked", "body": {"item": "y"}}, True, 5, [1, 8, 9], None, {"x": 8, "y": 9}, []),
    ({"kind": "checked", "body": {"item": "y"}, "supersedes": 9}, True, 5, [1, 8, 10], None, {"x": 8, "y": 10}, []),
    ({"kind": "control_shown", "body": {"item": "x"}, "supersedes": 8}, True, 5, [1, 10], "x", {"y": 10}, []),
    ({"kind": "late", "body": {"item": "x"}}, True, 5, [1, 10], "x", {"y": 10}, []),
    ({"kind": "cannot"}, False, 6, [1, 10, 13], "x", {"y": 10}, []),
    ({"kind": "judged", "supersedes": 13}, False, 6, [1, 10, 14], "x", {"y": 10}, []),
    ({"kind": "deferred"}, False, 7, [1, 10, 14], "x", {"y": 10}, []),
    ({"kind": "preferred"}, False, 8, [1, 10, 14], "x", {"y": 10}, []),
    ({"kind": "retracted", "supersedes": 1}, False, 8, [10, 14], "x", {"y": 10}, []),
    ({"kind": "late"}, False, 8, [10, 14], "x", {"y": 10}, []),
)


def test_the_state_after_each_event_is_that_by_hand():
    checks = Checks()
    checks.apply(Event(seq=100, kind="control_shown", at=0, judge="bob", body={"item": "x"}))
    for seq, (event, of_control, n_said, standing, posed, answers, put_off) in enumerate(LOG, 1):
        assert checks.apply(Event(seq=seq, at=0, judge="ann", **event)) == of_control
        assert checks.n_said.get("ann", 0) == n_said
        assert list(checks.standing.get("ann", {})) == standing
        open_control = checks.posed.get("ann")
        assert (open_control and open_control.body["item"]) == posed
        assert {item: answer.seq for (_, item), answer in checks.answers.items()} == answers
        assert list(checks.put_off.get("ann", {})) == put_off
    assert checks.posed["bob"].seq == 100
    assert set(checks.n_said) == {"ann"}


ANSWERS = (
    # judge, document, number of the judgment, grade
    ("ann", "a", 1, 1),
    ("bob", "a", 2, 1),
    ("ann", "b", 1, 0),
    ("bob", "b", 2, 2),
    ("cid", "b", 3, 2),
)


@pytest.mark.parametrize(
    ("adjudicate", "waiting", "differing", "complete_at"),
    [(True, [2, 2, 1, 1, 1, 0, 1, 1], [0, 0, 0, 0, 1, 0, 0, 1], 6), (False, [2, 2, 1, 1, 0, 0, 1, 0], [0] * 8, 5)],
)
def test_a_place_waits_for_two_judges_and_for_a_third_where_they_differ(adjudicate, waiting, differing, complete_at):
    state = State(judges_per_item=2, adjudicate=adjudicate)
    log = [Event(seq=1, kind="drawn", at=0, unit=7, body={"block": 3, "items": ["a", "b"]})]
    for seq, (judge, doc, k, grade) in enumerate(ANSWERS[: 5 if adjudicate else 4], 2):
        log.append(Event(seq=seq, kind="judged", at=0, judge=judge, unit=7, doc_id=doc, k=k, grade=grade))
    if not adjudicate:
        log.append(Event(seq=6, kind="ended", at=0, reason="the budget is spent"))
    log.append(Event(seq=7, kind="retracted", at=0, judge="bob", unit=7, doc_id="a", k=2, supersedes=3))
    log.append(Event(seq=8, kind="judged", at=0, judge="bob", unit=7, doc_id="a", k=2, grade=3))
    for event, n_waiting, n_differing in zip(log, waiting, differing, strict=True):
        state.apply(event)
        assert state.n_waiting == {3: n_waiting} == {3: sum(state.waits((7, doc)) for doc in "ab")}
        assert state.n_differing == n_differing
    assert state.complete_at == {3: complete_at}
    assert sorted(state.assignments)[2:3] == [(7, "a", 3)] * adjudicate + [(7, "b", 1)] * (not adjudicate)
    assert state.problems == []
