"""A campaign that is closed gives out nothing, loses nothing, and is opened again."""

import pytest
from web.conftest import answer, item_of, says

from activeeval.campaigns.close_and_reopen import close, reopen
from activeeval.core.errors import StateError


def test_a_lead_closes_and_opens(site):
    ann, bob, lead = site.at(), site.at("bob"), site.at("zoe", "lead")
    page = answer(ann, ann.get("/judge"))
    assert "Close the campaign" in lead.get("/lead/log").text
    assert lead.post("/lead/close").status_code == 200
    assert "Open the campaign again" in lead.get("/lead/log").text
    assert "This campaign is closed" in site.at("cy").get("/judge").text
    after = answer(ann, page)
    says(after, 200, "This campaign is closed")
    assert len(site.judged) == 2
    assert site.program("dora").post("/api/campaigns/week/claim", json={}).json() == {}
    assert lead.post("/lead/close").status_code == 409
    lead.post("/lead/open")
    assert item_of(bob.get("/judge"))
    assert lead.post("/lead/open").status_code == 409
    assert site.store.verify("week") == []


def test_what_is_judged_to_its_end_has_nothing_to_close(site):
    site.case.judge("ann")
    with pytest.raises(StateError, match="no item is open"):
        close(site.store, "week")
    with pytest.raises(StateError, match="not closed"):
        reopen(site.store, "week")
