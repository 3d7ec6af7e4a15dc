"""Every reader says of every broken file, in one line, where it is wrong and what was expected."""

from __future__ import annotations

import math
import os
import re

import pytest
from broken import BROKEN, DAMAGED, READERS

from activeeval.core.errors import InputError
from activeeval.formats.loading import load_run
from activeeval.formats.text.letor import read_letor
from activeeval.formats.text.scores import read_scores
from activeeval.formats.text.trec import read_qrels
from activeeval.formats.writing import write_atomically


def break_off(path, problem):
    with write_atomically(path) as handle:
        handle.write("half")
        raise problem


def test_the_corpus_is_large():
    assert len(BROKEN) >= 330


@pytest.mark.parametrize(
    ("reader", "file", "content", "says"),
    BROKEN,
    ids=[f"{reader} {k}{says[:40]}" for k, (reader, _, _, says) in enumerate(BROKEN)],
)
def test_a_broken_file_is_one_clear_line(tmp_path, reader, file, content, says):
    path = tmp_path / file
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        READERS[reader](path)
    message = str(caught.value)
    assert "\n" not in message
    assert re.fullmatch(".*".join(map(re.escape, f"{path}{says}".split("*"))), message), message
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize("name", ["read_letor", "read_qrels", "read_run", "read_draws", "load_qrels", "read_costs"])
def test_a_missing_file_and_a_directory(tmp_path, name):
    reader = READERS[name]
    with pytest.raises(InputError, match=r"gone.csv: no such file$"):
        reader(tmp_path / "gone.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InputError, match=r"folder.csv: is a directory, expected a file$"):
        reader(tmp_path / "folder.csv")


def test_a_file_that_may_not_be_read(tmp_path):
    if os.geteuid() == 0:
        pytest.skip("needs a user whom file permissions bind; root reads everything")
    path = tmp_path / "a.txt"
    path.write_bytes(b"1 qid:1\n")
    path.chmod(0)
    with pytest.raises(InputError, match=r"a.txt: cannot read: Permission denied$"):
        read_letor(path)


def test_no_permission_and_a_path_with_nul(tmp_path, monkeypatch):
    def refuse(*arguments, **options):
        raise PermissionError(13, "Permission denied")

    with pytest.raises(InputError, match="cannot read: embedded null byte"):
        read_qrels("a\0b")
    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(InputError, match=r"a.txt: cannot read: Permission denied$"):
        read_letor(tmp_path / "a.txt")


@pytest.mark.parametrize("name", ["out.txt", "out.txt.gz"])
@pytest.mark.parametrize("problem", [KeyboardInterrupt(), ValueError("no")], ids=["interrupt", "error"])
def test_a_write_that_breaks_off_leaves_all_as_it_was(tmp_path, problem, name):
    path = tmp_path / name
    path.write_text("before")
    with pytest.raises(type(problem)):
        break_off(path, problem)
    assert path.read_text() == "before"
    assert [p.name for p in tmp_path.iterdir()] == [name]


def test_a_full_disk_is_one_line(tmp_path):
    path = tmp_path / "out.txt"
    with pytest.raises(InputError, match=r"out.txt: cannot write: No space left on device$"):
        break_off(path, OSError(28, "No space left on device"))
    assert list(tmp_path.iterdir()) == []
    with (
        pytest.raises(InputError, match=r"/dev/full: cannot write: No space left on device$"),
        write_atomically("/dev/full") as handle,
    ):
        handle.write("text")
    with pytest.raises(InputError, match="cannot write: No such file"), write_atomically(tmp_path / "no" / "x"):
        pass


def test_a_write_keeps_mode_and_follows_links(tmp_path):
    target, link = tmp_path / "target.txt", tmp_path / "link.txt"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target)
    with write_atomically(link) as handle:
        handle.write("né\r\n")
    assert link.is_symlink()
    assert target.read_bytes() == "né\r\n".encode()
    assert target.stat().st_mode & 0o777 == 0o640


def test_a_panic_of_polars_prints_nothing(tmp_path, capfd):
    (tmp_path / "a.parquet").write_bytes(DAMAGED)
    with pytest.raises(InputError, match=r"a\.parquet: cannot be read as parquet: "):
        load_run(tmp_path / "a.parquet")
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("zeros", [5, 99_998, 100_002, 1_000_003])
@pytest.mark.parametrize("power", [3, 99_999, 100_001, 1_000_000])
def test_numbers_of_many_zeros_are_read_as_python_reads_them(tmp_path, zeros, power):
    text = f"0.{'0' * zeros}1e{power}"
    (tmp_path / "a.score").write_text(text)
    if float(text) == math.inf:
        with pytest.raises(InputError, match="is too large, expected a finite number"):
            read_scores(tmp_path / "a.score")
    else:
        assert read_scores(tmp_path / "a.score").tolist() == [float(text)]
