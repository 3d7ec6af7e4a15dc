"""The built site in Chromium: every link, what page one weighs, wide and narrow, light and dark, as axe sees it."""

import json
from importlib.resources import files
from itertools import product
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from patience import PATIENCE_S

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning")]
MOST_BYTES = 300_000
KINDS = (
    "index", "a-week", "gate", "levels", "cautions", "faq", "choose", "words", "commands/sample", "api/verbs",
    "evidence-index", "evidence/coverage", "notebooks/01_quickstart", "search",
)  # fmt: skip
"""A page of each kind."""
LOOKS = tuple(product((390, 1280), ("light", "dark")))
"""Widths and colour schemes."""
CASES = [(KINDS[0], *look) for look in LOOKS] + [(kind, *LOOKS[-(k % 2)]) for k, kind in enumerate(KINDS[1:])]
"""The first page in every look; the others alternate, narrow and light or wide and dark: one style serves all pages."""
ASK = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}


def opened(browser, address, width=1280, scheme="light"):
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.set_default_timeout(1000 * PATIENCE_S)
    page.problems = []
    page.on("pageerror", lambda problem: page.problems.append(str(problem)))
    page.asked = []
    page.on("requestfinished", lambda request: page.asked.append(request))
    page.goto(address)
    page.wait_for_load_state("load")
    return page


def test_every_link_of_both_versions_leads_somewhere(site):
    from _ext.links import crawl

    crawled = crawl(site)
    assert crawled.n_pages > 100
    assert crawled.n_links > 5000
    assert crawled.broken == []
    assert crawled.elsewhere == []


@pytest.mark.parametrize("harm", ["no such page", "no such anchor", "no such picture", "from elsewhere"])
def test_a_broken_link_is_noticed(tmp_path, harm):
    """Catches a crawler that sees nothing."""
    from _ext.links import crawl

    harmed = {
        "no such page": '<a href="gone.html">x</a>',
        "no such anchor": '<a href="other.html#gone">x</a>',
        "no such picture": '<img src="gone.png" alt="">',
        "from elsewhere": '<script src="https://example.org/x.js"></script>',
    }[harm]
    (tmp_path / "index.html").write_text(f'<a href="other.html#here">x</a><a href="https://example.org">y</a>{harmed}')
    (tmp_path / "other.html").write_text('<p id="here">')
    crawled = crawl(tmp_path)
    assert (crawled.n_pages, len(crawled.broken) + len(crawled.elsewhere)) == (2, 1)


def test_page_one_is_light_and_asks_nothing_of_another_place(site, browser):
    page = opened(browser, (site / "dev" / "index.html").as_uri())
    sizes = {request.url: len(request.response().body()) for request in page.asked}
    assert len(sizes) > 5
    assert {urlsplit(address).scheme for address in sizes} == {"file"}
    assert sum(sizes.values()) <= MOST_BYTES, sizes
    assert page.problems == []


def test_a_choice_of_a_version_leads_to_the_same_page_or_to_the_first(site, browser):
    page = opened(browser, (site / "dev" / "commands" / "sample.html").as_uri())
    assert page.locator("#versions option").all_inner_texts() == ["stable", "dev"]
    page.select_option("#versions", "stable")
    page.wait_for_url("**/stable/commands/sample.html")
    assert page.locator("#versions").input_value() == "stable"
    page.evaluate("ACTIVEEVAL_VERSIONS.dev = ['index']")
    page.select_option("#versions", "dev")
    page.wait_for_url("**/dev/index.html")


def test_the_first_page_of_the_site_leads_to_the_stable_version(site):
    assert 'url=stable/index.html"' in (site / "index.html").read_text("utf-8")


@pytest.fixture(scope="module")
def axe():
    """Return axe's source."""
    module = pytest.importorskip("axe_playwright_python")
    return files(module).joinpath("axe.min.js").read_text("utf-8")


@pytest.mark.parametrize(("kind", "width", "scheme"), CASES)
def test_a_page_of_each_kind_fits_and_axe_has_nothing_to_say(site, browser, axe, kind, width, scheme):
    page = opened(browser, (site / "dev" / f"{kind}.html").as_uri(), width, scheme)
    assert page.problems == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.add_script_tag(content=axe)
    asked = page.evaluate(f"axe.run(document, {json.dumps(ASK)})")
    assert len(asked["passes"]) > 8
    assert [(rule["id"], [node["html"][:160] for node in rule["nodes"][:3]]) for rule in asked["violations"]] == []
    page.close()


def test_every_page_opens_without_an_error(site, browser):
    pages = sorted((site / "dev").rglob("*.html"))
    page = opened(browser, (site / "dev" / "index.html").as_uri(), 390)
    too_wide = []
    for path in pages:
        page.goto(Path(path).as_uri())
        if page.evaluate("document.documentElement.scrollWidth") > 390:
            too_wide.append(path.relative_to(site / "dev").as_posix())
    assert page.problems == []
    assert too_wide == []
