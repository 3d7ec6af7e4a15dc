"""Translation between the library's parameter names and the command line's options."""

from __future__ import annotations

import re
from typing import Any

import click

from activeeval.core.errors import ActiveEvalError, CellsError

RENAMED = {
    "--wide": "-o wide",
    "-p": "-o jsonl or -o tsv for all digits",
    "--places": "-o jsonl or -o tsv for all digits",
    "--price-per-judgment": "--price 0.40",
    **dict.fromkeys(("--seconds", "--seconds-per-item"), "--price seconds=25"),
    "--hourly-rate": "--price seconds=25,hour=18",
    "--currency": "--price 0.40USD, or seconds=25,hour=18,currency=USD",
    "--money": "--budget 400EUR --price 0.40",
    "--segment-half-width": "--half-width NAME=E",
    "--train-qrels": "--train FILE",
    "--train-fraction": "--train 40%, a share of the queries",
    "--train-scores": "--train 40% with --model scores",
    "--versus-scores": "--scores, once for each ranker",
    "--tune": "--model forest:tune",
    "--query-factor": "--model forest, which has it",
    "--no-query-factor": "--model forest:no-factor",
    "--judging": "--measure alone, as kNDCG(k=5)@10, which says how it is judged",
    "--holes": "--unjudged-bounds",
    "--looks": "--adaptive-depth each, 3, 1 or off",
    "--scratch": "--engine ENGINE,scratch=DIR",
    "--trust-ids": "--engine ENGINE,trust-ids",
    "methods": "plan --method all, which shows those that fit; docs/choose.md says when to use which",
    "--nights": "--false-alarms, which are of 100 nights",
    "gains test": "gains learn PREFS --test 199",
    **dict.fromkeys(("gains next --C", "gains next --C-ties", "gains next --shape"), "--like FILE of `gains learn`"),
    "gains learn --tie-margin": "GainDiscountLearner of Python",
    "coherence --bins": "coherence of Python",
    "adapt --learning-rate": "--base FILE",
    "adapt --folds": "choose_regularization of Python",
    "adapt --click-level": "preferences_from_clicks of Python",
    "campaign create --use-labels": "--judged FILE, with that of --letor or --qrels",
    "campaign redraw": "campaign create NAME --redraw",
    **dict.fromkeys(
        ("sample --index-update", "plan --index-update", "campaign create --index-update"),
        "simulate --index-update, or two runs",
    ),
    **dict.fromkeys(("--interval skewed", "--interval logit"), "--interval t, the default"),
}
"""Old spelling of options and commands, some prefixed by their command or with a value -> new spelling."""
_OPTIONS = {"runs": "run", "pool_runs": "pool-run", "judges": "judge", "scratch": "engine"}
"""Parameters whose options have other names."""
_PARAMETER = re.compile("`([A-Za-z]\\w*)`")


def option_of(name: str, command: click.Command | None = None) -> str:
    """Return the command line's spelling of a library parameter: an option or an argument.

    Parameters
    ----------
    name : str
        Name in the library, as ``max_grade``.
    command : click.Command, optional
        The current command, whose options take precedence.

    Examples
    --------
    >>> option_of("max_grade")
    '--max-grade'
    """
    for parameter in [] if command is None else command.params:
        if parameter.name == name and isinstance(parameter, click.Option):
            return max(parameter.opts, key=len)
        if parameter.name == name:
            return parameter.human_readable_name
    return "--" + _OPTIONS.get(name, name).replace("_", "-")


def option_words(**values: Any) -> list[str]:
    """Format options with their values as command line words; repeated for several values, omitted for empty ones.

    Examples
    --------
    >>> option_words(out="a.sample", judges=["ann", "bob"], overlap=0)
    ['--out', 'a.sample', '--judge', 'ann', '--judge', 'bob']
    """
    lists = {name: [value] if isinstance(value, str | int) else value for name, value in values.items() if value}
    return [word for name, texts in lists.items() for value in texts for word in (option_of(name), str(value))]


def command_here() -> click.Command | None:
    """Return the running command of click; None outside of one."""
    context = click.get_current_context(silent=True)
    return None if context is None else context.command


def option_here(name: str) -> str:
    """Return the running command's spelling of a library parameter."""
    return option_of(name, command_here())


def in_options(text: str, command: click.Command | None = None) -> str:
    """Replace parameters in backticks in a text by their options.

    Examples
    --------
    >>> print(in_options("`pool_depth` is for `runs`"))
    --pool-depth is for --run
    """
    return _PARAMETER.sub(lambda match: option_of(match[1], command), text)


def complaints(problem: ActiveEvalError, command: click.Command | None = None) -> list[str]:
    """Format an error as lines: one for each invalid place in a file, and the advice.

    Parameters of the library are replaced by options of the command.
    """
    if not isinstance(problem, CellsError):
        return [complaint(problem, command)]
    if problem.field is None:
        return list(problem.lines)
    *places, advice = problem.lines
    return [*places, in_options(advice, command)]


def complaint(problem: ActiveEvalError, command: click.Command | None = None) -> str:
    """Format an error message for the command line, with the command's options in place of the library's parameters.

    The invalid option is always named. The text of an error without a field is not changed: it names no parameters and
    may quote a file.

    Examples
    --------
    >>> from activeeval.core.errors import InputError
    >>> complaint(InputError("max_grade must be positive, got 0", field="max_grade"))
    '--max-grade must be positive, got 0'
    >>> complaint(InputError("nothing can be learned from one grade", field="judged"))
    '--judged: nothing can be learned from one grade'
    """
    text = str(problem)
    if problem.field is None:
        return text
    option = option_of(problem.field, command)
    if f"`{problem.field}`" in text:
        return in_options(text, command)
    named = re.compile(f"(^|: ){re.escape(problem.field)}(?= )")
    reworded, n = named.subn(lambda match: match[1] + option, in_options(text, command), count=1)
    return reworded if n else f"{option}: {reworded}"


def renamed(old: str, context: click.Context) -> click.UsageError | None:
    """Build a usage error with the new spelling of a renamed option or command `old`; None if it was not renamed."""
    named = " ".join([*context.command_path.split()[1:], old])
    spelling = RENAMED.get(named, RENAMED.get(old))
    return None if spelling is None else click.UsageError(f"{old} is gone: use {spelling}", context)
