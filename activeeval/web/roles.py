"""Access control: each route declares the role that may use it; a route without a role is closed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeVar

from fastapi import Depends, Path, Query, Request

from activeeval.campaigns.store import Person
from activeeval.core.judgments.judge_names import judge_name
from activeeval.web.error_responses import RefusedError
from activeeval.web.settings import ServedCampaign

Role = Literal["anyone", "judge", "lead", "token", "any token"]
Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])
_COMES_IN = {"judge": ("judge", "lead"), "lead": ("lead",)}
_BEARER = "bearer "


def for_role(role: Role) -> Callable[[Endpoint], Endpoint]:
    """Mark a route's function with the role that may use it; a lead may use all that a judge may.

    ``token`` is a program that may claim and submit, ``any token`` also one that may only read the status.
    """

    def mark(endpoint: Endpoint) -> Endpoint:
        """Store the role on the route's function."""
        endpoint.role = role  # type: ignore[attr-defined]
        return endpoint

    return mark


def role_of(endpoint: Callable[..., Any]) -> Role | None:
    """Return the role of a route's function; None if it has none."""
    role: Role | None = getattr(endpoint, "role", None)
    return role


def served_in(request: Request) -> ServedCampaign:
    """Return the served campaign of a request's application."""
    served: ServedCampaign = request.app.state.served
    return served


def guard(request: Request) -> None:
    """Check that the user has the route's role, and store the person in the request.

    Raises RefusedError if the route has no role, nobody is signed in, or the person has another role.
    """
    role = role_of(request.scope["endpoint"])
    if role == "anyone":
        return
    if role is None:
        raise RefusedError(403, "This page is closed.")
    request.state.person = _by_token(request, role) if "token" in role else _by_session(request, role)


def _by_session(request: Request, role: str) -> Person:
    """Identify a person by the proxy's header or the session cookie, and check that they may use ``role``.

    A judge's pages are open to judges and leads, a lead's pages to leads. Raises RefusedError without header and cookie
    (401), or if the person may not use the role (403).
    """
    served = served_in(request)
    secret = request.cookies.get(served.cookie)
    person = _by_proxy(request, served)
    if person is None and secret:
        person = served.store.access(served.name).person_of("session", secret)
    if person is None:
        raise RefusedError(401, "Please open the link that you were sent, or ask for a new one: each works once.")
    if person.role not in _COMES_IN[role]:
        raise RefusedError(403, "This page is for leads of the campaign.")
    return person


def _by_proxy(request: Request, served: ServedCampaign) -> Person | None:
    """Identify a person by the header in which the proxy names the user; None without it.

    The middleware guarantees that the request comes from the proxy. A repeated header is refused: one of the values may
    come from the client. Raises RefusedError if it is repeated or not UTF-8.
    """
    header = served.door.auth_header
    values = request.headers.getlist(header) if header and served.door.behind_proxy else []
    if len(values) > 1:
        raise RefusedError(
            400, f"{header} came {len(values)} times: the proxy must replace any header of the client by its own."
        )
    try:
        name = judge_name("".join(values).encode("latin-1").decode("utf-8"))  # Starlette decodes headers as latin-1
    except UnicodeDecodeError:
        raise RefusedError(400, f"{header} is not UTF-8 text: the proxy must send the user's name in UTF-8.") from None
    return Person(name, "lead" if name == served.lead else "judge") if name else None


def _by_token(request: Request, role: str) -> Person:
    """Identify a program by its bearer token.

    Raises RefusedError without a valid token (401), or if it is only for the status and the role needs more (403).
    """
    served, header = served_in(request), request.headers.get("authorization", "")
    secret = header[len(_BEARER) :].strip() if header.lower().startswith(_BEARER) else ""
    person = served.store.access(served.name).person_of("token", secret) if secret else None
    if person is None:
        raise RefusedError(401, "a valid token is needed: Authorization: Bearer TOKEN")
    if role != "any token" and person.scope != "all":
        raise RefusedError(403, "this token is only for the status: ask a lead for one that may claim and submit")
    return person


def _person(request: Request) -> Person:
    """Return the person that `guard` stored."""
    person: Person = request.state.person
    return person


LARGEST = 2**63 - 1
"""Largest id of events and of credentials in the store."""
Number = Annotated[int, Path(ge=0, le=LARGEST)]
NumberAsked = Annotated[int | None, Query(ge=0, le=LARGEST)]
CurrentCampaign = Annotated[ServedCampaign, Depends(served_in)]
CurrentUser = Annotated[Person, Depends(_person)]
