"""Values per query that were computed elsewhere, and clicks on interleaved lists: the same verdicts as of judgments."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from activeeval.core.answers import Answer
from activeeval.core.errors import FormatError, InputError, did_you_mean, shown
from activeeval.core.estimation.significance import mean_interval
from activeeval.core.interval_ends import UNLIMITED
from activeeval.core.results import Caution, Note, Told
from activeeval.core.types import Floats
from activeeval.formats.dialects import by_roles
from activeeval.formats.file_kinds import JSON, kind_of, read_json
from activeeval.formats.loading import QUERY
from activeeval.formats.suffixes import TABLES, PathLike
from activeeval.formats.tables.cells import as_float, is_empty
from activeeval.formats.tables.read_tables import json_sheet, read_sheet
from activeeval.formats.tables.sheets import Sheet
from activeeval.sampling.query_values import QueryValues
from activeeval.scoring.decisions import Decision, GateRequest, QueryMetric, ScopeEstimates, decided_by_queries
from activeeval.scoring.evaluation import estimates_of_values

NAMES_OF_QUERIES = (*QUERY, "query", "question", "user_input")
"""Columns that name the query of a row; the last two are those of ragas."""
WINNERS = {"new": 1.0, "b": 1.0, "old": -1.0, "a": -1.0, "tie": 0.0, "": 0.0}
"""Words of a winner -> preference for the new system; a is the old system, b the new one."""
_OF_PREFERENCE = (-1.0, 1.0)
"""Lowest and highest preference of an impression: the old system wins, the new one does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricTable:
    """Values of metrics by query.

    Attributes
    ----------
    source : str
    values : dict of str to dict of str to float
        Metric -> query -> value.
    left_out : tuple of str
        Columns that hold no numbers.
    notes : tuple of Note
        Notes on how the file was read.
    """

    source: str
    values: dict[str, dict[str, float]]
    left_out: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()

    def of(self, metric: str) -> dict[str, float]:
        """Look up a metric, negated if its name begins with a minus; raise InputError if the table lacks it."""
        name = metric.removeprefix("-")
        if name not in self.values:
            meant = did_you_mean(name, tuple(self.values))
            known = ", ".join(self.values)
            raise InputError(f"{self.source}: no values of {shown(name)}; {meant}known: {known}", field="measures")
        values = self.values[name]
        return values if metric == name else {query: -value for query, value in values.items()}


def read_values(path: PathLike) -> MetricTable:
    """Read values by query: a column of queries and one for each metric, or columns metric (or measure) and value.

    Raises
    ------
    FormatError
        If no column holds numbers, a value is not finite, or a query has two values of a metric.
    """
    sheet = _sheet(path)
    key = sheet.column("query", NAMES_OF_QUERIES)
    queries = [query.strip() for query in sheet.words(key)]
    if "" in queries:
        sheet.fail(queries.index(""), key, "is empty, expected a query")
    name = next((column for column in ("metric", "measure") if column in sheet.columns), None)
    values: dict[str, dict[str, float]] = {}
    left_out: list[str] = []
    if name is not None and "value" in sheet.columns:
        cells = sheet.columns["value"]
        for row, metric in enumerate(sheet.words(name)):
            if queries[row] != "all":  # the summary rows of `activeeval score -q`
                _add(values.setdefault(metric, {}), sheet, row, "value", cells[row], queries[row])
    else:
        for column in (column for column in sheet.columns if column != key):
            cells = sheet.columns[column]
            if not any(as_float(cell) is not None for cell in cells):
                left_out += [column] if any(not is_empty(cell) for cell in cells) else []
                continue
            for row, cell in enumerate(cells):
                _add(values.setdefault(column, {}), sheet, row, column, cell, queries[row])
    values = {metric: of_metric for metric, of_metric in values.items() if of_metric}
    if not values:
        raise FormatError(os.fspath(path), None, "holds no column of numbers, expected a value of each query")
    return MetricTable(source=os.fspath(path), values=values, left_out=tuple(left_out), notes=sheet.notes)


def by_values(
    old: str, new: str, request: GateRequest, *, say: Callable[[Note | Caution], object] = lambda note: None
) -> list[Decision]:
    """Decide on the difference new − old of metrics whose values per query were computed elsewhere.

    Parameters
    ----------
    old, new : str
        Files for `read_values`. Queries that only one of them has are left out and counted.
    request : GateRequest
        Its measures are names of metrics, by default all that both files have; ``-seconds``: lower is better.
    say : callable
        Called with each note on the files.
    """
    return _by_tables(read_values(old), read_values(new), request, say)


