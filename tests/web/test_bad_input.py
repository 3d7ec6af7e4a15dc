"""What goes wrong at a page: a sentence that says what to do, and nothing lost."""

import contextlib
import sqlite3

import pytest
from campaign_cases import Clock
from web.conftest import SECOND, Plain, answer, item_of, to_the_end

from activeeval.campaigns.store import PlaceRow, UnitRow, open_store

PART = {"HX-Request": "true"}
TURNED = "שלום \u202eevil\u202c 👩‍👩‍👧 مرحبا"


def unit_of(n_items, **text):
    places = tuple(PlaceRow(doc_id=f"d{k}", probability=1.0, text=text) for k in range(n_items))
    return UnitRow(
        number=1, block=1, query_id="q", level=0.5, cost=1.0, places=places, query_text=(text and TURNED) or ""
    )


def test_a_text_of_five_megabytes_is_shown_whole_and_can_be_answered():
    site = Plain(open_store("sqlite://", create=True), [unit_of(2, title="long", text="word " * 1_000_000)])
    browser = site.at()
    page = browser.get("/judge")
    assert len(page.text) > 5_000_000
    assert len(page.text) - 5_000_000 < 60_000
    assert answer(browser, page).status_code == 200


def test_writing_that_turns_stays_in_its_line():
    site = Plain(open_store("sqlite://", create=True), [unit_of(1, title=TURNED, text=TURNED)])
    text = site.at().get("/judge").text
    assert "\u202e" not in text
    assert "שלום" in text
    assert "👩‍👩‍👧" in text
    assert text.count('dir="auto"') >= 4


def test_one_grade_is_one_button():
    site = Plain(open_store("sqlite://", create=True), max_grade=0)
    browser = site.at()
    page = browser.get("/judge")
    assert page.text.count('name="grade"') == 1
    assert answer(browser, page, 0).status_code == 200
    assert answer(browser, browser.get("/judge"), 1).status_code == 422


def test_a_top_up_in_the_middle_takes_nothing_from_whoever_judges(site):
    ann, lead = site.at(), site.at("zoe", "lead")
    page = ann.get("/judge")
    assert lead.post("/lead/top-up", data={"budget": "10"}).status_code == 200
    assert answer(ann, page).status_code == 200
    assert len(site.judged) == 1
    assert site.store.verify("week") == []


def test_clocks_that_run_backwards_lose_no_answer(site):
    ann = site.at()
    page = ann.get("/judge")
    site.case.clock.now -= 3600 * SECOND
    times = {"active_ms": 4000, "idle_ms": 0, "hidden_ms": 0}
    assert answer(ann, page, **times).status_code == 200
    assert answer(ann, ann.get("/judge"), active_ms=-5, idle_ms="x", hidden_ms=10**14).status_code == 200
    assert [event.active_ms for event in site.judged] == [None, None]
    assert site.store.verify("week") == []


def test_a_grade_that_a_later_round_was_drawn_with_is_corrected_and_the_lead_is_told(site):
    ann, lead = site.at(), site.at("zoe", "lead")
    to_the_end(ann)
    site.case.redraw(60.0)
    assert "a later round was drawn" not in lead.get("/lead").text
    seq = site.judged[0].seq
    ann.post(f"/judge/answers/{seq}", data={"grade": "2"})
    assert "1 grade with which a later round was drawn" in lead.get("/lead").text
    assert answer(ann, ann.get("/judge")).status_code == 200
    assert site.store.verify("week") == []


@pytest.fixture
def on_disk(tmp_path):
    path = tmp_path / "night.activeeval"
    site = Plain(open_store(f"sqlite:///{path}", create=True, clock=Clock(), wait_s=0.2))
    yield site, path
    site.store.close()


def refused(browser, page):
    form = {"token": item_of(page)[2], "grade": 1}
    reply = browser.post("/judge/answer", data=form, headers=PART)
    assert reply.status_code == 503
    assert reply.headers["retry-after"] == "2"
    assert "Nothing was stored" in reply.text
    assert "tried again" in reply.text
    return form


def test_a_store_that_is_locked_or_gone_takes_the_answer_once_it_is_there(on_disk):
    site, path = on_disk
    browser = site.at()
    page = browser.get("/judge")
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        refused(browser, page)
        other.execute("ROLLBACK")
    path.rename(path.with_suffix(".away"))
    form = refused(browser, page)
    path.with_suffix(".away").rename(path)
    assert browser.post("/judge/answer", data=form, headers=PART).status_code == 200
    assert [event.kind for event in site.store.events("night")].count("judged") == 1
