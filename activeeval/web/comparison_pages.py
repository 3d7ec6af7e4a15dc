"""Pages of a judge who compares two documents at a time."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from starlette.responses import RedirectResponse

from activeeval.campaigns.pair_desk import PairsDesk
from activeeval.core.errors import InputError
from activeeval.web import desks
from activeeval.web.error_responses import RefusedError
from activeeval.web.forms import Fields
from activeeval.web.roles import CurrentCampaign, CurrentUser, Number, for_role
from activeeval.web.settings import ServedCampaign

router = APIRouter(prefix="/judge")


Compared = Annotated[PairsDesk, Depends(desks.at_desk(PairsDesk, "Here documents are graded, not compared."))]


@router.get("")
@for_role("judge")
def compare(served: CurrentCampaign, user: CurrentUser, desk: Compared, said: str = "") -> Response:
    """Show the next two documents that a judge has to compare; ``said`` is the kind of the last answer."""
    return desks.page_of("comparing.html.j2", served, user, view=desk.page(user.name), said=desks.known(said))


@router.post("/answer")
@for_role("judge")
def answer(request: Request, served: CurrentCampaign, user: CurrentUser, desk: Compared, fields: Fields) -> Response:
    """Store a judge's comparison of two documents, and show the next two."""
    token = fields.get("token", "")
    reply = desks.replied(served, fields)
    done = desk.answer(desks.owned(served, user, token), token, reply)
    return _next(request, served, desk, user.name, done.event.kind)


@router.post("/undo")
@for_role("judge")
def undo(request: Request, served: CurrentCampaign, user: CurrentUser, desk: Compared) -> Response:
    """Retract a judge's last comparison, and show its documents again."""
    done = desk.undo(user.name)
    return _next(request, served, desk, user.name, "undone" if done else "nothing")


@router.get("/document/{token}/{number}")
@for_role("judge")
def document(served: CurrentCampaign, user: CurrentUser, desk: Compared, token: str, number: Number) -> Response:
    """Show one of the two documents as a sandboxed page."""
    event = desks.owned(served, user, token)
    try:
        return desks.framed(desk.document(event, number))
    except InputError:
        raise RefusedError(404, "There is no such document here.") from None


def _next(request: Request, served: ServedCampaign, desk: PairsDesk, judge: str, said: str) -> Response:
    """Redirect to the judge's page (status 303), or render the next pair if htmx asked for a part of the page.

    ``said`` is the kind of the last answer, as "preferred", which the page confirms.
    """
    if "hx-request" not in request.headers:
        return RedirectResponse(f"/judge?said={said}", 303)
    return desks.part_of("pair.html.j2", served, view=desk.page(judge), said=said)
