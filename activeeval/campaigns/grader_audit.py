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
    graders, measures, questions
        Graders with their grades, and what to estimate; as for `activeeval.graders.audit.audit_judged`. By default the
        campaign's own measures and questions.
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
