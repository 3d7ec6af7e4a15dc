"""Variance that the draw of a pool's queries from a log adds to an estimate for the log.

Queries are sampled twice. First, the pool's queries are drawn from the log, in strata h, each with probability π. Then
some of them are judged, as a sample of the pool. Given the first draw, the second estimates the pool's performance with
the variance V̂, and

    Var R̂ = E[V] + Var(Σ P m),                                                        P the pool's weights of queries,

where m is a query's value. Priority sampling within strata has no covariances, so for weights P = p/π

    Σ (1 − π) P² m²

over the pool is unbiased for the second term. For a judged query, y is an unbiased estimate of m with an unbiased
variance estimate s, and a is the probability that the second draw includes the query:

    A = Σ_judged (1 − π) P² / a (y² − s)

is unbiased for it too. Here, P are known shares of strata, distributed by weight within each: y is centred at the mean
of its stratum, which is a ratio, and its square is divided by 1 − its own share of that mean. In a stratum that the
pool, or a target's segment, contains only in part, the share is not known: y is centred at the overall mean.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np

from activeeval.core.estimation.significance import MeanSummary, PairedComparison
from activeeval.core.interval_ends import ROUNDING, UNLIMITED, IntervalBasis, Shares
from activeeval.core.kernels import estimates
from activeeval.core.pool import QueryDraw, QueryPool
from activeeval.core.types import Bools, Floats, Ints

NO_SPREAD = 1e-13
"""Share of the mean square below which a variance is rounding error of equal values."""
_FEWEST = 2
"""Least number of judged queries of a stratum from which a variance within it can be estimated."""
_LEAST_ROOM = 0.5
"""Lower bound of 1 − share: a query that dominates its stratum's mean is close to it; its square is at most doubled."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FirstPhaseValues:
    """A pool drawn from a log, with the values of its judged queries.

    Attributes
    ----------
    query_probs, inclusion_probs : ndarray, shape (n_queries,)
        Weight P of each query in the target's segment, 0 for others, and its probability π of being drawn from the log.
    strata : ndarray of int64, shape (n_queries,)
        Stratum of each query.
    are_whole : ndarray of bool, shape (n_strata,)
        True for strata all of whose drawn queries are in the segment.
    known : ndarray, shape (n_queries,)
        Known part of the value of each query that was not certain to be judged; 0 for others.
    queries : ndarray of int64, shape (n,)
        Judged queries (indices), or draws of them.
    values, within, chances : ndarray, shape (n,)
        y, s and a of each: estimated value, its variance, and probability of being judged.
    are_certain : ndarray of bool, shape (n,)
        True for queries judged with certainty.
    by_items : bool
        True if items were sampled independently, so that a query without a sampled item is an observation too.
    log : str
        The log's name.
    """

    query_probs: Floats
    inclusion_probs: Floats
    strata: Ints
    are_whole: Bools
    known: Floats
    queries: Ints
    values: Floats
    within: Floats
    chances: Floats
    are_certain: Bools
    by_items: bool
    log: str

    @property
    def costs_of_choice(self) -> Floats:
        """Weight (1 − π) P² of each query's squared value in the variance, shape (n_queries,).

        P is the query's weight in the pool, π its probability of being drawn from the log.
        """
        return np.asarray((1 - self.inclusion_probs) * self.query_probs**2)

    @property
    def are_left(self) -> Bools:
        """True for queries that matter and are not certain to be judged, shape (n_queries,)."""
        left = self.query_probs > 0
        left[self.queries[self.are_certain]] = False
        return left

    def centres(self, value: float) -> tuple[Floats, Floats]:
        """Compute the mean value of each stratum, (n_strata,), and each judged query's share of the weight in it, (n,).

        `squares` and `variance` take both. ``value`` is the estimate for the pool, used for strata of which the segment
        has only a part, or with too few judged queries for a mean; there a share is of the weight of all strata, as is
        ``value``. If items were sampled independently, a mean is that of the known parts of all
        queries, plus the weighted remainders of the judged ones; else the weighted mean of the judged values.
        """
        n_strata, of_rows = self.are_whole.size, self.strata[self.queries]
        weights = self.query_probs[self.queries] / self.chances
        enough = self.are_whole & (np.bincount(of_rows, minlength=n_strata) >= _FEWEST)
        if self.by_items:
            totals = np.bincount(self.strata, self.query_probs, minlength=n_strata)
            sums = np.bincount(self.strata, self.query_probs * self.known, minlength=n_strata)
            sums += np.bincount(of_rows, weights * (self.values - self.known[self.queries]), minlength=n_strata)
        else:
            totals = np.bincount(of_rows, weights, minlength=n_strata)
            sums = np.bincount(of_rows, weights * self.values, minlength=n_strata)
        means = np.divide(sums, totals, out=np.full(n_strata, value), where=enough & (totals > 0))
        shares = np.where(enough[of_rows], totals[of_rows], totals.sum())
        return means, weights / shares

    def squares(self, centres: Floats, shares: Floats) -> Floats:
        """Estimate, for each judged query, the squared distance of its value from the mean of its stratum, shape (n,).

        The estimate is unbiased and may be negative. ``centres`` (n_strata,) are the estimated means of the strata,
        ``shares`` (n,) the weight of each judged query in the mean of its stratum.
        """
        distances = self.values - centres[self.strata[self.queries]]
        return np.asarray(distances**2 / np.maximum(1 - shares, _LEAST_ROOM) - self.within)

    def variance(self, centres: Floats, shares: Floats) -> tuple[float, Floats]:
        """Estimate the variance that drawing the pool from a log adds, and the part of each judged query, (n,).

        ``centres`` (n_strata,) are means of strata and ``shares`` (n,) those of judged queries in them, from `centres`.
        A query's squared distance from its mean has the weight (1 − π) P² (`costs_of_choice`). If items were sampled
        independently, the sum is over the known parts of all queries, corrected by the judged ones. Otherwise judged
        queries also stand for those of their stratum that are not judged; it is infinite if no judged query can. The
        parts serve for degrees of freedom: they are the judged queries' own squares, weighted.
        """
        # left: queries that were not certain to be judged
        cost, squares, left = self.costs_of_choice, self.squares(centres, shares), self.are_left
        weights = cost[self.queries] / self.chances
        if self.by_items:
            known = (self.known - centres[self.strata]) ** 2
            parts = weights * (squares - np.where(self.are_certain, 0.0, known[self.queries]))
            return float(cost[left] @ known[left] + parts.sum()), weights * squares
        parts = np.where(self.are_certain, weights * squares, 0.0)
        # judged by chance: these stand for the other queries of their stratum that are left to chance
        is_open = ~self.are_certain & (weights > 0)
        by_stratum = np.bincount(self.strata[left], cost[left], minlength=self.are_whole.size)
        of_rows = self.strata[self.queries]
        seen = np.bincount(of_rows[is_open], weights[is_open], minlength=by_stratum.size)
        # strata without judged queries get the mean contribution of all judged ones
        unseen = float(by_stratum[seen == 0].sum())
        scale = np.divide(by_stratum, seen, out=np.zeros(seen.size), where=seen > 0)
        parts[is_open] = weights[is_open] * scale[of_rows[is_open]] * squares[is_open]
        if unseen > 0:
            like = is_open if is_open.any() else weights > 0
            if not like.any():
                return math.inf, parts
            parts[like] += weights[like] * squares[like] * unseen / weights[like].sum()
        return float(parts.sum()), parts

    def choice(self, value: float) -> tuple[float, float]:
        """Compute the variance that the draw from the log adds to an estimate ``value``, and its degrees of freedom.

        Queries that were certain to be drawn do not count; the variance is 0 if all were. It is infinite if fewer than
        two judged queries represent others, or if all values are known and equal.
        """
        cost = self.costs_of_choice
        if not cost.any():
            return 0.0, math.inf
        counts = cost[self.queries] > 0
        if np.unique(self.queries[counts]).size < _FEWEST:
            return math.inf, 1.0
        total, parts = self.variance(*self.centres(value))
        freedom = float(estimates.degrees(np.maximum(parts[counts], 0.0), 1.0))
        seen = float((cost[self.queries] / self.chances) @ self.values**2)
        if not self.are_left.any() and total <= NO_SPREAD * seen and seen > 0:
            return math.inf, freedom  # equal values give no estimate of the spread of others
        return max(total, 0.0), freedom

    @property
    def shares(self) -> Shares | None:
        """Distribution of the judged values around the most frequent; None if all queries were certain to be drawn."""
        if not self.queries.size or not self.costs_of_choice.any():
            return None
        return Shares.of(self.values, self.query_probs[self.queries])

    def interval(self, confidence: float = 0.95, limits: tuple[float, float] = UNLIMITED) -> MeanSummary:
        """Compute the mean for the log with its interval, if all queries of the pool are judged.

        ``limits`` are the lowest and highest possible value of a query.
        """
        mean = float(self.query_probs[self.queries] @ self.values)
        if abs(mean) <= ROUNDING * np.abs(self.values).max(initial=0.0):
            mean = 0.0  # a sum of 0 up to rounding is no difference
        (variance, freedom), shares = self.choice(mean), self.shares
        if math.isinf(variance) and shares is not None and shares.n > 1 and math.isfinite(limits[1]):
            variance = 0.0  # all values are equal: their shares bound the frequency of other values
        basis = IntervalBasis(
            value=mean, std_error=math.sqrt(variance), degrees_of_freedom=freedom, limits=limits, shares=shares
        )
        return MeanSummary.of(basis, self.queries.size, confidence)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JudgedValues:
    """Judged queries, or draws of them; all arrays have shape (n,).

    Attributes
    ----------
    queries : ndarray of int64
        Indices of the queries.
    values, within, chances : ndarray
        Estimated value of each, the variance of that estimate, and the probability that the query is judged.
    are_certain : ndarray of bool
        True for queries judged with certainty.
    """

    queries: Ints
    values: Floats
    within: Floats
    chances: Floats
    are_certain: Bools

    @classmethod
    def certain(cls, queries: Ints, values: Floats) -> JudgedValues:
        """Build rows of queries (indices) whose values are known exactly; shape (n,) each."""
        zeros, ones = np.zeros(queries.size), np.ones(queries.size)
        return cls(queries=queries, values=values, within=zeros, chances=ones, are_certain=ones > 0)

    def and_also(self, other: JudgedValues) -> JudgedValues:
        """Append the rows of other judged queries."""
        pairs = ((getattr(self, f.name), getattr(other, f.name)) for f in fields(self))
        return JudgedValues(**{f.name: np.concatenate(pair) for f, pair in zip(fields(self), pairs, strict=True)})


