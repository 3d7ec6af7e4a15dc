"""Pages of a lead about judges' texts: search queries and documents, missing texts, guidelines, grades."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from activeeval.campaigns.desk_views import ItemView
from activeeval.campaigns.lead_texts import document_of, texts_of
from activeeval.campaigns.store import ItemFilter, ItemPosition
from activeeval.core.errors import InputError
from activeeval.web.desks import framed, page_of
from activeeval.web.error_responses import RefusedError
from activeeval.web.rendering import safe_markdown
from activeeval.web.roles import CurrentCampaign, CurrentUser, for_role
from activeeval.web.settings import ServedCampaign

router = APIRouter(prefix="/lead/texts")
_MOST_WORDS = 200
_LARGEST = 2**31 - 1
WholeNumber = Annotated[int, Path(ge=0, le=_LARGEST)]


@router.get("")
@for_role("lead")
def texts(
    served: CurrentCampaign,
    user: CurrentUser,
    find: Annotated[str, Query(max_length=_MOST_WORDS, pattern=r"^[^\x00]*$")] = "",
    missing: bool = False,
    unit: Annotated[int | None, Query(ge=0, le=_LARGEST)] = None,
    position: Annotated[int, Query(ge=0, le=_LARGEST)] = 0,
) -> Response:
    """Show a page of items with their texts.

    Parameters
    ----------
    find : str
        Words to search for in ids and texts.
    missing : bool
        True to show only items without text.
    unit, position : int
        The item after which the page begins: number of its unit (items judged together), and index within it.
    """
    from activeeval.campaigns.estimates_over_time import date_of  # imported late: a judge's first page does not need it

    after = None if unit is None else ItemPosition(unit, position)
    version = served.guidelines.version if served.guidelines else ""
    wanted = ItemFilter(words=find.strip(), without_text=missing, after=after)
    view = texts_of(served.store, served.name, wanted, version)
    values = {"view": view, "wanted": wanted, "most": _MOST_WORDS, "grades": served.grades, "date": date_of}
    return page_of("texts.html.j2", served, user, prose=safe_markdown, **values)


@router.get("/{unit}/{position}/{number}")
@for_role("lead")
def item(
    served: CurrentCampaign, user: CurrentUser, unit: WholeNumber, position: WholeNumber, number: WholeNumber
) -> Response:
    """Show a document with its query, as judges see it.

    Parameters
    ----------
    unit, position : int
        The item: number of its unit (items judged together), and index within it.
    number : int
        Index of the document in the item.
    """
    view = _document(served, ItemPosition(unit, position), number)
    frame = f"/lead/texts/{unit}/{position}/{number}/document"
    return page_of("text.html.j2", served, user, item=view, frame=frame)


@router.get("/{unit}/{position}/{number}/document")
@for_role("lead")
def document(served: CurrentCampaign, unit: WholeNumber, position: WholeNumber, number: WholeNumber) -> Response:
    """Show a document of an item as a sandboxed page.

    ``unit`` is the number of the item's unit (items judged together), ``position`` the item's index within it, and
    ``number`` the document's index in the item.
    """
    return framed(_document(served, ItemPosition(unit, position), number))


def _document(served: ServedCampaign, at: ItemPosition, number: int) -> ItemView:
    """Build the view of a document of the item ``at``, by its index; raise RefusedError (404) if there is none."""
    try:
        return document_of(served.store, served.name, at, number)
    except InputError as error:
        if error.is_passing:  # the database is not available now: status 503
            raise
        raise RefusedError(404, "There is no such document here.") from None
