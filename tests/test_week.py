"""docs/a-week.md, word for word: every command is run in its order, and says what the page shows.

``python tests/test_week.py`` writes the page anew with what the commands say now.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

from activeeval import cli

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGE = DOCS / "a-week.md"
BLOCK = re.compile(r"^```sh\n(?P<commands>.*?)^```\n(?:\n```text\n(?P<said>.*?)^```\n)?", re.MULTILINE | re.DOTALL)
SAMPLE = re.compile(r"\b[0-9a-z-]{26,40}\b")


def said_by(commands, folder):
    """Run commands one by one as a terminal would, and return all that they print."""
    return "".join(said_by_line(line, folder) for line in commands.splitlines())


def said_by_line(line, folder):
    """Run one command: this package's own in this process, which has its kernels at hand, any other by a shell."""
    if line.startswith("activeeval "):
        with chdir(folder), redirect_stdout(StringIO()) as said, redirect_stderr(said):
            code = cli.run(shlex.split(line)[1:])
        printed = said.getvalue()
    else:
        environment = os.environ | {"PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}
        piped = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        done = subprocess.run(["bash", "-euc", line], cwd=folder, env=environment, check=False, **piped)
        code, printed = done.returncode, done.stdout
    assert code == 0, f"{line}\n{printed}"
    return printed


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
