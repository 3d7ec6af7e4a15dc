"""The page on SQLite and on PostgreSQL: one judge's way through it, and what the store says in the end."""

from __future__ import annotations

import threading

from campaign_cases import Case
from starlette.testclient import TestClient
from web.conftest import BASE, answer, come_in, item_of, texts_for

from activeeval.campaigns.create_and_grow import create
from activeeval.campaigns.pair_desk import page_desk
from activeeval.campaigns.store import open_store
from activeeval.core.campaign import Rules
from activeeval.web.app import make_app
from activeeval.web.people import invited
from activeeval.web.settings import ServedCampaign, ServerSettings

PART = {"HX-Request": "true"}


def judged(served, app, name, n):
    """Judge so many items as a browser with scripts does; return what was shown."""
    browser = TestClient(app, base_url=BASE, headers={"Origin": BASE})
    page, shown = come_in(browser, invited(served, "judge", name)), []
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
        served = ServedCampaign(
            store=store, desk=page_desk(store, "week", {}), door=ServerSettings(host="127.0.0.1", port=8347)
        )
        app, shown = make_app(served), {}
        threads = [
            threading.Thread(target=lambda k=k: shown.setdefault(k, judged(served, app, f"judge{k}", 3)[1]))
            for k in range(3)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        pairs = [pair for of_judge in shown.values() for pair in of_judge]
        assert len(pairs) == len(set(pairs)) == 9
        browser, (first,) = judged(served, app, "zoe", 1)
        (event,) = store.answers_of("week", "zoe", 9)
        assert (event.query_id, event.doc_id, event.active_ms) == (*first, 0)
        assert browser.post(f"/judge/answers/{event.seq}", data={"grade": "2"}).status_code == 200
        assert [each.grade for each in store.answers_of("week", "zoe", 9)] == [2]
        assert "Nothing is left" not in answer(browser, browser.get("/judge")).text
        assert come_in(TestClient(app, base_url=BASE), invited(served, "lead", "lead")).status_code == 200
        served.desk.reading.wait()
        assert store.verify("week") == []
