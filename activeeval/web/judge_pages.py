"""The pages of a judge who gives grades: an item, earlier answers to correct."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from starlette.responses import RedirectResponse

from activeeval.campaigns.grade_desk import JudgesDesk
from activeeval.campaigns.training import training_of
from activeeval.core.errors import InputError
from activeeval.web import desks
from activeeval.web.error_responses import RefusedError
from activeeval.web.forms import Fields
from activeeval.web.roles import CurrentCampaign, Number, Who, for_role

router = APIRouter(prefix="/judge")
_MOST_HISTORY = 200


Graded = Annotated[JudgesDesk, Depends(desks.at_desk(JudgesDesk, "Here documents are compared, not graded."))]


@router.get("")
@for_role("judge")
def judge(served: CurrentCampaign, who: Who, desk: Graded, said: str = "") -> Response:
    """Show the item that a judge has, or else the next one; whoever is new begins with items whose grades are known."""
    if training_of(served.store, served.name, who.name, served.training) is not None:
        return RedirectResponse("/judge/training", 303)
    return desks.page_of("judging.html.j2", served, who, view=desk.page(who.name), said=desks.known(said))


@router.post("/answer")
@for_role("judge")
def answer(request: Request, served: CurrentCampaign, who: Who, desk: Graded, fields: Fields) -> Response:
    """Store what a judge says of an item; show the next one at once where the page takes a part of itself."""
    is_part, token = "hx-request" in request.headers, fields.get("token", "")
    reply = desks.replied(served, fields)
    done, view = desk.answer(desks.owned(served, who, token), token, reply, goes_on=is_part)
    if view is None:
        return RedirectResponse(f"/judge?said={done.event.kind}", 303)
    return desks.part_of("work.html.j2", served, view=view, said=done.event.kind)


@router.get("/document/{token}")
@for_role("judge")
def document(served: CurrentCampaign, who: Who, desk: Graded, token: str) -> Response:
    """Show the document of an item as a page of its own, in which nothing runs."""
    return desks.framed(desk.texts(desks.owned(served, who, token)))


@router.get("/answers")
@for_role("judge")
def answers(served: CurrentCampaign, who: Who, desk: Graded) -> Response:
    """Show what a judge has answered, the newest first."""
    views = desk.history(who.name, _MOST_HISTORY)
    return desks.page_of("history.html.j2", served, who, answers=views, most=_MOST_HISTORY)


@router.get("/answers/{seq}")
@for_role("judge")
def correcting(served: CurrentCampaign, who: Who, desk: Graded, seq: Number) -> Response:
    """Show an earlier answer of a judge, to be changed."""
    try:
        view = desk.correcting(who.name, seq)
    except InputError:
        raise RefusedError(404, "There is no answer of yours here; it may have been changed since.") from None
    return desks.page_of("correcting.html.j2", served, who, view=view)


@router.post("/answers/{seq}")
@for_role("judge")
def correct(served: CurrentCampaign, who: Who, desk: Graded, seq: Number, fields: Fields) -> Response:
    """Store what a judge says in place of an earlier answer."""
    reply = desks.replied(served, fields)
    if reply.judgment.kind not in ("judged", "cannot"):
        raise RefusedError(422, "What is answered already cannot be put off: please choose a grade.")
    desk.correct(who.name, seq, reply)
    return RedirectResponse("/judge?said=corrected", 303)


@router.get("/answers/{seq}/document")
@for_role("judge")
def answered_document(who: Who, desk: Graded, seq: Number) -> Response:
    """Show the document of an earlier answer as a page of its own."""
    try:
        return desks.framed(desk.shown_answer(who.name, seq))
    except InputError:
        raise RefusedError(404, "There is no answer of yours here.") from None
