"""Commands ``activeeval campaign status``, ``estimate``, ``export``, ``verify`` and ``cost``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from activeeval.campaigns.commands.options import as_of_option, of_campaign, opened
from activeeval.cli import output
from activeeval.cli.help import command
from activeeval.cli.input_options import confidence_option, interval_option, scope_option
from activeeval.cli.option_names import complaint
from activeeval.cli.waiting import settle, tell
from activeeval.core.errors import ActiveEvalError, StateError, visible
from activeeval.report.numbers import counted
from activeeval.sampling.commands.answer_table import NextSteps, show_estimates, show_findings
from activeeval.sampling.commands.price_options import price_option, say_costs
from activeeval.sampling.commands.sampling_options import asked_options, documents_option

if TYPE_CHECKING:
    from activeeval.campaigns.report.judges_content import Step
    from activeeval.campaigns.state import CampaignState
    from activeeval.campaigns.status import Status
    from activeeval.core.planning.prices import Price
    from activeeval.report.rendering import Cell
    from activeeval.sampling.estimate import Estimates

_FORMS = ("qrels", "prels", "jsonl", "csv", "weights", "quepid", "rank-eval")


@command()
@of_campaign
@as_of_option
@confidence_option
@price_option
@output.output_option
def status(name: str, db: str | None, as_of: int | None, confidence: float, price: Price | None, form: str) -> None:
    """Show a campaign's estimates so far, its progress, the precision expected at the end, and the next step.

    \b
    activeeval campaign status week1
    activeeval campaign status week1 -o jsonl
    """
    from activeeval.campaigns.judges import seconds_an_item
    from activeeval.campaigns.state import state_of
    from activeeval.campaigns.status import estimates_of, interim_rows, status as status_of

    tell("reading the log")
    with opened(name, db) as store:
        state = state_of(store, name, as_of)
        progress = status_of(state, store)
        price = None if price is None else price.timed(seconds_an_item(store, name))
    estimates, problem = None, ""
    try:  # state.block: number of complete blocks (parts of the sample), without which no estimate is possible
        estimates = estimates_of(state, confidence=confidence) if state.block else None
    except ActiveEvalError as refusal:  # the progress is known even without estimates
        problem = complaint(refusal, click.get_current_context().command)
    if form == "text" and not output.is_asked("wide"):
        _show_status(state, progress, estimates, db)
    else:
        estimate_rows = interim_rows(estimates.answers) if estimates else []
        controls = controls_of(state)
        row = progress.row() | ({"controls": "; ".join(controls)} if controls else {})
        output.emit([row | line for line in estimate_rows] or [row], form)
        if state.block == 0:
            output.say("no block is complete yet: no estimate is possible")
    output.say_notes(progress.cautions)
    say_campaign_costs(price, progress)
    if problem:
        output.say(problem)


def say_campaign_costs(price: Price | None, status: Status) -> None:
    """Print the cost of the answers still needed and of the items judged so far; print nothing without a price."""
    say_costs(price, status.free + status.in_hand, "answers to come")
    say_costs(price, status.progress.judged, "items judged so far")


def _show_status(state: CampaignState, current: Status, estimates: Estimates | None, db: str | None) -> None:
    """Print for a reader: estimates, progress, a table if there are several questions, and the next step.

    Parameters
    ----------
    state : CampaignState
        The campaign as of an event.
    current : Status
        Its progress: counts of items (waiting, deferred, impossible to judge), of late answers, and of answers that are
        in judges' hands or may be claimed (``free``).
    estimates : Estimates or None
        None if no estimate is possible yet.
    db : str or None
        The --db option, for the printed command.
    """
    from activeeval.campaigns.report.next_steps import (
        aside_sentence,
        expected_sentence,
        next_sentence,
        reached_sentence,
    )
    from activeeval.campaigns.status import reached, step_of
    from activeeval.report.message_lookup import text_of
    from activeeval.sampling.estimate import beyond

    progress, answers = current.progress, estimates.answers if estimates else []
    # goal: note on whether the requested half-width is reached; findings: values with their intervals
    goal, findings = reached(state) if answers else None, [answer.finding for answer in answers]
    counts = {"late": progress.late, "put_off": progress.put_off, "cannot": progress.cannot, "in_hand": current.in_hand}
    about = [reached_sentence(current.reached), aside_sentence(**counts)]
    about += [
        expected_sentence(findings) if progress.waiting and findings else "",
        "" if goal is None else f"The goal: {text_of(goal)}.",
        *(f"{text_of(note)}." for note in beyond(current.n_unread)),
    ]
    if click.get_current_context().params["as_of"] is not None:
        about.append(f"This is as of event {progress.as_of}.")
    controls = controls_of(state)
    about += ["Controls: " + "; ".join(controls) + "."] if controls else []
    for line in [*(estimates.headline if estimates else []), *filter(None, about)]:
        output.show_text(visible(line))
    if estimates and len(findings) > 1:
        click.echo()
        show_findings(estimates, "text")
        click.echo()
    step = step_of(state, answers, current.free)
    output.show_text(visible(next_sentence(step, _command(step, state, db))))


def controls_of(state: CampaignState) -> list[str]:
    """State for each judge and kind of control how often the answer was as expected, one sentence each.

    A control is an item with an expected answer, mixed into a judge's work to check the judge.
    """
    from activeeval.campaigns.control_items import controlled
    from activeeval.campaigns.judging_messages import controls_sentence

    rows = controlled(state.state.checks)
    return [controls_sentence(visible(row.judge), row.what, row.share, row.n_skipped) for row in rows]


def _command(step: Step, state: CampaignState, db: str | None) -> str:
    """Build the shell command that carries out a campaign's next step; empty if none exists.

    ``db`` is the campaign's store: a file or a URL, None for the default one.
    """
    from activeeval.campaigns.commands.next_step import next_command
    from activeeval.campaigns.status import reached_of

    campaign = state.campaign
    return next_command(
        step,
        campaign.name,
        db,
        judges=reached_of(state).judges,
        judges_per_item=campaign.judges_per_item,
        by_query=campaign.judging.is_whole,
    )


@command()
@of_campaign
@as_of_option
@asked_options
@scope_option("pool")
@interval_option
@confidence_option
@output.explain_option
@click.option(
    "--strict-order",
    is_flag=True,
    help="Estimate up to the lowest waiting item, not only at ends of blocks: for a campaign made with --strict-order.",
)
@output.tracked_option
def estimate(name: str, db: str | None, as_of: int | None, strict_order: bool, form: str, **asked: Any) -> None:
    """Estimate from the highest complete block; for any measure and pair of systems that the sample supports.

    \b
    activeeval campaign estimate week1
    activeeval campaign estimate week1 --measure P@5 --question run --as-of 200 -o jsonl
    """
    from activeeval.campaigns.commands.next_step import campaign_command
    from activeeval.campaigns.report.judges_content import Step
    from activeeval.campaigns.state import state_of
    from activeeval.campaigns.status import estimates_of

    tell("reading the log")
    with opened(name, db) as store:
        state = state_of(store, name, as_of)
    batch = f"`{_command(Step(kind='judge'), state, db)}` writes the next batch to judge."
    state = state.in_strict_order() if strict_order else state
    tell("estimating")
    # the estimate uses units (items judged together) up to this level: their position in the judging order
    where = f"up to level {state.level:.4g}" if strict_order else f"block {state.block} of {state.n_blocks}"
    columns: dict[str, Cell] = {"as_of": state.as_of, "block": state.block, "threshold": state.level}
    columns |= {"policy": state.policy} if state.campaign.judges_per_item > 1 else {}
    estimates = estimates_of(state, **asked)
    # {budget} is filled in if more labels are needed to decide
    grow = f"{campaign_command(name, db, 'top-up')} --budget {{budget}}"
    show_estimates(estimates, form, f"as of event {state.as_of}, {where}", columns, NextSteps(grow, batch))


@command()
@of_campaign
@as_of_option
@click.option(
    "--format",
    "kind",
    type=click.Choice(_FORMS),
    required=True,
    help="qrels; prels, with probabilities, of complete blocks; jsonl: all events; csv: a row for each judge; weights: "
    "probability and weight of every item; quepid: ratings; rank-eval: a request for Elasticsearch and OpenSearch.",
)
@output.out_option(help="Default: standard output.")
@output.force_option
@output.output_option
def export(name: str, db: str | None, as_of: int | None, kind: str, out: str | None, force: bool, form: str) -> None:
    """Export a campaign for other tools.

    \b
    activeeval campaign export week1 --format qrels --out week1.qrels
    activeeval campaign export week1 --format jsonl > week1.log
    """
    from activeeval.campaigns.exporting import exported
    from activeeval.report.cautions import marked

    if out is not None:
        output.check_new(out, (), force)
    with opened(name, db) as store:
        written = exported(store, name, kind, out, as_of)
    if out is None:
        settle()
        click.echo(written.text, nl=False)
    output.say_notes([written.content], f"as of event {written.as_of}: ")
    output.say_notes(written.notes)
    if out is not None:
        output.emit_done(marked([{"out": out, "format": kind, "as_of": written.as_of}], written.notes), form)


@command()
@of_campaign
@click.option(
    "--head",
    metavar="SEQ:DIGEST",
    help="Head of an earlier `verify`: the log must still begin with the log of that time.",
)
@output.output_option
def verify(name: str, db: str | None, head: str | None, form: str) -> None:
    """Check that the log is intact and that drawing the sample again from its seed and ids reproduces it.

    Exit code 0 if there are no problems, else 1 with one line for each problem. Prints the head of the log: if kept
    elsewhere, it shows later that the log was not cut off or rewritten.

    \b
    activeeval campaign verify week1
    """
    from activeeval.campaigns.verifying import verified

    tell("verifying")
    with opened(name, db) as store:
        result = verified(store, name, head)
    settle()
    output.emit_done(result.rows(), form)
    for problem in result.problems[1:]:
        output.say(problem)
    if result.problems:
        raise StateError(result.problems[0])
    if form == "text":
        click.echo(result.head)
    output.say(f"{result.sentences[0]}; its head is on standard output")


@command()
@of_campaign
@output.out_option(help="Write the expected seconds of each item of the pool, for --cost: .csv, .tsv …")
@documents_option
@output.force_option
@output.output_option
def cost(name: str, db: str | None, out: str | None, documents: str | None, force: bool, form: str) -> None:
    """Fit judging time from the judges' clocks: seconds for an item, its length, its grade, and for opening a query.

    The model is fitted to timed judgments and shrunk to a prior while they are few. `create --redraw` uses it by
    itself; for another campaign, pass the file as --cost and the printed overhead as --overhead. Lengths of documents
    that were not drawn are read from --documents, or else assumed to be the mean.

    \b
    activeeval campaign cost week1 --out seconds.csv --documents documents.jsonl
    activeeval campaign create week2 … --cost seconds.csv --overhead 1.4
    """
    from activeeval.campaigns.seconds import clocked
    from activeeval.formats.suffixes import SUFFIXES
    from activeeval.formats.tables.export import write_columns

    if out is not None:
        output.check_new(out, SUFFIXES, force)
    tell("reading the log")
    with opened(name, db) as store:
        costs = clocked(store, name, documents)
    output.emit(costs.rows(), form)
    if out is not None:
        write_columns(costs.columns, out)
        output.say(f"wrote {out}: seconds for each of {counted(costs.costs.values.size, 'item')} of the pool")
    output.say(f"--overhead {costs.of_a_query}")
