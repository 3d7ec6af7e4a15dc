"""Tokens that nobody believes, people whom nobody knows, and sites that cannot be asked: nobody gets in."""

import hmac
import json
from base64 import urlsafe_b64encode

import pytest
from web.elsewhere_site import CLIENT, SECRET, START, AtSite, came_back, is_refused


@pytest.fixture(scope="module")
def closed(shared):
    """Return a site for all tests in which nobody comes in."""
    return AtSite(shared)


NOW = 1_600_000_000
LIES = {
    "another issuer": {"says": {"iss": "https://evil.example"}},
    "another audience": {"says": {"aud": "another client"}},
    "no audience": {"says": {"aud": None}},
    "two audiences without a party": {"says": {"aud": [CLIENT, "another"]}},
    "another party": {"says": {"aud": [CLIENT, "another"], "azp": "another"}},
    "expired": {"says": {"exp": NOW}},
    "expires never": {"says": {"exp": None}},
    "expires at no time": {"says": {"exp": "soon"}},
    "issued in the future": {"says": {"iat": 4_000_000_000}},
    "not yet good": {"says": {"nbf": 4_000_000_000}},
    "another nonce": {"says": {"nonce": "of another sign-in"}},
    "no nonce": {"says": {"nonce": None}},
    "nobody": {"says": {"sub": None}},
    "another access token": {"says": {"at_hash": "bm90IGl0"}},
}


@pytest.mark.parametrize("lie", LIES)
def test_a_token_that_is_not_for_this_sign_in_lets_nobody_in(closed, elsewhere, lie, caplog):
    vars(elsewhere).update(LIES[lie])
    refused = came_back(closed, elsewhere)
    assert is_refused(closed, refused)
    assert "is not valid" in refused.text
    assert "ID token" in caplog.text
    assert SECRET not in caplog.text
    assert "code-" not in caplog.text


def by_hand(claims, header, key=b""):
    """Return a token that is signed with a secret, or not at all."""
    parts = [urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in (header, claims)]
    signature = hmac.digest(key, b".".join(parts), "sha256") if key else b""
    return b".".join([*parts, urlsafe_b64encode(signature).rstrip(b"=")]).decode()


def with_a_secret(key):
    return lambda claims: by_hand(claims, {"alg": "HS256", "kid": "first"}, key)


FORGED = {
    "another key": lambda site: vars(site).update(signs=site.stranger),
    "a key that nobody knows": lambda site: vars(site).update(header={"alg": "RS256", "kid": "second"}),
    "no signature": lambda site: vars(site).update(token_of=lambda claims: by_hand(claims, {"alg": "none"})),
    "the public key as a secret": lambda site: vars(site).update(
        token_of=with_a_secret(site.key.as_pem(private=False))
    ),
    "the client's secret": lambda site: vars(site).update(token_of=with_a_secret(SECRET.encode())),
    "no token": lambda site: vars(site).update(token_of=lambda claims: ""),
    "no JSON": lambda site: vars(site).update(token_of=lambda claims: "a.b.c"),
    "many dots": lambda site: vars(site).update(token_of=lambda claims: "." * 1000),
}


@pytest.mark.parametrize("forgery", FORGED)
def test_a_token_that_the_site_has_not_signed_lets_nobody_in(closed, elsewhere, forgery):
    FORGED[forgery](elsewhere)
    assert is_refused(closed, came_back(closed, elsewhere))


def test_a_changed_token_lets_nobody_in(closed, elsewhere):
    honest = elsewhere.token_of

    def changed(claims):
        _, body, _ = honest(claims | {"email": "zoe@example.org"}).split(".")
        head, _, signature = honest(claims).split(".")
        return f"{head}.{body}.{signature}"

    elsewhere.says, elsewhere.token_of = {"email": "eve@example.org"}, changed
    assert is_refused(closed, came_back(closed, elsewhere))


UNKNOWN = {
    "nobody here": ({"email": "eve@example.org"}, "has no access to this campaign"),
    "an address that nobody verified": ({"email_verified": False}, "has not verified"),
    "an address of which nothing is said": ({"email_verified": None}, "has not verified"),
    "verified in words": ({"email_verified": "yes"}, "has not verified"),
    "no address": ({"email": ""}, "did not send your"),
    "an address that is none": ({"email": ["zoe@example.org"]}, "did not send your"),
    "letters that look alike": ({"email": "zoe@example.or\u0261"}, "has no access to this campaign"),
    "markup": ({"email": "<img src=x onerror=alert(1)>@example.org"}, "has no access to this campaign"),
}


@pytest.mark.parametrize("who", UNKNOWN)
def test_who_is_nobody_here_is_told_so_in_a_sentence(closed, elsewhere, who):
    elsewhere.says, sentence = UNKNOWN[who]
    response = came_back(closed, elsewhere)
    assert is_refused(closed, response, 403)
    assert sentence in response.text
    assert "<img" not in response.text


AWAY = {
    "broken": {"status": 500},
    "gone": {"status": 404},
    "sends elsewhere": {"status": 302},
    "no JSON": {"answer": b"<html>"},
    "a list": {"answer": b"[]"},
    "endless": {"answer": b'"' + b"x" * (2 << 20) + b'"'},
    "deep": {"answer": b"[" * 200_000},
    "another name": {"about": {"issuer": "https://evil.example"}},
    "no address": {"about": {"authorization_endpoint": None}},
    "an address without a lock": {"about": {"authorization_endpoint": "http://192.0.2.1/authorize"}},
    "a file": {"about": {"authorization_endpoint": "file:///etc/passwd"}},
    "a script": {"about": {"authorization_endpoint": "javascript:alert(1)"}},
}


@pytest.mark.parametrize("how", AWAY)
def test_a_site_that_cannot_be_asked_is_said_to_be_away(elsewhere, how):
    site = AtSite(elsewhere)
    vars(elsewhere).update(AWAY[how])
    response = site.browser().get(START, follow_redirects=False)
    assert is_refused(site, response, 503)
    assert "cannot be reached at the moment" in response.text
    assert int(response.headers["retry-after"]) > 0
    assert "location" not in response.headers
