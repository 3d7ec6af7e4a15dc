"""Comparisons of a stored campaign: claimed, submitted, taken back, on both databases."""

from dataclasses import replace

import numpy as np
import pytest
from campaign_cases import Clock

from activeeval.campaigns import assignments
from activeeval.campaigns.store import CampaignRow, JudgeAnswer, PlaceRow, SampleRow, UnitRow, open_store
from activeeval.campaigns.top_k_judging import Comparing, compared
from activeeval.core.errors import InputError, StateError
from activeeval.core.judgments.judging import ByComparisons, DocumentToJudge

SECOND, LEASE_S, K = 1_000_000, 900, 2
SIZES = {"q1": 5, "q2": 1, "q3": 4}
VALUES = {
    (query, f"d{z}"): int(value)
    for query, n in SIZES.items()
    for z, value in enumerate(np.random.default_rng(n).permutation(n))
}
BEST = {query: sorted((d for q, d in VALUES if q == query), key=lambda d: -VALUES[query, d])[:K] for query in SIZES}


def unit_of(number, query):
    items = [DocumentToJudge(doc, 1.0, {"title": doc.upper()}) for q, doc in VALUES if q == query]
    place = PlaceRow(**ByComparisons(K).shown(query, items)[0]._asdict())
    return UnitRow(number=number, block=1, query_id=query, level=None, cost=1.0, places=(place,), query_text=query * 2)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def store(either_url, clock):
    with open_store(either_url, clock=clock) as opened:
        units = [unit_of(number, query) for number, query in enumerate(SIZES, start=1)]
        campaign = CampaignRow(name="top", config={"top_k": K}, lease_s=LEASE_S)
        opened.create(campaign, SampleRow(version=1, digest="", payload=b""), units)
        yield opened
        assert opened.verify("top") == []
        before = opened.waiting("top")
        opened.rebuild("top")
        assert (opened.verify("top"), opened.waiting("top")) == ([], before)


def better_of(item):
    docs = [document["doc_id"] for document in item.text["documents"]]
    return max(docs, key=lambda doc: VALUES[item.query_id, doc])


def stated(what, **body):
    return JudgeAnswer(kind="preferred", body={"what": what, **body})


def preferred(doc, **fields):
    return replace(stated("compared", preferred=doc), **fields)


def said(store, item, answer, **options):
    return assignments.desk_of(store, "top").submit(item.token, answer, **options)


def submitted(store, item, doc=None, **options):
    return said(store, item, preferred(doc or better_of(item)), **options)


def compare_rest(store):
    while (item := claimed(store)) is not None:
        submitted(store, item)


def claimed(store, judge="ann"):
    return assignments.desk_of(store, "top").claim(judge)


def settled(store):
    return {event.query_id: event.body["top"] for event in store.events("top") if event.kind == "judged"}


def test_claims_and_submits_find_the_best_of_every_query(store):
    n = 0
    while (item := claimed(store)) is not None:
        assert len(item.text["documents"]) == 2
        assert item.query_text == item.query_id * 2
        assert all(document["title"] == document["doc_id"].upper() for document in item.text["documents"])
        done = said(store, item, preferred(better_of(item), active_ms=1500))
        event = done.event
        assert (event.kind, event.active_ms, event.shown_at) == ("preferred", 1500, event.at - SECOND)
        n += 1
    assert settled(store) == BEST
    done = compared(store, "top", "ann", K)
    assert (done.n_settled, done.n_queries, done.n_comparisons) == (3, 3, n)
    assert {query: list(truth.top) for query, truth in done.truths.items()} == BEST


def test_an_answer_that_is_sent_again_is_stored_once(store):
    item = claimed(store)
    first = submitted(store, item)
    again = submitted(store, item)
    assert (again.is_repeated, again.event) == (True, first.event)
    other = next(d["doc_id"] for d in item.text["documents"] if d["doc_id"] != better_of(item))
    with pytest.raises(StateError, match="the token was answered by event"):
        submitted(store, item, other)
    following = claimed(store)
    assert submitted(store, item).event == first.event
    assert submitted(store, item, key="mine").event.kind == "late"
    assert submitted(store, following, key="mine too").event.kind == "preferred"
    assert len(store.events("top", unit=item.unit)) == 1 + 2 + 2 + 1


def test_the_answer_that_settles_a_query_is_repeated_with_it(store):
    item = claimed(store)
    while item.query_id == "q1":
        last, done = item, submitted(store, item)
        item = claimed(store)
    assert submitted(store, last).event == done.event
    assert settled(store)["q1"] == BEST["q1"]
    assert sum(event.kind == "judged" and event.unit == 1 for event in store.events("top")) == 1


