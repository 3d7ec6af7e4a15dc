"""docs/a-week.md, word for word: every command is run in its order, and says what the page shows.

``python tests/test_week.py`` writes the page anew with what the commands say now.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGE = DOCS / "a-week.md"
BLOCK = re.compile(r"^```sh\n(?P<commands>.*?)^```\n(?:\n```text\n(?P<said>.*?)^```\n)?", re.MULTILINE | re.DOTALL)
SAMPLE = re.compile(r"\b[0-9a-z-]{26,40}\b")


def said_by(commands, folder):
    """Run commands as a terminal would, and return all that they print."""
    places = [str(Path(sys.executable).parent), os.environ["PATH"]]
    environment = os.environ | {"PATH": os.pathsep.join(places), "COLUMNS": "200"}
    done = subprocess.run(
        ["bash", "-euc", commands],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{commands}\n{done.stdout}"
    return done.stdout


def run_page(text):
    """Yield what the page shows and what its commands say, block by block."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(DOCS / "week.py", folder)
        for block in BLOCK.finditer(text):
            yield block, said_by(block["commands"], folder)


def plain(text):
    """Return text with ids of samples masked: they hang on the last bits of what a machine computes."""
    return SAMPLE.sub("<sample>", text or "")


def test_the_week_is_what_the_page_says():
    blocks = list(run_page(PAGE.read_text()))
    assert len(blocks) > 8
    for block, said in blocks:
        assert plain(said) == plain(block["said"]), block["commands"]


def rewrite():
    """Write the page anew."""
    text, parts, end = PAGE.read_text(), [], 0
    for block, said in run_page(text):
        shown = f"\n```text\n{said}```\n" if said else ""
        parts += [text[end : block.start()], f"```sh\n{block['commands']}```\n{shown}"]
        end = block.end()
    PAGE.write_text("".join([*parts, text[end:]]))


if __name__ == "__main__":
    rewrite()
