"""How the house stands: ``python -m benchmarks.house``.

Counts what its laws ask for: code lines (without docstrings, comments and blank lines), circles of rooms and arrows
upward, folds of the log, option names and rows of ``dict[str, Any]`` below faces, files that ask which judging or which
scheme. Then it follows things through commands as they run: grade probabilities, a grade from a sheet to an estimate, a
judgment from its submission to an estimate, and what `campaign redraw` makes anew. Of each: the rooms whose functions
take or return it, and how often such a function was called from a room below its own (a climb). Stores
benchmarks/results/house.json.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import json
import re
import sys
import tempfile
import tokenize
from collections.abc import Iterator, Sequence
from contextlib import chdir
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from types import FrameType

import activeeval
from benchmarks.machine import ROOT, describe, figure, section_tables, show, store
from benchmarks.unchanged import command, judge, write_collection

MODULE = "benchmarks.house"
HOUSE = Path(activeeval.__file__).parent
FACES = ("cli", "verbs", "__main__")
NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
LAYERS = (
    ("errors", "lazily", "types", "checks", "kernels", "results", "pool"),
    ("io", "measures", "generated"),
    ("judgments", "grade_models", "gains", "rankers", "top_k", "adaptation"),
    ("store", "design"),
    ("estimation",),
    ("simulation", "planning", "campaign", "scale"),
    ("cases",),
    ("report",),
    ("tasks",),
    ("cli", "verbs", "__main__"),
)
"""Rooms from the ground up, those that do not know each other side by side."""
HEIGHT = {room: height for height, rooms in enumerate(LAYERS) for room in rooms}
PROBABILITIES = {"GradeBeliefs", "GradeProbs", "DesignInput", "Design"}
GRADES = {"Sheet", "Draws", "Judgments", "Judgment", "Event", "State", "Labels", "Record", "Campaign", "Evidence"}
GRADES |= {"Estimate", "Submission", "Said"}
NEW_SAMPLE = {"Choices", "Case", "Sample", "Design"}
TOP_K = r"""\b(judged_k|top_k|asked_k)\b|["']top-k["']"""
SCHEME = r"isinstance\(.*\b(Levels|Replacement)\b|with_replacement|is_levelled"


def files_of(*rooms: str) -> list[Path]:
    """Return the package's files, of some rooms alone where they are named."""
    return [path for path in sorted(HOUSE.rglob("*.py")) if not rooms or room_of(path) in rooms]


def room_of(path: Path) -> str:
    """Return the room of a file."""
    return path.relative_to(HOUSE).parts[0].removesuffix(".py")


@cache
def tree_of(path: Path) -> ast.Module:
    """Return what a file says."""
    return ast.parse(path.read_text("utf-8"))


def code_lines(paths: Sequence[Path]) -> int:
    """Return how many lines hold code."""
    return sum(map(_code_lines, paths))


def _code_lines(path: Path) -> int:
    documented = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            documented |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    with tokenize.open(path) as file:
        tokens = [token for token in tokenize.generate_tokens(file.readline) if token.type not in NO_CODE]
    lines = {line for token in tokens for line in range(token.start[0], token.end[0] + 1)}
    return len(lines - documented)


def literals(path: Path) -> Iterator[str]:
    """Yield every text of a file that is no docstring."""
    tree = tree_of(path)
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone:
            yield node.value


def loose_rows(paths: Sequence[Path]) -> list[str]:
    """Return functions that return a ``dict[str, Any]``, or an alias of one, alone or in a list."""
    loose = []
    for path in paths:
        aliases = {"dict[str, Any]"} | {
            ast.unparse(node.targets[0])
            for node in ast.walk(tree_of(path))
            if isinstance(node, ast.Assign) and ast.unparse(node.value) == "dict[str, Any]"
        }
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.FunctionDef) and node.returns is not None:
                returned = ast.unparse(node.returns)
                if any(re.search(rf"(?<!\w){re.escape(alias)}", returned) for alias in aliases):
                    loose.append(f"{path.relative_to(HOUSE)}:{node.name}")
    return loose


def asking(pattern: str) -> list[str]:
    """Return files that ask something: a test, a comparison or a branch whose text matches."""
    tests = (ast.If, ast.IfExp, ast.While, ast.comprehension, ast.Compare, ast.Call)
    files = []
    for path in files_of():
        texts = (ast.unparse(node) for node in ast.walk(tree_of(path)) if isinstance(node, tests))
        if any(re.search(pattern, text) for text in texts):
            files.append(str(path.relative_to(HOUSE)))
    return files


def folds() -> list[str]:
    """Return the functions that take an event of the log into a state."""
    return [
        f"{path.relative_to(HOUSE)}:{owner.name}.{node.name}"
        for path in files_of()
        for owner in ast.walk(tree_of(path))
        if isinstance(owner, ast.ClassDef)
        for node in owner.body
        if isinstance(node, ast.FunctionDef) and node.name == "apply"
    ]


def arrows() -> dict[str, set[str]]:
    """Return which rooms each room imports."""
    imported: dict[str, set[str]] = {room: set() for room in HEIGHT}
    for path in files_of(*HEIGHT):
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("activeeval."):
                imported[room_of(path)].add((node.module or "").split(".")[1])
    return {room: names - {room} for room, names in imported.items()}


