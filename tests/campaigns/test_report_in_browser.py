"""The report of a campaign as a browser shows it: the answer, a picture and what is next before anybody scrolls."""

import html
import json
import re
import shutil
import subprocess

import pytest
from databases import missing
from patience import PATIENCE_S

CREATE = (
    *("campaign", "create", "week", "--run", "a.run", "--versus-run", "b.run", "--max-grade", 3),
    *("--measure", "DCG@5", "--measure", "P@5", "--budget", 40, "--seed", 1),
)
QUIETLY = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)
ASK = """
<script>
const bottom = (what) => Math.max(...[...document.querySelectorAll(what)].map(e => e.getBoundingClientRect().bottom));
const places = {headline: bottom("p.headline"), picture: bottom(".columns svg"), next: bottom("p.next")};
document.querySelectorAll("details:not(.all)").forEach(e => { e.open = true; });
const shown = [...document.querySelectorAll("table")].filter(e => e.checkVisibility() && e.tHead);
places.rows = Math.max(...shown.map(e => e.tBodies[0].rows.length));
places.wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
document.body.dataset.places = JSON.stringify(places);
</script>
"""


@pytest.fixture
def page(call, folder):
    """Return the report of a campaign that is half judged, by a page that says where things are."""
    assert call(*CREATE).code == 0
    oracle = ("--oracle", "q.qrels", "--unjudged", "irrelevant")
    assert call("campaign", "judge", "week", "--judge", "ann", *oracle, "--limit", 25).code == 0
    assert call("campaign", "report", "week").code == 0
    text = (folder / "week.html").read_text(encoding="utf-8")
    path = folder / "asked.html"
    path.write_text(text.replace("</body>", f"{ASK}</body>"), encoding="utf-8")
    return path


def places_in(page, width, height):
    """Return where a browser's window shows things, from its top in pixels."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        missing("chromium", "no browser is installed")
    size, profile = f"--window-size={width},{height}", f"--user-data-dir={page.parent / 'profile'}"
    command = [browser, *QUIETLY, profile, size, "--dump-dom", page.as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=True).stdout
    return json.loads(html.unescape(re.search(r'data-places="([^"]*)"', shown)[1]))


@pytest.mark.slow
def test_answer_picture_and_what_is_next_stand_on_the_first_screen(page):
    places = places_in(page, 1280, 800)
    assert 0 < places["headline"] < places["next"] < 800
    assert 0 < places["picture"] < 800
    assert places["rows"] <= 10
    assert places["wide"] == 0
    # a phone scrolls tables and not the page
    places = places_in(page, 400, 800)
    assert 0 < places["headline"] < places["next"] < 800
    assert places["wide"] == 0
