"""Client of OpenID Connect sign-in: the address at the other site, and the verified claims on return.

It is the code flow with PKCE. State, nonce and verifier are derived from one secret in a browser cookie; the other
site sees the verifier last, and never the secret.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import threading
import time
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from activeeval.core.errors import visible
from activeeval.web.error_responses import RefusedError
from activeeval.web.http_client import UnreachableError, answer_of, check_address
from activeeval.web.oidc import Oidc

if TYPE_CHECKING:
    from joserfc.jwk import KeySet

# both libraries are imported at the first sign-in, so that the first page does not wait for them
ALGORITHMS = [f"{kind}{bits}" for kind in ("RS", "PS", "ES") for bits in (256, 384, 512)]
"""Accepted signature algorithms: asymmetric ones only."""
_LEEWAY_S = 60  # allowed difference between clocks
_KEPT_S = 3600  # cache time of the site's metadata and keys
_AGAIN_S = 10  # least time between reloads of the keys, whatever a token names
_log = logging.getLogger(__name__)


def derived(secret: str, purpose: str) -> str:
    """Derive one text of a sign-in from its secret, for a purpose such as "state" or "nonce".

    It reveals neither the secret nor the texts for other purposes.
    """
    return urlsafe_b64encode(hmac.digest(secret.encode(), purpose.encode(), hashlib.sha256)).rstrip(b"=").decode()


class Provider:
    """Client of a site that signs people in.

    Parameters
    ----------
    oidc : Oidc
        Address of the site, and the credentials of this server there.
    """

    def __init__(self, oidc: Oidc) -> None:
        """Keep the settings of the site (its address, and the credentials of this server); nothing is fetched yet."""
        self.oidc = oidc
        self._cache: dict[str, tuple[float, dict[str, Any]]] = {}  # address to (monotonic seconds, JSON document)
        self._guard = threading.Lock()

    def address(self, secret: str, back: str) -> str:
        """Build the address at the site where a person signs in, and from which they return to the address ``back``.

        ``secret`` is that of the sign-in. Raises RefusedError if the site cannot be reached.
        """
        from authlib.oauth2.rfc6749.parameters import prepare_grant_uri
        from authlib.oauth2.rfc7636 import create_s256_code_challenge

        parameters = {
            "state": derived(secret, "state"),
            "nonce": derived(secret, "nonce"),
            "code_challenge_method": "S256",
        }
        parameters["code_challenge"] = create_s256_code_challenge(derived(secret, "verifier"))
        address = self._endpoint("authorization_endpoint")
        scope = "openid email" if self.oidc.claim == "email" else "openid"
        return str(prepare_grant_uri(address, self.oidc.client, "code", back, scope, **parameters))

    def claims(self, secret: str, code: str, back: str) -> Mapping[str, Any]:
        """Exchange a code for the verified claims about the person who returned with it.

        Claims are statements about the account, as its e-mail address.

        Parameters
        ----------
        secret : str
            Secret of the sign-in.
        code : str
            Code with which the person returned.
        back : str
            Address to which the person returned.

        Raises
        ------
        RefusedError
            If the response is not valid, or the site cannot be reached.
        """
        tokens = self._tokens(secret, code, back)
        claims = self._checked(str(tokens.get("id_token", "")), derived(secret, "nonce"), tokens.get("access_token"))
        if self.oidc.claim in claims or self.oidc.claim == "sub":
            return claims
        return self._with_userinfo(claims, str(tokens.get("access_token", "")))

    def check_issuer(self, issuer: str) -> None:
        """Raise RefusedError if a response names another issuer, or none although the site says that it always does."""
        says_always = self._about().get("authorization_response_iss_parameter_supported") is True
        if issuer != self.oidc.issuer and (issuer or says_always):
            raise self._invalid("the answer names another issuer")

    def _tokens(self, secret: str, code: str, back: str) -> dict[str, Any]:
        """Exchange the ``code`` with which a person returned for the site's tokens; raise RefusedError if it refuses.

        ``secret`` is that of the sign-in, ``back`` the address to which the person returned.
        """
        from authlib.oauth2.auth import ClientAuth
        from authlib.oauth2.rfc6749.parameters import prepare_token_request

        address = self._endpoint("token_endpoint")
        known = self._about().get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
        method = "client_secret_basic" if "client_secret_basic" in known else "client_secret_post"
        verifier = derived(secret, "verifier")
        body = prepare_token_request("authorization_code", "", back, code=code, code_verifier=verifier)
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        sign = ClientAuth(self.oidc.client, self.oidc.secret, method)
        address, headers, body = sign.prepare("POST", address, headers, body)
        status, tokens = self._answer(address, body, headers)
        if status != 200:
            raise self._invalid(f"it refused the code with {tokens.get('error', status)}")
        return tokens

    def _checked(self, token: str, nonce: str, access_token: object) -> Mapping[str, Any]:
        """Verify an ID token (signature, issuer, client, time, nonce), and return its claims.

        Raises RefusedError if it is not valid. ``nonce`` is the random text that it must repeat.

        ``access_token`` is checked against the ID token's hash of it, if it has one.
        """
        from authlib.oidc.core import CodeIDToken
        from joserfc import jwt
        from joserfc.errors import InvalidKeyIdError, JoseError
        from joserfc.jws import JWSRegistry

        registry = JWSRegistry(algorithms=ALGORITHMS, strict_check_header=False)
        options = {"iss": self.oidc.issuer, "aud": self.oidc.client}
        required = {name: {"essential": True, "value": value} for name, value in options.items()}
        try:
            try:
                token_read = jwt.decode(token, self._keys(_KEPT_S), registry=registry)
            except InvalidKeyIdError:  # the site may have new keys
                token_read = jwt.decode(token, self._keys(_AGAIN_S), registry=registry)
            parameters = {"nonce": nonce, "client_id": self.oidc.client, "access_token": access_token}
            claims = CodeIDToken(token_read.claims, token_read.header, required, parameters)
            claims.validate(leeway=_LEEWAY_S)
        except (JoseError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise self._invalid(f"ID token: {error}") from None
        return dict(claims)

    def _with_userinfo(self, claims: Mapping[str, Any], access_token: str) -> Mapping[str, Any]:
        """Add the claims of the site's userinfo endpoint, if there is one; the given claims take precedence.

        Raises RefusedError if they are another person's.
        """
        if "userinfo_endpoint" not in self._about():
            return claims
        headers = {"Authorization": f"Bearer {access_token}"}
        status, more = self._answer(self._endpoint("userinfo_endpoint"), None, headers)
        if status != 200 or more.get("sub") != claims["sub"]:
            raise self._invalid(f"the userinfo of another person, or none: status {status}")
        return {**more, **claims}

    def _keys(self, at_most_s: float) -> KeySet:
        """Load the site's public keys, from the cache if they are at most ``at_most_s`` seconds old."""
        from joserfc.jwk import KeySet

        listed = self._known(self._endpoint("jwks_uri"), at_most_s).get("keys")
        public = [key for key in listed or () if isinstance(key, dict) and key.get("kty") in ("RSA", "EC")]
        return KeySet.import_key_set({"keys": public})

    def _about(self) -> dict[str, Any]:
        """Load the site's metadata; raise RefusedError if it names another issuer."""
        about = self._known(f"{self.oidc.issuer.rstrip('/')}/.well-known/openid-configuration", _KEPT_S)
        if about.get("issuer") != self.oidc.issuer:
            raise self._unreachable(f"it calls itself {str(about.get('issuer'))[:200]!r}, not {self.oidc.issuer!r}")
        return about

    def _endpoint(self, name: str) -> str:
        """Return an endpoint's address from the site's metadata; raise RefusedError if it is not https."""
        address = str(self._about().get(name, ""))
        try:
            check_address(address)
        except ValueError as error:
            raise self._unreachable(f"{name}: {error}") from None
        return address

    def _known(self, address: str, at_most_s: float) -> dict[str, Any]:
        """Fetch a JSON document of the site, from the cache if it is at most ``at_most_s`` seconds old.

        Raises RefusedError if the site cannot be reached or has no such document.
        """
        with self._guard:
            at, document = self._cache.get(address, (0.0, {}))
            if document and time.monotonic() - at <= at_most_s:
                return document
        status, document = self._answer(address)
        if status != 200:
            raise self._unreachable(f"{address}: status {status}")
        with self._guard:
            self._cache[address] = (time.monotonic(), document)
        return document

    def _answer(self, *question: Any) -> tuple[int, dict[str, Any]]:
        """Request an address, with an optional form and headers, for (status, JSON); raise RefusedError if it fails.

        ``question`` are the arguments of `answer_of`.
        """
        try:
            return answer_of(*question)
        except UnreachableError as error:
            raise self._unreachable(str(error)) from None

    def _unreachable(self, reason: str) -> RefusedError:
        """Log a reason, and build the refusal (503) that the site cannot be reached."""
        _log.warning("sign-in at %s: %s", self.oidc.host, visible(reason[:500]))
        return RefusedError(
            503, f"{self.oidc.host} cannot be reached at the moment: sign-in there is not possible. Try again soon."
        )

    def _invalid(self, reason: str) -> RefusedError:
        """Log a reason, and build the refusal (400) of an invalid sign-in."""
        _log.warning("sign-in at %s: %s", self.oidc.host, visible(reason[:500]))
        return RefusedError(400, f"The answer of {self.oidc.host} is not valid: please sign in again.")
