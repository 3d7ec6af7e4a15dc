"""Processor time of commands that have little to do, each a process of its own, beside what they cannot do without."""

from __future__ import annotations

import json
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path

from benchmarks.frame.processes import activeeval_command, run, wall_and_cpu
from benchmarks.frame.report import figure
from benchmarks.unchanged import MAX_GRADE, judge, write_collection

BUDGET, ROWS, BY_BOB = 165, 30, 70
FLOORS = {
    "python alone": "pass",
    "import sqlalchemy": "import sqlalchemy",
    "import numpy, sqlalchemy": "import numpy, sqlalchemy",
}
Work = Callable[[], float]


def processor_s(call: Callable[[], object]) -> float:
    """Measure the processor seconds of the processes that a call starts."""
    return wall_and_cpu(call)[1]


class Campaign:
    """A campaign in a folder, some 650 events long, whose commands are timed one at a time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with chdir(folder):
            grades = write_collection()
            Path("truth.qrels").write_text("".join(f"{q} 0 {d} {g}\n" for (q, d), g in grades.items()))
        oracle = ("--oracle", "truth.qrels", "--unjudged", "irrelevant")
        runs = ("--run", "new.run", "--versus-run", "old.run", "--max-grade", str(MAX_GRADE), "--measure", "DCG@10")
        self.call("create", *runs, "--budget", str(BUDGET), "--judges-per-item", "2", "--policy", "median")
        self.call("judge", "--judge", "ann", *oracle)
        self.call("judge", "--judge", "bob", *oracle, "--limit", str(BY_BOB))
        self.call("next", "--judge", "bob", "--items", str(ROWS), "--out", "sheet.csv")
        judge(str(folder / "sheet.csv"), grades)
        self.call("report", "--out", "report.json")
        self.n_events = json.loads((folder / "report.json").read_text())["head"]["as_of"]
        self._kept = shutil.copy(folder / "week.activeeval", folder / "kept")

    def call(self, command: str, *arguments: str) -> str:
        """Run one of its commands; return what it prints."""
        return run([*activeeval_command(), "campaign", command, "week", *arguments], self.folder)

    def timed(self, command: str, *arguments: str) -> float:
        """Return the processor time of one of its commands, on the campaign as it was made."""
        return processor_s(lambda: self.call(command, *arguments))

    def anew(self) -> None:
        """Forget what was timed."""
        for rest in self.folder.glob("week.activeeval-*"):
            rest.unlink()
        shutil.copy(self._kept, self.folder / "week.activeeval")

    def submit(self) -> float:
        """Return the time of an answer to an item that is claimed before."""
        token = json.loads(self.call("claim", "--judge", "cyd"))["token"]
        return self.timed("submit", "--token", token, "--grade", "1")


def time_short_commands(repeats: int) -> dict:
    """Time the commands in turns, so that all of them see the same machine."""
    with tempfile.TemporaryDirectory() as name:
        campaign = Campaign(Path(name))
        floors: dict[str, Work] = {
            what: lambda code=code: processor_s(lambda: run([sys.executable, "-c", code], campaign.folder))
            for what, code in FLOORS.items()
        }
        commands: dict[str, tuple[Work, float]] = {
            "campaign claim": (lambda: campaign.timed("claim", "--judge", "cyd"), 0.3),
            "campaign submit": (campaign.submit, 0.3),
            f"campaign import, {ROWS} rows": (lambda: campaign.timed("import", "sheet.csv"), 0.3),
            f"campaign report, {campaign.n_events} events": (lambda: campaign.timed("report", "--force"), 2.0),
        }
        works = floors | {what: work for what, (work, _) in commands.items()}
        times: dict[str, list[float]] = {what: [] for what in works}
        for _ in range(repeats):
            for what, work in works.items():
                campaign.anew()
                times[what].append(work())
    figures = []
    for what, taken in times.items():
        most = commands[what][1] if what in commands else None
        note = f"of the processor, least {min(taken):.2f} s"
        figures.append(figure(what, statistics.median(taken), "s", at_most=most, n=repeats, note=note))
    return {"n_events": campaign.n_events, "figures": figures}
