"""A judge who compares two documents at a time: the page, undo by replay, documents in frames of their own."""

import re

import pytest
from campaigns.test_comparing import BEST, SIZES, VALUES, Clock, K, unit_of
from web.conftest import Served

from activeeval.campaigns.control_items import Controls, controlled
from activeeval.campaigns.pair_desk import page_desk
from activeeval.campaigns.store import CampaignRow, SampleRow, open_store
from activeeval.campaigns.top_k_judging import compared
from activeeval.core.judgments.state import State

PART = {"HX-Request": "true"}


class Compares(Served):
    """Three queries of five, one and four documents, of which the two best are looked for."""

    def __init__(self, door=None):
        self.clock = Clock()
        store = open_store("sqlite://", create=True, clock=self.clock)
        units = [unit_of(number, query) for number, query in enumerate(SIZES, start=1)]
        sample = SampleRow(version=1, digest="", payload=b"")
        store.create(CampaignRow(name="top", config={"top_k": K}), sample, units)
        super().__init__(store, "top", door)

    @property
    def preferred(self):
        return self.events("preferred")


@pytest.fixture
def pairs():
    made = Compares()
    yield made
    made.served.desk.reading.wait()


def pair_of(page):
    query, docs = (re.search(f'{name}="([^"]*)"', page.text)[1] for name in ("data-query-id", "data-doc-id"))
    return query, docs.split(" "), re.search(r'name="token" value="([^"]*)"', page.text)[1]


def prefer(browser, page, **fields):
    query, docs, token = pair_of(page)
    best = max(docs, key=lambda doc: VALUES[query, doc])
    return browser.post("/judge/answer", data={"token": token, **(fields or {"preferred": best})})


def test_a_judge_goes_on_until_the_best_are_known(pairs):
    browser = pairs.at()
    page = browser.get("/judge")
    assert re.findall(r'data-key="(Arrow\w+)"', page.text) == ["ArrowLeft", "ArrowRight", "ArrowDown"]
    while "data-doc-id" in page.text:
        page = prefer(browser, page)
    assert "Nothing is left" in page.text
    truths = compared(pairs.store, "top", "ann", K).truths
    assert {query: [doc for _, doc in sorted(truth.ranked)] for query, truth in truths.items()} == BEST
    assert pairs.store.verify("top") == []


def test_a_part_of_the_page_says_how_many_are_left(pairs):
    browser = pairs.at()
    page = browser.get("/judge")
    _, docs, token = pair_of(page)
    part = browser.post("/judge/answer", data={"token": token, "tie": "1"}, headers=PART)
    assert part.text.lstrip().startswith('<div id="work"')
    assert "1 comparison of this query done" in part.text
    assert re.search(r"3 queries left|2 queries left", part.text)
    assert pairs.preferred[0].body["preferred"] is None
    assert {pairs.preferred[0].body[side] for side in ("first", "second")} == set(docs)


def test_undo_goes_back_and_back(pairs):
    browser = pairs.at()
    page = browser.get("/judge")
    seen = [pair_of(page)[1]]
    for _ in range(2):
        page = prefer(browser, page)
        seen.append(pair_of(page)[1])
    for before in (seen[1], seen[0]):
        page = browser.post("/judge/undo")
        assert "Taken back" in page.text
        assert pair_of(page)[1] == before
    assert "nothing to take back" in browser.post("/judge/undo").text


def test_what_was_not_asked_is_refused_and_what_is_anothers_is_not_there(pairs):
    ann, bob = pairs.at(), pairs.at("bob")
    page = ann.get("/judge")
    token = pair_of(page)[2]
    assert ann.post("/judge/answer", data={"token": token, "preferred": "d99"}).status_code == 422
    assert ann.post("/judge/answer", data={"token": token, "grade": "1"}).status_code == 422
    assert bob.post("/judge/answer", data={"token": token, "tie": "1"}).status_code == 404
    assert bob.get(f"/judge/document/{token}/0").status_code == 404
    assert ann.get(f"/judge/document/{token}/99").status_code == 404
    assert ann.get(f"/judge/document/{token}/0").status_code == 200
    assert pairs.preferred == []


