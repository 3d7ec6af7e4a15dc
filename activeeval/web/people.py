"""Accept invitations, and sign out."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from starlette.responses import HTMLResponse, RedirectResponse

from activeeval.web.error_responses import RefusedError
from activeeval.web.rendering import rendered
from activeeval.web.roles import CurrentCampaign, for_role
from activeeval.web.settings import ServedCampaign

router = APIRouter()
_COOKIE_S = 30 * 86_400
HOME = {"judge": "/judge", "lead": "/lead"}
"""The first page of each role."""


@router.get("/come-in/{invite}")
@for_role("anyone")
def invitation(request: Request, served: CurrentCampaign, invite: str) -> Response:
    """Show whom an invitation is for, and a button that accepts it, so that link previews do not use it up.

    ``invite`` is the secret of the link.
    """
    person = served.store.access(served.name).person_of("invite", invite)
    if person is None:
        return _come_in_again(request, served)
    return HTMLResponse(rendered("coming_in.html.j2", campaign=served.name, person=person, invite=invite))


@router.post("/come-in/{invite}")
@for_role("anyone")
def come_in(request: Request, served: CurrentCampaign, invite: str) -> Response:
    """Start a session from an invitation; a browser that already used it continues its session.

    ``invite`` is the secret of the link.
    """
    # the browser's earlier session, if any, ends
    entry = served.store.access(served.name).come_in(invite, request.cookies.get(served.cookie))
    if entry is None:
        return _come_in_again(request, served)
    secret, person = entry
    response = RedirectResponse(HOME[person.role], 303)
    set_session(response, served, secret)
    return response


def _come_in_again(request: Request, served: ServedCampaign) -> Response:
    """Redirect a browser that has a session to its first page; raise RefusedError (410) if it has none."""
    before = request.cookies.get(served.cookie)
    person = served.store.access(served.name).person_of("session", before) if before else None
    if person is None:
        raise RefusedError(410, "This link was used already, or has expired. Ask its sender for a new one.")
    return RedirectResponse(HOME[person.role], 303)


@router.post("/go-out")
@for_role("judge")
def go_out(request: Request, served: CurrentCampaign) -> Response:
    """End the session of this browser."""
    secret = request.cookies.get(served.cookie)
    if secret is None:
        raise RefusedError(409, "The proxy signs people in here: sign out there.")
    served.store.access(served.name).end("session", secret)
    response = HTMLResponse(rendered("gone.html.j2"))
    set_cookie(response, served, served.cookie, value="", age_s=0)  # delete the cookie
    return response


def invited(served: ServedCampaign, role: str, person: str) -> str:
    """Issue an invitation link for a person; return its URL.

    A judge invited by e-mail address may also sign in at the other site.

    ``role`` is "judge" or "lead" (who runs the campaign).
    """
    access = served.store.access(served.name)
    secret = access.issue("invite", role, person)
    if served.provider and served.provider.oidc.host_of_addresses and role == "judge" and "@" in person:
        access.let_in(person)
    return f"{served.door.url}/come-in/{secret}"


def set_session(response: Response, served: ServedCampaign, secret: str) -> None:
    """Set the session cookie of a browser to a session's secret."""
    set_cookie(response, served, served.cookie, secret, _COOKIE_S)


def set_cookie(response: Response, served: ServedCampaign, name: str, value: str, age_s: int) -> None:
    """Set a cookie that is invisible to scripts and not sent with other sites' forms; ``age_s`` is its life in seconds.

    An age of 0 deletes it.
    """
    response.set_cookie(
        name, value, max_age=age_s, path="/", secure=served.door.is_secure, httponly=True, samesite="lax"
    )
