"""What a lead does: decide where judges differ, invite and end, add to the budget."""

from __future__ import annotations

from fastapi import APIRouter, Response
from starlette.responses import RedirectResponse

from activeeval.campaigns.close_and_reopen import close, reopen
from activeeval.web.error_responses import RefusedError
from activeeval.web.forms import Fields, text_of
from activeeval.web.lead_pages import SCOPES, people_page
from activeeval.web.people import invited
from activeeval.web.roles import CurrentCampaign, Number, Who, for_role

router = APIRouter(prefix="/lead")


@router.post("/disagreements/{seq}")
@for_role("lead")
def adjudicate(served: CurrentCampaign, who: Who, seq: Number, fields: Fields) -> Response:
    """Store what an item counts as on which judges differ."""
    grade, reason = fields.get("grade", ""), text_of(fields, "reason")
    if not (grade.isascii() and grade.isdigit() and len(grade) < 10):
        raise RefusedError(422, "Please choose the grade that it counts as.")
    if not reason:
        raise RefusedError(422, "Please say why: whoever reads the log wants to know.")
    served.store.adjudicate(served.name, seq, who.name, int(grade), reason)
    return RedirectResponse("/lead/disagreements", 303)


@router.post("/people")
@for_role("lead")
def invite(served: CurrentCampaign, who: Who, fields: Fields) -> Response:
    """Invite somebody, and show the link this once."""
    person, role = text_of(fields, "person", 100), fields.get("role", "")
    if not person or role not in ("judge", "lead"):
        raise RefusedError(422, "Please give a name, and say whether it is of a judge or a lead.")
    return people_page(served, who, invited(served, role, person), person)


@router.post("/tokens")
@for_role("lead")
def make_token(served: CurrentCampaign, who: Who, fields: Fields) -> Response:
    """Make a token for a program of somebody, and show it this once."""
    person, scope = text_of(fields, "person", 100), fields.get("scope", "")
    if not person or scope not in SCOPES:
        raise RefusedError(422, "Please say for whom the program works, and what it may do.")
    token = served.store.access(served.name).issue("token", "judge", person, scope)
    return people_page(served, who, invited_name=person, token=token)


@router.post("/people/{number}/end")
@for_role("lead")
def end(served: CurrentCampaign, number: Number) -> Response:
    """End a link, a session or a token."""
    served.store.access(served.name).end_by_id(number)
    return RedirectResponse("/lead/people", 303)


@router.post("/redraw")
@for_role("lead")
def redraw(served: CurrentCampaign, fields: Fields) -> Response:
    """Draw a further round."""
    from activeeval.campaigns.draw import drawn_again
    from activeeval.inputs.budgets import Budget

    drawn_again(served.store, served.name, Budget.parse(text_of(fields, "budget", 20)))
    return RedirectResponse("/lead", 303)


@router.post("/close")
@for_role("lead")
def close_campaign(served: CurrentCampaign) -> Response:
    """Give out nothing more."""
    close(served.store, served.name)
    return RedirectResponse("/lead", 303)


@router.post("/open")
@for_role("lead")
def open_campaign(served: CurrentCampaign) -> Response:
    """Give out again what was open when the campaign was closed."""
    reopen(served.store, served.name)
    return RedirectResponse("/lead", 303)


@router.post("/top-up")
@for_role("lead")
def top_up(served: CurrentCampaign, fields: Fields) -> Response:
    """Add to the budget of the campaign."""
    from activeeval.campaigns.draw import topped_up
    from activeeval.inputs.budgets import Budget

    topped_up(served.store, served.name, Budget.parse(text_of(fields, "budget", 20)))
    return RedirectResponse("/lead", 303)
