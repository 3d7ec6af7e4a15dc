"""The pages of a judge: an item to grade, earlier answers, the document in a frame of its own."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from starlette.responses import HTMLResponse, RedirectResponse

from activeeval.errors import InputError
from activeeval.store import Person
from activeeval.tasks.campaigns.at_desk import ItemView, JudgingView
from activeeval.web.forms import Fields, reply_in
from activeeval.web.refusals import RefusedError
from activeeval.web.rendering import rendered
from activeeval.web.roles import Here, Who, for_role
from activeeval.web.served import Served

router = APIRouter(prefix="/judge")
FRAME_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"
_MOST_HISTORY = 200
_LATE = "late"


@router.get("")
@for_role("judge")
def judge(served: Here, who: Who, said: str = "") -> Response:
    """Show the item that a judge has, or else the next one."""
    return _page("judging.html.j2", served, who, view=served.desk.page(who.name), said=_said(said))


@router.post("/answer")
@for_role("judge")
def answer(request: Request, served: Here, who: Who, fields: Fields) -> Response:
    """Store what a judge says of an item; show the next one at once where the page takes a part of itself."""
    is_part = "hx-request" in request.headers
    reply = reply_in(fields, served.guidelines.version if served.guidelines else "")
    token = fields.get("token", "")
    _owned(served, who, token)
    done, view = served.desk.answer(who.name, token, reply, goes_on=is_part)
    said = _LATE if done.event.kind == _LATE else done.event.kind
    if not is_part or view is None:
        return RedirectResponse(f"/judge?said={said}", 303)
    return _part(served, view, said)


@router.get("/document/{token}")
@for_role("judge")
def document(served: Here, who: Who, token: str) -> Response:
    """Show the document of an item as a page of its own, in which nothing runs."""
    _owned(served, who, token)
    return _framed(served.desk.texts(served.desk.event_of(who.name, token)))


@router.post("/renew")
@for_role("judge")
def renew(served: Here, who: Who, fields: Fields) -> Response:
    """Let the lease of an item start again, as its judge is at it."""
    token = fields.get("token", "")
    _owned(served, who, token)
    return Response(status_code=204 if served.desk.renew(who.name, token) else 410)


@router.get("/answers")
@for_role("judge")
def answers(served: Here, who: Who) -> Response:
    """Show what a judge has answered, the newest first."""
    views = served.desk.history(who.name, _MOST_HISTORY)
    return _page("history.html.j2", served, who, answers=views, most=_MOST_HISTORY)


@router.get("/answers/{seq}")
@for_role("judge")
def correcting(served: Here, who: Who, seq: int) -> Response:
    """Show an earlier answer of a judge, to be changed."""
    try:
        view = served.desk.correcting(who.name, seq)
    except InputError:
        raise RefusedError(404, "There is no answer of yours here; it may have been changed since.") from None
    return _page("correcting.html.j2", served, who, view=view)


@router.post("/answers/{seq}")
@for_role("judge")
def correct(served: Here, who: Who, seq: int, fields: Fields) -> Response:
    """Store what a judge says in place of an earlier answer."""
    reply = reply_in(fields, served.guidelines.version if served.guidelines else "")
    if reply.judgment.kind == "later":
        raise RefusedError(422, "What is answered already cannot be put off.")
    served.desk.correct(who.name, seq, reply)
    return RedirectResponse("/judge?said=corrected", 303)


@router.get("/answers/{seq}/document")
@for_role("judge")
def answered_document(served: Here, who: Who, seq: int) -> Response:
    """Show the document of an earlier answer as a page of its own."""
    try:
        return _framed(served.desk.shown_answer(who.name, seq))
    except InputError:
        raise RefusedError(404, "There is no answer of yours here.") from None


def _owned(served: Served, who: Person, token: str) -> None:
    """Raise RefusedError where a token is of no item that this judge was shown: whose it is nobody learns."""
    try:
        served.desk.event_of(who.name, token)
    except InputError as error:
        if error.is_passing:
            raise
        raise RefusedError(404, "This item is not yours; open the page again.") from None


def _framed(item: ItemView) -> Response:
    headers = {"content-security-policy": FRAME_POLICY, "referrer-policy": "no-referrer"}
    return HTMLResponse(item.text, headers=headers)


def _said(code: str) -> str:
    return code if code in ("judged", "cannot", "later", "corrected", _LATE) else ""


def _page(template: str, served: Served, who: Person, **values: object) -> Response:
    return HTMLResponse(rendered(template, campaign=served.name, who=who, guidelines=served.guidelines, **values))


def _part(served: Served, view: JudgingView, said: str) -> Response:
    return HTMLResponse(rendered("work.html.j2", view=view, said=said, guidelines=served.guidelines))
