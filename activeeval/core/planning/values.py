"""Expected variation of the query values, from a grade model alone."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from activeeval.core.design import WHOLE, GradeProbs
from activeeval.core.measures import Target
from activeeval.core.pool import QueryDraw
from activeeval.core.types import Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Values:
    """Moments of the value of each query under a grade model.

    Attributes
    ----------
    query_probs, means, variances : ndarray, shape (n_queries,)
        Probability p(x) among the queries of the target (0 for other queries), mean m = E[L | x] and variance Var[L |
        x] of the query's value L.
    draw : QueryDraw or None
        Sampling of the queries from a search log, if any.
    """

    query_probs: Floats
    means: Floats
    variances: Floats
    draw: QueryDraw | None = None

    @classmethod
    def of(cls, target: Target, beliefs: GradeProbs) -> Values:
        """Compute mean and variance of each query's value for a target under a grade model."""
        moments, pool = WHOLE.moments(target, beliefs), target.pool
        p = pool.query_probs
        if target.within is not None:
            p = np.where(target.within, p, 0.0) / p[target.within].sum()
        return cls(query_probs=p, means=moments.mean, variances=moments.variance, draw=pool.draw)

    @property
    def performance(self) -> float:
        """Performance (mean value over queries) that the model expects, R_θ = Σ p m, with p and m those of each query.

        p is the probability of a query, and m the mean of its value under the model.
        """
        return float(self.query_probs @ self.means)

    @property
    def squares(self) -> Floats:
        """Mean squared distance of each query's value L from the expected performance R_θ, shape (n_queries,).

        It is E[(L − R_θ)²] under the model: the variance of L plus the squared distance of its mean.
        """
        return np.asarray(self.variances + (self.means - self.performance) ** 2)

    @property
    def spread(self) -> float:
        """Expected variance of values between queries, E[S²] with S² = Σ p L² − R²."""
        return float(self.query_probs @ self.squares - self.query_probs**2 @ self.variances)

    @property
    def explained(self) -> float:
        """Share of the variance S² between queries that the model's predictions explain; 0 if values do not vary.

        It is Σ p (m − R_θ)² / S², with the probability p of a query, its predicted value m and R_θ = Σ p m.
        """
        known = float(self.query_probs @ (self.means - self.performance) ** 2)
        return known / self.spread if self.spread > 0 else 0.0

    @property
    def size(self) -> float:
        """Effective number of queries of the pool, 1 / Σ p²; their number if p is uniform."""
        return 1.0 / float(self.query_probs @ self.query_probs)

    @property
    def of_population(self) -> float:
        """Variance that the choice of the pool adds to an estimate for the population; infinite for one query.

        It is S² / (N − 1), with N the `size`. For queries sampled from a log it is Σ (1 − π) p² E[(L − L_h)²], with π
        the probability of sampling the query and L_h the mean of its stratum.
        """
        if self.draw is not None:
            return float(((1 - self.draw.inclusion_probs) * self.query_probs**2) @ self._of_strata(self.draw))
        return self.spread / (self.size - 1.0) if self.size > 1.0 else math.inf

    def _of_strata(self, draw: QueryDraw) -> Floats:
        """Compute the expected squared distance of each query's value from the mean of its stratum, (n_queries,).

        The mean of all queries stands in for that of a stratum without queries, or with drawn queries outside the pool.
        """
        totals = np.bincount(draw.strata, self.query_probs, minlength=draw.sizes.size)
        sums = np.bincount(draw.strata, self.query_probs * self.means, minlength=draw.sizes.size)
        centres = np.divide(sums, totals, out=np.full(totals.size, self.performance), where=totals > 0)
        centres = np.where(draw.are_whole(), centres, self.performance)
        return np.asarray(self.variances + (self.means - centres[draw.strata]) ** 2)
