"""``activeeval agreement``: how far judges agree, on grades and on which of two documents is better."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import click

from activeeval.cli.inputs import confidence_option, seed_option
from activeeval.cli.output import emit, output_option, places_option, say
from activeeval.errors import InputError

if TYPE_CHECKING:
    from activeeval.judgments import Coefficient, GradeAgreement, Grades, PreferenceAgreement, Relations

Row = dict[str, Any]
Found = TypeVar("Found")
_IMPLIED = "preferences implied by grades"


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--resamples", type=click.IntRange(1, 100_000), default=1000, show_default=True,
              help="Bootstrap resamples of the queries, for the intervals.")  # fmt: skip
@confidence_option
@seed_option
@places_option
@output_option
def agreement(files: tuple[str, ...], resamples: int, confidence: float, seed: int, places: int, form: str) -> None:
    """Tell how far judges agree: Krippendorff's alpha, Cohen's kappa, and tables of preferences.

    A FILE is a judged sheet of a sample, judgments (TREC text, or a table of query_id, doc_id and grade), preferences
    (a table of query, preferred, other and tie) or a top-k truth (query, rank, doc_id). A judge is a name in the column
    judge, or, without one, a file. Grades are compared by the preferences they imply, too: A>B, A~B where both have
    one grade, A<B, with A the document whose id comes first. What is not defined is left empty.

    \b
    activeeval agreement ann.csv bob.csv
    activeeval agreement ann.jsonl bob.jsonl ann.qrels bob.qrels -o jsonl
    """
    from activeeval.judgments import grade_agreement, preference_agreement, read_opinions

    said, options = read_opinions(files), (confidence, resamples, seed)
    grades = _unless_alone("grades", grade_agreement, said.grades, *options)
    preferences = _unless_alone("preferences", preference_agreement, said.preferences, *options)
    found = [one for one in (grades, preferences) if not isinstance(one, str)]
    problems = [one for one in (grades, preferences) if isinstance(one, str) and one]
    if not found:
        raise InputError("; ".join(problems) or f"{', '.join(files)}: nobody has judged anything yet")
    for text in problems:
        say(text)
    _show(found, form, places)


def _unless_alone(name: str, compare: Callable[..., Found], said: Grades | Relations, *options: Any) -> Found | str:
    """Return how far judges agree, or why that cannot be told; nothing where nobody said anything of the kind."""
    try:
        return compare(said, *options) if said.judges else ""
    except InputError as problem:
        return f"{name}: {problem}"


def _show(found: list[GradeAgreement | PreferenceAgreement], form: str, places: int) -> None:
    """Print the coefficients, then the tables: for machines a cell a row, else as squares."""
    from activeeval.judgments import PreferenceAgreement

    rows: list[Row] = []
    tables: dict[str, PreferenceAgreement] = {}
    for one in found:
        if isinstance(one, PreferenceAgreement):
            tables["preferences"] = one
            continue
        rows += _of_grades(one, "grades")
        tables |= {_IMPLIED: one.preferences} if one.preferences is not None else {}
    rows += [
        _row(name, what, "all", getattr(one, what), one.confidence)
        for name, one in tables.items()
        for what in ("overall", "strict")
    ]
    rows += _compared(list(tables.values()))
    if form in ("jsonl", "tsv"):
        emit(rows, form, places)
        if form == "tsv":
            click.echo()
        emit([cell for name, one in tables.items() for cell in _cells(name, one)], form, places)
        return
    emit([row | {"value": "n/a"} if row["value"] is None else row for row in rows], form, places)
    for name, one in tables.items():
        squares = {"pairs": one.counts, "by row": one.by_row, "by column": one.by_column}
        for title, square in squares.items():
            click.echo()
            emit([_line(f"{name}, {title}", k, square[k].tolist()) for k in range(3)], form, places)


def _compared(tables: list[PreferenceAgreement]) -> Iterator[Row]:
    """Yield how the judges of two methods differ in how often they say the same."""
    from activeeval.judgments import compare_agreement

    for what in ("overall", "strict") if len(tables) == 2 else ():
        compared = compare_agreement(*tables, strict=what == "strict")
        if compared is not None:
            row = {"of": "preferences against grades", "what": f"chi-squared, {what}", "judges": "all"}
            yield row | {"value": compared.statistic, "p_value": compared.p_value}


def _of_grades(found: GradeAgreement, name: str) -> Iterator[Row]:
    for metric, alpha in found.alphas.items():
        yield _row(name, f"Krippendorff's alpha, {metric}", "all", alpha, found.confidence)
    for pair in found.kappas:
        for weights, kappa in pair.by_weights.items():
            what = "Cohen's kappa" if weights == "none" else f"Cohen's kappa, {weights}"
            yield _row(name, what, ", ".join(pair.judges), kappa, found.confidence)


def _row(of: str, what: str, judges: str, one: Coefficient, confidence: float) -> Row:
    ends = {"value": one.value, "low": one.low, "high": one.high, "confidence": confidence, "n": one.n}
    return {"of": of, "what": what, "judges": judges, **ends}


def _line(title: str, k: int, values: list[float]) -> Row:
    from activeeval.judgments.agreement import RELATIONS

    return {title: RELATIONS[k]} | dict(zip(RELATIONS, map(_or_none, values), strict=True))


def _cells(name: str, one: PreferenceAgreement) -> Iterator[Row]:
    from activeeval.judgments.agreement import RELATIONS

    by_row, by_column = one.by_row.tolist(), one.by_column.tolist()
    for j, first in enumerate(RELATIONS):
        for k, second in enumerate(RELATIONS):
            shares = {"by_row": _or_none(by_row[j][k]), "by_column": _or_none(by_column[j][k])}
            yield {"of": name, "first": first, "second": second, "pairs": int(one.counts[j, k])} | shares


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value
