"""Leads sign in with a password: sessions that are new each time, tries that run out, work that says nothing."""

import re
from types import SimpleNamespace

import pytest
from sqlalchemy import text
from web.conftest import Site, come_in, says

from activeeval.campaigns.store.password_attempts import N_FREE
from activeeval.web import passwords
from activeeval.web.people import invited
from activeeval.web.settings import ServerSettings

GOOD = "correct horse battery staple"


@pytest.fixture
def work(monkeypatch):
    """Count hashes that are made and looked at; each takes no time."""
    counted = {"made": 0, "looked at": 0}

    def make(password):
        counted["made"] += 1
        return f"hash {counted['made']} of {password.hex()}"

    def look(password_hash, password):
        from argon2.exceptions import VerifyMismatchError

        counted["looked at"] += 1
        if password_hash.rpartition(" ")[2] != password.hex():
            raise VerifyMismatchError

    monkeypatch.setattr(passwords, "hasher", lambda: SimpleNamespace(hash=make, verify=look))
    return counted


def lead_with_password(site, password=GOOD, name="zoe"):
    lead = site.at(name, "lead")
    assert lead.post("/lead/password", data={"password": password, "again": password}).status_code == 200
    return lead


def sign_in(browser, name="zoe", password=GOOD, **options):
    data = {"person": name, "password": password}
    return browser.post("/sign-in", data=data, follow_redirects=False, **options)


def secret_in(browser, site):
    return browser.cookies.get(site.served.cookie)


def test_a_lead_sets_a_password_and_signs_in_with_it_elsewhere(site):
    lead_with_password(site)
    browser = site.browser()
    assert "Sign in" in browser.get("/sign-in").text
    came = sign_in(browser, " Zoe ")
    assert (came.status_code, came.headers["location"]) == (303, "/lead")
    assert browser.get("/lead").status_code == 200
    held = [row for row in site.store.access("week").rows() if row.kind == "password"]
    assert [(row.person, row.role, row.is_open) for row in held] == [("zoe", "lead", True)]
    assert "a password" in browser.get("/lead/people").text


def test_what_is_stored_is_argon2id(site):
    lead_with_password(site)
    stored = site.store.access("week").try_password("zoe", "here").hash
    assert stored.startswith("$argon2id$v=19$m=65536,t=3,p=4$")
    assert GOOD not in stored
    assert not passwords.hasher().check_needs_rehash(passwords.NOBODYS)
    assert not passwords.is_right(GOOD, None)


@pytest.mark.parametrize(
    ("password", "more", "problem"),
    [
        ("elevenchars", "", "at least 12"),
        ("", "", "at least 12"),
        ("x" * 1001, "", "at most 1000"),
        (GOOD, ".", "differ"),
    ],
)
def test_a_password_that_is_none_is_refused(site, work, password, more, problem):
    lead = site.at("zoe", "lead")
    refused = lead.post("/lead/password", data={"password": password, "again": password + more})
    says(refused, 422, problem)
    assert work["made"] == 0
    assert lead.get("/lead").status_code == 200


def test_letters_are_the_same_however_a_keyboard_composes_them(site, work):
    lead_with_password(site, "zo\u00eb zo\u00eb zo\u00eb zo\u00eb")
    assert sign_in(site.browser(), password="zoe\u0308 zoe\u0308 zoe\u0308 zoe\u0308").status_code == 303


def test_a_session_is_new_at_each_sign_in_whatever_cookie_came_before(site, work):
    lead_with_password(site)
    browser = site.browser()
    browser.cookies.set(site.served.cookie, "fixed by somebody else", domain="127.0.0.1", path="/")
    sign_in(browser)
    first = secret_in(browser, site)
    assert first != "fixed by somebody else"
    sign_in(browser)
    second = secret_in(browser, site)
    assert second != first
    access = site.store.access("week")
    people = [access.person_of("session", secret) for secret in (first, "fixed by somebody else", second)]
    assert [person and person.role for person in people] == [None, None, "lead"]


def test_a_session_that_was_signed_out_of_lets_nobody_in_again(site, work):
    lead_with_password(site)
    browser, thief = site.browser(), site.browser()
    sign_in(browser)
    thief.cookies.set(site.served.cookie, secret_in(browser, site))
    assert thief.get("/lead").status_code == 200
    assert browser.post("/go-out").status_code == 200
    assert thief.get("/lead").status_code == 401
    assert browser.get("/lead").status_code == 401


def test_a_new_password_ends_all_other_browsers_of_the_lead_and_the_old_password(site, work):
    lead = lead_with_password(site)
    other = site.browser()
    sign_in(other)
    judge = site.at("ann")
    new = "another long password"
    assert lead.post("/lead/password", data={"password": new, "again": new}).status_code == 200
    assert (other.get("/lead").status_code, lead.get("/lead").status_code) == (401, 200)
    assert judge.get("/judge").status_code == 200
    assert sign_in(other).status_code == 403
    assert sign_in(other, password=new).status_code == 303


