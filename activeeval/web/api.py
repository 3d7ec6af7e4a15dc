"""HTTP API for programs with a token: the JSON lines of ``campaign claim``, ``submit`` and ``status``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Body, Path
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictBool, StrictInt, StrictStr, model_validator

from activeeval.campaigns.assignments import desk_of
from activeeval.campaigns.program_lines import acknowledged_line, claimed_line
from activeeval.campaigns.store import JudgeAnswer
from activeeval.web.desks import owned
from activeeval.web.error_responses import RefusedError
from activeeval.web.openapi import ClaimedItem, NothingLeft, Progress, StoredAnswer, refusals
from activeeval.web.roles import CurrentCampaign, CurrentUser, for_role
from activeeval.web.settings import ServedCampaign

router = APIRouter(prefix="/api/campaigns/{name}")
_STORABLE = r"^[^\x00]*$"
Name = Annotated[str, Path(description="Of the campaign.")]


def _as_whole(value: object) -> object:
    """Convert a float without a fraction to int: in JSON, 2.0 is 2."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


class EmptyBody(BaseModel):
    """An empty request body: a JSON object without fields."""

    model_config = ConfigDict(extra="forbid")


class AnswerRequest(BaseModel):
    """The answer to a claimed item: a grade, a reason why it cannot be graded, or a deferral.

    In a comparison of two documents: the better one, a tie, or a document to discard.
    """

    __qualname__ = "Answer"  # name in the OpenAPI document
    model_config = ConfigDict(extra="forbid", title="Answer")
    token: StrictStr = Field(max_length=200)
    grade: Annotated[StrictInt, BeforeValidator(_as_whole)] | None = None
    cannot: StrictStr | None = Field(None, min_length=1, max_length=4000, pattern=_STORABLE)
    later: StrictBool = False
    preferred: StrictStr | None = None
    strength: Annotated[StrictInt, Field(ge=1, le=5), BeforeValidator(_as_whole)] | None = None
    tie: StrictBool = False
    discard: StrictStr | None = None
    key: StrictStr | None = Field(None, min_length=1, max_length=200, pattern=_STORABLE)
    active_ms: Annotated[StrictInt, Field(ge=0, lt=2**53), BeforeValidator(_as_whole)] | None = None
    then_claim: StrictBool = False

    @model_validator(mode="after")
    def _check_single_answer(self) -> AnswerRequest:
        """Check that the body contains exactly one answer; the strength of a preference goes only with a preference."""
        named = (self.grade, self.cannot, self.preferred, self.discard)
        if sum(value is not None for value in named) + self.later + self.tie != 1:
            raise ValueError("expected one of grade, cannot and later; of two documents preferred, tie, discard")
        if self.strength is not None and self.preferred is None:
            raise ValueError("strength goes with preferred")
        return self

    @property
    def said(self) -> JudgeAnswer:
        """The answer (a grade, a reason, a deferral, a preference or a discarded document) in the form of the store."""
        return JudgeAnswer.of(**self.model_dump(exclude={"token", "key", "then_claim"}))


@router.post(
    "/claim", response_model=ClaimedItem | NothingLeft, response_model_exclude_unset=True, responses=refusals(409)
)
@for_role("token")
def claim(
    served: CurrentCampaign, user: CurrentUser, name: Name, _: Annotated[EmptyBody | None, Body()] = None
) -> Mapping[str, Any]:
    """Claim the next item; an empty object means that no item is left."""
    _check_name(served, name)
    item = desk_of(served.store, name).claim(user.name)
    return {} if item is None else claimed_line(item, served.store, name)


@router.post("/submit", response_model=StoredAnswer, response_model_exclude_unset=True, responses=refusals(409))
@for_role("token")
def submit(served: CurrentCampaign, user: CurrentUser, name: Name, answer: AnswerRequest) -> Mapping[str, Any]:
    """Submit the answer to an item; with ``then_claim``, also claim the next item in the same transaction."""
    _check_name(served, name)
    # refuses a token that is not of this judge's claim
    owned(served, user, answer.token, "no item was given out to you under this token")
    desk = desk_of(served.store, name)
    if not answer.then_claim:
        return acknowledged_line(desk.submit(answer.token, answer.said, answer.key), answer.token)
    done, item = desk.submit_and_claim(answer.token, answer.said, answer.key)
    return {
        **acknowledged_line(done, answer.token),
        "next": {} if item is None else claimed_line(item, served.store, name),
    }


@router.get("/status", response_model=Progress, responses=refusals(409))
@for_role("any token")
def status(served: CurrentCampaign, name: Name) -> Mapping[str, Any]:
    """Report the progress of the campaign, without an estimate; with control items, as of its last complete block."""
    _check_name(served, name)
    return served.desk.status().row()


def _check_name(served: ServedCampaign, name: str) -> None:
    """Raise RefusedError (404) unless the served campaign has this name."""
    if name != served.name:
        raise RefusedError(404, "there is no campaign of that name here")
