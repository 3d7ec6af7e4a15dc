"""Queries for an evaluation, drawn from a search log."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from activeeval.core.checks import file_name
from activeeval.formats.tables.drawn_queries import DrawnQueries, are_drawn_queries, read_drawn_queries
from activeeval.formats.tables.frames import kind_of_frame
from activeeval.inputs.arguments import checked, in_python, is_path
from activeeval.report.message_lookup import text_of
from activeeval.report.printable import PrintableResult
from activeeval.report.rendering import Cell
from activeeval.traffic import query_draws as task


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Queries(PrintableResult):
    """Queries drawn from a log; prints as a summary by stratum.

    Attributes
    ----------
    made : QueriesDraw
        The drawn queries, with the summary of each stratum.
    frame_kind : str
        Library of the input data frame, "" for other inputs.

    Examples
    --------
    >>> drawn = draw_queries({"news": 900, "weather": 90, "red shoes": 8, "blue shoes": 2}, n=2, seed=1)
    >>> len(drawn), drawn.n_kept, [row["query"] for row in drawn.rows()]
    (2, 0, ['news', 'weather'])
    """

    made: task.QueriesDraw
    frame_kind: str = ""

    def __len__(self) -> int:
        """Number of drawn queries."""
        return len(self.made.drawn.query_ids)

    @property
    def n_kept(self) -> int:
        """Number of queries of an earlier draw (argument ``last``) that were drawn again."""
        return self.made.n_kept

    @property
    def sentences(self) -> list[str]:
        """Sentences on the source log and on queries kept from the last draw."""
        texts = [text_of(note, in_python) for note in self.made.notes if note.code != "queries of a stratum"]
        return [f"{text[:1].upper()}{text[1:]}." for text in texts]

    @property
    def table(self) -> list[dict[str, Cell]]:
        """Rows by stratum: its traffic, queries, drawn queries and certain ones."""
        return [
            {
                "stratum": stratum.name,
                "traffic": f"{stratum.traffic:.1%}",
                "queries": stratum.n_queries,
                "drawn": stratum.n_drawn,
                "certain": stratum.n_certain,
            }
            for stratum in self.made.strata
        ]

    def rows(self) -> list[dict[str, Cell]]:
        """Return the queries as the rows of the file that `save` writes."""
        columns = {name: np.asarray(values).tolist() for name, values in self.made.drawn.columns().items()}
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def save(self, path: Any) -> str:
        """Write the queries as `activeeval queries draw` does; return the file's name."""
        name: str = os.fspath(path)
        self.made.drawn.write(name)
        return name


@checked
def draw_queries(
    log: Any, *, n: int, seed: int = 0, strata: str | None = None, pilot: Any = None, last: Any = None
) -> Queries:
    """Draw queries from a search log, each with probability proportional to its frequency.

    Each query has a permanent random number, determined by the seed and its normal form (Unicode NFKC, case folded,
    white space collapsed): a draw from the next log with the same seed keeps most of the queries.

    Parameters
    ----------
    log : path, data frame, or mapping of str to number
        A table of query and count, or of one event per row; it may have a column segment. In a file of another type,
        each line is an event.
    n : int
        Number of queries; all queries if the log has fewer.
    seed : int
        With the same seed each query has the same random number in every log.
    strata : {"thirds", "segments", "none"}, optional
        Head, torso and tail, each a third of the traffic; the log's segments; or one stratum. By default segments if
        the log has them, else thirds.
    pilot : path, optional
        A table of query and deviation, the standard deviation of values among similar queries: ``n`` is then allocated
        to strata by Neyman's rule, else in proportion to traffic.
    last : path, optional
        Queries of the last draw, to count those kept.

    Returns
    -------
    Queries
        Accepted as ``queries`` by `activeeval.sample`, `plan`, `compare` and `score`.

    Raises
    ------
    InputError
        If a file or an argument is invalid; with the line.

    Examples
    --------
    >>> log = {"news": 900, "weather": 60, "Weather ": 30, "red shoes": 8, "blue shoes": 2}
    >>> drawn = draw_queries(log, n=3, strata="none")
    >>> [row["query"] for row in drawn.rows()], len(drawn)
    (['news', 'weather', 'red shoes'], 3)
    >>> drawn.rows()[0]["traffic_weight"], drawn.rows()[0]["inclusion_prob"]
    (900.0, 1.0)
    """
    paths = [None if path is None else os.fspath(path) for path in (pilot, last)]
    source = os.fspath(log) if is_path(log) else log
    result = task.draw_queries(source, n, seed=seed, strata=strata, pilot=paths[0], last=paths[1])
    return Queries(made=result, frame_kind=kind_of_frame(source))


def drawn_if_any(queries: Any) -> DrawnQueries | None:
    """Return drawn queries as `drawn_of`; None for None, or for the path of a table of ids and texts alone."""
    is_of_texts = is_path(queries) and not are_drawn_queries(queries)
    return None if queries is None or is_of_texts else drawn_of(queries)


def drawn_of(source: Any) -> DrawnQueries:
    """Return the drawn queries of an object, or read them from a file; raise InputError if that fails."""
    if isinstance(source, Queries):
        return source.made.drawn
    return source if isinstance(source, DrawnQueries) else read_drawn_queries(file_name(source, "`queries`"))
