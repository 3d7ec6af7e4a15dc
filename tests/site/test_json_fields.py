"""Every field that a command prints as JSON stands on its page, and the page has no field that none prints."""

import json
import re
import sys
from pathlib import Path

import page_files
import pytest
from test_pages import said_by_line, write_beside

pytestmark = pytest.mark.slow
PAGE = Path(__file__).resolve().parents[2] / "docs" / "json-fields.md"
COMMANDS = Path(__file__).with_name("json-commands.txt")
NUMBERED = re.compile(r"(?<=half_width_with_)\d+")
SELDOM = {
    *("half_width_without", "labels_saved", "machine_is_truth", "system"),
    *("no_relevant", "without_relevant", "weight", "share_of_loss"),
    *("bias_low_simultaneous", "bias_high_simultaneous", "hours", "currency"),
}
"""What stands on the page and is printed in cases that the commands here do not make."""


def fields_of(value):
    """Yield the names of all fields but those within the numbers of a caution, which are its own."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield NUMBERED.sub("N", name)
            if name != "numbers":
                yield from fields_of(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from fields_of(inner)


def rows_of(text):
    for line in text.splitlines():
        if line.startswith("{"):
            yield json.loads(line)


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fields")
    page_files.make_files(folder, Path(sys.executable))
    write_beside(folder)
    return {
        name
        for line in COMMANDS.read_text("utf-8").splitlines()
        for row in rows_of(said_by_line(line, folder))
        for name in fields_of(row)
    }


@pytest.fixture(scope="module")
def explained():
    rows = [line.split(" | ")[0] for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| `")]
    beside = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| `")]
    names = {name for row in beside for name in re.findall(r"`([^`]+)`", row)}
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row)}, names


def test_every_field_is_explained(printed, explained):
    _, names = explained
    errors = {name for name in printed if name.endswith("_se") and name.removesuffix("_se") in names}
    assert printed - errors - names == set()
    assert len(printed) > 150


def test_every_field_of_the_page_is_printed(printed, explained):
    first, _ = explained
    assert first - printed - SELDOM == set()
