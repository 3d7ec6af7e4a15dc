"""The server as a process: what it prints before it serves, where it may listen, how it ends."""

import importlib.util
import json
import signal
import subprocess
import sys
import urllib.request
from contextlib import contextmanager

import pytest
from campaign_cases import Case
from patience import PATIENCE_S

from activeeval import cli
from activeeval.campaigns.create_and_grow import create
from activeeval.campaigns.store import open_store
from activeeval.core.campaign import Rules
from activeeval.web import serving as server
from activeeval.web.commands.serve import _print
from activeeval.web.serving import Invitation


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a campaign of 48 items, week.activeeval."""
    folder = tmp_path_factory.mktemp("served")
    case = Case()
    with open_store(f"sqlite:///{folder}/week.activeeval", create=True) as store:
        create(store, "week", case.sample, Rules())
    return folder


def command(*words):
    return [sys.executable, "-m", "activeeval", "serve", "week", *words]


@pytest.fixture
def refused(folder, monkeypatch, capsys):
    """Return a function from words to what is said where nothing can be served, inside this process."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr("uvicorn.Server.run", lambda *_: pytest.fail("it is served"))

    def run(*words, environment=None, code=1):
        for name, value in (environment or {}).items():
            monkeypatch.setenv(name, value)
        assert cli.run(["serve", "week", "--port", "0", *words]) == code
        out, err = capsys.readouterr()
        assert out == ""
        assert len(err.strip().splitlines()[-1]) < 250
        assert "Traceback" not in err
        return err

    return run


@pytest.fixture
def served(folder, monkeypatch, capsys):
    """Return a function that has the command serve a campaign to a function, inside this process."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(server, "_end_on_signal", lambda _: None)
    monkeypatch.setattr(server, "_warm_up_later", lambda _: None)

    def run(use, *words):
        monkeypatch.setattr(server, "_run", lambda _, campaign, listener: use(campaign))
        assert cli.run(["serve", "week", "--port", "0", *words]) == 0
        return "".join(capsys.readouterr())

    return run


@contextmanager
def serving(folder, *words):
    """Serve a campaign; yield the process and what it has printed about each person."""
    words = command("--port", "0", "-o", "jsonl", *words)
    process = subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        n_people = 1 + words.count("--judge")
        yield process, [json.loads(process.stdout.readline()) for _ in range(n_people)]
    finally:
        process.kill()
        process.communicate()


def ask(url, token=None, body=None):
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, headers), timeout=PATIENCE_S) as answer:
        return answer.read().decode()


def come_in(browser, url):
    """Open a link that was printed, and use its button; return the first page."""
    browser.open(url, timeout=PATIENCE_S).close()
    return browser.open(urllib.request.Request(url, b"", {"Origin": url.partition("/come-in/")[0]}), timeout=PATIENCE_S)


def test_it_prints_who_may_come_in_serves_and_ends_well(folder):
    with serving(folder, "--judge", "ann", "--judge", "Bob ") as (process, people):
        assert [list(row) for row in people] == [["kind", "url"], *[["kind", "judge", "url", "token"]] * 2]
        assert [row.get("judge") for row in people] == [None, "ann", "bob"]
        base = people[0]["url"].partition("/come-in/")[0]
        item = json.loads(ask(f"{base}/api/campaigns/week/claim", people[1]["token"], {}))
        body = {"token": item["token"], "grade": 1, "then_claim": True}
        done = json.loads(ask(f"{base}/api/campaigns/week/submit", people[1]["token"], body))
        assert (done["judge"], done["grade"]) == ("ann", 1)
        assert done["next"]["token"]
        assert json.loads(ask(f"{base}/api/openapi.json"))["openapi"]
        process.send_signal(signal.SIGTERM)
        _, says = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0
        assert says == "activeeval: ended; every answer is stored\n"


@pytest.mark.parametrize(("place", "number"), [("after the last address", "SIGTERM"), ("before the loop", "SIGINT")])
def test_a_signal_ends_it_well_from_the_first_address_on(folder, place, number):
    kill = f"os.kill(os.getpid(), signal.{number})"
    hooks = {
        "after the last address": f"show = serve._print; serve._print = lambda *a, **k: (show(*a, **k), {kill})",
        "before the loop": f"run = uvicorn.Server.run; uvicorn.Server.run = lambda *a, **k: ({kill}, run(*a, **k))",
    }
    code = "import os, signal, sys, uvicorn; from activeeval.cli import run as cli\n"
    code += f"from activeeval.web.commands import serve; {hooks[place]}; sys.exit(cli())"
    words = [sys.executable, "-c", code, "serve", "week", "--port", "0"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=PATIENCE_S)
    assert (done.returncode, done.stderr) == (0, "activeeval: ended; every answer is stored\n")
    assert done.stdout.startswith("lead: http://127.0.0.1:")


def test_a_token_is_made_for_each_who_reads_it(capsys):
    made = []
    invitation = Invitation(kind="judge", judge="fay", url="http://x", make_token=lambda: made.append(1) or "a token")
    _print(invitation, "text")
    assert (made, capsys.readouterr().out) == ([], "fay: http://x\n")
    _print(invitation, "jsonl")
    assert (made, json.loads(capsys.readouterr().out)["token"]) == ([1], "a token")


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("--host", "0.0.0.0"), 1, "--certificate"),
        (("--certificate", "c.pem"), 1, "--key"),
        (("--grade", "7=Best"), 1, "'Best' is named grade 7 of 0 to 2"),
        (("--grade", "Best"), 2, "--grade"),
        (("--guidelines", "none.md"), 1, "none.md"),
        (("--training", "none.csv"), 1, "none.csv"),
        (("--db", "none.activeeval"), 1, "there is no such file"),
    ],
)
def test_what_cannot_be_served_is_said_in_a_line(refused, words, code, says):
    assert says in refused(*words, code=code)


def test_without_the_extra_it_says_what_to_install(refused, monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name, *rest: None if name == "fastapi" else find(name, *rest)
    )
    assert "pip install 'activeeval-ir[web]'" in refused()


def test_what_the_first_page_needs_is_imported_without_what_estimates_need():
    code = "import sys, activeeval.web.commands.serve, activeeval.web.serving, activeeval.campaigns.pair_desk\n"
    heavy = {"numpy", "scipy", "numba", "polars", "matplotlib", "sklearn", "alembic", "argon2"}
    heavy |= {"authlib", "joserfc", "cryptography"}
    code += f"assert not {heavy} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=PATIENCE_S)
