"""A campaign that goes on with what is new is the campaign that is made of its whole log, at every event."""

import numpy as np
import pytest
from campaign_cases import Case, changed

from activeeval.campaigns.known_labels import labels_of
from activeeval.campaigns.state import CampaignState, answered, state_of
from activeeval.campaigns.status import progress_of
from activeeval.campaigns.store import JudgeAnswer
from activeeval.core.errors import InputError, StateError
from activeeval.core.judgments.state import State


def figures(state):
    """What a campaign says of itself: how far it is, every label, every estimate that there is."""
    try:
        read = [(a.estimate, a.interval) for a in answered(state)[0]]
    except StateError as problem:
        read = str(problem)
    campaigns = [sample.campaign for sample in state.rounds]
    labels = [(campaign.grades.tolist(), campaign.settled) for campaign in campaigns]
    return progress_of(state), state.agreement, labels, read, state.block, state.n_corrected


def said_by(random, case):
    """A judge who grades mostly as the labels say, cannot judge some, and puts some off."""

    def says(_, item):
        kind = random.choice(["judged", "judged", "judged", "cannot", "deferred"])
        grade = int((case.grade(item.query_id, item.doc_id) + random.integers(0, 2)) % 3)
        return JudgeAnswer(kind=str(kind), grade=grade if kind == "judged" else None, active_ms=1000)

    return says


@pytest.mark.parametrize(("policy", "judges_per_item"), [("majority", 1), ("mean-gain", 2)])
def test_a_campaign_that_goes_on_is_the_one_made_of_its_whole_log(policy, judges_per_item):
    random = np.random.default_rng(3)
    case = Case(budget=24.0, n=12, policy=policy, judges_per_item=judges_per_item)
    live = state_of(case.store, "week")
    for _ in range(8):
        case.judge("ann", "bob", says=said_by(random, case), upto=int(random.integers(1, 6)))
        if random.random() < 0.3:  # some of what was said is taken back
            stands = state_of(case.store, "week").state.standing
            event = stands[int(random.integers(len(stands)))]
            case.store.retract("week", event.seq, event.judge, "wrong tab")
        live.refresh(case.store)
        assert figures(live) == figures(state_of(case.store, "week"))
        assert live.as_of == case.store.last_seq("week")


def test_rounds_go_on_too_and_follow_what_is_corrected_before_them():
    case = Case(budget=16.0, n=12)
    live = state_of(case.store, "week")
    case.judge("ann")
    live.refresh(case.store)
    case.redraw(16.0, seed=5)
    assert figures(live.refresh(case.store)) == figures(state_of(case.store, "week"))
    assert len(live.rounds) == 2
    case.judge("bob", upto=3)
    assert figures(live.refresh(case.store)) == figures(state_of(case.store, "week"))
    first = next(event for event in live.log if event.kind == "judged")
    changed(case.store, first)
    assert figures(live.refresh(case.store)) == figures(state_of(case.store, "week"))
    assert live.n_corrected == 1


@pytest.mark.parametrize("policy", ["median", "mean-gain"])
def test_a_known_grade_that_judges_no_longer_share_is_none(policy):
    """Of the lower median it is still a grade; where all grades count it has no one that a round could know."""
    case = Case(budget=16.0, n=12, policy=policy, judges_per_item=2)
    case.judge("ann", "bob")
    live = state_of(case.store, "week")
    case.redraw(16.0, seed=5)
    case.judge("ann", "bob")
    first = next(event for event in live.log if event.kind == "judged" and event.grade < 2)
    changed(case.store, first, first.grade + 1)
    live.refresh(case.store)
    if policy == "median":
        assert len(answered(live)[0]) == 1
        return
    with pytest.raises(StateError, match="1 item that round 2 treats as known has no single grade any more"):
        answered(live)
    with pytest.raises(InputError, match="items with differing grades count as their mean gain"):
        labels_of(live)


def test_a_log_that_was_changed_behind_a_live_campaign_is_noticed():
    case = Case(budget=16.0, n=12)
    case.judge("ann", upto=5)
    live = state_of(case.store, "week")
    case.judge("ann", upto=1)
    whole = case.store.events("week")
    changed = live.log[-1].__class__(**{**{n: getattr(live.log[-1], n) for n in live.log[-1].__slots__}, "digest": "x"})
    live.log[-1] = changed
    with pytest.raises(StateError, match=f"event {changed.seq} was altered"):
        live.refresh(case.store)
    with pytest.raises(InputError, match="the last event is"):
        state_of(case.store, "week", whole[-1].seq + 1)


def test_a_moment_is_the_same_fold_stopped_earlier():
    case = Case(budget=24.0, n=12, judges_per_item=2)
    case.judge("ann", "bob", "cy")
    now = state_of(case.store, "week")
    past = now.before()
    for seq in range(now.versions[0].seq + len(now.units) + 2, now.as_of + 1, 7):
        past.follow(now.log[past.as_of : seq])
        assert figures(past) == figures(state_of(case.store, "week", seq))


def test_blocks_are_complete_when_nothing_of_them_and_those_before_waits():
    """Against a count from the first event on, for every beginning of a log with retractions."""
    random = np.random.default_rng(5)
    case = Case(budget=30.0, n=14, judges_per_item=2)
    for _ in range(12):
        case.judge("ann", "bob", says=said_by(random, case), upto=12)
        stands = state_of(case.store, "week").state.standing
        event = stands[int(random.integers(len(stands)))]
        case.store.retract("week", event.seq, event.judge, "wrong tab")
    case.judge("ann", "bob")
    log = case.store.events("week")
    first: dict[int, int] = {}
    for n in range(1, len(log) + 1):
        held: dict[tuple, set] = {}
        blocks: dict[tuple, int] = {}
        for event in log[:n]:
            if event.kind == "drawn":
                blocks |= {(event.unit, doc): event.body["block"] for doc in event.body["items"]}
            elif event.kind in ("judged", "cannot"):
                held.setdefault((event.unit, event.doc_id), set()).add(event.judge)
            elif event.kind == "retracted":
                held[event.unit, event.doc_id].discard(next(e.judge for e in log if e.seq == event.supersedes))
        if log[n - 1].kind not in ("judged", "cannot"):
            continue
        for block in sorted(set(blocks.values())):
            if any(len(held.get(place, ())) < 2 for place, own in blocks.items() if own <= block):
                break
            first.setdefault(block, n)
    state = State(judges_per_item=2)
    state.apply_all(log)
    assert state.complete_at == first
    assert CampaignState.of(case.store, "week").refresh(case.store).state.complete_at == first
