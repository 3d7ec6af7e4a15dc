"""The texts of a campaign: a lead searches them, sees what is missing, and reads them as judges do."""

import re
from types import SimpleNamespace

import pytest
from campaign_cases import Case
from web.conftest import Site, answer
from web.live_sites import PAYLOADS
from web.test_comparing_page import Compares

from activeeval.campaigns.create_and_grow import create
from activeeval.campaigns.lead_texts import ON_A_PAGE, texts_of
from activeeval.campaigns.store import ItemFilter, ItemPosition, open_store
from activeeval.core.campaign import Rules
from activeeval.web.desks import FRAME_POLICY


def some_texts(pairs):
    """Return texts of which every third is missing, and a need beside each query."""
    n = range(len(pairs))
    return {
        "query": ["" if query.endswith("3") else f"what is {query}?" for query, _ in pairs],
        "need": [f"They wanted {query}." for query, _ in pairs],
        "title": [f"Title of {query} {doc}" for query, doc in pairs],
        "url": [f"https://example.org/{doc}?a=100%" for _, doc in pairs],
        "text": ["" if k % 3 == 0 else f'A "text": of {k}, stra\u00dfe \\ 50% of_it' for k in n],
    }


@pytest.fixture
def lead():
    site = Site(texts=some_texts)
    yield SimpleNamespace(site=site, get=site.at("zoe", "lead").get, pairs=site.case.sample.pairs)
    site.desk.reading.wait()


def rows_of(page):
    return re.findall(r'<a href="/lead/texts/(\d+)/(\d+)/(\d+)">([^<]*)</a>', page)


def walked(lead, address):
    """Return the rows of all pages, from an address on."""
    rows = []
    while address:
        page = lead.get(address).text
        rows += rows_of(page)
        more = re.search(r'href="(/lead/texts\?find=[^"]*)">Next', page)
        address = more and more[1].replace("&amp;", "&")
    return rows


def found(lead, words, **options):
    store = lead.site.store
    return [(row.query_id, row.doc_id) for row in store.texts_page("week", ItemFilter(words=words, **options), 10_000)]


