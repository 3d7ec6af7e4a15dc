"""Read a grader's table: query_id, doc_id, and a grade, a score, or probabilities of the grades."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from activeeval.core.errors import FormatError
from activeeval.core.types import Bools, Floats
from activeeval.formats.graders.file_forms import is_of_machines
from activeeval.formats.graders.replies import Names, Replies, few_names
from activeeval.formats.loading import DOCUMENT, QUERY, check_distributions, distribution_columns
from activeeval.formats.tables.cells import is_empty
from activeeval.formats.tables.sheets import Sheet

GRADE = ("grade", "relevance", "label", "rating")
SCORE = ("score",)
_MODEL, _VERSION = ("model", "judge"), ("prompt_version", "prompt")


def table_replies(sheet: Sheet) -> Replies:
    """Convert a table to replies, one a row; an empty cell is a missing reply. Rows by people are left out.

    Raises
    ------
    FormatError
        If a column is missing or ambiguous, a value is not a finite number, or a row is not a distribution.
    """
    plain = sheet.plainly_named()
    is_of_people = ~is_of_machines(plain)
    if is_of_people.any():
        plain = _rows_where(plain, ~is_of_people)
    query, doc = plain.column("query", (*QUERY, "query")), plain.column("document", DOCUMENT)
    values, probs = _values(plain)
    return Replies(
        query_ids=plain.texts(query),
        doc_ids=plain.texts(doc),
        values=values,
        probs=probs,
        costs=_costs(plain),
        models=_names(plain, _MODEL),
        prompt_versions=_names(plain, _VERSION),
        explanations=plain.words("explanation") if "explanation" in plain.columns else None,
        is_sampled="sample" in plain.columns,
        n_of_people=int(is_of_people.sum()),
        line_of=None if plain.lines is None else plain.lines.__getitem__,
        source=plain.source,
    )


def numbers_or_missing(sheet: Sheet, name: str) -> Floats:
    """Convert a column to finite numbers, NaN for an empty cell; raise FormatError with the line for any other cell."""
    cells = sheet.columns[name]
    if isinstance(cells, np.ndarray):
        return sheet.floats(name)
    # NaN written in a file is an error; in a data frame it is the only form of an empty cell
    is_file = sheet.lines is not None
    empty = np.array([is_empty(cell) and not (is_file and isinstance(cell, float)) for cell in cells], dtype=np.bool_)
    if not empty.any():
        return sheet.floats(name)
    filled = ["0" if is_bare else cell for cell, is_bare in zip(cells, empty.tolist(), strict=True)]
    return np.where(empty, np.nan, replace(sheet, columns={name: filled}).floats(name))


def _values(sheet: Sheet) -> tuple[Floats, Floats | None]:
    """Compute the value of each row, and the distribution whose expected grade it is (None if the table has none)."""
    names = distribution_columns(sheet)
    if not names:
        name = sheet.only_column("grade", (*GRADE, *SCORE))
        values = numbers_or_missing(sheet, name)
        if name in GRADE:  # negative scores are valid, negative grades are missing
            values = np.where(values < 0, np.nan, values)
        return values, None
    if names != [f"p{y}" for y in range(len(names))]:
        raise FormatError(sheet.source, None, f"columns {', '.join(names)} leave a gap, expected one for each grade")
    probs = np.column_stack([numbers_or_missing(sheet, name) for name in names])
    is_missing: Bools = np.asarray(np.isnan(probs).all(axis=1))
    whole = probs.copy()  # a missing row passes the check as grade 0
    whole[is_missing, 0] = 1.0
    whole[is_missing, 1:] = 0.0
    check_distributions(sheet, names, whole)
    return probs @ np.arange(len(names)), probs


def _costs(sheet: Sheet) -> Floats | None:
    """Read the column cost, None if there is none; raise FormatError for a negative cost."""
    if "cost" not in sheet.columns:
        return None
    costs = numbers_or_missing(sheet, "cost")
    bad = np.flatnonzero(costs < 0)
    if bad.size:
        sheet.fail(int(bad[0]), "cost", f"holds {float(costs[bad[0]])!r}, expected what the reply cost")
    return costs


def _names(sheet: Sheet, columns: tuple[str, ...]) -> Names | None:
    """Read the first of some columns that the table has as texts, None if it has none of them."""
    name = next((name for name in columns if name in sheet.columns), None)
    return None if name is None else few_names(sheet.words(name))


def _rows_where(sheet: Sheet, chosen: Bools) -> Sheet:
    """Select the rows of a table where `chosen` is True."""
    rows = np.flatnonzero(chosen).tolist()
    columns = {name: [cells[row] for row in rows] for name, cells in sheet.columns.items()}
    return replace(sheet, columns=columns, lines=None if sheet.lines is None else [sheet.lines[row] for row in rows])
