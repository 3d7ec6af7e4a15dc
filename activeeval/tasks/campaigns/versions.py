"""Versions of a campaign's sample: which are rounds of their own, and which go on with one."""

from __future__ import annotations

from collections.abc import Sequence

from activeeval.store import SampleRow

REDRAWN = "redrawn"
"""Why there is a version that is a round of its own."""
INSTALMENT = "instalment"
"""Why there is one that follows from labels, and costs nothing that was not planned."""


def rounds_of(versions: Sequence[SampleRow]) -> list[list[SampleRow]]:
    """Return the versions of each round: drawn afresh, topped up, and followed by instalments."""
    rounds: list[list[SampleRow]] = []
    for row in versions:
        if row.reason == REDRAWN or not rounds:
            rounds.append([])
        rounds[-1].append(row)
    return rounds


def n_budgets(versions: Sequence[SampleRow]) -> int:
    """Return how often a budget was given: to the first version, to further rounds and top-ups."""
    return sum(row.reason != INSTALMENT for row in versions)
