"""Files that are written: whole or not at all, whoever else writes them, whatever links lead there."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from patience import PATIENCE_S

from activeeval.core.errors import InputError
from activeeval.formats.writing import AtomicFiles, write_atomically

DEAD = 2**22 + 1
"""No process: Linux counts up to 2^22."""


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def write(path, text):
    with write_atomically(path) as handle:
        handle.write(text)


def test_what_killed_processes_left_of_a_name_goes(tmp_path):
    own, alive = os.getpid(), os.getppid()
    gone = [f".a.csv.{DEAD}.tmp", f".a.csv.{DEAD}-7.tmp", f".a.csv.{own}-9999999.tmp", f".a.csv.{10**30}.tmp"]
    kept = [f".a.csv.{alive}-1.tmp", f".b.csv.{DEAD}-1.tmp", f".aXcsv.{DEAD}.tmp", ".a.csv.x.tmp"]
    for name in (*gone, *kept):
        (tmp_path / name).write_text("half")
    write(tmp_path / "a.csv", "whole")
    assert names(tmp_path) == sorted([*kept, "a.csv"])


def test_a_killed_writer_leaves_nothing_once_the_name_is_written_again(tmp_path):
    code = (
        "import os, sys; from activeeval.formats.writing import write_atomically as w\nwith w(sys.argv[1]): os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", code, tmp_path / "a.csv"], check=False).returncode == 9
    assert len(names(tmp_path)) == 1
    write(tmp_path / "a.csv", "whole")
    assert names(tmp_path) == ["a.csv"]


def test_threads_that_write_one_name_do_not_meet(tmp_path):
    n, barrier = 8, Barrier(8, timeout=PATIENCE_S)

    def one(k):
        for _ in range(20):
            with write_atomically(tmp_path / "a.csv") as handle:
                handle.write(str(k) * 50_000)
                barrier.wait()
                handle.write(str(k) * 50_000)

    with ThreadPoolExecutor(n) as pool:
        list(pool.map(one, range(n)))
    assert names(tmp_path) == ["a.csv"]
    text = (tmp_path / "a.csv").read_text()
    assert text == text[0] * 100_000


def test_a_link_at_the_temporary_name_is_not_written_through(tmp_path, monkeypatch):
    (tmp_path / "victim").write_text("whole")
    monkeypatch.setattr("activeeval.formats.writing.secrets.randbelow", lambda n: 7)
    (tmp_path / f".a.csv.{os.getppid()}-7.tmp").symlink_to("victim")
    monkeypatch.setattr("activeeval.formats.writing.os.getpid", os.getppid)
    with pytest.raises(InputError, match=r"a\.csv: cannot write: File exists$"):
        write(tmp_path / "a.csv", "new")
    assert (tmp_path / "victim").read_text() == "whole"


def test_temporary_names_are_foreseen_by_nobody(tmp_path):
    seen = set()
    for _ in range(2):
        with write_atomically(tmp_path / "a.csv"):
            seen |= {name.split("-")[1] for name in names(tmp_path) if name.endswith(".tmp")}
    assert len(seen) == 2
    assert all(len(name) > len("123456.tmp") for name in seen)  # false in one run of two billion


def test_the_folder_is_synced_after_all_files_took_their_names(tmp_path, monkeypatch):
    done, replace, sync = [], os.replace, os.fsync

    def replaced(source, target):
        done.append(os.path.basename(target))
        replace(source, target)

    def synced(handle):
        done.append("folder" if os.path.isdir(f"/proc/self/fd/{handle}") else "file")
        sync(handle)

    monkeypatch.setattr(os, "replace", replaced)
    monkeypatch.setattr(os, "fsync", synced)
    with AtomicFiles() as files:
        for name in ("a", "b"):
            with files.open(tmp_path / name) as handle:
                handle.write(name)
    assert done == ["file", "file", "a", "b", "folder"]


def test_a_writer_that_is_at_work_is_left_alone(tmp_path):
    with AtomicFiles() as first, first.open(tmp_path / "a.csv") as handle:
        write(tmp_path / "a.csv", "second")
        handle.write("first")
    assert ((tmp_path / "a.csv").read_text(), names(tmp_path)) == ("first", ["a.csv"])


@pytest.mark.parametrize("is_there", [True, False])
@pytest.mark.parametrize("link_to", ["b.csv", "sub/b.csv", "../{}/sub/b.csv", "{absolute}/sub/b.csv", "hop", "sub/hop"])
def test_a_link_stays_and_what_it_leads_to_is_written(tmp_path, monkeypatch, link_to, is_there):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "hop").symlink_to("../b.csv")
    (tmp_path / "hop").symlink_to("sub/b.csv")
    target = link_to.format(tmp_path.name, absolute=tmp_path)
    (tmp_path / "a.csv").symlink_to(target)
    end = (tmp_path / "a.csv").resolve()
    if is_there:
        end.write_text("old")
    monkeypatch.chdir(tmp_path)
    for path in (tmp_path / "a.csv", "a.csv"):
        write(path, f"new {path}")
        assert os.readlink(tmp_path / "a.csv") == target
        assert end.read_text() == f"new {path}"
        assert not [name for folder in (tmp_path, tmp_path / "sub") for name in names(folder) if "tmp" in name]


def test_a_link_to_itself_is_refused(tmp_path):
    (tmp_path / "a.csv").symlink_to("b.csv")
    (tmp_path / "b.csv").symlink_to("a.csv")
    with pytest.raises(InputError, match=r"a\.csv: cannot write: the link leads to itself$"):
        write(tmp_path / "a.csv", "new")
    assert names(tmp_path) == ["a.csv", "b.csv"]
