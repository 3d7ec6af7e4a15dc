"""``activeeval init``: five questions, and the commands that follow from the answers."""

from __future__ import annotations

import math
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

import click

from activeeval.cli.help import WIDTH, command
from activeeval.cli.waiting import settle
from activeeval.cli.wording import complaint
from activeeval.errors import ActiveEvalError, InputError, did_you_mean

NONE, ME, NOBODY, SCRIPT = "none", "me", "nobody", "script"
USUAL_GRADE = 3
"""Largest grade of TREC's usual scale, where nobody says another."""
_INDENT = "    "
_GATE = "is the new run worse: exit code 0 no, 10 yes, 11 not certain"
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """What five answers say: runs (the new one first), judgments, judges, measure and scale, and a goal."""

    runs: tuple[str, ...]
    judged: str | None
    judges: tuple[str, ...]
    measure: str
    max_grade: int | None
    goal: tuple[str, str]

    @property
    def in_campaign(self) -> bool:
        """Whether a store is what they need: a half-width, which `sample` does not take."""
        return self.goal[0] == "--half-width"

    def sheets(self, name: str) -> dict[str, str]:
        """Return the sheet of each judge, as commands name them; of one judge that of all."""
        from activeeval.tasks.sheets import SheetPlan

        plan = SheetPlan(path=f"{name}.csv", judges=self.judges)
        return dict(zip(self.judges, plan.paths, strict=True))

    @property
    def pool(self) -> list[str]:
        """The options that say what is drawn from, and for which measure."""
        new, *others = self.runs
        words = ["--run", new]
        words += ["--versus-run", others[0]] if len(others) == 1 else [w for run in others for w in ("--run", run)]
        words += ["--judged", self.judged] if self.judged else []
        words += ["--max-grade", str(self.max_grade)] if self.max_grade else []
        return [*words, "--measure", self.measure]


@command("Answer five questions, get the commands to run")
def init() -> None:
    """Ask what you have and what you want to know, and print the commands to run. No file is touched.

    The questions: your runs, judgments that you have already, who judges, the measure, and how many judgments or how
    precise. From a pipe the answers are read, one a line, an empty line for the default.

    \b
    activeeval init
    printf 'new.run old.run\\n\\nann bob\\nDCG@10\\n200\\n' | activeeval init
    """
    settle()
    for line in lines_of(_asked(), free_name()):
        click.echo(line)


def _asked() -> Start:
    """Ask the five questions, the last where somebody judges."""
    runs = _ask(1, "Your run files, the new one first", None, _runs)
    judged = _ask(2, f"A file of judgments that you have, or {NONE}", NONE, _judgments)
    judges = _ask(3, f"Who judges: {ME}, the names of several, a {SCRIPT}, or {NOBODY}", ME, partial(_judges, judged))
    standard = "DCG@10" if judged else f"DCG@10 {USUAL_GRADE}"
    measure, grade = _ask(4, "The measure, and the largest grade there can be", standard, _measure)
    goal = ("", "")
    if judges != (NOBODY,):
        goal = _ask(5, "How many judgments (200), which share (10%), or how precise (±0.05)", "200", _goal)
    grade = grade if grade or judged else USUAL_GRADE
    return Start(runs=runs, judged=judged, judges=judges, measure=measure, max_grade=grade, goal=goal)


def _ask(number: int, question: str, default: str | None, read: Callable[[str], _T]) -> _T:
    """Return an answer: at a terminal until it can be read, else of the next line."""

    def answer(text: str) -> _T:
        try:
            return read(text.strip())
        except ActiveEvalError as problem:
            raise click.UsageError(complaint(problem)) from None

    if sys.stdin.isatty():
        value: _T = click.prompt(f"{number}. {question}", default=default, value_proc=answer, err=True)
        return value
    line = sys.stdin.readline().strip() or default
    if line is None:
        raise InputError(f"answer {number} is missing: {question}")
    try:
        return answer(line)
    except click.UsageError as problem:
        raise InputError(f"answer {number}: {problem.message}") from None


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as problem:
        raise InputError(f"{text}: {problem}") from None


def _file(path: str) -> str:
    """Return a file as commands are to name it; raise where there is none."""
    if not os.path.isfile(path):
        here = sorted(entry.name for entry in Path(path).parent.glob("*")) if Path(path).parent.is_dir() else []
        raise InputError(f"{path}: no such file; {did_you_mean(path, here)}".removesuffix("; "))
    return f"./{path}" if path.startswith("-") else path


def _runs(text: str) -> tuple[str, ...]:
    names = tuple(map(_file, _words(text)))
    if not names or len(set(names)) < len(names):
        raise InputError(f"expected one or several files, each once, got {text!r}")
    return names


def _judgments(text: str) -> str | None:
    if text.lower() == NONE:
        return None
    names = _words(text)
    if len(names) != 1:
        raise InputError(f"expected one file, or {NONE}, got {text!r}")
    return _file(names[0])


def _judges(judged: str | None, text: str) -> tuple[str, ...]:
    from activeeval.io.judges import judge_name

    names = tuple(dict.fromkeys(filter(None, map(judge_name, _words(text.replace(",", " "))))))
    if not names:
        raise InputError("expected at least one judge")
    if len(names) > 1 and (mixed := {NOBODY, SCRIPT} & {name.lower() for name in names}):
        raise InputError(f"{mixed.pop()} stands alone, got {text!r}")
    if names[0].lower() == NOBODY and judged is None:
        raise InputError("without judgments somebody has to judge")
    return tuple(name.lower() for name in names) if len(names) == 1 else names


