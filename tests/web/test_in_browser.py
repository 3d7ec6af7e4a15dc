"""The judging page in a real Chromium: keys, clocks, lost connections, hostile texts, narrow windows."""

import sqlite3

import pytest
from patience import PATIENCE_S
from web.live_sites import HTML, PAYLOADS, Live, LiveElsewhere, LivePairs, LiveScale, next_item, press, shown, token_of


def test_a_key_saves_and_shows_the_next_without_leaving_the_page(chromium, live):
    page = live.opened(chromium)
    first = shown(page)
    press(page, "2")
    assert [(event.doc_id, event.grade, event.body["input"]) for event in live.judged] == [(first, 2, "key")]
    assert page.evaluate("document.activeElement.id") == "query"
    assert page.url.endswith("/judge")
    page.get_by_role("button", name="Relevant", exact=False).nth(1).click()
    page.wait_for_selector("#said:has-text('Saved: Relevant')")
    assert live.judged[-1].body["input"] == "mouse"
    assert page.complaints == []


def test_every_badge_does_what_it_says(chromium, live):
    page = live.opened(chromium)
    press(page, "1")
    badges = {key.get_attribute("data-key") for key in page.locator("[data-key]").all()}
    assert badges == {*"012", "l", "u", "p", "n", "c", "g", "?"}
    for key, name in (("g", "#guidelines"), ("?", "#keys"), ("n", ".note"), ("c", ".cannot")):
        was_open = page.locator(name).get_attribute("open")
        page.keyboard.press(key)
        assert page.locator(name).get_attribute("open") != was_open
        page.keyboard.press("Escape")
    page.keyboard.press("p")
    assert page.locator("[data-does=pause]").get_attribute("aria-pressed") == "true"
    press(page, "l")
    page.keyboard.press("u")
    page.wait_for_url("**/judge/answers/*")
    page.keyboard.press("0")
    page.wait_for_url("**/judge?said=corrected")
    assert [event.grade for event in live.judged] == [1, 0]


@pytest.mark.slow
def test_keys_are_letters_in_fields_and_nothing_where_they_are_switched_off(chromium, live):
    page = live.opened(chromium)
    page.keyboard.press("n")
    page.keyboard.type("2 of 2 l c u")
    page.keyboard.press("Escape")
    press(page, "1")
    assert [(event.grade, event.note) for event in live.judged] == [(1, "2 of 2 l c u")]
    page.keyboard.press("?")
    page.locator("#use-keys").uncheck()
    page.locator("#query").focus()
    page.keyboard.press("2")
    page.wait_for_timeout(100)
    assert len(live.judged) == 1
    assert not page.locator(".grade kbd").first.is_visible()


@pytest.mark.slow
def test_a_double_press_is_one_judgment_of_one_item(chromium, live):
    page = live.opened(chromium)
    before, token = shown(page), token_of(page)
    page.locator("button[name=grade][value='1']").dblclick()
    next_item(page, token)
    page.wait_for_timeout(300)
    assert [event.doc_id for event in live.judged] == [before]


@pytest.mark.slow
def test_a_key_at_once_after_the_next_item_came_does_not_leave_the_page(chromium, live):
    page = live.opened(chromium)
    page.evaluate("window.isSame = true")
    at_once = "document.querySelector('button[name=grade][value=\"2\"]').click(); observer.disconnect();"
    page.evaluate(
        f"const observer = new MutationObserver(() => {{ {at_once} }});"
        "observer.observe(document.querySelector('.desk'), {childList: true});"
    )
    first = token_of(page)
    page.keyboard.press("1")
    next_item(page, first)
    page.wait_for_selector("#said:has-text('Saved: Spot on')")
    assert [event.grade for event in live.judged] == [1, 2]
    assert page.evaluate("window.isSame")


