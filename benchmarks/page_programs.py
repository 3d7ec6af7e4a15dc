"""Judges' programs as `benchmarks.page` plays them: against the application itself, or against a server that dies."""

from __future__ import annotations

import json
from typing import Any

from activeeval.web.settings import ServedCampaign


class Program:
    """A judge's program that asks the application in its own process: requests as a server hands them on."""

    def __init__(self, app: Any, served: ServedCampaign, token: str) -> None:
        self._app, self._path = app, f"/api/campaigns/{served.name}/"
        host, port = served.door.host, served.door.port
        self._scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "POST",
            "scheme": "http",
            "root_path": "",
            "query_string": b"",
            "client": (host, 50_000),
            "server": (host, port),
        }
        self._headers = [(b"host", f"{host}:{port}".encode()), (b"authorization", f"Bearer {token}".encode())]

    async def ask(self, verb: str, body: dict[str, Any]) -> dict[str, Any]:
        """Return the reply to a request; raises RuntimeError where it is a refusal."""
        text, sent = json.dumps(body).encode(), list[dict[str, Any]]()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(text)).encode())]
        path = self._path + verb
        scope = {**self._scope, "path": path, "raw_path": path.encode(), "headers": [*self._headers, *headers]}

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": text, "more_body": False}

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        await self._app(scope, receive, send)
        answer = b"".join(message.get("body", b"") for message in sent)
        if sent[0]["status"] != 200:
            raise RuntimeError(f"{sent[0]['status']}: {answer[:200]!r}")
        reply: dict[str, Any] = json.loads(answer)
        return reply
