"""A collection in the likeness of MSLR-WEB30K, for where the real one is not at hand.

Taken over exactly are its published counts: 31,531 queries in five folds and the shares of the five grades
(1,940,952, 1,225,770, 504,958, 69,010 and 30,435 of 3,771,125 items); within a few per mille the mean number of
119.6 items a query, with a tail that is cut at 1,251. The rest is matched to the 71 real queries of a sample of
MSLR-WEB10K (``python -m benchmarks.paper --check-generator`` prints the table of both):

* An item has twelve hidden factors, partly shared by its query. Relevance is linear in most of them, with two products
  and two thresholds, so that forests find more than a linear model, plus the query's own effect and logistic noise.
  Grades cut it at the quantiles of the shares above.
* 136 features: mixtures of three factors each with noise of their own, of which a tenth only differs between
  queries. A third stays as it is, a third is skewed (exponential), a third is cut at zero, as counts are.
  The strengths are spread so that the correlations with the grade, within queries and in all, and the share of a
  feature's variance that lies between queries, have the sample's quantiles.
* Feature 15 is the document length: log(1 + length) is normal with the sample's mean, spread and share between
  queries. Judging an item costs log(1 + length).
* The strength of the noise was set by hand so that forests and ordered logits trained on half a fold reach the true
  values that the paper reports (DCG 26.5 … 33.4; ERR 0.31 … 0.34 for logits, 0.35 … 0.38 for forests).
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float32]

N_QUERIES, N_FOLDS, N_FEATURES = 31_531, 5, 136
GRADE_COUNTS = np.array([1_940_952, 1_225_770, 504_958, 69_010, 30_435])
LENGTH_FEATURE = 14
MOST_ITEMS = 1251
LOG_ITEMS, LOG_ITEMS_SCALE, LOG_ITEMS_TAIL = 4.6183, 0.54, 16
LOG_LENGTH, LOG_LENGTH_SD, LENGTH_SHARE = 6.02, 1.27, 0.19
FACTOR_WEIGHTS = np.array([0.55, 0.5, 0.35, 0.3, 0.2, 0.2, 0.15, 0.1])
FACTOR_SHARES = np.array([0.2, 0.1, 0.3, 0.1, 0.3, 0.2, 0.4, 0.2])
FACTOR_CHANCES = np.array([0.3, 0.24, 0.13, 0.1, 0.08, 0.06, 0.05, 0.04])
QUERY_EFFECT, NOISE, LINEAR, BENT = 1.1, 1.62, 0.78, 0.77
BLOCK = 2048


@dataclass(frozen=True)
class Fold:
    """The number of items of each query, and for each item its grade, what judging it costs, and its features."""

    counts: NDArray[np.int64]
    grades: NDArray[np.int8]
    costs: NDArray[np.float64]
    features: Floats


@dataclass(frozen=True)
class _Hidden:
    """What relevance and features are made of: factors (n_items, 12), the queries' effects, document lengths."""

    counts: NDArray[np.int64]
    factors: Floats
    effects: Floats
    lengths: Floats


def generate(n_queries: int = N_QUERIES, n_folds: int = N_FOLDS, seed: int = 2013) -> Iterator[Fold]:
    """Yield the folds; the features of one fold are held at a time."""
    rng = np.random.default_rng([seed, n_queries])
    hidden = _hidden(n_queries, rng)
    grades = _grades(hidden, rng)
    loadings = _Loadings.drawn(np.random.default_rng([seed, N_FEATURES]))
    ends = np.concatenate(([0], np.cumsum(hidden.counts)))
    bounds = np.linspace(0, n_queries, n_folds + 1).astype(int)
    for fold, (first, last) in enumerate(itertools.pairwise(bounds)):
        items, own = slice(ends[first], ends[last]), np.random.default_rng([seed, n_queries, fold])
        counts, lengths = hidden.counts[first:last], hidden.lengths[items]
        features = loadings.features(hidden.factors[items], hidden.effects[first:last], counts, own)
        features[:, LENGTH_FEATURE] = lengths
        yield Fold(counts, grades[items], item_costs(lengths), features)


def item_costs(lengths: ArrayLike) -> NDArray[np.float64]:
    """Return log(1 + length) of documents of a length in words; an empty one costs as much as one word."""
    return np.log1p(np.maximum(np.asarray(lengths, dtype=np.float64), 1))


def signature() -> str:
    """Return a digest of a small collection: what another generator made is another collection."""
    (fold,) = generate(20, 1, 0)
    return hashlib.sha256(fold.grades.tobytes() + fold.features.tobytes()).hexdigest()[:16]


