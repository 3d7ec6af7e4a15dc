"""Output of the command line: results on stdout, messages on stderr."""

from __future__ import annotations

import os
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from activeeval.cli.option_names import option_here
from activeeval.cli.waiting import settle
from activeeval.core.errors import InputError, visible
from activeeval.report.numbers import agreeing, counted
from activeeval.report.rendering import FORMATS

if TYPE_CHECKING:
    from activeeval.core.campaign.labels import Progress
    from activeeval.core.design import Design
    from activeeval.core.judgments.policies import Agreement
    from activeeval.core.results import Caution, Estimate, Note

CHECK = "activeeval.check"
"""Key of the context's function that is called before results are printed."""
WIDE = "wide"
COMMENT = "markdown"
"""Output format of some commands: the answer as a comment of a pull request."""
TRACKED = "mlflow"
"""Output format of some commands: metrics and artefacts of an MLflow run."""
_HEAVY = 30.0
"""Weight of a query that triggers a warning: 30 dominates a usual sample of some tens of queries."""
_SAFE_SHARE = 0.1
_NAMES = ("method", "model", "what")
_WIDE = 1000
WIDTH = 100
"""Maximal line width of text for reading, except for longer commands or names."""
_MOST_CAUTIONS = 3
_COMMAND = re.compile("`[^`]+`")
_JOIN = "\N{NO-BREAK SPACE}"


def _keep(context: click.Context, option: click.Parameter, value: bool) -> None:
    """Store the value of a display flag in the context, where `is_asked` finds it."""
    context.meta[f"activeeval.{option.name}"] = value


def is_asked(name: str) -> bool:
    """Check whether a display flag, ``wide`` or ``explain``, is set."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(f"activeeval.{name}"))


def _shown(context: click.Context, _: click.Parameter, form: str) -> str:
    """Convert the format ``wide`` to text, and store in the context that all columns are shown."""
    context.meta[f"activeeval.{WIDE}"] = form == WIDE
    return "text" if form == WIDE else form


def _printing(more: Sequence[str] = (), text: str = "") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Build the output format option; `more` are further formats, `text` is appended to its help."""
    forms = click.Choice((*FORMATS, WIDE, *more))
    help_text = f"Format of the numbers; `{WIDE}`: text with all columns{text}."
    return click.option("-o", "--output", "form", type=forms, default="text", callback=_shown, help=help_text)


output_option = _printing()
comment_option = _printing([COMMENT], f"; `{COMMENT}`: the answer as a comment for a pull request")
tracked_option = _printing([TRACKED], f"; `{TRACKED}`: logged as metrics")
_EXPLAINED = "Print all notes too, and what each number is."
explain_option = click.option("--explain", is_flag=True, expose_value=False, callback=_keep, help=_EXPLAINED)
out_option = partial(click.option, "--out", metavar="FILE")
plot_option = partial(click.option, "--plot", metavar="FILE")
force_option = click.option("--force", is_flag=True, help="Overwrite existing files.")


def _begin_results() -> None:
    """Remove the progress display; raise InputError if a column that the user named was in no table."""
    settle()
    context = click.get_current_context(silent=True)
    if context is not None and CHECK in context.meta:
        context.meta[CHECK]()


def show_text(text: str) -> None:
    """Print a paragraph on stdout."""
    _begin_results()
    click.echo(wrapped(text))


def wrapped(text: str, first: str = "", rest: str = "") -> str:
    """Wrap a paragraph to `WIDTH` characters without breaking text in backticks.

    `first` and `rest` are indents of the first line and of the others.
    """
    # no-break spaces keep a text in backticks together
    joined = _COMMAND.sub(lambda match: match[0].replace(" ", _JOIN), text)
    lines = textwrap.wrap(
        joined, WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )
    return "\n".join(lines).replace(_JOIN, " ")


def show_first(lines: Sequence[str], form: str) -> None:
    """Print lines above a table; skipped in formats for programs (`form` jsonl or tsv)."""
    from activeeval.report.rendering import note_text

    if not lines or form in ("jsonl", "tsv"):
        return
    for line in lines:
        show_text(line) if form == "text" else click.echo(note_text(line, form))
    click.echo()


def emit(rows: Sequence[Mapping[str, Any]], form: str) -> None:
    """Print rows on stdout in the format `form`; nothing if there are none."""
    from activeeval.report.rendering import render

    _begin_results()
    if rows:
        click.echo(render(rows, form))


def emit_done(rows: Sequence[Mapping[str, Any]], form: str) -> None:
    """Print the rows of a completed command in the format `form`, unless it is text."""
    if form != "text":
        emit(rows, form)


def say_sizes(results: Sequence[Estimate]) -> None:
    """Print on stderr what effective sample sizes mean, if any estimate has one.

    An effective sample size is the number of random queries, judged completely, that would be as precise.
    """
    sizes = [result.effective_sample_size for result in results if result.effective_sample_size is not None]
    if len(results) == len(sizes) == 1:
        say(f"as precise as {sizes[0]:.3g} random queries judged whole")
    elif sizes:
        say("effective_sample_size: number of random queries judged whole that are as precise")


def check_new(path: str, suffixes: Sequence[str], force: bool) -> None:
    """Raise InputError if a file cannot be written, has a suffix other than these, or exists and not `force`."""
    check_out(path, suffixes)
    if not force and Path(path).is_file():
        raise InputError(f"{path}: is there already, --force overwrites it")


