"""Who may use which route, from where: tables that are made of the routes themselves."""

import json
import re

import pytest
from fastapi.routing import APIRoute
from sqlalchemy import MetaData, select
from web.conftest import BASE, Served, Site, answer, item_of
from web.elsewhere_site import AtSite
from web.test_comparing_page import Compares, pair_of, prefer

from activeeval.campaigns.create_and_grow import create
from activeeval.core.campaign import Rules
from activeeval.web.desks import FRAME_POLICY
from activeeval.web.lead_pages import _PICTURE_POLICY
from activeeval.web.middleware import HEADERS, PAGE_POLICY
from activeeval.web.roles import role_of
from activeeval.web.settings import ServerSettings

SITE, PAIRS, TABLES = Site(), Compares(), MetaData()


def calls_of(site):
    """Return every method and route of an application."""
    routes = [route for route in site.app.app.routes if isinstance(route, APIRoute)]
    return [(method, route) for route in routes for method in sorted(route.methods)]


CALLS = calls_of(SITE)
OF_PAIRS = [(m, r) for m, r in calls_of(PAIRS) if (m, r.path) not in {(m, r.path) for m, r in CALLS}]
UNSAFE = [(method, route) for method, route in CALLS if method != "GET"]
ALLOWED = {
    "anyone": {"nobody", "judge", "lead", "token", "status token"},
    "judge": {"judge", "lead"},
    "lead": {"lead"},
    "token": {"token"},
    "any token": {"token", "status token"},
}
ROLES = ("nobody", "judge", "lead", "token", "status token")


def who(role, site=SITE, name="ann"):
    if "token" in role:
        return site.program(name, "status" if role == "status token" else "all")
    return site.browser() if role == "nobody" else site.at(name, role)


def path_of(route, site=SITE):
    name = site.served.name if "/campaigns/" in route.path else "1"
    return re.sub(r"\{[^}]+\}", name, route.path)


def all_rows(site):
    """Return all that is stored, but for when somebody was last seen."""

    def look(connection):
        if not TABLES.tables:
            TABLES.reflect(connection)
        return {
            name: sorted(
                repr({key: value for key, value in row._mapping.items() if key != "seen_at"})
                for row in connection.execute(select(table))
            )
            for name, table in TABLES.tables.items()
        }

    return site.store._database.read(look)


def has_the_headers(response):
    policies = {PAGE_POLICY, FRAME_POLICY, _PICTURE_POLICY}
    assert response.headers["content-security-policy"] in policies
    assert response.headers["cache-control"] in ("no-store", "public, max-age=3600")
    assert response.headers["referrer-policy"] in ("same-origin", "no-referrer")
    for name in set(HEADERS) - {"cache-control", "content-security-policy", "referrer-policy"}:
        assert response.headers[name] == HEADERS[name], name
    assert not response.content or response.headers["content-type"]
    return True


def test_there_are_no_routes_of_another_kind():
    assert [route for route in SITE.app.app.routes if not isinstance(route, APIRoute)] == []


def test_every_route_names_its_role():
    assert {role_of(route.endpoint) for _, route in CALLS + OF_PAIRS} <= set(ALLOWED)


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize(("site", "calls"), [(SITE, CALLS), (PAIRS, OF_PAIRS)], ids=["grades", "pairs"])
def test_a_route_lets_in_whom_it_names(site, calls, role):
    table, client = {}, None
    for method, route in calls:
        client = client or who(role, site)
        response = client.request(method, path_of(route, site), follow_redirects=False)
        client = client if method == "GET" else None  # who posts may have gone out, or ended somebody
        assert has_the_headers(response)
        table[method, route.path] = response.status_code not in (401, 403)
    assert table == {(method, route.path): role in ALLOWED[role_of(route.endpoint)] for method, route in calls}
    assert len(table) >= (2 if site is PAIRS else 30)


def test_it_lets_in_the_same_where_people_sign_in_elsewhere(elsewhere):
    site = AtSite(elsewhere)
    for role in ("nobody", "judge"):
        test_a_route_lets_in_whom_it_names(site, calls_of(site), role)


