"""A disk that is full: one line, nothing lost of what was acknowledged, and all goes on once there is room."""

import contextlib
import functools
import os
import random
import shutil
import tempfile
from pathlib import Path

import pytest
from disks import Disk
from sqlalchemy import exc
from store_cases import grade, make_campaign, make_units

from activeeval.campaigns.store import JudgeAnswer, open_store
from activeeval.campaigns.store.faults import ConnectionFaults, refusal_of
from activeeval.core.errors import StateError
from tests.databases import started_server

NOTHING_STORED = "the disk is full; nothing of this was stored"


class Filling:
    """Items put off with long reasons until something is refused."""

    def __init__(self, store, most=2000):
        self.store, self.rng = store, random.Random(1)
        self.acknowledged = []
        for _ in range(most):
            # no two judges have the same item, and a database may compress what it keeps
            self.judge, self.token = f"judge {len(self.acknowledged)}", None
            self.said = JudgeAnswer(kind="deferred", reason=self.rng.randbytes(3000).hex())
            try:
                self.token = store.claim("night", self.judge).token
                self.acknowledged.append(self.submitted().event)
            except StateError as error:
                self.refusal = str(error)
                return
        raise AssertionError("there is room for all of it")

    def submitted(self):
        return self.store.submit("night", self.token, self.said, key=self.judge)

    def unacknowledged(self):
        """Check that all that was acknowledged is there; return what is there besides."""
        log = [event for event in self.store.events("night") if event.kind == "deferred"]
        assert log[: len(self.acknowledged)] == self.acknowledged
        assert self.store.verify("night") == []
        return log[len(self.acknowledged) :]

    def check_goes_on(self):
        """Check that what was refused is stored once when it is said again."""
        before = self.unacknowledged()
        if self.token is None:
            self.token = self.store.claim("night", self.judge).token
        answer = self.submitted()
        assert answer.is_repeated == bool(before)
        assert self.submitted().event == answer.event
        assert self.unacknowledged() == [answer.event]
        got = self.store.claim("night", "zoe")
        assert self.store.submit("night", got.token, grade()).event.kind == "judged"


def check_fills_up(url, disk, but):
    """Judge until a disk is full: nothing of what was refused is stored, and with more room it goes on."""
    with open_store(url, create=True) as store:
        make_campaign(store, make_units(20, 2))
        disk.fill(but=but)
        filling = Filling(store)
        assert NOTHING_STORED in filling.refusal
        assert len(filling.acknowledged) > 2
        assert filling.unacknowledged() == []
        disk.make_room()
        filling.check_goes_on()


def test_a_full_disk(disk):
    """Catches an answer that is acknowledged and was not written, and a file that is damaged from then on."""
    check_fills_up(f"sqlite:///{disk.folder}/night", disk, 700_000)


@pytest.mark.parametrize("room", [40_000, 400_000])
def test_a_full_disk_has_no_half_of_a_campaign(disk, room):
    """Catches a store without the campaign that it was made for; in the first case there is no room for its tables."""
    disk.fill(but=room)
    url = f"sqlite:///{disk.folder}/night"
    with pytest.raises(StateError, match=NOTHING_STORED), open_store(url, create=True) as store:
        make_campaign(store, make_units(4000, 2))
    assert os.listdir(disk.folder) == ["filling"]


@pytest.fixture
def tablespace(postgresql):
    """Return a disk for the tables of a shared server; its log is on another one."""
    disk = Disk(postgresql.folder / "small", "4m")
    if postgresql.user:
        os.chown(disk.folder, postgresql.user.pw_uid, postgresql.user.pw_gid)
    yield disk
    disk.remove()
    disk.folder.rmdir()


def test_a_full_disk_under_the_tables_of_postgresql(postgresql, postgresql_url, tablespace):
    """Catches an answer of which a part was stored, and one whose refusal does not say why."""
    run = functools.partial(run_outside, postgresql.url)
    run(f"CREATE TABLESPACE small LOCATION '{tablespace.folder}'")
    url = f"{postgresql_url}%20-c%20default_tablespace%3Dsmall"
    try:
        check_fills_up(url, tablespace, 200_000)
    finally:
        run(f"DROP SCHEMA {postgresql_url.rpartition('%3D')[2]} CASCADE")
        run("DROP TABLESPACE small")


def run_outside(url, statement):
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement)


@pytest.fixture
def server_with_small_log():
    """Return a server whose log of commits is on a disk of its own, and that disk."""
    with tempfile.TemporaryDirectory(prefix="activeeval-log-") as folder, contextlib.ExitStack() as at_the_end:
        Path(folder).chmod(0o755)
        disk = Disk(Path(folder) / "disk", "8m")
        at_the_end.callback(disk.remove)
        (disk.folder / "wal").mkdir()
        if not os.geteuid():
            shutil.chown(disk.folder / "wal", "postgres")
        server = started_server("-X", str(disk.folder / "wal"), "--wal-segsize=1")
        at_the_end.callback(server.remove)
        yield server, disk


@pytest.mark.slow  # a server of its own
def test_a_full_disk_under_the_log_of_postgresql(server_with_small_log):
    """Catches an answer that is acknowledged before its commit is in the log, and "nothing was stored" where it may be.

    The server stops in the middle of what it does, and comes back once there is room.
    """
    server, disk = server_with_small_log
    with open_store(server.new_database(), create=True) as store:
        make_campaign(store, make_units(20, 2))
        disk.fill(but=300_000)
        filling = Filling(store)
        assert "No space left on device" in filling.refusal or "the disk is full" in filling.refusal
        assert "whether it was stored is unknown; try again" in filling.refusal or NOTHING_STORED in filling.refusal
        disk.make_room()
        server.bring_back()
        assert len(filling.unacknowledged()) <= 1
        filling.check_goes_on()


def test_a_server_that_stopped_over_a_full_disk_before_the_commit():
    """Catches a message that only says that the server is gone, which is all that the second try finds.

    When a server writes its log before a commit is its own affair: the errors are made by hand.
    """
    psycopg = pytest.importorskip("psycopg")
    stopped = exc.OperationalError("INSERT", {}, psycopg.errors.DiskFull("no space"), connection_invalidated=True)
    gone = exc.OperationalError(None, None, psycopg.OperationalError("connection failed"))
    broken = ConnectionFaults("here", is_repeatable=True)
    assert broken.cause_of(gone) is gone
    broken.note(stopped, in_commit=False)
    assert broken.unknown() is None
    assert NOTHING_STORED in str(refusal_of(broken.cause_of(gone), "here", 1, is_sqlite=False))
