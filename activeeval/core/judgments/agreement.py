"""Agreement between judges on preferences and on grades, with intervals by the bootstrap over queries.

The tables are those of Niu, Guo, Lan and Cheng (SIGIR 2012): pairs of items by the answers of two judges, each in
{A ≻ B, A ~ B, A ≺ B}. The paper normalises rows in its text, but columns in its tables; here both forms have a name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from activeeval.core.errors import InputError
from activeeval.core.judgments.coded_grades import CodedGrades, Relations, every_two
from activeeval.core.judgments.coefficient_intervals import (
    Coefficient,
    Seed,
    Statistic,
    coefficient,
    compared,
    mean_difference,
    resamples,
)
from activeeval.core.judgments.coefficients import (
    METRICS,
    WEIGHTS,
    ChiSquared,
    ac_of,
    alpha_of,
    chi_squared,
    coincidences,
    confusion,
    kappa_of,
    raw_agreement,
)
from activeeval.core.types import Floats, Ints

RELATIONS = ("A>B", "A~B", "A<B")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PreferenceAgreement:
    """Agreement between judges on the better of two items.

    Attributes
    ----------
    judges : tuple of str
    n_queries : int
        Number of queries with a pair that two judges compared.
    confidence : float
        Confidence level of the intervals.
    counts : ndarray of int64, shape (3, 3)
        Number of pairs by the answer of one judge (row) and of another (column), in the order of `RELATIONS`.
    overall, strict : Coefficient
        Share of pairs with the same answer from both judges: of all pairs, and of those without a tie.
    """

    judges: tuple[str, ...]
    n_queries: int
    confidence: float
    counts: Ints
    overall: Coefficient
    strict: Coefficient

    @property
    def by_row(self) -> Floats:
        """P(column | row): distribution of the second judge's answer given the first's; NaN in empty rows."""
        return _shares(self.counts, 1)

    @property
    def by_column(self) -> Floats:
        """P(row | column): distribution of the first judge's answer given the second's; NaN in empty columns."""
        return _shares(self.counts, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class PairAgreement:
    """Agreement between two judges on grades.

    Attributes
    ----------
    judges : tuple of str
    kappas : dict of str to Coefficient
        Cohen's κ by weights: none, linear, quadratic.
    difference : Coefficient
        Mean of the first judge's grade minus the second's.
    grades : tuple of float
        Distinct grades of all judges, rising.
    counts : tuple of tuple of int
        Number of items by the grade of the first judge (row) and of the second (column).
    """

    judges: tuple[str, str]
    kappas: dict[str, Coefficient]
    difference: Coefficient
    grades: tuple[float, ...]
    counts: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GradeAgreement:
    """Agreement between judges on grades.

    Attributes
    ----------
    judges : tuple of str
    n_queries, n_items : int
        Number of items graded by several judges, and of queries with such an item.
    n_alike : int
        Number of items with the same grade from all their judges.
    common_grade : float
        Most frequent of the compared grades (the lowest if tied); the base rate is its share.
    confidence : float
        Confidence level of the intervals.
    alphas : dict of str to Coefficient
        Krippendorff's α by metric.
    acs : dict of str to Coefficient
        Gwet's AC1 (weights none) and AC2 by weights. Grade frequencies are estimated from all graded items.
    pairs : tuple of PairAgreement
        One entry for every two judges with common items.
    preferences : PreferenceAgreement or None
        Agreement on the preferences that the grades imply; None if no query has two common items.
    """

    judges: tuple[str, ...]
    n_queries: int
    n_items: int
    n_alike: int
    common_grade: float
    confidence: float
    alphas: dict[str, Coefficient]
    acs: dict[str, Coefficient]
    pairs: tuple[PairAgreement, ...]
    preferences: PreferenceAgreement | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreements:
    """Agreement between judges on grades and on preferences.

    Attributes
    ----------
    grades : GradeAgreement or None
    preferences : PreferenceAgreement or None
        None if there are no judgments of the kind, or too few.
    problems : tuple of str
        For each kind with judgments but without a result: the reason.
    """

    grades: GradeAgreement | None
    preferences: PreferenceAgreement | None
    problems: tuple[str, ...] = ()


def agreements(
    grades: CodedGrades, relations: Relations, confidence: float = 0.95, n_resamples: int = 1000, rng: Seed = None
) -> Agreements:
    """Compute the agreement between judges, separately for grades and for preferences between items (``relations``).

    Either table may be empty. Intervals are by a bootstrap of ``n_resamples`` draws of the queries with seed ``rng``.
    Raises InputError, with the reasons, if neither kind can be compared.
    """
    problems: list[str] = []
    by_grades = by_preferences = None
    try:
        by_grades = grade_agreement(grades, confidence, n_resamples, rng) if grades.judges else None
    except InputError as problem:
        problems.append(f"grades: {problem}")
    try:
        by_preferences = preference_agreement(relations, confidence, n_resamples, rng) if relations.judges else None
    except InputError as problem:
        problems.append(f"preferences: {problem}")
    if by_grades is None and by_preferences is None:
        raise InputError("; ".join(problems) or "there is no judge: agreement needs at least two")
    return Agreements(grades=by_grades, preferences=by_preferences, problems=tuple(problems))


def preference_agreement(
    relations: Relations, confidence: float = 0.95, n_resamples: int = 1000, rng: Seed = None
) -> PreferenceAgreement:
    """Compute the agreement between judges on preferences: the share of pairs of items with equal answers.

    Intervals with level ``confidence`` are by ``n_resamples`` bootstrap draws of queries with seed ``rng``. Raises
    InputError if there is only one judge, or no two judges compared the same pair.

    Examples
    --------
    >>> rows = [("ann", "q", "a", "b", False), ("bob", "q", "b", "a", False),
    ...         ("ann", "q", "a", "c", False), ("bob", "q", "a", "c", False)]
    >>> preference_agreement(Relations.of(rows)).overall.value
    0.5
    """
    _check_judges(relations.judges)
    agreement = _preference_agreement(relations, confidence, n_resamples, rng)
    if agreement is None:
        raise InputError("no two judges have a pair of items in common, so there is nothing to compare")
    return agreement


def _preference_agreement(
    relations: Relations, confidence: float, n_resamples: int, rng: Seed
) -> PreferenceAgreement | None:
    """Compute the shares of pairs that two judges answer alike, with bootstrap intervals; None if no pair has two."""
    tables = relations.tables()
    tables = tables[tables.sum(axis=(1, 2)) > 0]
    if not tables.size:
        return None
    draws = resamples(len(tables), confidence, n_resamples, rng)

    def share(counts: Ints) -> Coefficient:
        """Compute the share of equal answers, with interval, from tables (n_queries, k, k) of two judges' answers."""
        same, n = np.trace(counts, axis1=1, axis2=2), counts.sum(axis=(1, 2))
        return coefficient(_share_of(same, n), draws, confidence, *compared(counts.sum(axis=0)))

    return PreferenceAgreement(
        judges=relations.judges,
        n_queries=len(tables),
        confidence=confidence,
        counts=tables.sum(axis=0),
        overall=share(tables),
        strict=share(tables[:, ::2, ::2]),  # without the ties in the middle
    )


