"""``activeeval compare``: a gate for scripts, whether a new run is worse than the old one."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from activeeval import __version__
from activeeval.cli.campaign.options import db_option
from activeeval.cli.inputs import (
    BUDGET,
    BUDGET_HELP,
    MEASURES_HELP,
    SCALE,
    SCOPES,
    FiniteRange,
    confidence_option,
    policy_option,
    scope_option,
    seed_option,
    ties_option,
)
from activeeval.cli.output import (
    emit,
    estimate_row,
    output_option,
    places_option,
    say,
    say_cautions,
    say_notes,
    say_progress,
)
from activeeval.cli.wording import option_here
from activeeval.errors import InputError

if TYPE_CHECKING:
    from activeeval.tasks.gate import Decision
    from activeeval.tasks.samples import Sample

_OWN = {
    "--qrels": ("budget", "method", "max_grade", "overhead", "unjudged", "seed"),
    "--sample": ("policy",),
    "--campaign": ("db",),
}
"""Options that go with one source alone."""


@click.command()
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@click.option("--qrels", metavar="FILE", help="Judgments, looked up for the items that are asked for.")
@click.option("--sample", "sample_path", metavar="FILE", help="A sample that was drawn for these two runs.")
@click.option("--sheet", "sheets", multiple=True, metavar="FILE", help="Its judged sheet; repeatable.")
@click.option("--campaign", metavar="NAME", help="In place of a sample: a campaign that was made for these two runs.")
@db_option
@click.option(
    "--measure",
    "measures",
    multiple=True,
    help=f"{MEASURES_HELP}; repeatable. Default: DCG@10, or what the sample was made for.",
)
@click.option(
    "--margin", type=FiniteRange(0), default=0.0, help="A difference that does not matter, in the unit of the measure."
)
@scope_option("population")
@policy_option
@ties_option
@click.option("--budget", type=BUDGET, help=f"With --qrels, look up only what this pays for. {BUDGET_HELP}.")
@click.option("--method", help="With --budget; see `activeeval methods`. Default: the best for the measure.")
@click.option("--max-grade", type=SCALE, help="Largest grade of the scale. Default: the largest judgment.")
@click.option("--overhead", type=FiniteRange(0), default=0.0, help="Cost of turning to a query, in items.")
@click.option(
    "--unjudged",
    type=click.Choice(("error", "irrelevant")),
    default="error",
    help="What an item is that is asked for and has no judgment: an error, or of grade 0.",
)
@seed_option
@confidence_option
@places_option
@output_option
@click.pass_context
def compare(
    context: click.Context,
    /,
    old: str,
    new: str,
    qrels: str | None,
    sample_path: str | None,
    sheets: tuple[str, ...],
    campaign: str | None,
    db: str | None,
    measures: tuple[str, ...],
    margin: float,
    confidence: float,
    places: int,
    form: str,
    **options: Any,
) -> None:
    """Decide whether the run NEW is worse than OLD: by judgments (--qrels), by a judged sample (--sample, --sheet), or
    by a campaign (--campaign).

    The value is NEW less OLD. The verdict is the first of these that holds: equivalent, the interval lies within ± the
    margin; better, it lies above 0; worse, below 0; else undecided. It has to hold whatever the items are worth that
    could not be judged. Of several measures each interval has the confidence that Holm's method gives it, so that the
    chance to see a difference where there is none is shared by all.

    \b
    Exit codes:
       0  NEW is not worse: no interval goes below minus the margin
      10  NEW is worse by some measure
      11  neither is certain
       1  an error, 2  wrong usage

    \b
    activeeval compare old.run new.run --qrels qrels.txt --measure nDCG@10 --margin 0.01
    activeeval compare old.run new.run --sample week1.sample --sheet week1.csv -o jsonl
    activeeval compare old.run new.run --campaign week1 --margin 0.05
    """
    from activeeval.tasks.gate import exit_code

    _check_source(context, {"--qrels": qrels, "--sample": sample_path, "--campaign": campaign}, sheets)
    shared: dict[str, Any] = {"runs": [old, new], "files": [path for path in (qrels, sample_path, *sheets) if path]}
    if qrels is not None:
        decisions = _by_judgments(qrels, old, new, measures, margin, confidence, options)
        shared["seed"] = options["seed"] if options["budget"] is not None else None
    else:
        sample, told = _sample(campaign, db, sample_path, sheets, options["policy"])
        decisions = _by_sample(sample, old, new, measures, margin, confidence, options)
        shared |= {"seed": sample.seed} | told
    shared["version"] = __version__
    rows = [_row(one, len(decisions)) for one in decisions]
    if form == "jsonl":
        from activeeval.report.words import worded

        cautions = [[asdict(worded(caution, option_here)) for caution in one.estimate.cautions] for one in decisions]
        rows = [row | {"cautions": own} | shared for row, own in zip(rows, cautions, strict=True)]
    else:
        rows = [{name: row[name] for name in row if any(one[name] is not None for one in rows)} for row in rows]
    if form == "text":
        say(f"{new} less {old}; the intervals are about {SCOPES[options['scope']]}")
    if len(rows) > 1:
        say(f"confidence and p_holm of each measure are Holm's for {len(rows)}")
    say_cautions([(one.measure, one.estimate) for one in decisions])
    for one in decisions:
        _tell(one)
    if campaign is not None and any(one.verdict == "undecided" for one in decisions):
        _tell_next(campaign, db, decisions)
    context.find_root().obj = exit_code(decisions)
    emit(rows, form, places)


def _check_source(context: click.Context, sources: Mapping[str, str | None], sheets: Sequence[str]) -> None:
    """Raise where it is not one source that is given, or an option that goes with another."""
    chosen = [name for name, value in sources.items() if value is not None]
    if len(chosen) != 1:
        raise click.UsageError("give one of --qrels, --sample with its --sheet, and --campaign")
    if (sources["--sample"] is None) != (not sheets):
        raise click.UsageError("--sample and --sheet go together: the sample, and what was judged of it")
    given = [p for p in context.params if context.get_parameter_source(p) is click.core.ParameterSource.COMMANDLINE]
    for source, names in _OWN.items():
        foreign = [name for name in given if name in names and source not in chosen]
        if foreign:
            raise click.UsageError(f"--{foreign[0].replace('_', '-')} goes with {source}, not with {chosen[0]}")


def _by_judgments(
    qrels: str, old: str, new: str, measures: Sequence[str], margin: float, confidence: float, options: dict[str, Any]
) -> list[Decision]:
    from activeeval.tasks.gate import by_judgments

    names = ("method", "max_grade", "overhead", "unjudged", "scope", "ties", "budget")
    chosen = {name: options[name] for name in names} | {"rng": options["seed"]}
    return by_judgments(qrels, old, new, measures or ("DCG@10",), margin=margin, confidence=confidence, **chosen)


def _sample(
    campaign: str | None, db: str | None, path: str | None, sheets: Sequence[str], policy: str
) -> tuple[Sample, dict[str, Any]]:
    """Return the judged sample of a campaign, or of files, and what names its state."""
    if campaign is None:
        from activeeval.tasks.samples import judged

        sample, progress, agreement = judged(str(path), sheets, policy)
        say_progress(progress, agreement, policy)
        return sample, {}
    from activeeval.cli.campaign.options import opened
    from activeeval.tasks.campaigns.standing import standing

    with opened(campaign, db) as store:
        found = standing(store, campaign)
    say_progress(found.progress, found.agreement, found.policy)
    if len(found.read) > 1:
        raise InputError(f"campaign {campaign} was judged in rounds: the gate reads one sample")
    return found.read[0], {"campaign": campaign, "as_of": found.as_of}


def _by_sample(
    sample: Sample,
    old: str,
    new: str,
    measures: Sequence[str],
    margin: float,
    confidence: float,
    options: dict[str, Any],
) -> list[Decision]:
    from activeeval.tasks.gate import by_sample

    shared = {"scope": options["scope"], "ties": options["ties"]}
    decisions, notes = by_sample(sample, old, new, measures, margin=margin, confidence=confidence, **shared)
    say_notes(notes)
    return decisions


def _row(one: Decision, n_measures: int) -> dict[str, Any]:
    more: dict[str, Any] = {"p_value": one.p_value}
    if n_measures > 1:
        more["p_holm"] = one.p_holm
    more |= {"margin": one.margin, "more_budget": one.more_budget, "more_queries": one.more_queries}
    row = estimate_row({"measure": one.measure, "question": "difference"}, one.estimate, one.interval, **more)
    return {"measure": one.measure, "verdict": one.verdict} | row


def _tell(one: Decision) -> None:
    """Say what would decide what is undecided."""
    if one.verdict != "undecided":
        return
    if one.more_budget is None and one.more_queries is None:
        say_notes([one.obstacle], before=f"{one.measure}: undecided; ")
        return
    what = f"about {one.more_queries} queries like these, all judged,"
    if one.more_budget is not None:
        amount = f"{math.ceil(one.more_budget)} {one.unit}"
        grown = f"a top-up of about {amount}" if one.can_grow else f"a new sample with about {amount} more"
        what = grown if one.more_budget else "judging what waits"
    say(f"{one.measure}: undecided; {what} should decide it, if the difference stays near {one.estimate.value:.3g}")


def _tell_next(campaign: str, db: str | None, decisions: Sequence[Decision]) -> None:
    """Say with which command the next batch is judged."""
    more = [one.more_budget for one in decisions if one.verdict == "undecided" and one.more_budget is not None]
    if not more:
        return
    from activeeval.cli.campaign.options import place_of

    where = [campaign, *(["--db", place_of(campaign, db)] if db else [])]
    if max(more) > 0:
        grown = shlex.join(["activeeval", "campaign", "top-up", *where, "--budget", str(math.ceil(max(more)))])
        say(f"`{grown}` adds them")
    batch = shlex.join(["activeeval", "campaign", "next", *where, "--out", "batch.csv"])
    say(f"`{batch}` writes the next batch to judge")