def test_a_query_whose_lease_is_over_goes_to_another_judge_who_begins_anew(store, clock):
    first = claimed(store)
    submitted(store, first)
    held = claimed(store)
    assert claimed(store, "bob").unit != held.unit
    clock.now += 2 * LEASE_S * SECOND
    said(store, claimed(store, "bob"), JudgeAnswer(kind="deferred"))
    his = claimed(store, "bob")
    assert (his.unit, his.text) == (held.unit, first.text)
    assert held.text != first.text
    late = submitted(store, held)
    assert (late.event.kind, late.event.reason) == ("late", "the item had gone to another judge")
    submitted(store, his)
    assert compared(store, "top", "bob", K).n_comparisons == 1
    assert compared(store, "top", "ann", K).n_comparisons == 1


def test_an_answer_renews_the_lease(store, clock):
    item = claimed(store)
    for _ in range(3):
        clock.now += (LEASE_S - 10) * SECOND
        assert submitted(store, item).event.kind == "preferred"
        assert claimed(store, "bob").unit != item.unit
        item = claimed(store)


def test_a_query_is_put_off_or_cannot_be_judged(store):
    submitted(store, claimed(store))
    said(store, claimed(store), JudgeAnswer(kind="deferred", reason="hard"))
    item = claimed(store)
    assert item.query_id == "q3"
    done = said(store, item, JudgeAnswer(kind="cannot", reason="gone"))
    assert done.event.kind == "cannot"
    assert (claimed(store).query_id, claimed(store).was_put_off) == ("q1", True)
    assert compared(store, "top", "ann", K).n_comparisons == 1  # what was said before stands
    compare_rest(store)
    assert settled(store) == {query: BEST[query] for query in ("q1", "q2")}


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        (JudgeAnswer(kind="judged", grade=1), "campaign top: its documents are compared, not graded"),
        (preferred("d9"), r"documents 'd\d' and 'd\d' of query 'q1' are compared, got 'd9', expected one of them"),
        (preferred("D1"), "expected one of them"),
        (stated("discarded", document="d9"), "document 'd9' is not in the query"),
        (stated("undone"), "there is no answer to take back"),
        (stated("guessed"), "compared, discarded or undone, got 'guessed'"),
    ],
)
def test_what_is_no_answer_is_refused_and_changes_nothing(store, wrong, problem):
    item, before = claimed(store), store.last_seq("top")
    with pytest.raises(InputError, match=problem):
        said(store, item, wrong)
    assert store.last_seq("top") == before
    assert submitted(store, item).event.kind == "preferred"
    with pytest.raises(InputError, match="no item was given out under the token 'none'"):
        assignments.desk_of(store, "top").submit("none", preferred("d1"))


def test_items_that_are_graded_are_not_compared(store):
    place = PlaceRow(doc_id="d", probability=1.0)
    unit = UnitRow(number=1, block=1, query_id="q", level=None, cost=1.0, places=(place,))
    store.create(CampaignRow(name="grades", config={}), SampleRow(version=1, digest="x", payload=b""), [unit])
    item = assignments.desk_of(store, "grades").claim("ann")
    with pytest.raises(InputError, match="campaign grades: its items are graded, not compared"):
        assignments.desk_of(store, "grades").submit(item.token, preferred("d"))
    assert assignments.desk_of(store, "grades").submit(item.token, JudgeAnswer(kind="judged", grade=1)).event.grade == 1


def test_a_query_that_is_reopened_goes_on_where_it_ended(store):
    """The one in hand is anybody's again, and what was compared stands."""
    work = Comparing(store, "top", "ann")
    while work.ask().query == "q1":
        last = work.ask()
        work.prefer(better_of(last.claimed))
    in_hand = work.ask()
    assert in_hand.query == "q3"
    work.undo()
    assert store.verify("top") == []
    assert store.waiting("top") == {"free": 1, "leased": 1, "done": 1}
    assert "q1" not in compared(store, "top", "ann", K).truths
    question = work.ask()
    assert (question.query, question.first, question.second) == (last.query, last.first, last.second)
    assert claimed(store, "bob").query_id == "q3"
    work.prefer(better_of(question.claimed))
    assert list(compared(store, "top", "ann", K).truths["q1"].top) == BEST["q1"]
    dead = assignments.desk_of(store, "top").submit(in_hand.claimed.token, preferred(in_hand.first))
    assert dead.event.kind == "late"


def test_what_was_retracted_begins_anew(store):
    """Unlike what was reopened: nothing of the comparisons before counts."""
    compare_rest(store)
    seq = next(event.seq for event in store.events("top") if event.kind == "judged" and event.unit == 1)
    store.retract("top", seq, "boss", "careless")
    before = compared(store, "top", "ann", K)
    assert set(before.truths) == {"q2", "q3"}
    assert all(pair.query == "q3" for pair in before.comparisons)
    assert claimed(store).query_id == "q1"
    with pytest.raises(StateError, match="is not valid any more"):
        store.reopen("top", seq, "ann")
    other = next(event.seq for event in store.events("top") if event.kind == "judged" and event.unit == 3)
    with pytest.raises(InputError, match="retracting another judge's answer needs a reason"):
        store.reopen("top", other, "bob")
