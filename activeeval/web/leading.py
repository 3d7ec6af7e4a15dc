"""The pages of a lead: the answer so far, what people did, what is written out."""

from __future__ import annotations

from fastapi import APIRouter, Response
from starlette.responses import HTMLResponse

from activeeval.report.charts import reading_chart
from activeeval.tasks.campaigns.overview import course, overview
from activeeval.web.refusals import RefusedError
from activeeval.web.rendering import rendered
from activeeval.web.roles import Here, Who, for_role

router = APIRouter(prefix="/lead")
_PICTURE_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


@router.get("")
@for_role("lead")
def lead(served: Here, who: Who) -> Response:
    """Show what the campaign answers so far, and how far it is."""
    view = served.desk.reading.look(lambda state: overview(state, served.store))
    page = rendered("overview.html.j2", campaign=served.name, who=who, view=view, grades=served.desk.grades)
    return HTMLResponse(page)


@router.get("/course.svg")
@for_role("lead")
def picture(served: Here) -> Response:
    """Show the answer to the first question over blocks, as a picture."""
    moments, budget, unit = served.desk.reading.look(
        lambda state: (
            course(state),
            sum(sample.campaign.design.budget or 0.0 for sample in state.rounds),
            state.sample.campaign.design.pool.cost_unit,
        )
    )
    if not moments:
        raise RefusedError(404, "No block is complete yet: there is nothing to draw.")
    svg = reading_chart("course", moments, 0, unit, budget)
    return Response(svg, media_type="image/svg+xml", headers={"content-security-policy": _PICTURE_POLICY})
