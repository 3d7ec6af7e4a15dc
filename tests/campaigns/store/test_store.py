"""What the store promises, law by law, on both databases."""

import hashlib
import json
import time
import unicodedata
from dataclasses import asdict, replace

import pytest
from store_cases import SECOND, complaint, grade, make_campaign, make_units

from activeeval.campaigns.store import JudgeAnswer, PlaceRow, SampleRow, open_store
from activeeval.core.errors import InputError, StateError

CANNOT = JudgeAnswer(kind="cannot", reason="gone")


def dump(store, name="night"):
    return json.dumps([asdict(event) for event in store.events(name)])


# Campaigns


def test_what_goes_in_comes_out(store):
    units = make_units()
    units[1] = replace(units[1], level=None, places=(PlaceRow(doc_id="é☃", probability=0.1 + 0.2, text={}),))
    assert make_campaign(store, units, ended="all drawn") == 5
    assert store.units("night") == units
    assert store.samples("night") == [SampleRow(version=1, digest="abc", payload=b"\x00\xffsample")]
    campaign = store.campaign("night")
    assert (campaign.config, campaign.judges_per_item, campaign.lease_s) == ({"b": [1, 0.5], "a": None}, 1, 900)
    assert campaign.created_at == 1_800_000_000 * SECOND
    events = store.events("night")
    assert [event.seq for event in events] == [1, 2, 3, 4, 5]
    assert (events[-1].kind, events[-1].reason) == ("ended", "all drawn")
    body = {"items": ["é☃"], "probabilities": [0.1 + 0.2], "level": None, "cost": 1.25, "block": 1, "version": 1}
    texts = hashlib.blake2b(b'["text 2",{}]', digest_size=16).hexdigest()
    assert events[1].body == body | {"sample": "abc", "texts": texts}
    assert store.last_seq("night") == 5
    assert store.verify("night") == []


def test_campaigns_have_names_of_their_own(store):
    assert store.campaigns() == []
    with pytest.raises(InputError, match="there is no campaign 'night': there are none"):
        store.campaign("night")
    make_campaign(store, name="night")
    make_campaign(store, name="Day")
    assert store.campaigns() == ["Day", "night"]
    with pytest.raises(InputError, match="there is a campaign 'night' already"):
        make_campaign(store, name="night")
    with pytest.raises(InputError, match="no campaign 'nigth': did you mean night\\? there are 'Day', 'night'"):
        store.claim("nigth", "ann")


def test_a_top_up_adds_units_and_a_version(night):
    more = make_units(2, first=5, version=2)
    second = SampleRow(version=2, digest="def", payload=b"2", reason="topped up")
    with pytest.raises(StateError, match="next version of this sample is 2, got 3"):
        night.grow("night", replace(second, version=3), [])
    with pytest.raises(StateError, match="unit 4 exists already"):
        night.grow("night", second, make_units(2, first=4, version=2))
    assert night.last_seq("night") == 4
    assert night.grow("night", second, more, "budget") == 7
    assert night.samples("night")[1] == replace(second, seq=4)
    assert night.units("night") == make_units() + more
    assert night.waiting("night") == {"free": 12, "leased": 0, "done": 0}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"cost": float("nan")}, "plain JSON"),
        ({"query_id": ""}, "query_id must not be empty"),
        ({"query_id": "a\0b"}, "cannot be stored"),
        ({"query_id": "\ud800"}, "cannot be stored"),
        ({"version": 2}, "unit 1 is of version 2, its sample of 1"),
        ({"number": 2}, "same number"),
        ({"places": (PlaceRow(doc_id="d", probability=1.0),) * 2}, "has a document twice"),
        ({"query_id": "q2"}, "has another text"),
    ],
)
def test_a_wrong_unit_is_refused_whole(store, change, says):
    units = make_units()
    units[0] = replace(units[0], **change)
    with pytest.raises(InputError, match=says):
        make_campaign(store, units)
    assert store.campaigns() == []


def test_the_log_is_read_up_to_a_number(night):
    assert [event.seq for event in night.events("night", 2)] == [1, 2]
    assert night.events("night", 0) == []
    for until in (5, -1):
        with pytest.raises(InputError, match=f"the last event is 4, got {until}"):
            night.events("night", until)


