"""A judge at the page, without scripts: an item, its grades by name, what was answered before."""

import re

from web.conftest import Site, answer, item_of, says, to_the_end

from activeeval.inputs.texts import texts_of

PART = {"HX-Request": "true"}


def test_a_link_opens_the_page_in_one_redirect(site):
    browser = site.at()
    page = browser.get("/judge")
    assert page.history == []
    assert re.findall(r'<button name="grade" value="(\d)"', page.text) == ["0", "1", "2"]
    assert "Spot on" in page.text
    query, doc, _ = item_of(page)
    says(page, 200, f"what is {query}?", f"Title of {doc}")
    assert page.text.count("<h1") == 1


def test_an_answer_is_stored_and_the_next_item_comes(site):
    browser = site.at()
    page = browser.get("/judge")
    query, doc, _ = item_of(page)
    following = answer(browser, page, 2, note="a note")
    (event,) = site.judged
    assert (event.judge, event.query_id, event.doc_id, event.grade, event.note) == ("ann", query, doc, 2, "a note")
    assert event.body["guidelines"] == site.served.guidelines.version
    assert item_of(following)[:2] != (query, doc)
    assert "Saved: Spot on." in following.text


def test_a_part_of_the_page_is_taken_in_one_step(site):
    browser = site.at()
    page = browser.get("/judge")
    part = browser.post("/judge/answer", data={"token": item_of(page)[2], "grade": 1}, headers=PART)
    assert part.history == []
    assert part.text.lstrip().startswith('<div id="work"')
    assert item_of(part) == item_of(part.text)
    assert [event.kind for event in site.store.events("week")[-2:]] == ["judged", "shown"]


def test_the_same_answer_twice_is_one_judgment_and_another_says_what_is_stored(site):
    browser = site.at()
    page = browser.get("/judge")
    first, second = answer(browser, page, 1), answer(browser, page, 1)
    other = answer(browser, page, 2)
    assert (first.status_code, second.status_code, other.status_code) == (200, 200, 409)
    assert item_of(first)[:2] == item_of(second)[:2]
    assert [event.grade for event in site.judged] == [1]


def test_items_come_query_by_query_within_a_block(site):
    *items, end = to_the_end(site.at())
    blocks = {(u.query_id, p.doc_id): u.block for u in site.store.units("week") for p in u.places}
    queries = [(blocks[item_of(page)[:2]], item_of(page)[0]) for page in items]
    runs = [each for k, each in enumerate(queries) if not k or queries[k - 1] != each]
    assert len(runs) == len(set(queries)) < len(queries)
    assert queries == sorted(queries, key=lambda each: each[0])
    assert "Nothing is left" in end.text


def test_later_and_cannot(site):
    browser = site.at()
    page = browser.get("/judge")
    put_off = item_of(page)[:2]
    page = browser.post("/judge/answer", data={"token": item_of(page)[2], "later": "1"})
    assert item_of(page)[:2] != put_off
    page = browser.post("/judge/answer", data={"token": item_of(page)[2], "cannot": "1", "reason": " a login page "})
    last = [(event.kind, event.reason) for event in site.events("deferred", "cannot")]
    assert last == [("deferred", ""), ("cannot", "a login page")]
    refused = browser.post("/judge/answer", data={"token": item_of(page)[2], "cannot": "1", "reason": " "})
    assert refused.status_code == 422


def test_back_any_number_of_times_each_answer_superseded(site):
    browser = site.at()
    page = browser.get("/judge")
    for grade in (0, 1, 2):
        page = answer(browser, page, grade)
    path, changed = re.search(r'href="(/judge/answers/\d+)" data-key="u"', page.text)[1], []
    while path:
        earlier = browser.get(path)
        changed.append(re.search(r'value="(\d)"[^>]*aria-pressed="true"', earlier.text, re.S)[1])
        assert browser.post(path, data={"grade": "0", "note": "again"}).status_code == 200
        back = re.search(r'href="(/judge/answers/\d+)" data-key="u"', earlier.text)
        path = back and back[1]
    assert changed == ["2", "1", "0"]
    standing = site.store.answers_of("week", "ann", 10)
    assert [event.grade for event in standing] == [0, 0, 0]
    assert sorted(event.supersedes for event in standing) == sorted(event.seq for event in site.judged[:3])
    assert site.store.verify("week") == []


def test_clocks_that_ran_longer_than_the_item_was_shown_are_no_time(site):
    browser = site.at()
    page = browser.get("/judge")
    page = answer(browser, page, 1, active_ms=900, idle_ms=0, hidden_ms=50, input="key")
    answer(browser, page, 1, active_ms=10**9, idle_ms=0, hidden_ms=0, input="mouse")
    true, untrue = site.judged
    assert (true.active_ms, true.idle_ms, true.body["hidden_ms"], true.body["input"]) == (900, 0, 50, "key")
    assert (untrue.active_ms, untrue.idle_ms) == (None, None)


def test_an_answer_after_the_item_went_to_somebody_else_is_kept_and_said_to_be_late(site):
    ann, bob = site.at("ann"), site.at("bob")
    page = ann.get("/judge")
    site.case.clock.now += 10_000 * 1_000_000
    while item_of(taken := bob.get("/judge"))[:2] != item_of(page)[:2]:
        answer(bob, taken)
    late = answer(ann, page, 2)
    assert "does not count" in late.text
    assert [event.kind for event in site.events("judged", "late") if event.judge == "ann"] == ["late"]


def test_a_document_that_is_a_page_is_framed_by_itself():
    html = "<!doctype html><script>alert(1)</script><p>Hello"
    framed = Site(texts=lambda pairs: {"text": [html] * len(pairs)})
    browser = framed.at()
    page = browser.get("/judge")
    assert "alert(1)" not in page.text
    path = re.search(r'<iframe sandbox="" src="([^"]+)"', page.text)[1]
    assert framed.browser().get(path).status_code == 401
    document = browser.get(path)
    assert document.text == html
    assert document.headers["content-security-policy"].startswith("sandbox; default-src 'none'")


def test_without_texts_ids_are_shown_and_the_page_says_so():
    page = Site(texts=None, guidelines=None).at().get("/judge")
    says(page, 200, *item_of(page)[:2], "no texts")


def test_texts_are_escaped():
    payload = """<script>alert(1)</script>"><img src=x onerror=alert(1)> {{ 7 * 7 }}"""
    names = ("query", "title", "text", "url")
    browser = Site(texts=lambda pairs: {name: [payload] * len(pairs) for name in names}).at()
    page = browser.get("/judge")
    page = browser.post("/judge/answer", data={"token": item_of(page)[2], "grade": 1, "note": payload})
    for text in (page.text, browser.get("/judge/answers").text):
        assert "<script>alert" not in text
        assert "<img src=x" not in text
        assert "{{ 7 * 7 }}" in text


def test_what_the_person_needed_stands_below_the_query(tmp_path):
    path = tmp_path / "queries.csv"
    path.write_text('id,text,need\nq0,jaguar,"The car, not the cat."\n')

    def texts(pairs):
        columns, _ = texts_of(pairs, "", queries=str(path))
        assert set(columns["query"]) == {"jaguar", ""}
        return columns

    site = Site(texts=texts)
    browser = site.at()
    page = browser.get("/judge")
    while item_of(page)[0] != "q0":
        assert "What they needed" not in page.text
        page = answer(browser, page)
    assert "The car, not the cat." in page.text
