"""A commit is on the disk before it is acknowledged, and one that could not be written never is.

Processes of SQLite are started under a tracer that lets calls fail, those of a PostgreSQL server get one attached.
"""

import contextlib
import re
import subprocess
from collections import Counter

import pytest
from patience import PATIENCE_S
from store_cases import complaint, grade, make_campaign, make_units, output_of, script

from activeeval.campaigns.store import open_store
from activeeval.core.errors import ActiveEvalError

N_ANSWERS = 4
SYNCING = "fdatasync,fsync"


def traced(strace, trace, url, *options):
    command = [strace, "-f", "-qq", "-o", str(trace), "-e", f"trace={SYNCING}", *options]
    judge, environment = script("scripted_judge.py", url, "ann", str(N_ANSWERS))
    return output_of([*command, *judge], environment)


def test_each_commit_waits_for_the_disk(strace, sqlite_url, tmp_path):
    with open_store(sqlite_url, create=True) as store:
        make_campaign(store, make_units(10, 2))
    done, lines = traced(strace, tmp_path / "trace", sqlite_url)
    assert done.returncode == 0, done.stderr
    assert len(lines) == N_ANSWERS
    synced = re.findall(r"f(?:data)?sync\(", (tmp_path / "trace").read_text())
    assert len(synced) >= N_ANSWERS + 1  # the first claim, and each answer with the claim that follows it


@pytest.mark.parametrize(
    "when", ["2", "4+", *(pytest.param(str(n), marks=pytest.mark.slow) for n in (1, 3, 4, 5, 6, 7, 8))]
)
def test_what_could_not_be_written_is_never_acknowledged(strace, sqlite_url, tmp_path, when):
    with open_store(sqlite_url, create=True) as store:
        make_campaign(store, make_units(10, 2))
    fault = f"inject={SYNCING}:error=EIO:when={when}"
    done, lines = traced(strace, tmp_path / "trace", sqlite_url, "-e", fault)
    assert "Traceback" not in done.stderr
    assert "INJECTED" in (tmp_path / "trace").read_text()
    errors = [line["error"] for line in lines if "error" in line]
    acknowledged = [line for line in lines if "error" not in line]
    assert all("nothing was acknowledged" in error and "\n" not in error for error in errors)
    if when.endswith("+"):
        assert done.returncode == 3
        assert len(errors) == 3
    with open_store(sqlite_url) as store:
        log = store.events("night")
        keys = Counter(event.key for event in log if event.kind == "judged")
        assert all(keys[line["key"]] == 1 for line in acknowledged)
        # after a failure that stays, the last answer may or may not have reached the disk
        assert len(acknowledged) <= len(keys) <= len(acknowledged) + 1
        assert when.endswith("+") or len(keys) == len(acknowledged) == N_ANSWERS
        assert store.verify("night") == []


@contextlib.contextmanager
def attached(strace, trace, processes, *options):
    """Trace processes that run, and those that they start; the tracer lets go of them at the end."""
    command = [strace, "-f", "-o", str(trace), "-e", f"trace={SYNCING},pwrite64", *options]
    command += [f"-p{p}" for p in processes]
    tracer = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        for _ in processes:
            assert "attached" in tracer.stderr.readline()
        yield
    finally:
        tracer.terminate()
        tracer.communicate(timeout=PATIENCE_S)


def asked(url, query):
    """Return the first column of what a server answers."""
    import psycopg

    with psycopg.connect(url) as connection:
        return [row[0] for row in connection.execute(query)]


BACKENDS = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
"""The processes of the server that wait for what a store asks next."""


def test_each_commit_of_postgresql_waits_for_the_disk(strace, postgresql, postgresql_url, tmp_path):
    """Catches a session that leaves it to the server, which may be set to acknowledge what is in its memory alone."""
    url = f"{postgresql_url}%20-c%20synchronous_commit%3Doff"
    settings = [asked(url, f"SHOW {name}") for name in ("synchronous_commit", "fsync")]
    assert settings == [["off"], ["on"]]
    with open_store(url, create=True) as store:
        make_campaign(store, make_units(10, 2))
        got = store.claim("night", "ann")
        with attached(strace, tmp_path / "trace", asked(url, BACKENDS)):
            for _ in range(N_ANSWERS):
                _, got = store.submit_and_claim("night", got.token, grade())
    synced = re.findall(r"f(?:data)?sync\(", (tmp_path / "trace").read_text())
    assert len(synced) >= N_ANSWERS


@pytest.mark.parametrize(
    ("fault", "cause", "is_lasting"),
    [
        (f"{SYNCING}:error=EIO:when=1+", "Input/output error", True),
        pytest.param(f"{SYNCING}:error=EIO:when=1", "Input/output error", False, marks=pytest.mark.slow),
        pytest.param("pwrite64:error=ENOSPC:when=1+", "No space left on device", True, marks=pytest.mark.slow),
    ],
)
def test_what_postgresql_could_not_write_is_never_acknowledged(
    strace, postgresql, postgresql_url, tmp_path, fault, cause, is_lasting
):
    """Catches an answer that is acknowledged though its commit failed, and a retry that makes a second row of it.

    The server itself gives up in the middle of the commit. Where its disk stays broken it does not come back until it
    is started anew; else it recovers, and the answer may be in its log or not.
    """
    url = postgresql_url
    with open_store(url, create=True) as store:
        make_campaign(store, make_units(10, 2))
        got = store.claim("night", "ann")
        processes = [*asked(url, BACKENDS), *([postgresql.main_process] if is_lasting else [])]
        try:
            with attached(strace, tmp_path / "trace", processes, "-e", f"inject={fault}"):
                says = complaint(ActiveEvalError, lambda: store.submit("night", got.token, grade(3), key="k"))
                if is_lasting:
                    complaint(ActiveEvalError, lambda: store.submit("night", got.token, grade(3), key="k"))
        finally:
            postgresql.bring_back()
        assert "INJECTED" in (tmp_path / "trace").read_text()
        unknown = "nothing was acknowledged, and whether it was stored is unknown; try again, it is stored only once"
        assert (cause in says, unknown in says) == (True, True)
        before = [event for event in store.events("night") if event.kind == "judged"]
        answer = store.submit("night", got.token, grade(3), key="k")
        assert answer.is_repeated == bool(before)
        assert store.submit("night", got.token, grade(3), key="k").event == answer.event
        assert [event for event in store.events("night") if event.kind in ("judged", "late")] == [answer.event]
        assert store.verify("night") == []