def _measure(text: str) -> tuple[str, int | None]:
    """Return the measure, and the largest grade where one stands behind it."""
    from activeeval.cases.judging import chosen_judging

    measure, grade = text, None
    before, _, last = text.rpartition(" ")
    if before and last.isdecimal():
        measure, grade = before.strip(), int(last)
        if not 0 < grade <= 1000:
            raise InputError(f"the largest grade must be 1 to 1000, got {last}")
    chosen_judging("grades", [measure])
    return measure, grade


def _goal(text: str) -> tuple[str, str]:
    """Return the option and the value that say how much is judged."""
    from activeeval.cases.budgets import Budget

    for mark in ("±", "+-", "+/-"):
        if text.startswith(mark):
            return _half_width(text.removeprefix(mark).strip())
    budget = Budget.parse(text)
    if not budget.is_share and budget.amount < 1:
        return _half_width(text)
    return "--budget", text.replace(" ", "")


def _half_width(text: str) -> tuple[str, str]:
    try:
        width = float(text)
    except ValueError:
        width = math.nan
    if not 0 < width < math.inf:
        raise InputError(f"a half-width is a positive number, as ±0.05, got {text!r}")
    return "--half-width", text


def free_name() -> str:
    """Return a name that no file of a sample or a campaign in this folder has."""
    taken = {entry.name.split(".")[0].split("-")[0] for entry in Path().glob("judging*")}
    return next(name for k in range(len(taken) + 1) if (name := f"judging{k + 1 if k else ''}") not in taken)


def lines_of(start: Start, name: str) -> Iterator[str]:
    """Yield the commands that answers come to, and before each what it is for."""
    new, *others = start.runs
    if start.judges == (NOBODY,):
        yield from _judged_already(start)
        return
    yield from _step("what to expect, before anybody judges", "plan", *start.pool, *start.goal)
    yield from _together(start, name) if start.in_campaign else _alone(start, name)
    if len(others) == 1:
        source = ["--campaign", name] if start.in_campaign else _sample_words(start, name)
        yield from _step(_GATE, "compare", others[0], new, *source, "--scope", "pool")


def _judged_already(start: Start) -> Iterator[str]:
    new, *others = start.runs
    more = ["--versus", others[0]] if len(others) == 1 else [word for run in others for word in ("--run", run)]
    yield from _step("the scores", "score", str(start.judged), new, start.measure, *more)
    if len(others) == 1:
        judged = ["--qrels", str(start.judged), "--measure", start.measure, "--unjudged", "irrelevant"]
        yield from _step(_GATE, "compare", others[0], new, *judged)


def _alone(start: Start, name: str) -> Iterator[str]:
    sample, sheets = f"{name}.sample", start.sheets(name)
    judges = [word for judge in sheets if len(sheets) > 1 for word in ("--judge", judge)]
    files = ["--out", sample, "--sheet", f"{name}.csv"]
    whole = ["--looks", "none"] if _follows_labels(start.measure) else []
    about = "draw what to judge, in one sheet (without --looks none in several, with fewer labels)"
    about = about if whole else "draw what to judge"
    yield from _step(about, "sample", *start.pool, *start.goal, *whole, *judges, *files)
    for judge, sheet in sheets.items():
        who = {ME: "you fill", SCRIPT: "your script fills"}.get(judge, f"{judge} fills")
        yield f"# {who} in the column grade of {shlex.quote(sheet)}"
    yield from _step("then", "estimate", sample, *sheets.values())


def _follows_labels(measure: str) -> bool:
    """Whether a sample by a measure comes sheet by sheet, which no list of commands can say beforehand."""
    from activeeval.measures import parse_measure
    from activeeval.tasks.looks import FOLLOWING

    try:
        return isinstance(parse_measure(measure), FOLLOWING)
    except ActiveEvalError:  # of those that need the scale none does
        return False


def _sample_words(start: Start, name: str) -> list[str]:
    """Return a sample and its sheets as `compare` takes them."""
    return [
        "--sample",
        f"{name}.sample",
        *(word for sheet in start.sheets(name).values() for word in ("--sheet", sheet)),
    ]


def _together(start: Start, name: str) -> Iterator[str]:
    yield from _step("draw what to judge, and store it", "campaign", "create", name, *start.pool, *start.goal)
    sheets = start.sheets(name)
    whose = "a sheet for each judge" if len(sheets) > 1 else "a sheet"
    about = f"block by block: {whose}, whose column grade is filled in, and back"
    judges = [word for judge in sheets for word in ("--judge", judge)]
    yield from _step(about, "campaign", "next", name, *judges, "--out", f"{name}.csv")
    yield from _step(None, "campaign", "import", name, *sheets.values())
    yield from _step("how far it is, and a page for the team", "campaign", "status", name)
    yield from _step(None, "campaign", "report", name)


def _step(about: str | None, *words: str) -> Iterator[str]:
    """Yield a command in lines that can be pasted, behind what it is for."""
    if about is not None:
        yield f"# {about}"
    yield from folded(["activeeval", *words])


def folded(words: Sequence[str], width: int = WIDTH) -> Iterator[str]:
    r"""Yield a command for a shell, folded behind options' values where it is wider than a width.

    Examples
    --------
    >>> print(*folded(["activeeval", "plan", "--run", "new one.run", "--budget", "200"], 44), sep="\n")
    activeeval plan --run 'new one.run' \
        --budget 200
    """
    parts: list[str] = []
    for word in words:
        if parts and parts[-1].startswith("-") and " " not in parts[-1] and not word.startswith("-"):
            parts[-1] += f" {shlex.quote(word)}"
        else:
            parts.append(shlex.quote(word))
    line = parts[0]
    for part in parts[1:]:
        if len(line) + len(part) + 3 > width:
            yield f"{line} \\"
            line = _INDENT + part
        else:
            line += f" {part}"
    yield line
