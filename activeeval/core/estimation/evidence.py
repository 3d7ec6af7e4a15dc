"""Evidence: the data of a judged sample for one target, from which estimators compute."""

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
    """Data of a judged selection for one target, for the regression estimator.

    A query is *certain* if its value does not depend on chance: nothing of it was unknown, it cannot matter, or all its
    places have probability 1 at the level of the sample. The others are *open*: estimators apply to these, and certain
    queries add their known values.

    Attributes
    ----------
    is_fitted : bool
        True if regressors are fitted to the sample.
    query_probs, inclusion_probs : ndarray, shape (n,)
        p of each open query of the sample, and its probability π of being sampled; with replacement a row for each
        draw, with the draw probability q.
    totals, within : ndarray, shape (n, 1 + k) and (n, (1 + k)(2 + k) / 2)
        y, the unknown part of the query's value, and its k regressors z; their variances within it, upper triangle.
    values : ndarray, shape (n,)
        Unbiased estimate of the value L of each open query of the sample.
    population : ndarray, shape (k,)
        Σ p z over the open queries of the pool, z their k regressors.
    base : float
        Known part: Σ p L of certain queries, and the known terms of open ones.
    certain_squares, open_squares : float
        Σ p L² of certain queries, and Σ p of the squares of the known terms of the pool's open ones.
    open_share : float
        Σ p of the pool's open queries; 0 for a census.
    pool_size : float
        1 / Σ p², the effective number of queries of the pool in an estimate for a population.
    n_draws, n_queries, n_items : int
        Draws, distinct queries and distinct items judged.
    cost : float
        In mean items.
    reading : Reading or None
        Reading of the target, with the variance planned for each level; None if unknown.
    level : float
        Sampling level T that was reached; infinite without a plan by level.
    beyond : ndarray of int64, shape (n,), or None
        1 for each open query judged beyond the items that move a numerator, else 0; None if that is not used.
    drawn : FirstPhaseValues or None
        Values for the log that the pool's queries were drawn from; None without a log.
    shares : Shares or None
        For a census: distribution of values around the most frequent.
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
        """True if nothing is left to chance."""
        return self.open_share == 0.0

    @property
    def importance_weights(self) -> Floats:
        """Importance weight of each query sampled by chance, (n,): its probability over that of being sampled."""
        return self.query_probs / self.inclusion_probs

    @property
    def keep(self) -> Floats:
        """Factor 1 − π of each query's squared residual in the variance, (n,); π the probability of sampling it."""
        return 1 - self.inclusion_probs

    def solved(self, contributions: Floats) -> tuple[float, float, float, float]:
        """Estimate the part of the value that depends on chance; ``contributions`` (n,) receives each query's error.

        Returns the value, the variance V̂, its degrees of freedom, and V̂ as its formula gives it (possibly negative).
        """
        value, variance, freedom, plain = estimates.linear_estimate(
            *self._arrays, self.is_fitted, contributions, self._beyond
        )
        return value, variance, freedom, plain

    @property
    def _beyond(self) -> Ints:
        """The flags `beyond`, (n,): queries judged beyond the items that move a numerator; −1 if that is not used."""
        return np.full(self.values.size, -1) if self.beyond is None else self.beyond

    @property
    def _arrays(self) -> tuple[Floats, ...]:
        """Importance weights, 1 − π, totals and within of the sampled queries, and the pool's sums of regressors."""
        return self.importance_weights, self.keep, self.totals, self.within, self.population

    def residuals(self) -> tuple[Floats, Floats, Floats]:
        """Compute the coefficients (k,) of the regression, and the residual of each query with its variance, (n,) each.

        The queries are those sampled by chance; the variance is the one from sampling within the query.
        """
        left = np.empty((self.values.size, 2))
        coefficients = estimates.residuals(*self._arrays, self.is_fitted, left, self._beyond)
        return coefficients, left[:, 0], left[:, 1]

    def variance_shares(self, contributions: Floats) -> Floats:
        """Compute the contribution of each query sampled by chance to the variance V̂, shape (n,), never below 0.

        It is (g ω)² (k e² + (1 − k) s): regression residual e, its variance s within the query, importance weight ω =
        p/π, calibration factor g, k = `keep`. ``contributions`` (n,) are g ω e, as computed by `solved`.
        """
        keep, (_, e, s) = self.keep, self.residuals()
        lifted = np.divide(contributions, e, out=self.importance_weights.copy(), where=e != 0)  # g ω
        return np.asarray(np.maximum(keep * contributions**2 + (1 - keep) * lifted**2 * s, 0.0))

    def variance_errors(self, contributions: Floats, variance: float) -> Floats | None:
        """Compute each row's part of the relative error of V̂, (n,): None here, as degrees of freedom describe it."""
        return None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReplacementEvidence(Evidence):
    """Data of queries drawn with replacement for one target, for the paper's ratio estimator."""

    @property
    def keep(self) -> Floats:
        """Factor of each draw's square in the variance: 1, because draws are independent."""
        return np.ones_like(self.inclusion_probs)

    def solved(self, contributions: Floats) -> tuple[float, float, float, float]:
        """Estimate value, variance, degrees of freedom, and again the variance (the plain one), by the ratio estimator.

        Writes the contribution of each draw to the error into ``contributions`` (n,).
        """
        values = np.ascontiguousarray(self.values)
        value, variance, freedom = estimates.ratio_estimate(self.importance_weights, values, contributions)
        return value, variance, freedom, variance

    def variance_shares(self, contributions: Floats) -> Floats:
        """Compute the squared contribution of each draw to the error, shape (n,)."""
        return np.asarray(contributions**2)

    def variance_errors(self, contributions: Floats, variance: float) -> Floats | None:
        """Compute the deviation of each draw's squared contribution from the mean, over the variance; shape (n,).

        With equal weights the effective sample size is then the number of draws.
        """
        shares = contributions**2 / variance
        return np.asarray(shares - shares.mean())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EvidenceArrays:
    """Data of several judged selections of one order, without replacement, for one target; see also `Evidence`.

    Attributes
    ----------
    starts : ndarray of int64, shape (n_samples + 1,)
        Start of the rows of each sample: its open queries, ascending.
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
        """Extract the evidence of one selection, counted from 0."""
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
    """Collect the data from which a target is estimated: those of a judged selection (the places that a sample took).

    A place is an item in the judging order of its query. Unless the pool is a part of a larger one, a census also gets
    the distribution of its values (`shares`), and a pool drawn from a log the values for the log (`drawn`).

    Parameters
    ----------
    judge : ReadingJudge
        What ``reading.judge(grades)`` returns: the labels of the selection.
    """
    evidence = _evidence(design.scheme, design, reading, judge, selection)
    draw, p = reading.target.pool.draw, reading.query_probs  # the draw of the pool's queries from a log, if any
    if reading.order.larger_pool is not None:
        return evidence
    if draw is None:
        if not evidence.is_census:
            return evidence
        judged = _judged_values(design.scheme, reading, judge, selection, evidence)
        weights = p[judged.queries]
        return replace(evidence, shares=Shares.of(judged.values[weights > 0], weights[weights > 0]))
    judged = _judged_values(design.scheme, reading, judge, selection, evidence)
    by_items = reading.kind == "items" and not isinstance(design.scheme, Replacement)
    known = np.where(reading.is_open, reading.known_values, 0.0)
    drawn = values_of(draw, p, known, judged, by_items=by_items)
    return replace(evidence, drawn=drawn, shares=drawn.shares if evidence.is_census else None)


def _judged_values(
    scheme: Scheme, reading: Reading, judge: ReadingJudge, selection: Selection, evidence: Evidence
) -> JudgedValues:
    """Collect the value of each judged query, whether it was sampled by chance or with certainty.

    ``evidence`` holds the queries sampled by chance. Queries without an unknown label that matters are included; with
    replacement there is a row for each draw, or one for each query if all were drawn (a census).
    """
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
    """Return the distinct queries, ascending, and the first value of each; both inputs have shape (n,)."""
    distinct, first = np.unique(queries, return_index=True)
    return distinct, values[first]


def evidence_arrays(design: Design, reading: Reading, judge: ReadingJudge, selections: Selections) -> EvidenceArrays:
    """Collect the data for estimators from several selections drawn without replacement, for one target.

    ``reading`` holds what is known of the target besides labels, ``judge``, the result of ``reading.judge(grades)``,
    computes values and regressors of the selected queries from the labels.
    """
    pool, order, judged, n = reading.pool_sums, reading.order, judge.totals(selections), selections.costs.size
    of_queries = (reading.query_probs, order.query_rates, reading.least_rates, reading.is_open, reading.known_values)
    queries = ReadingQueries(*of_queries, reading.regressors)
    owners = selections.owners  # the selection of each row
    taken = SelectedRows(selections.queries, selections.levels, selections.counts, selections.places)
    # sums over queries judged with certainty, a row for each selection: columns BASE …, and Σ p z from FIRST on
    sums, starts = np.empty((n, kernel.FIRST + pool.population.size)), np.empty(n + 1, dtype=np.int64)
    n_queries, n_items = np.empty((2, n), dtype=np.int64)
    kernel.add_up(owners, taken, queries, judged.totals, sums, starts, n_queries, n_items)
    widths = (judged.totals.shape[1], judged.within.shape[1])
    shapes = (starts[-1:], starts[-1:], starts[-1:], *((starts[-1], width) for width in widths))
    rows = Rows._make((*(np.empty(shape) for shape in shapes), np.empty(starts[-1], dtype=np.int64)))
    beyond = np.full(owners.size, -1) if judged.beyond is None else judged.beyond.astype(np.int64)
    kernel.gather(owners, taken, queries, judged.totals, judged.within, beyond, starts, rows)
    if order.dead is not None:  # places whose labels can no longer change a value are selected, but not judged
        of_places = np.repeat(owners, selections.counts)[order.dead[selections.places]]
        n_items -= np.bincount(of_places, minlength=n)
    return EvidenceArrays(
        starts=starts,
        rows=rows,
        population=pool.population - sums[:, kernel.FIRST :],
        base=pool.base + sums[:, kernel.BASE],
        certain_squares=pool.settled_squares + sums[:, kernel.SQUARES],
        open_squares=pool.open_squares - sums[:, kernel.KNOWN_SQUARES],
        # exactly 0 for a census: a difference would leave a rounding error
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
    """Collect the data of a judged selection drawn without replacement; other schemes register their own function."""
    return evidence_arrays(design, reading, judge, Selections.of(selection)).of_selection(0)


@_evidence.register
def _drawn(
    scheme: Replacement, design: Design, reading: Reading, judge: ReadingJudge, selection: Selection
) -> Evidence:
    """Collect the data of judged queries drawn with replacement, a row for each draw; a census has its exact sums."""
    p, pool = reading.query_probs, reading.pool_sums
    queries, first = np.unique(selection.queries, return_index=True)
    judged = judge.totals(selection)
    is_census = queries.size == pool.n_queries
    values = judged.totals[:, 0]
    return ReplacementEvidence(
        is_fitted=False,
        query_probs=p[selection.queries],
        inclusion_probs=scheme.sampling_probs[selection.queries],
        totals=judged.totals,
        within=judged.within,
        values=values,
        population=pool.population,
        # same order of summation as replications, for equality to the last bit
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
