"""Controls: known and repeated items among the others, which nobody can tell and which never count."""

import json
import re

import pytest
from web.conftest import Site, answer, item_of

from activeeval.campaigns.close_and_reopen import close
from activeeval.campaigns.control_items import Controls, controlled
from activeeval.campaigns.pair_desk import page_desk
from activeeval.campaigns.report.collect import summary
from activeeval.campaigns.report.page import campaign_text
from activeeval.campaigns.state import state_of
from activeeval.campaigns.status import status
from activeeval.campaigns.training import read_known
from activeeval.core.errors import InputError

PART = {"HX-Request": "true"}


@pytest.fixture
def known(tmp_path):
    rows = [f"q{k},d{k},what is q{k}?,Title of d{k},Some text.,{k % 3}" for k in range(900, 906)]
    path = tmp_path / "known.csv"
    path.write_text("\n".join(["query_id,doc_id,query,title,text,grade", *rows]))
    return read_known(str(path), 2, None)


def controlled_site(rate=0.2, known=(), **case):
    made = Site(**case)
    made.change(desk=page_desk(made.store, "week", {2: "Spot on"}, Controls(rate=rate, known=known)))
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


def left_on(pages):
    """Return how many items are left in all, as each page says it."""
    pattern = r"(\d+) items? left(?: in this block, (\d+) in all)?|nothing is left"
    return [int(there[2] or there[1] or 0) for there in (re.search(pattern, page.text) for page in pages)]


def kind_of(site, token):
    """Return `control_shown` where a token is that of a control, else `shown`."""
    return site.store.shown("week", token).kind


def shape_of(page):
    """Return a page without what is the item's own, the answers before it and numbers."""
    text = re.sub(r"(?s)<section class=\"recent\".*?</section>", "", page.text)
    text = re.sub(r'token" value="[^"]*"|"token": "[^"]*"|/judge/answers/\d+', "", text)
    return re.sub(r"[qd]?\d+|Title of|you take.*?<", "", text)


@pytest.mark.parametrize("is_known", [True, False])
def test_nobody_can_tell_a_control(known, is_known):
    site = controlled_site(known=known if is_known else ())
    pages = judged_through(site, site.at())
    posed = site.events("control_shown")
    assert len(posed) >= 4
    assert ("known" if is_known else "repeated") in {event.body["what"] for event in posed}
    by_kind = {"control_shown": set(), "shown": set()}
    for page in pages[1:-1]:
        by_kind[kind_of(site, item_of(page)[2])].add(shape_of(page))
    assert by_kind["control_shown"] <= by_kind["shown"]
    assert left_on(pages) == list(range(len(pages) - 1, -1, -1))
    text = "\n".join(page.text for page in pages).lower()
    assert not any(word in text for word in ("control", "control_shown", "expected", "repeated"))
    assert site.store.verify("week") == []


def test_what_is_said_of_controls_never_counts_and_is_told_of_each_judge(known):
    plain, mixed = Site(), controlled_site(rate=0.4, known=known)
    grade = lambda site, doc: 1 if doc.startswith("d9") else site.case.grade(*site.by_doc[doc])  # noqa: E731
    for site in (plain, mixed):
        site.by_doc = {doc: (query, doc) for query, doc in site.case.sample.pairs}
        judged_through(site, site.at(), grade)
    states = [state_of(site.store, "week") for site in (plain, mixed)]
    assert [status(each, plain.store).progress.judged for each in states] == [24, 24]
    labels = [sorted((e.query_id, e.doc_id, e.grade) for e in each.state.standing) for each in states]
    assert labels[0] == labels[1]
    rows = {row.what: row for row in controlled(states[1].state.checks)}
    assert (rows["known"].share.right, rows["known"].share.n) == (2, 6)
    assert 0 < rows["known"].share.low < 1 / 3 < rows["known"].share.high < 1
    assert rows["repeated"].share.right == rows["repeated"].share.n > 0
    lead = mixed.at("zoe", "lead").get("/lead").text
    assert str(rows["known"].share) in lead
    mixed.store.train("week", "ann", "first", 1, 1)
    told = summary(mixed.store, "week")
    html, data = (campaign_text(told, suffix) for suffix in (".html", ".json"))
    cells = ("Training and controls", "began with", "1 of 1", "20.7% to 100.0%", "2 of 6", "9.7% to 70.0%")
    assert [cell for cell in cells if cell not in html] == []
    share = {"right": 2, "n": 6, "low": rows["known"].share.low, "high": rows["known"].share.high}
    assert {"judge": "ann", "what": "known", "share": share, "n_skipped": 0} in json.loads(data)["checked"]["controls"]
    assert "Training and controls" not in campaign_text(summary(plain.store, "week"), ".html")
    assert mixed.store.verify("week") == []
    mixed.store.rebuild("week")