def test_a_used_an_expired_and_an_ended_invite_let_nobody_in(site):
    used, ended = (invited(site.served, "lead", name) for name in ("zoe", "yan"))
    assert come_in(site.browser(), used).status_code == 200
    access = site.store.access("week")
    access.end_by_id(next(row.id for row in access.rows() if row.person == "yan"))
    expired = invited(site.served, "lead", "xia")
    site.case.clock.now += 7 * 86_400 * 1_000_000 + 1
    for link in (used, ended, expired):
        for refused in (site.browser().get(link), site.browser().post(link)):
            says(refused, 410, "Ask its sender for a new one")
            assert "set-cookie" not in refused.headers


def test_what_is_wrong_is_the_same_work_and_the_same_words_for_every_name(site, work):
    lead_with_password(site)
    site.at("ann")
    answers = []
    for name in ("zoe", "ann", "nobody", ""):
        work["looked at"] = 0
        answers.append(sign_in(site.browser(client=(f"192.0.2.{len(answers)}", 1)), name, "wrong " + GOOD))
        assert work["looked at"] == 1, name
    assert {answer.status_code for answer in answers} == {403}
    texts = {re.sub(' value="[^"]*"', "", answer.text) for answer in answers}
    assert len(texts) == 1
    assert work["made"] == 1


@pytest.mark.parametrize("name", ["zoe", "nobody"])
def test_after_five_tries_of_a_name_nothing_is_looked_at_wherever_they_come_from(site, work, name):
    lead_with_password(site)
    browsers = [site.browser(client=(f"192.0.2.{k}", 1)) for k in range(N_FREE + 2)]
    statuses = [sign_in(browser, name, "wrong " + GOOD).status_code for browser in browsers]
    assert statuses == [403] * N_FREE + [429] * 2
    assert work["looked at"] == N_FREE
    right = sign_in(site.browser(client=("192.0.2.99", 1)), name)
    assert (right.status_code, work["looked at"]) == (429, N_FREE)
    assert 20 < int(right.headers["retry-after"]) <= 30
    assert "Please wait" in right.text
    site.case.clock.now += 31 * 1_000_000
    assert sign_in(site.browser(), name).status_code == (303 if name == "zoe" else 403)


def test_addresses_of_one_network_are_one(site, work):
    statuses = [sign_in(site.browser(client=(f"2001:db8::{k}", 1)), f"name {k}").status_code for k in range(6)]
    assert statuses == [403] * 5 + [429]
    assert sign_in(site.browser(client=("2001:db8:1::1", 1))).status_code == 403


def test_behind_a_proxy_the_address_is_what_the_proxy_says_last(work):
    site = Site(door=ServerSettings(host="127.0.0.1", port=8347, behind_proxy="192.0.2.1"))

    def status(k, forwarded):
        browser = site.browser(client=("192.0.2.1", 1))
        return sign_in(browser, f"name {k}", headers={"X-Forwarded-For": forwarded}).status_code

    assert [status(k, f"10.0.0.{k}, 198.51.100.7") for k in range(6)] == [403] * 5 + [429]
    assert status(7, "198.51.100.7, 203.0.113.9") == 403


def test_no_name_that_was_typed_is_stored(site, work):
    sign_in(site.browser(), "my secret password", "zoe")
    rows = site.store._database.read(lambda c: list(c.execute(text("SELECT * FROM sign_in_try"))))
    assert len(rows) == 2
    assert "secret" not in repr(rows)


def test_where_the_proxy_says_who_asks_there_are_no_passwords():
    site = Site(door=ServerSettings(host="127.0.0.1", port=8347, behind_proxy="192.0.2.1", auth_header="X-Remote-User"))
    lead = site.browser(client=("192.0.2.1", 1))
    lead.headers["X-Remote-User"] = "lead"
    assert "New password" not in lead.get("/lead/people").text
    assert lead.post("/lead/password", data={"password": GOOD, "again": GOOD}).status_code == 409


def test_a_lead_makes_tokens_of_both_scopes_sees_and_ends_them(site):
    lead = site.at("zoe", "lead")
    program = {}
    for scope in ("all", "status"):
        page = lead.post("/lead/tokens", data={"person": "Robot", "scope": scope}).text
        secret = re.search(r'class="secret">([^<]+)<', page)[1]
        program[scope] = site.browser(cookies={})
        program[scope].headers["Authorization"] = f"Bearer {secret}"
        assert secret not in lead.get("/lead/people").text
    url = "/api/campaigns/week"
    item = program["all"].post(f"{url}/claim", json={}).json()
    assert program["all"].post(f"{url}/submit", json={"token": item["token"], "grade": 1}).json()["judge"] == "robot"
    assert program["status"].get(f"{url}/status").json()["judged"] == 1
    for call in ("claim", "submit"):
        refused = program["status"].post(f"{url}/{call}", json={"token": item["token"], "grade": 2})
        assert refused.status_code == 403
        assert "only for the status" in refused.json()["error"]
    listed = lead.get("/lead/people").text
    assert "a program, to ask how far it is" in listed
    for row in [row for row in site.store.access("week").rows() if row.kind == "token"]:
        lead.post(f"/lead/people/{row.id}/end")
    assert [each.get(f"{url}/status").status_code for each in program.values()] == [401, 401]
    for data in ({"person": "", "scope": "all"}, {"person": "robot", "scope": "lead"}, {"person": "robot"}):
        assert lead.post("/lead/tokens", data=data).status_code == 422
