"""A small campaign behind the application, and people in front of it."""

import re
from dataclasses import replace

import pytest
from browsers import chromium_with
from campaign_cases import Case
from campaigns.store.store_cases import make_campaign
from starlette.testclient import TestClient

from activeeval.campaigns.pair_desk import page_desk
from activeeval.web import app as application
from activeeval.web.app import make_app
from activeeval.web.people import invited
from activeeval.web.rendering import safe_markdown
from activeeval.web.settings import Guidelines, ServedCampaign, ServerSettings

BASE = "http://127.0.0.1:8347"
SECOND = 1_000_000
QUIETLY = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)


def texts_for(pairs):
    """Return what judges read of each pair."""
    titles = [f"Title of {doc}" for _, doc in pairs]
    return {"query": [f"what is {query}?" for query, _ in pairs], "title": titles, "text": ["Some text."] * len(pairs)}


def come_in(browser, link, **options):
    """Open a link that was sent, and use its button; return the first page of whoever it is for."""
    asked = browser.get(link)
    assert (asked.status_code, "Come in</button>" in asked.text) == (200, True)
    return browser.post(link, headers={"Origin": link.partition("/come-in/")[0]}, **options)


class Served:
    """A campaign of a store behind the application, and people and programs in front of it."""

    def __init__(self, store, name, door=None, desk=None, **beside):
        self.store = store
        door = door or ServerSettings(host="127.0.0.1", port=8347)
        self.change(ServedCampaign(store=store, desk=desk or page_desk(store, name, {}), door=door, **beside))

    def change(self, served=None, **changes):
        """Serve the campaign otherwise from now on."""
        self.served = replace(served or self.served, **changes)
        self.app, self.desk, self.name = make_app(self.served), self.served.desk, self.served.name

    def browser(self, **options):
        """Return a browser that nobody has come in with; it sends where its forms come from."""
        return TestClient(self.app, base_url=self.served.door.url, headers={"Origin": self.served.door.url}, **options)

    def at(self, name="ann", role="judge"):
        """Return the browser of somebody who came in."""
        browser = self.browser()
        assert come_in(browser, invited(self.served, role, name), follow_redirects=False).status_code == 303
        return browser

    def program(self, name="ann", scope="all"):
        """Return a client with a token."""
        client = self.browser()
        token = self.store.access(self.name).issue("token", "judge", name, scope)
        client.headers["Authorization"] = f"Bearer {token}"
        return client

    def events(self, *kinds):
        return [event for event in self.store.events(self.name) if event.kind in kinds]

    @property
    def judged(self):
        """Every event of a grade."""
        return self.events("judged")


class Site(Served):
    """A served campaign of 12 queries with four items each, of which the budget pays for half."""

    def __init__(self, door=None, guidelines="# Go by this", texts=texts_for, **case):
        self.case = Case(**{"n": 12, "budget": 24.0, "texts": texts} | case)
        store, kept = self.case.store, None
        if guidelines:
            kept = Guidelines(html=safe_markdown(guidelines), version=store.keep_guidelines(guidelines))
        super().__init__(store, "week", door, page_desk(store, "week", {2: "Spot on"}), guidelines=kept)


class Plain(Served):
    """A campaign of units that a test names, in a store that it opens."""

    def __init__(self, store, units=None, door=None, **options):
        make_campaign(store, units, **options)
        super().__init__(store, "night", door)


@pytest.fixture(scope="session", autouse=True)
def routes_made_once():
    """Let an application have the routes of the first one: to make them takes most of the time of making a site."""
    add, made = application._add_all, {}

    def add_made(app, part, *, is_described):
        n = len(app.router.routes)
        if id(part) not in made:
            add(app, part, is_described=is_described)
            made[id(part)] = app.router.routes[n:]
        else:
            app.router.routes.extend(made[id(part)])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(application, "_add_all", add_made)
        yield


@pytest.fixture
def site():
    made = Site()
    yield made
    made.desk.reading.wait()


@pytest.fixture(scope="session")
def shared():
    from web.elsewhere_site import Elsewhere

    made = Elsewhere()
    yield made
    made.stop()


@pytest.fixture
def elsewhere(shared):
    """The site, as honest as it was made."""
    honest = {"signs": shared.key, "header": {"alg": "RS256", "kid": "first"}, "token_of": shared.token_of}
    honest |= {"says": {}, "grants": {}, "about": {}, "userinfo": {}, "status": 200, "answer": None, "key": shared.key}
    vars(shared).update(honest, asked=[])
    yield shared
    vars(shared).update(honest)


@pytest.fixture(scope="session")
def chromium():
    """Return a browser; one for all tests, as starting it takes a second."""
    with chromium_with(*QUIETLY) as browser:
        yield browser


@pytest.fixture
def live():
    """Return a site behind a server."""
    from web.live_sites import Live

    with Live() as made:
        yield made


def says(response, status, *texts):
    """Check the status of an answer and what stands in it; return the answer."""
    assert response.status_code == status, response.text
    for text in texts:
        assert text in response.text
    return response


def item_of(page):
    """Return query, document and token of the item that a page shows."""
    text = page.text if hasattr(page, "text") else page
    names = {"doc": "data-doc-id", "query": "data-query-id"}
    ids = {name: re.search(f'{attribute}="([^"]*)"', text)[1] for name, attribute in names.items()}
    token = re.search(r'name="token" value="([^"]*)"', text)
    return ids["query"], ids["doc"], token and token[1]


def to_the_end(browser, grade=1):
    """Answer until nothing is left; return each page."""
    pages = [browser.get("/judge")]
    while "data-doc-id" in pages[-1].text:
        pages.append(answer(browser, pages[-1], grade))
    return pages


def answer(browser, page, grade=1, **fields):
    """Answer the item that a page shows; return the next page."""
    return browser.post("/judge/answer", data={"token": item_of(page)[2], "grade": grade, **fields})