def test_without_a_connection_the_answer_is_kept_and_sent_again(chromium, live):
    page = live.opened(chromium)
    before, token = shown(page), token_of(page)
    page.context.set_offline(True)
    page.keyboard.press("2")
    page.wait_for_selector("#trouble:has-text('kept here')")
    assert live.judged == []
    page.keyboard.press("1")
    page.context.set_offline(False)
    next_item(page, token)
    assert [(event.doc_id, event.grade) for event in live.judged] == [(before, 2)]
    assert not page.locator("#trouble").is_visible()


@pytest.mark.slow
@pytest.mark.parametrize("trouble", ["locked", "gone"])
def test_an_answer_that_the_store_cannot_take_is_kept_and_sent_again(chromium, tmp_path, trouble):
    path = tmp_path / "night.activeeval"
    with LiveScale(f"sqlite:///{path}") as site:
        page = site.opened(chromium)
        before, token = shown(page), token_of(page)
        other = sqlite3.connect(path, isolation_level=None)
        if trouble == "locked":
            other.execute("BEGIN IMMEDIATE")
        else:
            path.rename(path.with_suffix(".away"))
        with page.expect_response(lambda response: response.status == 503) as refusal:
            page.locator("button[name=grade][value='27']").click()
        assert refusal.value.headers["retry-after"] == "2"
        page.wait_for_selector("#trouble:has-text('Your answer is kept here')")
        assert token_of(page) == token
        if trouble == "locked":
            other.execute("ROLLBACK")
        else:
            path.with_suffix(".away").rename(path)
        other.close()
        next_item(page, token)
        assert [(event.doc_id, event.grade) for event in site.judged] == [(before, 27)]
        assert not page.locator("#trouble").is_visible()


@pytest.mark.slow
def test_without_scripts_a_judge_goes_through_a_block(chromium, live):
    page = live.opened(chromium, java_script_enabled=False)
    for grade in ("0", "1", "2"):
        page.locator(f"button[name=grade][value='{grade}']").click()
        page.wait_for_load_state()
    assert [event.grade for event in live.judged] == [0, 1, 2]
    page.locator("a", has_text="Back").click()
    page.locator("button[name=grade][value='0']").click()
    page.locator("summary", has_text="judge").click()
    page.locator("#reason").fill("a login page")
    page.get_by_role("button", name="Save the reason").click()
    page.wait_for_load_state()
    assert {event.reason for event in live.store.answers_of("week", "ann", 9)} == {"", "a login page"}


@pytest.mark.slow
@pytest.mark.parametrize("is_html", [False, True])
def test_hostile_texts_run_nothing_and_load_nothing(chromium, is_html):
    payload = "\n".join(PAYLOADS)

    def texts(pairs):
        text = HTML if is_html else payload
        names = {"query": payload, "need": payload, "title": payload, "text": text, "url": "javascript:alert(1)"}
        return {name: [value] * len(pairs) for name, value in names.items()}

    with Live(texts=texts, guidelines=payload + "\n\n![x](http://evil.example/x.png) [y](javascript:alert(1))") as site:
        assert len(PAYLOADS) >= 60
        page = site.opened(chromium, name=PAYLOADS[1])
        page.locator("summary", has_text="Note").click()
        page.locator("#note").fill(payload)
        press(page, "1") if page.locator("#query").focus() is None else None
        page.goto(page.url.split("/judge")[0] + "/judge/answers")
        lead = site.opened(chromium, role="lead")
        lead.goto(f"{site.served.door.url}/lead/texts")
        lead.locator("#find").fill(PAYLOADS[0])
        lead.get_by_role("button", name="Search").click()
        assert lead.locator("tbody tr").count() > 10
        lead.locator("tbody a").first.click()
        assert lead.locator("iframe").count() == is_html
        for seen in (page, lead):
            seen.wait_for_timeout(100)
            assert seen.dialogs == []
            # what a policy blocks is told as a request that failed for it
            here = (site.served.door.url, "data:")
            assert {request.failure for request in seen.requests if not request.url.startswith(here)} <= {"csp"}
        assert [event.note for event in site.judged] == [payload[:4000].strip()]
        assert len(site.store.access("week").rows()) == 4


