"""Pages of a judge who grades: the current item, and earlier answers to correct."""

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
from activeeval.web.roles import CurrentCampaign, CurrentUser, Number, for_role

router = APIRouter(prefix="/judge")
_MOST_HISTORY = 200


Graded = Annotated[JudgesDesk, Depends(desks.at_desk(JudgesDesk, "Here documents are compared, not graded."))]


@router.get("")
@for_role("judge")
def judge(served: CurrentCampaign, user: CurrentUser, desk: Graded, said: str = "") -> Response:
    """Show a judge's current or next item; redirect a new judge to the training.

    ``said`` is the kind of the last answer.
    """
    if training_of(served.store, served.name, user.name, served.training) is not None:
        return RedirectResponse("/judge/training", 303)
    return desks.page_of("judging.html.j2", served, user, view=desk.page(user.name), said=desks.known(said))


@router.post("/answer")
@for_role("judge")
def answer(request: Request, served: CurrentCampaign, user: CurrentUser, desk: Graded, fields: Fields) -> Response:
    """Store a judge's answer, then redirect to the next item; for htmx, claim and render it in the same request."""
    is_part, token = "hx-request" in request.headers, fields.get("token", "")
    reply = desks.replied(served, fields)
    done, view = desk.answer(desks.owned(served, user, token), token, reply, goes_on=is_part)
    if view is None:
        return RedirectResponse(f"/judge?said={done.event.kind}", 303)
    return desks.part_of("work.html.j2", served, view=view, said=done.event.kind)


@router.get("/document/{token}")
@for_role("judge")
def document(served: CurrentCampaign, user: CurrentUser, desk: Graded, token: str) -> Response:
    """Show the document of an item as a sandboxed page; ``token`` is that of the judge's claim."""
    return desks.framed(desk.texts(desks.owned(served, user, token)))


@router.get("/answers")
@for_role("judge")
def answers(served: CurrentCampaign, user: CurrentUser, desk: Graded) -> Response:
    """Show a judge's answers, newest first."""
    views = desk.history(user.name, _MOST_HISTORY)
    return desks.page_of("history.html.j2", served, user, answers=views, most=_MOST_HISTORY)


@router.get("/answers/{seq}")
@for_role("judge")
def correcting(served: CurrentCampaign, user: CurrentUser, desk: Graded, seq: Number) -> Response:
    """Show the judge's answer of event ``seq`` for correction; refuse with 404 if it is not a valid answer."""
    try:
        view = desk.correcting(user.name, seq)
    except InputError:
        raise RefusedError(404, "There is no answer of yours here; it may have been changed since.") from None
    return desks.page_of("correcting.html.j2", served, user, view=view)


@router.post("/answers/{seq}")
@for_role("judge")
def correct(served: CurrentCampaign, user: CurrentUser, desk: Graded, seq: Number, fields: Fields) -> Response:
    """Store a judge's correction of the answer of event ``seq``."""
    reply = desks.replied(served, fields)
    if reply.judgment.kind not in ("judged", "cannot"):
        raise RefusedError(422, "An earlier answer cannot be deferred: please choose a grade.")
    desk.correct(user.name, seq, reply)
    return RedirectResponse("/judge?said=corrected", 303)


@router.get("/answers/{seq}/document")
@for_role("judge")
def answered_document(user: CurrentUser, desk: Graded, seq: Number) -> Response:
    """Show the document of the judge's answer of event ``seq`` as a sandboxed page."""
    try:
        return desks.framed(desk.shown_answer(user.name, seq))
    except InputError:
        raise RefusedError(404, "There is no answer of yours here.") from None
