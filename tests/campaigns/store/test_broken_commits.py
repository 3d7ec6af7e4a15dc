"""The connection breaks while a commit is under way: before the server has got it, or after it was done.

Nobody can tell the two apart. What can be sent again is, and counts once; all else ends in one line that says so.
"""

import itertools
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from proxy import AFTER, BEFORE, DURING, Proxy
from sqlalchemy import text
from store_cases import check_whole, complaint, grade, make_campaign, make_units

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


@pytest.fixture
def cut_night(cut_store):
    make_campaign(cut_store)
    yield cut_store
    check_whole(cut_store)


def judged(store, key):
    return [event for event in store.events("night") if event.kind == "judged" and event.key == key]


@pytest.mark.parametrize(("when", "n_cuts"), [(BEFORE, TRIES - 1), (DURING, 1), (AFTER, TRIES - 1)])
def test_an_answer_whose_commit_was_cut_is_stored_once(cut_night, proxy, when, n_cuts):
    """Catches an answer that is lost or stored twice, and one that ends as late because it was stored already."""
    got = cut_night.claim("night", "ann")
    proxy.cut([when] * n_cuts)
    answer = cut_night.submit("night", got.token, grade(3), key="k")
    assert proxy.n_cut == n_cuts
    assert [answer.event] == judged(cut_night, "k")
    assert (answer.event.kind, answer.event.grade, answer.event.doc_id) == ("judged", 3, got.doc_id)
    assert when == DURING or answer.is_repeated == (when == AFTER)
    assert cut_night.submit("night", got.token, grade(3), key="k").event == answer.event
    assert len(judged(cut_night, "k")) == 1


@moments
def test_an_answer_and_the_next_claim_and_a_file_whose_commits_were_cut(cut_night, proxy, when):
    """Catches a judge who gets two items, a token that nobody knows, and judgments of a file that are stored twice."""
    got = cut_night.claim("night", "ann")
    proxy.cut([when, None, when])
    answer, following = cut_night.submit_and_claim("night", got.token, grade())
    assert answer.is_repeated == (when == AFTER)
    assert cut_night.waiting("night") == {"free": 6, "leased": 1, "done": 1}
    assert cut_night.submit("night", following.token, grade()).event.kind == "judged"
    answers = cut_night.record("night", "bob", [("q2", "d2-0", grade(), None), ("q2", "d2-1", grade(2), None)])
    assert [answer.event for answer in answers] == cut_night.events("night")[-2:]
    assert proxy.n_cut == 2


@moments
def test_an_answer_of_which_every_commit_is_cut_can_be_given_again(cut_night, proxy, when):
    """Catches "nothing was stored" where it was, and a second row for the answer that is given again."""
    tokens = [cut_night.claim("night", judge).token for judge in ("ann", "bob")]
    # after one that was done the others find it, and are cut all the same
    proxy.cut([when] * TRIES)
    says = complaint(StateError, lambda: cut_night.submit("night", tokens[0], grade(), key="k"))
    assert proxy.n_cut == TRIES
    assert "the connection broke while this was being stored" in says
    assert "whether it was stored is unknown; try again, it is stored only once" in says
    answer = cut_night.submit("night", tokens[0], grade(), key="k")
    assert answer.is_repeated == (when == AFTER)
    assert judged(cut_night, "k") == [answer.event]
    assert cut_night.submit("night", tokens[1], grade()).event.kind == "judged"


def test_nothing_is_said_of_storing_where_somebody_only_reads(cut_night, proxy):
    """Catches a reader who is told that something may have been stored."""
    proxy.cut([BEFORE] * TRIES)
    assert "stored" not in complaint(ActiveEvalError, lambda: cut_night.last_seq("night"))
    assert cut_night.last_seq("night") == 4


def grow(store):
    store.grow("night", SampleRow(version=2, digest="abd", payload=b""), make_units(1, first=5, version=2))


CREATE = lambda store: make_campaign(store, name="another"), lambda store: "another" in store.campaigns()
GROW = grow, lambda store: len(store.samples("night")) == 2
RETRACT = (
    lambda store: store.retract("night", 6, "boss", "spam"),
    lambda store: store.events("night")[-1].kind == "retracted",
)


@pytest.mark.parametrize(
    ("ask", "is_stored", "when"), [(*CREATE, AFTER), (*GROW, BEFORE), (*GROW, AFTER), (*RETRACT, BEFORE)]
)
def test_what_cannot_be_done_twice_says_that_its_fate_is_unknown(cut_night, proxy, when, ask, is_stored):
    """Catches a top-up that is stored twice, and a message that lets somebody make one twice by hand."""
    cut_night.submit("night", cut_night.claim("night", "ann").token, grade())
    proxy.cut([when])
    says = complaint(StateError, lambda: ask(cut_night))
    assert proxy.n_cut == 1
    assert "the connection broke while this was being stored" in says
    assert "whether it was stored is unknown; check what is stored before you try again" in says
    assert is_stored(cut_night) == (when == AFTER)
    if when == AFTER:
        complaint((InputError, StateError), lambda: ask(cut_night))
    else:
        ask(cut_night)
        assert is_stored(cut_night)


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
