"""Verb `times`: compute how long judging takes by method (grades, comparisons), from the times in judgments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from activeeval.core.errors import InputError
from activeeval.core.judgments import Judgments
from activeeval.core.judgments.judgment import KINDS
from activeeval.core.types import Bools, Floats, Ints
from activeeval.formats.judgments.from_files import read_all
from activeeval.formats.tables.frames import kind_of_frame
from activeeval.inputs.arguments import by_judge, checked, listed
from activeeval.report.printable import PrintableResult
from activeeval.report.rendering import Cell

METHODS = {"grade": "grades", "preference": "comparisons"}


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgingTime:
    """Judging times of one method, as in Table 1 of Niu et al. (2012).

    Attributes
    ----------
    method : {"grades", "comparisons"}
    judges, queries : int
        Number of judges and of queries with a timed judgment.
    judgments : int
        Number of timed judgments; answers changed later are left out.
    untimed : int
        Number of judgments without a time, which no other field counts.
    seconds, median : float
        Mean and median time of a judgment, in seconds.
    a_query : float
        Mean number of judgments of one judge on one query.
    minutes : float
        Mean time of one judge on one query, in minutes.
    """

    method: str
    judges: int
    queries: int
    judgments: int
    untimed: int
    seconds: float
    median: float
    a_query: float
    minutes: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class JudgingTimes(PrintableResult):
    """Judging times by method; `times` returns it.

    Attributes
    ----------
    methods : tuple of JudgingTime
    frame_kind : str
        Library of the input frames, "" if there were none.
    """

    methods: tuple[JudgingTime, ...]
    frame_kind: str = ""

    @property
    def sentences(self) -> list[str]:
        """One sentence for each method on the time of a judgment and of a query."""
        return [
            f"{row.method.capitalize()}: {row.seconds:.1f} s each, {row.minutes:.1f} minutes a query of "
            f"{row.a_query:.0f}."
            for row in self.methods
        ]

    @property
    def table(self) -> Sequence[Mapping[str, Cell]]:
        """One row for each method."""
        return self.rows()

    @property
    def footnotes(self) -> list[str]:
        """Number of judgments without a time, for each method that has some."""
        left_out = (row for row in self.methods if row.untimed)
        return [f"{row.untimed:,} {row.method} have no time and are not counted" for row in left_out]

    def rows(self) -> list[dict[str, Cell]]:
        """List one row for each method, as in the command's JSON and CSV output."""
        return list(map(asdict, self.methods))


@checked
def times(judged: Any) -> JudgingTimes:
    """Compute how long judging takes, by grades and by comparisons of two documents.

    Parameters
    ----------
    judged : path, data frame or Judgments, or a list of them
        Judgments with times, such as logs of campaigns.

    Raises
    ------
    InputError
        If no judgment has a time.

    Examples
    --------
    >>> from activeeval import Judge, Judgment, Judgments
    >>> rows = [Judgment("q1", f"d{d}", Judge("ann"), value=1, seconds=10.0 + d) for d in range(3)]
    >>> times(Judgments.of(rows)).sentences
    ['Grades: 11.0 s each, 0.6 minutes a query of 3.']
    """
    judgments = read_all(by_judge(judged))
    rows = tuple(_by_method(judgments))
    if not rows:
        raise InputError(
            f"{judgments.source}: no judgment has a time, expected the log of a campaign, or of a labelling, as its "
            "export writes it"
        )
    return JudgingTimes(methods=rows, frame_kind=kind_of_frame(*listed(judged)))


def _by_method(judgments: Judgments) -> Iterator[JudgingTime]:
    """Yield the judging times of each method (grades, comparisons) that has a timed judgment.

    ``kinds`` are positions in KINDS, one for each judgment; without them all judgments are grades. Unknown times are
    NaN.
    """
    n = len(judgments)
    seconds = np.full(n, np.nan) if judgments.seconds is None else judgments.seconds
    kinds = np.zeros(n, dtype=np.uint8) if judgments.kinds is None else judgments.kinds
    queries = np.unique(np.array(list(judgments.query_ids)), return_inverse=True)[1]
    for kind, method in METHODS.items():
        of_method = kinds == KINDS.index(kind)
        timed = of_method & ~np.isnan(seconds)
        if timed.any():
            yield _row(method, seconds, queries, judgments.judge_of, timed, int((of_method & ~timed).sum()))


def _row(method: str, seconds: Floats, queries: Ints, judges: Ints, timed: Bools, untimed: int) -> JudgingTime:
    """Summarize the timed judgments of one method; a shift is one judge on one query.

    ``seconds``, ``queries`` and ``judges`` (numbers) and the flags ``timed`` have shape (n_judgments,), with the
    judgments of all methods; ``untimed`` is the number of this method's judgments without a time.
    """
    times, timed_judges, timed_queries = seconds[timed], judges[timed], queries[timed]
    _, shifts = np.unique(np.stack((timed_judges, timed_queries)), axis=1, return_inverse=True)
    by_shift = np.bincount(shifts, times)
    return JudgingTime(
        method=method,
        judges=np.unique(timed_judges).size,
        queries=np.unique(timed_queries).size,
        judgments=times.size,
        untimed=untimed,
        seconds=float(times.mean()),
        median=float(np.median(times)),
        a_query=times.size / by_shift.size,
        minutes=float(by_shift.mean()) / 60,
    )