def test_other_methods_are_refused_and_change_nothing():
    methods = ("HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "NONSENSE")
    lead = who("lead")
    before = all_rows(SITE)
    for k, path in enumerate(sorted({path_of(route) for _, route in CALLS})):
        response = lead.request(methods[k % len(methods)], path)
        assert response.status_code == 405, path
        assert has_the_headers(response)
    assert all_rows(SITE) == before


ELSEWHERE = [
    ("other port", {"Origin": "http://127.0.0.1:9999"}, 403),
    ("other host", {"Origin": "http://evil.example"}, 403),
    ("other scheme", {"Origin": "https://127.0.0.1:8347", "Sec-Fetch-Site": "same-site"}, 403),
    ("null origin", {"Origin": "null"}, 403),
    ("missing headers", {"Origin": None}, 403),
    ("empty origin", {"Origin": ""}, 403),
    ("other site", {"Origin": BASE, "Sec-Fetch-Site": "cross-site"}, 403),
    ("same site, other port", {"Origin": BASE, "Sec-Fetch-Site": "same-site"}, 403),
    ("from the address bar", {"Origin": BASE, "Sec-Fetch-Site": "none"}, 403),
    ("rebinding host", {"Host": "evil.example:8347", "Origin": "http://evil.example:8347"}, 421),
    ("rebinding host, believed", {"Host": "evil.example:8347", "Sec-Fetch-Site": "same-origin"}, 421),
    ("host of another port", {"Host": "127.0.0.1:9999", "Origin": "http://127.0.0.1:9999"}, 421),
    ("no host", {"Host": "", "Origin": "http://"}, 421),
]


@pytest.mark.parametrize(("headers", "status"), [row[1:] for row in ELSEWHERE], ids=[row[0] for row in ELSEWHERE])
def test_what_comes_from_elsewhere_is_refused_and_changes_nothing(headers, status):
    """Each is asked by somebody who else may: with a lead's cookie, or a good token."""
    lead, token = clients = who("lead"), who("token")
    sent = {name: value for name, value in headers.items() if value is not None}
    for client in clients if len(sent) < len(headers) else ():
        del client.headers["Origin"]
    before, by_programs = all_rows(SITE), []
    for method, route in UNSAFE:
        is_api = role_of(route.endpoint) == "token"
        if is_api and headers == {"Origin": None}:
            by_programs.append((method, route))
            continue
        response = (token if is_api else lead).request(method, path_of(route), headers=sent)
        assert response.status_code == status
        assert has_the_headers(response)
    assert all_rows(SITE) == before
    for method, route in by_programs:  # a program says nothing of where it comes from
        assert token.request(method, path_of(route)).status_code not in (401, 403)


@pytest.mark.parametrize("role", ["nobody", "judge", "lead"])
def test_a_cookie_is_no_token_whatever_it_says_of_where_it_comes_from(role):
    client = who(role)
    del client.headers["Origin"]
    before = all_rows(SITE)
    for method, route in CALLS:
        if "token" in role_of(route.endpoint):
            response = client.request(method, path_of(route))
            assert (response.status_code, response.headers["www-authenticate"]) == (401, "Bearer")
            assert has_the_headers(response)
    assert all_rows(SITE) == before


def test_another_host_is_refused():
    lead = who("lead")
    for k, (method, route) in enumerate(CALLS):
        host = ("evil.example", "127.0.0.1:9999", "evil.example:8347", "")[k % 4]
        response = lead.request(method, path_of(route), headers={"Host": host})
        assert response.status_code == 421
        assert has_the_headers(response)


SECRET_TEXT = "only for ann to read"


def only_for_ann(pairs):
    return {name: [SECRET_TEXT] * len(pairs) for name in ("query", "title", "text")}


def ids_of_ann(site, graded):
    """Return what ann has been given: the number of an answer, the token of an item in her hand."""
    ann = who("judge", site)
    page = ann.get("/judge")
    if graded:
        assert SECRET_TEXT in page.text
        page = answer(ann, page, note="a note of ann's")
        return site.judged[-1].seq, item_of(page)[2]
    page = prefer(ann, page)
    return site.preferred[-1].seq, pair_of(page)[2]


def bodies_of(token):
    """Return what may be said of an item under a token, as forms."""
    says = ({"grade": "2"}, {"cannot": "1", "reason": "bob"}, {"later": "1"}, {"tie": "1"}, {"preferred": "d1"})
    return [{"token": token, **body} for body in (*says, {"discard": "d1"}, {})]


@pytest.mark.parametrize("graded", [True, False], ids=["grades", "pairs"])
@pytest.mark.parametrize("role", ["judge", "lead", "token", "status token"])
def test_what_is_anns_is_neither_read_nor_changed_by_bob(graded, role):
    site = Site(texts=only_for_ann) if graded else Compares()
    seq, token = ids_of_ann(site, graded)
    bob = who(role, site, "bob")
    before, n = all_rows(site), 0
    for method, route in calls_of(site):
        if role_of(route.endpoint) not in ("judge", "token", "any token"):
            continue  # what anybody and what a lead may ask is no judge's
        path = route.path.replace("{token}", token).replace("{seq}", str(seq)).replace("{number}", "0")
        path = path.replace("{name}", site.served.name)
        names_an_id = path != route.path.replace("{name}", site.served.name) and "training" not in path
        if method == "GET" and names_an_id:
            responses = [bob.get(path)]
        elif method == "POST" and (names_an_id or path.endswith(("answer", "renew"))):
            responses = [bob.post(path, data=body) for body in bodies_of(token)]
        elif path.endswith("submit"):
            said = ({"grade": 2}, {"cannot": "bob"}, {"later": True}, {"tie": True}, {"grade": 1, "then_claim": True})
            responses = [bob.post(path, json={"token": token, **body}) for body in said]
        else:
            continue
        for response in responses:
            n += 1
            assert response.status_code in (401, 403, 404, 422), (method, path)
            for text in (SECRET_TEXT, "a note of ann's", "text of"):
                assert text not in response.text
            assert has_the_headers(response)
    assert all_rows(site) == before
    assert n >= 12


@pytest.fixture
def two():
    """Two campaigns of one store, each at a door of its own."""
    site = Site(texts=only_for_ann)
    create(site.store, "other", site.case.drawn(48.0), Rules())
    other = Served(site.store, "other", ServerSettings(host="127.0.0.1", port=8348))
    yield site, other
    site.desk.reading.wait()
    other.desk.reading.wait()


def test_who_came_in_to_one_campaign_is_nobody_in_another(two):
    site, other = two
    seq, token = ids_of_ann(site, graded=True)
    access = site.store.access("week")
    secrets = {kind: access.issue(kind, "lead", "zoe") for kind in ("invite", "token")}
    session, _ = access.come_in(access.issue("invite", "lead", "zoe"))
    access.set_password("yan", "hash")
    browser = other.browser()
    browser.cookies.set(other.served.cookie, session)
    before = all_rows(site)
    for path in ("/judge", "/lead", "/lead/log", f"/judge/answers/{seq}", f"/judge/document/{token}"):
        assert browser.get(path).status_code == 401
    assert browser.get(f"/come-in/{secrets['invite']}").status_code == 410
    assert browser.post(f"/come-in/{secrets['invite']}").status_code == 410
    headers = {"Authorization": f"Bearer {secrets['token']}"}
    for method, call in (("POST", "claim"), ("POST", "submit"), ("GET", "status")):
        assert browser.request(method, f"/api/campaigns/other/{call}", headers=headers).status_code == 401
    assert site.store.access("other").try_password("yan", "here").hash is None
    after = all_rows(site)
    assert len(after.pop("sign_in_try")) == 2
    before.pop("sign_in_try")
    assert after == before


def test_a_lead_of_another_campaign_ends_and_decides_nothing_here(two):
    site, other = two
    seq, token = ids_of_ann(site, graded=True)
    stranger = other.at("zoe", "lead")
    ids = [row.id for row in site.store.access("week").rows()]
    before = json.dumps(all_rows(site))
    for number in ids:
        stranger.post(f"/lead/people/{number}/end", follow_redirects=False)
    refused = stranger.post(f"/lead/disagreements/{seq}", data={"grade": "1", "reason": "x"})
    assert refused.status_code == 422
    for path in (f"/judge/document/{token}", f"/judge/answers/{seq}", f"/judge/answers/{seq}/document"):
        response = stranger.get(path)
        assert response.status_code == 404
        assert SECRET_TEXT not in response.text
    assert json.dumps(all_rows(site)) == before


def test_a_route_without_a_role_is_closed():
    site = Site()
    site.app.app.add_api_route("/open", lambda: "open", methods=["GET"])
    assert site.at(role="lead").get("/open").status_code == 403
