"""Every page as axe sees it: WCAG 2.2 AA with the size of targets, light, dark and forced colours, wide and narrow."""

import json
from importlib.resources import files

import pytest
from web.live_sites import Live

from activeeval.campaigns.store import JudgeAnswer

axe = pytest.importorskip("axe_playwright_python")
SOURCE = files(axe).joinpath("axe.min.js").read_text("utf-8")
ASK = {
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    "rules": {"target-size": {"enabled": True}},
}
ALL = (
    *("/judge", "/judge/answers", "answer", "cannot", "refused", "/lead", "/lead/disagreements", "/lead/people"),
    *("/lead/log", "/lead/texts", "/lead/texts?missing=true", "text", "/sign-in"),
)


@pytest.fixture(scope="module")
def live():
    """Two judges an item, one of whom differs wherever the other says 0."""
    site = Live(judges_per_item=2, policy="median")

    def says(judge, item):
        grade = site.case.grade(item.query_id, item.doc_id)
        return JudgeAnswer(kind="judged", grade=2 if judge == "bob" and grade == 0 else grade, body={"note": "a note"})

    site.case.judge("ann", "bob", says=says, upto=40)
    yield site
    site.stop()


def violations(page):
    page.add_script_tag(content=SOURCE)
    asked = page.evaluate(f"axe.run(document, {json.dumps(ASK)})")
    assert len(asked["passes"]) > 10
    return [(rule["id"], [node["html"][:120] for node in rule["nodes"][:3]]) for rule in asked["violations"]]


def go(site, page, state):
    if state.startswith("/"):
        page.goto(site.served.door.url + state)
    elif state == "answer":
        page.goto(site.served.door.url + "/judge/answers")
        page.locator("tbody a").first.click()
    elif state == "cannot":
        page.goto(site.served.door.url + "/judge")
        for key in "nc?":
            page.keyboard.press(key)
            page.keyboard.press("Escape")
    elif state == "text":
        page.goto(site.served.door.url + "/lead/texts")
        page.locator("tbody a").first.click()
    elif state == "refused":
        page.goto(site.served.door.url + "/judge/answers/999999")


@pytest.mark.slow
@pytest.mark.parametrize(
    "look",
    [
        {"color_scheme": "light", "viewport": {"width": 1280, "height": 800}},
        {"color_scheme": "dark", "viewport": {"width": 390, "height": 844}},
        {"forced_colors": "active", "viewport": {"width": 320, "height": 640}},
    ],
    ids=["light", "dark and narrow", "forced colours"],
)
def test_nothing_stands_in_the_way_of_anybody(chromium, live, look):
    page = live.opened(chromium, role="lead", bypass_csp=True, **look)
    wrong = {}
    for state in ALL:
        go(live, page, state)
        wrong[state] = violations(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= look["viewport"]["width"], state
    assert {state: rules for state, rules in wrong.items() if rules} == {}
