"""The page of a judge who compares two documents at a time."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from starlette.responses import RedirectResponse

from activeeval.campaigns.pair_desk import PairsDesk
from activeeval.core.errors import InputError
from activeeval.web import desks
from activeeval.web.error_responses import RefusedError
from activeeval.web.forms import Fields
from activeeval.web.roles import CurrentCampaign, Number, Who, for_role
from activeeval.web.settings import ServedCampaign

router = APIRouter(prefix="/judge")


Compared = Annotated[PairsDesk, Depends(desks.at_desk(PairsDesk, "Here documents are graded, not compared."))]


@router.get("")
@for_role("judge")
def compare(served: CurrentCampaign, who: Who, desk: Compared, said: str = "") -> Response:
    """Show the two documents that a judge is to compare next."""
    return desks.page_of("comparing.html.j2", served, who, view=desk.page(who.name), said=desks.known(said))


@router.post("/answer")
@for_role("judge")
def answer(request: Request, served: CurrentCampaign, who: Who, desk: Compared, fields: Fields) -> Response:
    """Store what a judge says of two documents, and show the next two."""
    token = fields.get("token", "")
    reply = desks.replied(served, fields)
    done = desk.answer(desks.owned(served, who, token), token, reply)
    return _next(request, served, desk, who.name, done.event.kind)


@router.post("/undo")
@for_role("judge")
def undo(request: Request, served: CurrentCampaign, who: Who, desk: Compared) -> Response:
    """Take back what a judge said of two documents last, and show them again."""
    done = desk.undo(who.name)
    return _next(request, served, desk, who.name, "undone" if done else "nothing")


@router.get("/document/{token}/{number}")
@for_role("judge")
def document(served: CurrentCampaign, who: Who, desk: Compared, token: str, number: Number) -> Response:
    """Show a document of a query as a page of its own, in which nothing runs."""
    event = desks.owned(served, who, token)
    try:
        return desks.framed(desk.document(event, number))
    except InputError:
        raise RefusedError(404, "There is no such document here.") from None


def _next(request: Request, served: ServedCampaign, desk: PairsDesk, judge: str, said: str) -> Response:
    if "hx-request" not in request.headers:
        return RedirectResponse(f"/judge?said={said}", 303)
    return desks.part_of("pair.html.j2", served, view=desk.page(judge), said=said)
