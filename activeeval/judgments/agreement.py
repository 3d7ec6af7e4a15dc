"""How far judges agree: on which of two items is better, and on grades; with intervals by the bootstrap over queries.

The tables are those of Niu, Guo, Lan and Cheng (SIGIR 2012): pairs of items over {A ≻ B, A ~ B, A ≺ B}, what one judge
says against what another does. Theirs are normalised by column where the text says by row; here both have their name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from activeeval.checks import strict_share, whole_number
from activeeval.errors import InputError
from activeeval.judgments.coded import Grades, Relations, every_two
from activeeval.judgments.coefficients import (
    METRICS,
    WEIGHTS,
    ChiSquared,
    alpha_of,
    chi_squared,
    coincidences,
    confusion,
    kappa_of,
)
from activeeval.types import Floats, Ints

Seed = np.random.Generator | int | None
Statistic = Callable[[Floats], float | None]

RELATIONS = ("A>B", "A~B", "A<B")


@dataclass(frozen=True, slots=True)
class Coefficient:
    """A coefficient of agreement; None is what is not defined.

    Attributes
    ----------
    value : float or None
    low, high : float or None
        Ends of the interval; None with one query, or where resamples leave the coefficient undefined.
    n : int
        Pairs of items, or items, that it rests on.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PreferenceAgreement:
    """How far judges agree on which of two items is better.

    Attributes
    ----------
    judges : tuple of str
    n_queries : int
        With a pair that two judges have in common.
    confidence : float
        Of the intervals.
    counts : ndarray of int64, shape (3, 3)
        Rows are what a judge says, columns what another does, as `RELATIONS`.
    overall : Coefficient
        Share of the pairs on which both say the same.
    strict : Coefficient
        The same of pairs on which both prefer one.
    """

    judges: tuple[str, ...]
    n_queries: int
    confidence: float
    counts: Ints
    overall: Coefficient
    strict: Coefficient

    @property
    def by_row(self) -> Floats:
        """P(column | row): what the second judge says, given the first; NaN in rows without a pair."""
        return _shares(self.counts, 1)

    @property
    def by_column(self) -> Floats:
        """P(row | column): what the first judge says, given the second; NaN in columns without a pair."""
        return _shares(self.counts, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kappas:
    """Cohen's κ of two judges, by its weights: none, linear, quadratic."""

    judges: tuple[str, str]
    by_weights: dict[str, Coefficient]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GradeAgreement:
    """How far judges agree on grades.

    Attributes
    ----------
    judges : tuple of str
    n_queries, n_items : int
        With an item that several judges graded; how many such items.
    confidence : float
        Of the intervals.
    alphas : dict of str to Coefficient
        Krippendorff's α by metric.
    kappas : tuple of Kappas
        Of every two judges with items in common.
    preferences : PreferenceAgreement or None
        Of the preferences that the grades imply; None where no query has two items in common.
    """

    judges: tuple[str, ...]
    n_queries: int
    n_items: int
    confidence: float
    alphas: dict[str, Coefficient]
    kappas: tuple[Kappas, ...]
    preferences: PreferenceAgreement | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreements:
    """How far judges agree on grades and on preferences.

    Attributes
    ----------
    grades : GradeAgreement or None
    preferences : PreferenceAgreement or None
        None where nobody has judged anything of the kind, or too few have.
    problems : tuple of str
        Why there is no answer of a kind of which there are judgments.
    """

    grades: GradeAgreement | None
    preferences: PreferenceAgreement | None
    problems: tuple[str, ...] = ()


def agreements(
    grades: Grades, relations: Relations, confidence: float = 0.95, n_resamples: int = 1000, rng: Seed = None
) -> Agreements:
    """Compare what judges say, grades and preferences each for themselves.

    Raises
    ------
    InputError
        Where neither can be compared; says why.
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
        raise InputError("; ".join(problems) or "there is no judge: agreement is of two or more")
    return Agreements(grades=by_grades, preferences=by_preferences, problems=tuple(problems))


def preference_agreement(
    relations: Relations, confidence: float = 0.95, n_resamples: int = 1000, rng: Seed = None
) -> PreferenceAgreement:
    """Compare what judges prefer.

    Raises
    ------
    InputError
        Where there is one judge alone, or no two have a pair in common.

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
    tables = relations.tables()
    tables = tables[tables.sum(axis=(1, 2)) > 0]
    if not tables.size:
        return None
    draws = _resamples(len(tables), confidence, n_resamples, rng)
    same, n_all = np.trace(tables, axis1=1, axis2=2), tables.sum(axis=(1, 2))
    both = tables[:, ::2, ::2]
    same_strict, n_strict = np.trace(both, axis1=1, axis2=2), both.sum(axis=(1, 2))
    return PreferenceAgreement(
        judges=relations.judges,
        n_queries=len(tables),
        confidence=confidence,
        counts=tables.sum(axis=0),
        overall=_coefficient(_share_of(same, n_all), draws, confidence, int(n_all.sum())),
        strict=_coefficient(_share_of(same_strict, n_strict), draws, confidence, int(n_strict.sum())),
    )


def grade_agreement(
    grades: Grades, confidence: float = 0.95, n_resamples: int = 1000, rng: Seed = None
) -> GradeAgreement:
    """Compare the grades that judges gave, as grades and by the preferences they imply.

    Raises
    ------
    InputError
        Where there is one judge alone, or no two have an item in common.
    """
    _check_judges(grades.judges)
    shared = grades.shared()
    if not shared.item.size:
        raise InputError("no two judges graded the same item, so there is nothing to compare")
    queries, query = np.unique(shared.query, return_inverse=True)
    values, code = np.unique(shared.grade, return_inverse=True)
    items, first, item = np.unique(shared.item, return_index=True, return_inverse=True)
    random = np.random.default_rng(rng)
    draws = _resamples(queries.size, confidence, n_resamples, random)
    counts = np.zeros((items.size, values.size))
    np.add.at(counts, (item, code), 1)
    alphas = {
        metric: _coefficient(_alpha(counts, query[first], values, metric), draws, confidence, items.size)
        for metric in METRICS
    }
    return GradeAgreement(
        judges=grades.judges,
        n_queries=queries.size,
        n_items=items.size,
        confidence=confidence,
        alphas=alphas,
        kappas=tuple(_kappas(shared, query, code, values, draws, confidence)),
        preferences=_preference_agreement(shared.relations(), confidence, n_resamples, random),
    )


def compare_agreement(
    first: PreferenceAgreement, second: PreferenceAgreement, *, strict: bool = False
) -> ChiSquared | None:
    """Compare by χ² how often the judges of two methods say the same, of all pairs or of strict preferences alone."""
    sides = []
    for agreement in (first, second):
        counts = agreement.counts[::2, ::2] if strict else agreement.counts
        sides += [int(np.trace(counts)), int(counts.sum())]
    return chi_squared(*sides)


def _check_judges(judges: Sequence[str]) -> None:
    if len(judges) < 2:
        held = f"there is one judge alone, {judges[0]!r}" if judges else "there is no judge"
        raise InputError(f"{held}: agreement is of two or more")


def _shares(counts: Ints, axis: int) -> Floats:
    sums = counts.sum(axis=axis, keepdims=True)
    shares: Floats = np.divide(counts, sums, out=np.full((3, 3), np.nan), where=sums > 0)
    return shares


def _share_of(same: Ints, n: Ints) -> Statistic:
    def share(times: Floats) -> float | None:
        total = times @ n
        return float(times @ same / total) if total else None

    return share


def _alpha(counts: Floats, query: Ints, values: Floats, metric: str) -> Statistic:
    return lambda times: alpha_of(coincidences(counts, times[query]), values, metric)


def _kappas(grades: Grades, query: Ints, code: Ints, values: Floats, draws: Floats, confidence: float) -> list[Kappas]:
    kappas = []
    for mine, theirs in every_two(grades.judge):
        shared, here, there = np.intersect1d(grades.item[mine], grades.item[theirs], True, return_indices=True)
        if not shared.size:
            continue
        rows, columns = mine[here], theirs[there]
        by_weights = {
            weights: _coefficient(
                _kappa(code[rows], code[columns], query[rows], values, weights), draws, confidence, shared.size
            )
            for weights in WEIGHTS
        }
        names = grades.judges[grades.judge[mine[0]]], grades.judges[grades.judge[theirs[0]]]
        kappas.append(Kappas(judges=names, by_weights=by_weights))
    return kappas


def _kappa(first: Ints, second: Ints, query: Ints, values: Floats, weights: str) -> Statistic:
    return lambda times: kappa_of(confusion(first, second, values.size, times[query]), values, weights)


def _resamples(n_queries: int, confidence: float, n_resamples: int, rng: Seed) -> Floats:
    """Return how often each query is drawn, shape (n_resamples, n_queries)."""
    strict_share(confidence, "confidence")
    n_resamples = whole_number(n_resamples, "n_resamples", 1)
    random = np.random.default_rng(rng)
    return random.multinomial(n_queries, np.full(n_queries, 1 / n_queries), size=n_resamples).astype(np.float64)


def _coefficient(statistic: Statistic, draws: Floats, confidence: float, n: int) -> Coefficient:
    n_queries = draws.shape[1]
    value = statistic(np.ones(n_queries))
    resampled = [statistic(times) for times in draws] if value is not None and n_queries > 1 else [None]
    defined = [resample for resample in resampled if resample is not None]
    if len(defined) < len(resampled):
        return Coefficient(value, None, None, n)
    low, high = np.quantile(defined, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Coefficient(value, float(low), float(high), n)
