"""Audit of graders (LLMs or other models) with a campaign's judgments."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from activeeval.campaigns.state import CampaignState, answered
from activeeval.graders.audit import Audit, audit_answered


def audit_of(
    state: CampaignState,
    graders: Sequence[Any],
    measures: Sequence[Any] = (),
    questions: Sequence[str] = (),
    *,
    scope: str = "pool",
    confidence: float = 0.95,
) -> Audit:
    """Audit graders (LLMs or other models) against a campaign's judgments, up to the last complete block.

    A block is a part of the sample; at its end estimates are valid.

    Parameters
    ----------
    state : CampaignState
        The campaign as of an event.
    graders : sequence
        Their grades: paths of files, data frames, `Judgments` or `Grades`.
    measures, questions : sequence of str
        Measures, as "P@5", and kinds of question, as "difference"; by default the campaign's own.
    scope : {"pool", "population"}
        Population of the estimates: the pool's queries, or all queries that these are a sample of.
    confidence : float
        Of the intervals.

    Raises
    ------
    StateError
        If no block is complete.
    InputError
        If a grader cannot be read, or the sample does not support a question.
    """
    answering = partial(answered, state, scope=scope, confidence=confidence)
    return audit_answered(state.read, answering, graders, measures, questions, scope=scope, confidence=confidence)