def test_what_is_put_off_comes_again_in_its_turn_whatever_it_is(known):
    """Catches a control that never comes back, or comes at another time than an item that was put off."""
    site = controlled_site(rate=0.3, known=known)
    browser, seen, answers = site.at(), set(), []
    page = browser.get("/judge")
    while "data-doc-id" in page.text:
        item = item_of(page)
        says = {"grade": 1} if item[:2] in seen else {"later": 1}
        seen.add(item[:2])
        after = browser.post("/judge/answer", data={"token": item[2], **says}, headers=PART)
        answers.append((says, left_on([page, after])))
        page = after
        site.desk.reading.wait()
    state = state_of(site.store, "week").state
    orders = {"deferred": {}, "judged": {}}
    for event in state_of(site.store, "week").log:
        kind = {"passed": "deferred", "checked": "judged"}.get(event.kind, event.kind)
        if kind in orders:
            block = event.body.get("block") or state.blocks[event.unit]
            orders[kind].setdefault(block, []).append((event.query_id, event.doc_id))
    assert len(orders["deferred"]) > 1
    repeated = {(event.query_id, event.doc_id) for event in state.checks.answers.values() if event.unit is not None}
    for block, put_off in orders["deferred"].items():
        judged = orders["judged"][block]
        assert [item for item in judged if item not in repeated] == [item for item in put_off if item not in repeated]
    assert not any(state.checks.put_off.values())
    assert {event.kind for event in state.checks.answers.values()} == {"checked"}
    assert {before - after for says, (before, after) in answers if "grade" in says} <= {1, 2}
    assert {after - before for says, (before, after) in answers if "later" in says} <= {-1, 0, 1, 2}
    assert "Nothing is left for you" in page.text
    assert site.store.verify("week") == []


def test_of_every_so_many_one_is_a_control():
    controls = Controls(rate=0.05, secret="s")
    due = [n for n in range(2000) if controls.is_due("ann", n)]
    assert len(due) == 100
    assert due != [n for n in range(2000) if controls.is_due("bob", n)]


@pytest.mark.parametrize(("rate", "n_known"), [(0.05, 0), (0.2, 1), (0.5, 40), (0.5, 0)])
def test_what_is_left_is_what_comes(rate, n_known):
    """Against a judge who goes on, place by place: what is seen falls by one with every answer."""
    for seed in range(30):
        controls, known, spare, real = Controls(rate=rate, secret=str(seed)), n_known, -10, 100
        left = [controls.seen("ann", n := 0, real, known, spare)]
        while real:
            if controls.is_due("ann", n) and (known or spare > 0):
                known, spare = (known - 1, spare) if known else (0, spare - 1)
            else:
                real, spare = real - 1, spare + 1
            n += 1
            left.append(controls.seen("ann", n, real, known, spare))
        assert left == list(range(n, -1, -1))


@pytest.mark.parametrize("rate", [0.0, 0.6, -1.0])
def test_a_rate_that_is_none_is_refused(rate):
    with pytest.raises(InputError, match="more than 0 % and at most 50 %"):
        Controls(rate=rate)


