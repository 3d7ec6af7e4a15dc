"""Preferences between documents out of a click log (Chen, Zhang, Zheng, Zha and Sun, Adapting ranking
functions to user preference).

Of two documents of a query the one that is clicked significantly more often is preferred, where the position cannot
have made the difference. People see the top of a list more often. So a document that is clicked more often though it
stands below another, or at the same position, is preferred to it (Skip-Above: who clicks it has skipped the other).
That it is clicked more often where it stands above proves nothing.

A document may have been shown at several positions. Two are compared in two ways, by rows alone that were kept:

- level: their rows at the same positions, each position a stratum, all summed;
- mains: the row of each where it was shown most (of equal ones the uppermost), if these are at different positions and
  the one whose preference is tested stands below.

A way is there or not whatever was clicked, and in none does the preferred document stand above. So if examination does
not rise down the list, and both are equally attractive where they are examined, each way says either preference with a
chance of at most its level. With k ways for a preference each is tested at level/(2k): both preferences together have a
chance of at most the level.

Clicks of different rows are taken as independent. Where a visit ends with its first click those of the same visit are
not: the z of two documents of the same rate r then has variance 1 / (1 − r) rather than 1, and a level of 5 % becomes
6 % at r = 0.1 and 10 % at r = 0.3, where position bias does not lower it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from activeeval.adaptation.cleaning import CleaningRules, RowOutcome
from activeeval.adaptation.positions import ClickCounts, Pairwise, QueryClicks
from activeeval.core.checks import strict_share
from activeeval.core.judgments.comparisons import Comparison
from activeeval.core.pool.texts import Texts
from activeeval.core.types import Bools, Floats, Ints
from activeeval.formats.tables.clicks import ClickLog


class PairOutcome(IntEnum):
    """What became of two documents of a query."""

    KEPT = 0
    FEW_IMPRESSIONS = 1
    ROBOTS = 2
    NOT_SIGNIFICANT = 3
    ABOVE = 4
    BOTH_WAYS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ClickReport:
    """What was kept of a click log, and why the rest was not; `activeeval.adaptation.messages.click_lines` says it in
    words.

    Attributes
    ----------
    level : float
    rules : CleaningRules
    skip_above : bool
    n_queries : int
    rows : dict of RowFate to int
        How many rows of the log had each fate.
    pairs : dict of PairFate to int
        How many pairs of documents of the same query had each: ``ROBOTS`` and ``FEW_IMPRESSIONS`` where one of the two
        has no row left, because some were taken for robots' or because all were too small; ``ABOVE`` where the
        difference is significant only while a document may be preferred to one below; ``BOTH_WAYS`` where some
        positions prefer the one, some the other, significantly.
    """

    level: float
    rules: CleaningRules
    skip_above: bool
    n_queries: int
    rows: dict[RowOutcome, int]
    pairs: dict[PairOutcome, int]

    @property
    def n_rows(self) -> int:
        """Rows of the log."""
        return sum(self.rows.values())

    @property
    def n_possible(self) -> int:
        """Pairs of documents of the same query in the log."""
        return sum(self.pairs.values())

    @property
    def n_tested(self) -> int:
        """Pairs with counts to compare; at most `level` of them come out wrong where no two documents differ."""
        return self.n_possible - self.pairs[PairOutcome.FEW_IMPRESSIONS] - self.pairs[PairOutcome.ROBOTS]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClickPreferences:
    """Pairs of documents of which users prefer one, sorted by query, preferred and other.

    Attributes
    ----------
    query_ids, preferred, other : Texts, shape (n,)
        Two documents come once, one way.
    z : ndarray of float64, shape (n,)
        Of the way of comparing them that says most, positive.
    p_values : ndarray of float64, shape (n,)
        Its two-sided p value times the number of ways, at most the level: twice the chance of such a z, or where counts
        are small of such a count, if the rates are equal.
    report : ClickReport
    """

    query_ids: Texts
    preferred: Texts
    other: Texts
    z: Floats
    p_values: Floats
    report: ClickReport

    @property
    def n_pairs(self) -> int:
        """Number of pairs."""
        return self.z.size

    def comparisons(self) -> list[Comparison]:
        """Return the pairs as `activeeval.formats.comparisons.write_comparisons` takes them."""
        columns = (column.tolist() for column in (self.query_ids, self.preferred, self.other))
        return [Comparison(*row) for row in zip(*columns, strict=True)]


def preferences_from_clicks(
    log: ClickLog, level: float = 0.05, *, skip_above: bool = True, rules: CleaningRules | None = None
) -> ClickPreferences:
    """Find the pairs of documents of which one is significantly preferred by those who click.

    Every two documents of a query are compared; see the module for how. Time and memory grow with the square of the
    documents of a query.

    Parameters
    ----------
    log : ClickLog
    level : float
        Of the two-sided test of every pair, not of all pairs together.
    skip_above : bool
        Whether a document that stands above another may not be preferred to it there. Without, a preference may be the
        position's alone.
    rules : CleaningRules, optional
        When rows are left out.

    Raises
    ------
    InputError
        Where the level does not lie strictly between 0 and 1.

    Examples
    --------
    >>> log = ClickLog(["q"] * 3, ["a", "b", "c"], [1, 2, 3], [900] * 3, [200, 90, 160])
    >>> preferences = preferences_from_clicks(log)
    >>> preferences.comparisons(), preferences.z.round(2).tolist()
    ([Comparison(query='q', preferred='c', other='b', is_tie=False, judge='')], [4.77])
    >>> {fate.name: n for fate, n in preferences.report.pairs.items() if n}
    {'KEPT': 1, 'ABOVE': 2}
    """
    strict_share(level, "level")
    rules = CleaningRules() if rules is None else rules
    table = ClickCounts.of(log, rules)
    decided = [_decided(query, level, skip_above) for query in table.each()]
    fates = np.concatenate([np.empty(0, np.int64), *(query.fates for query in decided)])
    pairs = np.concatenate([np.empty((2, 0), np.int64), *(query.pairs for query in decided)], axis=1)
    report = ClickReport(
        level=level,
        rules=rules,
        skip_above=skip_above,
        n_queries=len(decided),
        rows={fate: int((table.fates == fate).sum()) for fate in RowOutcome},
        pairs={fate: int((fates == fate).sum()) for fate in PairOutcome},
    )
    return ClickPreferences(
        query_ids=Texts.from_list(np.repeat(table.query_names, [query.z.size for query in decided]).tolist()),
        preferred=Texts.from_list(table.doc_names[pairs[0]].tolist()),
        other=Texts.from_list(table.doc_names[pairs[1]].tolist()),
        z=np.concatenate([np.empty(0), *(query.z for query in decided)]),
        p_values=np.concatenate([np.empty(0), *(query.p_values for query in decided)]),
        report=report,
    )


class _PairOutcomes(NamedTuple):
    """The `PairOutcome` of every two documents of a query; of those kept the documents, shape (2, n), z and p value."""

    fates: Ints
    pairs: Ints
    z: Floats
    p_values: Floats


def _decided(query: QueryClicks, level: float, skip_above: bool) -> _PairOutcomes:
    pairwise, n_docs = Pairwise.of(query), query.documents.size
    z, p_values = pairwise.test(skip_above, np.ones((n_docs, n_docs), dtype=np.bool_), level)
    is_significant = p_values <= level / 2
    is_both = is_significant & is_significant.T
    is_kept = is_significant & ~is_both
    is_open = ~(is_significant | is_significant.T)
    # with the rule off nothing is left that the rule alone keeps out
    is_above = is_open & (pairwise.test(False, is_open, level)[1] <= level / 2)
    of_pairs = _fates(query, is_both, is_kept | is_kept.T, is_above | is_above.T)
    preferred, other = np.nonzero(is_kept)
    return _PairOutcomes(
        of_pairs[np.triu_indices(n_docs, 1)],
        np.stack((query.documents[preferred], query.documents[other])),
        z[preferred, other],
        2 * p_values[preferred, other],
    )


def _fates(query: QueryClicks, is_both: Bools, is_kept: Bools, is_above: Bools) -> Ints:
    """Return the `PairOutcome` of every two documents, shape (D, D)."""
    is_gone = ~query.is_left
    of_robots = is_gone & query.of_robots
    fates = {
        PairOutcome.ROBOTS: of_robots[:, None] | of_robots,
        PairOutcome.FEW_IMPRESSIONS: is_gone[:, None] | is_gone,
        PairOutcome.BOTH_WAYS: is_both,
        PairOutcome.KEPT: is_kept,
        PairOutcome.ABOVE: is_above,
    }
    return np.select(list(fates.values()), list(fates), PairOutcome.NOT_SIGNIFICANT).astype(np.int64)
