"""``activeeval audit``: assess graders with the human labels of a sample."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from activeeval.cli import input_options, output
from activeeval.cli.help import command
from activeeval.cli.option_names import option_here
from activeeval.cli.waiting import tell
from activeeval.sampling.options import QUESTIONS_HELP, QuestionFields

if TYPE_CHECKING:
    from activeeval.core.results import Caution, Note
    from activeeval.graders.audit import Audit
    from activeeval.graders.audit_summary import AuditRow, GraderAudit


def grader_option(*, required: bool) -> Callable[[Any], Any]:
    """Build the option that names graders' files."""
    return click.option(
        "--grader",
        "graders",
        multiple=True,
        required=required,
        metavar="FILE[:OPTIONS]",
        help="A grader's values: grades, scores, probabilities; repeatable. [:scale=0-3][:name=NAME][:made=RUN]",
    )


_OPTIONS = (
    grader_option(required=True),
    input_options.options_of(
        QuestionFields,
        only=("measures", "questions"),
        measures={"help": "Measures that the sample can answer; repeatable. Default: its own.", "default": ()},
        questions={"help": f"{QUESTIONS_HELP}; repeatable. Default: every system and pair."},
    ),
    input_options.scope_option("pool"),
    input_options.confidence_option,
    output.explain_option,
    output.output_option,
)  # fmt: skip


def audit_options(command_of_it: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that all audits share to a command."""
    return input_options.with_options(command_of_it, _OPTIONS)


@command()
@click.argument("path", metavar="SAMPLE")
@click.argument("sheets", metavar="SHEET...", nargs=-1)
@audit_options
@input_options.columns_option
@input_options.policy_option
def audit(path: str, sheets: tuple[str, ...], form: str, **options: Any) -> None:
    """Compare a grader with people's labels of a sample: its bias with an interval, system by system.

    The grader alone: the measure by its grades of all items, on people's scale. Corrected: the estimate of
    `activeeval estimate` for the same sample. Bias: the first less the second, with the interval of the second. Then
    whether it orders systems as people do, people's grades at each of its values, how lenient it is, and whether it
    favours a run that it has made (:made=RUN).

    The sample may be drawn with its grades (--grader) or without; if with them, it also prints the labels saved.

    \b
    activeeval audit week1.sample week1.csv --grader llm.qrels
    activeeval audit week1.sample week1.csv --grader llm.jsonl:made=new.run --measure P@10 -o jsonl
    """
    from activeeval.graders.audit import audit_judged
    from activeeval.sampling.rounds import by_round, judged_rounds

    tell("reading the sample, its sheets and the grades")
    with input_options.worded():
        audited = audit_judged(judged_rounds(by_round((path, *sheets)), options["policy"]), **options)
    show_audit(audited, form)


def show_audit(audited: Audit, form: str) -> None:
    """Print an audit in the format `form`, then warnings and notes."""
    if form == "text" and not output.is_asked("wide"):
        _show(audited)
    elif form == "jsonl":
        output.emit([_whole_row(row, grader) for grader in audited.graders for row in grader.rows], form)
    else:
        output.emit([asdict(row) for row in audited.rows], form)
    output.say_cautions([(answer.title, answer.estimate) for answer in audited.answers])
    _say_cautions(audited.graders)
    output.say_notes(audited.notes)


def _whole_row(row: AuditRow, grader: GraderAudit) -> dict[str, Any]:
    """Build a row for JSON with its sentence and all figures of its grader."""
    from activeeval.graders.audit_report import audit_sentence
    from activeeval.report.message_lookup import worded

    about = asdict(grader)
    beside = {name: about[name] for name in about if name not in ("rows", "cautions", "notes", "grader")}
    concerns: list[Caution | Note] = [*grader.cautions, *grader.notes]
    beside["cautions"] = [asdict(worded(caution, option_here)) for caution in concerns]
    return asdict(row) | {"sentence": audit_sentence(row), "about": beside}


def _show(audited: Audit) -> None:
    """Print an audit as text: sentences, the table of biases, then for each grader human grades by its value."""
    from activeeval.graders.audit_report import (
        audit_footnotes,
        audit_headline,
        audit_table,
        skill_sentences,
        value_table,
    )

    for line in audit_headline(audited.graders):
        output.show_text(line)
    click.echo()
    output.emit(audit_table(audited.rows), "text")
    for grader in audited.graders:
        click.echo()
        output.emit(value_table(grader), "text")
        output.show_text(" ".join(skill_sentences(grader)))
    click.echo()
    output.show_text(" ".join(audit_footnotes(audited.rows, audited.graders)))


def _say_cautions(graders: list[GraderAudit]) -> None:
    """Print the warnings on each grader; with --explain the notes too."""
    from activeeval.report.cautions import caution_lines

    least = "note" if output.is_asked("explain") else "warning"
    for grader in graders:
        for line in caution_lines([("", grader.cautions)], option_here, least=least):
            level, _, text = line.partition(": ")
            output.say(f"{level}: {grader.grader}: {text}")
        notes = [caution for caution in grader.cautions if caution.level == "note"]
        if least == "warning":
            output.say_notes(notes, f"{grader.grader}: ")
        output.say_notes(grader.notes)
