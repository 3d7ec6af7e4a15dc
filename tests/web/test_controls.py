"""Controls: known and repeated items among the others, which nobody can tell and which never count."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

import pytest
from web.conftest import Site, answer, item_of

from activeeval.errors import InputError
from activeeval.store.claiming import hashed
from activeeval.tasks.campaigns.at_pairs import page_desk
from activeeval.tasks.campaigns.controls import Controls, controlled
from activeeval.tasks.campaigns.live import Left
from activeeval.tasks.campaigns.state import state_of
from activeeval.tasks.campaigns.status import status
from activeeval.tasks.campaigns.training import read_known
from activeeval.web.app import make_app

PART = {"HX-Request": "true"}


@pytest.fixture
def known(tmp_path):
    rows = [f"q{k},d{k},what is q{k}?,Title of d{k},Some text.,{k % 3}" for k in range(900, 906)]
    path = tmp_path / "known.csv"
    path.write_text("\n".join(["query_id,doc_id,query,title,text,grade", *rows]))
    return read_known(str(path), 2, None)


def controlled_site(rate=0.2, known=(), **case):
    made = Site(**case)
    made.desk = page_desk(made.store, "week", {2: "Spot on"}, Controls(rate=rate, known=known))
    made.served = replace(made.served, desk=made.desk)
    made.app = make_app(made.served)
    return made


def judged_through(site, browser, says=lambda site, doc: 1, **fields):
    """Answer until nothing is left; return each page."""
    pages = [browser.get("/judge")]
    while "data-doc-id" in pages[-1].text:
        grade = says(site, item_of(pages[-1])[1])
        token = item_of(pages[-1])[2]
        form = {"token": token, "grade": grade, **fields}
        pages.append(browser.post("/judge/answer", data=form, headers=PART))
        assert pages[-1].status_code == 200
        site.desk.reading.wait()
    return pages


def shape_of(page):
    """Return a page without what is the item's own, the answers before it and numbers."""
    text = re.sub(r"(?s)<section class=\"recent\".*?</section>", "", page.text)
    text = re.sub(r'token" value="[^"]*"|"token": "[^"]*"|/judge/answers/\d+', "", text)
    return re.sub(r"[qd]?\d+|Title of|you take.*?<", "", text)


@pytest.mark.parametrize("is_known", [True, False])
def test_nobody_can_tell_a_control(known, is_known):
    site = controlled_site(known=known if is_known else ())
    pages = judged_through(site, site.at())
    events = site.store.events("week")
    posed = {event.key for event in events if event.kind == "posed"}
    assert len(posed) >= 5
    assert {event.body["what"] for event in events if event.kind == "posed"} >= {"known" if is_known else "repeated"}
    by_kind = {"posed": set(), "shown": set()}
    kinds = {event.key: event.kind for event in events if event.kind in by_kind}
    for page in pages[1:-1]:
        by_kind[kinds["shown:" + hashed(item_of(page)[2])]].add(shape_of(page))
    assert by_kind["posed"] <= by_kind["shown"]
    numbers = [
        re.search(r"(\d+) items? left(?: in this block, (\d+) in all)?", page.text).groups() for page in pages[:-8]
    ]
    left = [int(in_all or alone) for alone, in_all in numbers]
    assert {before - after for before, after in pairwise(left)} <= {1, 2, 3}
    text = "\n".join(page.text for page in pages).lower()
    assert not any(word in text for word in ("control", "posed", "expected", "repeated"))
    assert site.store.verify("week") == []


def test_what_is_said_of_controls_never_counts_and_is_told_of_each_judge(known):
    plain, mixed = Site(), controlled_site(known=known)
    grade = lambda site, doc: 1 if doc.startswith("d9") else site.case.grade(*site.by_doc[doc])  # noqa: E731
    for site in (plain, mixed):
        site.by_doc = {doc: (query, doc) for query, doc in site.case.sample.pairs}
        judged_through(site, site.at(), grade)
    states = [state_of(site.store, "week") for site in (plain, mixed)]
    assert [status(each, plain.store).progress.judged for each in states] == [48, 48]
    labels = [sorted((e.query_id, e.doc_id, e.grade) for e in each.state.standing) for each in states]
    assert labels[0] == labels[1]
    rows = {row.what: row for row in controlled(states[1].state.checks)}
    assert (rows["known"].share.right, rows["known"].share.n) == (2, 6)
    assert 0 < rows["known"].share.low < 1 / 3 < rows["known"].share.high < 1
    assert rows["repeated"].share.right == rows["repeated"].share.n > 0
    lead = mixed.at("zoe", "lead").get("/lead").text
    assert str(rows["known"].share) in lead
    assert mixed.store.verify("week") == []
    mixed.store.rebuild("week")


def test_a_control_is_reloaded_corrected_put_off_and_said_to_be_beyond_judging(known):
    site = controlled_site(rate=0.5, known=known)
    browser = site.at()
    page, n = browser.get("/judge"), 0
    says = ({"grade": "2"}, {"cannot": "1", "reason": "blank"}, {"later": "1"})
    while n < len(says):
        query, doc, token = item_of(page)
        if not doc.startswith("d90"):
            page = answer(browser, page)
            continue
        page = browser.get("/judge")
        assert item_of(page)[:2] == (query, doc)
        assert item_of(page)[2] != token
        assert browser.post("/judge/renew", data={"token": item_of(page)[2]}).status_code == 204
        assert browser.get(f"/judge/document/{token}").text == "Some text."
        form = {"token": token, **says[n]}
        kinds = ("judged", "cannot", "later")
        page = browser.post("/judge/answer", data=form)
        assert page.url.query == f"said={kinds[n]}".encode()
        assert browser.post("/judge/answer", data=form).status_code == 200
        n += 1
    seq = next(event.seq for event in site.store.events("week") if event.kind == "checked")
    assert browser.get(f"/judge/answers/{seq}").status_code == 200
    browser.post(f"/judge/answers/{seq}", data={"grade": "0"})
    (row,) = controlled(state_of(site.store, "week").state.checks)
    assert (row.share.n, row.n_skipped) == (1, 2)
    assert site.store.verify("week") == []


def test_of_every_so_many_one_is_a_control():
    controls = Controls(rate=0.05, secret="s")
    due = [n for n in range(2000) if controls.is_due("ann", n)]
    assert len(due) == 100
    assert due != [n for n in range(2000) if controls.is_due("bob", n)]
    left = [controls.left("ann", n, Left(in_block=5, in_all=100 - n, blocks=1)).in_all for n in range(20)]
    assert all(0 <= before - after <= 2 for before, after in pairwise(left))


@pytest.mark.parametrize("rate", [0.0, 0.6, -1.0])
def test_a_rate_that_is_none_is_refused(rate):
    with pytest.raises(InputError, match="more than 0 % and at most 50 %"):
        Controls(rate=rate)


def test_known_items_without_ids_are_refused(tmp_path):
    path = tmp_path / "known.csv"
    path.write_text("query,grade\njaguar,1\n")
    with pytest.raises(InputError, match="needs query_id and doc_id"):
        Controls(rate=0.1, known=read_known(str(path), 2))
