"""The pages of a judge who begins: items whose grades are known, each with what it is and why once it is answered."""

from __future__ import annotations

from fastapi import APIRouter, Response
from starlette.responses import RedirectResponse

from activeeval.campaigns.desk_views import ItemView
from activeeval.campaigns.training import TrainingView, trained_on, training_of
from activeeval.core.errors import InputError
from activeeval.web import desks
from activeeval.web.error_responses import RefusedError
from activeeval.web.forms import Fields
from activeeval.web.roles import CurrentCampaign, Number, Who, for_role
from activeeval.web.settings import ServedCampaign

router = APIRouter(prefix="/judge/training")


@router.get("")
@for_role("judge")
def train(served: CurrentCampaign, who: Who) -> Response:
    """Show the next item to train with; whoever has been through all goes on to the real ones."""
    view = training_of(served.store, served.name, who.name, served.training)
    if view is None:
        return RedirectResponse("/judge", 303)
    return desks.page_of("training.html.j2", served, who, view=view, grades=served.grades)


@router.get("/{number}")
@for_role("judge")
def taught(served: CurrentCampaign, who: Who, number: Number) -> Response:
    """Show what an item of the training is, and why, beside what the judge said."""
    view = _answered(served, who.name, number)
    return desks.page_of("training.html.j2", served, who, view=view, grades=served.grades)


@router.post("/{number}")
@for_role("judge")
def answer(served: CurrentCampaign, who: Who, number: Number, fields: Fields) -> Response:
    """Store what a judge says of an item of the training, and tell what it is."""
    reply = desks.replied(served, fields)
    if reply.judgment.grade is None or not 1 <= number <= len(served.training):
        raise RefusedError(422, "Please choose a grade.")
    known = served.training[number - 1]
    served.store.train(served.name, who.name, known.key, reply.judgment.grade, known.grade)
    return RedirectResponse(f"/judge/training/{number}", 303)


@router.get("/{number}/document")
@for_role("judge")
def document(served: CurrentCampaign, number: Number) -> Response:
    """Show the document of an item of the training as a page of its own."""
    if not 1 <= number <= len(served.training):
        raise RefusedError(404, "There is no such item here.")
    item: ItemView = served.training[number - 1].item
    return desks.framed(item)


def _answered(served: ServedCampaign, judge: str, number: Number) -> TrainingView:
    try:
        return trained_on(served.store, served.name, judge, served.training, number)
    except InputError as error:
        if error.is_passing:
            raise
        raise RefusedError(404, "Please answer the items in their order.") from None
