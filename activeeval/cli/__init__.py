"""The command line: parse options, call the library, print.

Exit codes: 0 success, 1 an error (one line on stderr), 2 wrong usage; `compare` adds codes for its verdicts.
"""

from __future__ import annotations

import gc
import io
import os
import re
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import click

from activeeval import __version__
from activeeval.cli.help import WIDTH, group, width_of_help
from activeeval.cli.option_names import complaints
from activeeval.cli.small import IS_ALL
from activeeval.cli.waiting import keep_told
from activeeval.core.errors import ActiveEvalError, visible

_GARBAGE = 100_000
"""Threshold of young objects for garbage collection. Imports create no garbage: collections at Python's default of 700
took a seventh of the time of `campaign claim`."""
_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": WIDTH, "show_default": True}


@group(short_help="Measure search quality with a fraction of the judgments", context_settings=_SETTINGS)
@click.version_option(__version__, prog_name="activeeval")
@click.option("--quiet", is_flag=True, help="Print only errors on stderr.")
def cli(quiet: bool) -> None:
    """Measure search quality with a fraction of the judgments.

    Results go to stdout, messages to stderr. Exit codes: 0 ok, 1 an error (one line on stderr), 2 wrong usage;
    `compare` ends with 10 if the new run is worse, 11 if that is open.

    \b
    activeeval init                    asks a few questions, prints the commands to run
    activeeval COMMAND --help          options of a command, with an example; --help-all for all
    """


cli.add_late(
    "Begin",
    init=("quickstart.commands.init:init", "Answer a few questions, get the commands to run"),
    demo=("quickstart.commands.demo:demo", "See what sampling saves, on a generated collection"),
)
cli.add_late(
    "Measure",
    score=("scoring.commands.score:score", "Score runs against judgments, with intervals"),
    compare=(
        "scoring.commands.compare:compare",
        "Decide whether a new run is better or worse than the old one: a gate for scripts",
    ),
    estimate=("sampling.commands.estimate:estimate", "Turn a sample and its judged sheets into estimates"),
    audit=("graders.commands.audit:audit", "Compare a grader's grades with the labels of a sample"),
    agreement=("scoring.commands.agreement:agreement", "Measure how far judges agree"),
    times=("scoring.commands.times:times", "Measure how long judging takes"),
)
cli.add_late(
    "Plan",
    plan=("sampling.commands.plan:plan", "Predict the interval of a budget, or the budget of a goal"),
    simulate=("sampling.commands.simulate:simulate", "Measure what each method would have saved on your judgments"),
    calibration=("sampling.commands.calibration:calibration", "Compare a grade model with labels"),
    design=("sampling.commands.design:design", "Write the probability that each query is drawn"),
)
cli.add_late(
    "Sample",
    queries=("traffic.commands:queries", "Draw the queries to evaluate with from a log of searches"),
    pool=("sampling.commands.pool:pool", "Write pools that are too large for one machine"),
    sample=("sampling.commands.sample:sample", "Draw what to judge, and write the sheet for the judges"),
    next=("sampling.commands.next:next_", "Write the next sheet, where it depends on labels"),
    sheet=("sampling.commands.sample:sheet_again", "Write the sheet of a sample once more"),
    label=("campaigns.commands.label:label", "Find the best documents of queries, two at a time, at the terminal"),
    top_up=("sampling.commands.sample:top_up", "Add to the budget of a sample"),
    grader=("graders.commands.grader:grader", "Write the questions for a grader (an LLM or another model)"),
)
cli.add_late(
    "Judge together, for weeks",
    campaign=("campaigns.commands:campaign", "Judge a sample in a durable store, with several judges"),
    serve=("web.commands.serve:serve", "Serve the judging page of a campaign"),
)
cli.add_late(
    "Night after night", watch=("monitoring.commands:watch", "Watch the quality of an index from date to date")
)
cli.add_late(
    "Learn",
    gains=("gains.commands.gains:gains", "Learn gains and discounts from preferences"),
    coherence=("gains.commands.coherence:coherence", "Measure how often two measures prefer the same list"),
    adapt=("adaptation.commands:adapt", "Tune a ranker to users' preferences"),
    rank=("adaptation.commands:rank", "Score documents by a ranker that `adapt` wrote"),
)
cli.add_late(
    "Machine",
    warm_up=("quickstart.commands.warm_up:warm_up", "Compile everything now, so that no later command waits for it"),
)


