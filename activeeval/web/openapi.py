"""Describe the API as OpenAPI: responses, statuses, and the answers that this campaign accepts."""

from __future__ import annotations

from typing import Any, get_type_hints

from fastapi import FastAPI
from pydantic import BaseModel, ConfigDict, Field, create_model

from activeeval.campaigns.report.design_content import CampaignProgress
from activeeval.web.settings import ServedCampaign

_SENTENCES = {
    400: "The body cannot be read.",
    401: "There is no token, or it is not valid.",
    403: "The token is only for the status, or the request comes from a page of another site.",
    404: "There is no such campaign here, or no item was given out to this judge under the token.",
    405: "The address does not accept such a request.",
    408: "The body took too long.",
    409: "Another answer was stored under this token before, or the answer is no longer allowed.",
    413: "The body is too large.",
    421: "The Host header names another server.",
    422: "The body is not valid; the sentence names the field.",
    500: "Something went wrong; nothing was stored.",
    503: "The database is not available at the moment: nothing was stored; send the same request again later.",
}
_ONE_OF = {
    "grade": {"type": "integer"},
    "cannot": {"type": "string"},
    "later": {"const": True},
    "preferred": {"type": "string"},
    "tie": {"const": True},
    "discard": {"type": "string"},
}
_UNSAID: dict[str, dict[str, Any]] = {
    verb: {"enum": [None, False]} if verb in ("later", "tie") else {"type": "null"} for verb in _ONE_OF
}
"""Allowed values of each kind of answer if another kind is given."""
_OF_GRADES, _OF_PAIRS = ("grade", "cannot", "later"), ("cannot", "later", "preferred", "tie", "discard")


class Refusal(BaseModel):
    """Reason of a refused request, in one line."""

    model_config = ConfigDict(extra="forbid")
    error: str = Field(min_length=1)


class NothingLeft(BaseModel):
    """An empty object: no item is left for this judge."""

    model_config = ConfigDict(extra="forbid")


class ClaimedItem(BaseModel):
    """An item leased (reserved) to a judge, with the token for its answer; a line of ``campaign claim``."""

    model_config = ConfigDict(extra="forbid")
    token: str
    query_id: str
    doc_id: str
    unit: str = Field(description="Of the queue: what is judged together has the same word; it tells no order.")
    block: int
    k: int
    lease_until: int = Field(description="UTC microseconds.")
    was_put_off: bool
    query_text: str
    text: dict[str, Any] = Field(description="Of the document, by field; of a comparison both under documents.")


class StoredAnswer(BaseModel):
    """The stored answer; a line of ``campaign submit``, with the next item if requested."""

    model_config = ConfigDict(extra="forbid")
    seq: int
    kind: str
    judge: str
    query_id: str
    doc_id: str
    grade: int | None
    reason: str | None = None
    said: dict[str, Any] | None = None
    repeated: bool | None = None
    machine_is_truth: bool | None = None
    token: str
    next: ClaimedItem | NothingLeft | None = None


Progress = create_model(
    "Progress",
    __config__=ConfigDict(extra="allow"),
    __doc__="How far a campaign is; the row of ``campaign status``, without its estimates.",
    **get_type_hints(CampaignProgress),
)


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Describe refusals for OpenAPI: those with the given HTTP statuses, and those that any request may have."""
    every = (400, 401, 403, 404, 405, 408, 413, 421, 422, 500, 503, *statuses)
    return {
        status: {"model": Refusal, "description": _SENTENCES[status]} | _headers(status) for status in sorted(every)
    }


def described(app: FastAPI, served: ServedCampaign) -> dict[str, Any]:
    """Build the OpenAPI document of a campaign's API, with the kinds of answers and the grades that it accepts."""
    text = app.openapi()
    text["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    for path in text["paths"].values():
        for operation in path.values():
            operation["security"] = [{"token": []}]
    answer = text["components"]["schemas"]["Answer"]
    # fields of which a request has one: the kinds of answer that this campaign accepts
    verbs = _OF_GRADES if served.grades else _OF_PAIRS
    for verb in set(_ONE_OF) - set(verbs):
        answer["properties"].pop(verb, None)
    # the strength of a preference goes with `preferred` alone
    alone: dict[str, Any] = {"strength": {"type": "null"}}
    if served.grades:
        answer["properties"]["grade"] |= {"minimum": 0, "maximum": len(served.grades) - 1}
        answer["properties"].pop("strength")
        alone = {}
    unsaid = {verb: _UNSAID[verb] for verb in verbs}
    answer["oneOf"] = [
        {"required": [verb], "properties": unsaid | {verb: _ONE_OF[verb]} | ({} if verb == "preferred" else alone)}
        for verb in verbs
    ]
    return text


def _headers(status: int) -> dict[str, Any]:
    """Describe the response header that belongs to a status."""
    name = {401: "WWW-Authenticate", 405: "Allow", 503: "Retry-After"}.get(status)
    return {"headers": {name: {"schema": {"type": "string"}}}} if name else {}
