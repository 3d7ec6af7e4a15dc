"""Coming in by an invite, and going out again."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from starlette.responses import HTMLResponse, RedirectResponse

from activeeval.web.refusals import RefusedError
from activeeval.web.rendering import rendered
from activeeval.web.roles import Here, for_role
from activeeval.web.served import Served

router = APIRouter()
_COOKIE_S = 30 * 86_400
HOME = {"judge": "/judge", "lead": "/lead"}
"""The first page of each role."""


@router.get("/come-in/{invite}")
@for_role("anyone")
def come_in(request: Request, served: Here, invite: str) -> Response:
    """Make a session of an invite; whoever has used it in this browser goes on."""
    before, access = request.cookies.get(served.cookie), served.store.access(served.name)
    came = access.come_in(invite, before)
    if came is None:
        person = access.person_of("session", before) if before else None
        if person is None:
            raise RefusedError(410, "This link was used already, or is too old. Ask whoever sent it for a new one.")
        return RedirectResponse(HOME[person.role], 303)
    secret, person = came
    response = RedirectResponse(HOME[person.role], 303)
    set_session(response, served, secret)
    return response


@router.post("/go-out")
@for_role("judge")
def go_out(request: Request, served: Here) -> Response:
    """End the session of this browser."""
    served.store.access(served.name).end("session", request.cookies[served.cookie])
    response = HTMLResponse(rendered("gone.html.j2"))
    set_cookie(response, served, served.cookie, "", 0)
    return response


def invited(served: Served, role: str, person: str) -> str:
    """Return the address by which somebody comes in, once; who is known by an address may sign in elsewhere, too."""
    access = served.store.access(served.name)
    secret = access.issue("invite", role, person)
    if served.provider and served.provider.oidc.host_of_addresses and role == "judge" and "@" in person:
        access.let_in(person)
    return f"{served.door.url}/come-in/{secret}"


def set_session(response: Response, served: Served, secret: str) -> None:
    """Give a browser the secret of a new session, in place of the one that it had."""
    set_cookie(response, served, served.cookie, secret, _COOKIE_S)


def set_cookie(response: Response, served: Served, name: str, value: str, age_s: int) -> None:
    """Give a browser a secret under a name, which no script sees and no form of another site sends."""
    response.set_cookie(
        name, value, max_age=age_s, path="/", secure=served.door.is_secure, httponly=True, samesite="lax"
    )
