"""People sign in at another site that knows them: who gets in, and every answer that nobody believes."""

import logging
from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import pytest
from web.conftest import Site, item_of
from web.elsewhere_site import CLIENT, SECRET, START, AtSite, came_back, is_refused, went

from activeeval.campaigns.store import sign_ins
from activeeval.core.errors import InputError
from activeeval.web.oidc import Oidc, account_key
from activeeval.web.people import invited
from activeeval.web.provider import Provider, derived
from activeeval.web.settings import ServerSettings

MINUTE = 60 * 1_000_000


@pytest.fixture
def site(elsewhere):
    made = AtSite(elsewhere)
    yield made
    made.desk.reading.wait()


def test_a_lead_signs_in_and_everything_is_asked_for_as_it_should_be(site, elsewhere):
    browser = site.browser()
    assert f"Sign in at {urlsplit(elsewhere.issuer).netloc}" in browser.get("/sign-in").text
    address = went(site, browser)
    assert address.startswith(f"{elsewhere.issuer}/authorize?")
    asked = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
    assert (asked["response_type"], asked["client_id"], asked["scope"]) == ("code", CLIENT, "openid email")
    assert asked["redirect_uri"] == f"{site.served.door.url}/sign-in/elsewhere/back"
    assert asked["code_challenge_method"] == "S256"
    (cookie,) = [each for each in browser.cookies.jar if each.name.endswith("-start")]
    assert cookie.has_nonstandard_attr("HttpOnly")
    assert cookie.value not in address
    assert asked["state"] == derived(cookie.value, "state")
    came = browser.get(elsewhere.authorized(address), follow_redirects=False)
    assert (came.status_code, came.headers["location"]) == (303, "/lead")
    assert browser.get("/lead").status_code == 200
    assert "zoe" in browser.get("/lead/people").text
    assert not [each for each in browser.cookies.jar if each.name.endswith("-start")]
    assert SECRET not in came.text + str(came.headers)


def test_a_judge_signs_in_and_judges_under_the_name_in_the_campaign(site, elsewhere):
    elsewhere.says = {"email": "Ann@Example.org"}
    browser = site.browser()
    came = came_back(site, elsewhere, browser)
    assert (came.status_code, came.headers["location"]) == (303, "/judge")
    page = browser.get("/judge")
    browser.post("/judge/answer", data={"token": item_of(page)[2], "grade": 1})
    assert [event.judge for event in site.judged] == ["ann"]
    assert browser.get("/lead").status_code == 403


def test_whom_a_lead_invites_by_address_may_sign_in_until_it_is_ended(site, elsewhere):
    elsewhere.says = {"email": "Dora@example.org", "sub": "00u9"}
    assert came_back(site, elsewhere).status_code == 403
    lead = site.at("zoe", "lead")
    assert "may also" in lead.get("/lead/people").text
    lead.post("/lead/people", data={"person": "dora@example.org", "role": "judge"})
    dora = site.browser()
    assert came_back(site, elsewhere, dora).headers["location"] == "/judge"
    members = [row for row in site.store.access("week").rows() if row.kind == "member"]
    assert [(row.person, row.role) for row in members] == [("dora@example.org", "judge")]
    assert "another site" in lead.get("/lead/people").text
    lead.post(f"/lead/people/{members[0].id}/end")
    assert dora.get("/judge").status_code == 401
    assert came_back(site, elsewhere).status_code == 403


def test_by_the_number_of_an_account_people_are_known_exactly(elsewhere):
    site = AtSite(elsewhere, claim="sub", leads={"00U1": "zoe"}, judges={"00u1": "ann"})
    elsewhere.says = {"email": None, "email_verified": None}
    browser = site.browser()
    assert came_back(site, elsewhere, browser).headers["location"] == "/judge"
    elsewhere.says = {"sub": "ann"}
    assert came_back(site, elsewhere).status_code == 403
    site.served.store.access("week").let_in("ann")
    assert came_back(site, elsewhere).status_code == 403
    assert "/userinfo" not in elsewhere.asked


def test_an_address_that_the_token_lacks_is_asked_for_and_must_be_of_the_same_account(site, elsewhere):
    elsewhere.says = {"email": None, "email_verified": None}
    elsewhere.userinfo = {"sub": "somebody else", "email": "zoe@example.org", "email_verified": True}
    assert is_refused(site, came_back(site, elsewhere))
    elsewhere.userinfo |= {"sub": "00u1"}
    assert came_back(site, elsewhere).headers["location"] == "/lead"


