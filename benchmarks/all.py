"""Run every experiment again, in order, from one commit: ``python -m benchmarks.all``, or ``make figures``.

    python -m benchmarks.all [--only NAME] [--from NAME] [--fast]

The steps are the rows of the table in benchmarks/README.md. Each is a command of its own whose JSON records the commit;
how many minutes it took is written into the table. --fast leaves out what takes an hour or more. Nothing is run while
activeeval has changes that are not committed: figures are of a commit.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from dataclasses import dataclass

from benchmarks.machine import ROOT

README = ROOT / "benchmarks" / "README.md"
LONG = 60
ROW = re.compile(
    r"^\| (?P<name>[\w-]+) \| .* \| `python -m (?P<command>[^`]+)` \| (?P<files>.*) \| (?P<minutes>[\d.]*) \|$"
)


@dataclass(frozen=True, slots=True)
class Step:
    """A command, the files that it writes, in benchmarks/, and the minutes of its last run (NaN: it never ran)."""

    name: str
    command: str
    files: tuple[str, ...]
    minutes: float


def steps_in(text: str) -> list[Step]:
    """Read the steps from the rows of the table."""
    rows = (row.groupdict() for row in map(ROW.match, text.splitlines()) if row)
    return [
        Step(row["name"], row["command"], tuple(re.findall("`([^`]+)`", row["files"])), float(row["minutes"] or "nan"))
        for row in rows
    ]


def with_minutes(text: str, name: str, minutes: float) -> str:
    """Write the minutes of a step into its row."""
    return re.sub(rf"^(\| {name} \|.*\|)[^|]*\|$", rf"\1 {max(minutes, 0.1):.1f} |", text, flags=re.MULTILINE)


def chosen(steps: list[Step], options: argparse.Namespace) -> list[Step]:
    """List the steps to run."""
    first = [step.name for step in steps].index(options.first) if options.first else 0
    return [
        step
        for step in steps[first:]
        if step.name in (options.only or [step.name]) and not (options.fast and step.minutes >= LONG)
    ]


def commit() -> str:
    """Read the commit of the code; refuse code that has changed since."""
    changed, head = (
        subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
        for words in (("status", "--porcelain", "activeeval"), ("rev-parse", "--short=12", "HEAD"))
    )
    if changed:
        raise SystemExit("activeeval has changes that are not committed: figures are of a commit")
    return head


def main() -> None:
    """Run the chosen steps, one after the other."""
    steps = steps_in(README.read_text())
    names = [step.name for step in steps]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=names, help="repeatable")
    parser.add_argument("--from", dest="first", choices=names, help="this one and all after it")
    parser.add_argument("--fast", action="store_true", help="leave out what takes an hour or more")
    options, head = parser.parse_args(), commit()
    for step in chosen(steps, options):
        print(f"{step.name}: python -m {step.command}", flush=True)
        # the paper's experiments keep what they have trained, by commit
        work = ["--work", f"benchmarks/work/{head}"] if step.name.startswith("paper-") else []
        started = time.perf_counter()
        subprocess.run([sys.executable, "-m", *step.command.split(), *work], cwd=ROOT, check=True)
        minutes = (time.perf_counter() - started) / 60
        README.write_text(with_minutes(README.read_text(), step.name, minutes))


if __name__ == "__main__":
    main()
