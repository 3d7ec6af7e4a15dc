"""The connection breaks while a commit is under way: before the server has got it, or after it was done.

Nobody can tell the two apart. What can be sent again is, and counts once; all else ends in one line that says so.
"""

from __future__ import annotations

import itertools
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from proxy import AFTER, BEFORE, DURING, Proxy
from sqlalchemy import text
from store_cases import complaint, grade, make_campaign, make_units

from activeeval.campaigns.store import SampleRow, open_store
from activeeval.campaigns.store.database import TRIES
from activeeval.core.errors import ActiveEvalError, InputError, StateError

moments = pytest.mark.parametrize("when", [BEFORE, AFTER])


@pytest.fixture
def proxy(postgresql):
    proxy = Proxy(postgresql.port)
    yield proxy
    proxy.close()


@pytest.fixture
def url(postgresql, postgresql_url, maker):
    maker(postgresql_url, postgresql)
    return postgresql_url


@pytest.fixture
def cut_store(url, proxy):
    """Return a store whose commits are cut when the proxy is told to."""
    with open_store(proxy.url_of(url)) as store:
        yield store


def judged(store, key):
    return [event for event in store.events("night") if event.kind == "judged" and event.key == key]


@pytest.mark.parametrize(("when", "n_cuts"), [(BEFORE, TRIES - 1), (DURING, 1), (AFTER, TRIES - 1)])
def test_an_answer_whose_commit_was_cut_is_stored_once(cut_store, proxy, when, n_cuts):
    """Catches an answer that is lost or stored twice, and one that ends as late because it was stored already."""
    make_campaign(cut_store)
    got = cut_store.claim("night", "ann")
    proxy.cut([when] * n_cuts)
    answer = cut_store.submit("night", got.token, grade(3), key="k")
    assert proxy.n_cut == n_cuts
    assert [answer.event] == judged(cut_store, "k")
    assert (answer.event.kind, answer.event.grade, answer.event.doc_id) == ("judged", 3, got.doc_id)
    assert when == DURING or answer.is_repeated == (when == AFTER)
    assert cut_store.submit("night", got.token, grade(3), key="k").event == answer.event
    assert len(judged(cut_store, "k")) == 1
    assert cut_store.verify("night") == []


@moments
def test_an_answer_and_the_next_claim_whose_commit_was_cut(cut_store, proxy, when):
    """Catches a judge who gets two items, or a token that nobody knows."""
    make_campaign(cut_store)
    got = cut_store.claim("night", "ann")
    proxy.cut([when])
    answer, following = cut_store.submit_and_claim("night", got.token, grade())
    assert proxy.n_cut == 1
    assert answer.is_repeated == (when == AFTER)
    assert cut_store.waiting("night") == {"free": 6, "leased": 1, "done": 1}
    assert cut_store.submit("night", following.token, grade()).event.kind == "judged"
    assert cut_store.verify("night") == []


@moments
def test_a_file_whose_commit_was_cut_is_stored_once(cut_store, proxy, when):
    """Catches judgments of a file that are stored twice, of which the second ones count as corrections."""
    make_campaign(cut_store)
    proxy.cut([when])
    answers = cut_store.record("night", "ann", [("q1", "d1-0", grade(), None), ("q2", "d2-1", grade(2), None)])
    assert proxy.n_cut == 1
    assert [answer.event for answer in answers] == cut_store.events("night")[4:]
    assert cut_store.verify("night") == []


@moments
def test_an_answer_of_which_every_commit_is_cut_can_be_given_again(cut_store, proxy, when):
    """Catches "nothing was stored" where it was, and a second row for the answer that is given again."""
    make_campaign(cut_store)
    tokens = [cut_store.claim("night", judge).token for judge in ("ann", "bob")]
    # after one that was done the others find it, and are cut all the same
    proxy.cut([when] * TRIES)
    says = complaint(StateError, lambda: cut_store.submit("night", tokens[0], grade(), key="k"))
    assert proxy.n_cut == TRIES
    assert "the connection broke while this was being stored" in says
    assert "whether it was stored is unknown; try again, it is stored only once" in says
    answer = cut_store.submit("night", tokens[0], grade(), key="k")
    assert answer.is_repeated == (when == AFTER)
    assert judged(cut_store, "k") == [answer.event]
    assert cut_store.submit("night", tokens[1], grade()).event.kind == "judged"
    assert cut_store.verify("night") == []