def test_much_better_is_kept_with_a_note(pairs):
    browser = pairs.at()
    page = browser.get("/judge")
    _, docs, token = pair_of(page)
    browser.post("/judge/answer", data={"token": token, "much": docs[0], "note": "by far"})
    body = pairs.preferred[0].body
    assert (body["preferred"], body["strength"], body["note"]) == (docs[0], 2, "by far")
    bob = pairs.program("bob")
    item = bob.post("/api/campaigns/top/claim", json={}).json()
    doc = item["text"]["documents"][0]["doc_id"]
    says = {"token": item["token"], "preferred": doc, "strength": 3}
    assert bob.post("/api/campaigns/top/submit", json=says).status_code == 200
    assert pairs.preferred[1].body["strength"] == 3
    assert bob.post("/api/campaigns/top/submit", json={**says, "strength": 9}).status_code == 422


def mix_in(pairs):
    """Have every second pair come again."""
    pairs.change(desk=page_desk(pairs.store, "top", {}, Controls(rate=0.5)))


def control_of(pairs):
    """Go on until a page shows a pair once more; return a browser and the page."""
    mix_in(pairs)
    browser = pairs.at()
    page = browser.get("/judge")
    while pairs.store.shown("top", pair_of(page)[2]).kind != "control_shown":
        page = prefer(browser, page)
    return browser, page


def test_a_pair_that_came_again_is_taken_back_as_any_other(pairs):
    browser, page = control_of(pairs)
    before, n = pair_of(page)[:2], len(pairs.preferred)
    for _ in range(2):
        prefer(browser, page, tie="1")
        page = browser.post("/judge/undo")
        assert page.url.query == b"said=undone"
        assert pair_of(page)[:2] == before
    assert len(pairs.preferred) == n
    assert State.of(pairs.store.events("top")).checks.answers == {}
    assert pairs.store.verify("top") == []


def to_go(page):
    done, low, high = re.search(r"(\d+) comparisons? of this query done, (\d+)(?: to (\d+))? to go", page.text).groups()
    return int(done), int(low), int(high or low)


def test_a_pair_that_came_again_counts_as_any_other_and_its_lease_goes_on(pairs):
    browser, page = control_of(pairs)
    query, _, token = pair_of(page)
    pairs.clock.now += 600 * 1_000_000
    assert browser.post("/judge/renew", data={"token": token}).status_code == 204
    pairs.clock.now += 600 * 1_000_000  # longer than a lease, and no longer than two
    assert pairs.store.verify("top") == []
    before, after = to_go(page), to_go(prefer(browser, page))
    assert after == (before[0] + 1, before[1] - 1, before[2] - 1)
    assert pair_of(browser.get("/judge"))[0] == query


def test_what_is_said_of_the_query_at_a_pair_that_came_again_is_said_of_the_query(pairs):
    browser, page = control_of(pairs)
    query, docs, token = pair_of(page)
    for _ in range(2):
        page = browser.post("/judge/answer", data={"token": token, "later": "1"})
        assert page.url.query == b"said=deferred"
    assert [event.query_id for event in pairs.events("deferred")] == [query]
    while pair_of(page)[0] != query:
        page = prefer(browser, page)
    assert pair_of(page)[1] == docs
    page = prefer(browser, page, discard=docs[0])
    assert page.url.query == b"said=preferred"
    assert pairs.preferred[-1].body == {"what": "discarded", "document": docs[0]}
    while "data-doc-id" in page.text:
        assert pair_of(page)[0] != query or docs[0] not in pair_of(page)[1]
        page = prefer(browser, page)
    assert pairs.store.verify("top") == []


def test_pairs_come_again_with_sides_swapped(pairs):
    mix_in(pairs)
    browser = pairs.at()
    page = browser.get("/judge")
    while "data-doc-id" in page.text:
        assert "swapped" not in page.text
        page = prefer(browser, page)
        assert page.url.query in (b"", b"said=preferred")
    events = pairs.store.events("top")
    posed = [event for event in events if event.kind == "control_shown"]
    assert posed
    before = {(e.body["first"], e.body["second"]) for e in pairs.preferred if e.body["what"] == "compared"}
    assert all(tuple(reversed(event.body["sides"])) in before for event in posed)
    (row,) = controlled(State.of(events).checks)
    assert (row.what, row.share.right, row.share.n) == ("swapped", len(posed), len(posed))
    truths = compared(pairs.store, "top", "ann", K).truths
    assert {query: [doc for _, doc in sorted(truth.ranked)] for query, truth in truths.items()} == BEST
    assert pairs.store.verify("top") == []
