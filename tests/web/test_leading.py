"""A lead: the answer as the commands say it, disagreements, people, the log, files."""

import re

import pytest
from web.conftest import Site, answer, come_in, item_of, says

from activeeval.campaigns.disagreements import disagreements
from activeeval.campaigns.state import state_of
from activeeval.campaigns.status import estimates_of
from activeeval.campaigns.store import JudgeAnswer
from activeeval.web.lead_pages import FORMS


def judged_by(site, *judges, **options):
    site.case.judge(*judges, **options)
    return state_of(site.store, "week")


@pytest.fixture
def differing():
    """A site with two judges an item, of whom bob says 2 wherever ann says 0."""
    site = Site(judges_per_item=2, policy="median")

    def says(judge, item):
        grade = site.case.grade(item.query_id, item.doc_id)
        return JudgeAnswer(kind="judged", grade=2 if judge == "bob" and grade == 0 else grade)

    site.case.judge("ann", "bob", says=says)
    yield site
    site.desk.reading.wait()


def test_the_answer_is_that_of_the_command(site):
    lead = site.at("zoe", "lead")
    assert "there is no estimate yet" in lead.get("/lead").text
    state = judged_by(site, "ann", "bob")
    says(lead.get("/lead"), 200, *estimates_of(state).headline, f"{state.as_of},")
    picture = lead.get("/lead/course.svg")
    assert picture.headers["content-type"].startswith("image/svg+xml")
    assert "<svg" in picture.text


def test_an_interval_for_every_look_is_wider_and_is_called_so(site):
    state = judged_by(site, "ann", upto=30)
    lead = site.at("zoe", "lead")
    (always,), (single,) = (estimates_of(state, kind=kind).headline for kind in ("group-sequential", "t"))
    assert always != single
    holds = "holds at every interim analysis, at the end of each block"
    says(lead.get("/lead?interval=group-sequential"), 200, always, holds)
    assert single in lead.get("/lead").text
    assert lead.get("/lead?interval=none").status_code == 422


def test_a_later_judgment_is_seen_at_once(site):
    lead = site.at("zoe", "lead")
    lead.get("/lead")
    ann = site.at()
    page = ann.get("/judge")
    ann.post("/judge/answer", data={"token": item_of(page)[2], "cannot": "1", "reason": "a login page"})
    says(lead.get("/lead"), 200, "a login page", "ann")


def test_what_a_lead_decides_counts_and_what_was_said_stays(differing):
    store, lead = differing.store, differing.at("zoe", "lead")
    before = state_of(store, "week")
    rows = disagreements(before, store)
    spans = [row.influence for row in rows]
    assert len(rows) > 5
    assert spans == sorted(spans, reverse=True)
    assert {tuple(opinion.grade for opinion in row.opinions) for row in rows} <= {(0, 2), (2, 0)}
    first = rows[0]
    value = estimates_of(before).answers[0].estimate.value
    assert 0 < first.narrowest <= first.widest
    form = {"grade": "2", "reason": "it answers the query"}
    assert lead.post(f"/lead/disagreements/{first.seq}", data=form).status_code == 200
    after = state_of(store, "week")
    moved = estimates_of(after).answers[0].estimate.value - value
    assert abs(moved) == pytest.approx(first.influence, rel=1e-9)
    interval = estimates_of(after).answers[0].interval
    assert first.narrowest - 1e-12 <= (interval.high - interval.low) / 2 <= first.widest + 1e-12
    (decided,) = [row for row in disagreements(after, store) if row.seq == first.seq]
    assert (decided.counts_as, decided.decided_by, decided.reason) == (2, "zoe", "it answers the query")
    assert {opinion.grade for opinion in decided.opinions} == {0, 2}
    assert after.agreement == before.agreement
    assert store.verify("week") == []
    assert "Decided by zoe" in lead.get("/lead/disagreements").text
    text = lead.get("/lead").text
    assert "All judges of an item gave it the same grade for" in text
    assert re.search(r"ann grades \d\.\d+ lower than bob", text)
    for grade, reason in (("9", "x"), ("1", "")):
        form = {"grade": grade, "reason": reason}
        assert lead.post(f"/lead/disagreements/{first.seq}", data=form).status_code == 422


def test_the_state_that_goes_on_is_that_of_the_whole_log(differing):
    store = differing.store
    state = state_of(store, "week")
    first, second = disagreements(state, store)[:2]
    store.adjudicate("week", first.seq, "zoe", 1, "why")
    state.refresh(store)
    store.adjudicate("week", second.seq, "zoe", 0, "why")
    store.adjudicate("week", first.seq, "yan", 2, "on second thoughts")
    values = [estimates_of(each).answers[0].estimate.value for each in (state.refresh(store), state_of(store, "week"))]
    assert values[0] == values[1]
    store.rebuild("week")
    assert store.verify("week") == []


def test_where_nobody_differs_nothing_is_decided(site):
    judged_by(site, "ann")
    lead = site.at("zoe", "lead")
    assert "Judges differ on nothing" in lead.get("/lead/disagreements").text
    seq = site.judged[0].seq
    assert lead.post(f"/lead/disagreements/{seq}", data={"grade": "1", "reason": "x"}).status_code == 409
    assert lead.post("/lead/disagreements/1", data={"grade": "1", "reason": "x"}).status_code == 422


def test_a_lead_invites_and_ends(site):
    lead, newcomer = site.at("zoe", "lead"), site.browser()
    page = lead.post("/lead/people", data={"person": "dora", "role": "judge"}).text
    link = re.search(r'class="secret">([^<]+)<', page)[1]
    assert come_in(newcomer, link).status_code == 200
    people = lead.get("/lead/people").text
    assert "dora" in people
    assert link not in people
    row = next(row for row in site.store.access("week").rows() if (row.person, row.kind) == ("dora", "session"))
    lead.post(f"/lead/people/{row.id}/end")
    assert newcomer.get("/judge").status_code == 401


def test_every_format_and_the_log_page_by_page_are_sent(site):
    judged_by(site, "ann")
    lead, seen, path = site.at("zoe", "lead"), [], "/lead/log"
    for form in FORMS:
        sent = says(lead.get(f"/lead/export/{form}"), 200)
        assert sent.headers["content-disposition"].startswith("attachment")
        assert len(sent.content) > 100
    while path:
        page = lead.get(path).text
        seen += map(int, re.findall(r'<tr><td class="n">(\d+)</td>', page))
        more = re.search(r'href="(/lead/log\?before=\d+)"', page)
        path = more and more[1]
    assert seen == list(range(site.store.last_seq("week"), 0, -1))


def test_a_top_up_is_more_to_judge(site):
    judged_by(site, "ann")
    judge = site.at()
    assert "Nothing is left" in judge.get("/judge").text
    assert site.at("zoe", "lead").post("/lead/top-up", data={"budget": "10"}).status_code == 200
    page = judge.get("/judge")
    assert answer(judge, page).status_code == 200
    assert site.at("zoe", "lead").post("/lead/top-up", data={"budget": "-1"}).status_code == 422


def test_a_further_round_is_drawn_once_all_is_judged(site):
    lead = site.at("zoe", "lead")
    assert lead.post("/lead/redraw", data={"budget": "20"}).status_code == 409
    judged_by(site, "ann")
    assert lead.post("/lead/redraw", data={"budget": "10%"}).status_code == 422
    assert lead.post("/lead/redraw", data={"budget": "20"}).status_code == 200
    assert judged_by(site, "bob").progress.waiting == 0
    after = state_of(site.store, "week")
    assert len(after.rounds) == 2