# Answers


def test_said_again_is_stored_once(night):
    got = night.claim("night", "ann")
    first = night.submit("night", got.token, grade(2, active_ms=1200, idle_ms=5))
    again = night.submit("night", got.token, grade(2))
    assert (first.is_repeated, again.is_repeated) == (False, True)
    assert first.event == again.event == night.events("night")[-1]
    assert (first.event.active_ms, first.event.idle_ms, first.event.shown_at) == (1200, 5, first.event.at)
    assert got.token not in dump(night)  # the store has its hash
    with pytest.raises(StateError, match="the token was answered by event 6, which is a different answer"):
        night.submit("night", got.token, grade(3))
    assert night.last_seq("night") == 6


@pytest.mark.parametrize(
    ("said", "says"),
    [
        (grade(5), "grade must be a whole number from 0 to 4, got 5"),
        (grade(-1), "got -1"),
        (grade(None), "got None"),
        (grade(1.0), "got 1.0"),
        (grade(True), "got True"),
        (JudgeAnswer(kind="cannot", grade=1), "cannot has no grade"),
        (JudgeAnswer(kind="late", grade=1), "an answer is one of judged, cannot, deferred, preferred, got 'late'"),
        (grade(1, active_ms=-1), "active_ms must be a whole number"),
        (JudgeAnswer(kind="cannot", reason="a\0"), "reason has a character"),
    ],
)
def test_what_nobody_can_say_is_refused(night, said, says):
    got = night.claim("night", "ann")
    with pytest.raises(InputError, match=says):
        night.submit("night", got.token, said)
    assert night.last_seq("night") == 5
    assert night.submit("night", got.token, grade(4)).event.kind == "judged"


def test_an_unknown_token_is_refused(night):
    for token in ("", "nothing", "\ud800", "é", "x" * 10_000):
        with pytest.raises(InputError, match="no item was given out under the token"):
            night.submit("night", token, grade())
    assert night.last_seq("night") == 4


# Files


def test_a_file_is_about_the_last_unit_that_an_item_was_drawn_in(store):
    """A later round asks once more for what could not be judged."""
    first, again = make_units(1, 1), [replace(make_units(1, 1)[0], number=2, block=2, version=2)]
    make_campaign(store, first)
    assert store.record("night", "ann", [("q1", "d1-0", CANNOT, None)])[0].event.unit == 1
    store.grow("night", SampleRow(version=2, digest="", payload=b""), again)
    said = store.record("night", "ann", [("q1", "d1-0", grade(2), None)])[0].event
    assert (said.unit, said.supersedes, store.waiting("night")["free"]) == (2, None, 0)
    assert store.verify("night") == []


def test_a_file_is_stored_whole_or_not_at_all(night):
    with pytest.raises(InputError, match=r"from 0 to 4, got 9 \(query 'q1', document 'd1-1'\)"):
        night.record("night", "ann", [("q1", "d1-0", grade(1), None), ("q1", "d1-1", grade(9), None)])
    with pytest.raises(StateError, match="the key 'k'"):
        night.record("night", "ann", [("q1", "d1-0", grade(1), "k"), ("q1", "d1-1", grade(1), "k")])
    assert night.last_seq("night") == 4
    assert night.record("night", "ann", []) == []


def test_both_databases_export_the_same(sqlite_url, postgresql_url, clock):
    dumps = []
    for url in (sqlite_url, postgresql_url):
        with open_store(url, create=True, clock=clock) as store:
            make_campaign(store, ended="é ☃ 𝄞")
            store.record("night", "ann", [("q1", "d1-0", grade(1), None), ("q2", "d2-0", CANNOT, "k")])
            dumps.append((dump(store), [asdict(unit) for unit in store.units("night")]))
    assert dumps[0] == dumps[1]


def test_large_campaigns_go_in_and_out(store):
    places = tuple(PlaceRow(doc_id=f"d{i}", probability=0.5) for i in range(1200))
    make_campaign(store, [replace(make_units(1, 1)[0], query_id="q", places=places)])
    said = [("q", f"d{i}", grade(i % 5), f"k{i}") for i in range(1200)]
    assert not any(a.is_repeated for a in store.record("night", "ann", said))
    assert all(a.is_repeated for a in store.record("night", "ann", said))
    assert store.waiting("night") == {"free": 0, "leased": 0, "done": 1200}
    assert store.verify("night") == []