def values_of(
    draw: QueryDraw, query_probs: Floats, known: Floats, judged: JudgedValues, *, by_items: bool
) -> FirstPhaseValues:
    """Combine the judged queries of a pool with the draw of the pool from a log; queries of probability 0 are dropped.

    Parameters
    ----------
    draw : QueryDraw
        Inclusion probability and stratum of each query of the pool in the draw from the log.
    query_probs : ndarray, shape (n_queries,)
        Weight of each query of the target's segment, 0 of others.
    known : ndarray, shape (n_queries,)
        Part of each query's value that was known before the sample.
    judged : JudgedValues
        The judged queries with their values.
    by_items : bool
        True if items were sampled independently.
    """
    counts = query_probs[judged.queries] > 0
    left = known.copy()  # of queries left to chance; those judged with certainty enter with their value
    left[judged.queries[judged.are_certain]] = 0.0
    rows = {f.name: getattr(judged, f.name)[counts] for f in fields(judged)}
    return FirstPhaseValues(
        query_probs=query_probs,
        inclusion_probs=draw.inclusion_probs,
        strata=draw.strata,
        are_whole=draw.are_whole(query_probs > 0),
        known=left,
        by_items=by_items,
        log=draw.log.name,
        **rows,
    )


def all_values(pool: QueryPool, values: Floats) -> FirstPhaseValues | None:
    """Combine known values of all queries of a pool, shape (n_queries,), with the draw of the pool from its log.

    Returns None if the pool was not drawn from a log.
    """
    if pool.draw is None:
        return None
    judged = JudgedValues.certain(np.arange(values.size), values)
    return values_of(pool.draw, pool.query_probs, np.zeros(values.size), judged, by_items=False)


def compare_drawn(
    first: Floats, second: Floats, pool: QueryPool, confidence: float = 0.95, limits: tuple[float, float] = UNLIMITED
) -> PairedComparison | None:
    """Compare two runs, first − second, by their scores (n_queries,) on queries drawn from a log; None without a log.

    The mean, its interval at ``confidence`` and the t test are for the log, from which ``pool`` was drawn; ``limits``
    are the lowest and highest possible difference of a query. Equal scores up to rounding are ties. The two other tests
    assume equally weighted queries: their p values are NaN.
    """
    differences = first - second
    differences[np.abs(differences) <= ROUNDING * np.maximum(np.abs(first), np.abs(second))] = 0.0
    drawn = all_values(pool, differences)
    if drawn is None:
        return None
    wins, losses = int((differences > 0).sum()), int((differences < 0).sum())
    summary = drawn.interval(confidence, limits)
    return PairedComparison(
        difference=summary.mean,
        std_error=summary.std_error,
        low=summary.low,
        high=summary.high,
        p_t=summary.basis.p_value,
        p_wilcoxon=math.nan,
        p_randomization=math.nan,
        wins=wins,
        ties=differences.size - wins - losses,
        losses=losses,
        n=differences.size,
        basis=summary.basis,
    )
