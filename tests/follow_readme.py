"""Follow README.md as somebody new: a fresh clone, an environment as it says, its demo, every command that it shows.

``python tests/follow_readme.py`` clones the repository into an empty folder and takes both ways of README to install;
with either the demo is run, and the commands that README shows have to say what it shows, word for word. Ends with 1 at
the first that does not.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from test_pages import BLOCK, DOCS, plain

SETUP = re.compile(r"`(python3 -m venv [^`]+)`")
WAITING = re.compile(r"^activeeval: (first use: .*|.* s so far)\n", re.MULTILINE)
"""What is said while somebody waits, in a new environment while code is compiled."""
EXAMPLE = Path("demo-out", "example")


def main() -> int:
    """Follow the page; return the exit code."""
    with tempfile.TemporaryDirectory() as folder:
        for way in ("make demo", "pip"):
            clone = Path(folder, way.replace(" ", "-"))
            subprocess.run(["git", "clone", "--quiet", str(DOCS.parent), str(clone)], check=True)
            page = (clone / "README.md").read_text("utf-8")
            (by_pip,) = SETUP.findall(page)
            install = way if way == "make demo" else f"{by_pip} && activeeval demo"
            path = os.pathsep.join([str(clone / ".venv" / "bin"), os.environ["PATH"]])
            if not ran(install, clone, path)[0] or not all(
                says(block, clone / EXAMPLE, path)
                for block in BLOCK.finditer(page)
                if block["commands"].startswith("activeeval ")
            ):
                return 1
    return 0


def says(block, folder: Path, path: str) -> bool:
    """Run a block of commands; say whether it says what is shown."""
    is_well, printed = ran(block["commands"], folder, path)
    printed = WAITING.sub("", printed)
    if is_well and plain(printed) == plain(block["said"]):
        return True
    print(f"README shows\n{block['said']}\nand not\n{printed}")
    return False


def ran(command: str, folder: Path, path: str) -> tuple[bool, str]:
    """Run a command and tell of it; say whether it went well, and what it printed."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"PATH": path}
    piped = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, check=False, **piped)
    is_well = done.returncode == 0
    print(f"{'ok  ' if is_well else 'FAIL'} {command.strip()}" + ("" if is_well else f"\n{done.stdout}"), flush=True)
    return is_well, done.stdout


if __name__ == "__main__":
    sys.exit(main())
