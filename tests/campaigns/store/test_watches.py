"""Watches and nights in both databases: a night and its campaign are there together or not at all."""

from dataclasses import replace

import pytest
from store_cases import complaint, make_units
from test_racing import in_threads

from activeeval.campaigns.store import CampaignRow, NightRow, SampleRow, WatchRow, open_store, watches
from activeeval.core.errors import InputError, StateError

WATCH = WatchRow(name="quality", config={"b": [1, 0.5], "a": None}, payload=b"\x00\xffrun")


def add(store, date, last="", name="quality", payload=b"left"):
    campaign = CampaignRow(name=f"{name}.{date}", config={}, max_grade=4)
    sample = SampleRow(version=1, digest="abc", payload=b"\x00\xffsample")
    night = NightRow(date=date, campaign=campaign.name, payload=payload)
    return store.watches.add_night(name, night, last, campaign, sample, make_units(), "")


def test_what_is_put_in_comes_out(store):
    store.watches.create(WATCH)
    assert store.watches.names() == ["quality"]
    assert store.watches.get("quality") == WATCH
    assert add(store, "2026-11-01", payload=b"one\x00") > 0
    add(store, "2026-11-03", "2026-11-01", payload=b"two")
    nights = [(night.date, night.campaign) for night in store.watches.nights("quality")]
    assert nights == [("2026-11-01", "quality.2026-11-01"), ("2026-11-03", "quality.2026-11-03")]
    assert store.watches.payload("quality", "2026-11-01") == b"one\x00"
    assert store.watches.payload("quality", "2026-11-03") == b"two"
    assert store.campaigns() == ["quality.2026-11-01", "quality.2026-11-03"]
    assert len(store.units("quality.2026-11-03")) == len(make_units())
    assert store.verify("quality.2026-11-01") == []


def test_a_store_is_the_same_when_it_is_opened_again(made_url):
    with open_store(made_url) as store:
        store.watches.create(WATCH)
        add(store, "2026-11-01")
    with open_store(made_url) as store:
        assert store.watches.get("quality") == WATCH
        assert store.watches.payload("quality", "2026-11-01") == b"left"


def test_watches_do_not_see_each_others_nights(store):
    for name in ("quality", "speed"):
        store.watches.create(WatchRow(name=name, config={}))
        add(store, "2026-11-01", name=name, payload=name.encode())
    assert store.watches.names() == ["quality", "speed"]
    assert store.watches.payload("speed", "2026-11-01") == b"speed"
    assert [night.campaign for night in store.watches.nights("quality")] == ["quality.2026-11-01"]


def test_what_is_not_there(store):
    assert "there are none; `watch init` makes one" in complaint(InputError, lambda: store.watches.get("quality"))
    store.watches.create(WATCH)
    assert "did you mean quality?" in complaint(InputError, lambda: store.watches.get("qualty"))
    assert "has no night of" in complaint(InputError, lambda: store.watches.payload("quality", "2026-11-01"))
    assert "already" in complaint(InputError, lambda: store.watches.create(WATCH))
    assert store.watches.get("quality") == WATCH
    assert "there is no watch 'other'" in complaint(InputError, lambda: add(store, "2026-11-01", name="other"))
    assert store.campaigns() == []


@pytest.mark.parametrize("table", ["night", "unit"])
def test_a_fault_leaves_neither_night_nor_campaign(store, monkeypatch, table):
    store.watches.create(WATCH)
    add(store, "2026-11-01")
    if table == "night":
        real = watches.insert
        monkeypatch.setattr(watches, "insert", lambda of: broken() if of.name == "night" else real(of))
    else:
        monkeypatch.setattr(watches.samples, "_add", lambda *given: broken())
    with pytest.raises(OSError, match="the power is gone"):
        add(store, "2026-11-02", "2026-11-01")
    monkeypatch.undo()
    assert [night.date for night in store.watches.nights("quality")] == ["2026-11-01"]
    assert store.campaigns() == ["quality.2026-11-01"]
    add(store, "2026-11-02", "2026-11-01")
    assert store.campaigns() == ["quality.2026-11-01", "quality.2026-11-02"]


def broken():
    raise OSError("the power is gone")


def test_of_watches_that_race_for_a_name_one_is_set_up(store):
    def race(i):
        try:
            store.watches.create(replace(WATCH, payload=str(i).encode()))
        except InputError as problem:
            return str(problem)
        return ""

    says = in_threads(race, 6)
    assert sorted(says) == ["", *["there is a watch 'quality' already"] * 5]
    assert store.watches.get("quality").payload == str(says.index("")).encode()


@pytest.mark.parametrize("dates", [["2026-11-02"] * 6, [f"2026-11-{day:02d}" for day in range(2, 8)]])
def test_of_nights_that_race_each_other_one_is_stored(store, dates):
    """All have read the same night before: whoever comes later has drawn from what is no longer the last."""
    store.watches.create(WATCH)
    add(store, "2026-11-01")

    def race(i):
        try:
            add(store, dates[i], "2026-11-01")
        except (StateError, InputError) as problem:
            return str(problem)
        return ""

    says = in_threads(race, len(dates))
    assert says.count("") == 1
    assert all("was stored meanwhile: call again" in each for each in says if each)
    stored = store.watches.nights("quality")
    assert len(stored) == 2
    assert store.campaigns() == [night.campaign for night in stored]