def check_apart(outputs: Mapping[str, str | None], inputs: Sequence[str]) -> None:
    """Raise InputError if two output files, or an output and an input file, are the same.

    Parameters
    ----------
    outputs : dict of an option's parameter to path or None
    inputs : sequence of path
    """
    taken = {os.path.realpath(path): path for path in inputs}
    for parameter, path in outputs.items():
        if path is None:
            continue
        option = option_here(parameter)
        if path.lower().endswith(".gz"):
            raise InputError(f"{path}: expected a name that does not end in .gz, {option} is not compressed")
        if (real := os.path.realpath(path)) in taken:
            raise InputError(f"{path}: {option} would replace {taken[real]}, which this command reads or writes too")
        taken[real] = path


def check_out(path: str, suffixes: Sequence[str]) -> None:
    """Raise InputError early if a file cannot be written, or has another suffix; without suffixes any is accepted."""
    place = Path(path.lower().removesuffix(".gz"))
    if suffixes and place.suffix not in suffixes:
        raise InputError(f"{path}: expected a name that ends in {', '.join(suffixes)}")
    if Path(path).is_dir():
        raise InputError(f"{path}: cannot write: Is a directory")
    if not Path(path).parent.is_dir():
        raise InputError(f"{path}: cannot write: there is no folder {str(Path(path).parent)!r}")


def say(message: str) -> None:
    """Print a line on stderr, unless --quiet."""
    context = click.get_current_context(silent=True)
    if context is None or not (context.find_root().params.get("quiet")):
        click.echo(wrapped(visible(message), "activeeval: ", "  "), err=True)


def say_notes(notes: Iterable[Note | Caution], before: str = "") -> None:
    """Print notes on stderr, one line each, `before` first, with options in place of library parameters."""
    from activeeval.report.message_lookup import text_of

    for note in notes:
        say(before + text_of(note, option_here))


def say_note(note: Note | Caution) -> None:
    """Print a note on stderr."""
    say_notes([note])


def show_notes(notes: Iterable[Note | Caution]) -> None:
    """Print notes on stdout as the first part of an answer, and a blank line."""
    from activeeval.report.message_lookup import text_of

    for note in notes:
        show_text(visible(text_of(note, option_here)))
    click.echo()


def say_cautions(named: Sequence[tuple[str, Estimate]]) -> None:
    """Print the cautions of estimates, each with its name, on stderr: at most three; all with --explain."""
    from activeeval.report.cautions import caution_lines

    is_all = is_asked("explain")
    cautions = [(name, estimate.cautions) for name, estimate in named]
    lines = caution_lines(cautions, option_here, least="note" if is_all else "warning")
    for line in lines if is_all else lines[:_MOST_CAUTIONS]:
        say(line)
    if (n := len(lines) - _MOST_CAUTIONS) > 0 and not is_all:
        say(f"{counted(n, 'caution')} more: --explain shows {agreeing(n, 'it', 'them')}")


def say_progress(progress: Progress, agreement: Agreement, policy: str, at_end: str = "") -> None:
    """Print the progress of judging and the agreement of judges on stderr.

    ``progress`` has the numbers of judged, waiting and unjudgeable items; ``agreement`` those of items with several
    judges and of those with equal grades. `policy` names how grades of differing judges are combined; ``at_end`` ends
    the line on unjudged items.
    """
    if n := agreement.several:
        shared = f"{counted(n, 'item')} {agreeing(n, 'was', 'were')} judged by several judges"
        say(f"{shared}, {agreement.alike} of them alike (policy: {policy})")
    if progress.waiting:
        wait = agreeing(progress.waiting, "waits", "wait")
        say(f"{progress.waiting:,} of {counted(sum(progress), 'item')} {wait} for a grade{at_end}")


def warn_of_weights(name: str, design: Design) -> None:
    """Warn if the rates of a design give some query a weight that would dominate the estimate.

    `name` starts the line.
    """
    from activeeval.core.design.methods import find_method

    # the other weights of a larger pool are unknown
    if design.order.larger_pool is not None or design.largest_weight <= _HEAVY:
        return
    context = click.get_current_context(silent=True)
    share = context.params.get("defensive_share") if context is not None else None
    if share is None:
        share = find_method(design.name).defensive_share
    advice = f"--defensive-share {_SAFE_SHARE:g} keeps every weight below {1 / _SAFE_SHARE:g}"
    if share >= _SAFE_SHARE:
        advice = f"a --defensive-share above {share:g} lowers that"
    say(
        f"{name}: some query is drawn {design.largest_weight:.3g} times less often than in a plain random sample, so "
        f"intervals can be too short if it differs; {advice}"
    )


def show_table(rows: Sequence[Mapping[str, str]], title: str) -> None:
    """Print rows as a drawn table on a terminal that is wide enough, else as aligned columns."""
    _begin_results()
    if not sys.stdout.isatty():
        _show_plainly(rows, title)
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left")
    for name in rows[0]:
        table.add_column(name, justify="left" if name in _NAMES else "right", no_wrap=True)
    for row in rows:
        table.add_row(*row.values())
    console = Console()
    if Console(width=_WIDE).measure(table).maximum > console.width:
        _show_plainly(rows, title)
    else:
        console.print(table)


def _show_plainly(rows: Sequence[Mapping[str, str]], title: str) -> None:
    """Print rows as aligned columns with a title."""
    click.echo(title)
    emit(rows, "text")
    click.echo()
