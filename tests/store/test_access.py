"""Who may come in: invites that work once, sessions that end, of which the store has digests alone."""

from __future__ import annotations

import pytest
from store_cases import make_campaign

from activeeval.store import Person
from activeeval.store.access import IDLE_S, LASTS_S


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


def test_an_old_invite_is_refused(access, clock):
    invite = access.issue("invite", "judge", "ann")
    clock.sleep(LASTS_S["invite"] + 1)
    assert access.come_in(invite) is None


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
    secrets = [access.issue(kind, "judge", "ann") for kind in LASTS_S]
    assert all(len(secret) >= 43 for secret in secrets)
    assert not any(secret in repr(access.rows()) for secret in secrets)
