"""How large the house is, and how far one goes through it: ``python -m benchmarks.house``.

Counts what has a limit, beside the goals: code lines (without docstrings, comments and blank lines), options, public
names, names that stand twice. Then it follows commands as they run, by ``sys.setprofile`` on the package's own frames:
in how many rooms and files `sample`, `estimate`, `watch night`, a grade on the judging page and `Method.design` run. A
room is a folder of the package, of `core` a folder in it. Stores benchmarks/results/house.json.
"""

from __future__ import annotations

import ast
import re
import sys
import tempfile
import threading
import tokenize
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir
from functools import cache
from pathlib import Path
from types import FrameType

import click
import numpy as np

import activeeval
from activeeval import DCG, METHODS, Rankings, Target, generate_pool
from activeeval.cli import cli
from benchmarks.frame.experiment import Experiment
from benchmarks.frame.report import figure
from benchmarks.machine import ROOT
from benchmarks.unchanged import MAX_GRADE, answered, command, judge, write_collection

HOUSE = Path(activeeval.__file__).parent
NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
SHARED_NAMES = {"options", "messages", "commands", "__init__", "__main__"}
LONGEST_MODULE, LONGEST_FUNCTION, MOST_ARGUMENTS, TYPED_OFTEN, MODULES_OF_A_NAME = 370, 45, 8, 3, 2
MOST_CALLED = 2
"""Functions of other rooms that the body of a command calls."""
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
    "commands that call more than two functions of other rooms": 0,
    "class names twice": 0,
    "module names more than twice": 0,
    "docstrings that begin with Return what, how, whether, who": 40,
    "whoever, so many, is told": 0,
    "modules above 370 lines": 0,
    "functions above 45 code lines": 0,
    "functions of more than 8 arguments": 0,
    "dependencies": 15,
}
WALKS = {"sample": (10, 70), "estimate": (9, 60), "watch night": (11, 90), "a grade on the page": None, "design": None}
"""Rooms and files that each may pass; the last two have no bar."""


def files_of(*rooms: str) -> list[Path]:
    """Return the package's files, stubs among them, of some folders alone where they are named."""
    files = sorted([*HOUSE.rglob("*.py"), *HOUSE.rglob("*.pyi")])
    return [path for path in files if not rooms or path.relative_to(HOUSE).parts[0] in rooms]


def room_of(path: Path) -> str:
    """Return the room of a file: its folder, within `core` the folder there."""
    parts = path.relative_to(HOUSE).parts
    return "/".join(parts[:-1][: 2 if parts[0] == "core" else 1]) or parts[0].removesuffix(".py")


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """Parse a file and list its nodes, the module first."""
    return tuple(ast.walk(ast.parse(path.read_text("utf-8"))))


def code_lines(paths: Sequence[Path]) -> int:
    """Count the lines that hold code."""
    return sum(map(_code_lines, paths))


