"""Compiled code is kept where it can be, and nothing depends on that."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from activeeval.core.kernels import compiling

CALL = """
import sys
import numpy as np
from activeeval.core.kernels.first_use import WATCHERS
from activeeval.core.kernels.text import number_texts as text_numbers
WATCHERS.append(lambda: print("first use", file=sys.stderr))
if sys.argv[1:]:
    def full(*_): raise OSError(28, "No space left on device")
    import numba.core.caching as caching
    caching.IndexDataCacheFile.save = full
data = np.frombuffer(b"  a b", dtype=np.uint8)
print(text_numbers.skip_blanks(data, 0))
print(sum(text_numbers.skip_blanks.stats.cache_hits.values()))
print(text_numbers.token_end(data, 2))
"""
ANSWER = "2"


def start(folder, *given):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder), "NUMBA_DISABLE_JIT": "0"}
    command = [sys.executable, "-c", CALL, *given]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    answer, hits, end = done.stdout.splitlines()
    assert (answer, end) == (ANSWER, "3")
    return int(hits), done.stderr


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """Return a folder with compiled code, not to be written to."""
    folder = tmp_path_factory.mktemp("compiled")
    assert start(folder) == (0, "first use\n")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(("suffix", "content"), [("nbi", b""), ("nbc", b"junk"), ("nbi", b"\x80\x05.")])
def test_a_damaged_cache_is_said_once_and_compiled_anew(compiled, tmp_path, content, suffix):
    shutil.copytree(compiled, tmp_path, dirs_exist_ok=True)
    damaged = list(tmp_path.rglob(f"*.{suffix}"))
    assert damaged
    for path in damaged:
        path.write_bytes(content)
    hits, told = start(tmp_path)
    assert hits == 0
    assert told.startswith(f"activeeval: compiled code in {tmp_path}")
    assert told.endswith("it is compiled anew: is the disk full?\nfirst use\n")
    assert told.count("\n") == 2
    assert start(tmp_path) == (1, "")


def test_a_full_disk_keeps_nothing_and_is_said_once(tmp_path):
    hits, told = start(tmp_path, "full")
    assert (hits, told.count("\n"), told.count("first use\n")) == (0, 2, 1)
    assert "(No space left on device)" in told or "([Errno 28] No space left on device)" in told
    assert not list(tmp_path.rglob("*.nbc"))


ROOM = {
    "__init__.py": "",
    "inner.py": "from room.compiling import jit\n@jit\ndef inner(x):\n    return x + {}\n",
    "outer.py": "from room.inner import inner, jit\n@jit\ndef outer(x):\n    return inner(x)\n",
}


def test_what_a_function_calls_may_change_alone(tmp_path):
    """As after a pull: the outer function is compiled anew, though its own file is as old as what was kept of it."""
    room = tmp_path / "room"
    room.mkdir()
    source = Path(compiling.__file__)
    text = source.read_text().replace("activeeval.core.kernels", "room")
    (room / "compiling.py").write_text(text)
    (room / "first_use.py").write_text((source.parent / "first_use.py").read_text())
    call = "from room.outer import outer; print(outer(1), sum(outer.stats.cache_hits.values()))"
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "NUMBA_DISABLE_JIT": "0"}

    def answer():
        command = [sys.executable, "-c", call]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()

    for name, text in ROOM.items():
        (room / name).write_text(text.format(1))
    assert answer() == ["2", "0"]
    (room / "inner.py").write_text(ROOM["inner.py"].format(20))
    assert answer() == ["21", "0"]
