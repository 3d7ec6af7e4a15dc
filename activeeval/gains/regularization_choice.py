"""Choice of the regularisation C on held-out pairs: cross-validation or a validation set."""

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
    """Held-out performance of one candidate for C.

    Attributes
    ----------
    C : float
    loss : float
        Mean squared violation of the held-out preferences' margins; smaller is better.
    precision : float
        Share of the held-out preferences that is ordered correctly.
    """

    C: float
    loss: float
    precision: float


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """Training pairs and held-out bounds of one fold.

    `counts`, shape (n_pairs,), are multiplicities of the training pairs (None: once each); `rows`, shape (n_bounds,),
    masks the held-out bounds of the program `held`.
    """

    counts: Floats | None
    held: Program
    rows: NDArray[np.bool_]


def folds(data: PreferenceData, program: Program, n_folds: int, rng: np.random.Generator | int | None) -> list[Split]:
    """Split pairs for cross-validation into `n_folds` folds; with at least two queries, pairs of a query stay together.

    Raises
    ------
    InputError
        If no fold has preferences on both sides.
    """
    groups = data.groups()
    n_groups = int(groups.max()) + 1
    if n_groups < 2:
        raise InputError("one pair cannot be split for cross-validation: give C")
    # fold of each pair; a bound's pair is program.pairs, and only bounds of preferences (not ties) are held out
    fold = (np.random.default_rng(rng).permutation(n_groups) % n_folds)[groups]
    strict = ~program.is_tie
    held_out = [strict & (fold == number)[program.pairs] for number in range(min(n_folds, n_groups))]
    splits = [
        Split((fold != number).astype(np.float64), program, rows)
        for number, rows in enumerate(held_out)
        if rows.any() and (strict & ~rows).any()
    ]
    if not splits:
        raise InputError("one preference, or preferences of one query, cannot be split for cross-validation: give C")
    return splits


def held_out_losses(program: Program, grid: Iterable[float], splits: Sequence[Split]) -> tuple[TunedC, ...]:
    """Compute the loss and precision of each candidate for C in `grid`, on the held-out bounds of all splits.

    ``program`` has the bounds that all pairs set on the weights; each split (fold) trains on some of them.
    """
    choices = []
    for C in grid:
        losses, right = [], []
        for split in splits:
            weights = program.solve(C, split.counts)
            losses.append(split.held.violations(weights)[split.rows] ** 2)
            right.append(told_apart(split.held.rows, weights)[split.rows] > 0)
        choices.append(TunedC(float(C), float(np.concatenate(losses).mean()), float(np.concatenate(right).mean())))
    return tuple(choices)
