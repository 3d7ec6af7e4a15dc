"""``activeeval watch init``, ``night`` and ``submit``: set up a watch, draw a night, import judgments."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from datetime import date as day
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from activeeval.campaigns.commands.options import db_option, judge_of, name_argument, named_again, opened, place_of
from activeeval.cli import output
from activeeval.cli.help import command
from activeeval.cli.input_options import (
    any_judge_option,
    any_policy_option,
    any_seed_option,
    any_sheet_option,
    judged_option,
    machine_is_truth_option,
    margin_option,
    max_grade_option,
    model_option,
    options_of,
    run_option,
    scope_option,
    worded,
)
from activeeval.cli.option_types import POSITIVE, FiniteRange
from activeeval.cli.waiting import tell
from activeeval.monitoring.commands.inspect import opened_watch, say_earlier, say_shared, show_night
from activeeval.report.numbers import counted
from activeeval.sampling.commands import sheet_options
from activeeval.sampling.commands.price_options import price_option
from activeeval.sampling.commands.sampling_options import texts_options
from activeeval.sampling.options import MEASURES_HELP, GoalFields

if TYPE_CHECKING:
    from activeeval.campaigns.scripted_judge import ScriptedAnswers
    from activeeval.campaigns.store import NightRow, Store
    from activeeval.core.planning.prices import Price
    from activeeval.core.results import Caution, Note
    from activeeval.monitoring.nights import NightDraw
    from activeeval.monitoring.settings import Settings
    from activeeval.monitoring.watch_steps import WatchStep


@command()
@name_argument
@db_option
@options_of(
    GoalFields,
    only=("measures", "segments", "half_width"),
    measures={"required": True, "help": f"{MEASURES_HELP}; repeatable."},
    segments={"help": "Read nights by segment too: a table of query_id and segment, stored with the watch."},
    half_width={
        "help": "Draw the least that brings a night's interval to ± E, or a segment's (mobile=0.05), "
        "all of them at once; repeatable."
    },
)
@click.option("--budget-per-night", "budget", type=POSITIVE, required=True, metavar="N",
              help="New labels a night, on average; with half-widths at most that many, on average.")  # fmt: skip
@max_grade_option(help="Largest grade of the scale. Default: that of the first night's judgments.")
@margin_option(
              help="The largest loss that does not matter, in the unit of the measure.")  # fmt: skip
@scope_option("pool")
@click.option("--false-alarms", type=POSITIVE, default=1.0, show_default=True, metavar="N",
              help="False alarms in 100 nights without a change, at most.")  # fmt: skip
@click.option("--budget-on-suspicion", type=FiniteRange(0), metavar="N",
              help="More labels, on average, for a night that looks bad and is undecided; 0 for none. Default: twice "
                   "--budget-per-night.")  # fmt: skip
@click.option("--reference", default="previous", show_default=True, metavar="FILE|first|previous",
              help="What nights are compared with, beside the night before.")  # fmt: skip
@click.option("--judges-per-item", type=click.IntRange(1), default=1, help="How many judges each item waits for.")
@any_policy_option(type=click.Choice(("majority", "median")), help="What several judges' grades count as.")
@click.option("--pool-depth", type=click.IntRange(1), default=100, show_default=True, metavar="K",
              help="The rank at which lists end.")  # fmt: skip
@model_option("models", help="Grade model. Default: learned from the labels so far.")
@any_seed_option(help="Seed of the numbers that all nights share. Default: a new one.")
@output.output_option
def init(name: str, db: str | None, seed: int | None, policy: str | None, form: str, **options: Any) -> None:
    """Set up a watch in a store: what is measured, for how much a night, and when it raises an alarm.

    An alarm is a change whose interval lies below 0 and whose value is a loss of the margin or more. The interval is
    as wide as is needed for at most --false-alarms in 100 nights without a change. A night that looks bad and is
    undecided gets --budget-on-suspicion more labels.

    With --half-width a night draws the fewest new labels that should bring its values to these half-widths, with all
    earlier labels in hand; none if these are enough. If that takes more than --budget-per-night, the night is drawn
    for the budget, and prints how many labels are needed. Changes between nights are read from the same sample.

    \b
    activeeval watch init quality --measure DCG@10 --measure nDCG@10 --budget-per-night 40
    activeeval watch init quality --measure P@5 --budget-per-night 40 --margin 0.02 --reference first
    activeeval watch init quality --measure DCG@10 --budget-per-night 200 --margin 0.2 \\
        --segments segments.csv --half-width mobile=0.5 --half-width desktop=0.5
    """
    from activeeval.monitoring.settings import Settings, set_up

    with worded():
        settings = Settings.chosen(seed, policy, **options)
        with opened(name, db, create=True) as store:
            set_up(store, name, settings)
    _say_set_up(name, db, settings)
    output.emit_done([{"watch": name, "db": place_of(name, db)} | asdict(settings)], form)


def _say_set_up(name: str, db: str | None, settings: Settings) -> None:
    """Print the settings of a new watch and the command for its first night (a dated run)."""
    most = "at most " if settings.goals else ""
    more = f", {settings.on_suspicion:g} more on suspicion" if settings.on_suspicion else ""
    price = f"{most}{settings.budget:g} new labels a night{' on average' if most else ''}{more}"
    output.say(f"watch {name} is in {place_of(name, db)}, seed {settings.seed}: {price}")
    if not settings.margin:
        output.say("without --margin nearly all nights without a change are undecided (exit code 11)")
    output.say("the chance that a loss raises the alarm is printed once the first night is judged")
    again = f"activeeval watch night {name}{named_again(db)} --run tonight.run --sheet tonight.csv"
    output.say(f"Next: `{again}` draws the first night.")


@command()
@name_argument
@db_option
@run_option(required=True, help="Tonight's run: TREC file or table.")
@click.option("--date", metavar="DATE", help="The night, as 2026-11-25. Default: today.")
@click.option("--replace", "replaces", is_flag=True,
              help="Draw the last night again, for another budget, as after a run that was not complete. Its labels "
                   "count too, and the store keeps both; give --judged again.")  # fmt: skip
@judged_option(help="Known judgments: they cost nothing. Repeatable.")
@click.option("--oracle", metavar="FILE", help="Judge the drawn items at once by the grades of this file.")
@any_sheet_option(help=f"Write the items to be judged: {sheet_options.FORMS}.")
@texts_options
@machine_is_truth_option
@price_option
@output.force_option
@output.comment_option
@click.pass_context
def night(
    context: click.Context,
    /,
    name: str,
    db: str | None,
    run: str,
    date: str | None,
    replaces: bool,
    judged: tuple[str, ...],
    oracle: str | None,
    sheet: str | None,
    documents: str | None,
    queries: str | None,
    machine_is_truth: bool,
    price: Price | None,
    force: bool,
    form: str,
) -> None:
    """Draw a sample of tonight's run, and show what is known already.

    Ends with 0 (fine), 10 (worse: an alarm) or 11 (undecided, or items wait). A night that looks bad and is undecided
    gets more labels at once with --oracle; else `submit` draws them once the night's own items are judged.

    \b
    activeeval watch night quality --run tonight.run --sheet tonight.csv
    activeeval watch night quality --run tonight.run --date 2026-11-25 --oracle qrels.txt -o jsonl
    """
    from activeeval.monitoring.night_inputs import NightInputs
    from activeeval.monitoring.watch_steps import take_night

    plan = None if sheet is None else sheet_options.planned(sheet, force=force)
    script = None if oracle is None else _script(oracle, machine_is_truth)
    tonight = NightInputs(
        run=run,
        date=date or day.today().isoformat(),
        judged=judged,
        documents=documents,
        queries=queries,
        machine_is_truth=machine_is_truth,
        replaces=replaces,
    )
    with opened_watch(name, db) as (store, shared):
        with worded():
            step = take_night(store, name, tonight, script, progress=tell, begun=_say_drawn)
        drawn, shared = step.drawn, shared | step.shared
        assert drawn is not None
        output.say_notes(_of_files(script.notes if script else ()))
        _say_more(step.more)
        if plan is not None and drawn.n_new + drawn.n_pending:
            _write(store, drawn.campaign, plan)
        elif plan is not None:
            output.say("no judgments are needed: no sheet was written")
        show_night(context, store, name, db, form, price)
        say_earlier(context, store, name, shared)
        _say_outlook(store, name)


@command()
@name_argument
@db_option
@click.argument("sheets", metavar="[SHEET]...", nargs=-1)
@any_judge_option(help="Name of the judge, if a sheet names none.")
@machine_is_truth_option
@price_option
@output.comment_option
@click.pass_context
def submit(
    context: click.Context,
    /,
    name: str,
    db: str | None,
    sheets: tuple[str, ...],
    judge: str | None,
    machine_is_truth: bool,
    price: Price | None,
    form: str,
) -> None:
    """Store judged sheets, and show the result of the last night; ends as `night` does.

    If the night is judged, looks bad and is undecided, its labels on suspicion are drawn, and written beside the
    first SHEET: to tonight-more.csv beside tonight.csv. Without a SHEET: judgments that `activeeval serve` has stored.

    \b
    activeeval watch submit quality tonight.csv --judge ann
    activeeval watch submit quality tonight-more.csv --judge ann
    """
    from activeeval.monitoring.watch_steps import take_judgments

    judge = _judge_named(judge)
    with opened(name, db) as store:
        with worded():
            how: dict[str, Any] = {"progress": tell, "begun": partial(_say_taken, store, name)}
            step = take_judgments(store, name, sheets, judge, machine_is_truth=machine_is_truth, **how)
        _say_more(step.more)
        _write_more(store, step.more, sheets)
        show_night(context, store, name, db, form, price)
        say_earlier(context, store, name, [*(row.date for row, _ in step.files), *step.shared])
        _say_outlook(store, name)


def _judge_named(judge: str | None) -> str | None:
    """Normalize the name of the judge; keep None (no name was passed)."""
    return None if judge is None else judge_of(judge)


def _say_taken(store: Store, name: str, taken: WatchStep) -> None:
    """Print the number of judgments stored from each file, and the number copied to other nights (dated runs).

    ``taken.files`` has, for each file, the step (sample of a night) that received it and the counts of its import.
    """
    for step, file in taken.files:
        late = f", {sum(file.late.values())} came too late" if file.late else ""
        stored = f"{counted(file.stored, 'judgment')} stored{_of_earlier(store, name, step)}"
        stored += f", {counted(file.cannot, 'item')} cannot be judged" if file.cannot else ""
        output.say(f"{file.file}: {stored}, {file.repeated} were there already{late}")
        output.say_notes(_of_files(file.notes))
    say_shared(taken.shared)


def _of_earlier(store: Store, name: str, step: NightRow) -> str:
    """Format the date of the night (a dated run) that received judgments, as " for 2026-11-25"; "" for the last night.

    `step` is a sample of that night; its `date` has a suffix if it is not the night's first one.
    """
    from activeeval.monitoring.night_inputs import last_night

    return "" if step.date == last_night(store, name).date else f" for {step.date}"


def _say_outlook(store: Store, name: str) -> None:
    """Print the probability that a loss raises the alarm, if the watch has exactly one night and it is judged.

    A night is a dated run of the watched index.
    """
    from activeeval.core.errors import StateError
    from activeeval.monitoring.alarm_chances import expected_alarms
    from activeeval.monitoring.judged_labels import by_night
    from activeeval.monitoring.night_pages import outlook_sentence
    from activeeval.monitoring.settings import Settings

    if len(by_night(store.watches.nights(name))) > 1:
        return
    settings = Settings.of(store.watches.get(name).config)
    try:
        expected = expected_alarms(store, name)
    except StateError:  # unjudged items, or no judgments yet
        return
    for each in expected:
        output.say(outlook_sentence(each, settings.budget, settings.on_suspicion))


def _write_more(store: Store, more: NightDraw | None, sheets: tuple[str, ...]) -> None:
    """Write the sheet of the labels on suspicion beside the first judged sheet, as NAME-more.csv or a free name.

    Nothing is written if none were drawn (`more` is None or empty) or no sheet was passed.
    """
    from itertools import count
    from pathlib import Path

    if more and sheets and more.n_new + more.n_pending:
        first = Path(sheets[0])
        names = (f"{first.stem}-more{'' if k == 1 else f'-{k}'}{first.suffix}" for k in count(1))
        free = next(path for path in map(first.with_name, names) if not path.exists())  # never overwrite a judged sheet
        _write(store, more.campaign, sheet_options.planned(str(free), force=False))


def _say_more(more: NightDraw | None) -> None:
    """Print the number of labels drawn on suspicion (further labels for a bad night); nothing if `more` is None.

    A night is a dated run of the watched index.
    """
    if more is None:
        return
    items = f"{counted(more.n_new, 'more item')} {'is' if more.n_new == 1 else 'are'} to be judged"
    output.say(f"the night looks bad: {items}: campaign {more.campaign}")


def _say_drawn(step: WatchStep) -> None:
    """Print the number of items to judge, of labels reused from earlier nights (dated runs), and of changed texts."""
    drawn = step.drawn
    assert drawn is not None
    left, n = (
        f" ({drawn.n_pending} left from an earlier night)" if drawn.n_pending else "",
        drawn.n_new + drawn.n_pending,
    )
    output.say(f"{counted(n, 'item')} {'is' if n == 1 else 'are'} to be judged{left}: campaign {drawn.campaign}")
    if drawn.n_in_hand or drawn.n_known:
        beside = f", {counted(drawn.n_known, 'grade')} from elsewhere" if drawn.n_known else ""
        labels = f"{counted(drawn.n_in_hand, 'label')} of earlier nights"
        output.say(f"{labels} {'goes' if drawn.n_in_hand == 1 and not beside else 'go'} on counting{beside}")
    if drawn.n_changed == 1:
        output.say("1 item has another text than before: its grade is gone")
    elif drawn.n_changed:
        output.say(f"{drawn.n_changed:,} items have another text than before: their grades are gone")
    output.say_notes(drawn.notes)


def _of_files(notes: Iterable[Note | Caution]) -> list[Note | Caution]:
    """Drop the note on graders' grades accepted as labels, which the night (a dated run) itself reports."""
    from activeeval.report.cautions import MACHINE_IS_TRUTH

    return [note for note in notes if note.code != MACHINE_IS_TRUTH]


def _script(oracle: str, machine_is_truth: bool) -> ScriptedAnswers:
    """Read the grades that a scripted judge answers with from the file `oracle`."""
    from activeeval.campaigns.scripted_judge import script_of

    return script_of(oracle, machine_is_truth=machine_is_truth)


def _write(store: Store, campaign: str, plan: Any) -> None:
    """Write the sheets of a campaign to the files of `plan` (a `SheetPlan`), and print their names."""
    from activeeval.campaigns.batches import write_batches

    for sheet in write_batches(store, campaign, plan):
        output.say(f"wrote {sheet.sheet}: {counted(sheet.items, 'item')}")
