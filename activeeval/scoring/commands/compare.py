"""``activeeval compare``: a gate for scripts that decides whether a new run is worse than the old one."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, replace
from typing import TYPE_CHECKING, Any

import click

from activeeval import __version__
from activeeval.campaigns.commands.options import db_option
from activeeval.cli import input_options, option_types, output
from activeeval.cli.help import command
from activeeval.cli.option_names import option_here, option_words
from activeeval.core.errors import InputError
from activeeval.sampling.commands import sampling_options
from activeeval.sampling.options import BUDGET_HELP, MEASURES_HELP, QuestionFields
from activeeval.scoring.commands.query_options import (
    check_per_query,
    no_relevant_option,
    per_query_options,
    show_losers,
    write_per_query,
)

if TYPE_CHECKING:
    from activeeval.core.results import Note
    from activeeval.sampling.drawn_sample import DrawnSample
    from activeeval.scoring.decisions import Decision, GateRequest

_OWN = {
    ("--qrels",): ("budget", "method", "max_grade", "overhead", "unjudged", "seed", "queries", "no_relevant"),
    ("--sample",): ("policy",),
    ("--campaign",): ("db",),
    ("--qrels", "--sample"): ("machine_is_truth",),
}
"""Options by the sources that they require; a campaign stores its own setting of machine_is_truth."""


@command()
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@click.option("--qrels", metavar="FILE", help="Judgments, looked up for the items that it needs.")
@click.option("--sample", "sample_path", metavar="FILE", help="A sample that was drawn for these two runs.")
@input_options.any_sheet_option("sheets", multiple=True, help="Its judged sheet; repeatable.")
@click.option("--values", "is_of_values", is_flag=True, help="OLD and NEW are tables of a value per query and metric.")
@click.option("--interleaved", metavar="FILE", help="Clicks on interleaved lists of OLD and NEW, which are then names.")
@click.option("--campaign", metavar="NAME", help="In place of a sample: a campaign that was made for these two runs.")
@db_option
@input_options.options_of(
    QuestionFields,
    only=("measures",),
    measures={"help": f"{MEASURES_HELP}; repeatable. Default: DCG@10, or what the sample was made for.", "default": ()},
)
@input_options.margin_option(help="A difference that does not matter, in the unit of the measure.")
@sampling_options.log_queries_option
@input_options.scope_option("population")
@input_options.policy_option
@input_options.machine_is_truth_option
@input_options.columns_option
@input_options.chunk_options
@input_options.ties_option
@input_options.budget_option(help=f"With --qrels, look up only what this pays for. {BUDGET_HELP}.")
@click.option("--method", help="With --budget, as items or depth. Default: the best for the measure.")
@input_options.max_grade_option(help="Largest grade of the scale. Default: the largest judgment.")
@click.option("--overhead", type=option_types.FiniteRange(0), default=0.0, help="Cost of opening a query, in items.")
@click.option(
    "--unjudged",
    type=click.Choice(("error", "irrelevant")),
    default="error",
    help="An item without a judgment: an error, or grade 0.",
)
@no_relevant_option
@input_options.seed_option
@input_options.confidence_option
@input_options.name_option
@per_query_options
@output.explain_option
@output.comment_option
@click.pass_context
def compare(
    context: click.Context,
    /,
    old: str,
    new: str,
    qrels: str | None,
    sample_path: str | None,
    sheets: tuple[str, ...],
    is_of_values: bool,
    interleaved: str | None,
    campaign: str | None,
    db: str | None,
    per_query: str | None,
    force: bool,
    form: str,
    **options: Any,
) -> None:
    """Decide whether the run NEW is worse than OLD: by judgments, a judged sample, a campaign, values per query
    computed elsewhere, or clicks.

    The value is NEW less OLD. The verdict is the first of these that holds: equal, the lists are the same; worse, the
    interval lies below 0 and the value is at or below minus the margin; equivalent, the interval lies within ± the
    margin; better, it lies above 0; not worse, it does not go below minus the margin; else undecided. The interval is
    wider if items could not be judged. With several measures Holm's method sets the confidence of each interval, so
    that the measures share the chance of a false difference.

    \b
    Exit codes:
       0  NEW is not worse
      10  NEW is worse by some measure
      11  no measure is worse, and one is undecided
       1  an error, 2  wrong usage

    \b
    activeeval compare old.run new.run --qrels qrels.txt --measure nDCG@10 --margin 0.01
    activeeval compare old.run new.run --sample week1.sample --sheet week1.csv -o jsonl
    activeeval compare old.run new.run --campaign week1 --margin 0.05
    activeeval compare old.csv new.csv --values --measure faithfulness --margin 0.02
    """
    from activeeval.core.answers import exit_code
    from activeeval.report.cautions import MISSING_LISTS, missing_lists
    from activeeval.scoring.gate import by_sample

    sources = {"--qrels": qrels, "--sample": sample_path, "--campaign": campaign}
    sources |= {"--values": "given" if is_of_values else None, "--interleaved": interleaved}
    _check_source(context, sources, sheets)
    files = [path for path in (qrels, sample_path, interleaved, *sheets) if path]
    shared: dict[str, Any] = {"runs": [old, new], "files": files}
    check_per_query(per_query, force, [old, new, *shared["files"]])
    notes: list[Note] = []
    if is_of_values or interleaved is not None:
        decisions = _by_values(interleaved, old, new, options)
    elif qrels is not None:
        decisions = _by_judgments(qrels, old, new, options)
        shared["seed"] = options["seed"] if options["budget"] is not None else None
    else:
        sample_options = {name: options[name] for name in ("policy", "machine_is_truth")}
        sample, state = _sample(campaign, db, sample_path, sheets, **sample_options)
        decisions, notes = by_sample(sample, old, new, _request(options))
        output.say_notes(note for note in notes if note.code != MISSING_LISTS)
        shared |= {"seed": sample.seed} | state
    context.find_root().obj = exit_code(decision.finding for decision in decisions)
    missing = missing_lists([*notes, *(note for decision in decisions for note in decision.estimate.notes)])
    if form == output.COMMENT:
        _show_comment(decisions, missing, options["scope"])
    elif form == "text" and not output.is_asked("wide"):
        _show(decisions, missing, options["scope"])
    else:
        output.show_first(missing, form)
        output.emit(_rows(decisions, notes, form, shared | {"version": __version__}), form)
    write_per_query(per_query, _query_rows(decisions))
    output.say_cautions([(decision.name, decision.estimate) for decision in decisions])
    for decision in decisions:
        if decision.verdict == "undecided" and decision.needed is None:
            output.say_notes([decision.obstacle], before=f"{decision.name}: undecided; ")
    if campaign is not None and any(decision.verdict == "undecided" for decision in decisions):
        _tell_next(campaign, db, decisions)


def _show(decisions: Sequence[Decision], missing: Sequence[str], scope: str) -> None:
    """Print for a reader: the verdict of each measure as a sentence, a table, and definitions.

    ``missing`` are sentences on runs without lists for some queries, ``scope`` ("pool" or "population") is the one that
    decides.
    """
    from activeeval.report.answer_sentences import WIDTH, headline

    for line in [*missing, *headline([decision.finding for decision in decisions])]:
        output.show_text(line)
    click.echo()
    output.emit(_table(decisions, WIDTH), "text")
    click.echo()
    output.show_text(_meaning(decisions, scope))
    show_losers(decisions)


def _show_comment(decisions: Sequence[Decision], missing: Sequence[str], scope: str) -> None:
    """Print a comment for a pull request: title, sentences, a table of the measures and warnings.

    ``missing`` are sentences on runs without lists for some queries.
    """
    from activeeval.core.answers import OPEN, WORSE, exit_code
    from activeeval.report.answer_sentences import sentence
    from activeeval.report.cautions import caution_lines
    from activeeval.report.markdown_comment import WIDTH, comment

    title = {WORSE: "worse", OPEN: "undecided"}.get(
        exit_code(of_measure.finding for of_measure in decisions), "not worse"
    )
    warnings = caution_lines([(of_measure.name, of_measure.estimate.cautions) for of_measure in decisions], option_here)
    sentences = [*missing, *(sentence(decision.finding) for decision in decisions)]
    rows, meaning = _table(decisions, WIDTH), _meaning(decisions, scope)
    click.echo(comment(f"Search quality: {title}", sentences, rows, [meaning], warnings))


def _table(decisions: Sequence[Decision], width: int) -> list[dict[str, str]]:
    """Build a row of text for each measure, with its verdict; ``width`` is the width of the table in characters."""
    from activeeval.report.answer_sentences import table_of

    rows = table_of([decision.finding for decision in decisions], width=width - len("  equivalent"))
    return [row | {"verdict": decision.verdict} for row, decision in zip(rows, decisions, strict=True)]


def _meaning(decisions: Sequence[Decision], scope: str) -> str:
    """Write the definitions of measures and intervals; ``scope`` ("pool" or "population") is the one that decides."""
    from activeeval.report.answer_sentences import definitions, intervals_in_words, scope_in_words
    from activeeval.report.cautions import counting_lines

    notes = definitions((decision.name, str(decision.measure)) for decision in decisions)
    confidence = f"{100 * decisions[0].interval.confidence:g} %" if len(decisions) == 1 else "Simultaneous"
    many = "" if len(decisions) == 1 else f" (Holm's method for {len(decisions)} measures; the p values too)"
    margin = f" A difference of {decisions[0].margin:g} does not matter." if decisions[0].margin else ""
    about = scope_in_words(scope, decisions[0].estimate.log)
    intervals = f"{intervals_in_words(confidence, readings=decisions[0].readings)}, about {about}{many}.{margin}"
    relevant = counting_lines([note for of_measure in decisions for note in of_measure.estimate.notes], option_here)
    return " ".join([*notes, intervals, *relevant])


def _query_rows(decisions: Sequence[Decision]) -> list[dict[str, Any]]:
    """Build a row for each query of each measure; a decision without values by query (equal lists) has none."""
    pairs = [(decision, decision.queries) for decision in decisions if decision.queries is not None]
    return [row for d, queries in pairs for row in queries.rows(d.name, d.system, d.versus)]


def _rows(
    decisions: Sequence[Decision], notes: Sequence[Note], form: str, shared: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Build rows of decisions: for JSON with cautions and the fields ``shared`` by all, else without empty columns.

    ``notes`` are those of the sample; ``form`` is the output format. `marked` adds a column if graders' judgments are
    used as labels.
    """
    from activeeval.report.cautions import marked
    from activeeval.report.message_lookup import worded
    from activeeval.scoring.decisions import rows_of

    rows = marked(
        rows_of(decisions, notes), [caution for decision in decisions for caution in decision.estimate.cautions]
    )
    if form != "jsonl":
        return [{name: row[name] for name in row if any(other[name] is not None for other in rows)} for row in rows]
    cautions = (
        [asdict(worded(caution, option_here)) for caution in decision.estimate.cautions] for decision in decisions
    )
    return [{**row, "cautions": texts, **shared} for row, texts in zip(rows, cautions, strict=True)]