def _by_tables(
    before: MetricTable, after: MetricTable, request: GateRequest, say: Callable[[Note], object]
) -> list[Decision]:
    """Decide on the difference of two tables of values per query, ``after`` − ``before``, for each metric.

    ``request`` names the metrics, by default all that both tables have; ``say`` is called with each note. Raise
    InputError if a metric is missing, or the tables share none.
    """
    for table in (before, after):
        for note in table.notes:
            say(note)
        if table.left_out:
            say(Note("columns without numbers", {"source": table.source, "names": table.left_out}))
    metrics = tuple(request.measures) or tuple(name for name in after.values if name in before.values)
    if not metrics:
        listed = f"{', '.join(before.values)} and {', '.join(after.values)}"
        raise InputError(f"{before.source} and {after.source} share no metric: {listed}", field="measures")
    names = tuple(request.names) or (Path(after.source).name, Path(before.source).name)
    pairs = {metric: _paired(metric, before, after, say) for metric in metrics}
    return _decisions(pairs, request, names)


def score_values(
    files: Sequence[str],
    metrics: Sequence[str] = (),
    confidence: float = 0.95,
    *,
    say: Callable[[Note | Caution], object] = lambda note: None,
) -> list[Answer]:
    """Compute the mean of each metric of each file with its interval, then the differences from the first file.

    Parameters
    ----------
    files : sequence of str
        Files for `read_values`.
    metrics : sequence of str
        By default all that each file has.
    confidence : float
        Confidence of the intervals.
    say : callable
        Called with each note on the files.

    Returns
    -------
    list of Answer
        The means, metric by metric, then the differences, file by file.
    """
    tables = [read_values(file) for file in files]
    chosen = tuple(metrics) or tuple(name for name in tables[0].values if all(name in t.values for t in tables))
    if not chosen:
        raise InputError(f"{' and '.join(files)} share no metric", field="measures")
    answers = []
    for metric in chosen:
        for table in tables:
            ends = mean_interval(list(table.of(metric).values()), confidence)
            answers.append(
                Answer(
                    system=Path(table.source).name,
                    measure=metric,
                    value=ends.mean,
                    low=ends.low,
                    high=ends.high,
                    n_queries=ends.n,
                    n_items=None,
                    is_constant=True,
                    is_supported=math.isfinite(ends.std_error),
                    scope="population",
                )
            )
    request = GateRequest(measures=chosen, confidence=confidence)
    others = [decision.finding for table in tables[1:] for decision in _by_tables(tables[0], table, request, say)]
    return answers + others


def by_interleaving(
    path: str, request: GateRequest, *, say: Callable[[Note | Caution], object] = lambda note: None
) -> list[Decision]:
    """Decide on clicks on interleaved lists (team draft): is the new system preferred?

    The value of an impression is 1 if the new system wins, −1 if the old one does, 0 for a tie. The estimate is the
    mean over queries of the mean of their impressions; a note has that over sessions, if there is a column session.

    Parameters
    ----------
    path : str
        A table with a column query, and winner (new or b, old or a, tie), or clicks_new and clicks_old (or clicks_b and
        clicks_a).
    request : GateRequest
        Confidence, margin, scope and names of the systems; its measures are ignored.
    say : callable
        Called with each note on the file.
    """
    sheet = _sheet(path)
    preferences = _preferences(sheet)
    key = sheet.column("query", NAMES_OF_QUERIES)
    queries, means = _means_by(sheet.words(key), preferences)
    zero, weights = np.zeros(means.size), np.full(means.size, 1 / means.size)
    values = QueryValues(query_ids=queries, values=means, versus_values=zero, weights=weights)
    counts: dict[str, Told] = {"n": preferences.size, "won": int((preferences > 0).sum())}
    counts |= {"lost": int((preferences < 0).sum()), "tied": int((preferences == 0).sum())}
    say(Note("impressions", {"source": path, **counts}))
    session = next((name for name in ("session_id", "session") if name in sheet.columns), None)
    if session is not None:
        of_sessions = _means_by(sheet.words(session), preferences)[1]
        ends = mean_interval(of_sessions, request.confidence, _OF_PREFERENCE)
        say(Note("by session", {"value": ends.mean, "low": ends.low, "high": ends.high, "n": of_sessions.size}))
    return _decisions({"preference": values}, request, tuple(request.names) or ("new", "old"), _OF_PREFERENCE)


