"""How large the house may be: each limit is today's count or the goal, whichever is larger.

A limit is lowered when the count falls, and raised in a commit of its own that says why. `GOALS` is what the house is
to come to; ``python tests/test_size.py`` prints both beside the counts.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import click
import pytest

import activeeval
from activeeval.answers import Answer
from activeeval.cli import cli
from benchmarks.house import HOUSE, code_lines, files_of, tree_of

ROOT = HOUSE.parent
CORE = ("kernels", "pool", "measures", "judgments", "grade_models", "design", "estimation", "campaign", "simulation")
CORE = (*CORE, "planning", "answers", "ends", "checks", "errors", "types", "results", "lazily")
SHARED_NAMES = {"options", "messages", "commands", "__init__", "__main__"}
LONGEST_MODULE, LONGEST_FUNCTION, MOST_ARGUMENTS, TYPED_OFTEN, MODULES_OF_A_NAME = 370, 45, 8, 3, 2
INTERVAL = ({"value", "low", "high"}, {"value", "interval"})
"""Fields by which a class holds a value and its interval."""
GOALS = {
    "code lines: package": 45_500,
    "code lines: core": 17_000,
    "code lines: tests": 40_000,
    "code lines: benchmarks": 12_500,
    "classes that hold a value and its interval": 5,
    "commands": 42,
    "options": 430,
    "options of one command": 35,
    "option names typed in three places or more": 0,
    "public names": 45,
    "class names twice": 0,
    "module names more than twice": 0,
    "docstrings that begin with Return what, how, whether, who": 40,
    "whoever, so many, is told": 0,
    "modules above 370 lines": 0,
    "functions above 45 code lines": 0,
    "functions of more than 8 arguments": 0,
    "dependencies": 15,
}
LIMITS: dict[str, int] = {
    "code lines: package": 56_860,
    "code lines: core": 17_409,
    "code lines: tests": 49_690,
    "code lines: benchmarks": 17_065,
    "classes that hold a value and its interval": 9,
    "commands": 55,
    "options": 821,
    "options of one command": 64,
    "option names typed in three places or more": 23,
    "public names": 88,
    "class names twice": 34,
    "module names more than twice": 32,
    "docstrings that begin with Return what, how, whether, who": 660,
    "whoever, so many, is told": 221,
    "modules above 370 lines": 20,
    "functions above 45 code lines": 3,
    "functions of more than 8 arguments": 30,
    "dependencies": 15,
}


@cache
def commands() -> dict[str, click.Command]:
    """Map the path of each command to it; groups are none."""
    paths: dict[str, click.Command] = {}

    def walk(group: click.Group, path: str) -> None:
        for name in group.commands:
            command, below = group.commands[name], f"{path} {name}".strip()
            if isinstance(command, click.Group):
                walk(command, below)
            else:
                paths[below] = command

    walk(cli, "")
    return paths


def options_of(command: click.Command) -> list[str]:
    return [max(p.opts, key=len) for p in command.params if isinstance(p, click.Option)]


def classes() -> Iterator[ast.ClassDef]:
    return (node for path in files_of() for node in ast.walk(tree_of(path)) if isinstance(node, ast.ClassDef))


def functions() -> Iterator[tuple[Path, ast.FunctionDef]]:
    for path in files_of():
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.FunctionDef):
                yield path, node


def holds_an_interval(node: ast.ClassDef) -> bool:
    fields = {
        each.target.id for each in node.body if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
    }
    return any(names <= fields for names in INTERVAL)


def lines_of(node: ast.FunctionDef) -> int:
    """Count the lines of a function's body without its docstring."""
    body = node.body[1:] if ast.get_docstring(node) else node.body
    return 0 if not body else (body[-1].end_lineno or 0) - body[0].lineno + 1


def arguments_of(node: ast.FunctionDef) -> int:
    arguments = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
    return sum(argument.arg not in ("self", "cls") for argument in arguments)


