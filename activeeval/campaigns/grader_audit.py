"""What a campaign's labels say of machines' grades."""

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
    """Return what a campaign says of machines' grades, as far as it may be read.

    All else is as of `activeeval.graders.audit.audit_judged`.

    Raises
    ------
    StateError
        Where no block is complete.
    """
    answering = partial(answered, state, scope=scope, confidence=confidence)
    return audit_answered(state.read, answering, graders, measures, questions, scope=scope, confidence=confidence)
