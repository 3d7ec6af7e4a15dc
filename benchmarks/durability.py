"""What the store promises, each with the tests that try to break it: ``python -m benchmarks.durability``.

Runs the tests of a row, the slow ones too, and stores how many passed, what they counted, and how long they took, in
benchmarks/results/durability.json. Needs PostgreSQL's server and strace: what is skipped is named.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path

from benchmarks.frame.experiment import Experiment, Row
from benchmarks.frame.report import table
from benchmarks.machine import ROOT

PROMISES: tuple[tuple[str, str], ...] = (
    ("acknowledged judgments outlive SIGKILL at random moments", "tests/campaigns/store/test_killed.py"),
    ("no assignment goes to two judges", "tests/campaigns/store/test_racing.py -k assignment"),
    ("leases elsewhere (the mutant) are given twice", "tests/campaigns/store/test_racing.py -k another_table"),
    ("replayed and racing submits are stored once", "tests/campaigns/store/test_racing.py -k sent_by_all"),
    ("a failed fsync is never acknowledged, the retry is stored once", "tests/campaigns/store/test_durable.py"),
    ("a full disk loses nothing", "tests/campaigns/store/test_full_disk.py"),
    ("a connection that breaks in a commit", "tests/campaigns/store/test_broken_commits.py"),
    ("rebuilt from the log: same bytes, same next claim", "tests/campaigns/store/test_against_naive_store.py -k rebu"),
    ("raw SQL cannot change or delete a row of the log", "tests/campaigns/store/test_faults.py -k raw_sql"),
    ("what was changed without triggers is found", "tests/campaigns/store/test_faults.py -k changed"),
    ("the store does what plain lists do", "tests/campaigns/store/test_against_naive_store.py"),
    ("an older version's campaigns go on", "tests/campaigns/store/test_schema.py -k older"),
)


def tried(promise: str, tests: str) -> Row:
    """Run the tests of a promise."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        file, _, chosen = tests.partition(" -k ")
        words = ["-q", "-p", "no:cacheprovider", "-o", "junit_family=xunit1", file, *(["-k", chosen] if chosen else [])]
        command = [sys.executable, "-m", "pytest", *words]
        subprocess.run([*command, f"--junitxml={report}"], cwd=ROOT, capture_output=True, check=False)
        cases = list(ET.parse(report).getroot().iter("testcase"))
    failed = [case for case in cases if case.find("failure") is not None or case.find("error") is not None]
    skipped = [one.get("message", "") for case in cases if (one := case.find("skipped")) is not None]
    # the largest of each test tells most: the others are the same in small
    shown = [one.get("value", "") for case in cases for one in case.iter("property") if one.get("name") == "shown"]
    row = {
        "promise": promise,
        "tests": tests,
        "passed": len(cases) - len(failed) - len(skipped),
        "failed": [case.get("name") for case in failed],
        "skipped": sorted(set(skipped)),
        "shown": shown,
        "seconds": sum(float(case.get("time", 0)) for case in cases),
    }
    print(f"{promise}: {row['passed']} passed, {len(failed)} failed, {len(skipped)} skipped", flush=True)
    for case in failed:
        print("".join(case.itertext())[-600:], flush=True)
    return row


def markdown(result: Row) -> str:
    """Write the table of a result."""
    rows = []
    for row in result["promises"]:
        bad = [*row["failed"], *row["skipped"]]
        passed = f"{row['passed']}" + (f", **not: {', '.join(bad)}**" if bad else "")
        counted = "; ".join(_large(row["shown"]))
        rows.append([row["promise"], f"`pytest {row['tests']}`", passed, counted, f"{row['seconds']:.0f}"])
    return "\n".join(table(["promise", "tests", "passed", "counted", "s"], rows))


def _large(shown: Sequence[str]) -> list[str]:
    """Choose the counts of a thousand and more, or all where there are none."""
    large = [one for one in shown if any(word.isdecimal() and len(word) > 3 for word in one.replace(",", "").split())]
    return large or list(shown)


EXPERIMENT = Experiment(
    __spec__,
    __doc__,
    lambda _: {"promises": [tried(*one) for one in PROMISES]},
    report=markdown,
    packages=("sqlalchemy", "psycopg"),
)


if __name__ == "__main__":
    EXPERIMENT.main()
