"""Start and end the server of a campaign."""

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

_WARM_UP_AFTER_S = 1.0  # about the time that it takes to open the printed link
_GOODBYE_S = 5  # seconds for requests in progress when the server ends


@dataclass(frozen=True, slots=True, kw_only=True)
class Team:
    """The lead and the invited judges.

    Attributes
    ----------
    lead : str
        Name of the person who runs the campaign.
    judges : sequence of str
        Names; each gets an invitation.
    password : str or None
        New sign-in password of the lead; None keeps the current one.
    """

    lead: str = "lead"
    judges: Sequence[str] = ()
    password: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Invitation:
    """An invitation: a link, and for a judge a function that creates a token.

    Attributes
    ----------
    kind : {"lead", "judge"}
    judge : str
        Name of the judge, or of the lead.
    url : str
        Link that starts a session once.
    make_token : callable or None
        Creates and returns a token for a judge's program, only when called; None for a lead.
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
    """Serve a campaign until the process receives a signal to end.

    Parameters
    ----------
    desk : JudgesDesk or PairsDesk
        Judging page of the campaign.
    door : ServerSettings
        Address of the server and checks of requests.
    team : Team
        People to invite.
    guidelines : str or None
        Text shown beside every item, in markdown.
    say : callable
        Called with each invitation before the first request is answered.
    training : sequence of KnownItem
        Items with known grades with which every judge begins.
    oidc : Oidc or None
        Another site where people sign in.

    Raises
    ------
    InputError
        If the server cannot listen at this address, or the settings are not valid.
    """
    door.check(oidc)
    with _listener(door) as listener:
        door = replace(door, port=listener.getsockname()[1])
        stored = None
        if guidelines is not None:
            stored = Guidelines(html=safe_markdown(guidelines), version=store.keep_guidelines(guidelines))
        _ = desk.log.left  # reads the log before the first request
        served = ServedCampaign(store=store, desk=desk, door=door, guidelines=stored, lead=team.lead, training=training)
        if oidc is not None:
            served = replace(served, provider=Provider(oidc))
        if team.password is not None:
            _set_password(served, team.password)
        server = _server_of(served)
        _end_on_signal(server)  # before the first link is printed
        say(Invitation(kind="lead", judge=team.lead, url=invited(served, "lead", team.lead)))
        for judge in dict.fromkeys(team.judges):
            make_token = partial(store.access(served.name).issue, "token", "judge", judge)
            say(Invitation(kind="judge", judge=judge, url=invited(served, "judge", judge), make_token=make_token))
        _warm_up_later(served)
        _run(server, served, listener)


def _set_password(served: ServedCampaign, password: str) -> None:
    """Set the sign-in password of the lead (who runs the campaign), and end the sessions of the old one.

    An unchanged password has no effect.
    """
    access = served.store.access(served.name)
    current = access.password_of(served.lead)
    if current is None or not is_right(password, current):
        # `set_password` begins a session for a browser, of which there is none here
        access.end("session", access.set_password(served.lead, hashed_password(password, password)))


def _warm_up_later(served: ServedCampaign) -> None:
    """Prepare estimates in a background thread shortly after the start, so that the lead's first page is fast."""

    def warm() -> None:
        """Start the first estimate."""
        with suppress(ActiveEvalError):  # the lead's page reports the error
            served.desk.reading.precision(served.desk.log.left)

    timer = threading.Timer(_WARM_UP_AFTER_S, warm)
    timer.daemon = True  # does not delay the end of the server
    timer.start()


def _listener(door: ServerSettings) -> socket.socket:
    """Open the listening socket at the host and port of the settings (``door``); raise InputError if that fails."""
    family = socket.AF_INET6 if ":" in door.host else socket.AF_INET
    try:
        return socket.create_server((door.host, door.port), family=family, backlog=connections.BACKLOG)
    except OSError as error:
        place = f"{door.host}:{door.port}"
        raise InputError(f"cannot listen at {place}: {error.strerror or error}", field="port") from None


def _server_of(served: ServedCampaign) -> uvicorn.Server:
    """Configure the uvicorn server of a campaign."""
    config = uvicorn.Config(
        make_app(served),
        ssl_certfile=served.door.certificate or None,
        ssl_keyfile=served.door.key or None,
        # httptools: with the pure Python parser, a body of a million one-byte chunks would take seconds
        http=connections.Connection,
        loop=f"{connections.__name__}:{connections.HandshakeTimeoutLoop.__name__}",
        backlog=connections.BACKLOG,
        # addresses of links are secrets, so that they are not logged
        access_log=False,
        log_level="error",  # one line for each invalid request could fill the disk
        proxy_headers=False,
        server_header=False,
        date_header=True,
        timeout_graceful_shutdown=_GOODBYE_S,
    )
    return uvicorn.Server(config)


def _end_on_signal(server: uvicorn.Server) -> None:
    """Handle signals that arrive before uvicorn's own handlers are installed.

    uvicorn handles signals from its start to its end, and then sends the received one to the previous handler, which
    is this one, so that the process ends normally.
    """

    def end(*_: object) -> None:
        """Ask the server to end."""
        server.should_exit = True

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)


def _run(server: uvicorn.Server, served: ServedCampaign, listener: socket.socket) -> None:
    """Run the server on the listening socket until it ends; raise InputError if the certificate cannot be loaded."""
    try:
        server.run(sockets=[listener])
    except OSError as error:
        raise InputError(f"{served.door.certificate}: {error.strerror or error}", field="certificate") from None
