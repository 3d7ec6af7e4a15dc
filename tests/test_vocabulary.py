"""docs/words.md explains the terms of messages, help and docs: few of them, each once, and none that nobody uses."""

import json
import re
from collections import Counter
from functools import cache
from pathlib import Path

import click
import pytest

from activeeval.cli import cli

ROOT = Path(__file__).resolve().parent.parent
WORDS = ROOT / "docs" / "words.md"
MOST_ROWS = 60


def terms_in(cell):
    """Return the terms that stand in bold in a cell of a table."""
    return re.findall(r"\*\*([^*]+)\*\*", cell)


def rows():
    """Return the cells of each row that explains a term."""
    lines = [line for line in WORDS.read_text("utf-8").splitlines() if line.startswith("| **")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def terms():
    return [term.lower() for first, *_ in rows() for term in terms_in(first)]


def helps(command):
    """Yield the texts of a command's help, those of its options among them."""
    yield from (command.short_help or "", command.help or "")
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            yield " ".join((*parameter.opts, str(getattr(parameter.type, "choices", "")), parameter.help or ""))
    for name in getattr(command, "commands", {}):
        yield name
        yield from helps(command.commands[name])


@cache
def texts():
    """Return all messages, all help and all pages of the docs but the one that explains, in lower case."""
    lines = (ROOT / "tests/report/wording.jsonl").read_text("utf-8").splitlines()
    messages = [json.loads(line)["text"] for line in lines]
    pages = [path.read_text("utf-8") for path in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")) if path != WORDS]
    return "\n".join((*messages, *helps(cli), *pages)).lower()


def is_used(term):
    """Whether a term occurs, in the plural too."""
    return re.search(rf"(?<![\w-]){re.escape(term)}(?:s|es)?(?![\w-])", texts()) is not None


def test_there_are_at_most_sixty_rows():
    assert len(rows()) <= MOST_ROWS


def test_no_term_is_explained_twice():
    assert [term for term, n in Counter(terms()).items() if n > 1] == []


def test_each_term_is_used():
    assert terms()
    assert [term for term in terms() if not is_used(term)] == []


def test_each_row_explains_its_term_and_has_an_example():
    assert [row for row in rows() if len([cell for cell in row if cell]) < 3] == []


@pytest.mark.parametrize(("term", "expected"), [("budget", True), ("heteroskedastic", False)])
def test_a_term_that_nobody_uses_is_noticed(term, expected):
    assert is_used(term) is expected
