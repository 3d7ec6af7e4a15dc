"""A latent factor per query: some queries have higher grades overall, so their grades are not independent.

A grade model p(y | z) treats the items of a query as independent. The factor u ~ N(0, 1) of a query
shifts all of them together,

    logit p(y ≤ k | z, u) = c (a · logit p(y ≤ k | z) − b) − σ u,      c = sqrt(1 + 0.346 σ²),     (1)

and given u grades are independent again. c keeps the marginal ∫ p(y ≤ k | z, u) φ(u) du within 0.011
of the curve with logit a · logit p(y ≤ k | z) − b (0.346 = (16√3 / 15π)² is the logistic-normal
constant). u is integrated by Gauss–Hermite quadrature with nodes u_j and weights ω_j. The nodes define
the model, so that every expectation is a finite sum of computations for independent grades.

For a query with judged items i the likelihood is Σ_j ω_j Π_i p(y_i | u_j). With l_k = logit p(y ≤ k | z),
η_k the right-hand side of (1) and s the logistic function, p(y = k | u) = s(η_k) − s(η_{k−1}) and

    log p(y = k | u) = log s(η_k) + log s(−η_{k−1}) + log(1 − exp(−c a (l_k − l_{k−1}))),           (2)

without cancellation. The last term does not depend on u or b; the first is 0 for the largest grade, the
second for grade 0. So a query's likelihood is a product of logistic terms, one or two per item.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logsumexp

from activeeval.core.checks import brief, is_number
from activeeval.core.errors import InputError
from activeeval.core.grade_models.probabilities import as_grades, as_probabilities, as_query_codes
from activeeval.core.types import Floats, Ints

N_NODES = 9
"""Nine nodes integrate with an error of 5e-4 at σ = 2 and of 4e-3 at σ = 3."""

SIGMA_BOUNDS = (0.0, 3.0)
"""Range in which nine nodes are accurate; a forest has σ = 1.4 on MQ2008 and .66 on OHSUMED."""

SLOPE_BOUNDS = (0.05, 10.0)
SHIFT_BOUNDS = (-10.0, 10.0)
"""Wider than any data (slopes of .9 to 1, shifts below .3): the bounds keep the search finite for separable grades."""

SMOOTHING = 1e-4
"""Added to every probability before a logit: a forest's 0 is not certain, it means few leaves with the grade.

