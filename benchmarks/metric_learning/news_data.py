"""A generated set in the shape of the news search data, which are not public.

766 queries, the top five of two rankers with four grades, on random sides; an editor's label from 1 (set one much
better) to 5 (set two much better), 13, 108, 473, 148 and 24 times. What is made up: a query's documents and their
grades; two rankers that see grades through noise, one with less of it; an editor who feels a utility that is neither
of the usual DCGs (what is irrelevant or poor is worth little, what is good nearly as much as what is excellent, and
attention falls faster than the logarithm), errs, and says how much better by five thresholds that give the counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from activeeval.gains import PreferenceData
from benchmarks.metric_learning.data import Floats, Ints, Pairs

COUNTS = (13, 108, 473, 148, 24)
N_QUERIES, DEPTH, N_DOCUMENTS, TOP = sum(COUNTS), 5, 20, 3
GRADE_SHARES = np.array([0.35, 0.3, 0.2, 0.15])
RANKER_NOISE = (0.8, 1.1)
UTILITY = np.outer([1.0, 0.35, 0.2, 0.1, 0.05], [0.0, 0.2, 2.8, 3.0])
JUDGE_NOISE = 0.8
BASELINES = {
    "2^l − 1": np.outer(1 / np.log(np.arange(DEPTH) + 2), 2.0 ** np.arange(1, TOP + 2) - 1),
    "l": np.outer(1 / np.log(np.arange(DEPTH) + 2), np.arange(1.0, TOP + 2)),
}


@dataclass(frozen=True, slots=True, eq=False)
class News:
    """Top fives side by side; the gaps of the pairs have the sign of the label, ties are 0."""

    pairs: Pairs
    labels: Ints

    @property
    def strict(self) -> Ints:
        """Return the pairs of which one is preferred."""
        return np.flatnonzero(self.labels != 3)

    @property
    def is_clear(self) -> np.ndarray:
        """Tell which pairs are of Set1: one list much better."""
        return np.abs(self.labels - 3) == 2

    def preferences(self, rows: Ints) -> PreferenceData:
        """Return some pairs as a learner sees them, ties as ties."""
        return self.pairs[rows].preferences(self.labels[rows] == 3, TOP)


def generate(rng: np.random.Generator) -> News:
    """Return a set of the shape; another seed, another set."""
    shares = rng.dirichlet(4 * GRADE_SHARES, N_QUERIES)
    grades = (rng.random((N_QUERIES, N_DOCUMENTS, 1)) > np.cumsum(shares, axis=1)[:, None, :-1]).sum(axis=2)
    sides = [_top(grades + noise * rng.normal(size=grades.shape), grades) for noise in RANKER_NOISE]
    swap = rng.random((N_QUERIES, 1)) < 0.5
    lists = (np.where(swap, sides[1], sides[0]), np.where(swap, sides[0], sides[1]))
    felt = Pairs(*lists, np.zeros(N_QUERIES)).scores(UTILITY)
    said = felt + JUDGE_NOISE * felt.std() * rng.normal(size=N_QUERIES)
    labels = np.empty(N_QUERIES, dtype=np.int64)
    labels[np.argsort(-said)] = np.repeat(np.arange(1, 6), COUNTS)
    return News(Pairs(*lists, 3.0 - labels, np.arange(N_QUERIES)), labels)


def _top(scores: Floats, grades: Ints) -> Ints:
    return np.take_along_axis(grades, np.argsort(-scores, axis=1)[:, :DEPTH], axis=1)