def run(arguments: Sequence[str] | None = None, *, is_all: bool = False) -> int:
    """Run the command line and return its exit code.

    Errors are printed, not raised. A command stores the exit code of a verdict in ``obj`` of its context.

    Parameters
    ----------
    arguments : sequence of str, optional
        By default those of the process.
    is_all : bool
        True if the process runs only this command, which may then change process-wide settings.
    """
    words: Sequence[str] = sys.argv[1:] if arguments is None else arguments
    context: click.Context | None = None
    try:
        # not cli.main, which handles a closed pipe and Ctrl-C differently
        top_context = cli.make_context("activeeval", list(words), terminal_width=width_of_help())
        with top_context as context, keep_told(quiet=context.params["quiet"], is_all=is_all):
            context.meta[IS_ALL] = is_all
            cli.invoke(context)
        sys.stdout.flush()
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.ClickException as problem:
        problem.show(text := io.StringIO())
        click.echo(_without_secrets(text.getvalue(), words), nl=False, err=True)
        return problem.exit_code
    except (click.Abort, KeyboardInterrupt):
        return _complain("interrupted")
    except ActiveEvalError as problem:
        lines = complaints(problem, _command_of(words))
        return _complain(*(_without_secrets(line, words) for line in lines))
    except ImportError:
        if not _Interrupt.has_come:
            raise
        return _complain("interrupted")  # an interrupt during the load of compiled code surfaces as ImportError
    except BrokenPipeError:
        _send_nowhere(sys.stdout)
    except OSError as problem:
        return _complain(f"{problem.filename or 'stdout'}: {problem.strerror}")
    except MemoryError as problem:
        return _complain(f"not enough memory: {problem}")
    return 0 if context is None else int(context.obj or 0)


def _command_of(words: Sequence[str]) -> click.Command:
    """Find the command that the arguments name, whose option names error messages use."""
    command: click.Command = cli
    for word in words:
        if isinstance(command, click.Group):
            command = command.commands.get(word, command)
    return command


_MEASURE = re.compile(r"\w+\(.*\)(@\d+)?", re.S)
"""A measure, whose "@" and ":", as in {1:3}@10, do not mark a password."""


def _without_secrets(problem: str, words: Sequence[str]) -> str:
    """Mask the passwords of addresses, among the arguments `words`, that occur in an error message."""
    for word in words:
        if word in problem and any(mark in word for mark in ("://", "@", "pass")) and not _MEASURE.fullmatch(word):
            from activeeval.core.masked_addresses import masked

            problem = problem.replace(word, masked(word))
    return problem


def _complain(*problems: str) -> int:
    """Print errors on stderr, one line each, and return exit code 1."""
    for problem in problems:
        print(f"activeeval: {visible(' '.join(problem.split()))}", file=sys.stderr)
    return 1


class _Interrupt(KeyboardInterrupt):
    """Ctrl-C as a subclass of KeyboardInterrupt.

    Python remembers a plain KeyboardInterrupt raised inside exec, as in dataclasses, and exits by it.
    """

    has_come = False


class _Stderr:
    """Stderr that drops its output once its reader has closed the pipe, as in `2>&1 | head -1`."""

    def __init__(self, stream: Any) -> None:
        """Wrap a stream."""
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        """Delegate to the stream."""
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write a text, or drop it if the reader has closed the stream; return its length."""
        with suppress(BrokenPipeError):
            return int(self._stream.write(text))
        _send_nowhere(self._stream)
        return len(text)

    def flush(self) -> None:
        """Flush the stream; if its reader has closed it, drop the buffer."""
        with suppress(BrokenPipeError):
            self._stream.flush()
            return
        _send_nowhere(self._stream)


def _send_nowhere(stream: Any) -> None:
    """Redirect a closed stream's file descriptor to the null device."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _interrupt(*_: object) -> None:
    """Raise an interrupt on SIGINT."""
    _Interrupt.has_come = True
    raise _Interrupt


def main() -> None:
    """Run the command line for the process, with its signals and streams set up, and exit."""
    gc.set_threshold(_GARBAGE)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # otherwise SIGINT is ignored, as under nohup
        signal.signal(signal.SIGINT, _interrupt)
    if sys.stderr is not None:
        sys.stderr = _Stderr(sys.stderr)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # the caller has closed it
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
    code = run(is_all=True)
    try:
        sys.stdout.close()
    except OSError:
        os._exit(code or 1)
    sys.exit(code)