def test_all_items_are_there_once_query_by_query_with_their_numbers(lead, monkeypatch):
    monkeypatch.setattr("activeeval.campaigns.lead_texts.ON_A_PAGE", 7)
    rows = walked(lead, "/lead/texts")
    assert len(rows) == len(set(rows)) == len(lead.pairs)
    page = lead.get("/lead/texts").text
    n = len(lead.pairs)
    counts = re.findall(r"<dd>([^<]*)</dd>", page)
    assert counts[1] == f"{n}, {-(-n // 3)} without a text"
    assert counts[1] == counts[2]
    assert f"{-(-n // 3)} of the {n} items ahead have no text" in page
    assert "They wanted" in page
    assert "0: Not relevant" in re.sub("<[^>]+>", "", page)
    assert "2: Spot on" in re.sub("<[^>]+>", "", page)
    assert len(walked(lead, "/lead/texts?missing=true")) == -(-n // 3)


def test_pages_of_a_search_keep_its_words(lead, monkeypatch):
    monkeypatch.setattr("activeeval.campaigns.lead_texts.ON_A_PAGE", 3)
    assert len(walked(lead, "/lead/texts?find=50%25+of_it")) == sum(1 for k in range(len(lead.pairs)) if k % 3)
    assert ON_A_PAGE == 50


def test_words_are_found_in_ids_queries_and_texts_and_names_of_texts_are_none(lead):
    query, doc = lead.pairs[5]
    assert set(found(lead, f"title OF {query} {doc}")) == {(query, doc)}
    assert (query, doc) in found(lead, doc)
    assert {pair[0] for pair in found(lead, f"WHAT is {lead.pairs[0][0]}?")} <= {lead.pairs[0][0]}
    assert len(found(lead, f"They wanted {query}.")) == sum(pair[0] == query for pair in lead.pairs)
    n_texts = sum(1 for k in range(len(lead.pairs)) if k % 3)
    for words in ('"text":', "stra\u00dfe", "\\ 50%", "50% of_it", "of_it"):
        assert len(found(lead, words)) == n_texts, words
    for words in ("need", "documents", "url", "doc_id", '"title":', "ofxit", "50x of", "%%", "nothing\n"):
        assert found(lead, words) == [], words
    without = [pair for pair in found(lead, "Title") if lead.pairs.index(pair) % 3 == 0]
    assert found(lead, "Title", without_text=True) == without
    assert "No item matches" in lead.get("/lead/texts?find=zzz").text


def test_what_is_judged_is_no_longer_ahead(lead):
    page = lead.site.at("ann").get("/judge")
    judge = lead.site.at("ann")
    for _ in range(3):
        page = answer(judge, page)
    text = lead.get("/lead/texts").text
    assert re.findall(r"<dd>(\d+)", text)[2] == str(len(lead.pairs) - 3)
    assert len(re.findall("<td>done</td>", text)) <= 3


def test_a_document_is_read_as_judges_read_it(lead):
    unit, position, number, _ = rows_of(lead.get("/lead/texts").text)[1]
    page = lead.get(f"/lead/texts/{unit}/{position}/{number}")
    assert "Title of" in page.text
    assert "They wanted" in page.text
    framed = lead.get(f"/lead/texts/{unit}/{position}/{number}/document")
    assert framed.headers["content-security-policy"] == FRAME_POLICY
    for path in ("/9999/1/0", f"/{unit}/99/0", f"/{unit}/{position}/1"):
        assert lead.get(f"/lead/texts{path}").status_code == 404
        assert lead.get(f"/lead/texts{path}/document").status_code == 404
    for path in ("/99999999999999999999/1/0", "/1/-1/0", "/x/1/0", "?unit=99999999999999999999", "?find=" + "x" * 201):
        assert lead.get(f"/lead/texts{path}").status_code == (422 if "find" in path else 404)
    assert lead.get("/lead/texts?find=%00").status_code == 422
    assert lead.get("/lead/texts?unit=9999&position=9").status_code == 200


def test_versions_of_guidelines_are_those_that_judges_of_this_campaign_read(lead):
    site = lead.site
    site.store.keep_guidelines("of another campaign")
    judge = site.at("ann")
    page = answer(judge, judge.get("/judge"))
    old = site.store.keep_guidelines("# Of old <script>alert(1)</script>")
    answer(judge, page, guidelines=old)
    answer(judge, judge.get("/judge"), note=f'"guidelines":"{site.store.keep_guidelines("never read")}"')
    text = lead.get("/lead/texts").text
    versions = re.findall(r"Version (\w{8})(, beside the items now)?: (\d+) answers?", text)
    assert versions == [(site.served.guidelines.version[:8], ", beside the items now", "2"), (old[:8], "", "1")]
    assert "of another campaign" not in text
    assert "never read" not in text
    assert "<h3>Go by this</h3>" in text
    assert "<script>" not in text


def test_of_pairs_every_document_of_a_query_is_a_line():
    site = Compares()
    lead = site.at("zoe", "lead")
    page = lead.get("/lead/texts").text
    rows = rows_of(page)
    assert {number for _, _, number, _ in rows} > {"0", "1"}
    assert "there are no grades" in page
    unit, position, number, doc = rows[1]
    assert doc in lead.get(f"/lead/texts/{unit}/{position}/{number}").text
    assert lead.get(f"/lead/texts/{unit}/{position}/{number}/document").status_code == 200


def test_both_databases_count_and_find_the_same(made_url):
    with open_store(made_url) as store:
        sample = Case().sample
        create(store, "week", sample, Rules(), texts=some_texts(sample.pairs))
        counts = store.text_counts("week")
        n = len(sample.pairs)
        assert (counts.items, counts.items_without, counts.ahead) == (n, -(-n // 3), n)
        assert counts.queries_without == len({query for query, _ in sample.pairs if query.endswith("3")})
        view = texts_of(store, "week", ItemFilter(words="TITLE of", after=None))
        assert sum(len(query.documents) for query in view.queries) == min(n, ON_A_PAGE)
        rows = store.texts_page("week", ItemFilter(), n)
        half = rows[: n // 2]
        assert rows[n // 2 :] == store.texts_page("week", ItemFilter(after=half[-1].at), n)
        without = [row.at for row in store.texts_page("week", ItemFilter(without_text=True), n)]
        assert [row.at for row in rows if "text" not in row.text] == without
        assert store.texts_page("week", ItemFilter(words="text", after=ItemPosition(1, 1)), 3) is not None
        store.claim("week", "ann")
        assert store.text_counts("week") == counts
        assert store.guidelines_read("week", store.keep_guidelines("# Go"))[0].n_answers == 0


def hostile(pairs):
    payload = "\n".join(PAYLOADS)
    return {name: [payload] * len(pairs) for name in ("query", "need", "title", "url", "text")}


def test_hostile_texts_are_letters():
    site = Site(texts=hostile)
    lead = site.at("zoe", "lead")
    page = lead.get("/lead/texts", params={"find": PAYLOADS[2]}).text
    rows = rows_of(page)
    assert rows
    for text in (page, lead.get("/lead/texts/{}/{}/{}".format(*rows[0][:3])).text):
        tags = set(re.findall(r"<([a-z0-9]+)", text))
        assert not tags & {"script", "img", "svg", "style", "object", "embed", "video", "math", "iframe", "body "}
        assert "\u202e" not in text
