"""Aggregation of judged selections, sample by sample: rows of open queries, sums over certain queries, estimates."""

from __future__ import annotations

import numpy as np

from activeeval.core.kernels.compiling import jit as _jit
from activeeval.core.kernels.estimates import linear_estimate

CERTAIN, SHARE, BASE, SQUARES, KNOWN_SQUARES, FIRST = 0, 1, 2, 3, 4, 5


@_jit
def _is_settled(selected, queries, row):
    """Check whether the query of a row is judged completely with certainty.

    That is so if the threshold of its sample times the least sampling rate of its items is at least 1. ``selected`` is
    a `SelectedRows`, ``queries`` a `ReadingQueries`.
    """
    return selected.levels[row] * queries.least_rates[selected.queries[row]] >= 1.0


@_jit
def add_up(owners, selected, queries, totals, sums, starts, n_queries, n_items):
    """Sum each sample over the queries that it contains with certainty, and count the rows of the others.

    Queries whose value no unknown label can change are left out. A query that is judged completely with probability 1
    is known and enters the sums. One with judged items that was selected by chance gets a row (filled by `gather`).

    Parameters
    ----------
    owners : array of int64, shape (rows,)
        Index of the sample of each selected query.
    selected : SelectedRows
        The selected queries, with their judged places.
    queries : ReadingQueries
    totals : array, shape (rows, 1 + k)
        Value y of each selected query in its first column; the other k columns are not read here.
    sums : array, shape (n_samples, 5 + k)
        Out, over certain queries, with p the share of a query in the mean: their number, Σ p, Σ p y, Σ p L² with L the
        value including known grades, Σ p s² with s the value of the known grades, and from column FIRST on Σ p z.
    starts, n_queries, n_items : arrays of int64, shapes (n_samples + 1,), (n_samples,), (n_samples,)
        Out: start of each sample's rows (queries selected by chance), and its numbers of judged queries and items.
    """
    sums[:], starts[:], n_queries[:], n_items[:] = 0.0, 0, 0, 0
    for row in range(owners.size):
        r, q = owners[row], selected.queries[row]
        n_queries[r] += selected.counts[row] > 0
        n_items[r] += selected.counts[row]
        if not queries.is_open[q]:
            continue
        if not _is_settled(selected, queries, row):
            starts[r + 1] += selected.counts[row] > 0
            continue
        p, known = queries.probs[q], queries.known_values[q]
        value = totals[row, 0] + known
        sums[r, CERTAIN] += 1.0
        sums[r, SHARE] += p
        sums[r, BASE] += p * totals[row, 0]
        sums[r, SQUARES] += p * (value * value)
        sums[r, KNOWN_SQUARES] += p * (known * known)
        for a in range(queries.regressors.shape[1]):
            sums[r, FIRST + a] += p * queries.regressors[q, a]
    for r in range(n_items.size):
        starts[r + 1] += starts[r]


@_jit
def gather(owners, selected, queries, totals, within, beyond, starts, rows):
    """Fill ``rows`` with the judged queries of every sample that were selected by chance, sample by sample.

    Parameters
    ----------
    owners : array of int64, shape (rows,)
        Index of the sample of each selected query.
    selected, queries : SelectedRows, ReadingQueries
        The selected queries with their judged places, and the data of all queries of the pool.
    totals : array, shape (rows, 1 + k)
        Value y of each selected query, and its k regressors.
    starts : array of int64, shape (n_samples + 1,)
        Start of each sample's rows, from `add_up`.
    within : array, shape (rows, (1 + k)(2 + k) / 2)
        Upper triangle of the covariance of ``totals`` within each selected query.
    beyond : array of int64, shape (rows,)
        1 if the query was judged beyond the items that move a measure's numerator, else 0; −1 if that does not count.
    rows : Rows
        Out.
    """
    ends = starts.copy()
    for row in range(owners.size):
        r, q = owners[row], selected.queries[row]
        if not queries.is_open[q] or selected.counts[row] == 0 or _is_settled(selected, queries, row):
            continue
        n = ends[r]
        ends[r] += 1
        rows.probs[n], rows.inclusion_probs[n] = queries.probs[q], min(1.0, selected.levels[row] * queries.rates[q])
        rows.values[n], rows.beyond[n] = totals[row, 0] + queries.known_values[q], beyond[row]
        for a in range(totals.shape[1]):
            rows.totals[n, a] = totals[row, a]
        for a in range(within.shape[1]):
            rows.within[n, a] = within[row, a]


@_jit
def linear_estimates(starts, rows, populations, fitted, out):
    """Fill ``out`` (n_samples, 3) with each sample's estimate, variance and degrees of freedom by `linear_estimate`.

    Parameters
    ----------
    starts : array of int64, shape (n_samples + 1,)
        Start of each sample's rows.
    rows : Rows
        The open queries (selected by chance) of all samples.
    populations : array, shape (n_samples, k)
        Σ p z, total of each regressor over the open queries of the pool.
    fitted : bool
        True to fit the regression coefficients, False for the difference estimator.
    """
    most = 0
    for r in range(out.shape[0]):
        most = max(most, starts[r + 1] - starts[r])
    omega, keep, contributions = np.empty(most), np.empty(most), np.empty(most)
    for r in range(out.shape[0]):
        first, n = starts[r], starts[r + 1] - starts[r]
        for j in range(n):
            omega[j] = rows.probs[first + j] / rows.inclusion_probs[first + j]
            keep[j] = 1.0 - rows.inclusion_probs[first + j]
        arrays = (rows.totals[first : first + n], rows.within[first : first + n], populations[r])
        beyond = rows.beyond[first : first + n]
        out[r, 0], out[r, 1], out[r, 2], _ = linear_estimate(
            omega[:n], keep[:n], *arrays, fitted, contributions[:n], beyond
        )
