"""Command ``activeeval campaign audit``: audit graders with a campaign's judgments."""

from __future__ import annotations

from typing import Any

from activeeval.campaigns.commands.options import as_of_option, of_campaign, opened
from activeeval.cli.help import command
from activeeval.cli.input_options import worded
from activeeval.cli.waiting import tell
from activeeval.graders.commands.audit import audit_options, show_audit


@command()
@of_campaign
@as_of_option
@audit_options
def audit(name: str, db: str | None, as_of: int | None, form: str, **asked: Any) -> None:
    """Audit a grader with the judgments so far: its bias with an interval, for each system.

    Works as `activeeval audit` on a sample and its sheets, and uses judgments up to the highest complete block.

    \b
    activeeval campaign audit week1 --grader llm.qrels
    activeeval campaign report week1 --grader llm.qrels      the same, folded, on the team's page
    """
    from activeeval.campaigns.grader_audit import audit_of
    from activeeval.campaigns.state import state_of

    tell("reading the log and the grades")
    with opened(name, db) as store:
        state = state_of(store, name, as_of)
    with worded():
        audited = audit_of(state, **asked)
    show_audit(audited, form)
