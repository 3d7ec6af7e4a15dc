"""Sign-in of leads with a password: the form, the limit on tries, setting a password."""

from __future__ import annotations

import ipaddress

from fastapi import APIRouter, Request, Response
from starlette.responses import HTMLResponse, RedirectResponse

from activeeval.report.numbers import counted
from activeeval.web.error_responses import RefusedError
from activeeval.web.forms import Fields
from activeeval.web.passwords import MOST, hashed_password, is_right
from activeeval.web.people import HOME, set_session
from activeeval.web.rendering import rendered
from activeeval.web.roles import CurrentCampaign, CurrentUser, for_role
from activeeval.web.settings import ServedCampaign

router = APIRouter()
_WRONG = "The name or the password is wrong. Only leads have passwords."


@router.get("/sign-in")
@for_role("anyone")
def form(served: CurrentCampaign) -> Response:
    """Show the sign-in page: a form for name and password, and a link to the other site if there is one."""
    return sign_in_page(served, name="", problem="", status=200)


@router.post("/sign-in")
@for_role("anyone")
def sign_in(request: Request, served: CurrentCampaign, fields: Fields) -> Response:
    """Start a session by name and password, in place of the browser's current one.

    After too many failures, refuse with 429 and the seconds to wait.
    """
    name, password = fields.get("person", "")[:200], fields.get("password", "")
    address, access = address_of(request, served), served.store.access(served.name)
    tried = access.try_password(name, address)  # counted as failed until `access.sign_in`
    if tried.wait_s:
        return sign_in_page(served, name, f"Too many tries. Please wait {_lasting(tried.wait_s)}.", 429, tried.wait_s)
    # without a hash (no such lead) `is_right` takes as long: the time does not reveal names
    if not is_right(password, tried.hash) or tried.hash is None:
        return sign_in_page(served, name, _WRONG, 403)
    entry = access.sign_in(name, address, tried.hash, request.cookies.get(served.cookie))
    if entry is None:
        return sign_in_page(served, name, _WRONG, 403)
    response = RedirectResponse(HOME["lead"], 303)
    set_session(response, served, entry[0])
    return response


@router.post("/lead/password")
@for_role("lead")
def set_password(served: CurrentCampaign, user: CurrentUser, fields: Fields) -> Response:
    """Set a lead's password from a form that has it twice, and end all other sessions of theirs."""
    if served.door.auth_header:
        raise RefusedError(409, "The proxy signs people in here: passwords are not used.")
    password_hash = hashed_password(fields.get("password", ""), fields.get("again", ""))
    response = RedirectResponse("/lead/people", 303)
    set_session(response, served, served.store.access(served.name).set_password(user.name, password_hash))
    return response


def address_of(request: Request, served: ServedCampaign) -> str:
    """Return the client's address for counting password attempts.

    Of an IPv6 address it is the /64 network, as a household has a whole one. Behind a proxy it is the last address in
    X-Forwarded-For, which the proxy appends.
    """
    peer = request.client.host if request.client else ""
    if served.door.behind_proxy:
        peer = ",".join(request.headers.getlist("x-forwarded-for")).rpartition(",")[2].strip() or peer
    try:
        address = ipaddress.ip_address(peer)
    except ValueError:
        return peer[:100]
    return str(ipaddress.ip_network((address, 64), strict=False)) if address.version == 6 else str(address)


def sign_in_page(served: ServedCampaign, name: str, problem: str, status: int, wait_s: int = 0) -> Response:
    """Render the sign-in page.

    Parameters
    ----------
    name : str
        Name typed before; "" at first.
    problem : str
        Sentence on what went wrong; "" if nothing.
    status : int
        HTTP status.
    wait_s : int
        Seconds to wait before the next try; 0 for none.
    """
    elsewhere = served.provider.oidc.host if served.provider else ""
    values = {"campaign": served.name, "name": name, "problem": problem, "most": MOST, "elsewhere": elsewhere}
    headers = {"Retry-After": str(wait_s)} if wait_s else {}
    return HTMLResponse(rendered("signing_in.html.j2", **values), status, headers)


def _lasting(seconds: int) -> str:
    """Format a duration as seconds, or from 90 seconds on as whole minutes, rounded up."""
    if seconds < 90:
        return counted(seconds, "second")
    return counted(-(-seconds // 60), "minute")
