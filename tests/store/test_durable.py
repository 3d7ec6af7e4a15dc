"""A commit is on the disk before it is acknowledged, and one that could not be written never is."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from store_cases import make_campaign, make_units

import activeeval
from activeeval.store import open_store
from tests.databases import missing

SCRIPT = Path(__file__).parent / "scripted_judge.py"
HOME = str(Path(activeeval.__file__).parents[1])
N_ANSWERS = 4


@pytest.fixture
def strace():
    """Return the tracer; containers may forbid it."""
    tool = shutil.which("strace")
    if tool is None:
        missing("strace", "is not installed (Debian: apt install strace)")
    tried = subprocess.run([tool, "-f", "-e", "trace=fsync", "true"], capture_output=True, text=True)
    if tried.returncode:
        missing("strace", f"may not trace here: {tried.stderr.strip()}")
    return tool


def traced(strace, trace, url, *options):
    command = [strace, "-f", "-qq", "-o", str(trace), "-e", "trace=fdatasync,fsync", *options]
    command += [sys.executable, str(SCRIPT), url, "ann", str(N_ANSWERS)]
    done = subprocess.run(command, capture_output=True, text=True, env={"PYTHONPATH": HOME, "PATH": ""}, timeout=60)
    return done, [json.loads(line) for line in done.stdout.splitlines()]


def test_each_commit_waits_for_the_disk(strace, sqlite_url, tmp_path):
    with open_store(sqlite_url, create=True) as store:
        make_campaign(store, make_units(10, 2))
    done, lines = traced(strace, tmp_path / "trace", sqlite_url)
    assert done.returncode == 0, done.stderr
    assert len(lines) == N_ANSWERS
    synced = re.findall(r"f(?:data)?sync\(", (tmp_path / "trace").read_text())
    assert len(synced) >= N_ANSWERS + 1  # the first claim, and each answer with the claim that follows it


@pytest.mark.parametrize(
    "when", ["2", "3", "4+", *(pytest.param(str(n), marks=pytest.mark.slow) for n in (1, 4, 5, 6, 7, 8))]
)
def test_what_could_not_be_written_is_never_acknowledged(strace, sqlite_url, tmp_path, when):
    with open_store(sqlite_url, create=True) as store:
        make_campaign(store, make_units(10, 2))
    fault = f"inject=fdatasync,fsync:error=EIO:when={when}"
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