def test_a_session_is_new_and_the_one_before_it_ends(site, elsewhere):
    browser = site.at("ann")
    before = browser.cookies.get(site.served.cookie)
    came_back(site, elsewhere, browser)
    first = browser.cookies.get(site.served.cookie)
    came_back(site, elsewhere, browser)
    access = site.store.access("week")
    secrets = [before, first, browser.cookies.get(site.served.cookie)]
    assert len(set(secrets)) == 3
    assert [access.person_of("session", secret) is not None for secret in secrets] == [False, False, True]


def test_letters_whose_small_ones_are_others_are_nobody_elses(elsewhere):
    site = AtSite(elsewhere)
    site.store.access("week").let_in("strasse@example.org")
    elsewhere.says = {"email": "stra\u00dfe@example.org"}
    assert came_back(site, elsewhere).status_code == 403
    assert account_key("\u212aim@example.org", "email") == "\u212aim@example.org"


def test_a_state_is_good_once_in_its_browser_and_for_ten_minutes(site, elsewhere):
    browser = site.browser()
    back = elsewhere.authorized(went(site, browser))
    stranger = site.browser()
    assert is_refused(site, stranger.get(back))
    went(site, stranger)
    assert is_refused(site, stranger.get(back))
    kept = dict(browser.cookies)
    assert browser.get(back, follow_redirects=False).headers["location"] == "/lead"
    thief = site.browser(cookies=kept)
    assert thief.get(back, follow_redirects=False).status_code == 400
    late = site.browser()
    back = elsewhere.authorized(went(site, late))
    site.case.clock.now += 10 * MINUTE
    assert late.get(back, follow_redirects=False).status_code == 400
    for query in ("", "?state=&code=x", "?code=x", "?state=%00&code=%00", "?state=\u00e9"):
        assert site.browser().get(f"{START}/back{query}").status_code == 400


def test_a_code_of_another_sign_in_is_of_no_use(site, elsewhere):
    mine, others = site.browser(), site.browser()
    theirs = parse_qs(urlsplit(elsewhere.authorized(went(site, others))).query)["code"][0]
    state = parse_qs(urlsplit(went(site, mine)).query)["state"][0]
    assert is_refused(site, mine.get(f"{START}/back?code={theirs}&state={state}"))


def test_who_says_no_elsewhere_is_signed_in_nowhere(site, elsewhere):
    browser = site.browser()
    state = parse_qs(urlsplit(went(site, browser)).query)["state"][0]
    response = browser.get(f"{START}/back?error=access_denied&error_description=<b>no&state={state}")
    assert is_refused(site, response)
    assert "did not sign you in" in response.text
    assert "<b>no" not in response.text


def test_an_answer_that_says_whence_must_say_it_rightly(site, elsewhere):
    assert is_refused(site, came_back(site, elsewhere, iss="https://evil.example"))
    assert came_back(site, elsewhere, iss=elsewhere.issuer).status_code == 303
    elsewhere.about = {"authorization_response_iss_parameter_supported": True}
    fresh = AtSite(elsewhere)
    assert is_refused(fresh, came_back(fresh, elsewhere))
    assert came_back(fresh, elsewhere, iss=elsewhere.issuer).status_code == 303


def test_a_client_that_shows_another_secret_lets_nobody_in(site, elsewhere, caplog):
    oidc = replace(site.served.provider.oidc, secret="another")
    site.change(provider=Provider(oidc))
    assert is_refused(site, came_back(site, elsewhere))
    assert "invalid_client" in caplog.text
    assert "another" not in caplog.text


def test_a_secret_goes_in_the_form_where_the_site_wants_it_there(elsewhere):
    elsewhere.about = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
    site = AtSite(elsewhere)
    assert came_back(site, elsewhere).status_code == 303


def test_keys_that_the_site_has_changed_are_asked_for_anew(site, elsewhere, monkeypatch):
    assert came_back(site, elsewhere).status_code == 303
    elsewhere.key = elsewhere.signs = type(elsewhere.key).generate_key(2048, {"kid": "second"})
    elsewhere.header = {"alg": "RS256", "kid": "second"}
    assert came_back(site, elsewhere).status_code == 400
    assert elsewhere.asked.count("/keys") == 1
    monkeypatch.setattr("activeeval.web.provider._AGAIN_S", -1)
    assert came_back(site, elsewhere).status_code == 303
    assert elsewhere.asked.count("/.well-known/openid-configuration") == 1


