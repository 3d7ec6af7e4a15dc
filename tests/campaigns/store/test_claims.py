"""Who gets which item, and for how long: law by law."""

from __future__ import annotations

import pytest
from store_cases import SECOND, grade, make_campaign, make_units, work_off

from activeeval.campaigns.store import JudgeAnswer
from activeeval.core.errors import InputError

CANNOT = JudgeAnswer(kind="cannot", reason="gone")
LATER = JudgeAnswer(kind="deferred")


def kinds(store, name="night"):
    return [event.kind for event in store.events(name)]


def items(claimed):
    return [(c.unit, c.doc_id, c.k) for c in claimed]


def test_items_come_by_block_unit_and_place(store):
    make_campaign(store)
    got = work_off(store, "ann")
    assert [(c.block, c.unit, c.doc_id) for c in got] == [
        (1 + (u - 1) // 2, u, f"d{u}-{j}") for u in range(1, 5) for j in range(2)
    ]
    assert got[0].query_text == "text 1"
    assert got[0].text == {"title": "Title 1 é"}
    assert kinds(store)[4:] == ["shown", "judged"] * 8
    assert store.claim("night", "ann") is None


def test_a_judge_gets_his_open_item_back_and_the_old_token_is_late(store, clock):
    make_campaign(store)
    old = store.claim("night", "ann")
    clock.sleep(10_000)  # also after the lease, as nobody else has taken it
    new = store.claim("night", "ann")
    assert (new.unit, new.doc_id, new.k) == (old.unit, old.doc_id, old.k)
    assert new.token != old.token
    assert new.lease_until == clock() + 900 * SECOND
    late = store.submit("night", old.token, grade(3)).event
    assert (late.kind, late.grade, late.reason) == ("late", 3, "a later claim took its place")
    assert store.submit("night", new.token, grade(2)).event.kind == "judged"


def test_an_item_whose_lease_is_over_goes_to_another(store, clock):
    make_campaign(store, make_units(1, 1))
    ann = store.claim("night", "ann")
    clock.sleep(900)
    assert store.claim("night", "bob") is None  # a lease is over after its last moment
    clock.sleep(1e-6)
    assert store.waiting("night") == {"free": 1, "leased": 0, "done": 0}
    bob = store.claim("night", "bob")
    assert items([bob]) == items([ann])
    late = store.submit("night", ann.token, grade(3)).event
    assert (late.kind, late.judge, late.reason) == ("late", "ann", "the item had gone to another judge")
    assert store.submit("night", bob.token, grade(2)).event.kind == "judged"
    assert store.waiting("night") == {"free": 0, "leased": 0, "done": 1}


def test_an_answer_after_the_lease_counts_while_nobody_took_the_item(store, clock):
    make_campaign(store)
    ann = store.claim("night", "ann")
    clock.sleep(5000)
    assert store.submit("night", ann.token, grade()).event.kind == "judged"


def test_several_judges_take_other_units_and_nobody_an_item_twice(store):
    make_campaign(store, make_units(3, 2, per_block=3), k=2)
    ann, bob = store.claim("night", "ann"), store.claim("night", "bob")
    assert (ann.unit, ann.k) == (1, 1)
    assert (bob.unit, bob.k) == (1, 2)  # the same unit, for another k: ann's unit is not left waiting for it
    cyd = store.claim("night", "cyd")
    assert (cyd.unit, cyd.k) == (2, 1)
    for judge in ("ann", "bob"):
        done = work_off(store, judge)
        assert len({(c.unit, c.doc_id) for c in done}) == len(done)
    # of cyd's item one more assignment was left, and ann was quicker
    assert store.waiting("night") == {"free": 0, "leased": 1, "done": 11}


def test_strictly_by_level_judges_take_what_is_next_whoever_is_in_the_unit(store):
    make_campaign(store, make_units(2, 3), strict_order=True)
    ann, bob = store.claim("night", "ann"), store.claim("night", "bob")
    assert items([ann, bob]) == [(1, "d1-0", 1), (1, "d1-1", 1)]
    store.claim("night", "cyd")
    _, ann = store.submit_and_claim("night", ann.token, grade())
    assert items([ann]) == [(2, "d2-0", 1)]
    with pytest.raises(InputError, match="items cannot be deferred"):
        store.submit("night", ann.token, LATER)


def test_judges_stay_in_their_unit(store):
    make_campaign(store, make_units(2, 3, per_block=2))
    ann, bob = store.claim("night", "ann"), store.claim("night", "bob")
    assert (ann.unit, bob.unit) == (1, 2)
    for _ in range(2):
        _, bob = store.submit_and_claim("night", bob.token, grade())
        assert bob.unit == 2
        _, ann = store.submit_and_claim("night", ann.token, grade())
        assert ann.unit == 1


def test_open_leases_do_not_hold_back_the_next_block(store):
    make_campaign(store, make_units(2, 1, per_block=1))
    assert store.claim("night", "ann").block == 1
    assert store.claim("night", "bob").block == 2
    assert store.claim("night", "cyd") is None


def test_what_is_put_off_comes_last_of_its_block_the_oldest_first(store):
    make_campaign(store, make_units(3, 2, per_block=2))
    one = store.claim("night", "ann")
    _, two = store.submit_and_claim("night", one.token, LATER)
    _, three = store.submit_and_claim("night", two.token, LATER)
    assert not three.was_put_off
    seen, got = [], three
    while got is not None:
        seen.append(got)
        _, got = store.submit_and_claim("night", got.token, grade())
    assert [(c.doc_id, c.was_put_off) for c in seen] == [
        ("d2-0", False),
        ("d2-1", False),
        ("d1-0", True),
        ("d1-1", True),
        ("d3-0", False),
        ("d3-1", False),
    ]


def test_what_one_puts_off_another_gets_at_once(store):
    make_campaign(store)
    one = store.claim("night", "ann")
    store.submit("night", one.token, LATER)
    bob = store.claim("night", "bob")
    assert items([bob]) == items([one])
    assert not bob.was_put_off
