"""The page of exit codes: its codes are those of the code, and each example ends with its own."""

import re
import sys
from pathlib import Path

import click
import page_files
import pytest
from test_pages import BLOCK, said_by

from activeeval import cli
from activeeval.core.answers import FINE, OPEN, WORSE

PAGE = Path(__file__).resolve().parents[2] / "docs" / "exit-codes.md"
CODES = [int(code) for code in re.findall(r"^\| (\d+) \|", PAGE.read_text("utf-8"), re.MULTILINE)]


def test_the_codes_are_those_of_the_code():
    wrong_usage, error = click.UsageError.exit_code, cli.run(["--quiet", "score", "gone.qrels", "gone.run", "P@5"])
    assert sorted({FINE, error, wrong_usage, WORSE, OPEN}) == CODES


def test_no_command_leaves_a_code_by_another_way():
    """Catches a number that somebody writes into a command, past the names of verdicts."""
    house = Path(cli.__file__).parents[1]
    paths = [path for path in house.rglob("*.py") if {"cli", "commands"} & {*path.relative_to(house).parts, path.stem}]
    sources = {path: path.read_text("utf-8") for path in paths}
    left = {match for text in sources.values() for match in re.findall(r"find_root\(\)\.obj = (.+)", text)}
    assert left == {"exit_code(decision.finding for decision in decisions)", "night.exit_code"}
    assert [path.name for path, text in sources.items() if re.search(r"\b(ctx|context)\.exit\([^)]", text)] == []
    assert [path.name for path, text in sources.items() if "sys.exit" in text] == ["__init__.py"]


@pytest.mark.slow
def test_each_code_has_an_example_that_ends_with_it(tmp_path):
    page_files.make_files(tmp_path, Path(sys.executable))
    blocks = list(BLOCK.finditer(PAGE.read_text("utf-8")))
    assert [int(block["said"].split()[-1]) for block in blocks] == [0, 10, 11, 1, 2]
    for block in blocks:
        assert said_by(block["commands"], tmp_path) == block["said"]
