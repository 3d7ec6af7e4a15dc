"""Follow README.md as a new user: a fresh clone, its command to install with pip, the demo, and every command shown.

``python tests/follow_readme.py`` clones the repository into an empty folder and installs it as README says. It runs the
demo in another folder, so that only the installed package is found, and compares the output of README's commands with
README, word for word. Ends with 1 at the first difference. `.ci/run` runs README's other way, ``make demo``.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from test_pages import BLOCK, DOCS, plain

SETUP = re.compile(r"`(python3 -m venv [^`]+)`")
WAITING = re.compile(r"^activeeval: (first use: .*|.* s so far)\n", re.MULTILINE)
"""Progress messages, shown while kernels are compiled in a new environment."""
EXAMPLE = Path("demo-out", "example")


def main() -> int:
    """Follow the page; return the exit code."""
    with tempfile.TemporaryDirectory() as name:
        clone, elsewhere = Path(name, "clone"), Path(name, "elsewhere")
        elsewhere.mkdir()
        subprocess.run(["git", "clone", "--quiet", str(DOCS.parent), str(clone)], check=True)
        page = (clone / "README.md").read_text("utf-8")
        (install,) = SETUP.findall(page)
        path = os.pathsep.join([str(clone / ".venv" / "bin"), os.environ["PATH"]])
        steps = ((install, clone), ("activeeval demo", elsewhere))
        is_well = all(ran(command, folder, path)[0] for command, folder in steps) and all(
            says(block, elsewhere / EXAMPLE, path)
            for block in BLOCK.finditer(page)
            if block["commands"].startswith("activeeval ")
        )
    return int(not is_well)


def says(block, folder: Path, path: str) -> bool:
    """Run a block of commands; return True if it prints what README shows."""
    is_well, printed = ran(block["commands"], folder, path)
    printed = WAITING.sub("", printed)
    if is_well and plain(printed) == plain(block["said"]):
        return True
    print(f"README shows\n{block['said']}\nand not\n{printed}")
    return False


def ran(command: str, folder: Path, path: str) -> tuple[bool, str]:
    """Run a command and print its result; return whether it succeeded, and its output."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"PATH": path}
    piped = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, check=False, **piped)
    is_well = done.returncode == 0
    print(f"{'ok  ' if is_well else 'FAIL'} {command.strip()}" + ("" if is_well else f"\n{done.stdout}"), flush=True)
    return is_well, done.stdout


if __name__ == "__main__":
    sys.exit(main())
