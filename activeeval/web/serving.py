"""A server for one campaign: where it may listen, and how it starts and ends."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial

import uvicorn

from activeeval.campaigns.grade_desk import JudgesDesk
from activeeval.campaigns.pair_desk import PairsDesk
from activeeval.campaigns.store import Store
from activeeval.campaigns.training import KnownItem
from activeeval.core.errors import ActiveEvalError, InputError
from activeeval.web import connections
from activeeval.web.app import make_app
from activeeval.web.oidc import Oidc
from activeeval.web.passwords import hashed_password, is_right
from activeeval.web.people import invited
from activeeval.web.provider import Provider
from activeeval.web.rendering import safe_markdown
from activeeval.web.settings import Guidelines, ServedCampaign, ServerSettings

_WARM_UP_AFTER_S = 1.0  # about as long as it takes to open the link that was printed
_GOODBYE_S = 5  # requests that are being answered have so long once the server is to end


@dataclass(frozen=True, slots=True, kw_only=True)
class Team:
    """Who leads, and the judges that are invited.

    Attributes
    ----------
    lead : str
    judges : sequence of str
    password : str or None
        With which the lead signs in from now on; None leaves what he has as it is.
    """

    lead: str = "lead"
    judges: Sequence[str] = ()
    password: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Invitation:
    """What somebody needs to come in: a link, and a judge's program a token.

    Attributes
    ----------
    kind : {"lead", "judge"}
    judge, url : str
    make_token : callable or None
        Returns a new token of a judge's program; where nobody asks there is none. None of a lead.
    """

    kind: str
    judge: str
    url: str
    make_token: Callable[[], str] | None = field(default=None, repr=False)


def serve(
    store: Store,
    desk: JudgesDesk | PairsDesk,
    door: ServerSettings,
    team: Team,
    guidelines: str | None,
    say: Callable[[Invitation], object],
    *,
    training: Sequence[KnownItem] = (),
    oidc: Oidc | None = None,
) -> None:
    """Serve a campaign until the process is asked to end.

    Parameters
    ----------
    team : Team
    guidelines : str or None
        In markdown.
    say : callable
        Is told each invitation before the first request is answered.
    training : sequence of KnownItem
        What every judge begins with.
    oidc : Oidc or None
        Another site where people sign in.

    Raises
    ------
    InputError
        Where nobody may listen there.
    """
    door.check(oidc)
    with _listener(door) as listener:
        door = replace(door, port=listener.getsockname()[1])
        kept = None
        if guidelines is not None:
            kept = Guidelines(html=safe_markdown(guidelines), version=store.keep_guidelines(guidelines))
        _ = desk.log.left  # the log is read before anybody waits for it
        served = ServedCampaign(store=store, desk=desk, door=door, guidelines=kept, lead=team.lead, training=training)
        if oidc is not None:
            served = replace(served, provider=Provider(oidc))
        if team.password is not None:
            _set_password(served, team.password)
        server = _server_of(served)
        _end_on_signal(server)  # before anybody knows that it can be asked
        say(Invitation(kind="lead", judge=team.lead, url=invited(served, "lead", team.lead)))
        for judge in dict.fromkeys(team.judges):
            make_token = partial(store.access(served.name).issue, "token", "judge", judge)
            say(Invitation(kind="judge", judge=judge, url=invited(served, "judge", judge), make_token=make_token))
        _warm_up_later(served)
        _run(server, served, listener)


def _set_password(served: ServedCampaign, password: str) -> None:
    """Let the lead sign in with a password, and end what he had; the same one again changes nothing."""
    access = served.store.access(served.name)
    held = access.password_of(served.lead)
    if held is None or not is_right(password, held):
        access.end("session", access.set_password(served.lead, hashed_password(password, password)))


def _warm_up_later(served: ServedCampaign) -> None:
    """Have what estimates need ready before a lead asks, but not while the first pages are waited for."""

    def warm() -> None:
        with suppress(ActiveEvalError):  # who asks is told what is wrong
            served.desk.reading.precision(served.desk.log.left)

    timer = threading.Timer(_WARM_UP_AFTER_S, warm)
    timer.daemon = True  # a server that is to end does not wait for it
    timer.start()


def _listener(door: ServerSettings) -> socket.socket:
    family = socket.AF_INET6 if ":" in door.host else socket.AF_INET
    try:
        return socket.create_server((door.host, door.port), family=family, backlog=connections.BACKLOG)
    except OSError as error:
        place = f"{door.host}:{door.port}"
        raise InputError(f"cannot listen at {place}: {error.strerror or error}", field="port") from None


def _server_of(served: ServedCampaign) -> uvicorn.Server:
    config = uvicorn.Config(
        make_app(served),
        ssl_certfile=served.door.certificate or None,
        ssl_keyfile=served.door.key or None,
        # of httptools: a body in a million chunks of a byte would keep the one in Python busy for seconds
        http=connections.Connection,
        loop=f"{connections.__name__}:{connections.HandshakeTimeoutLoop.__name__}",
        backlog=connections.BACKLOG,
        # addresses of links are secrets: nobody writes them down
        access_log=False,
        log_level="error",  # a line for each request that is no HTTP would let anybody fill the disk
        proxy_headers=False,
        server_header=False,
        date_header=True,
        timeout_graceful_shutdown=_GOODBYE_S,
    )
    return uvicorn.Server(config)


def _end_on_signal(server: uvicorn.Server) -> None:
    """Let a signal end a server that has not begun yet as well as it ends one that runs.

    uvicorn takes signals from its beginning to its end, and then sends the one that it got once more to whoever was
    there before: that is the end, and all is well.
    """

    def end(*_: object) -> None:
        server.should_exit = True

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)


def _run(server: uvicorn.Server, served: ServedCampaign, listener: socket.socket) -> None:
    try:
        server.run(sockets=[listener])
    except OSError as error:
        raise InputError(f"{served.door.certificate}: {error.strerror or error}", field="certificate") from None
