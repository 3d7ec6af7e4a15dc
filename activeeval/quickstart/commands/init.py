"""``activeeval init``: ask a few questions and print the commands that follow from the answers."""

from __future__ import annotations

import math
import os
import shlex
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from activeeval.cli.help import command
from activeeval.cli.option_names import complaint
from activeeval.cli.waiting import settle
from activeeval.core.errors import ActiveEvalError, InputError, did_you_mean
from activeeval.quickstart.commands.init_lines import ME, NOBODY, NONE, SCRIPT, InitAnswers, free_name, lines_of

if TYPE_CHECKING:
    from activeeval.core.pool import QueryPool
    from activeeval.inputs.prepared_case import PreparedCase

USUAL_GRADE = 3
"""Proposed largest grade, that of TREC's usual scale."""
_HARMLESS = 0.01
"""Proposed margin as a share of the measure's maximum: a fiftieth of a value at half the maximum."""
_T = TypeVar("_T")


@command()
def init() -> None:
    """Ask a few questions, and print the commands to run. No file is changed.

    The questions: your runs, judgments that you have already, who judges, the measure with the largest grade, how many
    judgments or how precise, and of two runs which difference does not matter. What would not work is asked again. From
    a pipe the answers are read, one a line, an empty line for the default.

    \b
    activeeval init
    printf 'new.run old.run\\n\\nann bob\\nDCG@10 3\\n200\\n0.3\\n' | activeeval init
    """
    settle()
    for line in lines_of(_ask_all(), free_name()):
        click.echo(line)


def _ask_all() -> InitAnswers:
    """Ask all questions and collect the answers."""
    runs, pool = _ask(1, "Your run files, the new one first", None, _runs)
    judged = _ask(2, f"A file of judgments that you have, or {NONE}", NONE, partial(_judgments, pool))
    judges = _ask(3, f"Who judges: {ME}, the names of several, a {SCRIPT}, or {NOBODY}", ME, partial(_judges, judged))
    start = InitAnswers(runs=runs, judged=judged, judges=judges, measure="", max_grade=None)
    standard = "DCG@10" if judged else f"DCG@10 {USUAL_GRADE}"
    start, case = _ask(4, "The measure, and the largest grade there can be", standard, partial(_measure, start))
    if start.judges != (NOBODY,):
        question = "How many judgments (200), which share (10%), or how precise (±0.05)"
        start = replace(start, goal=_ask(5, question, "200", partial(_goal, case, start.measure)))
    if len(runs) == 2:
        question = "A difference that does not matter, as a fiftieth of the value; at 0 most harmless changes stay open"
        proposed = f"{_HARMLESS * case.target(start.measure, 'run').limits(case.max_grade)[1]:.1g}"
        start = replace(start, margin=_ask(6, question, proposed, _margin))
    return start


def _ask(number: int, question: str, default: str | None, read: Callable[[str], _T]) -> _T:
    """Ask one question and return the parsed answer: at a terminal until it is valid, else from the next line of stdin.

    Parameters
    ----------
    default : str or None
        Answer for an empty line; None if the question has to be answered.
    read : callable
        Parses an answer, or raises an error with the reason for which it is invalid.

    Raises
    ------
    InputError
        Without a terminal, if the answer is missing or invalid.
    """

    def answer(text: str) -> _T:
        """Parse an answer; raise UsageError with the reason if it is invalid."""
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
    """Split a line into words as a shell does; raise InputError if a quote is not closed."""
    try:
        return shlex.split(text)
    except ValueError as problem:
        raise InputError(f"{text}: {problem}") from None


def _file(path: str) -> str:
    """Check that a file exists, and return its name in a form that no command takes for an option.

    InputError is raised if it does not exist.
    """
    if not os.path.isfile(path):
        names = sorted(entry.name for entry in Path(path).parent.glob("*")) if Path(path).parent.is_dir() else []
        raise InputError(f"{path}: no such file; {did_you_mean(path, names)}".removesuffix("; "))
    return f"./{path}" if path.startswith("-") else path


def _runs(text: str) -> tuple[tuple[str, ...], QueryPool]:
    """Parse the names of runs; return them and the pool of their documents, or raise InputError."""
    from activeeval.inputs.choices import Choices
    from activeeval.inputs.prepared_case import prepare

    names = tuple(map(_file, _words(text)))
    if not names or len(set(names)) < len(names):
        raise InputError(f"expected one or several files, each once, got {text!r}")
    return names, prepare(Choices(runs=names, model="uniform", max_grade=1), use_labels=False).inputs.pool


