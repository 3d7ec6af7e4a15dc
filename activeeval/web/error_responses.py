"""Convert errors to responses: one sentence with the right status, as a page for people or JSON for programs."""

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
"""Seconds after which clients retry a request that failed because the database was not available."""
_PASSING = "Nothing was stored: the campaign's database is not available at the moment. It will be tried again."
_PASSING_API = "the campaign's database is not available at the moment: nothing was stored, send the same request again"
_NOTHING = "There is no such page."
_NO_SUCH_NUMBER = {"int_parsing", "int_parsing_size", "greater_than_equal", "less_than_equal"}
_log = logging.getLogger(__name__)


class RefusedError(Exception):
    """A refused request, with its HTTP status and a sentence for the user."""

    def __init__(self, status: int, sentence: str) -> None:
        """Create a refusal with an HTTP status, as 404, and a sentence that tells the user the reason."""
        super().__init__(sentence)
        self.status, self.sentence = status, sentence


def refused(path: str, is_part: bool, status: int, sentence: str) -> Response:
    """Build the response of a refusal: JSON for the API, plain text for a part of a page, else a page.

    Parameters
    ----------
    path : str
        Path of the request; the API begins with /api/.
    is_part : bool
        True if htmx requested a part of a page.
    status : int
        HTTP status.
    sentence : str
        Reason for the user.
    """
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 and path.startswith("/api/") else {}
    headers |= {"Retry-After": str(RETRY_S)} if status == 503 else {}
    headers |= {"Connection": "close"} if status in (408, 413) else {}  # otherwise the rest of the body would be read
    text = visible(" ".join(sentence.split()))
    if path.startswith("/api/"):
        return JSONResponse({"error": text}, status, headers)
    if is_part:
        return PlainTextResponse(text, status, headers)
    # a person who is not signed in (401) or not allowed (403) gets no link to go on
    page = rendered(
        "refusal.html.j2", title=HTTPStatus(status).phrase, sentence=text, can_go_on=status not in (401, 403)
    )
    return HTMLResponse(page, status, headers)


def answer_to(request: Request, error: Exception) -> Response:
    """Build the response to an exception raised by a route: JSON for the API, otherwise text or a page."""
    is_part = "hx-request" in request.headers
    status, sentence = _status_and_sentence(error, is_api=request.url.path.startswith("/api/"))
    response = refused(request.url.path, is_part, status, sentence)
    if isinstance(error, HTTPException) and error.headers:
        response.headers.update(error.headers)  # the Allow header of 405
    return response


def _status_and_sentence(error: Exception, *, is_api: bool) -> tuple[int, str]:
    """Map an exception to an HTTP status and a sentence for the user; ``is_api`` selects the wording for programs."""
    if isinstance(error, RefusedError):
        return error.status, error.sentence
    if isinstance(error, ActiveEvalError):
        if error.is_passing:
            _log.warning("%s", error)  # the database's address is only for the log
            return 503, _PASSING_API if is_api else _PASSING
        return (409 if isinstance(error, StateError) else 422), str(error)
    if isinstance(error, RequestValidationError):
        return (404, _NOTHING) if _is_no_address(error) else (422, _first_of(error))
    if isinstance(error, HTTPException):
        status = error.status_code
        sentences = {404: _NOTHING, 405: "This address does not accept such a request."}
        return status, sentences.get(status, str(error.detail))
    return 500, "Something went wrong on the server; nothing was stored."


def _is_no_address(error: RequestValidationError) -> bool:
    """Check whether a validation error means that nothing exists at the requested address.

    It does if a part of the path is wrong, or a number in the query string. The status is then 404, else 422 for a
    wrong input.
    """
    problem = error.errors()[0]
    return problem["loc"][0] == "path" or (problem["loc"][0] == "query" and problem["type"] in _NO_SUCH_NUMBER)


def _first_of(error: RequestValidationError) -> str:
    """Format the first validation error of a body, with the field's name."""
    problem = error.errors()[0]
    if problem["loc"] == ("body",) and problem["type"].endswith(("_type", "missing")):
        return "expected a JSON object, with Content-Type: application/json"
    if problem["type"] == "json_invalid":
        return "the body is not JSON"
    place = ".".join(str(part) for part in problem["loc"] if part != "body")
    message = str(problem["msg"]).removeprefix("Value error, ")
    return f"{place}: {message}" if place else message
