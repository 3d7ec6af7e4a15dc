"""Results of computations: frozen values, independent of files, plots and tables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field

from activeeval.core.interval_ends import UNLIMITED, IntervalBasis, Shares
from activeeval.core.types import Floats


@dataclass(frozen=True, slots=True)
class Interval:
    """A two-sided interval ``[low, high]`` at a ``confidence``; it unpacks into ``low, high``.

    Examples
    --------
    >>> low, high = Interval(0.1, 0.3, confidence=0.95)
    >>> low, high
    (0.1, 0.3)
    """

    low: float
    high: float
    confidence: float

    def __iter__(self) -> Iterator[float]:
        """Yield low and high, without the confidence."""
        return iter((self.low, self.high))


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """First two moments of a measure (or of a difference) per query under a grade model.

    Attributes
    ----------
    mean, second, variance : ndarray, shape (n_queries,)
        E[L | x], E[L² | x] and Var[L | x]. The variance is computed without subtracting the
        squared mean wherever the program allows; second = variance + mean² up to rounding.

    Examples
    --------
    >>> from activeeval import DCG, QueryPool, Rankings
    >>> pool = QueryPool(["q1", "q2"], [0, 2, 4], list("abab"))
    >>> probs = [[0.5, 0.5], [1, 0], [0, 1], [1, 0]]
    >>> moments = DCG("linear").moments(pool, probs, Rankings.from_scores(pool, [2, 1, 2, 1]))
    >>> print(moments.mean, moments.variance)
    [0.5 1. ] [0.25 0.  ]
    """

    mean: Floats
    second: Floats
    variance: Floats


def rounded_up(number: float) -> int:
    """Round a budget or a count up to the next whole number, ignoring floating-point errors.

    Examples
    --------
    >>> rounded_up(242.3), rounded_up(243.0000000001)
    (243, 243)
    """
    return math.ceil(number - 1e-6)


LEVELS = ("note", "warning", "severe warning")
"""Levels of cautions: no action needed; action needed; the number is no basis for a decision."""
FEWEST_QUERIES, LARGEST_SHARE = 10.0, 0.4
"""Effective queries below which, and share of the variance of one query above which, an answer mentions them."""
MORE_SPREAD = 10.0
"""Ratio of V̂ to the planned variance above which a note reports that the model is of little use."""


Told = float | int | str | None | tuple["Told", ...]
"""Values in notes and cautions."""


@dataclass(frozen=True, slots=True)
class Note:
    """A note on a step, as data; `activeeval.report.message_lookup` formats the sentence.

    Attributes
    ----------
    code : str
        Topic in a few words, independent of the numbers.
    numbers : mapping of str to number, str or tuple of them
        Values in the sentence, by name.

    Examples
    --------
    >>> print(Note("missing queries", {"n": 2, "name": "a.run"}))
    missing queries (n 2, name a.run)
    """

    code: str
    numbers: Mapping[str, Told] = field(default_factory=dict, hash=False)

    def __str__(self) -> str:
        """Format the code and the numbers, for tests and logs."""
        return self.code + _listed(self.numbers)


@dataclass(frozen=True, slots=True)
class Caution:
    """A note or warning on an estimate, as data; `activeeval.report.message_lookup` formats the sentence.

    Attributes
    ----------
    level : {"note", "warning", "severe warning"}
    code : str
        Topic in one or two words, independent of the numbers.
    numbers : mapping of str to number, str or tuple of them
        Values in the sentence, by name.

    Examples
    --------
    >>> print(Caution("note", "early", {"share": 0.5}))
    note: early (share 0.5)
    """

    level: str
    code: str
    numbers: Mapping[str, Told] = field(default_factory=dict, hash=False)

    def __str__(self) -> str:
        """Format level, code and numbers, for tests and logs."""
        return f"{self.level}: {self.code}{_listed(self.numbers)}"


_LIKELY_MISTAKES = ("rising scores",)
"""Codes of notes on inputs that are likely mistakes."""


def _of_input(note: Note | Caution) -> Caution:
    """Convert a note on the input into a caution of level "warning" if the input is likely a mistake, else "note"."""
    if isinstance(note, Caution):
        return note
    level = "warning" if note.code in _LIKELY_MISTAKES else "note"
    return Caution(level, "input", {"note": note.code, **note.numbers})


def _listed(numbers: Mapping[str, Told]) -> str:
    """Format the numbers of a note as `` (name value, …)``; "" if there are none."""
    parts = (
        f"{name} {value:.6g}" if isinstance(value, float) else f"{name} {value}" for name, value in numbers.items()
    )
    return f" ({', '.join(parts)})" if numbers else ""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure and its standard error; NaN if that is unknown.

    Examples
    --------
    >>> share = Figure(0.25, se=0.05)
    >>> f"{share.value} ± {share.se}", Figure(0.25).se
    ('0.25 ± 0.05', nan)
    """

    value: float
    se: float = math.nan


