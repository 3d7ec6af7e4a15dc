"""Build the application: all routes behind one access check, all responses through one security middleware."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from fastapi import APIRouter, Depends, FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, RedirectResponse, Response

from activeeval.campaigns.pair_desk import PairsDesk
from activeeval.core.errors import ActiveEvalError
from activeeval.web import (
    api,
    comparison_pages,
    desks,
    judge_pages,
    lead_actions,
    lead_pages,
    login,
    people,
    signing_in,
    text_pages,
    training,
)
from activeeval.web.error_responses import RefusedError, answer_to
from activeeval.web.middleware import SecurityMiddleware
from activeeval.web.openapi import described
from activeeval.web.roles import for_role, guard
from activeeval.web.settings import ServedCampaign

STATIC = {
    "page.css": "text/css; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
    "htmx.min.js": "text/javascript; charset=utf-8",
}
"""Static files by name, with their content types: no other file is served."""
router = APIRouter()


@router.get("/")
@for_role("anyone")
def home() -> Response:
    """Redirect to the judge's page (status 303)."""
    return RedirectResponse("/judge", 303)


@router.get("/static/{name}")
@for_role("anyone")
def static(name: str) -> Response:
    """Send a static file (style sheet or script) of the pages; refuse any other name with 404."""
    if name not in STATIC:
        raise HTTPException(404)
    content = files("activeeval.web").joinpath("static", name).read_bytes()
    return Response(content, media_type=STATIC[name], headers={"cache-control": "public, max-age=3600"})


def _add_all(app: FastAPI, part: APIRouter, *, is_described: bool) -> None:
    """Add the routes of a router (``part``) to the application one by one, so that `app.routes` lists them all.

    ``is_described`` is True to list them in the OpenAPI document.
    """
    for route in part.routes:
        if not isinstance(route, APIRoute):
            continue
        api_options: dict[str, Any] = {}
        if is_described:
            unset = route.response_model_exclude_unset
            api_options = {"response_model": route.response_model, "response_model_exclude_unset": unset}
            api_options |= {"responses": route.responses}
        methods = sorted(route.methods or ())
        app.add_api_route(route.path, route.endpoint, methods=methods, include_in_schema=is_described, **api_options)


def make_app(served: ServedCampaign) -> SecurityMiddleware:
    """Build the application that serves a campaign: all routes, behind the security middleware."""
    app = routes(served)

    @app.get("/api/openapi.json", include_in_schema=False)
    @for_role("anyone")
    def openapi() -> JSONResponse:
        """Send the OpenAPI document of the API."""
        return JSONResponse(described(app, served))

    return SecurityMiddleware(app, served.door)


def routes(served: ServedCampaign) -> FastAPI:
    """Build the application with all routes that fit how the campaign is judged, without the security middleware."""
    app = FastAPI(title="activeeval", openapi_url=None, docs_url=None, redoc_url=None, dependencies=[Depends(guard)])
    app.state.served = served
    # pages for comparing two documents, or for grading one
    judges = comparison_pages.router if isinstance(served.desk, PairsDesk) else judge_pages.router
    for part in (
        router,
        people.router,
        signing_in.router,
        login.router,
        judges,
        training.router,
        desks.router,
        lead_pages.router,
        text_pages.router,
        lead_actions.router,
        api.router,
    ):
        _add_all(app, part, is_described=part is api.router)
    for kind in (ActiveEvalError, RefusedError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, answer_to)
    return app
