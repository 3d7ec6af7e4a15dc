"""Sign-in at another site (OpenID Connect): redirect there, and the return, which starts a session."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request, Response
from starlette.responses import RedirectResponse

from activeeval.campaigns.store.sign_ins import LASTS_S
from activeeval.web.error_responses import RETRY_S, RefusedError
from activeeval.web.people import HOME, set_cookie, set_session
from activeeval.web.provider import Provider, derived
from activeeval.web.roles import CurrentCampaign, for_role
from activeeval.web.settings import ServedCampaign
from activeeval.web.signing_in import sign_in_page

router = APIRouter(prefix="/sign-in/elsewhere")
_STALE = "This sign-in took more than ten minutes, was used already, or began in another browser: please begin again."
_MANY = "Too many people are signing in just now: please try again in some minutes."


@router.get("")
@for_role("anyone")
def go(request: Request, served: CurrentCampaign) -> Response:
    """Redirect to the other site, and store the secret of the sign-in in a cookie."""
    provider = _provider(served)
    if request.headers.get("host", "").lower() != served.door.authority:
        # the other site returns people to the configured address, where the cookie must be set
        return RedirectResponse(f"{served.door.url}/sign-in/elsewhere", 303)
    secret = served.store.access(served.name).start_sign_in()
    if secret is None:
        raise RefusedError(503, _MANY)
    try:
        response: Response = RedirectResponse(provider.address(secret, _back(served)), 303)
    except RefusedError as refusal:
        return _refused(served, refusal)
    set_cookie(response, served, _cookie(served), secret, LASTS_S)
    return response


@router.get("/back")
@for_role("anyone")
def come_back(
    request: Request, served: CurrentCampaign, state: str = "", code: str = "", error: str = "", iss: str = ""
) -> Response:
    """Start a session for a person who returns from the other site, if the campaign knows the account.

    Parameters
    ----------
    state, code, error, iss : str
        Parameters of an OpenID Connect response: proof that this browser began the sign-in, code to exchange for
        claims, error of the site, and issuer.
    """
    provider = _provider(served)
    try:
        secret = _secret_of(request, served, state)
        provider.check_issuer(iss)
        if error or not code:
            raise RefusedError(400, f"{provider.oidc.host} did not sign you in. You may try again.")
        response = _come_in(request, served, provider, provider.claims(secret, code, _back(served)))
    except RefusedError as refusal:
        response = _refused(served, refusal)
    set_cookie(response, served, _cookie(served), value="", age_s=0)  # the sign-in has ended: delete its cookie
    return response


def _come_in(request: Request, served: ServedCampaign, provider: Provider, claims: Mapping[str, Any]) -> Response:
    """Start the session of the person with these claims (statements of the other site about the account).

    The browser's earlier session ends. Raises RefusedError if the campaign does not know the account.
    """
    person, is_member = provider.oidc.person_of(claims)
    before = request.cookies.get(served.cookie)
    session = served.store.access(served.name).begin_session(person, before, of_member=is_member)
    if session is None:
        raise provider.oidc.unknown(claims)
    response = RedirectResponse(HOME[person.role], 303)
    set_session(response, served, session)
    return response


def _secret_of(request: Request, served: ServedCampaign, state: str) -> str:
    """Return the secret of the browser's sign-in from its cookie, and end the sign-in.

    Raises RefusedError if the returned ``state`` does not belong to it, or it is not valid any more.
    """
    secret = request.cookies.get(_cookie(served), "")
    is_its = bool(secret) and hmac.compare_digest(derived(secret, "state").encode(), state.encode())
    if not is_its or not served.store.access(served.name).end_sign_in(secret):
        raise RefusedError(400, _STALE)
    return secret


def _provider(served: ServedCampaign) -> Provider:
    """Return the configured sign-in site; raise RefusedError if there is none."""
    if served.provider is None:
        raise RefusedError(404, "Sign-in at another site is not set up here.")
    return served.provider


def _back(served: ServedCampaign) -> str:
    """Build the address to which the other site returns people, from the configured host, not from the request."""
    return f"{served.door.url}/sign-in/elsewhere/back"


def _cookie(served: ServedCampaign) -> str:
    """Name of the cookie of a pending sign-in."""
    return f"{served.cookie}-start"


def _refused(served: ServedCampaign, refusal: RefusedError) -> Response:
    """Render the sign-in page with the status and sentence of a refusal."""
    wait_s = RETRY_S if refusal.status == 503 else 0
    return sign_in_page(served, name="", problem=refusal.sentence, status=refusal.status, wait_s=wait_s)