def texts() -> Iterator[str]:
    for path in (*files_of(), *sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md"):
        yield path.read_text("utf-8")


def is_command(node: ast.FunctionDef) -> bool:
    """Whether click makes a command of a function: its arguments are its options."""
    return any("click." in ast.unparse(each) or "command(" in ast.unparse(each) for each in node.decorator_list)


@cache
def counts() -> dict[str, int]:
    """Count everything that has a limit."""
    typed = Counter(
        name
        for path in files_of()
        for name in {
            node.value
            for node in ast.walk(tree_of(path))
            if isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and re.fullmatch(r"--[a-z][a-z-]+", node.value)
        }
    )
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    modules = Counter(path.stem for path in files_of() if path.stem not in SHARED_NAMES)
    outside = [node for path, node in functions() if path.relative_to(HOUSE).parts[0] != "kernels"]
    docstrings = [ast.get_docstring(node) or "" for _, node in functions()]
    return {
        "code lines: package": code_lines(files_of()),
        "code lines: core": code_lines(files_of(*CORE)),
        "code lines: tests": code_lines(sorted((ROOT / "tests").rglob("*.py"))),
        "code lines: benchmarks": code_lines(sorted((ROOT / "benchmarks").rglob("*.py"))),
        "classes that hold a value and its interval": sum(map(holds_an_interval, classes())),
        "commands": len(commands()),
        "options": sum(len(options_of(command)) for command in commands().values()),
        "options of one command": max(len(options_of(command)) for command in commands().values()),
        "option names typed in three places or more": sum(n >= TYPED_OFTEN for n in typed.values()),
        "public names": len(activeeval.__all__),
        "class names twice": sum(n > 1 for n in Counter(node.name for node in classes()).values()),
        "module names more than twice": sum(n > MODULES_OF_A_NAME for n in modules.values()),
        "docstrings that begin with Return what, how, whether, who": sum(
            re.match(r"Return (what|how|whether|who)\b", text) is not None for text in docstrings
        ),
        "whoever, so many, is told": sum(len(re.findall(r"\b(whoever|so many|is told)\b", text)) for text in texts()),
        "modules above 370 lines": sum(
            len(path.read_text("utf-8").splitlines()) > LONGEST_MODULE for path in files_of()
        ),
        "functions above 45 code lines": sum(lines_of(node) > LONGEST_FUNCTION for node in outside),
        "functions of more than 8 arguments": sum(
            arguments_of(node) > MOST_ARGUMENTS for node in outside if not is_command(node)
        ),
        "dependencies": len(project["dependencies"]),
    }


@pytest.mark.parametrize("what", GOALS)
def test_nothing_is_larger_than_its_limit(what):
    assert counts()[what] <= LIMITS[what], f"{what}: lower the count, or raise the limit in a commit that says why"


@pytest.mark.parametrize("what", GOALS)
def test_a_limit_follows_its_count_down(what):
    """Catches room for growth that a change had made and another one takes."""
    assert LIMITS[what] <= max(GOALS[what], counts()[what] * 1.01 + 1), f"{what}: lower the limit to {counts()[what]}"


def test_counts_are_of_what_they_say():
    """An option, a class of an interval, a function's lines and arguments, counted by hand."""
    assert Answer.__dataclass_fields__.keys() >= {"value", "low", "high"}
    assert "Answer" in {node.name for node in classes() if holds_an_interval(node)}
    text = 'def f(a, b=1, *, c=2):\n    """Doc."""\n    x = a\n    return x\n'
    (node,) = ast.parse(text).body
    assert (lines_of(node), arguments_of(node)) == (2, 3)
    assert "--measure" in options_of(commands()["sample"])
    assert {"sample", "watch night"} <= set(commands())
    assert import_module("benchmarks.house").code_lines([Path(__file__)]) > 100


if __name__ == "__main__":
    width = max(map(len, GOALS))
    for what, n in counts().items():
        sys.stdout.write(f"{what:{width}} {n:7,} {LIMITS.get(what, 0):7,} {GOALS[what]:7,}\n")
