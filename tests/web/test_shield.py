"""What stands before every route: headers on all answers, sizes, where a server may listen."""

import hashlib
from importlib.resources import files

import pytest
from starlette.testclient import TestClient
from web.conftest import Site, come_in, says

from activeeval.core.errors import InputError, StateError
from activeeval.web.middleware import HEADERS, MOST_BYTES
from activeeval.web.people import invited
from activeeval.web.settings import ServerSettings

HTMX = "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717"


def test_every_answer_has_the_headers(site, monkeypatch):
    browser = site.at()
    answers = [browser.get(path) for path in ("/judge", "/nothing", "/static/page.css", "/static/../api.py", "/lead")]
    answers += [browser.post("/judge"), browser.post("/judge/answer", data={"token": "x"})]
    answers += [site.browser().get("/judge"), browser.get("/judge", headers={"Host": "evil.example"})]
    monkeypatch.setattr(type(site.desk), "page", lambda *_: 1 / 0)
    answers.append(browser.get("/judge"))
    assert {answer.status_code for answer in answers} >= {200, 401, 403, 404, 405, 421, 500}
    for answer in answers:
        for name in set(HEADERS) - {"cache-control"}:
            assert answer.headers[name] == HEADERS[name], (answer.url, name)
        assert "division" not in answer.text
    assert answers[0].headers["cache-control"] == "no-store"


def test_over_https_browsers_stay_there_and_cookies_are_of_this_host_alone():
    site = Site(door=ServerSettings(host="127.0.0.1", port=8347, certificate="c", key="k"))
    browser = site.browser()
    came = come_in(browser, invited(site.served, "judge", "ann"), follow_redirects=False)
    assert came.headers["strict-transport-security"]
    cookie = came.headers["set-cookie"]
    assert cookie.startswith("__Host-")
    for part in ("HttpOnly", "Secure", "SameSite=lax", "Path=/"):
        assert part in cookie


def test_a_body_that_is_too_large_is_refused_before_it_is_read(site):
    browser, program = site.at(), site.program()
    large = b"x" * (MOST_BYTES + 1)
    for client, path in ((browser, "/judge/answer"), (program, "/api/campaigns/week/submit")):
        assert client.post(path, content=large).status_code == 413
        assert client.post(path, content=b"", headers={"Content-Length": str(10**9)}).status_code == 413


def test_many_fields_are_refused(site):
    fields = "&".join(f"a{k}=1" for k in range(2000))
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    assert site.at().post("/judge/answer", content=fields, headers=headers).status_code == 400


@pytest.mark.parametrize(
    ("host", "asked", "is_meant"),
    [
        ("127.0.0.1", "127.0.0.1:8347", True),
        ("127.0.0.1", "localhost:8347", True),
        ("127.0.0.1", "evil.example:8347", False),
        ("0.0.0.0", "192.0.2.7:8347", True),
        ("0.0.0.0", "evil.example:8347", False),
        ("::1", "[::1]:8347", True),
        ("judge.example", "judge.example:8347", True),
        ("judge.example", "127.0.0.1:8347", False),
    ],
)
def test_a_host_is_meant_or_not(host, asked, is_meant):
    assert ServerSettings(host=host, port=8347).is_meant(asked) == is_meant


def test_behind_a_proxy_the_proxy_alone_is_answered():
    behind = {"behind_proxy": "192.0.2.1", "address": "https://judge.example"}
    site = Site(door=ServerSettings(host="127.0.0.1", port=8347, **behind))
    assert site.browser(client=("192.0.2.1", 1)).get("/static/page.css").status_code == 200
    assert site.browser(client=("192.0.2.9", 1)).get("/static/page.css").status_code == 403


def test_a_proxy_may_name_who_asks_and_nobody_else(proxied):
    asked, site = proxied
    assert asked.get("/judge").status_code == 401
    for path, name, status in (("/judge", "Ann ", 200), ("/lead", "ann", 403), ("/lead", "lead", 200)):
        assert asked.get(path, headers={"X-Remote-User": name}).status_code == status
    assert [event.judge for event in site.events("shown")] == ["ann"]
    stranger = site.browser(client=("192.0.2.9", 1))
    assert stranger.get("/judge", headers={"X-Remote-User": "ann"}).status_code == 403
    plain = Site()
    assert plain.browser().get("/judge", headers={"X-Remote-User": "ann"}).status_code == 401
    with pytest.raises(InputError, match="accepted only from a proxy"):
        ServerSettings(auth_header="X-Remote-User").check()


@pytest.fixture
def proxied():
    door = ServerSettings(host="127.0.0.1", port=8347, behind_proxy="192.0.2.1", auth_header="X-Remote-User")
    made = Site(door=door)
    yield made.browser(client=("192.0.2.1", 1)), made
    made.desk.reading.wait()


def test_a_name_that_came_twice_is_nobodys(proxied):
    browser, site = proxied
    for first, second in (("lead", "ann"), ("ann", "lead"), ("ann", "ann"), ("", "ann")):
        for path in ("/judge", "/lead"):
            refused = browser.get(path, headers=[("X-Remote-User", first), ("x-remote-user", second)])
            says(refused, 400, "came 2 times")
    assert not site.events("shown")


