"""What all pages of judges have in common: whose item it is, the document in its frame, the lease that goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from fastapi import APIRouter, Request, Response
from starlette.responses import HTMLResponse

from activeeval.campaigns.desk_views import ItemView, Reply
from activeeval.campaigns.grade_desk import PageDesk
from activeeval.campaigns.store import Person
from activeeval.core.errors import InputError
from activeeval.core.judgments.log import Event
from activeeval.web.error_responses import RefusedError
from activeeval.web.forms import Fields, reply_in
from activeeval.web.rendering import rendered
from activeeval.web.roles import CurrentCampaign, Who, for_role, served_in
from activeeval.web.settings import ServedCampaign

D = TypeVar("D", bound=PageDesk)
router = APIRouter(prefix="/judge")
FRAME_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"
LATE = "late"
_NOT_YOURS = "This item is not yours; open the page again."
_SAID = ("judged", "cannot", "deferred", "corrected", "preferred", "undone", "nothing", LATE)


@router.post("/renew")
@for_role("judge")
def renew(served: CurrentCampaign, who: Who, fields: Fields) -> Response:
    """Let the lease of an item start again, as its judge is at it."""
    token = fields.get("token", "")
    owned(served, who, token)
    return Response(status_code=204 if served.desk.renew(who.name, token) else 410)


def at_desk(kind: type[D], refusal: str) -> Callable[[Request], D]:
    """Return what gives a route the desk that is served, where it is of the kind that the route is for."""

    def desk_in(request: Request) -> D:
        desk = served_in(request).desk
        if not isinstance(desk, kind):
            raise RefusedError(404, refusal)
        return desk

    return desk_in


def owned(served: ServedCampaign, who: Person, token: str, refusal: str = _NOT_YOURS) -> Event:
    """Return the event of an item that this judge was shown; raise RefusedError where it is none of his."""
    try:
        return served.desk.event_of(who.name, token)
    except InputError as error:
        if error.is_passing:
            raise
        raise RefusedError(404, refusal) from None


def replied(served: ServedCampaign, fields: Fields) -> Reply:
    """Return what a form says of an item, with the guidelines that are beside it."""
    return reply_in(fields, served.guidelines.version if served.guidelines else "")


def framed(item: ItemView) -> Response:
    """Return the document of an item as a page of its own, in which nothing runs."""
    headers = {"content-security-policy": FRAME_POLICY, "referrer-policy": "no-referrer"}
    return HTMLResponse(item.text, headers=headers)


def known(said: str) -> str:
    """Return what an address says was said last; nothing where it is none of ours."""
    return said if said in _SAID else ""


def page_of(template: str, served: ServedCampaign, who: Person, **values: object) -> Response:
    """Return a page of somebody who came in."""
    return HTMLResponse(rendered(template, campaign=served.name, who=who, guidelines=served.guidelines, **values))


def part_of(template: str, served: ServedCampaign, **values: object) -> Response:
    """Return a part of a page of a judge."""
    return HTMLResponse(rendered(template, guidelines=served.guidelines, **values))
