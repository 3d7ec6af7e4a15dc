"""Stores of both databases, a small disk, and a tracer that lets calls of the system fail."""

import shutil
import subprocess

import pytest
from disks import Disk
from patience import PATIENCE_S
from store_cases import Clock, check_whole, make_campaign

from activeeval.campaigns.store import open_store
from tests.databases import missing


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def store(either_url, clock):
    with open_store(either_url, clock=clock, wait_s=PATIENCE_S) as opened:
        yield opened


@pytest.fixture
def night(store):
    """Return a store with a campaign of eight items, whose log must be whole in the end."""
    make_campaign(store)
    yield store
    check_whole(store)


@pytest.fixture
def each_store(made_url, clock):
    """Return a store on either database, one after the other."""
    with open_store(made_url, clock=clock, wait_s=PATIENCE_S) as opened:
        yield opened


@pytest.fixture
def disk(tmp_path):
    disk = Disk(tmp_path / "disk", "2m")
    yield disk
    disk.remove()


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
