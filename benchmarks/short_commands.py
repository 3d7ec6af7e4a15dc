"""Processor time of commands that have little to do, each a process of its own, beside what they cannot do without."""

from __future__ import annotations

import csv
import json
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from activeeval.core.pool.generated import generate_pool, noisy_scores
from benchmarks.frame.processes import activeeval_command, run, wall_and_cpu
from benchmarks.frame.report import figure

N_QUERIES, BUDGET, ROWS, BY_BOB = 150, 165, 30, 70
DEPTH = 20
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

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self._write_files(seed)
        oracle = ("--oracle", "truth.qrels", "--unjudged", "irrelevant")
        runs = ("--run", "new.run", "--versus-run", "old.run", "--max-grade", "4", "--measure", "DCG@10")
        self.call("create", *runs, "--budget", str(BUDGET), "--judges-per-item", "2", "--policy", "median")
        self.call("judge", "--judge", "ann", *oracle)
        self.call("judge", "--judge", "bob", *oracle, "--limit", str(BY_BOB))
        self.call("next", "--judge", "bob", "--items", str(ROWS), "--out", "sheet.csv")
        self._fill_in()
        self.call("report", "--out", "report.json")
        self.n_events = json.loads((folder / "report.json").read_text())["head"]["as_of"]
        self._kept = shutil.copy(folder / "week.activeeval", folder / "kept")

    def _write_files(self, seed: int) -> None:
        made = generate_pool(N_QUERIES, seed)
        queries = np.repeat(np.arange(N_QUERIES), np.diff(made.pool.query_offsets))
        names = [(f"q{query}", f"d{item}") for item, query in enumerate(queries.tolist())]
        truth = (f"{q} 0 {d} {g}\n" for (q, d), g in zip(names, made.grades.tolist(), strict=True))
        (self.folder / "truth.qrels").write_text("".join(truth))
        for k, name in enumerate(("new", "old")):
            scores = noisy_scores(made.grades.astype(float), seed + k)
            order = np.lexsort((-scores, queries))
            rank = np.arange(order.size) - np.searchsorted(queries, queries)
            rows = zip(order[rank < DEPTH].tolist(), rank[rank < DEPTH].tolist(), strict=True)
            lines = (f"{names[z][0]} Q0 {names[z][1]} {r + 1} {scores[z]:.6f} {name}\n" for z, r in rows)
            (self.folder / f"{name}.run").write_text("".join(lines))

    def _fill_in(self) -> None:
        with open(self.folder / "sheet.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        with open(self.folder / "sheet.csv", "w", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(row | {"grade": 1} for row in rows)

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


def time_short_commands(repeats: int, seed: int) -> dict:
    """Time the commands in turns, so that all of them see the same machine."""
    with tempfile.TemporaryDirectory() as name:
        campaign = Campaign(Path(name), seed)
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
    return {
        "n_events": campaign.n_events,
        "figures": [
            figure(
                what,
                statistics.median(taken),
                "s",
                at_most=commands[what][1] if what in commands else None,
                minimum_s=min(taken),
                n=repeats,
                note=f"of the processor, least {min(taken):.2f} s",
            )
            for what, taken in times.items()
        ],
    }