class Walk:
    """The rooms that a thing passes while a command runs, and how often it climbs.

    Parameters
    ----------
    kinds : set of str
        Names of the classes that hold the thing on its way.
    """

    def __init__(self, kinds: set[str]) -> None:
        self.kinds = kinds
        self.rooms: list[str] = []
        self.climbs: set[tuple[str, str]] = set()

    def __enter__(self) -> Walk:
        sys.setprofile(self._look)
        return self

    def __exit__(self, *problem: object) -> None:
        sys.setprofile(None)

    def _look(self, frame: FrameType, event: str, value: object) -> None:
        room = _room_in(frame)
        if event not in ("call", "return") or room is None:
            return
        values = [value] if event == "return" else inspect.getargvalues(frame).locals.values()
        if not any(self._holds(value) for value in list(values)):
            return
        if room not in self.rooms:
            self.rooms.append(room)
        caller = frame.f_back
        while caller is not None and _room_in(caller) is None:
            caller = caller.f_back
        above = None if caller is None else _room_in(caller)
        if event == "call" and above is not None and HEIGHT[room] > HEIGHT[above]:
            self.climbs.add((above, room))

    def _holds(self, value: object) -> bool:
        return type(value).__name__ in self.kinds


def _room_in(frame: FrameType) -> str | None:
    name = frame.f_code.co_filename
    return room_of(Path(name)) if name.startswith(str(HOUSE)) else None


def walks() -> Iterator[dict]:
    """Yield the walks through a sample, a sheet, a stored campaign and its second round."""
    pairs = ["--run", "new.run", "--versus-run", "old.run", "--train-qrels", "train.qrels", "--max-grade", "3"]
    budget = ["--measure", "DCG@10", "--budget", "5%"]
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        grades = write_collection()
        with Walk(PROBABILITIES) as walk:
            command("sample", *pairs, *budget, "--out", "a.sample", "--sheet", "a.csv")
        yield _walked("grade probabilities, to a design", walk)
        judge("a.csv", grades)
        with Walk(GRADES) as walk:
            command("estimate", "a.sample", "a.csv", "-o", "jsonl")
        yield _walked("a grade, from a sheet to an estimate", walk)
        command("campaign", "create", "week", *pairs, *budget)
        with Walk(GRADES) as walk:
            _judge_all(grades)
            command("campaign", "estimate", "week", "-o", "jsonl")
        yield _walked("a judgment, from its submission to an estimate", walk)
        with Walk(NEW_SAMPLE) as walk:
            command("campaign", "redraw", "week", *pairs, *budget)
        yield _walked("redraw, to a second round", walk)


def _judge_all(grades: dict[tuple[str, str], int]) -> None:
    """Claim and submit until nothing waits."""
    item = json.loads(command("campaign", "claim", "week", "--judge", "ann")[0])
    while item["token"]:
        grade = str(grades[item["query_id"], item["doc_id"]])
        answer = ["--token", item["token"], "--grade", grade, "--then-claim"]
        item = json.loads(command("campaign", "submit", "week", *answer)[0].splitlines()[1])


def _walked(name: str, walk: Walk) -> dict:
    climbs = ", ".join(f"{low} calls {high}" for low, high in sorted(walk.climbs))
    note = f"{' → '.join(walk.rooms)}{f'; {climbs}' if climbs else ''}"
    return figure(name, len(walk.rooms), "rooms", climbs=len(walk.climbs), note=f"{len(walk.climbs)} climbs: {note}")


def counts() -> Iterator[dict]:
    """Yield what can be read from the files."""
    below = [path for path in files_of() if room_of(path) not in FACES]
    rooms = arrows()
    upward = [(a, b) for a, imported in rooms.items() for b in imported if HEIGHT[b] > HEIGHT[a]]
    yield figure("code lines of the package", code_lines(files_of()), "lines", at_most=26_500)
    yield figure("code lines of the command line", code_lines(files_of("cli")), "lines", at_most=2_200)
    tests = [path for folder in ("tests", "benchmarks/tests") for path in (ROOT / folder).rglob("*.py")]
    yield figure("code lines of tests", code_lines(tests), "lines", at_most=27_500)
    yield _listed("folds of the log", folds(), 1)
    yield _listed("arrows upward", [f"{a} → {b}" for a, b in upward], 0)
    yield _listed("circles of rooms", _circles(rooms), 0)
    options = [f"{path.name}: {text}" for path in below for text in literals(path) if re.search("--[a-z]", text)]
    yield _listed("option names outside the command line", options, 0)
    yield _listed("functions below faces that return a dict[str, Any]", loose_rows(below), 0)
    yield _listed("files that ask: top-k?", asking(TOP_K), 4)
    yield _listed("files that ask: levels or replacement?", asking(SCHEME), 6)


def _circles(rooms: dict[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(rooms).prepare()
    except CycleError as problem:
        return [" → ".join(problem.args[1])]
    return []


def _listed(name: str, places: Sequence[str], at_most: int) -> dict:
    return figure(name, len(places), "places", at_most=at_most, note=", ".join(places[:12]))


def markdown(result: dict) -> str:
    """Return the figures of a result as tables."""
    return "\n".join(section_tables(result["sections"]))


def main() -> None:
    """Count, walk, show and store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results" / "house.json")
    options = parser.parse_args()
    sections = {
        "counts": {"title": "What its laws ask for", "figures": list(counts())},
        "walks": {"title": "Three walks, and a second round", "figures": list(walks())},
    }
    for section in sections.values():
        show(section["title"], section["figures"])
    store(options.out, describe(MODULE) | {"sections": sections})


if __name__ == "__main__":
    main()
