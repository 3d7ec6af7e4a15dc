"""Pages that are made: the tree that leads to a command, each command's page, the evidence."""

import re
import shlex

import pytest
from _ext import commands, decision, evidence

from activeeval.cli import cli
from activeeval.core.design.methods import METHODS, default_method
from activeeval.core.measures import parse_measure

TREE = decision.pages()["made/choose.md"]


def test_every_method_and_every_family_of_measures_is_in_the_tree():
    rows = [line for line in TREE.splitlines() if line.startswith("| `")]
    assert [row.split("`")[1] for row in rows] == list(METHODS)
    for row, method in zip(rows, METHODS.values(), strict=True):
        assert method.when in row
    for family in decision.MEASURES:
        assert re.search(rf"by [^:]*\b{family}\b[^:]*: method", TREE), family


@pytest.mark.parametrize(("family", "text"), decision.MEASURES.items())
def test_the_tree_says_what_the_code_chooses(family, text):
    chosen = default_method(parse_measure(decision.SCALED.get(text, text))).name
    (line, *rest) = [line for line in TREE.splitlines() if re.search(rf"by [^:]*\b{family}\b[^:]*:", line)]
    assert f"method `{chosen}`" in line
    assert all(f"method `{chosen}`" in other for other in rest)


def test_every_command_of_the_tree_is_there_with_its_options():
    lines = re.findall(r"`(activeeval [^`]+)`", TREE)
    assert len(lines) > 15
    for line in lines:
        command, words = cli, shlex.split(line)[1:]
        while words and words[0] in getattr(command, "commands", {}):
            command = command.commands[words.pop(0)]
        options = {name for parameter in command.params for name in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= options, line


def test_every_command_has_a_page_with_all_of_its_options():
    pages = commands.pages()
    for name in cli.list_commands(None):
        page = pages[f"commands/{name}.md"]
        members = getattr(cli.commands[name], "commands", {})
        for words, command in ((name, cli.commands[name]), *((f"{name} {sub}", members[sub]) for sub in members)):
            assert f"Usage: activeeval {words}" in page
            options = [
                max(parameter.opts, key=len) for parameter in command.params if not getattr(parameter, "hidden", False)
            ]
            assert [option for option in options if option.startswith("--") and option not in page] == []


def test_evidence_has_every_section_once_with_its_origin():
    text = (evidence.BENCHMARKS / "RESULTS.md").read_text("utf-8")
    made = evidence.pages()
    pages = {name: page for name, page in made.items() if name.startswith("evidence/")}
    for title in evidence.sections_of(text):
        assert sum(f"\n## {title}\n" in page for page in pages.values()) == 1, title
    for name, page in pages.items():
        assert evidence.ORIGIN.search(page), name
        assert f"({name})" in made["made/evidence.md"]


@pytest.mark.parametrize("harm", ["a new section", "no commit"])
def test_a_section_that_no_page_has_or_without_its_origin_is_refused(tmp_path, monkeypatch, harm):
    """Catches evidence that is left out in silence."""
    text = (evidence.BENCHMARKS / "RESULTS.md").read_text("utf-8")
    harmed = text + "\n## Something new\n\ntext\n" if harm == "a new section" else text.replace(", commit ", ", ")
    (tmp_path / "RESULTS.md").write_text(harmed)
    (tmp_path / "results").symlink_to(evidence.BENCHMARKS / "results")
    monkeypatch.setattr(evidence, "BENCHMARKS", tmp_path)
    with pytest.raises(ValueError, match="Something new" if harm == "a new section" else "which command and commit"):
        evidence.pages()
