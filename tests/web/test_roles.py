"""Who may use which route: a table that is made of the routes themselves."""

from __future__ import annotations

import re

import pytest
from fastapi.routing import APIRoute
from web.conftest import Site

from activeeval.web.roles import role_of

SITE = Site()
ROUTES = [route for route in SITE.app.app.routes if isinstance(route, APIRoute)]
CALLS = [(method, route) for route in ROUTES for method in sorted(route.methods)]
ALLOWED = {
    "anyone": {"nobody", "judge", "lead", "token"},
    "judge": {"judge", "lead"},
    "lead": {"lead"},
    "token": {"token"},
}
every_call = pytest.mark.parametrize(("method", "route"), CALLS, ids=[f"{m} {r.path}" for m, r in CALLS])


def who(role):
    if role == "nobody":
        return SITE.browser()
    return SITE.program("ann") if role == "token" else SITE.at("ann", role)


def path_of(route):
    name = "week" if "/campaigns/" in route.path else "1"
    return re.sub(r"\{[^}]+\}", name, route.path)


def test_there_are_no_routes_of_another_kind():
    assert [route for route in SITE.app.app.routes if not isinstance(route, APIRoute)] == []


@every_call
def test_every_route_names_its_role(method, route):
    assert role_of(route.endpoint) in ALLOWED


@every_call
@pytest.mark.parametrize("role", ["nobody", "judge", "lead", "token"])
def test_a_route_lets_in_whom_it_names(method, route, role):
    response = who(role).request(method, path_of(route), follow_redirects=False)
    is_let_in = response.status_code not in (401, 403)
    assert is_let_in == (role in ALLOWED[role_of(route.endpoint)])


@every_call
@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://127.0.0.1:9999"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": ""},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
    ],
    ids=str,
)
def test_forms_of_other_pages_are_refused(method, route, headers):
    if method == "GET" or route.path.startswith("/api/"):
        return
    browser = SITE.at()
    n = SITE.store.last_seq("week")
    assert browser.request(method, path_of(route), headers=headers).status_code == 403
    assert SITE.store.last_seq("week") == n


@every_call
@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1:9999", "evil.example:8347", ""])
def test_another_host_is_refused(method, route, host):
    assert SITE.at().request(method, path_of(route), headers={"Host": host}).status_code == 421


def test_a_route_without_a_role_is_closed():
    site = Site()
    site.app.app.add_api_route("/open", lambda: "open", methods=["GET"])
    assert site.at(role="lead").get("/open").status_code == 403
