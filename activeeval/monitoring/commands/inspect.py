"""``activeeval watch status``, ``estimate`` and ``report``: results of nights."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from activeeval.campaigns.commands.options import db_option, name_argument, named_again, opened
from activeeval.cli import output
from activeeval.cli.help import command
from activeeval.cli.input_options import worded
from activeeval.cli.option_names import option_here
from activeeval.cli.waiting import tell
from activeeval.report.numbers import counted
from activeeval.sampling.commands.price_options import price_option, say_costs
from activeeval.scoring.commands.unjudged_bounds import check_unjudged_options, show_bounds, unjudged_options

if TYPE_CHECKING:
    from activeeval.campaigns.store import Store
    from activeeval.core.answers import Answer
    from activeeval.core.planning.prices import Price
    from activeeval.core.results import Caution
    from activeeval.monitoring.series import NightContent


@command()
@name_argument
@db_option
@unjudged_options
@price_option
@output.comment_option
@click.pass_context
def status(
    context: click.Context,
    /,
    name: str,
    db: str | None,
    unjudged_bounds: bool,
    more: tuple[int, ...],
    price: Price | None,
    form: str,
) -> None:
    """Show the result of the last night, and what it waits for; ends as `night` does.

    With --unjudged-bounds: the value of its run if the items without a judgment are irrelevant, as a grade model
    expects, and at best. Nothing new is judged for that.

    \b
    activeeval watch status quality
    activeeval watch status quality --unjudged-bounds
    """
    check_unjudged_options(unjudged_bounds, {option_here("more"): more})
    if unjudged_bounds and form == output.COMMENT:
        raise click.UsageError(f"--unjudged-bounds prints text or rows: leave out -o {output.COMMENT}")
    with opened_watch(name, db) as (store, shared):
        if not unjudged_bounds:
            show_night(context, store, name, db, form, price)
            say_earlier(context, store, name, shared)
            return
        night = _last_night(context, store, name)
        _show_bounds(store, name, more, night.cautions, form)
        _say_waiting(night, name, db, price)


@command()
@name_argument
@db_option
@click.option("--from", "begin", default="", metavar="DATE", help="The first night. Default: of the watch.")
@click.option("--to", "end", default="", metavar="DATE", help="The last night. Default: of the watch.")
@output.output_option
def estimate(name: str, db: str | None, begin: str, end: str, form: str) -> None:
    """Print the value of each night with its interval, and its changes from other nights.

    The interval of a value holds in 95 nights of 100. The interval of a change is the one that decides its verdict:
    see --false-alarms of `init`. With --from and --to the change between these two nights is printed too, read from
    all labels so far.

    A watch with --segments prints rows with a `segment` too (-o jsonl): their intervals hold for all segments of a
    night at once.

    \b
    activeeval watch estimate quality
    activeeval watch estimate quality --from 2026-11-01 --to 2026-11-25 -o jsonl
    """
    from activeeval.monitoring.watch import nights_of

    tell("reading the nights")
    with opened_watch(name, db) as (store, _):
        result = nights_of(store, name, begin, end)
    output.say_notes(caution for night in result.nights[-1:] for caution in night.cautions)
    if form == "text" and not output.is_asked("wide"):
        _show_table(result.nights, result.spans)
    else:
        output.emit(result.rows(), form)


@command()
@name_argument
@db_option
@output.out_option(required=True, help="The page to write, .md; a picture .png beside it.")
@price_option
@output.force_option
def report(name: str, db: str | None, out: str, price: Price | None, force: bool) -> None:
    """Write a report of the nights: the last night, a picture and a table of all, alarms, labels a night.

    \b
    activeeval watch report quality --out quality.md
    """
    from activeeval.monitoring.night_pages import write_page
    from activeeval.monitoring.series import estimate_nights

    output.check_new(out, (".md",), force)
    picture = f"{out.removesuffix('.md')}.png"
    output.check_new(picture, (".png",), force)
    tell("reading the nights")
    with opened_watch(name, db) as (store, _):
        nights = estimate_nights(store, name)
    write_page(name, nights, out)
    output.say(f"wrote {out} and {picture}")
    for last in nights[-1:]:
        output.say_notes(last.cautions)
        say_costs(price, last.waiting, "judgments to come")


@contextmanager
def opened_watch(name: str, db: str | None) -> Iterator[tuple[Store, dict[str, int]]]:
    """Open the store of a watch, and copy late judgments to all nights that drew the same items in the same texts.

    A night is a dated run of the watched index.

    Yields
    ------
    store : Store
    shared : dict of str to int
        By step of a night (its date or a sample of that date) the number of judgments copied to it.
    """
    from activeeval.monitoring.late_sheets import share_labels

    with opened(name, db) as store:
        shared = share_labels(store, name)
        say_shared(shared)
        yield store, shared


def say_shared(shared: Mapping[str, int]) -> None:
    """Print, for each step of a night, how many judgments of other nights were copied to it; `shared` is by step.

    A night is a dated run of the watched index.
    """
    for step, n in shared.items():
        judgments = f"{counted(n, 'judgment')} of other nights {'counts' if n == 1 else 'count'}"
        output.say(f"{judgments} for {step} too: the same items in the same texts")


def say_earlier(context: click.Context, store: Store, name: str, steps: Iterable[str]) -> None:
    """Print results of earlier nights that received late judgments; set the exit code if one raises the alarm.

    A night is a dated run of the watched index.

    Parameters
    ----------
    steps : iterable of str
        Names of steps that received judgments: a night's date, optionally with a suffix after a point.
    """
    from activeeval.core.answers import WORSE
    from activeeval.monitoring.night_inputs import last_night
    from activeeval.monitoring.night_pages import night_sentences
    from activeeval.monitoring.series import estimate_nights

    dates = {step.partition(".")[0] for step in steps} - {last_night(store, name).night}
    for date in sorted(dates):
        (night,) = estimate_nights(store, name, date, date)
        if night.findings:
            output.say(" ".join(night_sentences(night)))
        if night.exit_code == WORSE:
            context.find_root().obj = night.exit_code


def show_night(
    context: click.Context, store: Store, name: str, db: str | None, form: str, price: Price | None = None
) -> None:
    """Print the result of the last night of watch `name` in the output format `form`, and set the exit code.

    A night is a dated run of the watched index.
    """
    from activeeval.monitoring.night_rows import rows_of

    night = _last_night(context, store, name)
    if form == output.COMMENT:
        _show_comment(name, night)
    elif form != "text" or output.is_asked("wide"):
        output.emit(rows_of(night), form)
    else:
        _show(night)
    _say_waiting(night, name, db, price)


def _last_night(context: click.Context, store: Store, name: str) -> NightContent:
    """Read the last night (a dated run) of a watch, print its warnings, and set the exit code."""
    from activeeval.monitoring.series import estimate_last_night

    night = estimate_last_night(store, name)
    context.find_root().obj = night.exit_code
    output.say_notes(night.cautions)
    return night


def _say_waiting(night: NightContent, name: str, db: str | None, price: Price | None) -> None:
    """Print the number of unjudged items of a night, their cost at `price`, and the commands to run next.

    A night is a dated run of the watched index.
    """
    if night.n_missing:
        again = f"`activeeval watch night {name}{named_again(db)} --run FILE --date {night.date} --replace`"
        output.say(f"where that run was not complete, {again} draws the night anew")
    if night.waiting:
        where = named_again(db)
        wait = "item waits" if night.waiting == 1 else "items wait"
        output.say(
            f"{night.waiting} {wait}: `activeeval watch submit {name}{where} SHEET` takes sheets back, "
            f"`activeeval serve {night.campaign}{where}` has them judged in a browser"
        )
    elif night.looks_bad:
        more = f"{night.settings.on_suspicion:g} more labels"
        output.say(f"the night looks bad: `activeeval watch submit {name}{named_again(db)}` draws {more}")
    say_costs(price, night.waiting, "judgments to come")


def _show_bounds(store: Store, name: str, budgets: Sequence[int], cautions: Sequence[Caution], form: str) -> None:
    """Print the values of the last night's run if its unjudged items are irrelevant, as a model expects, and at best.

    `budgets` are numbers of further judgments; for each, the bounds after that many judgments are printed too. A night
    is a dated run of the watched index.
    """
    from activeeval.monitoring.unjudged import unjudged_of_last_night

    with worded():
        night = unjudged_of_last_night(store, name, budgets, tell)
    if not night.bounds:
        output.say(f"{night.date}: no item of its lists is judged yet: the unjudged ones cannot be bounded")
        return
    if night.n_unjudged:
        output.say(f"{night.date}: {night.n_unjudged} queries have no judgments and are ignored")
    show_bounds(night.bounds, cautions, form)


def _show(night: NightContent) -> None:
    """Print a night (a dated run) as text: sentences, a table, definitions."""
    from activeeval.monitoring.night_pages import meaning, night_sentences, night_table, waiting_sentence
    from activeeval.report.answer_sentences import table_of

    for line in night_sentences(night):
        output.show_text(line)
    if not night.findings:
        output.show_text(waiting_sentence(night))
        return
    click.echo()
    output.emit(night_table(night), "text")
    click.echo()
    if night.segment_findings:
        output.emit(table_of(night.segment_findings), "text")
        click.echo()
    output.show_text(meaning(night))


def _show_comment(name: str, night: NightContent) -> None:
    """Print a night (a dated run) as a markdown comment for a pull request."""
    from activeeval.monitoring.night_pages import alarm_title, meaning, night_sentences, night_table, waiting_sentence
    from activeeval.report.cautions import caution_lines
    from activeeval.report.markdown_comment import WIDTH, comment

    title = f"{name}, {night.date}: {alarm_title(night)}"
    sentences = night_sentences(night)
    if not night.findings:
        click.echo(comment(title, [*sentences, waiting_sentence(night)], []))
        return
    rows = night_table(night, WIDTH)
    warnings = caution_lines([("", night.cautions)], option_here)
    click.echo(comment(title, [*sentences, *warnings], rows, [meaning(night)]))


def _show_table(nights: Sequence[NightContent], spans: Sequence[Answer]) -> None:
    """Print all nights as a table, and sentences about `spans`, the changes between the two requested dates.

    A night is a dated run of the watched index.
    """
    from activeeval.monitoring.night_pages import meaning, series_table, span_sentences

    output.emit(series_table(nights), "text")
    click.echo()
    for line in span_sentences(spans):
        output.show_text(line)
    output.show_text(meaning(nights[-1]))