def test_leases_go_by_the_clock_of_the_server(postgresql, postgresql_url, maker, monkeypatch):
    """Catches a machine twenty minutes ahead that takes what another judge is looking at."""
    maker(postgresql_url, postgresql)
    with open_store(postgresql_url) as store, open_store(postgresql_url) as ahead:
        make_campaign(store, make_units(1, 1), lease_s=900)
        held, real = store.claim("night", "ann"), time.time_ns
        for minutes in (20, -20):
            monkeypatch.setattr(time, "time_ns", lambda minutes=minutes: real() + minutes * 60 * 10**9)
            assert ahead.claim("night", "bob") is None
            assert ahead.waiting("night") == {"free": 0, "leased": 1, "done": 0}
        monkeypatch.setattr(time, "time_ns", real)
        assert ahead.claim("night", "ann").lease_until > held.lease_until
        log = ahead.events("night")
        assert [event.at for event in log] == sorted(event.at for event in log)
        assert ahead.campaign("night").created_at <= log[0].at
        assert ahead.verify("night") == []


@pytest.mark.parametrize("letter", ["x", "ö"])
def test_what_is_longer_than_anybody_writes_is_refused_at_every_door(store, letter):
    """Catches a reason of a megabyte, which every reading would read, and a name that no index takes."""
    make_campaign(store, make_units(4, 2))
    size = len(letter.encode())
    name, reason = letter * (200 // size), letter * (10_000 // size)
    long, wordy = JudgeAnswer(kind="cannot", reason=reason), JudgeAnswer(kind="cannot", reason=reason + "x")
    token = store.claim("night", name).token
    first = store.submit("night", token, long, key=name).event
    assert (first.judge, first.reason, first.key) == (name, reason, name)
    assert store.record("night", "bob", [("q2", "d2-0", long, f"{name[1:]}1")])[0].event.reason == reason
    token, before = store.claim("night", "ann").token, store.events("night")
    doors = [
        ("judge", lambda: store.claim("night", name + "x")),
        ("judge", lambda: store.record("night", name + "x", [("q1", "d1-1", grade())])),
        ("judge", lambda: store.retract("night", first.seq, name + "x", "spam")),
        ("key", lambda: store.submit("night", token, grade(), key=name + "x")),
        ("key", lambda: store.submit_and_claim("night", token, grade(), key=name + "x")),
        ("key", lambda: store.record("night", "bob", [("q1", "d1-1", grade(), name + "x")])),
        ("reason", lambda: store.submit("night", token, wordy)),
        ("reason", lambda: store.submit("night", token, JudgeAnswer(kind="deferred", reason=wordy.reason))),
        ("reason", lambda: store.submit_and_claim("night", token, wordy)),
        ("reason", lambda: store.record("night", "bob", [("q1", "d1-1", grade()), ("q2", "d2-1", wordy)])),
        ("reason", lambda: store.retract("night", first.seq, name, wordy.reason)),
    ]
    for what, ask in doors:
        says = complaint(InputError, ask)
        limit = "10,000" if what == "reason" else "200"
        assert f"{what} may have at most {limit} bytes, got {int(limit.replace(',', '')) + 1:,}: '{letter}" in says
    assert store.events("night") == before
    assert store.verify("night") == []


def test_a_judge_is_one_however_the_name_is_written(store):
    """Catches two judges of one name, one of whom a spreadsheet of another system has written."""
    make_campaign(store, make_units(2, 2), k=2)
    written = ["Zoë", unicodedata.normalize("NFD", "Zoë"), " ZOË "]
    tokens = {store.claim("night", name).doc_id for name in written}
    assert len(tokens) == 1  # the item in hand
    store.record("night", written[1], [("q1", "d1-0", grade(1))])
    assert store.record("night", written[0], [("q1", "d1-0", grade(2))])[0].event.supersedes
    store.retract("night", store.last_seq("night"), written[2])
    assert {event.judge for event in store.events("night")} == {"", "zoë"}
    assert store.verify("night") == []
