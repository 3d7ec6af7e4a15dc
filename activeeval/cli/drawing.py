"""Drawing a sample: the options of all commands that do, and what they come to."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from activeeval.cli import inputs, output
from activeeval.cli.waiting import tell

if TYPE_CHECKING:
    from activeeval.cases.case import Case
    from activeeval.cases.texts import SheetTexts
    from activeeval.planning import Goal
    from activeeval.tasks.samples import Sample

QUESTION = click.Choice(("difference", "run", "versus"))
QUESTIONS = "The first ranking less the second, the first alone, or the second; of more systems their differences, or "
QUESTIONS += "each alone"
_SEED_BITS = 31
_ASKED = ("measures", "judging", "questions", "weights", "method", "budget", "expected")
_GOAL = ("half_width", "difference", "power")
_AS_MADE = "repeatable. Default: what it was made for."


def _question_option(text: str) -> Callable[[Any], Any]:
    return click.option("--question", "questions", multiple=True, type=QUESTION, help=text)


method_option = click.option(
    "--method", help="See `activeeval methods`. Default: the best for the measures that a bad model cannot spoil."
)
documents_option = click.option(
    "--documents",
    metavar="FILE",
    help="Texts for the judges to read beside the ids: .jsonl, .csv, .tsv, .parquet, .xlsx or .ods with the columns id "
    "and title, text or url.",
)
queries_option = click.option(
    "--queries", metavar="FILE", help="The queries' texts, likewise: id and text; they are the column `query`."
)
_OPTIONS = (
    inputs.measures_option,
    inputs.judging_option,
    _question_option(f"{QUESTIONS}; repeatable. Default: the difference of two rankings, else the one there is."),
    inputs.weights_option,
    method_option,
    click.option(
        "--expected", is_flag=True, help="Draws with replacement meet the budget in expectation, not as a hard limit."
    ),
)


budget_option = click.option(
    "--budget", type=inputs.BUDGET, required=True, help=f"{inputs.BUDGET_HELP}; never exceeded."
)
_TARGETS = (
    click.option(
        "--budget", type=inputs.BUDGET, help=f"{inputs.BUDGET_HELP}; never exceeded. Or, in its place, what to reach:"
    ),
    click.option(
        "--half-width", type=inputs.POSITIVE, metavar="E", help="The budget that should bring the intervals to ± E."
    ),
    click.option(
        "--difference",
        type=inputs.POSITIVE,
        metavar="D",
        help="The budget that should detect a difference of D, with --power.",
    ),
    click.option("--power", type=inputs.SHARE, default=0.8, help="Chance that the interval leaves out 0."),
)


_OF_A_READING = (
    click.option("--measure", "measures", multiple=True, help=f"Any that the sample reaches; {_AS_MADE}"),
    _question_option(f"{QUESTIONS}; {_AS_MADE}"),
)


def texts_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add what the judges are to read."""
    return documents_option(queries_option(command))


def asked_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add what a drawn sample is asked: measures, questions and contrasts."""
    return inputs.with_options(command, (*_OF_A_READING, inputs.contrasts_option))


def target_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add a budget, or what to reach in its place."""
    return inputs.with_options(command, _TARGETS)


def drawing_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say of which pool, for which questions and for how much a sample is drawn."""
    return inputs.drawn_pool_options(inputs.with_options(command, _OPTIONS))


def drawn(options: Mapping[str, Any]) -> tuple[Case, Sample]:
    """Return what the values of `drawing_options` come to, with a seed of the system's where there is none."""
    from activeeval.cases.case import check_fits
    from activeeval.design.methods import find_method
    from activeeval.tasks.samples import draw

    asked = {name: options[name] for name in _ASKED}
    measures, judging, method, budget = (asked.pop(name) for name in ("measures", "judging", "method", "budget"))
    goal, share = goal_of(options), options["defensive_share"]
    of_pool = {name: value for name, value in options.items() if name not in (*_ASKED, *_GOAL)}
    if asked["expected"] and not (method and find_method(method).with_replacement):
        raise click.UsageError("--expected is for draws with replacement: passive, active, active_uniC, active_uniD")
    check_fits(measures, [method] if method else [])
    of_pool["seed"] = secrets.randbits(_SEED_BITS) if options["seed"] is None else options["seed"]
    case = inputs.prepared(of_pool, measures, judging=judging, use_labels=False)
    tell("choosing what to judge")
    if goal is not None:
        from activeeval.tasks.plan import budget_for  # whoever has a budget waits for no planner

        budget = budget_for(case, list(dict.fromkeys(measures)), goal, method, share)
        output.say(f"{goal} takes a budget of {budget}, as far as the grade model is right about how uncertain it is")
    return case, draw(case, measures, budget=budget, method=method, defensive_share=share, **asked)


def texts_for(sample: Sample, sheet: str, documents: str | None, queries: str | None) -> SheetTexts:
    """Return what the judges of a sample read, and say what it is to whoever has drawn it."""
    from activeeval.cases.texts import texts_of

    texts, notes = texts_of(sample.pairs, sheet, documents, queries)
    output.say_notes([*sample.notes(), *notes])
    return texts


def goal_of(options: Mapping[str, Any]) -> Goal | None:
    """Return what is to be reached where that is given in place of a budget; raises where not one of them is."""
    from activeeval.planning import Goal

    named = [name for name in ("budget", "half_width", "difference") if options.get(name) is not None]
    if len(named) != 1:
        raise click.UsageError("give one of --budget, --half-width and --difference")
    if named == ["budget"]:
        return None
    return Goal(half_width=options["half_width"], difference=options["difference"], power=options["power"])
