"""Files of SQLite on a medium or in a folder where nothing can be written: they are read all the same."""

import os
import shutil
import tempfile
from pathlib import Path
from urllib.parse import quote

import pytest
from store_cases import complaint, grade, make_campaign, make_units, output_of, script, work_off

from activeeval.campaigns.store import open_store
from activeeval.core.errors import InputError
from tests.databases import missing

READ_ONLY = "may only be read; nothing of this was stored"


def url_of(path):
    return f"sqlite:///{quote(str(path))}"


def judged_campaign(url):
    """Make a file with a campaign that has been worked off; return its log."""
    with open_store(url, create=True) as store:
        make_campaign(store, make_units(10, 2))
        work_off(store, "ann")
        return store.events("night")


def copied_while_open(path, folder, *suffixes):
    """Copy a file, and some of those beside it, while its last writes are not in it yet; return the whole log."""
    with open_store(url_of(path), create=True) as store:
        make_campaign(store)
        store.submit("night", store.claim("night", "ann").token, grade())
        for suffix in ("", *suffixes):
            shutil.copy(f"{path}{suffix}", folder)
        return store.events("night")


@pytest.mark.parametrize("name", ["night", "a night?#1%.activeeval"])
def test_a_campaign_on_a_medium_that_can_only_be_read_is_read(disk, name):
    """Catches a store that wants a log, an index or a lock beside its file to read it, or reads another file.

    The second name has the signs that mean something in the URI of a file.
    """
    url = url_of(disk.folder / name)
    log = judged_campaign(url)
    before = sorted(os.listdir(disk.folder))
    disk.forbid_writing()
    with open_store(url) as store:
        assert store.campaigns() == ["night"]
        assert store.events("night") == log
        assert store.verify("night") == []
        assert len(store.units("night")) == 10
        assert store.samples("night")[0].payload == b"\x00\xffsample"
        assert store.waiting("night") == {"free": 0, "leased": 0, "done": 20}
    assert before == [name] == sorted(os.listdir(disk.folder))


def test_what_is_written_there_is_refused_in_one_line(disk):
    """Catches a trace of SQLite's, and a write that is acknowledged and goes nowhere."""
    url = url_of(disk.folder / "night")
    log = judged_campaign(url)
    disk.forbid_writing()
    for create in (False, True):
        with open_store(url, create=create) as store:
            for ask in (
                lambda store=store: store.claim("night", "bob"),
                lambda store=store: store.retract("night", log[-1].seq, "boss", "spam"),
                lambda store=store: store.record("night", "bob", [("q1", "d1-0", grade(), None)]),
                lambda store=store: store.rebuild("night"),
                lambda store=store: make_campaign(store, name="another"),
            ):
                assert READ_ONLY in complaint(InputError, ask)
            assert store.events("night") == log
    for folder in ("", "none/"):
        complaint(InputError, lambda folder=folder: open_store(url_of(disk.folder / f"{folder}new"), create=True))


def test_last_writes_that_cannot_be_read_there_are_not_passed_over(disk):
    """Catches a file read without the log beside it: its last events would be missing, and nothing else wrong."""
    (disk.folder / "log").mkdir()
    (disk.folder / "both").mkdir()
    log = copied_while_open(disk.folder / "night", disk.folder / "log", "-wal")
    copied_while_open(disk.folder / "night2", disk.folder / "both", "-wal", "-shm")
    disk.forbid_writing()
    says = complaint(InputError, lambda: open_store(url_of(disk.folder / "log" / "night")))
    assert "its last writes are still in 'night-wal'" in says
    assert "copy both elsewhere" in says
    with open_store(url_of(disk.folder / "both" / "night2")) as store:  # SQLite finds its way with the index
        assert [event.kind for event in store.events("night")] == [event.kind for event in log]
        assert store.verify("night") == []
        assert READ_ONLY in complaint(InputError, lambda: store.claim("night", "ann"))
    elsewhere = shutil.copytree(disk.folder / "log", disk.folder.parent / "elsewhere")
    with open_store(url_of(elsewhere / "night")) as store:
        assert store.events("night") == log


def test_a_file_that_was_left_in_the_middle_of_a_write_is_not_read(disk):
    """Catches a file read without the journal that takes half a transaction back."""
    path = disk.folder / "night"
    judged_campaign(url_of(path))
    Path(f"{path}-journal").write_bytes(b"x" * 512)
    disk.forbid_writing()
    assert "still in 'night-journal'" in complaint(InputError, lambda: open_store(url_of(path)))


@pytest.fixture
def open_folder():
    """Return a folder that every user gets to: those of pytest are closed."""
    if os.geteuid():
        missing("nobody", "root alone becomes another user")
    with tempfile.TemporaryDirectory(prefix="activeeval-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def read_by_nobody(*urls):
    done, rows = output_of(*script("reader.py", *urls))
    assert done.returncode == 0, done.stderr
    return rows


def test_a_user_without_the_right_to_write_reads(open_folder):
    """Catches a store that only root can read, whom modes do not hold, and writes that end in a trace.

    In the third case he may write the file and not its folder, which is said: nothing else is wrong there.
    """
    modes = ((0o444, 0o777), (0o644, 0o555), (0o666, 0o555))
    urls = [url_of(open_folder / f"folder{k}" / "night") for k in range(len(modes))]
    for k, (file_mode, folder_mode) in enumerate(modes):
        (open_folder / f"folder{k}").mkdir()
        log = judged_campaign(urls[k])
        (open_folder / f"folder{k}" / "night").chmod(file_mode)
        (open_folder / f"folder{k}").chmod(folder_mode)
    *read, not_read = read_by_nobody(*urls)
    for said in read:
        assert READ_ONLY in said.pop("refused")
        assert said == {"campaigns": ["night"], "problems": [], "last": len(log)}
    assert "its folder is not writable" in not_read["error"]


def test_what_another_user_writes_meanwhile_is_read(open_folder):
    """Catches a file taken for one that never changes while its owner judges on."""
    url = url_of(open_folder / "folder" / "night")
    (open_folder / "folder").mkdir()
    with open_store(url, create=True) as store:
        make_campaign(store)
        (open_folder / "folder").chmod(0o555)
        assert "cannot be opened" in read_by_nobody(url)[0]["error"]
        for path in (open_folder / "folder").iterdir():
            path.chmod(0o644)
        work_off(store, "ann")
        assert read_by_nobody(url)[0]["last"] == store.last_seq("night") > 4
