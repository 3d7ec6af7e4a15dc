"""``activeeval compare``: a gate for scripts, whether a new run is worse than the old one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from activeeval import __version__
from activeeval.cli.inputs import (
    BUDGET,
    BUDGET_HELP,
    MEASURES_HELP,
    SCALE,
    SCOPES,
    FiniteRange,
    level_option,
    policy_option,
    scope_option,
    seed_option,
    ties_option,
)
from activeeval.cli.output import emit, estimate_row, output_option, places_option, say, say_cautions, say_progress

if TYPE_CHECKING:
    from activeeval.session.budgets import Budget
    from activeeval.session.gate import Decision

_OF_QRELS = ("budget", "method", "max_grade", "overhead", "unjudged", "seed")


@click.command()
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@click.option("--qrels", metavar="FILE", help="Judgments, looked up for the items that are asked for.")
@click.option("--sample", "sample_path", metavar="FILE", help="A sample that was drawn for these two runs.")
@click.option("--sheet", "sheets", multiple=True, metavar="FILE", help="Its judged sheet; repeatable.")
@click.option(
    "--measure",
    "measures",
    multiple=True,
    help=f"{MEASURES_HELP}; repeatable. Default: DCG@10, or what the sample was made for.",
)
@click.option(
    "--margin",
    type=FiniteRange(0),
    default=0.0,
    show_default=True,
    help="A difference that does not matter, in the unit of the measure.",
)
@scope_option("population")
@policy_option
@ties_option
@click.option("--budget", type=BUDGET, help=f"With --qrels, look up only what this pays for. {BUDGET_HELP}.")
@click.option("--method", help="With --budget; see `activeeval methods`. Default: the best for the measure.")
@click.option("--max-grade", type=SCALE, help="Largest grade of the scale. Default: the largest judgment.")
@click.option(
    "--overhead", type=FiniteRange(0), default=0.0, show_default=True, help="Cost of turning to a query, in items."
)
@click.option(
    "--unjudged",
    type=click.Choice(("error", "irrelevant")),
    default="error",
    show_default=True,
    help="What an item is that is asked for and has no judgment: an error, or of grade 0.",
)
@seed_option
@level_option
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
    measures: tuple[str, ...],
    margin: float,
    level: float,
    places: int,
    form: str,
    **options: Any,
) -> None:
    """Decide whether the run NEW is worse than OLD: by judgments (--qrels), or by a judged sample (--sample, --sheet).

    The value is NEW less OLD. The verdict is the first of these that holds: equivalent, the interval lies within ± the
    margin; better, it lies above 0; worse, below 0; else undecided. It has to hold whatever the items are worth that
    could not be judged. Of several measures each interval has the level that Holm's method gives it, so that the chance
    to see a difference where there is none is shared by all.

    \b
    Exit codes:
       0  NEW is not worse: no interval goes below minus the margin
      10  NEW is worse by some measure
      11  neither is certain
       1  an error, 2  wrong usage

    \b
    activeeval compare old.run new.run --qrels qrels.txt --measure nDCG@10 --margin 0.01
    activeeval compare old.run new.run --sample week1.sample --sheet week1.csv -o jsonl
    """
    from activeeval.session.gate import exit_code

    _check_source(context, qrels, sample_path, sheets)
    if qrels is not None:
        decisions = _by_judgments(qrels, old, new, measures, margin, level, options)
        seed = options["seed"] if options["budget"] is not None else None
    else:
        decisions, seed = _by_sample(str(sample_path), sheets, old, new, measures, margin, level, options)
    shared = {"runs": [old, new], "files": [path for path in (qrels, sample_path, *sheets) if path], "seed": seed}
    shared["version"] = __version__
    rows = [_row(one, len(decisions)) for one in decisions]
    if form == "jsonl":
        rows = [row | {"cautions": one.estimate.cautions} | shared for row, one in zip(rows, decisions, strict=True)]
    else:
        rows = [{name: row[name] for name in row if any(one[name] is not None for one in rows)} for row in rows]
    if form == "text":
        say(f"{new} less {old}; the intervals are about {SCOPES[options['scope']]}")
    if len(rows) > 1:
        say(f"level and p_holm of each measure are Holm's for {len(rows)}")
    say_cautions([(one.measure, one.estimate) for one in decisions])
    for one in decisions:
        _tell(one)
    context.find_root().obj = exit_code(decisions)
    emit(rows, form, places)


def _check_source(context: click.Context, qrels: str | None, sample: str | None, sheets: Sequence[str]) -> None:
    if (qrels is None) == (sample is None):
        raise click.UsageError("give either --qrels, or --sample with its --sheet")
    if (sample is None) != (not sheets):
        raise click.UsageError("--sample and --sheet go together: the sample, and what was judged of it")
    given = [p for p in context.params if context.get_parameter_source(p) is click.core.ParameterSource.COMMANDLINE]
    foreign = [name for name in given if name in (_OF_QRELS if qrels is None else ("policy",))]
    if foreign:
        goes = "--qrels, not with --sample" if qrels is None else "--sample, not with --qrels"
        raise click.UsageError(f"--{foreign[0].replace('_', '-')} goes with {goes}")


def _by_judgments(
    qrels: str, old: str, new: str, measures: Sequence[str], margin: float, level: float, options: dict[str, Any]
) -> list[Decision]:
    from activeeval.session.gate import by_judgments

    budget: Budget | None = options["budget"]
    names = ("method", "max_grade", "overhead", "unjudged", "scope", "ties")
    chosen = {name: options[name] for name in names} | {"budget": budget, "rng": options["seed"]}
    return by_judgments(qrels, old, new, measures or ("DCG@10",), margin=margin, level=level, **chosen)


def _by_sample(
    path: str,
    sheets: Sequence[str],
    old: str,
    new: str,
    measures: Sequence[str],
    margin: float,
    level: float,
    options: dict[str, Any],
) -> tuple[list[Decision], int | None]:
    from activeeval.session.gate import by_sample
    from activeeval.session.samples import judged

    sample, progress, agreement = judged(path, sheets, options["policy"])
    shared = {"scope": options["scope"], "ties": options["ties"]}
    decisions, notes = by_sample(sample, old, new, measures, margin=margin, level=level, **shared)
    say_progress(progress, agreement, options["policy"])
    for note in notes:
        say(note)
    return decisions, sample.seed


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
        say(f"{one.measure}: undecided; {one.obstacle}")
        return
    what = f"about {one.more_queries} queries like these, all judged,"
    if one.more_budget is not None:
        amount = f"{math.ceil(one.more_budget)} {one.unit}"
        grown = f"a top-up of about {amount}" if one.can_grow else f"a new sample with about {amount} more"
        what = grown if one.more_budget else "judging what waits"
    say(f"{one.measure}: undecided; {what} should decide it, if the difference stays near {one.estimate.value:.3g}")