def test_a_site_that_is_down_is_said_to_be_away_and_comes_back(site, elsewhere):
    down = AtSite(elsewhere)
    oidc = replace(down.served.provider.oidc, issuer="http://127.0.0.1:9")
    down.change(provider=Provider(oidc))
    assert is_refused(down, down.browser().get(START, follow_redirects=False), 503)
    elsewhere.status = 503
    browser = site.browser()
    assert browser.get(START, follow_redirects=False).status_code == 503
    elsewhere.status = 200
    assert came_back(site, elsewhere, browser).status_code == 303


def test_people_are_sent_back_to_the_host_that_was_configured_and_to_no_other(elsewhere):
    door = ServerSettings(host="127.0.0.1", port=8347, address="https://judge.example")
    site = AtSite(elsewhere, door)
    browser = site.browser()
    assert parse_qs(urlsplit(went(site, browser)).query)["redirect_uri"] == [f"https://judge.example{START}/back"]
    assert browser.get(START, headers={"Host": "evil.example"}, follow_redirects=False).status_code == 421
    (cookie,) = [each for each in browser.cookies.jar if each.name.endswith("-start")]
    assert cookie.secure
    assert cookie.name.startswith("__Host-")
    local = AtSite(elsewhere)
    response = local.browser().get(START, headers={"Host": "localhost:8347"}, follow_redirects=False)
    assert response.headers["location"] == f"http://127.0.0.1:8347{START}"
    for place in ("//evil.example", "https://evil.example"):
        assert came_back(local, elsewhere, next=place, redirect_uri=place).headers["location"] == "/lead"


def test_too_many_that_never_come_back_are_refused_and_forgotten(site, elsewhere, monkeypatch):
    monkeypatch.setattr(sign_ins, "MOST", 3)
    for _ in range(3):
        went(site, site.browser())
    assert site.browser().get(START, follow_redirects=False).status_code == 503
    site.case.clock.now += 10 * MINUTE
    assert came_back(site, elsewhere).status_code == 303


def test_where_nobody_signs_in_elsewhere_there_is_no_such_page():
    plain = Site()
    assert plain.browser().get(START).status_code == 404
    assert plain.browser().get(f"{START}/back?state=x").status_code == 404
    assert "Sign in at" not in plain.browser().get("/sign-in").text
    assert "another site" not in plain.at("zoe", "lead").get("/lead/people").text
    invited(plain.served, "judge", "dora@example.org")
    assert {row.kind for row in plain.store.access("week").rows()} == {"invite", "session"}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        *(({"issuer": f"{start}accounts.example"}, "oidc") for start in ("http://", "", "https://ann:secret@")),
        *(({"issuer": f"https://{rest}"}, "oidc") for rest in ("accounts.example?x", "[::1")),
        *(({"client": ""}, "oidc_client"), ({"secret": "a\nb"}, "oidc_secret")),
    ],
)
def test_what_cannot_be_a_site_is_refused_at_the_start(change, field):
    oidc = Oidc(**({"issuer": "https://accounts.example", "client": "c", "secret": "s"} | change))
    with pytest.raises(InputError) as refused:
        ServerSettings().check(oidc)
    assert refused.value.field == field
    assert "a\nb" not in str(refused.value)
    assert "secret@" not in str(refused.value)


def test_it_needs_an_address_that_people_open_and_no_proxy_that_names_them():
    oidc = Oidc(issuer="https://accounts.example", client="c", secret="s")
    ServerSettings(address="https://judge.example", host="0.0.0.0", certificate="c", key="k").check(oidc)
    proxied = {"behind_proxy": "10.0.0.2", "auth_header": "X-Remote-User"}
    for door in ({"host": "0.0.0.0", "certificate": "c", "key": "k"}, proxied):
        with pytest.raises(InputError):
            ServerSettings(**door).check(oidc)
    assert "'s'" not in repr(oidc)


def test_nothing_secret_is_logged(site, elsewhere, caplog):
    caplog.set_level(logging.DEBUG, "activeeval")
    came_back(site, elsewhere)
    elsewhere.says = {"nonce": "x"}
    came_back(site, elsewhere)
    for secret in (SECRET, "a token", "code-", "eyJ"):
        assert secret not in caplog.text
