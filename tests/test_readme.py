"""README.md: short, its commands say what it shows, its links lead somewhere.

``python tests/test_readme.py`` writes what the commands say now into it.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pytest
from test_pages import plain, said_by

from activeeval.tasks.example import write_example

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
MOST_LINES, MOST_WORDS = 130, 1100
BLOCK = re.compile(
    r"^```sh\n(?P<commands>activeeval .*?)^```\n(?:\n```text\n(?P<said>.*?)^```\n)?", re.MULTILINE | re.DOTALL
)
LINK = re.compile(r"\]\((?P<place>[^)#]+)[^)]*\)")


def blocks():
    """Yield each block of commands with what they say, in the folder that `activeeval demo` leaves."""
    with tempfile.TemporaryDirectory() as folder:
        write_example(folder)
        for block in BLOCK.finditer(README.read_text("utf-8")):
            yield block, said_by(block["commands"].replace("\\\n", ""), folder)


def test_it_is_read_in_five_minutes():
    text = README.read_text("utf-8")
    assert len(text.splitlines()) <= MOST_LINES
    assert len(text.split()) <= MOST_WORDS


@pytest.mark.slow
def test_its_commands_say_what_it_shows():
    run = list(blocks())
    assert len(run) == 3
    for block, said in run:
        assert plain(said) == plain(block["said"]), block["commands"]


def test_every_command_of_it_is_run_by_a_test():
    """Those that are shown, and beside them `make`'s, which CI runs."""
    text = README.read_text("utf-8")
    lines = [
        line
        for block in re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        for line in block.splitlines()
    ]
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    for line in lines:
        words = line.split()
        assert words[0] == "activeeval" or line.startswith("  ") or (words[0] == "make" and words[1] in targets), line


def test_its_links_lead_somewhere():
    places = [match["place"] for match in LINK.finditer(README.read_text("utf-8"))]
    assert len(places) > 10
    assert [place for place in places if not place.startswith("http") and not (ROOT / place).exists()] == []


if __name__ == "__main__":
    text = README.read_text("utf-8")
    for block, said in blocks():
        shown = f"```sh\n{block['commands']}```\n" + (f"\n```text\n{said}```\n" if said else "")
        text = text.replace(block[0], shown)
    README.write_text(text, "utf-8")
