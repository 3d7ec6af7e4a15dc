"""Settings of OpenID Connect sign-in: the site, its accounts, and their names in the campaign."""

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
"""Claims that identify people: a verified e-mail address, or the site's account number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Oidc:
    """An OpenID Connect site, and the names of its accounts in the campaign.

    Attributes
    ----------
    issuer : str
        Address of the site, exactly as the site writes it.
    client : str
        Id of this server at the site.
    secret : str
        Secret of this client.
    claim : {"email", "sub"}
        What identifies an account: its verified e-mail address, or the site's number.
    leads, judges : mapping of str to str
        From the account's key (`account_key`) to the name in the campaign.
    """

    issuer: str
    client: str
    secret: str = field(repr=False)
    claim: str = "email"
    leads: Mapping[str, str] = field(default_factory=dict)
    judges: Mapping[str, str] = field(default_factory=dict)

    def check(self) -> None:
        """Raise InputError if sign-in could not work (a setting is missing or not valid) or would not be encrypted."""
        check_address(self.issuer, "oidc")
        if "?" in self.issuer:
            raise InputError("an issuer has no question mark", field="oidc")
        for name, value in (("oidc_client", self.client), ("oidc_secret", self.secret)):
            if not value or not value.isprintable():
                raise InputError(f"`oidc` needs `{name}`, as the site has given it", field=name)

    @property
    def host(self) -> str:
        """Host name of the site, as shown to people."""
        return urlsplit(self.issuer).netloc

    @property
    def host_of_addresses(self) -> str:
        """Host name of the site if judges invited by e-mail address can sign in there, otherwise ""."""
        return self.host if self.claim == "email" else ""

    def person_of(self, claims: Mapping[str, Any]) -> tuple[Person, bool]:
        """Return the person who signed in, and True if access depends on an invitation by a lead.

        Parameters
        ----------
        claims : mapping
            Verified statements of the site about the account.

        Raises
        ------
        RefusedError
            If the identifying claim is missing or not verified, or the account is unknown.
        """
        value = claims.get(self.claim)
        if not isinstance(value, str) or not value:
            raise RefusedError(
                403, f"{self.host} did not send your {_CALLED[self.claim]}, which this campaign needs: ask its lead."
            )
        if self.claim == "email" and claims.get("email_verified") not in (True, "true"):
            raise RefusedError(
                403, f"{self.host} has not verified your e-mail address: verify it there, then come back."
            )
        key = account_key(value, self.claim)
        if key in self.leads:
            return Person(self.leads[key], "lead"), False
        if key in self.judges:
            return Person(self.judges[key], "judge"), False
        # names of a campaign are normalized: the address is used only if that changes nothing
        if self.claim == "email" and judge_name(key) == key and key.isascii():
            return Person(key, "judge"), True
        raise self.unknown(claims)

    def unknown(self, claims: Mapping[str, Any]) -> RefusedError:
        """Build the refusal (403) of an account without access to this campaign."""
        value = visible(str(claims.get(self.claim))[:100])
        return RefusedError(
            403, f"{self.host} signed you in as {value}, who has no access to this campaign: ask its lead."
        )


_CALLED = {"email": "e-mail address", "sub": "number there"}


def account_key(value: str, claim: str) -> str:
    """Normalize an account for comparison: lower-case e-mail addresses, unchanged account numbers.

    Addresses beyond ASCII are unchanged, as some letters share their lower-case form.

    Examples
    --------
    >>> account_key("Ann@Example.org", "email"), account_key("aB1", "sub")
    ('ann@example.org', 'aB1')
    """
    return value.lower() if claim == "email" and value.isascii() else value
