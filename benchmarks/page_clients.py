"""Judges' browsers as `benchmarks.page` plays them: sockets that stay open, pages that are read, answers that are sent.

Each takes the part of the page that htmx takes, reads the next token out of it, and waits before it answers.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import urlencode, urlsplit

_TOKEN = re.compile(rb'name="token" value="([^"]+)"')
_WAIT_S = 60.0
"""After so long without an answer of the server a request has failed."""


@dataclass(slots=True)
class Browser:
    """A judge's browser.

    Attributes
    ----------
    url : str
        The link of the invite.
    seconds : list of float
        That each answer with the next item took.
    sizes : list of int
        Bytes of each page.
    problems : list of str
    """

    url: str
    seconds: list[float] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    _cookie: str = ""
    _token: str = ""
    _line: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def come_in(self) -> None:
        """Use the link, and read the first page."""
        await self._ask("GET", urlsplit(self.url).path)
        _, headers, _ = await self._ask("POST", urlsplit(self.url).path)
        self._cookie = next(line for line in headers if line.lower().startswith("set-cookie")).split(": ", 1)[1]
        self._cookie = self._cookie.partition(";")[0]
        status, _, body = await self._ask("GET", "/judge")
        self._read(status, body)
        self.close()  # the server would: it may be long until all others have come in

    async def judge(self, until: float, pause_s: float) -> None:
        """Answer until a time by the clock of the loop, each after a pause."""
        while self._token and time.perf_counter() < until:
            await asyncio.sleep(pause_s)
            form = {"token": self._token, "grade": len(self.seconds) % 3, "active_ms": 1000, "idle_ms": 0}
            begun = time.perf_counter()
            status, _, body = await self._ask("POST", "/judge/answer", urlencode(form | {"hidden_ms": 0}))
            self.seconds.append(time.perf_counter() - begun)
            self._read(status, body)

    def close(self) -> None:
        """Hang up."""
        if self._line is not None:
            self._line[1].close()
            self._line = None

    def _read(self, status: int, body: bytes) -> None:
        self.sizes.append(len(body))
        if status != 200:
            self.problems.append(f"{status}: {body[:120].decode(errors='replace')}")
            return
        token = _TOKEN.search(body)
        self._token = token[1].decode() if token else ""

    async def _ask(self, verb: str, path: str, form: str = "") -> tuple[int, list[str], bytes]:
        place = urlsplit(self.url)
        if self._line is None:
            self._line = await asyncio.open_connection(place.hostname, place.port)
        reader, writer = self._line
        origin = f"{place.scheme}://{place.netloc}"
        lines = [f"{verb} {path} HTTP/1.1", f"Host: {place.netloc}", f"Cookie: {self._cookie}", f"Origin: {origin}"]
        lines += ["HX-Request: true", f"Content-Length: {len(form)}"] if form else []
        lines += ["Content-Type: application/x-www-form-urlencoded"] if form else []
        writer.write(("\r\n".join(lines) + "\r\n\r\n" + form).encode())
        head = (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), _WAIT_S)).decode().split("\r\n")
        length = next((int(line.split(":")[1]) for line in head if line.lower().startswith("content-length")), 0)
        return int(head[0].split()[1]), head[1:], await reader.readexactly(length)


async def _all(urls: Sequence[str], lasting_s: float, pause_s: float) -> list[Browser]:
    browsers = [Browser(url) for url in urls]
    for browser in browsers:
        await browser.come_in()
    until = time.perf_counter() + lasting_s
    # people do not begin in the same moment
    spread = pause_s / len(browsers)

    async def go(number: int, browser: Browser) -> None:
        await asyncio.sleep(number * spread)
        try:
            await browser.judge(until, pause_s)
        except (OSError, asyncio.IncompleteReadError, TimeoutError) as error:
            browser.problems.append(f"{type(error).__name__}: {error}")
        browser.close()

    await asyncio.gather(*(go(number, browser) for number, browser in enumerate(browsers)))
    return browsers


def judged_by(urls: Sequence[str], lasting_s: float, pause_s: float) -> list[Browser]:
    """Let a browser for each link judge for so long; return them with what they saw."""
    return asyncio.run(_all(urls, lasting_s, pause_s))
