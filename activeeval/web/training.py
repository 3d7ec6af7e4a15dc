"""Training pages of a new judge: items with known grades, each explained after the answer."""

from __future__ import annotations

from fastapi import APIRouter, Response
from starlette.responses import RedirectResponse

from activeeval.campaigns.desk_views import ItemView
from activeeval.campaigns.training import TrainingView, trained_on, training_of
from activeeval.core.errors import InputError
from activeeval.web import desks
from activeeval.web.error_responses import RefusedError
from activeeval.web.forms import Fields
from activeeval.web.roles import CurrentCampaign, CurrentUser, Number, for_role
from activeeval.web.settings import ServedCampaign

router = APIRouter(prefix="/judge/training")


@router.get("")
@for_role("judge")
def train(served: CurrentCampaign, user: CurrentUser) -> Response:
    """Show the judge's next training item (with a known grade); redirect to the judging page after the last one."""
    view = training_of(served.store, served.name, user.name, served.training)
    if view is None:
        return RedirectResponse("/judge", 303)
    return desks.page_of("training.html.j2", served, user, view=view, grades=served.grades)


@router.get("/{number}")
@for_role("judge")
def taught(served: CurrentCampaign, user: CurrentUser, number: Number) -> Response:
    """Show the known grade of a training item, its explanation, and the judge's answer; items count from 1."""
    view = _answered(served, user.name, number)
    return desks.page_of("training.html.j2", served, user, view=view, grades=served.grades)


@router.post("/{number}")
@for_role("judge")
def answer(served: CurrentCampaign, user: CurrentUser, number: Number, fields: Fields) -> Response:
    """Store a judge's answer to the training item with this number, and redirect to the page with the known grade."""
    reply = desks.replied(served, fields)
    if reply.judgment.grade is None or not 1 <= number <= len(served.training):
        raise RefusedError(422, "Please choose a grade.")
    known = served.training[number - 1]
    served.store.train(served.name, user.name, known.key, reply.judgment.grade, known.grade)
    return RedirectResponse(f"/judge/training/{number}", 303)


@router.get("/{number}/document")
@for_role("judge")
def document(served: CurrentCampaign, number: Number) -> Response:
    """Show the document of the training item with this number as a sandboxed page."""
    if not 1 <= number <= len(served.training):
        raise RefusedError(404, "There is no such item here.")
    item: ItemView = served.training[number - 1].item
    return desks.framed(item)


def _answered(served: ServedCampaign, judge: str, number: Number) -> TrainingView:
    """Build the view of an answered training item; raise RefusedError (404) if the judge has not answered it."""
    try:
        return trained_on(served.store, served.name, judge, served.training, number)
    except InputError as error:
        if error.is_passing:  # the database is not available now: status 503
            raise
        raise RefusedError(404, "Please answer the items in their order.") from None
