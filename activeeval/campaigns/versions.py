"""Versions of a campaign's sample: which are rounds of their own, and which go on with one."""

from __future__ import annotations

from collections.abc import Sequence

from activeeval.campaigns.store import SampleRow
from activeeval.sampling.drawn_sample import DrawnSample
from activeeval.sampling.read_samples import unpacked_sample

REDRAWN = "redrawn"
"""Why there is a version that is a round of its own."""
BATCH = "batch"
"""Why there is one that follows from labels. It holds only what is not as in the first version of its round."""


def rounds_of(versions: Sequence[SampleRow]) -> list[list[SampleRow]]:
    """Return the versions of each round: drawn afresh, topped up, and followed by batches."""
    rounds: list[list[SampleRow]] = []
    for row in versions:
        if row.reason == REDRAWN or not rounds:
            rounds.append([])
        rounds[-1].append(row)
    return rounds


def unpacked_version(versions: Sequence[SampleRow], row: SampleRow, name: str) -> tuple[DrawnSample, str]:
    """Return the sample of one of all versions, not yet judged, and its id; ``name`` is what messages call it."""
    first = next(of_round[0] for of_round in rounds_of(versions) if row.version <= of_round[-1].version)
    return unpacked_sample(row.payload, name, first.payload if row.reason == BATCH else None)


def n_budgets(versions: Sequence[SampleRow]) -> int:
    """Return how often a budget was given: to the first version, to further rounds and top-ups."""
    return sum(row.reason != BATCH for row in versions)
