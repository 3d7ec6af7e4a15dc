"""A generated pool in the likeness of MSLR-WEB30K: one recipe, so that figures can be compared.

Documents per query ⌊exp(N(4.6, 0.62))⌋ clipped to [2, 1200]; a query effect u ~ N(0, 1); eight item
features x ~ N(0, 1); latent relevance (1, .7, .5, .4, .3, .2, .1, .1)·x + 0.8 u + logistic noise; the
grade is the number of the pool's quantiles .5155, .841, .9737, .9923 of the latent below it.
Observed are x, u + 0.7 N(0, 1) (one value a query), three columns of noise and log(documents).
Document length is exp(N(6.5, 1)), judging an item costs log(e + length).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from activeeval.core.checks import generator, whole_number
from activeeval.core.errors import InputError
from activeeval.core.pool import QueryPool, Rankings
from activeeval.core.types import Floats, Ints

WEIGHTS = np.array([1.0, 0.7, 0.5, 0.4, 0.3, 0.2, 0.1, 0.1])
GRADE_QUANTILES = (0.5155, 0.841, 0.9737, 0.9923)
N_NOISE = 3


@dataclass(frozen=True, slots=True, eq=False)
class GeneratedPool:
    """A pool whose labels are known.

    Attributes
    ----------
    pool : QueryPool
    grades : ndarray of int64, shape (n_items,)
        0 … 4.
    features : ndarray of float64, shape (n_items, 13)
    lengths : ndarray of float64, shape (n_items,)
        Document lengths in words.
    """

    pool: QueryPool
    grades: Ints
    features: Floats
    lengths: Floats

    def split(self, n_first: int) -> tuple[GeneratedPool, GeneratedPool]:
        """Return the first queries and the rest, as the recipe trains on the first tenth."""
        if not 0 < n_first < self.pool.n_queries:
            raise InputError(f"n_first must lie from 1 to {self.pool.n_queries - 1}, got {n_first}")
        return self._part(np.arange(n_first)), self._part(np.arange(n_first, self.pool.n_queries))

    def _part(self, queries: Ints) -> GeneratedPool:
        pool, items = self.pool.subset(queries)
        return GeneratedPool(pool, self.grades[items], self.features[items], self.lengths[items])


def generate_pool(n_queries: int = 6000, rng: np.random.Generator | int | None = None) -> GeneratedPool:
    """Generate a pool by the recipe.

    Parameters
    ----------
    n_queries : int
        Training queries included.
    rng : Generator or int, optional
        The same seed gives the same pool.

    Examples
    --------
    >>> generated = generate_pool(20, rng=0)
    >>> generated.pool.n_queries, generated.features.shape[1], int(generated.grades.max())
    (20, 13, 4)
    """
    n_queries, rng = whole_number(n_queries, "n_queries", 1), generator(rng)
    counts = np.clip(np.floor(np.exp(rng.normal(4.6, 0.62, n_queries))), 2, 1200).astype(np.int64)
    offsets = np.concatenate(([0], np.cumsum(counts)))
    effect = rng.standard_normal(n_queries)
    x = rng.standard_normal((offsets[-1], WEIGHTS.size))
    latent = x @ WEIGHTS + 0.8 * np.repeat(effect, counts) + rng.logistic(size=offsets[-1])
    grades = np.searchsorted(np.quantile(latent, GRADE_QUANTILES), latent, side="left").astype(np.int64)
    observed_effect = effect + 0.7 * rng.standard_normal(n_queries)
    noise = rng.standard_normal((offsets[-1], N_NOISE))
    of_query = np.repeat(np.column_stack((observed_effect, np.log(counts))), counts, axis=0)
    features = np.column_stack((x, of_query[:, :1], noise, of_query[:, 1:]))
    lengths = np.exp(rng.normal(6.5, 1.0, offsets[-1]))
    names = [f"q{q + 1}" for q in range(n_queries)]
    pool = QueryPool(names, offsets, item_costs=np.log(math.e + lengths))
    return GeneratedPool(pool, grades, features, lengths)


def noisy_scores(scores: ArrayLike, rng: np.random.Generator | int | None = None) -> Floats:
    """Return scores + 0.5 · sd · N(0, 1): the recipe's second ranker, made from the first one's scores."""
    values = np.asarray(scores, dtype=np.float64)
    rng = np.random.default_rng(rng)
    return np.asarray(values + 0.5 * values.std() * rng.standard_normal(values.shape))


def ranked_by_expected_grade(pool: QueryPool, grade_probs: ArrayLike) -> Rankings:
    """Return the recipe's first ranking: expected grade, best first."""
    probs = np.asarray(grade_probs, dtype=np.float64)
    return Rankings.from_scores(pool, probs @ np.arange(probs.shape[1]))
