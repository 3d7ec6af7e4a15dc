"""Whoever is new begins with items whose grades are known, and none of it counts."""

import pytest
from web.conftest import Site, item_of

from activeeval.campaigns.state import state_of
from activeeval.campaigns.status import status
from activeeval.campaigns.training import MOST, read_known, trained
from activeeval.core.errors import InputError
from activeeval.core.judgments.wilson_intervals import share_of

ROWS = ("query,title,grade,why", 'jaguar,"The car",2,"They meant the car."', "jaguar,The cat,0,", "flea,A flea,1,")


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "known.csv"
    path.write_text("\n".join(ROWS))
    return path


@pytest.fixture
def site(path):
    made = Site()
    made.change(training=read_known(str(path), 2))
    yield made
    made.desk.reading.wait()


def test_each_is_told_at_once_and_then_the_real_ones_come(site):
    browser = site.at()
    page = browser.get("/judge")
    assert page.url.path == "/judge/training"
    assert "Item 1 of 3" in page.text
    told = browser.post("/judge/training/1", data={"grade": "1"})
    assert "You said <b>Relevant</b>; it is <b>Spot on</b>." in told.text
    assert "They meant the car." in told.text
    assert "Yes: <b>Not relevant</b>" in browser.post("/judge/training/2", data={"grade": "0"}).text
    assert "Item 3 of 3" in browser.get("/judge").text
    browser.post("/judge/training/3", data={"grade": "1"})
    assert item_of(browser.get("/judge/training"))
    assert browser.get("/judge").url.path == "/judge"
    assert site.at("bob").get("/judge").url.path == "/judge/training"


def test_it_never_counts_and_the_first_answer_stands(site):
    browser = site.at()
    for grade in ("1", "2"):
        browser.post("/judge/training/1", data={"grade": grade})
    state = state_of(site.store, "week")
    assert status(state, site.store).progress.judged == 0
    assert (state.state.standing, state.state.problems, site.store.verify("week")) == ([], [], [])
    (row,) = trained(state.log)
    assert (row.judge, row.share) == ("ann", share_of(0, 1))
    assert "0 of 1 (0 to 79 %) correct" in site.at("zoe", "lead").get("/lead").text
    assert browser.get("/judge/training/3").status_code == 404
    assert browser.post("/judge/training/9", data={"grade": "1"}).status_code == 422
    assert browser.post("/judge/training/2", data={"grade": "9"}).status_code == 422


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (("query,grade", "jaguar,7"), "not a grade, expected one from 0 to 2"),
        (("query,grade", "jaguar,"), "is not a grade"),
        (("query,title", "jaguar,x"), "grade"),
        (("query,grade",), "holds no rows"),
    ],
)
def test_what_nobody_can_train_with_is_said(path, rows, says):
    path.write_text("\n".join(rows))
    with pytest.raises(InputError, match=says):
        read_known(str(path), 2)


def test_the_first_ten_are_asked(path):
    path.write_text("\n".join(["query,grade", *(f"q{k},1" for k in range(30))]))
    assert len(read_known(str(path), 2)) == MOST
