"""Calibration of a grade model: comparison of its probabilities and variances with judged items."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from activeeval.core.errors import InputError
from activeeval.core.grade_models.probabilities import SMALLEST
from activeeval.core.measures import Target
from activeeval.core.pool import QueryPool, whole_grades
from activeeval.core.types import Floats, Ints


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """Judged items with similar predicted probabilities of a grade.

    Attributes
    ----------
    grade, n : int
        The grade; the number of items.
    predicted, observed : float
        Mean of p(y = grade); share of items with the grade.
    """

    grade: int
    n: int
    predicted: float
    observed: float


@dataclass(frozen=True, slots=True)
class CalibrationReport:
    """Comparison of a grade model with judgments.

    The model may have a query factor: a random effect shared by a query's items, integrated over nodes u_j with weights
    ω_j.

    Attributes
    ----------
    n_items : int
        Number of judged items; reliability and likelihood are over these.
    n_queries : int
        Number of queries with a judgment of every item that the measure needs; the moments are over these,
        and NaN if there are none.
    predicted_mean, observed_mean : float
        Mean over queries of m = E[L | x], and of L, in the unit of the measure.
    predicted_variance, observed_variance : float
        Mean over queries of Var[L | x], and of (L − m)²; equal in expectation if the model is correct.
    log_likelihood_independent, log_likelihood : float
        In nats per item. The first treats the items of a query as independent, each with its marginal
        Σ_j ω_j p(y | u_j); the second integrates over the query factor,
        log Σ_j ω_j Π_i p(y_i | u_j). Equal if there is one node.
    reliability : tuple of ReliabilityBin
        By grade, then by predicted probability.
    """

    n_items: int
    n_queries: int
    predicted_mean: float
    observed_mean: float
    predicted_variance: float
    observed_variance: float
    log_likelihood_independent: float
    log_likelihood: float
    reliability: tuple[ReliabilityBin, ...]

    @property
    def bias(self) -> float:
        """Mean of L − m, observed minus predicted value: positive if the model predicts too low values."""
        return self.observed_mean - self.predicted_mean

    def reliability_rows(self) -> list[dict[str, float]]:
        """Convert the reliability bins to rows: grade, n, predicted, observed."""
        return [
            {"grade": b.grade, "n": b.n, "predicted": b.predicted, "observed": b.observed} for b in self.reliability
        ]

    def figures(self, *, with_factor: bool) -> dict[str, float]:
        """Collect the overall figures by name.

        The likelihood with the query factor (random effect of a query) is one of them only if `with_factor`.
        """
        figures = {
            "judged items": self.n_items,
            "queries judged in full": self.n_queries,
            "mean of L, predicted": self.predicted_mean,
            "mean of L, observed": self.observed_mean,
            "variance of L, predicted": self.predicted_variance,
            "variance of L, observed": self.observed_variance,
            "log-likelihood an item, grades independent": self.log_likelihood_independent,
        }
        return figures | ({"log-likelihood an item, with the query factor": self.log_likelihood} if with_factor else {})


def calibration_report(
    target: Target, grade_probs: ArrayLike, node_weights: ArrayLike | None, grades: ArrayLike, n_bins: int = 10
) -> CalibrationReport:
    """Compare the predictions of a grade model with judged items that it was not trained on.

    Parameters
    ----------
    target : Target
        The variance is that of its L, or difference δ.
    grade_probs : array of float, shape (n_items, n_grades) or (n_nodes, n_items, n_grades)
        p(grade | item), at each node of the query factor (a random effect shared by a query's items) if there is one.
    node_weights : array of float, shape (n_nodes,), or None
        Probability of each node; None, with two-dimensional probabilities: no query factor.
    grades : array of int, shape (n_items,)
        A negative grade means unjudged.
    n_bins : int
        Number of reliability bins per grade, with about equal numbers of items; fewer bins are returned
        if equal probabilities would be separated.

    Raises
    ------
    InputError
        If shapes or grades do not fit, or no item is judged.

    Examples
    --------
    >>> from activeeval.core.measures import DCG, Target
    >>> from activeeval.core.pool import QueryPool, Rankings
    >>> pool = QueryPool(["q", "r"], [0, 1, 2], ["d", "d"])
    >>> target = Target(DCG(), Rankings.from_scores(pool, [1.0, 1.0]))
    >>> report = calibration_report(target, [[0.5, 0.5], [0.5, 0.5]], None, [1, 1])
    >>> report.predicted_mean, report.bias, report.predicted_variance, report.observed_variance
    (0.5, 0.5, 0.25, 0.25)
    >>> report.reliability_rows()[1]
    {'grade': 1, 'n': 2, 'predicted': 0.5, 'observed': 1.0}
    """
    if n_bins < 1:
        raise InputError(f"n_bins must be at least 1, got {n_bins!r}")
    pool = target.pool
    moments = target.moments(grade_probs, node_weights)
    nodes = np.asarray(grade_probs, dtype=np.float64).reshape(-1, pool.n_items, np.shape(grade_probs)[-1])
    weights = np.ones(1) if node_weights is None else np.asarray(node_weights, dtype=np.float64)
    whole, judged = _judged_items(pool, grades, nodes.shape[2])
    marginal = np.einsum("j,jik->ik", weights, nodes)[judged]
    of_grade = np.log(np.maximum(marginal[np.arange(judged.size), whole[judged]], SMALLEST))
    shared = _marginal_log_likelihood(nodes[:, judged, whole[judged]], weights, pool.item_queries[judged])
    full = _judged_in_full(target, whole >= 0)
    values, means, variances = target.values(whole)[full], moments.mean[full], moments.variance[full]
    return CalibrationReport(
        n_items=judged.size,
        n_queries=values.size,
        predicted_mean=_mean(means),
        observed_mean=_mean(values),
        predicted_variance=_mean(variances),
        observed_variance=_mean((values - means) ** 2),
        log_likelihood_independent=float(of_grade.mean()),
        log_likelihood=shared / judged.size,
        reliability=tuple(
            b for k in range(marginal.shape[1]) for b in _bins(k, marginal[:, k], whole[judged] == k, n_bins)
        ),
    )


def _judged_items(pool: QueryPool, grades: ArrayLike, n_grades: int) -> tuple[Ints, Ints]:
    """Check the grades; return ``(whole grades (n_items,), positions of the judged items)``.

    Raises InputError if no item is judged, or a grade has no column among ``n_grades``.
    """
    whole = whole_grades(grades, pool.n_items)
    judged = np.flatnonzero(whole >= 0)
    if judged.size == 0:
        raise InputError("no item is judged: calibration needs judged items")
    if whole.max() >= n_grades:
        item = int(np.argmax(whole))
        raise InputError(f"grade {whole[item]} of {pool.place(item)} has no column, there are {n_grades} columns")
    return whole, judged


def _judged_in_full(target: Target, is_judged: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Flag the queries for which every item that the measure needs is judged, shape (n_queries,).

    ``is_judged`` (n_items,) flags the judged items.
    """
    offsets, items = target.judging_lists()
    n_unjudged = np.concatenate(([0], np.cumsum(~is_judged[items])))
    return np.asarray(n_unjudged[offsets[1:]] == n_unjudged[offsets[:-1]])


def _marginal_log_likelihood(of_grade: Floats, weights: Floats, queries: Ints) -> float:
    """Compute the log-likelihood of grades with a query factor (a random effect shared by a query's items).

    It is Σ_x log Σ_j ω_j Π_i p(y_i | u_j) over queries x with judged items i and quadrature nodes u_j of the factor.
    ``of_grade`` (n_nodes, n) are the probabilities p(y_i | u_j) of the observed grades, ``weights`` (n_nodes,) the ω_j,
    and ``queries`` (n,) the index of each item's query, ascending.
    """
    starts = np.flatnonzero(np.diff(queries, prepend=-1))
    of_query = np.add.reduceat(np.log(np.maximum(of_grade, SMALLEST)), starts, axis=1)
    return float(logsumexp(of_query, axis=0, b=weights[:, None]).sum())


def _bins(grade: int, predicted: Floats, has_grade: NDArray[np.bool_], n_bins: int) -> list[ReliabilityBin]:
    """Compute the reliability bins of one grade, separated at quantiles of its predicted probability.

    ``predicted`` (n,) are the probabilities of the grade, ``has_grade`` (n,) flags the items that have it.
    """
    places = np.arange(1, n_bins) * predicted.size // n_bins
    edges = np.unique(np.partition(predicted, places)[places]) if places.size else np.empty(0)
    bin_of_item = np.searchsorted(edges, predicted, side="right")
    sizes = np.bincount(bin_of_item)
    sums, hits = np.bincount(bin_of_item, predicted), np.bincount(bin_of_item, has_grade)
    return [ReliabilityBin(grade, int(n), float(sums[i] / n), float(hits[i] / n)) for i, n in enumerate(sizes) if n]


def _mean(values: Floats) -> float:
    """Compute the mean of values; NaN if there are none."""
    return float(values.mean()) if values.size else float("nan")