def _hidden(n_queries: int, rng: np.random.Generator) -> _Hidden:
    sizes = np.exp(LOG_ITEMS + LOG_ITEMS_SCALE * rng.standard_t(LOG_ITEMS_TAIL, n_queries))
    counts = np.clip(np.rint(sizes), 1, MOST_ITEMS).astype(np.int64)
    n_items, n_factors = int(counts.sum()), FACTOR_WEIGHTS.size
    of_item = rng.standard_normal((n_items, n_factors), dtype=np.float32)
    of_query = rng.standard_normal((n_queries, n_factors), dtype=np.float32)
    shares = FACTOR_SHARES.astype(np.float32)
    factors = np.sqrt(1 - shares) * of_item + np.repeat(np.sqrt(shares) * of_query, counts, axis=0)
    effects = rng.standard_normal(n_queries, dtype=np.float32)
    common = np.repeat(rng.standard_normal(n_queries), counts)
    logs = LOG_LENGTH + LOG_LENGTH_SD * (
        np.sqrt(1 - LENGTH_SHARE) * rng.standard_normal(n_items) + np.sqrt(LENGTH_SHARE) * common
    )
    lengths = np.floor(np.expm1(np.clip(logs, 0, 12))).astype(np.float32)
    return _Hidden(counts, factors, effects, lengths)


def _grades(hidden: _Hidden, rng: np.random.Generator) -> NDArray[np.int8]:
    z = hidden.factors
    relevance = LINEAR * (z @ FACTOR_WEIGHTS.astype(np.float32))
    relevance += BENT * (z[:, 0] * z[:, 1] + z[:, 0] * z[:, 2] - 0.7 * z[:, 1] ** 2)
    relevance += QUERY_EFFECT * np.repeat(hidden.effects, hidden.counts)
    relevance += NOISE * rng.logistic(size=relevance.size)
    cuts = np.quantile(relevance, np.cumsum(GRADE_COUNTS[:-1]) / GRADE_COUNTS.sum())
    return np.searchsorted(cuts, relevance).astype(np.int8)


@dataclass(frozen=True)
class _Loadings:
    """How features are made: weights of the factors and of own noise, shares between queries, a shape for each."""

    of_factors: Floats
    of_effect: Floats
    noise: Floats
    between: Floats
    shape: NDArray[np.int64]

    @classmethod
    def drawn(cls, rng: np.random.Generator) -> _Loadings:
        """Draw the loadings; they are the same for pools of any size."""
        n, k = N_FEATURES, FACTOR_WEIGHTS.size
        of_factors = np.zeros((k, n))
        for column in of_factors.T:
            chosen = rng.choice(k, 2, replace=False, p=FACTOR_CHANCES)
            column[chosen] = rng.dirichlet(np.ones(2)) * rng.choice((1, 1, 1, -1), 2)
        of_factors /= np.linalg.norm(of_factors, axis=0)
        strength = rng.beta(9, 1, n)
        is_query_level = rng.random(n) < 0.13
        of_factors *= np.where(is_query_level, 0, np.sqrt(strength))
        between = np.where(is_query_level, 1, rng.beta(0.8, 4, n))
        of_effect = np.where(is_query_level | (rng.random(n) < 0.5), rng.uniform(0.1, 0.6, n), 0)
        parts = (of_factors, of_effect, np.sqrt(1 - strength), between)
        return cls(*(part.astype(np.float32) for part in parts), rng.integers(3, size=n))

    def features(self, factors: Floats, effects: Floats, counts: NDArray[np.int64], rng: np.random.Generator) -> Floats:
        """Return the features of the items, block by block of queries."""
        out = np.empty((factors.shape[0], N_FEATURES), dtype=np.float32)
        ends = np.concatenate(([0], np.cumsum(counts)))
        for first in range(0, counts.size, BLOCK):
            last = min(first + BLOCK, counts.size)
            block = out[ends[first] : ends[last]]
            of_query = rng.standard_normal((last - first, N_FEATURES), dtype=np.float32)
            of_query *= np.sqrt(self.between) * np.maximum(self.noise, self.between == 1)
            of_query += effects[first:last, None] * self.of_effect
            rng.standard_normal(out=block, dtype=np.float32)
            block *= np.sqrt(1 - self.between) * self.noise
            block += np.repeat(of_query, counts[first:last], axis=0)
            block += factors[ends[first] : ends[last]] @ self.of_factors
            skewed, cut = self.shape == 1, self.shape == 2
            block[:, skewed] = np.exp(1.5 * block[:, skewed])
            block[:, cut] = np.maximum(block[:, cut], 0)
        return out
