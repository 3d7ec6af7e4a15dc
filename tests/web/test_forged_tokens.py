"""Tokens that nobody believes, people whom nobody knows, and sites that cannot be asked: nobody gets in."""

import hmac
import json
from base64 import urlsafe_b64encode
from pathlib import Path

import pytest
from web.elsewhere_site import SECRET, START, AtSite, came_back, is_refused


@pytest.fixture(scope="module")
def closed(shared):
    """Return a site for all tests in which nobody comes in."""
    return AtSite(shared)


SITES = [json.loads(line) for line in Path(__file__).with_name("doubtful-sites.jsonl").read_text().splitlines()]


def sites_of(what):
    return [pytest.param(row, id=row["name"]) for row in SITES if row["what"] == what]


@pytest.mark.parametrize("lie", sites_of("lie"))
def test_a_token_that_is_not_for_this_sign_in_lets_nobody_in(closed, elsewhere, lie, caplog):
    vars(elsewhere).update(lie["site"])
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


@pytest.mark.parametrize("who", sites_of("unknown"))
def test_who_is_nobody_here_is_told_so_in_a_sentence(closed, elsewhere, who):
    vars(elsewhere).update(who["site"])
    response = came_back(closed, elsewhere)
    assert is_refused(closed, response, 403)
    assert who["says"] in response.text
    assert "<img" not in response.text


LONG = [{"site": {"answer": text}} for text in ('"' + "x" * (2 << 20) + '"', "[" * 200_000)]


@pytest.mark.parametrize("away", [*sites_of("away"), *LONG])
def test_a_site_that_cannot_be_asked_is_said_to_be_away(elsewhere, away):
    site = AtSite(elsewhere)
    vars(elsewhere).update(away["site"])
    response = site.browser().get(START, follow_redirects=False)
    assert is_refused(site, response, 503)
    assert "cannot be reached at the moment" in response.text
    assert int(response.headers["retry-after"]) > 0
    assert "location" not in response.headers
