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
    """Audit graders' grades against a campaign's judgments, as far as its blocks are complete.

    The other arguments are those of `activeeval.graders.audit.audit_judged`.

    Raises
    ------
    StateError
        If no block is complete.
    """
    answering = partial(answered, state, scope=scope, confidence=confidence)
    return audit_answered(state.read, answering, graders, measures, questions, scope=scope, confidence=confidence)
