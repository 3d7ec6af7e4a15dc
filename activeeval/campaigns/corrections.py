"""Reconcile the rounds of a campaign: grades that a later round treats as known, and items it includes again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from activeeval.core.design import Design
from activeeval.core.errors import StateError
from activeeval.core.types import Ints
from activeeval.report.numbers import agreeing, counted
from activeeval.sampling.drawn_sample import DrawnSample


def known_now(design: Design, before: Sequence[DrawnSample]) -> Ints:
    """Update the grades that a round's design treats as known to their current values.

    A round is a further sample of a campaign, drawn with the judgments of earlier rounds as known grades. A known item
    that has no single grade any more keeps its value.

    Parameters
    ----------
    design : Design
        Design of the round; ``known`` has the grade of each item, −1 for items that are not known.
    before : sequence of DrawnSample
        The earlier rounds, with their judgments.

    Returns
    -------
    array of shape (n_items,)
        Grade of each item of the pool; −1 for items that are not known.
    """
    if not before:
        return design.known
    grades, _ = _last_grades(before)
    changed = (design.known >= 0) & (grades >= 0) & (grades != design.known)
    return np.where(changed, grades, design.known) if changed.any() else design.known


def check_known(rounds: Sequence[DrawnSample]) -> None:
    """Check that each item that a later round (further sample) treats as known still has one grade.

    Parameters
    ----------
    rounds : sequence of DrawnSample
        All rounds in order, with their judgments.

    Raises
    ------
    StateError
        If such an item cannot be judged any more, or its judges differ and several grades count.
    """
    for k, later in enumerate(rounds[1:], 2):
        design = later.campaign.design
        grades, settled = _last_grades(rounds[: k - 1])  # by the rounds before this one
        gone = np.flatnonzero(settled & (design.known >= 0) & (grades != design.known))
        if gone.size:
            raise StateError(
                f"{counted(gone.size, 'item')} that round {k} treats as known {agreeing(gone.size, 'has', 'have')} "
                f"no single grade any more, the first is "
                f"{design.pool.place(int(gone[0]))}: judge them again, or use an event before that (as of)"
            )


def asked_again(rounds: Sequence[DrawnSample]) -> int:
    """Count the items that could not be judged in one round (sample) and are included again in a later one.

    ``rounds`` are all rounds in order, with their judgments.
    """
    n, later = 0, set[int]()  # later: items of the rounds after the current one
    for sample in reversed(rounds):
        campaign = sample.campaign
        # settled items have a grade, or cannot be judged (grade below 0)
        n += sum(campaign.grades[item] < 0 for item in campaign.settled & later)
        later |= {item for unit in campaign.units for item in unit.items}
    return int(n)


def _last_grades(rounds: Sequence[DrawnSample]) -> tuple[Ints, NDArray[np.bool_]]:
    """Collect each item's grade in the latest round (sample) that graded it, and whether any round has settled it.

    Parameters
    ----------
    rounds : sequence of DrawnSample
        All rounds in order, at least one, with their judgments.

    Returns
    -------
    grades : array of shape (n_items,)
        −1 if no round graded the item, or if judges differ and all of their grades count.
    settled : bool array of shape (n_items,)
        True if the item is graded or declared impossible to judge.
    """
    n_items = rounds[0].campaign.design.pool.n_items
    grades, settled = np.full(n_items, -1, dtype=np.int64), np.zeros(n_items, dtype=np.bool_)
    for sample in rounds:
        labels = sample.campaign.labels
        grades = np.where(labels.grades >= 0, labels.grades, grades)
        grades[labels.items] = -1  # items whose differing grades all count
        settled[list(sample.campaign.settled)] = True
    return grades, settled
