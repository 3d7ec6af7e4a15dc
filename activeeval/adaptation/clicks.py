"""Preferences between documents from a click log (Chen, Zhang, Zheng, Zha and Sun, Adapting ranking
functions to user preference).

Of two documents of a query, the one with significantly more clicks is preferred, if its position cannot explain the
difference. Users see the top of a list more often. A document that is clicked more often although it is below another,
or at the same position, is preferred to it (Skip-Above: users who click it have skipped the other). More clicks at a
higher position prove nothing.

A document may be shown at several positions. Two documents are compared in two ways, on the rows that pass cleaning:

- level: their rows at the same positions, each position a stratum, summed over strata;
- mains: the row of each at its most frequent position (in ties the uppermost), if these positions differ and the
  document whose preference is tested is lower.

Which ways exist does not depend on the clicks, and in none is the preferred document higher. So if examination does
not rise down the list, and both documents are equally attractive where examined, each way gives a false preference
with a probability of at most its level. With k ways for a preference, each is tested at level/(2k): both preferences
together have a probability of at most the level.

Clicks of different rows are treated as independent. If a visit ends with its first click, those of the same visit are
not: the z of two documents of the same rate r then has variance 1 / (1 − r) rather than 1, and a level of 5 % becomes
6 % at r = 0.1 and 10 % at r = 0.3, unless position bias lowers it.
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
    """Outcome of the comparison of two documents of a query; `ClickReport` explains the names."""

    KEPT = 0
    FEW_IMPRESSIONS = 1
    ROBOTS = 2
    NOT_SIGNIFICANT = 3
    ABOVE = 4
    BOTH_WAYS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ClickReport:
    """Numbers of kept and excluded rows and pairs; `activeeval.adaptation.messages.click_lines` formats them.

    Attributes
    ----------
    level : float
        Significance level of the test of a pair.
    rules : CleaningRules
        Rules that excluded rows.
    skip_above : bool
        True if no document is preferred to one at a position above it.
    n_queries : int
    rows : dict of RowOutcome to int
        Number of rows of the log by outcome.
    pairs : dict of PairOutcome to int
        Number of pairs of documents of the same query by outcome. ``ROBOTS`` and ``FEW_IMPRESSIONS``: one document has
        no rows left, because some were attributed to robots or because all had too few impressions. ``ABOVE``: the
        difference is significant only if a document may be preferred to a lower one. ``BOTH_WAYS``: significant
        preferences in both directions, at different positions.
    """

    level: float
    rules: CleaningRules
    skip_above: bool
    n_queries: int
    rows: dict[RowOutcome, int]
    pairs: dict[PairOutcome, int]

    @property
    def n_rows(self) -> int:
        """Number of rows of the log."""
        return sum(self.rows.values())

    @property
    def n_possible(self) -> int:
        """Number of pairs of documents of the same query in the log."""
        return sum(self.pairs.values())

    @property
    def n_tested(self) -> int:
        """Number of pairs with counts to compare; under equal rates, a share of at most `level` is significant."""
        return self.n_possible - self.pairs[PairOutcome.FEW_IMPRESSIONS] - self.pairs[PairOutcome.ROBOTS]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClickPreferences:
    """Pairs of documents with a significant preference, sorted by query, preferred and other.

    Attributes
    ----------
    query_ids, preferred, other : Texts, shape (n,)
        Ids by pair. Two documents occur once, in one direction.
    z : ndarray of float64, shape (n,)
        Test statistic of the way of comparing (see the module) with the smallest p-value; positive.
    p_values : ndarray of float64, shape (n,)
        Two-sided p-value of that way times the number of ways, at most the level: twice the probability of such a z or
        more, or, for small counts, of such a count or more, if the rates are equal.
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
        """Convert the pairs to the rows that `activeeval.formats.comparisons.write_comparisons` writes."""
        columns = (column.tolist() for column in (self.query_ids, self.preferred, self.other))
        return [Comparison(*row) for row in zip(*columns, strict=True)]


def preferences_from_clicks(
    log: ClickLog, level: float = 0.05, *, skip_above: bool = True, rules: CleaningRules | None = None
) -> ClickPreferences:
    """Find the pairs of documents of a query whose click rates differ significantly.

    Two documents of a query are compared on their rows at the same positions, and on the row of each at its most
    frequent position, if the preferred one is lower there; position bias then cannot explain the preference. Time and
    memory are quadratic in the number of documents of a query.

    Parameters
    ----------
    log : ClickLog
    level : float
        Level of the two-sided test of every pair, not of all pairs together.
    skip_above : bool
        True: a document is not preferred to another at a position above it. False: position bias alone can cause a
        preference.
    rules : CleaningRules, optional
        Rules that exclude rows with few impressions or clicks of robots.

    Raises
    ------
    InputError
        If the level is not strictly between 0 and 1.

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
    by_query = [_decided(query, level, skip_above) for query in table.each()]
    fates = np.concatenate([np.empty(0, np.int64), *(query.fates for query in by_query)])
    pairs = np.concatenate([np.empty((2, 0), np.int64), *(query.pairs for query in by_query)], axis=1)
    report = ClickReport(
        level=level,
        rules=rules,
        skip_above=skip_above,
        n_queries=len(by_query),
        rows={fate: int((table.fates == fate).sum()) for fate in RowOutcome},
        pairs={fate: int((fates == fate).sum()) for fate in PairOutcome},
    )
    return ClickPreferences(
        query_ids=Texts.from_list(np.repeat(table.query_names, [query.z.size for query in by_query]).tolist()),
        preferred=Texts.from_list(table.doc_names[pairs[0]].tolist()),
        other=Texts.from_list(table.doc_names[pairs[1]].tolist()),
        z=np.concatenate([np.empty(0), *(query.z for query in by_query)]),
        p_values=np.concatenate([np.empty(0), *(query.p_values for query in by_query)]),
        report=report,
    )


class _PairOutcomes(NamedTuple):
    """Results of one query: `PairOutcome` of all its pairs, and of its n preferences the documents, z and p-values.

    `pairs`, shape (2, n), has the numbers of the preferred and the other document.
    """

    fates: Ints
    pairs: Ints
    z: Floats
    p_values: Floats


def _decided(query: QueryClicks, level: float, skip_above: bool) -> _PairOutcomes:
    """Test all pairs of documents of a query and classify them by outcome.

    `level` is that of the two-sided test; with `skip_above` no document is preferred to one at a position above it.
    """
    pairwise, n_docs = Pairwise.of(query), query.documents.size
    # shape (n_docs, n_docs), one-sided: more clicks on the row's document than on the column's
    z, p_values = pairwise.test(skip_above, np.ones((n_docs, n_docs), dtype=np.bool_), level)
    is_significant = p_values <= level / 2  # the p-values count the ways of comparing already
    is_both = is_significant & is_significant.T
    is_kept = is_significant & ~is_both
    is_open = ~(is_significant | is_significant.T)
    # pairs significant only without the Skip-Above rule
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
    """Classify all pairs of D documents of a query by `PairOutcome`, shape (D, D).

    The masks, shape (D, D), mark pairs preferred both ways, kept, and significant only without the Skip-Above rule.
    """
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