@dataclass(frozen=True, slots=True, kw_only=True)
class Unjudgeable:
    """Items of a sample that could not be judged.

    Attributes
    ----------
    n_items : int
    low, high : float
        The estimate with each such item at the grade that minimizes, and that maximizes, the target.
    treated : str
        Treatment in the estimate itself: ``as predicted`` by the grade model, or ``as no gain`` without one.

    Examples
    --------
    >>> cannot = Unjudgeable(n_items=1, low=1.0, high=1.3, treated="as no gain")
    >>> f"{cannot.n_items} cannot be judged, so the value lies in {cannot.low} to {cannot.high}"
    '1 cannot be judged, so the value lies in 1.0 to 1.3'
    """

    n_items: int
    low: float
    high: float
    treated: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """An estimated performance, or difference of two, with its cost.

    Attributes
    ----------
    value, std_error : float
        The estimate and its standard error, in the unit of the measure. The standard error is
        infinite if the sample does not determine it (too few queries, or none that differs from its
        prediction), 0 if nothing was left to chance.
    degrees_of_freedom : float
        Of the t quantile that `interval` uses: far below the number of open queries if few of them dominate.
    n_open : int
        Number of judged queries selected by chance (with replacement: of draws), behind the degrees of freedom.
    n_draws, n_queries, n_items : int
        Numbers of draws, of distinct judged queries, and of distinct judged items, unjudgeable ones included.
    cost : float
        Cost of the judgments, in mean items of the pool.
    method : str
        Name of the method.
    scope : str
        Scope of the interval: the ``pool`` (the value if all of it were judged), or the ``population`` of queries of
        which the pool is a sample.
    log : str
        The log whose traffic is the population, if the queries were drawn from one.
    share : float
        Share of the planned budget judged so far; below 1 for an early reading.
    cannot : Unjudgeable or None
        Items that could not be judged.
    effective_sample_size : float or None
        n = Ŝ² / V̂, Ŝ² the estimated variance of the value between queries and V̂ that of the estimate for the pool: as
        precise as n random queries judged whole (`activeeval.core.estimation.effective`). None if nothing was left
        to chance, or if the sample does not determine it.
    size_unknown : str
        Why n is unknown: ``chunks`` for a pool in chunks, ``too few`` if too few queries were judged to estimate the
        variance between queries; "" if known. Reported with the cautions.
    observed_error : float or None
        The standard error for the pool observed in the sample alone; infinite without any spread. `std_error` is
        larger if the design planned for more.
    planned_error : float or None
        The standard error that the design planned at the level reached; None without a plan.
    limits : tuple of float
        Lowest and highest possible value of the measure; by chance the estimate itself may exceed them.
    shares : Shares or None
        Distribution of the queries' values around the most frequent, if all are judged.
    inner : IntervalBasis or None
        For the scope ``population``: basis of the interval for the pool, which lies within this one on each side.
    largest : float
        Largest share of the variance due to one judged query.
    notes : tuple of Note
        Parts of the input left out before the estimate; reported with the cautions.
    concerns : tuple of Caution
        Further warnings about the sample; reported with the cautions.

    Examples
    --------
    >>> e = Estimate(value=2.5, std_error=0.1, degrees_of_freedom=29, n_open=30, n_draws=30, n_queries=28, n_items=300,
    ...              cost=300.0, method="active")
    >>> round(e.interval(0.95).low, 3), round(e.interval(0.95).high, 3), e.cautions
    (2.295, 2.705, ())
    """

    value: float
    std_error: float
    degrees_of_freedom: float
    n_open: int
    n_draws: int
    n_queries: int
    n_items: int
    cost: float
    method: str
    scope: str = "pool"
    log: str = ""
    share: float = 1.0
    cannot: Unjudgeable | None = None
    effective_sample_size: float | None = None
    size_unknown: str = ""
    observed_error: float | None = None
    planned_error: float | None = None
    limits: tuple[float, float] = UNLIMITED
    shares: Shares | None = None
    inner: IntervalBasis | None = None
    largest: float = 0.0
    notes: tuple[Note | Caution, ...] = field(default=(), compare=False)
    concerns: tuple[Caution, ...] = field(default=(), compare=False)

    @property
    def n_judged(self) -> int:
        """Number of items with a grade: those of the sample without unjudgeable ones."""
        return self.n_items - (0 if self.cannot is None else self.cannot.n_items)

    @property
    def spread_ratio(self) -> float | None:
        """Ratio of the observed variance to the planned one; None if unknown, or if no query was selected by chance."""
        seen, planned = self.observed_error, self.planned_error
        if seen is None or planned is None or not (math.isfinite(seen) and planned > 0 and self.n_open):
            return None
        return (seen / planned) ** 2

    @property
    def cautions(self) -> tuple[Caution, ...]:
        """Notes and warnings about the estimate, the most severe first."""
        cautions = [*self._of_spread(), *self.concerns, *map(_of_input, self.notes)]
        if self.share < 1:
            cautions.append(Caution("note", "early", {"share": self.share}))
        if self.cannot is not None:
            cautions.append(Caution("note", "cannot", asdict(self.cannot)))
        if self.size_unknown:
            cautions.append(Caution("note", "size", {"why": self.size_unknown}))
        return tuple(sorted(cautions, key=lambda caution: -LEVELS.index(caution.level)))

    @property
    def is_supported(self) -> bool:
        """True if there is no severe warning."""
        return all(caution.level != "severe warning" for caution in self.cautions)

    def _of_spread(self) -> list[Caution]:
        """Collect warnings about the observed spread: none observed, unknown, or far larger than planned."""
        if math.isinf(self.std_error):
            return [Caution("severe warning", "unbounded")]
        if self.observed_error is not None and math.isinf(self.observed_error):
            return [Caution("severe warning", "no spread", {"n_open": self.n_open})]
        cautions, ratio = [], self.spread_ratio
        errors = {"std_error": self.observed_error, "planned": self.planned_error}
        if ratio is not None and ratio > MORE_SPREAD:
            cautions.append(Caution("note", "more spread", errors))
        return cautions

    @property
    def effective_queries(self) -> float | None:
        """Effective number of queries of equal influence, degrees of freedom + 1; None from 10 or `n_queries` on."""
        if not self.n_open or not 0 < self.std_error < math.inf:
            return None
        effective = max(self.degrees_of_freedom, 1.0) + 1
        return effective if effective < min(FEWEST_QUERIES, self.n_queries) else None

    @property
    def largest_share(self) -> float | None:
        """Largest share of the variance due to one query, if above `LARGEST_SHARE`; else None."""
        return self.largest if self.largest > LARGEST_SHARE and self.n_queries > 1 else None

    @property
    def basis(self) -> IntervalBasis:
        """Collect what the estimate's interval and p value are computed from."""
        return IntervalBasis(
            value=self.value,
            std_error=self.std_error,
            degrees_of_freedom=self.degrees_of_freedom,
            limits=self.limits,
            shares=self.shares,
            inner=self.inner,
        )

    @property
    def p_value(self) -> float:
        """Smallest α whose `interval` excludes 0."""
        return self.basis.p_value

    def bounds(self, interval: Interval) -> tuple[float, float]:
        """Widen an interval by the possible effect of items that could not be judged, within the limits of the measure.

        `cannot` has the estimates with these items at their worst and best grades. Returns ``(low, high)``.
        """
        if self.cannot is None:
            return interval.low, interval.high
        below, above = max(self.value - self.cannot.low, 0.0), max(self.cannot.high - self.value, 0.0)
        return max(interval.low - below, self.limits[0]), min(interval.high + above, self.limits[1])

    def interval(self, confidence: float = 0.95) -> Interval:
        """Compute the default interval at a confidence; see `activeeval.core.interval_ends`.

        Raises
        ------
        InputError
            If the confidence does not lie strictly between 0 and 1.
        """
        return Interval(*self.basis.ends(confidence), confidence)