def _means_by(names: Sequence[str], values: Floats) -> tuple[list[str], Floats]:
    """List the distinct names of rows, in order of first occurrence, and the mean of the values of each.

    ``names`` and ``values``, shape (n_rows,), are those of the rows.
    """
    numbers: dict[str, int] = {}
    of_rows = np.array([numbers.setdefault(name, len(numbers)) for name in names])
    return list(numbers), np.bincount(of_rows, values) / np.bincount(of_rows)


def _decisions(
    pairs: Mapping[str, QueryValues],
    request: GateRequest,
    names: tuple[str, ...],
    limits: tuple[float, float] = UNLIMITED,
) -> list[Decision]:
    """Decide each metric by its values per query.

    ``names`` are those of the new and the old system, ``limits`` the lowest and highest possible difference, which are
    known for clicks only.
    """
    estimates = []
    for metric, values in pairs.items():
        pool, population = estimates_of_values(values.values - values.versus_values, limits=limits)
        is_of_pool = request.scope == "pool" and limits == UNLIMITED  # without limits they are values, not clicks
        estimate, other = (pool, population) if is_of_pool else (population, pool)
        is_same = bool((values.values == values.versus_values).all())
        measure: Any = QueryMetric(metric)
        beside = other if limits == UNLIMITED else None  # of clicks the queries' own values are not known either
        estimates.append(ScopeEstimates(measure, names[0], names[1], estimate, beside, is_same, estimate.p_value))
    return decided_by_queries(estimates, list(pairs.values()), request)


def _paired(metric: str, before: MetricTable, after: MetricTable, say: Callable[[Note], object]) -> QueryValues:
    """Pair the values of a metric for the queries that both tables have (old and new system), and note the others."""
    old, new = before.of(metric), after.of(metric)
    both = [query for query in new if query in old]
    if not both:
        firsts = f"the first of the latter is {shown(next(iter(new)))}, of the former {shown(next(iter(old)))}"
        raise InputError(f"{before.source} and {after.source} share no query with {metric}: {firsts}")
    for table, values in ((before, old), (after, new)):
        if n_alone := len(values) - len(both):
            say(Note("values alone", {"source": table.source, "n": n_alone, "metric": metric}))
    columns: list[Floats] = [np.array([values[query] for query in both]) for values in (new, old)]
    weights = np.full(len(both), 1 / len(both))
    return QueryValues(query_ids=both, values=columns[0], versus_values=columns[1], weights=weights)


def _sheet(path: PathLike) -> Sheet:
    """Read a table of any kind; columns with a known role, as the query, get its name, others keep theirs."""
    kind = kind_of(path)
    if kind == JSON:
        sheet = json_sheet(read_json(path), path, "value")
        if sheet is None:
            raise FormatError(os.fspath(path), None, "is JSON of another form, expected a list of objects")
        return sheet
    return by_roles(read_sheet(path, kind if kind in TABLES else None))


def _add(values: dict[str, float], sheet: Sheet, row: int, column: str, cell: Any, query: str) -> None:
    """Add the value of a cell to ``values``, those of a metric by query; an empty cell is left out.

    ``sheet.fail`` raises FormatError, naming ``row`` and ``column``, if it is no number or the query has a value.
    """
    if is_empty(cell):
        return
    value = as_float(cell)
    if value is None or not math.isfinite(value):
        sheet.fail(row, column, f"holds {shown(str(cell))}, expected a finite number")
    if query in values:
        sheet.fail(row, column, f"query {shown(query)} has a second value, expected one")
    values[query] = value


def _preferences(sheet: Sheet) -> Floats:
    """Compute the preference of each impression for the new system: 1, 0 or −1."""
    if "winner" in sheet.columns:
        words = [word.strip().lower() for word in sheet.words("winner")]
        wrong = next((row for row, word in enumerate(words) if word not in WINNERS), None)
        if wrong is not None:
            sheet.fail(wrong, "winner", f"holds {shown(words[wrong])}, expected new, old or tie (or b, a)")
        return np.array([WINNERS[word] for word in words], dtype=np.float64)
    clicks: Sequence[Any] = [
        sheet.floats(sheet.column("winner, or clicks,", (f"clicks_{new}", f"clicks_{letter}")), 0.0)
        for new, letter in (("new", "b"), ("old", "a"))
    ]
    return np.asarray(np.sign(clicks[0] - clicks[1]), dtype=np.float64)