def grade_agreement(
    grades: CodedGrades, confidence: float = 0.95, n_resamples: int = 1000, rng: Seed = None
) -> GradeAgreement:
    """Compute the agreement between judges on grades, and on the preferences that the grades imply.

    Intervals with level ``confidence`` are by ``n_resamples`` bootstrap draws of queries with seed ``rng``. Raises
    InputError if there is only one judge, or no two judges graded the same item.
    """
    _check_judges(grades.judges)
    shared = grades.shared()
    if not shared.item.size:
        raise InputError("no two judges graded the same item, so there is nothing to compare")
    queries, query = np.unique(shared.query, return_inverse=True)
    values = np.unique(grades.grade)
    code = np.searchsorted(values, shared.grade)
    items, first, item = np.unique(shared.item, return_index=True, return_inverse=True)  # first: a row of each
    random = np.random.default_rng(rng)
    draws = resamples(queries.size, confidence, n_resamples, random)
    counts = np.zeros((items.size, values.size))  # number of judges of each shared item by grade
    np.add.at(counts, (item, code), 1)
    is_alone = ~np.isin(grades.item, items)  # grades of items with one judge
    alone = np.bincount(np.searchsorted(values, grades.grade[is_alone]), minlength=values.size).astype(np.float64)
    by_grade = counts.sum(axis=0)
    common_fields = items.size, raw_agreement(counts), float(by_grade.max() / by_grade.sum())  # the last: base rate
    alphas = {
        metric: coefficient(_alpha(counts, query[first], values, metric), draws, confidence, *common_fields)
        for metric in METRICS
    }
    acs = {
        weights: coefficient(_ac(counts, query[first], values, weights, alone), draws, confidence, *common_fields)
        for weights in WEIGHTS
    }
    return GradeAgreement(
        judges=grades.judges,
        n_queries=queries.size,
        n_items=items.size,
        n_alike=int((counts.max(axis=1) == counts.sum(axis=1)).sum()),
        common_grade=float(values[by_grade.argmax()]),
        confidence=confidence,
        alphas=alphas,
        acs=acs,
        pairs=tuple(_pairs(shared, query, code, values, draws, confidence, random)),
        preferences=_preference_agreement(shared.relations(), confidence, n_resamples, random),
    )


