"""A judged sample: what was taken of an order, with which probabilities, and what judging it showed of one target."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import singledispatch

import numpy as np

from activeeval.core.design import Design, Reading, ReadingJudge, Replacement, Scheme, Selection, Selections
from activeeval.core.estimation.first_phase import FirstPhaseValues, JudgedValues, values_of
from activeeval.core.interval_ends import Shares
from activeeval.core.kernels import estimates, evidence as kernel
from activeeval.core.kernels.bundles import ReadingQueries, Rows, SelectedRows
from activeeval.core.types import Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Evidence:
    """What judging a selection showed of a target, for the regression estimator.

    A query is *certain* where no chance was in its choice: nothing of it was unknown, it cannot matter, or its places
    all have probability 1 at the level of the sample. The others are *open*; estimators are for these, and
    certain ones add what is known of them.

    Attributes
    ----------
    is_fitted : bool
        Whether regressors are fitted to the sample.
    query_probs, inclusion_probs : ndarray, shape (n,)
        p of each open query of the sample, and its q (a row for each draw) or π.
    totals, within : ndarray
        As in `activeeval.core.design.JudgedTotals`, a row for each open query.
    values : ndarray, shape (n,)
        Unbiased for L of each.
    population : ndarray, shape (k,)
        Σ p z over the open queries of the pool.
    base : float
        What is known: Σ p L of certain queries, and the known terms of open ones.
    certain_squares, open_squares : float
        Σ p L² of certain queries, and Σ p of the squares of the known terms of the pool's open ones.
    open_share : float
        Σ p of the pool's open queries; 0 where nothing is open: a census.
    pool_size : float
        1 / Σ p², the number of queries that the pool counts as in an estimate for a population.
    n_draws, n_queries, n_items : int
        Draws, distinct queries and distinct items judged.
    cost : float
        In mean items.
    reading : Reading or None
        What was asked, and planned for each level; None where nobody says.
    level : float
        T; infinite where nothing was planned by level.
    beyond : ndarray of int64, shape (n,), or None
        1 for each open query that was judged beyond what moves a numerator, else 0; None where that does not count.
    drawn : DrawnValues or None
        What it says of the log that the pool's queries were drawn from; None where there is none.
    shares : Shares or None
        Of a census: how many queries differ from most.
    """

    is_fitted: bool
    query_probs: Floats
    inclusion_probs: Floats
    totals: Floats
    within: Floats
    values: Floats
    population: Floats
    base: float
    certain_squares: float
    open_squares: float = 0.0
    open_share: float
    pool_size: float
    n_draws: int
    n_queries: int
    n_items: int
    cost: float
    reading: Reading | None = None
    level: float = math.inf
    beyond: Ints | None = None
    drawn: FirstPhaseValues | None = None
    shares: Shares | None = None

    @property
    def is_census(self) -> bool:
        """Whether nothing is left to chance."""
        return self.open_share == 0.0

    @property
    def importance_weights(self) -> Floats:
        """How many queries of the pool each counts for relative to traffic: p/q, or p/π."""
        return self.query_probs / self.inclusion_probs

    @property
    def keep(self) -> Floats:
        """What of each open query's square its choice adds to the variance, shape (n,): 1 − π."""
        return 1 - self.inclusion_probs

    def solved(self, contributions: Floats) -> tuple[float, float, float, float]:
        """Return what open queries add to R̂, V̂, its degrees of freedom and the plain V̂; fill contributions (n,)."""
        value, variance, freedom, plain = estimates.linear_estimate(
            *self._arrays, self.is_fitted, contributions, self._beyond
        )
        return value, variance, freedom, plain

    @property
    def _beyond(self) -> Ints:
        return np.full(self.values.size, -1) if self.beyond is None else self.beyond

    @property
    def _arrays(self) -> tuple[Floats, ...]:
        return self.importance_weights, self.keep, self.totals, self.within, self.population

    def residuals(self) -> tuple[Floats, Floats, Floats]:
        """Return the fitted coefficients B, and residuals e and their variances s of each open query.

        See `activeeval.core.kernels.estimates`.
        """
        left = np.empty((self.values.size, 2))
        coefficients = estimates.residuals(*self._arrays, self.is_fitted, left, self._beyond)
        return coefficients, left[:, 0], left[:, 1]

    def variance_shares(self, contributions: Floats) -> Floats:
        """Return what each open query adds to the variance, shape (n,), never below 0.

        (g ω)² (keep e² + (1 − keep) s) of V̂.
        """
        keep, (_, e, s) = self.keep, self.residuals()
        lifted = np.divide(contributions, e, out=self.importance_weights.copy(), where=e != 0)  # g ω
        return np.asarray(np.maximum(keep * contributions**2 + (1 - keep) * lifted**2 * s, 0.0))

    def variance_errors(self, contributions: Floats, variance: float) -> Floats | None:
        """Return what each row adds to the error of V̂, as a share of it; None where degrees of freedom alone tell."""
        return None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReplacementEvidence(Evidence):
    """What judging queries that were drawn with replacement showed of a target, for the paper's ratio estimator."""

    @property
    def keep(self) -> Floats:
        """All of it: draws follow each other without regard."""
        return np.ones_like(self.inclusion_probs)

    def solved(self, contributions: Floats) -> tuple[float, float, float, float]:
        """Return R̂, V̂ twice with its degrees of freedom between them; see `Evidence.solved`."""
        values = np.ascontiguousarray(self.values)
        value, variance, freedom = estimates.ratio_estimate(self.importance_weights, values, contributions)
        return value, variance, freedom, variance

    def variance_shares(self, contributions: Floats) -> Floats:
        """Return the square of what each draw adds to the error."""
        return np.asarray(contributions**2)

    def variance_errors(self, contributions: Floats, variance: float) -> Floats | None:
        """Return how the square of each draw differs from their mean: where all weigh alike n is their number."""
        shares = contributions**2 / variance
        return np.asarray(shares - shares.mean())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EvidenceArrays:
    """What judging several selections of one order by levels showed of a target.

    Attributes
    ----------
    starts : ndarray of int64, shape (n_samples + 1,)
        Where the rows of each sample begin: its open queries, ascending.
    rows : Rows
    population : ndarray, shape (n_samples, k)
    base, certain_squares, open_squares, open_share, costs, levels : ndarray, shape (n_samples,)
    n_queries, n_items : ndarray of int64, shape (n_samples,)
    is_fitted : bool
    pool_size : float
    reading : Reading
    """

    starts: Ints
    rows: Rows
    population: Floats
    base: Floats
    certain_squares: Floats
    open_squares: Floats
    open_share: Floats
    costs: Floats
    levels: Floats
    n_queries: Ints
    n_items: Ints
    is_fitted: bool
    pool_size: float
    reading: Reading

    def of_selection(self, k: int) -> Evidence:
        """Return the evidence of one selection, counted from 0."""
        rows = Rows._make(array[self.starts[k] : self.starts[k + 1]] for array in self.rows)
        return Evidence(
            is_fitted=self.is_fitted,
            query_probs=rows.probs,
            inclusion_probs=rows.inclusion_probs,
            totals=rows.totals,
            within=rows.within,
            values=rows.values,
            population=self.population[k],
            base=float(self.base[k]),
            certain_squares=float(self.certain_squares[k]),
            open_squares=float(self.open_squares[k]),
            open_share=float(self.open_share[k]),
            pool_size=self.pool_size,
            n_draws=int(self.n_queries[k]),
            n_queries=int(self.n_queries[k]),
            n_items=int(self.n_items[k]),
            cost=float(self.costs[k]),
            reading=self.reading,
            level=float(self.levels[k]),
            beyond=rows.beyond,
        )


