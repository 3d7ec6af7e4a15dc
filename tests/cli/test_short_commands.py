"""Commands that have little to do load little."""

from __future__ import annotations

import csv
import json
import subprocess
import sys

import pytest

CREATE = (
    *("campaign", "create", "week", "--run", "a.run", "--versus-run", "b.run", "--max-grade", 3),
    *("--measure", "DCG@5", "--budget", 40, "--seed", 1),
)
CODE = """
import sys
from activeeval import cli
code = cli.run(sys.argv[1:], is_all=True)
print(code, *sys.modules, file=sys.stderr)
"""
COMPILED = {"numba", "scipy", "sklearn", "joblib", "matplotlib", "sqlalchemy.dialects.postgresql"}


def loaded(*arguments):
    """Run a command in a process of its own; return what it printed, and the modules that it loaded."""
    command = [sys.executable, "-c", CODE, "--quiet", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    code, *modules = done.stderr.splitlines()[-1].split()
    assert code == "0", done.stderr
    return done.stdout, set(modules)


@pytest.fixture
def campaign(call):
    assert call(*CREATE).code == 0
    return call


def test_claim_and_submit_wait_for_the_database_alone(campaign):
    printed, modules = loaded("campaign", "claim", "week", "--judge", "ann")
    assert not modules & (COMPILED | {"numpy", "activeeval.sampling.commands.simulate"})
    token = json.loads(printed)["token"]
    printed, modules = loaded("campaign", "submit", "week", "--token", token, "--grade", 1)
    assert not modules & (COMPILED | {"numpy"})
    assert json.loads(printed)["grade"] == 1


def test_a_small_sheet_comes_back_without_compiled_code(campaign, folder):
    assert campaign("campaign", "next", "week", "--judge", "ann", "--out", "ann.csv").code == 0
    with open(folder / "ann.csv", newline="") as file:
        rows = [row | {"grade": 1} for row in csv.DictReader(file)]
    with open(folder / "ann.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    _, modules = loaded("campaign", "import", "week", "ann.csv")
    assert not modules & COMPILED


def test_a_report_waits_neither_for_plans_nor_for_tests_that_it_has_itself(campaign):
    oracle = ("--oracle", "q.qrels", "--unjudged", "irrelevant")
    assert campaign("campaign", "judge", "week", "--judge", "ann", *oracle).code == 0
    _, modules = loaded("campaign", "report", "week")
    assert not modules & {"scipy.stats", "joblib", "sklearn", "activeeval.core.planning", "activeeval.core.simulation"}
