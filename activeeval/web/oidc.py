"""Another site that knows people (OpenID Connect): which one, what it calls them, and whom of them a campaign has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from activeeval.campaigns.store import Person
from activeeval.core.errors import InputError, visible
from activeeval.core.judgments.judge_names import judge_name
from activeeval.web.error_responses import RefusedError
from activeeval.web.http_client import check_address

CLAIMS = ("email", "sub")
"""By what people are known: an address that the site has verified, or the site's own number of an account."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Oidc:
    """A site that signs people in, and who they are here.

    Attributes
    ----------
    issuer : str
        Its address, letter by letter as it writes it.
    client : str
        What this server is called there.
    secret : str
        With which this server shows there that it is the client.
    claim : {"email", "sub"}
    leads, judges : mapping of str to str
        What the site calls somebody (`account_key`), and the name in the campaign.
    """

    issuer: str
    client: str
    secret: str = field(repr=False)
    claim: str = "email"
    leads: Mapping[str, str] = field(default_factory=dict)
    judges: Mapping[str, str] = field(default_factory=dict)

    def check(self) -> None:
        """Raise InputError where nobody could sign in so, or others could read along."""
        check_address(self.issuer, "oidc")
        if "?" in self.issuer:
            raise InputError("an issuer has no question mark", field="oidc")
        for name, value in (("oidc_client", self.client), ("oidc_secret", self.secret)):
            if not value or not value.isprintable():
                raise InputError(f"`oidc` needs `{name}`, as the site has given it", field=name)

    @property
    def host(self) -> str:
        """How people know the site."""
        return urlsplit(self.issuer).netloc

    @property
    def host_of_addresses(self) -> str:
        """The same where whoever is invited by an e-mail address may sign in there; nothing elsewhere."""
        return self.host if self.claim == "email" else ""

    def person_of(self, claims: Mapping[str, Any]) -> tuple[Person, bool]:
        """Return who has signed in, and whether it is only somebody here if a lead has let him in.

        Raises
        ------
        RefusedError
            Where the site says nothing that people are known by.
        """
        value = claims.get(self.claim)
        if not isinstance(value, str) or not value:
            raise RefusedError(403, f"{self.host} does not say your {_CALLED[self.claim]}: you cannot be known by it.")
        if self.claim == "email" and claims.get("email_verified") not in (True, "true"):
            raise RefusedError(
                403, f"{self.host} has not verified your e-mail address: verify it there, then come back."
            )
        key = account_key(value, self.claim)
        if key in self.leads:
            return Person(self.leads[key], "lead"), False
        if key in self.judges:
            return Person(self.judges[key], "judge"), False
        # a name of a campaign is less exact than an address: only where nothing is lost it is the same
        if self.claim == "email" and judge_name(key) == key and key.isascii():
            return Person(key, "judge"), True
        raise self.unknown(claims)

    def unknown(self, claims: Mapping[str, Any]) -> RefusedError:
        """Return the refusal of somebody who is nobody here."""
        value = visible(str(claims.get(self.claim))[:100])
        return RefusedError(403, f"{self.host} knows you as {value}, and this campaign does not: ask whoever leads it.")


_CALLED = {"email": "e-mail address", "sub": "number there"}


def account_key(value: str, claim: str) -> str:
    """Return what tells accounts apart: of addresses capitals do not, of numbers everything does.

    Letters beyond ASCII are left as they are: small ones of some are those of others.

    Examples
    --------
    >>> account_key("Ann@Example.org", "email"), account_key("aB1", "sub")
    ('ann@example.org', 'aB1')
    """
    return value.lower() if claim == "email" and value.isascii() else value
