"""The command that serves, as people sign in: passwords that are typed, secrets that nobody sees, what is refused."""

import importlib.util
from types import SimpleNamespace

import pytest
from starlette.testclient import TestClient
from web.conftest import Site
from web.elsewhere_site import CLIENT, SECRET
from web.test_serving import folder, refused, served  # noqa: F401

from activeeval.web.app import make_app
from activeeval.web.commands.sign_in_options import password_of
from activeeval.web.serving import _set_password

GOOD = "correct horse battery staple"
AT = ("--oidc", "https://accounts.example", "--oidc-client", "c")


def test_a_password_of_the_environment_lets_the_lead_in_and_is_said_nowhere(served, monkeypatch):  # noqa: F811
    monkeypatch.setenv("ACTIVEEVAL_LEAD_PASSWORD", GOOD)

    def use(campaign):
        browser = TestClient(make_app(campaign), base_url=campaign.door.url, headers={"Origin": campaign.door.url})
        assert browser.post("/sign-in", data={"person": "zoe", "password": "wrong " + GOOD}).status_code == 403
        assert browser.post("/sign-in", data={"person": "zoe", "password": GOOD}).url.path == "/lead"

    assert GOOD not in served(use, "--lead", "zoe", "--lead-password")


def test_a_password_is_the_first_line_of_a_file(tmp_path):
    (tmp_path / "secret").write_text(GOOD + "\nanother line\n")
    assert password_of(False, str(tmp_path / "secret")) == GOOD


def test_the_same_password_again_ends_nothing():
    site = Site()
    _set_password(site.served, GOOD)
    lead = site.at("lead", "lead")
    for password, status in ((GOOD, 200), ("another " + GOOD, 401)):
        _set_password(site.served, password)
        assert lead.get("/lead").status_code == status


def test_a_password_is_asked_for_twice_unseen_until_it_is_one(monkeypatch, capsys):
    answers = iter(["too short", GOOD, GOOD + ".", GOOD, GOOD])
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr("click.termui.hidden_prompt_func", lambda _: next(answers))
    assert password_of(True, None) == GOOD
    shown = capsys.readouterr().err
    assert "at least 12 characters" in shown
    assert "do not match" in shown
    assert (GOOD in shown, "too short" in shown, list(answers)) == (False, False, [])


def test_without_a_terminal_it_says_where_a_password_goes(refused):  # noqa: F811
    says = refused("--lead-password")
    assert "ACTIVEEVAL_LEAD_PASSWORD" in says
    assert "--lead-password-file" in says


@pytest.mark.parametrize(
    ("words", "environment", "says", "code"),
    [
        (("--lead-password",), {"ACTIVEEVAL_LEAD_PASSWORD": "elevenchars"}, "at least 12 characters", 1),
        (("--lead-password",), {"ACTIVEEVAL_LEAD_PASSWORD": ""}, "at least 12 characters", 1),
        (("--lead-password-file", "none"), None, "none", 1),
        (("--lead-password", "--behind-proxy", "::1", "--auth-header", "X"), None, "--auth-header", 2),
        (AT, None, "ACTIVEEVAL_OIDC_SECRET", 1),
        (AT[:2], {"ACTIVEEVAL_OIDC_SECRET": "s"}, "--oidc-client", 1),
        (AT[2:], None, "--oidc-client goes with --oidc", 1),
        (("--oidc-lead", "zoe@example.org"), None, "--oidc-lead goes with --oidc", 1),
        ((*AT, "--oidc-secret-file", "none"), None, "none", 1),
        (("--oidc", "http://accounts.example", *AT[2:]), {"ACTIVEEVAL_OIDC_SECRET": "s"}, "https://", 1),
        ((*AT, "--oidc-lead", "zoe"), {"ACTIVEEVAL_OIDC_SECRET": "s"}, "ann@example.org", 2),
        ((*AT, "--oidc-claim", "sub", "--oidc-lead", "00u1"), {"ACTIVEEVAL_OIDC_SECRET": "s"}, "ann=00u1x", 2),
        ((*AT, "--behind-proxy", "::1", "--auth-header", "X"), {"ACTIVEEVAL_OIDC_SECRET": "s"}, "--auth-header", 1),
        ((*AT, "--host", "::", "--behind-proxy", "::1"), {"ACTIVEEVAL_OIDC_SECRET": "s"}, "--address", 1),
    ],
)
def test_what_does_not_go_is_said_in_a_line(refused, words, environment, says, code):  # noqa: F811
    assert says in refused(*words, environment=environment, code=code)


def test_without_the_extra_it_says_what_to_install(refused, monkeypatch):  # noqa: F811
    find = importlib.util.find_spec
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name, *rest: None if name == "authlib" else find(name, *rest)
    )
    says = refused(*AT)
    assert says.strip().splitlines()[-1].startswith("activeeval: --oidc: ")
    assert "pip install 'activeeval-ir[oidc]'" in says


def test_people_come_in_from_elsewhere(served, folder, elsewhere):  # noqa: F811
    (folder / "client-secret").write_text(SECRET + "\n")
    words = ("--oidc", elsewhere.issuer, "--oidc-client", CLIENT, "--oidc-secret-file", "client-secret")
    words += ("--oidc-lead", "zoe=zoe@example.org", "--oidc-judge", "ann@example.org")

    def use(campaign):
        for email, home in (("zoe@example.org", "/lead"), ("ann@example.org", "/judge"), ("eve@example.org", None)):
            elsewhere.says = {"email": email}
            browser = TestClient(make_app(campaign), base_url=campaign.door.url)
            away = browser.get("/sign-in/elsewhere", follow_redirects=False).headers["location"]
            came = browser.get(elsewhere.authorized(away), follow_redirects=False)
            assert (came.status_code, came.headers.get("location")) == (303 if home else 403, home)

    assert SECRET not in served(use, *words)
