"""Pairs of lists and the two hidden measures that judge them: permutations of one list of grades, their variants."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from activeeval.core.types import Floats, Ints
from activeeval.gains import GainDiscountLearner, PreferenceData, UndeterminedWarning, random_list_pairs

Lists = Callable[[int, np.random.Generator], tuple[Ints, Ints]]

N_RANKS, TOP_GRADE = 10, 4
DISCOUNTS = 1 / np.log(np.arange(N_RANKS) + 2)
GAINS = {"Data 1": np.arange(1.0, 6.0), "Data 2": 2.0 ** np.arange(1, 6) - 1}
TRUTHS = {name: np.outer(DISCOUNTS, gains) for name, gains in GAINS.items()}
OTHER = {"Data 1": "Data 2", "Data 2": "Data 1"}
PAIRS = (20, 50, 100, 200, 400, 800)
SHAPES = ("monotone", "decreasing")
DECADES = tuple(10.0**power for power in range(-3, 4))
ONE_LIST = np.repeat([4, 3, 2, 1, 0], 2)
OTHER_LIST = np.array([4, 4, 4, 3, 3, 3, 2, 2, 1, 0])
LONG_LIST = np.repeat([4, 3, 2, 1, 0], 4)
EQUAL = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Pairs of lists, shape (n, K) each, and by how much the first is truly better than the second."""

    first: Ints
    second: Ints
    gaps: Floats
    queries: Ints | None = None
    moved: Ints | None = None

    def __len__(self) -> int:
        return len(self.first)

    def __getitem__(self, rows: Any) -> Self:
        held = (None if one is None else one[rows] for one in (self.queries, self.moved))
        return type(self)(self.first[rows], self.second[rows], self.gaps[rows], *held)

    def preferences(self, ties: Any = None, top: int = TOP_GRADE) -> PreferenceData:
        """Make the data of a learner: the list that is truly better comes first."""
        swap = (self.gaps < 0)[:, None]
        sides = (np.where(swap, self.second, self.first), np.where(swap, self.first, self.second))
        return PreferenceData(*sides, ties, self.queries, max_grade=top, moved=self.moved)

    def flipped(self, n: int, rng: np.random.Generator) -> Self:
        """Turn ``n`` preferences round."""
        turned = np.isin(np.arange(len(self)), rng.permutation(len(self))[:n])
        return replace(self, gaps=np.where(turned, -self.gaps, self.gaps))

    def regraded(self, share: float, rng: np.random.Generator) -> Self:
        """Give a share of the places a grade at random; who is preferred stays."""
        sides = [
            np.where(rng.random(one.shape) < share, rng.integers(0, TOP_GRADE + 1, one.shape), one)
            for one in (self.first, self.second)
        ]
        return replace(self, first=sides[0], second=sides[1])

    def scores(self, weights: Floats) -> Floats:
        """Return the utility of the first list less that of the second."""
        ranks = np.arange(self.first.shape[1])
        return np.asarray((weights[ranks, self.first] - weights[ranks, self.second]).sum(axis=1))

    def rights(self, weights: Floats) -> NDArray[np.bool_]:
        """Test which pairs the weights order as the truth does; a tie is wrong."""
        scores = self.scores(weights)
        scores[np.abs(scores) < EQUAL] = 0.0
        return np.asarray(scores * self.gaps > 0)

    def precision(self, weights: Floats) -> float:
        """Return the share of pairs that the weights order rightly."""
        return float(self.rights(weights).mean())


def draw(lists: Lists, truth: Floats, n: int, rng: np.random.Generator) -> Pairs:
    """Return pairs that the truth tells apart."""
    firsts, seconds, gaps = [], [], []
    while sum(map(len, gaps)) < n:
        made = Pairs(*lists(n, rng), np.zeros(0))
        gap = made.scores(truth)
        told = np.abs(gap) > EQUAL
        for held, one in zip((firsts, seconds, gaps), (made.first, made.second, gap), strict=True):
            held.append(one[told])
    return Pairs(*(np.concatenate(held)[:n] for held in (firsts, seconds, gaps)))


def orders_of(grades: Ints, depth: int | None = None) -> Lists:
    """Make a function that draws pairs of random orders of a list of grades, cut at ``depth``."""
    return lambda n, rng: random_list_pairs(grades, n, depth, rng)


def best_against(grades: Ints) -> Lists:
    """Make a function that draws pairs of the best order of the usual list and a random order of ``grades``."""
    return lambda n, rng: (np.tile(ONE_LIST, (n, 1)), random_list_pairs(grades, n, None, rng)[0])


def learned(data: PreferenceData, validation: PreferenceData | None = None, **settings: Any) -> GainDiscountLearner:
    """Return a fitted learner; that pairs leave things open is expected here and not said each time."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndeterminedWarning)
        return GainDiscountLearner(conflicts="keep", **settings).fit(data, validation=validation)
