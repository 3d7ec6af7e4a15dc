"""Pages of evidence show short tables and fold long ones, and lose no row of either."""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "docs"))

from _ext import evidence

LONGEST_SHOWN = 30
FOLDED = re.compile(r"^:::\{dropdown\}.*?^:::$", re.MULTILINE | re.DOTALL)


def test_no_row_is_lost_and_long_tables_are_folded():
    text = (evidence.BENCHMARKS / "RESULTS.md").read_text("utf-8")
    pages = {name: page for name, page in evidence.pages().items() if name.startswith(evidence.FOLDER)}
    made = {line for page in pages.values() for line in page.splitlines() if line.startswith("|")}
    assert {line for line in text.splitlines() if line.startswith("|")} - made == set()
    assert sum(len(FOLDED.findall(page)) for page in pages.values()) > 10
    for name, page in pages.items():
        tables = re.findall(r"(?:^\|.*\n)+", FOLDED.sub("", page), re.MULTILINE)
        assert max(table.count("\n") - 2 for table in tables) <= LONGEST_SHOWN, name
