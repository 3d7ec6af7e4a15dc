"""Tabulate the agreement of judges: coefficients, and tables of explicit or implied preferences."""

from __future__ import annotations

import math
from collections.abc import Iterator

from activeeval.core.judgments import Agreements, Coefficient, GradeAgreement, PreferenceAgreement, compare_agreement
from activeeval.core.judgments.agreement import RELATIONS
from activeeval.report.rendering import Cell

Rows = list[dict[str, Cell]]


def tables_of(agreements: Agreements) -> dict[str, PreferenceAgreement]:
    """Map the name of each table of preferences to the table; kinds without judgments are left out."""
    grades = agreements.grades
    tables = {
        "preferences implied by grades": None if grades is None else grades.preferences,
        "preferences": agreements.preferences,
    }
    return {name: table for name, table in tables.items() if table is not None}


def coefficient_rows(agreements: Agreements) -> Rows:
    """List a row for each coefficient, and for the test whether grades and preferences agree equally often.

    Of a table of preferences, "overall" counts ties as a relation, "strict" leaves pairs with a tie out.
    """
    rows = [] if agreements.grades is None else list(_of_grades(agreements.grades))
    tables = tables_of(agreements)  # preferences implied by grades, and preferences stated by judges
    for name, table in tables.items():
        rows += [_row(name, what, "all", getattr(table, what), table.confidence) for what in ("overall", "strict")]
    for what in ("overall", "strict") if len(tables) == 2 else ():
        compared = compare_agreement(*tables.values(), strict=what == "strict")
        if compared is not None:
            row = {"of": "preferences against grades", "what": f"chi-squared, {what}", "judges": "all"}
            rows.append({**row, "value": compared.statistic, "p_value": compared.p_value, "why_undefined": ""})
    return rows


def confusion_tables(agreements: Agreements) -> list[Rows]:
    """Format, for each two judges, the numbers of items by the grades of both: a row for each grade of the first."""
    pairs = [] if agreements.grades is None else agreements.grades.pairs
    tables: list[Rows] = []
    for pair in pairs:
        title = f"grades of {pair.judges[0]} (rows) and {pair.judges[1]}"
        names = [f"{grade:g}" for grade in pair.grades]
        tables.append(
            [
                {title: name} | dict(zip(names, of_grade, strict=True))
                for name, of_grade in zip(names, pair.counts, strict=True)
            ]
        )
    return tables


def cell_rows(agreements: Agreements) -> Rows:
    """List a row for each cell of the tables of preferences."""
    return [cell for name, table in tables_of(agreements).items() for cell in _cells(name, table)]


def square_rows(title: str, square: list[list[float]]) -> Rows:
    """Format a table of two judges' relations (A>B, A~B, A<B), 3 × 3 numbers, as rows of text.

    ``title`` heads the first column.
    """
    return [
        {title: relation} | dict(zip(RELATIONS, map(_or_none, values), strict=True))
        for relation, values in zip(RELATIONS, square, strict=True)
    ]


def _of_grades(agreement: GradeAgreement) -> Iterator[dict[str, Cell]]:
    """Yield a row for each coefficient of agreement on grades."""
    for metric, alpha in agreement.alphas.items():
        yield _row("grades", f"Krippendorff's alpha, {metric}", "all", alpha, agreement.confidence)
    for weights, ac in agreement.acs.items():
        what = "Gwet's AC1" if weights == "none" else f"Gwet's AC2, {weights}"
        yield _row("grades", what, "all", ac, agreement.confidence)
    for pair in agreement.pairs:
        judges = ", ".join(pair.judges)
        for weights, kappa in pair.kappas.items():
            what = "Cohen's kappa" if weights == "none" else f"Cohen's kappa, {weights}"
            yield _row("grades", what, judges, kappa, agreement.confidence)
        yield _row("grades", "mean difference", judges, pair.difference, agreement.confidence)


def _row(of: str, what: str, judges: str, coefficient: Coefficient, confidence: float) -> dict[str, Cell]:
    """Build the row of a coefficient: ``of`` which judgments, ``what`` it is named, and the names of the judges."""
    ends = {"value": coefficient.value, "low": coefficient.low, "high": coefficient.high}
    beside = {"raw_agreement": coefficient.raw_agreement, "base_rate": coefficient.base_rate}
    row = {"of": of, "what": what, "judges": judges, **ends, "confidence": confidence, "n": coefficient.n, **beside}
    return {**row, "why_undefined": coefficient.why_undefined}


def _cells(name: str, table: PreferenceAgreement) -> Iterator[dict[str, Cell]]:
    """Yield a row for each cell of a table of preferences: numbers of pairs of documents by two judges' relations.

    Relations are A>B, A~B and A<B; ``name`` is that of the table. ``by_row`` and ``by_column`` are the shares of the
    cell's pairs among those of its row and column, None if these hold none.
    """
    by_row, by_column = table.by_row.tolist(), table.by_column.tolist()
    for j, first in enumerate(RELATIONS):
        for k, second in enumerate(RELATIONS):
            shares = {"by_row": _or_none(by_row[j][k]), "by_column": _or_none(by_column[j][k])}
            yield {"of": name, "first": first, "second": second, "pairs": int(table.counts[j, k]), **shares}


def _or_none(value: float) -> float | None:
    """Convert NaN to None."""
    return None if math.isnan(value) else value
