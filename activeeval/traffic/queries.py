"""Queries to evaluate with, drawn from a log of searches."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from activeeval.core.checks import file_name
from activeeval.formats.tables.drawn_queries import DrawnQueries, read_drawn_queries
from activeeval.formats.tables.frames import kind_of_frame
from activeeval.inputs.arguments import checked, in_python, is_path
from activeeval.report.message_lookup import text_of
from activeeval.report.printable import PrintableResult
from activeeval.report.rendering import Cell
from activeeval.traffic import query_draws as task


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Queries(PrintableResult):
    """Queries that were drawn from a log; as text what was drawn in each stratum of it.

    Attributes
    ----------
    made : QueriesDraw
    frame_kind : str
        The library whose frame came in, "" where none did.

    Examples
    --------
    >>> drawn = draw_queries({"news": 900, "weather": 90, "red shoes": 8, "blue shoes": 2}, n=2, seed=1)
    >>> len(drawn), drawn.n_kept, [row["query"] for row in drawn.rows()]
    (2, 0, ['news', 'weather'])
    """

    made: task.QueriesDraw
    frame_kind: str = ""

    def __len__(self) -> int:
        return len(self.made.drawn.query_ids)

    @property
    def n_kept(self) -> int:
        """How many of the queries of ``last`` were drawn again."""
        return self.made.n_kept

    @property
    def sentences(self) -> list[str]:
        """Of which log they are, and what was kept."""
        said = [text_of(note, in_python) for note in self.made.notes if note.code != "queries of a stratum"]
        return [f"{text[:1].upper()}{text[1:]}." for text in said]

    @property
    def table(self) -> list[dict[str, Cell]]:
        """What was drawn in each stratum."""
        return [
            {
                "stratum": each.name,
                "traffic": f"{each.traffic:.1%}",
                "queries": each.n_queries,
                "drawn": each.n_drawn,
                "certain": each.n_certain,
            }
            for each in self.made.strata
        ]

    def rows(self) -> list[dict[str, Cell]]:
        """Return the queries as the rows of their file."""
        columns = {name: np.asarray(values).tolist() for name, values in self.made.drawn.columns().items()}
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def save(self, path: Any) -> str:
        """Write them as `activeeval queries draw` does; return the file's name."""
        name: str = os.fspath(path)
        self.made.drawn.write(name)
        return name


@checked
def draw_queries(
    log: Any, *, n: int, seed: int = 0, strata: str | None = None, pilot: Any = None, last: Any = None
) -> Queries:
    """Draw queries from a log of searches, each with probability proportional to how often it was asked.

    Each query has a random number for good, by the seed and its normal form alone (Unicode NFKC, case folded, white
    space collapsed): drawn from the next log with the same seed, most of them stay.

    Parameters
    ----------
    log : path, data frame, or mapping of str to number
        A table of query and count, or one event a row; it may have a column segment. Of a file that is no table each
        line is an event.
    n : int
        How many; all there are where the log has fewer.
    seed : int
    strata : {"thirds", "segments", "none"}, optional
        Head, torso and tail, each a third of the traffic; the log's segments; or all in one. By default segments where
        there are any, else thirds.
    pilot : path, optional
        A table of query and deviation: ``n`` is then shared out by how values differ within strata, too (Neyman).
    last : path, optional
        Queries drawn before, to say how many are kept.

    Returns
    -------
    Queries
        What ``queries`` of `activeeval.sample`, `plan`, `compare` and `score` takes.

    Raises
    ------
    InputError
        Where a file or an argument is wrong; names the line.

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
    made = task.draw_queries(source, n, seed=seed, strata=strata, pilot=paths[0], last=paths[1])
    return Queries(made=made, frame_kind=kind_of_frame(source))


def drawn_of(source: Any) -> DrawnQueries:
    """Return the drawn queries that a caller hands over, or names the file of."""
    if isinstance(source, Queries):
        return source.made.drawn
    return source if isinstance(source, DrawnQueries) else read_drawn_queries(file_name(source, "`queries`"))