def _judgments(pool: QueryPool, text: str) -> str | None:
    """Parse the name of a file of judgments and check it against the pool; return None for the answer "none".

    InputError is raised if it is not one file, or cannot be read.
    """
    from activeeval.inputs.known_grades import known_grades_of

    if text.lower() == NONE:
        return None
    names = _words(text)
    if len(names) != 1:
        raise InputError(f"expected one file, or {NONE}, got {text!r}")
    judged = _file(names[0])
    known_grades_of((judged,), pool)
    return judged


def _judges(judged: str | None, text: str) -> tuple[str, ...]:
    """Parse the names of judges; "nobody", which needs complete judgments (`judged`), and "script" stand alone.

    InputError is raised if they are combined with names.
    """
    from activeeval.core.judgments.judge_names import judge_name

    names = tuple(dict.fromkeys(filter(None, map(judge_name, _words(text.replace(",", " "))))))
    if not names:
        raise InputError("expected at least one judge")
    if len(names) > 1 and (mixed := {NOBODY, SCRIPT} & {name.lower() for name in names}):
        raise InputError(f"{mixed.pop()} cannot be combined with names, got {text!r}")
    if names[0].lower() == NOBODY and judged is None:
        raise InputError(f"without judgments {NOBODY} cannot be the answer: name who judges")
    return tuple(name.lower() for name in names) if len(names) == 1 else names


def _measure(start: InitAnswers, text: str) -> tuple[InitAnswers, PreparedCase]:
    """Parse the measure and an optional largest grade; return the answers with them, and the inputs of the commands.

    If the judgments hold every grade that the measure needs, the judge becomes "nobody". InputError is raised if the
    measure or the grade is invalid, or the largest grade is unknown.
    """
    from activeeval.inputs.judging_choice import check_graded

    measure, grade = text, None
    before, _, last = text.rpartition(" ")
    if before and last.isdecimal():
        measure, grade = before.strip(), int(last)
        if not 0 < grade <= 1000:
            raise InputError(f"the largest grade must be 1 to 1000, got {last}")
    check_graded([measure])
    answers = replace(start, measure=measure, max_grade=grade)
    try:
        case = answers.case()
    except ActiveEvalError as problem:
        if grade is None and problem.field == "max_grade":
            problem = InputError(f"no judgment tells the largest grade: add it to the measure, as {measure} 3")
        raise problem from None
    if answers.judges != (NOBODY,) and answers.judged and case.known is None:
        click.echo(f"{answers.judged} has every grade that {measure} needs: no judging is needed", err=True)
        answers = replace(answers, judges=(NOBODY,))
    return answers, case


def _goal(case: PreparedCase, measure: str, text: str) -> tuple[str, str]:
    """Parse the amount of judging to a parameter ("budget" or "half_width") and its value.

    InputError is raised if it is invalid, or too small for any sample.
    """
    from activeeval.core.design.methods import default_method
    from activeeval.core.errors import BudgetError
    from activeeval.inputs.budgets import Budget
    from activeeval.sampling.plan_case import planner_of

    for mark in ("±", "+-", "+/-"):
        if text.startswith(mark):
            return _half_width(text.removeprefix(mark).strip())
    budget = Budget.parse(text)
    if not budget.is_share and budget.amount < 1:
        return _half_width(text)
    targets = case.targets([measure], [])
    method = default_method(*(target.measure for target in targets))
    least, amount = planner_of(case, targets).least(method), case.for_people(budget, *targets)
    if amount < least * (1 - 1e-9):
        raise case.refused(budget, BudgetError("", budget=amount, needed=least), *targets)
    return "budget", text.replace(" ", "")


def _margin(text: str) -> str:
    """Check a margin (largest difference that does not matter) and return it; raise InputError if it is not valid."""
    if not 0 <= _number(text) < math.inf:
        raise InputError(f"a margin is a number from 0 on, in the unit of the measure, as 0.01, got {text!r}")
    return text


def _half_width(text: str) -> tuple[str, str]:
    """Check a half-width and return the parameter's name and its value; raise InputError if it is not positive."""
    if not 0 < _number(text) < math.inf:
        raise InputError(f"a half-width is a positive number, as ±0.05, got {text!r}")
    return "half_width", text


def _number(text: str) -> float:
    """Parse a number; NaN if it is none."""
    try:
        return float(text)
    except ValueError:
        return math.nan
