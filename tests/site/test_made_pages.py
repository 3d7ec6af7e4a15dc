"""The pages that are made: nothing is left out of them, and they follow what they are made of."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import click
import pytest

from activeeval.cli import cli
from activeeval.design.methods import METHODS, default_method
from activeeval.measures import parse_measure
from activeeval.measures.parsing import _PARAMETERS

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs"))

from _ext import commands, decision, evidence, writing  # noqa: E402

LONGEST_SHOWN = 30


@pytest.fixture(scope="module")
def chosen():
    """Return the made part of the page of choices."""
    return decision.pages()["made/choose.txt"]


@pytest.fixture(scope="module")
def shown():
    """Return the pages of evidence by their paths."""
    return evidence.pages()


def leaves(group, words=()):
    for name, member in group.commands.items():
        yield from leaves(member, (*words, name)) if isinstance(member, click.Group) else ((*words, name),)


def test_every_command_has_its_help_on_a_page_that_the_list_leads_to():
    pages = commands.pages()
    for words in leaves(cli):
        assert commands.help_of(list(words)).rstrip() in pages[f"commands/{words[0]}.md"], words
        assert f"(commands/{words[0]}.md)" in pages["made/commands.txt"]
        assert f"\ncommands/{words[0]}\n" in pages["made/commands.txt"]
    assert len(pages) == len(cli.commands) + 1
    titles = re.findall(r"^## (.+)$", pages["made/commands.txt"], re.MULTILINE)
    assert titles == list(cli.sections)


def test_every_option_stands_on_the_page_of_its_command():
    pages = commands.pages()
    for words in leaves(cli):
        command = cli
        for word in words:
            command = command.commands[word]
        options = [o for o in command.params if isinstance(o, click.Option) and not o.hidden]
        missing = [o.opts[-1] for o in options if o.opts[-1] not in pages[f"commands/{words[0]}.md"]]
        assert missing == [], words


def test_every_method_and_every_family_of_measures_has_its_place(chosen):
    assert set(decision.MEASURES) == set(_PARAMETERS)
    for name, text in decision.MEASURES.items():
        assert str(parse_measure(text)).startswith(name)
    for method in METHODS.values():
        assert f"| `{method.name}` | {method.when} |" in chosen


def test_the_page_says_of_each_measure_what_default_method_says(chosen):
    said = {
        name: method
        for names, method in re.findall(r"^- \*\*([\w, ]+)\*\* → `(\w+)`: ", chosen, re.MULTILINE)
        for name in names.split(", ")
    }
    asked = {name: default_method(parse_measure(text)).name for name, text in decision.MEASURES.items()}
    assert said == asked


def test_the_page_follows_the_table_of_methods(monkeypatch):
    """Catches a page that is typed."""
    monkeypatch.setattr(decision, "default_method", lambda *_: METHODS["whole"])
    page = decision.pages()["made/choose.txt"]
    (names,) = re.findall(r"^- \*\*([\w, ]+)\*\* → `whole`: ", page, re.MULTILINE)
    assert set(names.split(", ")) == set(decision.MEASURES)


def test_each_line_of_the_page_is_a_command_with_options_that_it_has():
    lines = [words for situations in decision.QUESTIONS.values() for _, words in situations]
    assert len(lines) > 20
    for words in lines:
        _, command = decision.command_of(words)
        known = {name for option in command.params for name in option.opts}
        assert {word for word in words.split() if word.startswith("--")} - known == set(), words


def test_every_section_of_results_is_on_a_page_with_command_and_commit(shown):
    titles = evidence.sections_of((evidence.BENCHMARKS / "RESULTS.md").read_text("utf-8"))
    together = "\n".join(shown.values())
    assert len(titles) > 25
    for title, text in titles.items():
        assert together.count(f"\n## {title}\n") == 1, title
        assert title in evidence.WITHOUT_ORIGIN or evidence.ORIGIN.search(text), title


@pytest.mark.parametrize("harm", ["a section that no page takes", "a section without a commit"])
def test_a_section_that_is_not_shown_or_has_no_origin_stops_the_build(harm, monkeypatch, tmp_path):
    text = (evidence.BENCHMARKS / "RESULTS.md").read_text("utf-8")
    new = {
        "a section that no page takes": text + "\n## Something new\n\ntext\n",
        "a section without a commit": re.sub(r"(?<=benchmarks.house`), commit \w+", "", text),
    }[harm]
    (tmp_path / "results").symlink_to(evidence.BENCHMARKS / "results")
    (tmp_path / "RESULTS.md").write_text(new, "utf-8")
    monkeypatch.setattr(evidence, "BENCHMARKS", tmp_path)
    with pytest.raises(ValueError, match=r"Something new|How the house stands"):
        evidence.pages()


def test_no_cell_of_a_table_is_lost_and_long_tables_are_folded(shown):
    text = (evidence.BENCHMARKS / "RESULTS.md").read_text("utf-8")
    rows = [line for line in text.splitlines() if line.startswith("|")]
    made = {line for page in shown.values() for line in page.splitlines() if line.startswith("|")}
    assert set(rows) - made == set()
    for name, page in shown.items():
        unfolded = re.sub(r"^:::\{dropdown\}.*?^:::$", "", page, flags=re.MULTILINE | re.DOTALL)
        lengths = [table.count("\n") - 2 for table in re.findall(r"(?:^\|.*\n)+", unfolded, re.MULTILINE)]
        assert max(lengths, default=0) <= LONGEST_SHOWN or name == "evidence/stored.md", name


def test_headlines_are_read_from_the_files(shown):
    table = shown["made/headlines.txt"].strip().splitlines()
    assert 6 <= len(table) - 2 <= 10
    stored = json.loads((evidence.BENCHMARKS / "results" / "engines-large.json").read_text("utf-8"))
    assert f"| {stored['rows'][0]['driver_peak_mb']:.0f} MB |" in table[-1]


def test_all_that_is_made_is_written_once_and_what_is_no_longer_made_goes(tmp_path):
    (tmp_path / "evidence").mkdir()
    (tmp_path / "evidence" / "gone.md").write_text("")
    writing.write_pages(tmp_path)
    assert not (tmp_path / "evidence" / "gone.md").exists()
    files = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    assert any(path.suffix == ".svg" for path in files)
    writing.write_pages(tmp_path)
    assert {path: path.stat().st_mtime_ns for path in files} == files