def two_tabs(site, says_first, says_then):
    """Answer an item in one tab and then in another that shows it too; return what each is told, by kind of item."""
    browser, told = site.at(), {}
    page = browser.get("/judge")
    for _ in range(12):
        older, newer = item_of(page)[2], item_of(browser.get("/judge"))[2]
        kind, another = kind_of(site, newer), {"cannot": "1", "reason": "other"}
        answers = ((newer, says_first), (newer, says_first), (newer, another), (older, says_then))
        replies = [browser.post("/judge/renew", data={"token": token}) for token in (older, newer)]
        replies += [browser.post("/judge/answer", data={"token": t, **says}, headers=PART) for t, says in answers]
        replies.append(browser.post("/judge/renew", data={"token": older}))
        said = [re.search(r'(?s)<p id="said".*?</p>', reply.text) for reply in replies]
        told.setdefault(kind, set()).add(tuple((r.status_code, s and s[0]) for r, s in zip(replies, said, strict=True)))
        page = browser.get("/judge")
        site.desk.reading.wait()
    return told


def plain(told):
    """Return what is told without numbers of events, and without the last item, after which none is shown."""
    extra = re.compile(r" Here is the next item[.]|[0-9]+")
    return sorted({tuple((status, extra.sub("", text or "")) for status, text in rows) for rows in told})


@pytest.mark.parametrize("says_then", [{"grade": 2}, {"later": 1}])
def test_two_tabs_are_told_the_same_of_a_control_as_of_an_item(known, says_then):
    site = controlled_site(rate=0.4, known=known)
    told = two_tabs(site, {"grade": 1}, says_then)
    assert plain(told["control_shown"]) == plain(told["shown"])
    assert site.store.verify("week") == []
    assert not [event for event in state_of(site.store, "week").state.late if "item" in event.body]


def test_the_numbers_of_events_are_those_of_items(known):
    """Catches a lease that begins again without an event, and an answer that takes more or fewer of them."""
    site = controlled_site(known=known)
    browser, steps = site.at(), {"control_shown": set(), "shown": set()}
    page, last = browser.get("/judge"), site.store.last_seq("week")
    while "data-doc-id" in page.text:
        token = item_of(page)[2]
        kind = kind_of(site, token)
        browser.post("/judge/renew", data={"token": token})
        page = browser.post("/judge/answer", data={"token": token, "grade": 1}, headers=PART)
        strip = re.findall(r"/judge/answers/(\d+)\"><b>", page.text)
        steps[kind].add((int(strip[0]) - last, site.store.last_seq("week") - last if "data-doc-id" in page.text else 3))
        last = site.store.last_seq("week")
        site.desk.reading.wait()
    assert steps["control_shown"] == steps["shown"] == {(2, 3)}


def test_a_correction_takes_no_control_away(known):
    site = controlled_site(rate=0.5, known=known)
    browser = site.at()
    page = browser.get("/judge")
    while not site.events("checked") or kind_of(site, item_of(page)[2]) == "shown":
        page = answer(browser, page)
    seq = site.events("checked")[0].seq
    assert browser.post(f"/judge/answers/{seq}", data={"grade": "0"}).status_code == 200
    assert item_of(browser.get("/judge"))[:2] == item_of(page)[:2]


def test_a_closed_campaign_gives_out_no_control(known):
    site = controlled_site(rate=0.5, known=known)
    close(site.store, "week")
    for name in ("ann", "bob", "cy", "dora", "eve", "fay"):
        page = site.at(name).get("/judge")
        assert "data-doc-id" not in page.text
        assert "This campaign is closed" in page.text


def test_what_programs_are_told_does_not_move_with_an_answer(known):
    """Byte by byte: before and after each answer, of a control or not, but where a block is complete."""
    site = controlled_site(known=known)
    browser, programs, told = site.at(), [site.program(), site.program("ci")], {"control_shown": set(), "shown": set()}
    page = browser.get("/judge")
    before = [program.get("/api/campaigns/week/status").content for program in programs]
    assert b'"judged":0' in before[0]
    for _ in range(14):
        kind = kind_of(site, item_of(page)[2])
        blocks = len(state_of(site.store, "week").state.complete_at)
        page = answer(browser, page)
        after = [program.get("/api/campaigns/week/status").content for program in programs]
        is_complete = len(state_of(site.store, "week").state.complete_at) > blocks
        told[kind].add((is_complete, after == before))
        before = after
    assert (False, True) in told["control_shown"]
    assert told["control_shown"] | told["shown"] == {(False, True), (True, False)}
    site.desk.reading.wait()
