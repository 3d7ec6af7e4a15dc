"""Partial order of several systems that a sample establishes with certainty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from activeeval.core.estimation import certainly_better, rank_ranges
from activeeval.sampling.answers import SampleAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Possible ranks of a system among all, by one measure.

    Attributes
    ----------
    measure : str
    segment : str or None
        None for all queries.
    scope : {"pool", "population"}
        The queries that intervals are for: those of the pool, or all that these are a sample of.
    system : str
    ranks : tuple of int and int
        First and last possible rank; the ranges of all systems hold simultaneously at the intervals' confidence.
    better_than : tuple of str
        Systems that are certainly worse, whatever the grades of items that could not be judged.
    answer : SampleAnswer or None
        Estimate of the system alone, if requested.
    """

    measure: str
    segment: str | None
    scope: str
    system: str
    ranks: tuple[int, int]
    better_than: tuple[str, ...]
    answer: SampleAnswer | None = None


def places(systems: Sequence[str], answers: Sequence[SampleAnswer]) -> list[Place]:
    """Compute the possible ranks of several systems, by measure and segment, the best first.

    Parameters
    ----------
    systems : sequence of str
        Names of all systems.
    answers : sequence of SampleAnswer
        Result of `activeeval.sampling.answers.answers`; only differences order systems.
    """
    differences = [answer for answer in answers if answer.shared is not None]
    families = dict.fromkeys((str(answer.target.measure), answer.segment) for answer in differences)
    ordered = []
    for measure, segment in families:
        family = [answer for answer in answers if (str(answer.target.measure), answer.segment) == (measure, segment)]
        ordered += _places(list(systems), family)
    return ordered


def _places(systems: list[str], answers: Sequence[SampleAnswer]) -> list[Place]:
    """Compute the possible ranks of systems from the simultaneous intervals of one measure and segment."""
    differences = [answer for answer in answers if answer.shared is not None]
    ends = [answer.estimate.bounds(answer.shared.interval) for answer in differences if answer.shared is not None]
    pairs = [(systems.index(answer.system), systems.index(answer.versus)) for answer in differences]
    is_better = certainly_better(len(systems), pairs, [low for low, _ in ends], [high for _, high in ends])
    ranks, alone = rank_ranges(is_better), {answer.system: answer for answer in answers if answer.question == "run"}
    values = _values(len(systems), pairs, [answer.estimate.value for answer in differences])
    first = differences[0]
    return [
        Place(
            measure=first.target.name,
            segment=first.segment,
            scope=first.estimate.scope,
            system=systems[k],
            ranks=ranks[k],
            better_than=tuple(systems[j] for j in np.flatnonzero(is_better[k])),
            answer=alone.get(systems[k]),
        )
        # the best first: by the middle of the possible ranks, then by the fitted value
        for k in sorted(range(len(systems)), key=lambda k: (sum(ranks[k]), -values[k]))
    ]


def _values(n: int, pairs: Sequence[tuple[int, int]], differences: Sequence[float]) -> list[float]:
    """Fit values of n systems to the estimated differences of pairs (indices) by least squares, up to a constant."""
    signs = np.zeros((len(pairs), n))
    for row, (i, j) in enumerate(pairs):
        signs[row, i], signs[row, j] = 1.0, -1.0
    values = np.linalg.lstsq(signs, np.array(differences), rcond=None)[0]
    return [float(value) for value in values]