def test_a_name_in_a_header_is_read_as_utf_8(proxied):
    browser, site = proxied
    assert browser.get("/judge", headers=[(b"X-Remote-User", "Zoë".encode())]).status_code == 200
    assert [event.judge for event in site.events("shown")] == ["zoë"]

    async def in_latin_1(scope, receive, send):
        headers = [(name, value.replace("ë".encode(), b"\xeb")) for name, value in scope["headers"]]
        await site.app(scope | {"headers": headers}, receive, send)

    browser = TestClient(in_latin_1, base_url=site.served.door.url, client=("192.0.2.1", 1))
    refused = browser.get("/judge", headers=[(b"X-Remote-User", "Zoë".encode())])
    says(refused, 400, "not UTF-8 text")


def test_who_is_named_by_a_header_signs_out_at_the_proxy(proxied):
    browser, _ = proxied
    refused = browser.post("/go-out", headers={"X-Remote-User": "ann"})
    says(refused, 409, "sign out there")


@pytest.mark.parametrize("name", ["X Remote", "X-Remote:", "X\u00e9", "X\0"])
def test_a_header_that_no_proxy_can_send_is_no_place_for_names(name):
    door = ServerSettings(behind_proxy="192.0.2.1", auth_header=name)
    with pytest.raises(InputError, match="is not the name of a header"):
        door.check()


def test_an_origin_that_is_none_is_not_believed(site):
    browser = site.at()
    for origin in ("http://[", "http://[::1", "http://]", "null", "\x7f", "x" * 5000, "http://a:b:c"):
        for path in ("/judge/answer", "/api/campaigns/week/claim"):
            refused = browser.post(path, headers={"Origin": origin})
            says(refused, 403, "not sent from this page")


def test_a_link_that_is_previewed_is_still_good(site):
    link = invited(site.served, "judge", "Ann <b>")
    for _ in range(3):
        preview = site.browser().get(link)
        assert preview.status_code == 200
        assert "set-cookie" not in preview.headers
        assert "ann &lt;b&gt;" in preview.text
    browser = site.browser()
    assert browser.post(link, headers={"Origin": "https://chat.example"}).status_code == 403
    came = come_in(browser, link)
    assert "data-doc-id" in came.text
    assert browser.get(link).url.path == "/judge"  # whoever opens it again where it was used goes on
    assert site.browser().get(link).status_code == 410


def test_a_number_that_nothing_has_is_no_address(site):
    lead = site.at("zoe", "lead")
    fields = {"grade": "1", "reason": "x"}
    paths = ["/judge/answers/{}", "/judge/answers/{}/document", "/judge/training/{}/document", "/judge/training/{}"]
    paths += ["/lead/texts/{}/0/0", "/lead/texts/1/{}/0/document", "/lead/log?before={}", "/lead/texts?unit={}"]
    posts = ("/judge/answers/{}", "/judge/training/{}", "/lead/disagreements/{}", "/lead/people/{}/end")
    for number in (2**63, 2**64, 10**30, 10**200, -1, "9" * 5000):
        answers = [lead.get(path.format(number)) for path in paths]
        answers += [lead.post(path.format(number), data=fields) for path in posts]
        assert {(answer.status_code, "no such page" in answer.text) for answer in answers} == {(404, True)}


def test_what_cannot_be_a_name_is_said_in_a_line(site):
    lead, browser = site.at("zoe", "lead"), site.browser()
    for name in ("a\0b", "\0", "x" * 100 + "\0"):
        for path, fields in (("/lead/people", {"role": "judge"}), ("/lead/tokens", {"scope": "all"})):
            refused = lead.post(path, data={"person": name, **fields})
            assert refused.status_code == 422
            assert "\0" not in refused.text
        signed = browser.post("/sign-in", data={"person": name, "password": "a password of nobody"})
        assert signed.status_code in (403, 422, 429)
        assert "\0" not in signed.text


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "judge.example", "::"])
def test_nobody_listens_where_others_can_read_along(host):
    with pytest.raises(InputError, match="reachable from other computers"):
        ServerSettings(host=host).check()
    ServerSettings(host=host, certificate="c", key="k").check()
    ServerSettings(host=host, behind_proxy="127.0.0.1").check()


def test_a_database_that_cannot_be_used_is_no_error_of_the_judge(site, monkeypatch, caplog):
    problem = StateError("postgresql://team:***@secret-host/judging: cannot be reached")
    problem.is_passing = True

    def fail(*_, **__):
        raise problem

    browser, program = site.at(), site.program()
    monkeypatch.setattr(type(site.store), "claim", fail)
    for refused in (browser.get("/judge"), program.post("/api/campaigns/week/claim", json={})):
        assert refused.status_code == 503
        assert refused.headers["retry-after"]
        assert "the campaign&#39;s database" in refused.text or "the campaign's database" in refused.json()["error"]
        assert "secret-host" not in refused.text
    assert "secret-host" in caplog.text  # whoever serves it is told


def test_vendored_files_are_what_was_published():
    held = files("activeeval.web").joinpath("static")
    assert hashlib.sha256(held.joinpath("htmx.min.js").read_bytes()).hexdigest() == HTMX
    assert "Zero-Clause BSD" in held.joinpath("htmx.LICENSE.txt").read_text()