@pytest.mark.slow
def test_a_link_leads_to_another_site_and_back_to_a_session(chromium, elsewhere):
    with LiveElsewhere(elsewhere) as live:
        page = chromium.new_context().new_page()
        page.set_default_timeout(1000 * PATIENCE_S)
        asked, complaints = [], []
        page.on("request", lambda request: asked.append((request.url, request.is_navigation_request())))
        page.on("console", lambda message: complaints.append(message.text))
        here = live.served.door.url
        page.goto(f"{here}/sign-in")
        page.get_by_role("link", name="Sign in at").click()
        page.wait_for_url(f"{here}/lead")
        assert page.locator("h1").inner_text() == "Overview"
        ((away, goes),) = [(url, goes) for url, goes in asked if not url.startswith((here, "data:"))]
        assert (away.startswith(f"{elsewhere.issuer}/authorize?"), goes, complaints) == (True, True, [])
        page.go_back()
        page.goto(f"{here}/lead")
        assert page.locator("h1").inner_text() == "Overview"


@pytest.mark.slow
def test_pairs_are_compared_by_arrows_and_taken_back(chromium):
    with LivePairs() as pairs:
        page = pairs.opened(chromium)
        left, right = page.locator("button[name=preferred]").all()
        sides = [left.get_attribute("value"), right.get_attribute("value")]
        for key in ("ArrowLeft", "ArrowRight", "ArrowDown", "Shift+ArrowLeft"):
            press(page, key)
        first, second, third, _ = (event.body["preferred"] for event in pairs.preferred)
        assert pairs.preferred[3].body["strength"] == 2
        assert first == sides[0]
        assert second == pairs.preferred[1].body["second"]
        assert third is None
        token = token_of(page)
        page.keyboard.press("u")
        page.wait_for_selector("#said:has-text('Taken back')")
        next_item(page, token)
        assert pairs.preferred[-1].body == {"what": "undone"}


@pytest.mark.slow
def test_above_nine_a_grade_is_two_digits_and_enter(chromium):
    with LiveScale() as scale:
        page = scale.opened(chromium, viewport={"width": 390, "height": 844})
        assert page.locator("button[name=grade]").count() == 30
        token = token_of(page)
        page.keyboard.press("2")
        page.keyboard.press("7")
        assert "Grade 27" in page.locator("#said").inner_text()
        page.keyboard.press("Enter")
        next_item(page, token)
        assert [event.grade for event in scale.judged] == [27]
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.slow
def test_clocks_are_those_of_a_scripted_reader(chromium, live):
    page = live.opened(chromium)
    page.clock.install()
    page.reload()
    page.evaluate("document.addEventListener('htmx:afterSwap', () => { window.begun = performance.now(); })")
    press(page, "0")
    page.clock.pause_at(page.evaluate("Date.now() / 1000") + 1)
    page.evaluate("dispatchEvent(new Event('wheel'))")
    begun = page.evaluate("performance.now() - window.begun")

    def turn(is_hidden):
        page.evaluate(f"Object.defineProperty(document, 'hidden', {{value: {is_hidden}, configurable: true}})")
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")

    page.clock.run_for(20_000)
    page.evaluate("dispatchEvent(new Event('wheel'))")
    page.clock.run_for(75_000)  # a minute of it in use
    turn("true")
    page.clock.run_for(30_000)
    turn("false")
    page.clock.run_for(5_000)
    live.case.clock.now += 140 * 1_000_000
    token = token_of(page)
    page.keyboard.press("1")
    page.clock.resume()
    next_item(page, token)
    event = live.judged[1]
    assert event.active_ms == pytest.approx(begun + 85_000, abs=100)
    assert event.idle_ms == pytest.approx(15_000, abs=100)
    assert event.body["hidden_ms"] == pytest.approx(30_000, abs=100)