def compare_agreement(
    first: PreferenceAgreement, second: PreferenceAgreement, *, strict: bool = False
) -> ChiSquared | None:
    """Test by χ² whether the judges of two methods agree equally often, on all pairs or on strict preferences.

    None if a method has no pairs, or all or none of the pairs agree.
    """
    sides = []
    for agreement in (first, second):
        counts = agreement.counts[::2, ::2] if strict else agreement.counts  # strict: without the ties in the middle
        sides += [int(np.trace(counts)), int(counts.sum())]
    return chi_squared(*sides)


def _check_judges(judges: Sequence[str]) -> None:
    """Raise InputError if there are fewer than two judges."""
    if len(judges) < 2:
        problem = f"there is only one judge, {judges[0]!r}" if judges else "there is no judge"
        raise InputError(f"{problem}: agreement needs at least two")


def _shares(counts: Ints, axis: int) -> Floats:
    """Divide a 3 × 3 table by its sums along an axis; NaN where a sum is 0."""
    sums = counts.sum(axis=axis, keepdims=True)
    return np.asarray(np.divide(counts, sums, out=np.full((3, 3), np.nan), where=sums > 0))


def _share_of(same: Ints, n: Ints) -> Statistic:
    """Build the statistic Σ same / Σ n over queries (n_queries,), given how often each counts; None without a pair."""

    def share(times: Floats) -> float | None:
        """Compute the share for queries that count ``times`` (n_queries,) times; None if no pair is left."""
        total = times @ n
        return float(times @ same / total) if total else None

    return share


def _alpha(counts: Floats, query: Ints, values: Floats, metric: str) -> Statistic:
    """Build Krippendorff's α, by a metric of `METRICS`, as a function of how often each query counts (n_queries,).

    ``counts`` (n_items, n_values): number of judges by grade of ``values``; ``query`` (n_items,): the item's query.
    """
    return lambda times: alpha_of(coincidences(counts, times[query]), values, metric)


def _ac(counts: Floats, query: Ints, values: Floats, weights: str, alone: Floats) -> Statistic:
    """Build Gwet's AC as a function of how often each query counts; ``weights`` is a key of `WEIGHTS`.

    ``counts`` (n_items, n_values): number of judges by grade; ``query`` (n_items,): index of the item's query;
    ``values``: the grades; ``alone`` (n_values,): number of items with a single grade, by grade.
    """
    return lambda times: ac_of(counts, values, weights, alone, times[query])


def _pairs(
    grades: CodedGrades,
    query: Ints,
    code: Ints,
    values: Floats,
    draws: Floats,
    confidence: float,
    rng: np.random.Generator,
) -> list[PairAgreement]:
    """Compute κ and the mean grade difference of every two judges with common items.

    ``query`` and ``code`` are the indices of each grade's query and of its value in ``values``; ``draws`` (n_resamples,
    n_queries) are bootstrap samples of the queries.
    """
    pairs = []
    seed = int(rng.integers(1 << 62))  # a common seed, so that two pairs with equal judgments have equal intervals
    for mine, theirs in every_two(grades.judge):
        shared, *places = np.intersect1d(grades.item[mine], grades.item[theirs], True, return_indices=True)
        if not shared.size:
            continue
        rows, columns = mine[places[0]], theirs[places[1]]
        first, second = code[rows], code[columns]
        counts = confusion(first, second, values.size)
        common_fields = n, raw, base_rate = compared(counts)
        kappas = {
            weights: coefficient(_kappa(first, second, query[rows], values, weights), draws, confidence, *common_fields)
            for weights in WEIGHTS
        }
        gaps = grades.grade[rows] - grades.grade[columns]
        value, low, high = mean_difference(gaps, query[rows], confidence, len(draws), np.random.default_rng(seed))
        difference = Coefficient(value=value, low=low, high=high, n=n, raw_agreement=raw, base_rate=base_rate)
        judges = grades.judges[grades.judge[mine[0]]], grades.judges[grades.judge[theirs[0]]]
        table = tuple(tuple(map(int, row)) for row in counts.tolist())
        levels = tuple(values.tolist())
        pairs.append(PairAgreement(judges=judges, kappas=kappas, difference=difference, grades=levels, counts=table))
    return pairs


def _kappa(first: Ints, second: Ints, query: Ints, values: Floats, weights: str) -> Statistic:
    """Build Cohen's κ of two judges, with weights of `WEIGHTS`, as a function of how often each query counts.

    ``first``, ``second`` (n_items,): indices of their grades in ``values``; ``query`` (n_items,): index of the query.
    """
    return lambda times: kappa_of(confusion(first, second, values.size, times[query]), values, weights)
