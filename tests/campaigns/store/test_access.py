"""Who may come in: invites that work once, sessions that end, of which the store has digests alone."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from store_cases import make_campaign

from activeeval.campaigns.store import Person
from activeeval.campaigns.store.access import IDLE_S, LASTS_S
from activeeval.campaigns.store.password_attempts import FORGOTTEN_S, LONGEST_WAIT_S, N_FREE
from activeeval.core.errors import InputError


@pytest.fixture
def access(store):
    make_campaign(store)
    return store.access("night")


def test_an_invite_works_once(access):
    invite = access.issue("invite", "judge", "ann")
    secret, person = access.come_in(invite)
    assert person == access.person_of("session", secret) == Person("ann", "judge")
    assert access.come_in(invite) is None
    assert access.person_of("session", invite) is None
    assert access.person_of("token", secret) is None


def test_coming_in_again_ends_the_session_before(access):
    before, _ = access.come_in(access.issue("invite", "judge", "ann"))
    after, _ = access.come_in(access.issue("invite", "lead", "zoe"), before)
    assert access.person_of("session", before) is None
    assert access.person_of("session", after) == Person("zoe", "lead")


def test_a_session_ends_by_being_left_alone_and_by_its_age(access, clock):
    secret, _ = access.come_in(access.issue("invite", "judge", "ann"))
    for _ in range(10):
        clock.sleep(IDLE_S - 1)
        assert access.person_of("session", secret) is not None
    clock.sleep(IDLE_S + 1)
    assert access.person_of("session", secret) is None
    used, _ = access.come_in(access.issue("invite", "judge", "ann"))
    for _ in range(LASTS_S["session"] // (IDLE_S - 1)):
        clock.sleep(IDLE_S - 1)
        access.person_of("session", used)
    clock.sleep(IDLE_S - 1)
    assert access.person_of("session", used) is None


def test_what_is_revoked_lets_nobody_in(access):
    token = access.issue("token", "judge", "ann")
    secret, _ = access.come_in(access.issue("invite", "judge", "bob"))
    invite = access.issue("invite", "judge", "cy")
    for row in access.rows():
        access.end_by_id(row.id)
    assert access.person_of("token", token) is None
    assert access.person_of("session", secret) is None
    assert access.come_in(invite) is None
    assert not any(row.is_open for row in access.rows())


def test_no_secret_is_stored(access, store):
    secrets = [access.issue(kind, "judge", "ann") for kind in ("invite", "session", "token")]
    assert all(len(secret) >= 43 for secret in secrets)
    assert not any(secret in repr(access.rows()) for secret in secrets)


def test_a_token_keeps_its_scope(access):
    assert access.person_of("token", access.issue("token", "judge", "ann", "status")).scope == "status"
    assert access.person_of("token", access.issue("token", "judge", "ann")).scope == "all"
    with pytest.raises(InputError, match="scope must be one of all, status"):
        access.issue("token", "judge", "ann", "half")
    with pytest.raises(InputError, match="expected one of invite, session, token"):
        access.issue("password", "lead", "zoe")


def test_a_new_password_ends_the_old_one_and_all_sessions_before(access):
    before, _ = access.come_in(access.issue("invite", "lead", "zoe"))
    assert access.password_of("zoe") is None
    first = access.set_password("Zoe ", "hash 1")
    assert access.person_of("session", before) is None
    second = access.set_password("zoe", "hash 2")
    assert access.person_of("session", first) is None
    assert access.person_of("session", second) == Person("zoe", "lead")
    assert access.try_password("ZOE", "here").hash == "hash 2"
    assert access.sign_in("zoe", "here", "hash 1") is None
    secret, person = access.sign_in("zoe", "here", "hash 2", second)
    assert person == access.person_of("session", secret) == Person("zoe", "lead")
    assert access.person_of("session", second) is None


@pytest.mark.parametrize("person", ["zoe", "nobody"])
def test_tries_of_a_name_are_counted_wherever_they_come_from(access, clock, person):
    access.set_password("zoe", "hash")
    waits = [access.try_password(person, f"address {k}").wait_s for k in range(N_FREE + 1)]
    assert waits == [0] * N_FREE + [30]
    clock.sleep(30)
    assert [access.try_password(person, "another").wait_s for _ in range(2)] == [0, 60]
    assert access.try_password("yan", "yet another").wait_s == 0


def test_tries_from_an_address_are_counted_whatever_the_name(access, clock):
    waits = [access.try_password(f"name {k}", "here").wait_s for k in range(N_FREE + 1)]
    assert waits == [0] * N_FREE + [30]
    for _ in range(12):
        clock.sleep(access.try_password("zoe", "here").wait_s)
        assert access.try_password("zoe", "here").wait_s == 0
    assert access.try_password("zoe", "here").wait_s == LONGEST_WAIT_S
    clock.sleep(FORGOTTEN_S + 1)
    assert access.try_password("zoe", "here").wait_s == 0


def test_whoever_is_right_has_all_tries_again_and_the_address_what_failed_there(access):
    access.set_password("zoe", "hash")
    assert [access.try_password("zoe", "here").wait_s for _ in range(N_FREE - 1)] == [0] * (N_FREE - 1)
    assert access.sign_in("zoe", "here", "hash") is not None
    assert [access.try_password("zoe", "there").wait_s for _ in range(N_FREE + 1)] == [0] * N_FREE + [30]
    n_left = N_FREE - (N_FREE - 2)
    assert [access.try_password("yan", "here").wait_s for _ in range(n_left + 1)] == [0] * n_left + [30]


def test_tries_at_once_are_no_more_than_tries_one_by_one(access):
    with ThreadPoolExecutor(12) as pool:
        waits = list(pool.map(lambda k: access.try_password("zoe", f"address {k}").wait_s, range(24)))
    assert waits.count(0) == N_FREE
