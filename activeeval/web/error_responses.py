"""What goes wrong, as answers: one sentence with the right status, a page for people, JSON for programs."""

from __future__ import annotations

import logging
from http import HTTPStatus

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response

from activeeval.core.errors import ActiveEvalError, StateError, visible
from activeeval.web.rendering import rendered

RETRY_S = 2
"""After so many seconds it is worth asking again where the database could not be used."""
_PASSING = "Nothing of this was stored: the campaign's database cannot be used just now. It will be tried again."
_PASSING_API = "the campaign's database cannot be used just now: nothing was acknowledged, send the same again"
_NOTHING = "There is nothing here."
_NO_SUCH_NUMBER = {"int_parsing", "int_parsing_size", "greater_than_equal", "less_than_equal"}
_log = logging.getLogger(__name__)


class RefusedError(Exception):
    """A request that is refused, with its status and a sentence that says what to do."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status, self.sentence = status, sentence


def refused(path: str, is_part: bool, status: int, sentence: str) -> Response:
    """Return a refusal in the form that whoever asked understands.

    Parameters
    ----------
    is_part : bool
        Whether a page asked for a part of itself.
    """
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 and path.startswith("/api/") else {}
    headers |= {"Retry-After": str(RETRY_S)} if status == 503 else {}
    headers |= {"Connection": "close"} if status in (408, 413) else {}  # else the rest of the body would be read
    text = visible(" ".join(sentence.split()))
    if path.startswith("/api/"):
        return JSONResponse({"error": text}, status, headers)
    if is_part:
        return PlainTextResponse(text, status, headers)
    page = rendered(
        "refusal.html.j2", title=HTTPStatus(status).phrase, sentence=text, can_go_on=status not in (401, 403)
    )
    return HTMLResponse(page, status, headers)


def answer_to(request: Request, error: Exception) -> Response:
    """Return what is said of an error; handler of all that routes raise on purpose."""
    is_part = "hx-request" in request.headers
    status, sentence = _status_and_sentence(error, is_api=request.url.path.startswith("/api/"))
    response = refused(request.url.path, is_part, status, sentence)
    if isinstance(error, HTTPException) and error.headers:
        response.headers.update(error.headers)  # which methods an address takes
    return response


def _status_and_sentence(error: Exception, *, is_api: bool) -> tuple[int, str]:
    if isinstance(error, RefusedError):
        return error.status, error.sentence
    if isinstance(error, ActiveEvalError):
        if error.is_passing:
            _log.warning("%s", error)  # where the database is, is for whoever serves it
            return 503, _PASSING_API if is_api else _PASSING
        return (409 if isinstance(error, StateError) else 422), str(error)
    if isinstance(error, RequestValidationError):
        return (404, _NOTHING) if _is_no_address(error) else (422, _first_of(error))
    if isinstance(error, HTTPException):
        status = error.status_code
        said = {404: _NOTHING, 405: "This address takes no such request."}
        return status, said.get(status, str(error.detail))
    return 500, "Something went wrong here; nothing of this was stored."


def _is_no_address(error: RequestValidationError) -> bool:
    """Whether an address has a number that nothing has."""
    problem = error.errors()[0]
    return problem["loc"][0] == "path" or (problem["loc"][0] == "query" and problem["type"] in _NO_SUCH_NUMBER)


def _first_of(error: RequestValidationError) -> str:
    """Return the first problem of a body, with its place."""
    problem = error.errors()[0]
    if problem["loc"] == ("body",) and problem["type"].endswith(("_type", "missing")):
        return "expected a JSON object, with Content-Type: application/json"
    if problem["type"] == "json_invalid":
        return "the body is no JSON"
    place = ".".join(str(part) for part in problem["loc"] if part != "body")
    says = str(problem["msg"]).removeprefix("Value error, ")
    return f"{place}: {says}" if place else says
