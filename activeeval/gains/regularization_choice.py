"""The choice of C: on held-out pairs, by cross-validation or on a validation set."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from activeeval.core.errors import InputError
from activeeval.core.types import Floats
from activeeval.gains.convex_program import Program
from activeeval.gains.pairs import PreferenceData
from activeeval.gains.readout import told_apart


@dataclass(frozen=True, slots=True)
class TunedC:
    """One candidate for C.

    Attributes
    ----------
    C : float
    loss : float
        Mean squared violation of the held-out preferences' margins, the smaller the better.
    precision : float
        Share of them that is ordered rightly.
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
    """Split pairs for cross-validation; those of a query stay together where there are two queries or more."""
    groups = data.groups()
    n_groups = int(groups.max()) + 1
    if n_groups < 2:
        raise InputError("one pair cannot be split for cross-validation: give C")
    fold = (np.random.default_rng(rng).permutation(n_groups) % n_folds)[groups]
    strict = ~program.is_tie
    held = [strict & (fold == number)[program.pairs] for number in range(min(n_folds, n_groups))]
    kept = [
        Split((fold != number).astype(np.float64), program, rows)
        for number, rows in enumerate(held)
        if rows.any() and (strict & ~rows).any()
    ]
    if not kept:
        raise InputError("one preference, or preferences of one query, cannot be split for cross-validation: give C")
    return kept


def held_out_losses(program: Program, grid: Iterable[float], splits: Sequence[Split]) -> tuple[TunedC, ...]:
    """Return how each candidate for C does on what was held out."""
    choices = []
    for C in grid:
        losses, right = [], []
        for split in splits:
            weights = program.solve(C, split.counts)
            losses.append(split.held.violations(weights)[split.rows] ** 2)
            right.append(told_apart(split.held.rows, weights)[split.rows] > 0)
        choices.append(TunedC(float(C), float(np.concatenate(losses).mean()), float(np.concatenate(right).mean())))
    return tuple(choices)
