"""Every reader against mutants of sound files: a value, or an error of one line, soon and in little memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from mutants import KINDS, MEASURES, in_csv

MUTANTS = Path(__file__).with_name("mutants.py")
COUNT = 500
SEED = 1
MOST_MUTANTS = COUNT * len(KINDS)


def problems(kind, count, folder):
    done = subprocess.run(
        [sys.executable, str(MUTANTS), kind, str(count), str(SEED), str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    ended = "" if done.returncode == 0 else f"the process ended with {done.returncode}: {done.stderr[-2000:]}"
    return [*done.stdout.splitlines(), *filter(None, [ended])]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is told by Linux")
@pytest.mark.parametrize("kind", KINDS)
def test_no_mutant_ends_in_anything_but_a_line(tmp_path, kind):
    assert problems(kind, COUNT, tmp_path) == []


def test_there_are_enough_mutants():
    assert MOST_MUTANTS >= 20_000
    assert len(MEASURES) == 10
    assert in_csv([{"a": 1, "b": "x"}]) == b"a,b\n1,x\n"