def test_nothing_is_said_of_storing_where_somebody_only_reads(cut_store, proxy):
    """Catches a reader who is told that something may have been stored."""
    make_campaign(cut_store)
    proxy.cut([BEFORE] * TRIES)
    assert "stored" not in complaint(ActiveEvalError, lambda: cut_store.last_seq("night"))
    assert cut_store.last_seq("night") == 4


def create(store):
    make_campaign(store, name="another")


def grow(store):
    store.grow("night", SampleRow(version=2, digest="abd", payload=b""), make_units(1, first=5, version=2))


def retract(store):
    store.retract("night", 6, "boss", "spam")


def created(store):
    return "another" in store.campaigns()


def grown(store):
    return len(store.samples("night")) == 2


def retracted(store):
    return store.events("night")[-1].kind == "retracted"


@pytest.mark.parametrize(
    ("ask", "is_stored", "when"),
    [(create, created, AFTER), (grow, grown, BEFORE), (grow, grown, AFTER), (retract, retracted, BEFORE)],
)
def test_what_cannot_be_done_twice_says_that_its_fate_is_unknown(cut_store, proxy, when, ask, is_stored):
    """Catches a top-up that is stored twice, and a message that lets somebody make one twice by hand."""
    make_campaign(cut_store)
    cut_store.submit("night", cut_store.claim("night", "ann").token, grade())
    proxy.cut([when])
    says = complaint(StateError, lambda: ask(cut_store))
    assert proxy.n_cut == 1
    assert "the connection broke while this was being stored" in says
    assert "whether it was stored is unknown; check what is stored before you try again" in says
    assert is_stored(cut_store) == (when == AFTER)
    if when == AFTER:
        complaint((InputError, StateError), lambda: ask(cut_store))
    else:
        ask(cut_store)
        assert is_stored(cut_store)
    for name in cut_store.campaigns():
        assert cut_store.verify(name) == []


def end_at_commit(url, table, n):
    """Let the server end the processes of the next n transactions that wrote to a table, as they commit."""
    with open_store(url) as store:
        statements = (
            f"CREATE SEQUENCE so_far MAXVALUE {10**9}",
            f"""CREATE FUNCTION end_here() RETURNS trigger AS $$ BEGIN
                IF nextval('so_far') <= {n} THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF;
                RETURN NULL; END $$ LANGUAGE plpgsql""",
            f"""CREATE CONSTRAINT TRIGGER end_it AFTER INSERT ON {table} DEFERRABLE INITIALLY DEFERRED
                FOR EACH ROW EXECUTE FUNCTION end_here()""",
        )
        for statement in statements:
            store._database.write(lambda connection, statement=statement: connection.execute(text(statement)))


def test_a_process_of_the_server_that_is_ended_in_a_commit(url):
    """Catches an end by an administrator that is passed on, or taken for a refusal."""
    with open_store(url) as store:
        make_campaign(store)
        got = store.claim("night", "ann")
        end_at_commit(url, "event", 2)
        answer = store.submit("night", got.token, grade(), key="k")
        assert not answer.is_repeated
        assert judged(store, "k") == [answer.event]
        assert store.verify("night") == []


@pytest.mark.parametrize("n_units", [6, pytest.param(500, marks=pytest.mark.slow)])
def test_judges_at_a_network_that_breaks_all_the_time(cut_store, proxy, n_units):
    """Every fifth commit of eight judges is cut: with 500 units they give 2,000 answers."""
    make_campaign(cut_store, make_units(n_units, 4, per_block=n_units))
    refusals = []
    proxy.cut(itertools.cycle([BEFORE, *[None] * 4, AFTER, *[None] * 4, DURING, *[None] * 4]))

    def again(ask):
        while len(refusals) < n_units:
            try:
                return ask()
            except ActiveEvalError as error:
                refusals.append(str(error))
        raise AssertionError(refusals)

    def judge_all(i):
        answers, got = [], again(lambda: cut_store.claim("night", f"judge {i}"))
        while got is not None:
            token = got.token
            answer, got = again(lambda token=token: cut_store.submit_and_claim("night", token, grade(i % 3)))
            answers.append(answer.event)
        return answers

    with ThreadPoolExecutor(8) as threads:
        acknowledged = [event for events in threads.map(judge_all, range(8)) for event in events]
    assert proxy.n_cut >= n_units // 2
    proxy.cut([])
    assert all("stored once" in refusal for refusal in refusals)
    log = [event for event in cut_store.events("night") if event.kind in ("judged", "late")]
    assert sorted(acknowledged, key=lambda event: event.seq) == log
    assert Counter(event.kind for event in log) == {"judged": 4 * n_units}
    assert cut_store.verify("night") == []