One in a thousand of a forest's positive probabilities is below 1.8e-4 on MQ2008. Between 1e-2 and 1e-8 the
held-out log-likelihood changes by .0024 nats per item there, and by .0002 on OHSUMED.
"""

_LOGISTIC_NORMAL = 0.346
# Long queries make the likelihood rough in σ, as nine nodes are then too far apart: of starts .1, .3, 1, 2 and 2.9 on
# OHSUMED (140 items per query) this one ended highest; on MQ2008 (20 items) all end at the same value.
_FIRST_SIGMA = 1.0
# The likelihood is an even function of σ, with slope 0 at σ = 0, where a search would stop.
_LEAST_FITTED_SIGMA = 0.05
_BLOCK_ROWS = 4096  # fits a cache: blocks of 256 rows take five times as long, all rows at once up to 2.5 times
_TOLERANCES = {"ftol": 1e-13, "gtol": 1e-8, "maxiter": 1000}


@dataclass(frozen=True, slots=True)
class QueryFactor:
    """Random effect u ~ N(0, 1) of each query on top of a grade model; it correlates the grades of a query.

    It shifts all items of a query together: logit p(y ≤ k | u) = c (a · logit p(y ≤ k) − b) − σ u, with c such that the
    mean over u hardly changes (equation (1) of the module).

    Parameters
    ----------
    sigma : float
        σ, from 0 (independent grades) to 3: standard deviation between queries, in logits.
    slope : float
        a > 0; below 1 if the grade model is overconfident.
    shift : float
        b; positive means higher grades than the grade model predicts.
    log_likelihood, log_likelihood_without : float
        Log-likelihood of the fitted rows in nats, with the factor and of the grade model itself (σ = 0,
        a = 1, b = 0), both of smoothed probabilities; NaN if the factor was not fitted.
    n_items, n_queries : int
        Numbers of items and queries in the fit.

    Examples
    --------
    >>> factor = QueryFactor(sigma=1.5)
    >>> nodes = factor.node_probs([[0.5, 0.5]])
    >>> nodes.shape
    (9, 1, 2)
    >>> nodes[[0, 4, 8], 0, 1].round(3)
    array([0.001, 0.5  , 0.999])
    >>> (factor.node_weights @ nodes[:, 0]).round(3)
    array([0.5, 0.5])
    """

    sigma: float = 0.0
    slope: float = 1.0
    shift: float = 0.0
    log_likelihood: float = float("nan")
    log_likelihood_without: float = float("nan")
    n_items: int = 0
    n_queries: int = 0

    def __post_init__(self) -> None:
        """Raise InputError if σ, a or b lies outside its bounds."""
        for name, (low, high) in (("sigma", SIGMA_BOUNDS), ("slope", SLOPE_BOUNDS), ("shift", SHIFT_BOUNDS)):
            value = getattr(self, name)
            if not (is_number(value) and low <= value <= high):
                raise InputError(f"{name} of a query factor must lie between {low:g} and {high:g}, got {brief(value)}")

    @classmethod
    def fit(cls, probs: ArrayLike, grades: ArrayLike, queries: ArrayLike) -> Self:
        """Estimate σ, a and b of the factor by maximum marginal likelihood on judged items.

        Parameters
        ----------
        probs : array of float, shape (n, n_grades)
            From a model that was not trained on these rows, as `cross_fitted_probs` gives: on its own
            training rows a forest is far too confident.
        grades : array of int, shape (n,)
            From 0; leave out unjudged rows.
        queries : array, shape (n,)
            The query of every row, in any order.

        Returns
        -------
        QueryFactor
            With σ = 0 if no σ above 0 is more likely.

        Raises
        ------
        InputError
            Names the first invalid row; also if there are fewer than two queries or only one grade.
        """
        matrix = _checked_probs(probs)
        whole = as_grades(grades, matrix.shape[0], matrix.shape[1] - 1)
        codes, n_queries = codes_of_queries(queries, whole.size)
        if whole.min() == whole.max():
            raise InputError(f"only grade {whole[0]} occurs, a query factor needs at least two different grades")
        terms = _Terms.of(matrix, whole, codes)
        without = terms.log_likelihood(np.array([0.0, 1.0, 0.0]), *_quadrature(0.0))[0]
        independent, at_zero = _maximum(terms, np.array([0.0, 1.0, 0.0]), sigma_bounds=(0.0, 0.0))
        start = np.array([_FIRST_SIGMA, *independent[1:]])
        params, largest = _maximum(terms, start, sigma_bounds=(_LEAST_FITTED_SIGMA, SIGMA_BOUNDS[1]))
        if largest <= at_zero:
            params, largest = independent, at_zero
        sigma, slope, shift = (float(value) for value in params)
        return cls(sigma, slope, shift, largest, without, whole.size, n_queries)

    @property
    def nodes(self) -> Floats:
        """Quadrature nodes u_j to integrate over the factor, ascending, shape (n_nodes,); only 0 if σ = 0."""
        return _quadrature(self.sigma)[0]

    @property
    def node_weights(self) -> Floats:
        """Probabilities ω_j of the quadrature nodes, shape (n_nodes,); they sum to 1."""
        return _quadrature(self.sigma)[1]

    def node_probs(self, probs: ArrayLike) -> Floats:
        """Compute p(y = k | z, u_j) of every item z given every quadrature node u_j, in the order of `nodes`.

        Parameters
        ----------
        probs : array of float, shape (n_items, n_grades)
            From the grade model. 1e-4 is added to every probability and the rows are rescaled to sum 1, unless
            σ = 0, a = 1 and b = 0, where they are not changed.

        Returns
        -------
        ndarray, shape (n_nodes, n_items, n_grades)
            Rows sum to 1; 9 nodes, or 1 if σ = 0.

        Raises
        ------
        InputError
            If a row is not a probability distribution; names the first.
        """
        matrix = _checked_probs(probs)
        if (self.sigma, self.slope, self.shift) == (0.0, 1.0, 0.0):
            return np.array(matrix[None], order="C")
        stretch = np.sqrt(1 + _LOGISTIC_NORMAL * self.sigma**2)
        lifts = np.exp(self.sigma * self.nodes)
        out = np.empty((lifts.size, *matrix.shape))
        for start in range(0, matrix.shape[0], _BLOCK_ROWS):
            rows = slice(start, start + _BLOCK_ROWS)
            # p(y > k) / p(y ≤ k) at u = 0; at a node it is larger by the factor exp(σu).
            odds = np.exp(-stretch * (self.slope * _cumulative_logits(matrix[rows]).T - self.shift))
            for lift, node in zip(lifts, out, strict=True):
                _fill(node[rows], odds * lift)
        return out


@dataclass(frozen=True, slots=True)
class _Terms:
    """Terms of the marginal log-likelihood of a query factor (a random effect u shared by a query's items).

    They are log s(sign · η), s the logistic function, of equation (2) of the module, sorted by query. ``logits`` and
    ``signs`` have one entry per term, ``first_terms`` (n_queries,) is each query's first term, and ``gaps`` are those
    of the term that does not depend on u.
    """

    logits: Floats
    signs: Floats
    first_terms: Ints
    gaps: Floats

    @classmethod
    def of(cls, probs: Floats, grades: Ints, codes: Ints) -> Self:
        """Collect the terms of judged items.

        ``probs`` has shape (n, n_grades); ``grades`` and ``codes`` (numbers of the items' queries) have shape (n,).
        """
        logits = _cumulative_logits(probs)
        top = logits.shape[1]
        # items below the largest grade have a term of η_k, those above grade 0 a term of η_{k−1}
        below, above = np.flatnonzero(grades < top), np.flatnonzero(grades > 0)
        upper, lower = logits[below, grades[below]], logits[above, grades[above] - 1]
        between = np.flatnonzero((grades > 0) & (grades < top))
        of_term = np.concatenate((codes[below], codes[above]))
        order = np.argsort(of_term, kind="stable")
        return cls(
            logits=np.concatenate((upper, lower))[order],
            signs=np.repeat([1.0, -1.0], [below.size, above.size])[order],
            first_terms=np.searchsorted(of_term[order], np.arange(codes.max() + 1)),
            gaps=logits[between, grades[between]] - logits[between, grades[between] - 1],
        )

    def log_likelihood(self, params: Floats, nodes: Floats, weights: Floats) -> tuple[float, Floats]:
        """Compute the marginal log-likelihood of (σ, a, b); return it and its gradient, shape (3,).

        These are the standard deviation, slope and shift of `QueryFactor`, in equation (1) of the module. ``nodes`` and
        ``weights`` (n_nodes,) are the quadrature of u ~ N(0, 1) by `_quadrature`.
        """
        sigma, slope, shift = params
        # c and its derivative by σ, then η at u = 0
        stretch = np.sqrt(1 + _LOGISTIC_NORMAL * sigma**2)
        per_sigma = _LOGISTIC_NORMAL * sigma / stretch
        centres = stretch * (slope * self.logits - shift)
        # by node and query: log-likelihood, and its derivatives by a common shift of η and by c a
        of_query, pull, lever = np.empty((3, nodes.size, self.first_terms.size))
        for j, u in enumerate(nodes):
            against = -self.signs * (centres - sigma * u)
            pulls = self.signs * expit(against)
            of_query[j] = -np.add.reduceat(np.logaddexp(0, against), self.first_terms)
            pull[j] = np.add.reduceat(pulls, self.first_terms)
            lever[j] = np.add.reduceat(pulls * self.logits, self.first_terms)
        by_query = logsumexp(of_query, axis=0, b=weights[:, None])
        posterior = weights[:, None] * np.exp(of_query - by_query)
        pull_at_node, levers = (posterior * pull).sum(axis=1), float((posterior * lever).sum())
        pulls_in_all = float(pull_at_node.sum())
        steps = stretch * slope * self.gaps
        of_steps = float((self.gaps / np.expm1(steps)).sum())
        gradient = [
            per_sigma * (slope * (levers + of_steps) - shift * pulls_in_all) - float(nodes @ pull_at_node),
            stretch * (levers + of_steps),
            -stretch * pulls_in_all,
        ]
        return float(by_query.sum() + np.log(-np.expm1(-steps)).sum()), np.array(gradient)


def _maximum(terms: _Terms, start: Floats, sigma_bounds: tuple[float, float]) -> tuple[Floats, float]:
    """Maximize the likelihood over (σ, a, b) from ``start``; return ``(parameters, maximum)``.

    ``sigma_bounds`` are the bounds of σ.
    """
    nodes, weights = _quadrature(sigma_bounds[1])

    def loss(params: Floats) -> tuple[float, Floats]:
        """Compute the negative log-likelihood per term of (σ, a, b), and its gradient."""
        value, gradient = terms.log_likelihood(params, nodes, weights)
        return -value / terms.logits.size, -gradient / terms.logits.size

    bounds = [sigma_bounds, SLOPE_BOUNDS, SHIFT_BOUNDS]
    from scipy.optimize import minimize  # imported here: reading a sample needs no fit

    solution = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=_TOLERANCES)
    return np.asarray(solution.x), -float(solution.fun) * terms.logits.size


def _quadrature(sigma: float) -> tuple[Floats, Floats]:
    """Compute Gauss-Hermite ``(nodes, weights)``, (n_nodes,) each, to integrate over u ~ N(0, 1); one node if σ = 0."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(N_NODES if sigma > 0 else 1)
    return np.asarray(nodes, dtype=np.float64), np.asarray(weights / weights.sum(), dtype=np.float64)


def _cumulative_logits(probs: Floats) -> Floats:
    """Compute logit p(y ≤ k), shape (n, n_grades − 1), of smoothed rows; each tail is summed from its end."""
    raised = probs + SMOOTHING
    lower, upper = np.cumsum(raised, axis=1), np.cumsum(raised[:, ::-1], axis=1)[:, ::-1]
    return np.asarray(np.log(lower[:, :-1] / upper[:, 1:]), dtype=np.float64)


def _fill(rows: Floats, odds: Floats) -> None:
    """Write p(y = k) of items into ``rows`` (n, n_grades) from their odds, without cancellation.

    ``odds`` (n_grades − 1, n) are p(y > k) / p(y ≤ k).
    """
    lower = 1 / (1 + odds)
    rows[:, 0] = lower[0]
    rows[:, 1:-1] = ((odds[:-1] - odds[1:]) * lower[:-1] * lower[1:]).T
    rows[:, -1] = odds[-1] * lower[-1]


def _checked_probs(probs: ArrayLike) -> Floats:
    """Check that rows are probabilities of at least two grades and return them; raise InputError otherwise."""
    matrix = as_probabilities(probs, "probs")
    if matrix.shape[1] < 2:
        raise InputError("probs has one column, one for each of at least two grades is expected")
    return matrix


def codes_of_queries(queries: ArrayLike, n_rows: int, is_judged: NDArray[np.bool_] | None = None) -> tuple[Ints, int]:
    """Number the queries of the rows from 0; return ``(number of each row's query, number of queries)``.

    With ``is_judged`` (n_rows,) a query without a judged row has number −1 and is not counted. Raises InputError if
    there are fewer than two queries.
    """
    codes, n_queries = as_query_codes(queries, n_rows, "queries")
    if is_judged is not None:
        counts = np.bincount(codes, is_judged, minlength=n_queries) > 0
        codes, n_queries = np.where(counts, np.cumsum(counts) - 1, -1)[codes], int(counts.sum())
    if n_queries < 2:
        raise InputError(f"the rows belong to {n_queries} queries, a query factor needs at least two")
    return codes, n_queries