def _check_source(context: click.Context, sources: Mapping[str, str | None], sheets: Sequence[str]) -> None:
    """Raise UsageError unless exactly one source of judgments is given, with options that belong to it.

    ``sources`` maps the option of each source to its value, None if it is not set.
    """
    chosen = [name for name, value in sources.items() if value is not None]
    if len(chosen) != 1:
        raise click.UsageError("give one of --qrels, --sample with its --sheet, --campaign, --values and --interleaved")
    if (sources["--sample"] is None) != (not sheets):
        raise click.UsageError("--sample and --sheet go together: the sample, and what was judged of it")
    typed = [p for p in context.params if context.get_parameter_source(p) is click.core.ParameterSource.COMMANDLINE]
    for fitting, names in _OWN.items():
        foreign = [name for name in typed if name in names and not set(fitting) & set(chosen)]
        if foreign:
            goes_with = f"--{foreign[0].replace('_', '-')} goes with {' and '.join(fitting)}"
            raise click.UsageError(f"{goes_with}, not with {chosen[0]}")


def _by_judgments(qrels: str, old: str, new: str, options: Mapping[str, Any]) -> list[Decision]:
    """Decide each measure by a file of judgments (``qrels``) of two runs, with the command's options."""
    from activeeval.scoring.gate import by_judgments

    names = ("method", "max_grade", "overhead", "unjudged", "budget", "queries", "no_relevant", "machine_is_truth")
    chosen = {name: options[name] for name in names} | {"rng": options["seed"]}
    request = _request({**options, "measures": options["measures"] or ("DCG@10",)})
    return by_judgments(qrels, old, new, request, say=output.say_note, **chosen)