def evidence_of(design: Design, reading: Reading, judge: ReadingJudge, selection: Selection) -> Evidence:
    """Return what judging a selection showed of a reading.

    Parameters
    ----------
    judge : ReadingJudge
        ``reading.judge(grades)``.
    """
    evidence = _evidence(design.scheme, design, reading, judge, selection)
    draw, p = reading.target.pool.draw, reading.query_probs
    if reading.order.larger_pool is not None:
        return evidence
    if draw is None:
        if not evidence.is_census:
            return evidence
        shown = _shown(design.scheme, reading, judge, selection, evidence)
        weights = p[shown.queries]
        return replace(evidence, shares=Shares.of(shown.values[weights > 0], weights[weights > 0]))
    shown = _shown(design.scheme, reading, judge, selection, evidence)
    by_items = reading.kind == "items" and not isinstance(design.scheme, Replacement)
    known = np.where(reading.is_open, reading.known_values, 0.0)
    drawn = values_of(draw, p, known, shown, by_items=by_items)
    return replace(evidence, drawn=drawn, shares=drawn.shares if evidence.is_census else None)


def _shown(
    scheme: Scheme, reading: Reading, judge: ReadingJudge, selection: Selection, evidence: Evidence
) -> JudgedValues:
    """Return what each judged query showed: the rows of the estimator, and those that were certain to be judged."""
    queries, values = scheme.rows(reading, selection), evidence.values
    by_draws = isinstance(scheme, Replacement)
    if evidence.is_census and by_draws:
        return JudgedValues.certain(*_each_once(queries, values))
    chances, within = evidence.inclusion_probs, evidence.within[:, 0]
    by_chance = JudgedValues(
        queries=queries, values=values, within=within, chances=chances, are_certain=np.zeros(queries.size, np.bool_)
    )
    if by_draws:
        return by_chance
    settled = reading.settled_by(selection)
    sure, totals = selection.queries[settled], judge.totals(selection).totals[settled, 0]
    judged = JudgedValues.certain(sure, totals + reading.known_values[sure])
    closed = np.flatnonzero(~reading.is_open)
    return by_chance.and_also(judged).and_also(JudgedValues.certain(closed, reading.settled_values[closed]))


