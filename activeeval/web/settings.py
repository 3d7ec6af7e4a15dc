"""Settings of the server, and the served campaign as routes see it."""

from __future__ import annotations

import hashlib
import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from activeeval.campaigns.grade_desk import JudgesDesk
from activeeval.campaigns.pair_desk import PairsDesk
from activeeval.campaigns.store import Store
from activeeval.campaigns.training import KnownItem
from activeeval.core.errors import InputError, shown

if TYPE_CHECKING:
    from activeeval.web.oidc import Oidc
    from activeeval.web.provider import Provider

_HEADER = re.compile(r"[\w!#$%&'*+.^`|~-]+", re.ASCII)  # a token of RFC 9110
LOCAL = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """Address of the server and checks of requests.

    Attributes
    ----------
    host : str
        Address to listen at.
    port : int
        0 selects a free port.
    certificate, key : str
        Files for TLS, "" without.
    behind_proxy : str
        Address of the only proxy that may send requests, "" if anyone may.
    address : str
        Public URL, "" if it is host and port.
    auth_header : str
        Header in which the proxy names the user, "" if it does not.
    """

    host: str = "127.0.0.1"
    port: int = 0
    certificate: str = ""
    key: str = ""
    behind_proxy: str = ""
    address: str = ""
    auth_header: str = ""

    def check(self, oidc: Oidc | None = None) -> None:
        """Raise InputError if traffic would not be encrypted, or options contradict each other.

        ``oidc`` are the settings of sign-in at another site, which are checked too; None without it.
        """
        if oidc is not None:
            oidc.check()
            self._check_signing_in()
        if bool(self.certificate) != bool(self.key):
            raise InputError("`certificate` and `key` go together", field="certificate")
        if self.auth_header and not self.behind_proxy:
            problem = "`auth_header` is accepted only from a proxy: expected `behind_proxy`"
            raise InputError(problem, field="auth_header")
        if self.auth_header and not _HEADER.fullmatch(self.auth_header):
            raise InputError(f"{shown(self.auth_header)} is not the name of a header", field="auth_header")
        if self.certificate or self.behind_proxy or is_loopback(self.host):
            return
        problem = (
            f"{self.host} is reachable from other computers: expected a `certificate` with its `key`, or `behind_proxy`"
        )
        raise InputError(problem, field="host")

    def _check_signing_in(self) -> None:
        """Raise InputError if the settings do not allow OpenID Connect."""
        if self.auth_header:
            problem = "`oidc` and `auth_header` exclude each other: the proxy names the user, or people sign in"
            raise InputError(problem, field="oidc")
        if not self.address and not is_loopback(self.host):
            problem = "`oidc` needs `address`, the URL to which the site returns people"
            raise InputError(problem, field="address")

    @property
    def is_secure(self) -> bool:
        """True if browsers connect by https."""
        return bool(self.certificate) or self.address.startswith("https://")

    @property
    def url(self) -> str:
        """Start of all links: the public URL, or scheme, host and port."""
        if self.address:
            return self.address.rstrip("/")
        host = "127.0.0.1" if self.host in ("0.0.0.0", "::") else self.host
        scheme = "https" if self.is_secure else "http"
        return f"{scheme}://{f'[{host}]' if ':' in host else host}:{self.port}"

    @property
    def authority(self) -> str:
        """Host and port of `url`, as browsers send them."""
        return self.url.partition("://")[2].lower()

    def is_meant(self, host: str) -> bool:
        """Check whether a Host header (``host``) names this server.

        This prevents DNS rebinding: a page of another site, whose name points here, sends that site's name. A server
        that listens at every address accepts any IP address, as only names can be made to point elsewhere.
        """
        name = self._name_of(host)
        if host.lower() == self.authority:
            return True
        if self.address:
            return False
        is_port = host == name or host[len(name) :] == f":{self.port}"
        if self.host in ("0.0.0.0", "::"):
            return is_port and (name in LOCAL or _is_address(name.strip("[]")))
        return is_port and (name.strip("[]") == self.host or (self.host in _UNBRACKETED and name in LOCAL))

    @staticmethod
    def _name_of(host: str) -> str:
        """Remove the port from a Host header; the brackets of an IPv6 address stay."""
        return host[: host.index("]") + 1] if host.startswith("[") and "]" in host else host.partition(":")[0].lower()


_UNBRACKETED = tuple(name.strip("[]") for name in LOCAL)


def is_loopback(host: str) -> bool:
    """Check whether a host is reachable only from this computer."""
    return host == "localhost" or (_is_address(host) and ipaddress.ip_address(host).is_loopback)


def _is_address(text: str) -> bool:
    """Check whether a text is an IP address."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Guidelines:
    """Judging guidelines as displayed.

    Attributes
    ----------
    html : str
        Safe HTML.
    version : str
        Digest of the text, stored with answers.
    """

    html: str
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedCampaign:
    """A campaign with the settings of its server.

    Attributes
    ----------
    store : Store
    desk : JudgesDesk or PairsDesk
        Judging page: for grades, or for comparisons of documents.
    door : ServerSettings
        Address of the server and checks of requests.
    guidelines : Guidelines or None
        Shown beside every item.
    lead : str
        Name of the lead among the users that a proxy names.
    training : sequence of KnownItem
        Items with known grades with which every judge begins.
    provider : Provider or None
        Client of another site where people sign in; None if there is none.
    """

    store: Store
    desk: JudgesDesk | PairsDesk
    door: ServerSettings
    guidelines: Guidelines | None = None
    lead: str = "lead"
    training: Sequence[KnownItem] = ()
    provider: Provider | None = None

    @property
    def name(self) -> str:
        """Name of the campaign."""
        return self.desk.name

    @property
    def grades(self) -> list[str]:
        """Name of each grade; empty if documents are compared."""
        return self.desk.grades if isinstance(self.desk, JudgesDesk) else []

    @property
    def cookie(self) -> str:
        """Name of the session cookie: it contains the campaign, as cookies do not distinguish ports."""
        campaign = hashlib.sha256(self.name.encode()).hexdigest()[:8]
        return f"{'__Host-' if self.door.is_secure else ''}activeeval-{campaign}"
