"""Sixteen threads at once: nobody gets another's item, nothing is stored twice."""

import contextlib
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from patience import PATIENCE_S
from store_cases import grade, make_campaign, make_units, work_off

from activeeval.campaigns.store import open_store
from activeeval.core.errors import InputError, StateError

N_THREADS = 16


def in_threads(work, n_threads=N_THREADS):
    """Return what ``work(i)`` returns for each thread i; all begin in the same moment."""
    ready = threading.Barrier(n_threads)

    def run(i):
        ready.wait(PATIENCE_S)
        return work(i)

    with ThreadPoolExecutor(n_threads) as threads:
        return list(threads.map(run, range(n_threads)))


@pytest.mark.parametrize(
    ("k", "n_units"), [(2, 12), *(pytest.param(k, -(-5000 // k), marks=pytest.mark.slow) for k in (1, 2, 3))]
)
def test_no_assignment_goes_to_two(each_store, k, n_units, record_property):
    """The slow ones are of 20,000 claims each, of 20,004 for k = 3: four items a unit."""
    store = each_store
    make_campaign(store, make_units(n_units, 4, per_block=5 if n_units < 100 else 100), k=k)
    by_thread = in_threads(lambda i: work_off(store, f"judge {i}"))
    claimed = [(got.unit, got.doc_id, got.k) for of_judge in by_thread for got in of_judge]
    assert len(set(claimed)) == len(claimed) == n_units * 4 * k
    judged = Counter((e.unit, e.doc_id) for e in store.events("night") if e.kind == "judged")
    assert set(judged.values()) == {k}
    assert store.waiting("night") == {"free": 0, "leased": 0, "done": n_units * 4 * k}
    assert store.verify("night") == []
    record_property("shown", f"0 of {len(claimed)} claims given twice, k = {k}, {N_THREADS} threads")


def test_one_judge_in_many_windows_has_one_item(store):
    make_campaign(store, make_units(20, 2))
    got = in_threads(lambda _: store.claim("night", "ann"))
    assert len({(c.unit, c.doc_id, c.k) for c in got}) == 1
    kinds = Counter(store.submit("night", c.token, grade()).event.kind for c in got)
    assert kinds == {"judged": 1, "late": N_THREADS - 1}
    assert store.verify("night") == []


@pytest.mark.parametrize("n_items", [3, pytest.param(625, marks=pytest.mark.slow)])
def test_an_answer_sent_by_all_at_once_is_stored_once(store, n_items, record_property):
    """Every answer goes out 16 times, to be repeated later once more: 625 of them are 10,000."""
    make_campaign(store, make_units(n_items, 1, per_block=n_items))
    tokens = [store.claim("night", f"judge {i}").token for i in range(n_items)]
    for token in tokens:
        answers = in_threads(lambda _, token=token: store.submit("night", token, grade(2), key=f"key {token}"))
        assert Counter(a.is_repeated for a in answers) == {False: 1, True: N_THREADS - 1}
        assert len({a.event.seq for a in answers}) == 1
    assert all(store.submit("night", token, grade(2), key=f"key {token}").is_repeated for token in tokens)
    events = store.events("night")
    assert sum(event.kind == "judged" for event in events) == n_items
    assert [event.seq for event in events] == list(range(1, 3 * n_items + 1))
    assert store.verify("night") == []
    record_property("shown", f"0 of {N_THREADS * n_items} racing submits stored twice, {n_items} replayed")


def test_of_an_answer_and_a_claim_at_once_one_wins(each_store, clock):
    """A lease is over: the judge answers while another claims. Whoever comes first, the log says so."""
    store = each_store
    make_campaign(store, make_units(1, 60))
    for round_ in range(15):
        ann = store.claim("night", "ann")
        clock.sleep(901)

        def answer(ann=ann, wait_s=round_ / 2000):  # a claim takes some milliseconds longer than an answer
            time.sleep(wait_s)
            return store.submit("night", ann.token, grade())

        asks = [answer, lambda: store.claim("night", "bob")]
        answered, bob = in_threads(lambda i, asks=asks: asks[i](), 2)
        has_it = bob is not None and bob.doc_id == ann.doc_id
        assert answered.event.kind == ("late" if has_it else "judged")
        if bob is not None:
            assert store.submit("night", bob.token, grade()).event.kind == "judged"


def test_everything_at_once_ends(each_store, made_url, request):
    """Claims, files, corrections, rebuilding: no two of them wait for each other for ever."""
    store = each_store
    log = None if made_url.startswith("sqlite") else request.getfixturevalue("postgresql").folder / "log"
    before = 0 if log is None else log.stat().st_size
    make_campaign(store, make_units(20, 2, per_block=10), k=2, lease_s=1)

    def work(i):
        judge = f"judge {i % 6}"
        for round_ in range(2):
            got = store.claim("night", judge)
            if got is not None:
                store.submit_and_claim("night", got.token, grade(i % 3))
            lines = [(f"q{u % 3}", f"d{u}-0", grade(round_ % 2), None) for u in (1 + i, 20 - i)]
            answers = store.record("night", judge, lines)
            if i % 5 == 0:
                store.rebuild("night")
            if answers[0].event.kind == "judged" and i % 6 == i:
                try_retract(store, answers[0].event.seq)

    in_threads(work)
    # the server would end a deadlock after a second, and the store try again
    assert log is None or b"deadlock" not in log.read_bytes()[before:]
    assert store.verify("night") == []
    assert not [event for event in store.events("night") if event.reason == "never drawn"]
    seqs = [event.seq for event in store.events("night")]
    assert seqs == list(range(1, len(seqs) + 1))


def try_retract(store, seq):
    with contextlib.suppress(StateError):  # somebody said something else meanwhile
        store.retract("night", seq, "boss", "at random")


def test_two_make_a_campaign_of_one_name_and_one_does(database_url):
    def make(_):
        try:
            with open_store(database_url, create=True) as store:
                return make_campaign(store)
        except InputError as error:
            return str(error)

    made = in_threads(make, 8)
    assert Counter(map(str, made)) == {"4": 1, "there is a campaign 'night' already": 7}