def _each_once(queries: Ints, values: Floats) -> tuple[Ints, Floats]:
    distinct, first = np.unique(queries, return_index=True)
    return distinct, values[first]


def evidence_arrays(design: Design, reading: Reading, judge: ReadingJudge, selections: Selections) -> EvidenceArrays:
    """Return what judging selections by levels, 65,535 at most, showed of a reading; see `evidence_of`."""
    pool, order, shown, n = reading.pool_sums, reading.order, judge.totals(selections), selections.costs.size
    of_queries = (reading.query_probs, order.query_rates, reading.least_rates, reading.is_open, reading.known_values)
    queries = ReadingQueries(*of_queries, reading.regressors)
    owners, taken = (
        selections.owners,
        SelectedRows(selections.queries, selections.levels, selections.counts, selections.places),
    )
    sums, starts = np.empty((n, kernel.FIRST + pool.population.size)), np.empty(n + 1, dtype=np.int64)
    n_queries, n_items = np.empty((2, n), dtype=np.int64)
    kernel.add_up(owners, taken, queries, shown.totals, sums, starts, n_queries, n_items)
    shapes = (starts[-1:], starts[-1:], starts[-1:], *((starts[-1], a.shape[1]) for a in (shown.totals, shown.within)))
    rows = Rows._make((*(np.empty(shape) for shape in shapes), np.empty(starts[-1], dtype=np.int64)))
    beyond = np.full(owners.size, -1) if shown.beyond is None else shown.beyond.astype(np.int64)
    kernel.gather(owners, taken, queries, shown.totals, shown.within, beyond, starts, rows)
    if order.dead is not None:
        of_places = np.repeat(owners, selections.counts)[order.dead[selections.places]]
        n_items -= np.bincount(of_places, minlength=n)
    return EvidenceArrays(
        starts=starts,
        rows=rows,
        population=pool.population - sums[:, kernel.FIRST :],
        base=pool.base + sums[:, kernel.BASE],
        certain_squares=pool.settled_squares + sums[:, kernel.SQUARES],
        open_squares=pool.open_squares - sums[:, kernel.KNOWN_SQUARES],
        # a difference would leave a rounding error of a census
        open_share=np.where(sums[:, kernel.CERTAIN] == pool.n_open, 0.0, pool.open_share - sums[:, kernel.SHARE]),
        costs=selections.costs,
        levels=selections.thresholds,
        n_queries=n_queries,
        n_items=n_items,
        is_fitted=design.is_fitted,
        pool_size=1.0 / pool.squares,
        reading=reading,
    )


@singledispatch
def _evidence(scheme: Scheme, design: Design, reading: Reading, judge: ReadingJudge, selection: Selection) -> Evidence:
    """Return it for whatever was selected by a level."""
    return evidence_arrays(design, reading, judge, Selections.of(selection)).of_selection(0)


@_evidence.register
def _drawn(
    scheme: Replacement, design: Design, reading: Reading, judge: ReadingJudge, selection: Selection
) -> Evidence:
    p, pool = reading.query_probs, reading.pool_sums
    queries, first = np.unique(selection.queries, return_index=True)
    shown = judge.totals(selection)
    is_census = queries.size == pool.n_queries
    values = shown.totals[:, 0]
    return ReplacementEvidence(
        is_fitted=False,
        query_probs=p[selection.queries],
        inclusion_probs=scheme.sampling_probs[selection.queries],
        totals=shown.totals,
        within=shown.within,
        values=values,
        population=pool.population,
        # as replications sum, to the last bit
        base=estimates.weighted_sum(p[queries], values[first]) if is_census else 0.0,
        certain_squares=float(p[queries] @ values[first] ** 2) if is_census else 0.0,
        open_squares=0.0,
        open_share=0.0 if is_census else 1.0,
        pool_size=1.0 / pool.squares,
        n_draws=selection.queries.size,
        n_queries=queries.size,
        n_items=int(np.diff(reading.order.offsets)[queries].sum()),
        cost=selection.cost,
        reading=reading,
    )
