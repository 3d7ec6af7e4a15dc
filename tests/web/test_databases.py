"""The page on SQLite and on PostgreSQL: one judge's way through it, and what the store says in the end."""

from concurrent.futures import ThreadPoolExecutor

from campaign_cases import Case
from web.conftest import Served, answer, item_of, texts_for

from activeeval.campaigns.create_and_grow import create
from activeeval.campaigns.store import open_store
from activeeval.core.campaign import Rules

PART = {"HX-Request": "true"}


def judged(site, name, n):
    """Judge some items as a browser with scripts does; return the browser and what was shown."""
    browser, shown = site.at(name), []
    page = browser.get("/judge")
    for _ in range(n):
        shown.append(item_of(page)[:2])
        data = {"token": item_of(page)[2], "grade": 1, "active_ms": 0, "idle_ms": 0, "hidden_ms": 0}
        page = browser.post("/judge/answer", data=data, headers=PART)
        assert page.status_code == 200
    return browser, shown


def test_judges_at_once_never_have_the_same_item_and_all_of_it_is_stored(made_url):
    with open_store(made_url) as store:
        sample = Case().sample
        create(store, "week", sample, Rules(), texts=texts_for(sample.pairs))
        site = Served(store, "week")
        with ThreadPoolExecutor(3) as threads:
            shown = threads.map(lambda k: judged(site, f"judge{k}", 3)[1], range(3))
        pairs = [pair for of_judge in shown for pair in of_judge]
        assert len(pairs) == len(set(pairs)) == 9
        browser, (first,) = judged(site, "zoe", 1)
        (event,) = store.answers_of("week", "zoe", 9)
        assert (event.query_id, event.doc_id, event.active_ms) == (*first, 0)
        assert browser.post(f"/judge/answers/{event.seq}", data={"grade": "2"}).status_code == 200
        assert [each.grade for each in store.answers_of("week", "zoe", 9)] == [2]
        assert "Nothing is left" not in answer(browser, browser.get("/judge")).text
        assert site.at("lead", "lead").get("/lead").status_code == 200
        site.desk.reading.wait()
        assert store.verify("week") == []
