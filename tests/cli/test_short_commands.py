"""Commands that have little to do load little."""

import json
import subprocess
import sys

from cli_cases import judge_file

CREATE = (
    *("campaign", "create", "week", "--run", "a.run", "--versus-run", "b.run", "--max-grade", 3),
    *("--measure", "DCG@5", "--budget", 40, "--seed", 1),
)
CODE = """
import sys
from activeeval import cli
for line in sys.argv[1:]:
    code = cli.run(["--quiet", *line.split()], is_all=True)
    print(code, *sys.modules, file=sys.stderr)
"""
COMPILED = {"numba", "scipy", "sklearn", "joblib", "matplotlib", "sqlalchemy.dialects.postgresql"}
SCIENCE = ("planning", "simulation")
TABLES = {"polars", "rich", "clarabel"}


def test_short_commands_load_little(call, folder):
    """In a process that runs them one after the other: help, claiming, a sheet that comes back, a score, a report."""
    assert call(*CREATE).code == 0
    token = json.loads(call("campaign", "claim", "week", "--judge", "ann").out)["token"]
    assert call("campaign", "next", "week", "--judge", "bob", "--out", "bob.csv").code == 0
    judge_file("bob.csv")
    commands = {
        "--help": {*COMPILED, *TABLES, "numpy", "narwhals"},
        "campaign claim week --judge cy": {*COMPILED, "numpy", "activeeval.sampling.commands.simulate"},
        f"campaign submit week --token {token} --grade 1": {*COMPILED, "numpy"},
        "campaign import week bob.csv": COMPILED,
        "score q.qrels a.run P@2": {*TABLES, "sklearn", "joblib", "matplotlib"},
        "campaign judge week --judge ann --oracle q.qrels --unjudged irrelevant": set(),
        "campaign report week": {"scipy.stats", "joblib", "sklearn", *(f"activeeval.core.{name}" for name in SCIENCE)},
    }
    command = [sys.executable, "-c", CODE, *commands]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    for line, (wrong, heavy) in zip(done.stderr.splitlines(), commands.items(), strict=True):
        code, *modules = line.split()
        assert code == "0", wrong
        assert not heavy & set(modules), wrong
