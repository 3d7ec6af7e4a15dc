"""Passwords in the addresses of databases: no command says them, whatever it does, and no file has them."""

from pathlib import Path

import pytest
from cli_cases import RUN, judge_file, write_oracle

from activeeval.campaigns.commands import campaign
from activeeval.campaigns.store import address_of, open_store
from activeeval.core.errors import InputError
from activeeval.core.masked_addresses import masked

MADE = (*RUN, "--versus-run", "b.run", "--measure", "DCG@5", "--budget", "24", "--seed", 3)
SECRET, WRITTEN = "S3cr@t/word", "S3cr%40t%2Fword"
WRONG = Path(__file__).with_name("wrong-addresses.txt").read_text().splitlines()
"""Addresses of databases with a password that are mistyped, or where nothing listens: those with the port 1."""


@pytest.fixture
def secret_url(postgresql_url):
    """Return the URL of an empty database with a password, which its server does not ask for."""
    return postgresql_url.replace("tester@", f"tester:{WRITTEN}@")


def is_silent(answer, folder, *secrets):
    """Whether nothing that was said, or written to a file, has a secret in it."""
    written = [str(path).encode() + path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    texts = [answer.out.encode(), answer.err.encode(), *written]
    return not any(secret.encode() in text for secret in secrets for text in texts)


def test_no_command_says_the_password(call, folder, secret_url):
    """Catches a password on a screen, in a table, a report, an export or a sheet."""
    write_oracle(folder)
    at = ("--db", secret_url)

    def claimed():
        return "--token", call("campaign", "claim", "w", *at, "--judge", "bob").rows[0]["token"], "--grade", 1

    def sheet():
        call("campaign", "next", "w", *at, "--out", "batch.csv", "--items", 4, "--ahead")
        judge_file("batch.csv")
        return ("batch.csv", "--judge", "ann")

    calls = [
        ("create", lambda: (*MADE, "-o", "jsonl")),
        ("create", lambda: MADE),  # is there already
        ("status", lambda: ("-o", "jsonl")),
        ("claim", lambda: ("--judge", "ann")),
        ("submit", claimed),
        ("submit", lambda: ("--token", "unknown", "--grade", 1)),
        ("next", lambda: ("--out", "next.csv", "-o", "jsonl")),
        ("import", sheet),
        ("label", lambda: ("--judge", "ann")),
        ("judge", lambda: ("--judge", "cat", "--oracle", "all.qrels")),
        ("retract", lambda: ("--judge", "cat", "--seq", 30, "--reason", "slip")),
        ("judge", lambda: ("--judge", "cat", "--oracle", "all.qrels")),
        ("estimate", lambda: ("-o", "jsonl")),
        ("audit", lambda: ("--grader", "all.qrels", "-o", "jsonl")),
        *[("report", lambda form=form: ("--out", f"w.{form}")) for form in ("html", "md", "json")],
        *[
            ("export", lambda form=form: ("--format", form, "--out", f"w-{form}"))
            for form in ("qrels", "prels", "jsonl", "csv", "weights", "quepid", "rank-eval")
        ],
        ("cost", lambda: ("--out", "seconds.csv")),
        ("verify", lambda: ()),
        ("close", lambda: ()),
        ("close", lambda: ("--reopen",)),
        ("top-up", lambda: ("--budget", 20, "-o", "jsonl")),
        ("judge", lambda: ("--judge", "cat", "--oracle", "all.qrels")),
        ("create", lambda: ("--redraw", *MADE, "-o", "jsonl")),
    ]
    for command, options in calls:
        said = call("campaign", command, "w", *at, *options())
        assert is_silent(said, folder, SECRET, WRITTEN), (command, said)
    assert {command for command, _ in calls} | {"list"} == set(campaign.commands)
    for arguments, code in (
        (("campaign", "list", *at), 0),
        (("campaign", "create", "v", *MADE, "--db", "v.activeeval", "--judged-from", f"{secret_url}#w"), 0),
        (("compare", "b.run", "a.run", "--campaign", "w", *at, "--margin", 0), 1),
    ):
        said = call(*arguments)
        assert said.code == code, said.err
        assert is_silent(said, folder, SECRET, WRITTEN), said


@pytest.mark.parametrize("url", WRONG)
def test_nor_does_what_cannot_be_opened(call, folder, url):
    """Catches a complaint that repeats what was mistyped, and a driver's own text."""
    for arguments in (
        ("create", "w", *MADE, "--db", url),
        ("status", "w", "--db", url),
        ("list", "--db", url),
        ("list", url),
        ("status", url),
        ("claim", url, "--judge", "ann"),
        (url,),
    ):
        said = call("campaign", *arguments)
        assert said.code == (2 if arguments in (("list", url), (url,)) else 1)
        assert "Traceback" not in said.err
        assert said.code == 2 or said.err.count("\n") == 1, said.err
        assert is_silent(said, folder, "S3cret"), said
    assert not [path for path in folder.rglob("*") if "activeeval" in path.name or "judging" in path.name]


@pytest.mark.parametrize("url", [url for url in WRONG if "://" in url and ":1/" not in url])
def test_nor_does_the_library(url):
    with pytest.raises(InputError) as caught:
        open_store(url, create=True)
    assert "S3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("postgresql://team@db/judging?options=-csearch_path%3Dours", None),
        ("postgresql://team:a@[::1]:5432/judging", "postgresql://team:***@[::1]:5432/judging"),
        ("postgresql://team@server:a@db/judging", "postgresql://team@server:***@db/judging"),
        ("postgresql://team@[::1]:5432/judging", None),
        ("sqlite:////tmp/a:b@c", None),
        ("sqlite:///week.activeeval", None),
    ],
)
def test_what_is_no_secret_stays(address, says):
    """Catches an address that nobody knows again."""
    assert masked(address) == (says or address)
    assert address_of(address).place == masked(address)
