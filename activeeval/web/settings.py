"""What is served, where, and to whom: one campaign of a store, as routes want it."""

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
    """Where a server listens, and what may be asked of it.

    Attributes
    ----------
    host : str
    port : int
        0 is any that is free.
    certificate, key : str
        Files, where it speaks TLS itself.
    behind_proxy : str
        The address of the proxy that alone may ask; empty where anybody may.
    address : str
        How people open it, where that is not host and port.
    auth_header : str
        In which the proxy says who asks; empty where it says nothing of that.
    """

    host: str = "127.0.0.1"
    port: int = 0
    certificate: str = ""
    key: str = ""
    behind_proxy: str = ""
    address: str = ""
    auth_header: str = ""

    def check(self, oidc: Oidc | None = None) -> None:
        """Raise InputError where others could read along, or the site where people sign in does not go with it."""
        if oidc is not None:
            oidc.check()
            self._check_signing_in()
        if bool(self.certificate) != bool(self.key):
            raise InputError("`certificate` and `key` go together", field="certificate")
        if self.auth_header and not self.behind_proxy:
            problem = "`auth_header` is believed of a proxy alone: expected `behind_proxy`"
            raise InputError(problem, field="auth_header")
        if self.auth_header and not _HEADER.fullmatch(self.auth_header):
            raise InputError(f"{shown(self.auth_header)} is no name of a header", field="auth_header")
        if self.certificate or self.behind_proxy or is_loopback(self.host):
            return
        problem = (
            f"{self.host} is reached by other machines: expected a `certificate` with its `key`, or `behind_proxy`"
        )
        raise InputError(problem, field="host")

    def _check_signing_in(self) -> None:
        if self.auth_header:
            problem = "`oidc` and `auth_header` do not go together: the proxy says who asks, or people sign in"
            raise InputError(problem, field="oidc")
        if not self.address and not is_loopback(self.host):
            problem = "`oidc` needs an `address`: the one that people open, to which they are sent back"
            raise InputError(problem, field="address")

    @property
    def is_secure(self) -> bool:
        """Whether browsers come by https."""
        return bool(self.certificate) or self.address.startswith("https://")

    @property
    def url(self) -> str:
        """What links begin with."""
        if self.address:
            return self.address.rstrip("/")
        host = "127.0.0.1" if self.host in ("0.0.0.0", "::") else self.host
        scheme = "https" if self.is_secure else "http"
        return f"{scheme}://{f'[{host}]' if ':' in host else host}:{self.port}"

    @property
    def authority(self) -> str:
        """Host and port of that, as browsers send them."""
        return self.url.partition("://")[2].lower()

    def is_meant(self, host: str) -> bool:
        """Whether a Host header names this server.

        A page of somebody else whose name is made to point here would send its own name. Of a server that listens at
        every address any address does: names alone can be made to point elsewhere.
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
        return host[: host.index("]") + 1] if host.startswith("[") and "]" in host else host.partition(":")[0].lower()


_UNBRACKETED = tuple(name.strip("[]") for name in LOCAL)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a host."""
    return host == "localhost" or (_is_address(host) and ipaddress.ip_address(host).is_loopback)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Guidelines:
    """What judges go by, as HTML that is safe, and the version that answers keep."""

    html: str
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedCampaign:
    """A campaign at a door.

    Attributes
    ----------
    store : Store
    desk : JudgesDesk or PairsDesk
    door : Door
    guidelines : Guidelines or None
    lead : str
        Who leads, of those whom a proxy names.
    training : sequence of KnownItem
        What every judge begins with.
    provider : Provider or None
        The other site where people sign in.
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
        """Of the campaign."""
        return self.desk.name

    @property
    def grades(self) -> list[str]:
        """What each grade is called; none where documents are compared."""
        return self.desk.grades if isinstance(self.desk, JudgesDesk) else []

    @property
    def cookie(self) -> str:
        """The name of the cookie of a session: browsers know no ports, so that each campaign has another one."""
        campaign = hashlib.sha256(self.name.encode()).hexdigest()[:8]
        return f"{'__Host-' if self.door.is_secure else ''}activeeval-{campaign}"