def _code_lines(path: Path) -> int:
    alone = [each.value for each in nodes_of(path) if isinstance(each, ast.Expr)]
    texts_alone = [each for each in alone if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    documented = {k for each in texts_alone for k in range(each.lineno, (each.end_lineno or each.lineno) + 1)}
    text = path.read_text("utf-8")
    rows = text.split("\n")
    if text.count('"""') == 2 * len(texts_alone) and "'''" not in text:  # no other text over several lines
        return sum(k not in documented and row.strip()[:1] not in ("", "#") for k, row in enumerate(rows, 1))
    tokens = tokenize.generate_tokens(iter([f"{row}\n" for row in rows]).__next__)
    lines = [range(each.start[0], each.end[0] + 1) for each in tokens if each.type not in NO_CODE]
    return len(set().union(*lines) - documented)


@cache
def commands() -> dict[str, click.Command]:
    """Map the path of each command to it; groups are none."""
    paths: dict[str, click.Command] = {}

    def walk(group: click.Group, path: str) -> None:
        for name in group.commands:
            command_of_it, below = group.commands[name], f"{path} {name}".strip()
            if isinstance(command_of_it, click.Group):
                walk(command_of_it, below)
            else:
                paths[below] = command_of_it

    walk(cli, "")
    return paths


def options_of(command_of_it: click.Command) -> list[str]:
    """Return the options of a command, each by its longest name."""
    return [max(p.opts, key=len) for p in command_of_it.params if isinstance(p, click.Option)]


def classes() -> Iterator[ast.ClassDef]:
    """Yield every class of the package."""
    return (node for path in files_of() for node in nodes_of(path) if isinstance(node, ast.ClassDef))


def functions() -> Iterator[tuple[Path, ast.FunctionDef]]:
    """Yield every function of the package with its file."""
    return ((path, node) for path in files_of() for node in nodes_of(path) if isinstance(node, ast.FunctionDef))


def holds_an_interval(node: ast.ClassDef) -> bool:
    """Test whether a class has the fields of a value and its interval."""
    fields = {
        each.target.id for each in node.body if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
    }
    return any(names <= fields for names in INTERVAL)


def lines_of(node: ast.FunctionDef) -> int:
    """Count the lines of a function's body without its docstring."""
    body = node.body[1:] if ast.get_docstring(node) else node.body
    return 0 if not body else (body[-1].end_lineno or 0) - body[0].lineno + 1


def arguments_of(node: ast.FunctionDef) -> int:
    """Count the arguments of a function."""
    arguments = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
    return sum(argument.arg not in ("self", "cls") for argument in arguments)


def is_command(node: ast.FunctionDef) -> bool:
    """Test whether click makes a command of a function: its arguments are its options."""
    return any("click." in ast.unparse(each) or "command(" in ast.unparse(each) for each in node.decorator_list)


def called_elsewhere(path: Path, node: ast.FunctionDef) -> set[str]:
    """Return the functions that a command's body calls of other rooms than its own and the frames `cli`, `report`."""
    homes = {
        alias.asname or alias.name: each.module or ""
        for each in nodes_of(path)
        if isinstance(each, ast.ImportFrom)
        for alias in each.names
    }
    called = {ast.unparse(each.func) for part in node.body for each in ast.walk(part) if isinstance(each, ast.Call)}
    own = {"cli", "report", room_of(path)}
    homes = {name: home.split(".")[1] for name, home in homes.items() if home.startswith("activeeval.")}
    elsewhere = (name for name in called if homes.get(name.split(".")[0], "cli") not in own)
    return {name for name in elsewhere if not name.endswith("Error")}


def texts() -> Iterator[str]:
    """Yield the text of every file that is read: the package, the pages, the README."""
    for path in (*files_of(), *sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md"):
        yield path.read_text("utf-8")


@cache
def counts() -> dict[str, int]:
    """Count everything that has a limit."""
    typed = Counter(
        name
        for path in files_of()
        for name in {
            node.value
            for node in nodes_of(path)
            if isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and re.fullmatch(r"--[a-z][a-z-]+", node.value)
        }
    )
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    modules = Counter(path.stem for path in files_of() if path.stem not in SHARED_NAMES)
    outside = [node for path, node in functions() if path.relative_to(HOUSE).parts[:2] != ("core", "kernels")]
    docstrings = [ast.get_docstring(node) or "" for _, node in functions()]
    return {
        "code lines: package": code_lines(files_of()),
        "code lines: core": code_lines(files_of("core")),
        "code lines: tests": code_lines(sorted((ROOT / "tests").rglob("*.py"))),
        "code lines: benchmarks": code_lines(sorted((ROOT / "benchmarks").rglob("*.py"))),
        "classes that hold a value and its interval": sum(map(holds_an_interval, classes())),
        "commands": len(commands()),
        "options": sum(len(options_of(each)) for each in commands().values()),
        "options of one command": max(len(options_of(each)) for each in commands().values()),
        "option names typed in three places or more": sum(n >= TYPED_OFTEN for n in typed.values()),
        "public names": len(activeeval.__all__),
        "commands that call more than two functions of other rooms": sum(
            len(called_elsewhere(path, node)) > MOST_CALLED for path, node in functions() if is_command(node)
        ),
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


class Walk:
    """Count the files of the package in which code runs: everything within ``with``, in this thread and new ones."""

    def __init__(self) -> None:
        self.files: set[Path] = set()

    def __enter__(self) -> Walk:
        threading.setprofile(self._look)
        sys.setprofile(self._look)
        return self

    def __exit__(self, *problem: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    @property
    def rooms(self) -> list[str]:
        """The rooms of the files, by name."""
        return sorted(set(map(room_of, self.files)))

    def _look(self, frame: FrameType, event: str, _: object) -> None:
        name, function = frame.f_code.co_filename, frame.f_code.co_name
        # what runs as a module or a class is made is no step of a command
        is_made = function == "<module>" or "__qualname__" in frame.f_locals
        if event == "call" and name.startswith(str(HOUSE)) and not is_made:
            self.files.add(Path(name))


def walked(name: str, work: Callable[[], object]) -> Iterator[dict]:
    """Do a piece of work twice and yield the rooms and files that the second time passes."""
    work()
    with Walk() as walk:
        work()
    rooms, files = WALKS[name] or (None, None)
    yield figure(f"{name}: rooms", len(walk.rooms), "rooms", at_most=rooms, note=", ".join(walk.rooms))
    yield figure(f"{name}: files", len(walk.files), "files", at_most=files)


def walks() -> Iterator[dict]:
    """Yield the walks through a sample, an estimate, a night of a watch, the judging page and a design."""
    pairs = ["--run", "new.run", "--versus-run", "old.run", "--train", "train.qrels", "--max-grade", "3"]
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        grades = write_collection()
        budget = ["--measure", "DCG@10", "--budget", "5%", "--seed", "1"]
        drawn = ("sample", *pairs, *budget, "--out", "a.sample", "--sheet", "a.csv", "--force")
        yield from walked("sample", lambda: command(*drawn))
        judge("a.csv", grades)
        yield from walked("estimate", lambda: command("estimate", "a.sample", "a.csv", "-o", "jsonl"))
        own = {pair: grade for pair, grade in grades.items() if not pair[0].startswith("t")}
        Path("all.qrels").write_text("".join(f"{q} 0 {d} {g}\n" for (q, d), g in own.items()), "utf-8")
        command("watch", "init", "nights", "--measure", "DCG@10", "--max-grade", str(MAX_GRADE), "--budget-per-night",
                "40", "--margin", "0.3", "--seed", "5")  # fmt: skip
        night = iter((("old.run", "2026-01-01"), ("new.run", "2026-01-02"), ("third.run", "2026-01-03")))

        def watched() -> None:
            run, date = next(night)
            answered("watch", "night", "nights", "--run", run, "--date", date, "--oracle", "all.qrels")

        watched()
        yield from walked("watch night", watched)
    yield from _page()
    made = generate_pool(200)
    probs = np.full((made.pool.n_items, 5), 0.2)
    target = Target(DCG(cutoff=5), Rankings.from_scores(made.pool, made.lengths))
    yield from walked("design", lambda: METHODS["items"].design(target, probs, budget=100))


def _page() -> Iterator[dict]:
    """Yield the walk of a grade that is given on the page, and of the item that comes next."""
    sys.path.insert(0, str(ROOT / "tests"))  # whose modules import each other from there
    from web.conftest import Site, answer

    site = Site()
    browser = site.at()
    page = [browser.get("/judge")]
    yield from walked("a grade on the page", lambda: page.append(answer(browser, page[-1], 1)))


def limits() -> Iterator[dict]:
    """Make the figures of all counts with a limit, beside the goals."""
    return (figure(what, n, "", at_most=GOALS[what]) for what, n in counts().items())


EXPERIMENT = Experiment(
    __spec__,
    __doc__,
    sections={
        "counts": ("What has a limit", lambda _: limits()),
        "walks": ("Rooms and files that commands pass", lambda _: walks()),
    },
)


if __name__ == "__main__":
    EXPERIMENT.main()
