"""What a judged sample answers: an estimate with its interval for each question, of all queries or by segment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from activeeval.errors import InputError, StateError
from activeeval.io.segments import read_segments
from activeeval.measures import Target
from activeeval.results import Estimate, Interval
from activeeval.session.samples import Sample

FEWEST = 10
"""Judged queries that chance chose below which a segment is not read. Twelve segments by chance of each of six sizes on
MQ2008 (DCG@10 by items, ERR by depth, one ranking and two, a tenth of the budget, 150 repetitions): from 5 on the
intervals covered 91 to 98 %, below that most were infinite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A question with what a sample says of it.

    Attributes
    ----------
    question : str
        difference, run or versus.
    target : Target
    estimate : Estimate
    interval : Interval
        Of the kind and level that were asked for; of segments such that all hold at once with that level.
    p_value : float
        Of the t test that the target is 0; of segments times their number.
    half_width_at_end : float
        What a t interval of this level should come to once all of the sample is judged.
    segment : str or None
    """

    question: str
    target: Target
    estimate: Estimate
    interval: Interval
    p_value: float
    half_width_at_end: float
    segment: str | None = None


def answers(
    sample: Sample,
    asked: Sequence[tuple[str, Target]],
    *,
    scope: str = "pool",
    kind: str = "t",
    level: float = 0.95,
    segments: str | None = None,
) -> tuple[list[Answer], list[str]]:
    """Return the answer to each question, and what to know of the segments.

    Parameters
    ----------
    asked : sequence of (str, Target)
        As `Sample.asked` returns them.
    kind : str
        A key of `activeeval.estimation.INTERVALS`.
    segments : str, optional
        A file as `activeeval.io.segments.read_segments` reads it: an answer for each segment of each question. The
        level is then shared out (Bonferroni): all intervals of one question hold at once, also where segments overlap.

    Raises
    ------
    StateError
        Where no block is complete.
    InputError
        Where the sample does not reach a question, or no segment is large enough.
    """
    campaign = sample.campaign

    def answer(question: str, target: Target, found: Estimate, n_rows: int, segment: str | None) -> Answer:
        own_level = 1 - (1 - level) / n_rows
        return Answer(
            question=question,
            target=target,
            estimate=found,
            interval=campaign.interval(kind, own_level, target, scope=scope),
            p_value=min(1.0, n_rows * found.p_value),
            half_width_at_end=campaign.half_width_at_end(own_level, target, scope=scope),
            segment=segment,
        )

    results = [(question, target, campaign.estimate(target, scope=scope)) for question, target in asked]
    ends = cut_notes(sample, asked)
    if segments is None:
        return [answer(*result, 1, None) for result in results], ends
    members, notes = read_segments(segments).of(campaign.design.pool)
    found: list[Answer] = []
    small: dict[str, list[str]] = {}
    for question, target, _ in results:
        read = _by_segment(sample, target, members, scope)
        missing = ", ".join(name for name in members if name not in read)
        small.setdefault(missing, []).append(f"{target.name} ({question})")
        found += [answer(question, part, one, len(read), name) for name, (part, one) in read.items()]
    if not found:
        raise InputError(f"{segments}: no segment has {FEWEST} judged queries: there is nothing to read")
    for missing, of in small.items():
        if missing:
            whose = "" if len(small) == 1 else f" for {', '.join(of)}"
            notes.append(f"fewer than {FEWEST} judged queries, not read{whose}: {missing}")
    return found, ends + notes


def cut_notes(sample: Sample, asked: Sequence[tuple[str, Target]]) -> list[str]:
    """Return what is to be said where a question counts all ranks of lists that were cut."""
    cut = [target.name for _, target in asked if target.measure.cutoff == sample.depth is not None]
    return [f"the lists of the sample end at rank {sample.depth}, so does {cut[0]}"] if cut else []


def _is_certain(sample: Sample, target: Target, found: Estimate) -> bool:
    """Return whether nothing of the pool was left to chance."""
    of_pool = found if found.scope == "pool" else sample.campaign.estimate(target)
    return of_pool.std_error == 0


def _by_segment(
    sample: Sample, target: Target, members: Mapping[str, NDArray[np.bool_]], scope: str
) -> dict[str, tuple[Target, Estimate]]:
    """Return the estimate of each segment that is large enough, or of which nothing is left to chance."""
    found = {}
    for name, within in members.items():
        part = replace(target, within=within)
        try:
            one = sample.campaign.estimate(part, scope=scope)
        except StateError:  # nothing of the segment has been judged
            continue
        if min(one.n_open, one.n_queries) >= FEWEST or _is_certain(sample, part, one):
            found[name] = (part, one)
    return found
