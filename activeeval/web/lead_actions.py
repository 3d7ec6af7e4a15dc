"""Actions of a lead: adjudicate disagreements, invite and remove people, extend the budget, close and open."""

from __future__ import annotations

from fastapi import APIRouter, Response
from starlette.responses import RedirectResponse

from activeeval.campaigns.close_and_reopen import close, reopen
from activeeval.web.error_responses import RefusedError
from activeeval.web.forms import Fields, text_of
from activeeval.web.lead_pages import SCOPES, people_page
from activeeval.web.people import invited
from activeeval.web.roles import CurrentCampaign, CurrentUser, Number, for_role

router = APIRouter(prefix="/lead")


@router.post("/disagreements/{seq}")
@for_role("lead")
def adjudicate(served: CurrentCampaign, user: CurrentUser, seq: Number, fields: Fields) -> Response:
    """Store the lead's decision (grade and reason) on an item on which judges differ.

    ``seq`` is the event of one of its judgments.
    """
    grade, reason = fields.get("grade", ""), text_of(fields, "reason")
    if not (grade.isascii() and grade.isdigit() and len(grade) < 10):
        raise RefusedError(422, "Please choose the grade that it counts as.")
    if not reason:
        raise RefusedError(422, "Please give a reason: it is stored in the log.")
    served.store.adjudicate(served.name, seq, user.name, int(grade), reason)
    return RedirectResponse("/lead/disagreements", 303)


@router.post("/people")
@for_role("lead")
def invite(served: CurrentCampaign, user: CurrentUser, fields: Fields) -> Response:
    """Invite a person, and show the link once."""
    person, role = text_of(fields, "person", most=100), fields.get("role", "")
    if not person or role not in ("judge", "lead"):
        raise RefusedError(422, "Please give a name, and choose judge or lead.")
    return people_page(served, user, invited(served, role, person), person)


@router.post("/tokens")
@for_role("lead")
def make_token(served: CurrentCampaign, user: CurrentUser, fields: Fields) -> Response:
    """Create a token (secret for HTTP requests) for a person's program, and show it once."""
    person, scope = text_of(fields, "person", most=100), fields.get("scope", "")
    if not person or scope not in SCOPES:
        raise RefusedError(422, "Please give the name of the program's user, and choose what it may do.")
    token = served.store.access(served.name).issue("token", role="judge", person=person, scope=scope)
    return people_page(served, user, invited_name=person, token=token)


@router.post("/people/{number}/end")
@for_role("lead")
def end(served: CurrentCampaign, number: Number) -> Response:
    """Revoke a link, a session, a token or another credential by its id (``number``)."""
    served.store.access(served.name).end_by_id(number)
    return RedirectResponse("/lead/people", 303)


@router.post("/redraw")
@for_role("lead")
def redraw(served: CurrentCampaign, fields: Fields) -> Response:
    """Draw a further sample (round) of the form's ``budget`` for the campaign, with the judged items as known."""
    from activeeval.campaigns.draw import drawn_again
    from activeeval.inputs.budgets import Budget

    drawn_again(served.store, served.name, Budget.parse(text_of(fields, "budget", most=20)))
    return RedirectResponse("/lead", 303)


@router.post("/close")
@for_role("lead")
def close_campaign(served: CurrentCampaign) -> Response:
    """Close the campaign: no more items are given out."""
    close(served.store, served.name)
    return RedirectResponse("/lead", 303)


@router.post("/open")
@for_role("lead")
def open_campaign(served: CurrentCampaign) -> Response:
    """Reopen the campaign: items held back since its closing are given out again."""
    reopen(served.store, served.name)
    return RedirectResponse("/lead", 303)


@router.post("/top-up")
@for_role("lead")
def top_up(served: CurrentCampaign, fields: Fields) -> Response:
    """Add the form's ``budget`` (a number of items, or a share as 10%) to the campaign: extend its sample."""
    from activeeval.campaigns.draw import topped_up
    from activeeval.inputs.budgets import Budget

    topped_up(served.store, served.name, Budget.parse(text_of(fields, "budget", most=20)))
    return RedirectResponse("/lead", 303)
