"""The figures of the judging page in small: campaigns of judges who skip, and servers that are killed."""

from __future__ import annotations

import pytest

from activeeval.campaigns.store import open_store
from benchmarks import page_campaigns
from benchmarks.page_browsers import killed_beside_pages
from benchmarks.page_campaigns import SECOND, judged, truth_of
from benchmarks.page_kills import killed

KINDS = [(measure, is_whole) for measure in page_campaigns.MEASURES for is_whole in (True, False)]


@pytest.fixture(scope="module", autouse=True)
def small():
    """Make pools and campaigns small."""
    patch = pytest.MonkeyPatch()
    patch.setattr(page_campaigns, "N_UNITS", 32)
    patch.setattr(page_campaigns, "N_QUERIES", 12)
    truth_of.cache_clear()
    yield
    patch.undo()
    truth_of.cache_clear()


@pytest.mark.parametrize(("measure", "is_whole"), KINDS)
def test_a_campaign_through_http_is_the_library_s_whoever_skips(measure, is_whole):
    clock = [1_800_000_000 * SECOND]
    with open_store("sqlite://", create=True, clock=lambda: clock[0]) as db:
        wholes = [judged(db, clock, measure, is_whole, seed) for seed in range(4)]
    assert max(whole.differs for whole in wholes) <= 1e-12
    skips = sum((whole.skips for whole in wholes), wholes[0].skips)
    assert min(skips["deferred"], skips["left"]) > 0
    assert (skips["cannot"] > 0) == (not is_whole)


def test_what_cannot_be_judged_counts_as_predicted_and_the_room_for_it_reaches_the_grades():
    truth, census = truth_of("DCG@10", False), truth_of("DCG@10", True)
    assert census.as_predicted == pytest.approx(census.value, abs=1e-12)
    assert truth.cannot
    assert truth.value == census.value != truth.as_predicted


def test_what_a_killed_server_has_acknowledged_is_there_once(tmp_path):
    figures = killed(f"sqlite:///{tmp_path}/page.activeeval", 2, 40)
    values = {row["what"]: row["value"] for row in figures}
    assert values["kills"] >= 2
    assert values["answers acknowledged"] >= 40
    assert [row["what"] for row in figures if row.get("reached") is False] == []


@pytest.mark.slow
def test_pages_go_on_by_themselves_when_their_server_is_killed(tmp_path):
    figures = killed_beside_pages(f"sqlite:///{tmp_path}/page.activeeval", 1, 10)
    if "missing" in figures[0]:
        pytest.skip(figures[0]["missing"])
    values = {row["what"]: row["value"] for row in figures}
    assert values["answers acknowledged"] >= 10
    assert [row["what"] for row in figures if row.get("reached") is False] == []
