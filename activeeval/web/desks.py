"""Shared parts of judges' pages: ownership of items, sandboxed documents, renewal of leases."""

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
from activeeval.web.roles import CurrentCampaign, CurrentUser, for_role, served_in
from activeeval.web.settings import ServedCampaign

D = TypeVar("D", bound=PageDesk)
router = APIRouter(prefix="/judge")
FRAME_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"
LATE = "late"
_NOT_YOURS = "This item is not yours; open the page again."
_SAID = ("judged", "cannot", "deferred", "corrected", "preferred", "undone", "nothing", LATE)


@router.post("/renew")
@for_role("judge")
def renew(served: CurrentCampaign, user: CurrentUser, fields: Fields) -> Response:
    """Renew the lease (reservation) of an item that its judge is working on: status 204, or 410 if it is lost."""
    token = fields.get("token", "")
    owned(served, user, token)
    return Response(status_code=204 if served.desk.renew(user.name, token) else 410)


def at_desk(kind: type[D], refusal: str) -> Callable[[Request], D]:
    """Build a dependency of routes: it returns the campaign's desk (judging page) if it has the type ``kind``.

    The dependency refuses the request (404, with the sentence ``refusal``) otherwise.
    """

    def desk_in(request: Request) -> D:
        """Return the desk of the served campaign."""
        desk = served_in(request).desk
        if not isinstance(desk, kind):
            raise RefusedError(404, refusal)
        return desk

    return desk_in


def owned(served: ServedCampaign, user: Person, token: str, refusal: str = _NOT_YOURS) -> Event:
    """Find the event in which this judge was shown an item under a token.

    Raises RefusedError (404, with the sentence ``refusal``) if the token is not theirs.
    """
    try:
        return served.desk.event_of(user.name, token)
    except InputError as error:
        if error.is_passing:  # the database is not available now: status 503
            raise
        raise RefusedError(404, refusal) from None


def replied(served: ServedCampaign, fields: Fields) -> Reply:
    """Parse the reply in a judge's form, with the version of the current guidelines."""
    return reply_in(fields, served.guidelines.version if served.guidelines else "")


def framed(item: ItemView) -> Response:
    """Send an item's document as a sandboxed page that runs no scripts."""
    headers = {"content-security-policy": FRAME_POLICY, "referrer-policy": "no-referrer"}
    return HTMLResponse(item.text, headers=headers)


def known(said: str) -> str:
    """Return the kind of the last answer from the query string; "" if it is not a known one."""
    return said if said in _SAID else ""


def page_of(template: str, served: ServedCampaign, user: Person, **values: object) -> Response:
    """Render a page for a signed-in person; ``values`` are further variables of the template."""
    return HTMLResponse(rendered(template, campaign=served.name, user=user, guidelines=served.guidelines, **values))


def part_of(template: str, served: ServedCampaign, **values: object) -> Response:
    """Render a part of a judge's page, for htmx; ``values`` are further variables of the template."""
    return HTMLResponse(rendered(template, guidelines=served.guidelines, **values))
