"""Versions of a campaign's sample: group them into rounds, and unpack one."""

from __future__ import annotations

from collections.abc import Sequence

from activeeval.campaigns.store import SampleRow
from activeeval.sampling.drawn_sample import DrawnSample
from activeeval.sampling.read_samples import unpacked_sample

REDRAWN = "redrawn"
"""Reason of a version that starts a new round."""
BATCH = "batch"
"""Reason of a version that follows from labels (adaptive depth). It stores only differences from its round's first."""


def rounds_of(versions: Sequence[SampleRow]) -> list[list[SampleRow]]:
    """Group versions of a campaign's sample into rounds.

    A round is one draw, followed by top-ups (more of the same sample) and batches (items that labels led to).
    """
    rounds: list[list[SampleRow]] = []
    for row in versions:
        if row.reason == REDRAWN or not rounds:
            rounds.append([])
        rounds[-1].append(row)
    return rounds


def unpacked_version(versions: Sequence[SampleRow], row: SampleRow, name: str) -> tuple[DrawnSample, str]:
    """Unpack one version of a sample, without judgments; return it with its id (digest).

    Parameters
    ----------
    versions : sequence of SampleRow
        All stored versions: a batch (items that labels led to) stores only differences from the first version of its
        round.
    row : SampleRow
        The version to unpack.
    name : str
        Names the sample in messages.
    """
    first = next(of_round[0] for of_round in rounds_of(versions) if row.version <= of_round[-1].version)
    return unpacked_sample(row.payload, name, first.payload if row.reason == BATCH else None)


def n_budgets(versions: Sequence[SampleRow]) -> int:
    """Count the budgets given: one for the first version, each further sample and each top-up."""
    return sum(row.reason != BATCH for row in versions)