def _by_values(interleaved: str | None, old: str, new: str, options: Mapping[str, Any]) -> list[Decision]:
    """Decide each metric by tables of values per query (``old``, ``new``), or by clicks on interleaved lists.

    ``interleaved`` is the file of clicks; ``old`` and ``new`` are then names.
    """
    from activeeval.scoring.value_tables import by_interleaving, by_values

    request = _request(options)
    if interleaved is None:
        return by_values(old, new, request, say=output.say_note)
    return by_interleaving(interleaved, replace(request, names=request.names or (new, old)), say=output.say_note)


def _request(options: Mapping[str, Any]) -> GateRequest:
    """Select the fields of a GateRequest from the options."""
    from activeeval.scoring.decisions import GateRequest

    return GateRequest(**{field.name: options[field.name] for field in fields(GateRequest)})


def _sample(
    campaign: str | None, db: str | None, path: str | None, sheets: Sequence[str], policy: str, machine_is_truth: bool
) -> tuple[DrawnSample, dict[str, Any]]:
    """Load the judged sample of a campaign (in the store ``db``), or of the file ``path`` with its ``sheets``.

    Also return the fields that identify the state of a campaign; {} for files. ``policy`` is the rule for items with
    different grades by several judges, ``machine_is_truth`` accepts graders' grades as labels.
    """
    if campaign is None:
        from activeeval.sampling.judged_samples import judged

        sample, progress, agreement = judged(str(path), sheets, policy, machine_is_truth=machine_is_truth)
        output.say_progress(progress, agreement, policy)
        return sample, {}
    from activeeval.campaigns.commands.options import opened
    from activeeval.campaigns.state import state_of

    with opened(campaign, db) as store:
        state = state_of(store, campaign)
    output.say_progress(state.progress, state.agreement, state.policy)
    if len(state.read) > 1:
        raise InputError(f"campaign {campaign} was judged in rounds: the gate reads one sample")
    return state.read[0], {"campaign": campaign, "as_of": state.as_of}


def _tell_next(campaign: str, db: str | None, decisions: Sequence[Decision]) -> None:
    """Print the commands that add a budget to the campaign and draw its next batch.

    Only for undecided measures that more judgments should decide. The printed budget is the largest that a measure
    needs; if it is 0, the items that already wait for a judgment are enough, and only the next batch is drawn.
    """
    from activeeval.campaigns.commands.options import place_of

    needed = [outlook.needed for outlook in decisions if outlook.verdict == "undecided" and outlook.needed is not None]
    # a sample drawn with replacement cannot be extended: no command to add a budget
    more = [
        outlook.budget for outlook in needed if outlook.budget is not None and (outlook.can_grow or outlook.budget == 0)
    ]
    where = [campaign, *(["--db", place_of(campaign, db)] if db else [])]
    if more and max(more) > 0:
        grown = shlex.join(["activeeval", "campaign", "top-up", *where, *option_words(budget=f"{max(more):g}")])
        output.say(f"`{grown}` adds them")
    if more:
        batch = shlex.join(["activeeval", "campaign", "next", *where, *option_words(out="batch.csv")])
        output.say(f"`{batch}` writes the next batch to judge")
