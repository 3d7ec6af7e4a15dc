"""The choice of C: on held-out pairs, by cross-validation or on a validation set."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from activeeval.errors import InputError
from activeeval.learning.preferences import PreferenceData
from activeeval.learning.program import Program

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Choice:
    """One candidate for C.

    Attributes
    ----------
    C : float
    loss : float
        Mean squared violation of the held-out preferences' margins, the smaller the better.
    precision : float
        Share of them that is ordered rightly, those between lists of the same grades left out; NaN where none is left.
    """

    C: float
    loss: float
    precision: float


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """How often each pair is learned from, None for once each, and the bounds that are held out."""

    counts: Floats | None
    held: Program
    rows: NDArray[np.bool_]


def folds(data: PreferenceData, program: Program, n_folds: int, rng: np.random.Generator | int | None) -> list[Split]:
    """Split pairs for cross-validation; those of a query stay together where there are enough queries."""
    groups = data.groups(n_folds)
    n_groups = int(groups.max()) + 1
    if n_groups < 2:
        raise InputError("one pair cannot be split for cross-validation: give C")
    fold = (np.random.default_rng(rng).permutation(n_groups) % n_folds)[groups]
    strict = ~program.is_tie
    splits = [
        Split((fold != number).astype(np.float64), program, strict & (fold == number)[program.pairs])
        for number in range(min(n_folds, n_groups))
    ]
    return [split for split in splits if split.rows.any()]


def held_out_losses(program: Program, grid: Iterable[float], splits: Sequence[Split]) -> tuple[Choice, ...]:
    """Return how each candidate for C does on what was held out."""
    choices = []
    for C in grid:
        losses, right = [], []
        for split in splits:
            weights = program.solve(C, split.counts)
            losses.append(split.held.violations(weights)[split.rows] ** 2)
            right.append((split.held.rows @ weights.ravel())[split.rows & split.held.differs] > 0)
        told = np.concatenate(right)
        precision = float(told.mean()) if told.size else float("nan")
        choices.append(Choice(float(C), float(np.concatenate(losses).mean()), precision))
    return tuple(choices)
