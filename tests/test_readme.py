"""README.md is short, all its commands are run, and its links lead somewhere; ``test_pages`` runs the commands."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
MOST_LINES, MOST_WORDS = 130, 1100
LINK = re.compile(r"\]\((?P<place>[^)#]+)[^)]*\)")


def test_it_is_read_in_five_minutes():
    text = README.read_text("utf-8")
    assert len(text.splitlines()) <= MOST_LINES
    assert len(text.split()) <= MOST_WORDS


def test_every_command_of_it_is_run_by_a_test():
    """Those that are shown, and beside them `make`'s, which CI runs."""
    text = README.read_text("utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    for line in lines:
        words = line.split()
        assert words[0] == "activeeval" or line.startswith("  ") or (words[0] == "make" and words[1] in targets), line


def test_its_links_lead_somewhere():
    places = [match["place"] for match in LINK.finditer(README.read_text("utf-8"))]
    assert len(places) > 10
    assert [place for place in places if not place.startswith("http") and not (ROOT / place).exists()] == []
