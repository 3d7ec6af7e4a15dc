"""The calculator of page one against the package's own plans, and what it says to odd input."""

import json
from pathlib import Path

import pytest
from _ext import calculator
from patience import PATIENCE_S

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning")]
FIXTURES = json.loads(Path(__file__).with_name("calculator-fixtures.json").read_text("utf-8"))["fixtures"]
CLOSE, EXACT = 0.01, 1e-9
MOST_BYTES = 80_000


@pytest.fixture(scope="module")
def page(site, browser):
    page = browser.new_page()
    page.set_default_timeout(1000 * PATIENCE_S)
    page.problems = []
    page.on("pageerror", lambda problem: page.problems.append(str(problem)))
    page.goto((site / "dev" / "index.html").as_uri())
    yield page
    assert page.problems == []


def test_the_page_says_what_the_package_plans(page):
    assert len(FIXTURES) == 200
    asked = "cases => cases.map(c => [activeevalCalculator.sampled(c).half, activeevalCalculator.random(c).half])"
    far = []
    for case, (half, random) in zip(FIXTURES, page.evaluate(asked, FIXTURES), strict=True):
        off = (abs(half / case["half_width"] - 1), abs(random / case["random"] - 1))
        far += [(case, off)] if max(off) > CLOSE else []
    assert far == []


@pytest.mark.parametrize(
    "case", FIXTURES[::20], ids=lambda case: f"{case['queries']}-{case['measure']}-{case['quality']}"
)
def test_fixtures_are_what_the_package_plans_today(case):
    planned = calculator.halves(case)
    for name in ("half_width", "random", "n_open"):
        assert planned[name] == pytest.approx(case[name], rel=1e-6)


def test_what_random_queries_need_reaches_the_same(page):
    (same, half) = page.evaluate(
        """() => {
            const asked = {queries: 600, budget: 900, overhead: 1, measure: "DCG@10", question: "run", quality: "good"};
            const half = activeevalCalculator.sampled(asked).half;
            const budget = activeevalCalculator.needed(asked, half);
            return [activeevalCalculator.random({...asked, budget}).half, half];
        }"""
    )
    assert same == pytest.approx(half, rel=1e-6)


@pytest.mark.parametrize(
    ("field", "text", "says"),
    [
        ("queries", "", "Queries: from 30"),
        ("queries", "many", "Queries: from 30"),
        ("queries", "3", "Queries: from 30"),
        ("budget", "0", "Budget: a number"),
        ("budget", "-5", "Budget: a number"),
        ("budget", "5", "Too few queries would be judged"),
        ("budget", "1e9", "That pays for everything"),
        ("overhead", "11", "Overhead: from 0 to 10"),
        ("budget", "1000", "± "),
    ],
)
def test_odd_input_gets_a_sentence_and_no_number(page, field, text, says):
    page.reload()
    page.fill(f"#c-{field}", text)
    answer = page.locator("#calculator output").inner_text()
    assert says in answer
    assert ("±" in answer) == (says == "± ")


def test_a_slider_moves_its_number(page):
    page.reload()
    before = page.locator("#calculator output").inner_text()
    page.locator("input[data-of=queries]").focus()
    for _ in range(30):
        page.keyboard.press("ArrowRight")
    assert float(page.input_value("#c-queries")) > 900
    assert page.locator("#calculator output").inner_text() != before


def test_more_money_never_hurts(page):
    asked = """() => [100, 200, 400, 800, 1600, 3200].map(budget => activeevalCalculator.sampled(
        {queries: 500, budget, overhead: 1, measure: "nDCG@10", question: "difference", quality: "weak"}).half)"""
    halves = [half for half in page.evaluate(asked) if half]
    assert len(halves) >= 4
    assert halves == sorted(halves, reverse=True)


def test_it_is_light():
    folder = Path(__file__).resolve().parents[2] / "docs"
    files = [folder / "calculator.html", *(folder / "_static").glob("calculator*")]
    assert len(files) == 4
    assert sum(file.stat().st_size for file in files) < MOST_BYTES
