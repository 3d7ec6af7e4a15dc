"""Pages of a lead: interim results, disagreements, people, the event log, exports."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from fastapi import APIRouter, Response

from activeeval.campaigns.judging_messages import named_grade
from activeeval.campaigns.store import Person
from activeeval.web.desks import page_of
from activeeval.web.error_responses import RefusedError
from activeeval.web.passwords import LEAST, MOST
from activeeval.web.roles import CurrentCampaign, CurrentUser, NumberAsked, for_role
from activeeval.web.settings import ServedCampaign

# packages for estimates are imported late, so that a judge's first page does not wait for them
router = APIRouter(prefix="/lead")
FORMS = {
    "qrels": ("qrels", "Grades, as TREC qrels"),
    "prels": ("prels", "Grades with probabilities, as prels"),
    "csv": ("csv", "A row for each judge’s grade (CSV)"),
    "weights": ("csv", "Probability and weight of every item (CSV)"),
    "jsonl": ("jsonl", "The whole log (JSON lines)"),
    "quepid": ("csv", "Ratings for Quepid (CSV)"),
    "rank-eval": ("json", "A request for Elasticsearch and OpenSearch"),
}
"""Export formats: the suffix of the file's name, and a description."""
KINDS = {
    "invite": "a link",
    "session": "a browser",
    "token": "a program",
    "password": "a password",
    "member": "another site",
}
SCOPES = {"all": "judge", "status": "ask how far it is"}
"""Permissions of a program's token, by scope."""
_PICTURE_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_EVENTS = 100


@router.get("")
@for_role("lead")
def lead(served: CurrentCampaign, user: CurrentUser, interval: Literal["t", "group-sequential"] = "t") -> Response:
    """Show the interim results and the progress of the campaign.

    ``interval`` is "t" (valid for one analysis) or "group-sequential" (valid for an analysis at the end of every block,
    a part of the sample).
    """
    from activeeval.campaigns.overview import overview

    view = served.desk.reading.look(lambda state: overview(state, served.store, interval=interval))
    return page_of("overview.html.j2", served, user, view=view, grades=served.grades)


@router.get("/course.svg")
@for_role("lead")
def picture(served: CurrentCampaign) -> Response:
    """Show the estimates of the first question over blocks (parts of the sample) as an SVG chart."""
    from activeeval.campaigns.overview import course
    from activeeval.campaigns.report.charts import reading_chart

    moments, budget, unit = served.desk.reading.look(
        lambda state: (
            course(state),
            sum(sample.campaign.design.budget or 0.0 for sample in state.rounds),
            state.sample.campaign.design.pool.cost_unit,
        )
    )
    if not moments:
        raise RefusedError(404, "No block is complete yet: there is nothing to draw.")
    svg = reading_chart("course", moments, answer=0, unit=unit, budget=budget)
    return Response(svg, media_type="image/svg+xml", headers={"content-security-policy": _PICTURE_POLICY})


@router.get("/disagreements")
@for_role("lead")
def differing(served: CurrentCampaign, user: CurrentUser) -> Response:
    """Show the items on which judges differ, sorted by their influence on the estimate."""
    from activeeval.campaigns.disagreements import disagreements

    desk = served.desk
    rows = desk.reading.look(lambda state: disagreements(state, served.store))
    names = {"grades": served.grades, "named": partial(named_grade, served.grades)}
    n = served.store.campaign(served.name).judges_per_item
    return page_of("disagreements.html.j2", served, user, rows=rows, judges_per_item=n, **names)


@router.get("/people")
@for_role("lead")
def people(served: CurrentCampaign, user: CurrentUser) -> Response:
    """Show the people with access to the campaign: their open invitations, sessions, tokens and passwords."""
    return people_page(served, user)


@router.get("/log")
@for_role("lead")
def log(served: CurrentCampaign, user: CurrentUser, before: NumberAsked = None) -> Response:
    """Show a page of the event log, newest first, before event ``before`` if given, and the export formats."""
    from activeeval.campaigns.estimates_over_time import date_of

    last = served.store.last_seq(served.name) if before is None else before - 1  # number of the page's newest event
    events = served.store.last_events(served.name, last, _EVENTS)
    forms = [(form, text) for form, (_, text) in FORMS.items()]
    earlier = events[-1].seq if events and events[-1].seq > 1 else None
    values = {"events": events, "before": earlier, "forms": forms, "date": date_of}
    return page_of("log.html.j2", served, user, is_closed=served.desk.is_closed, **values)


@router.get("/export/{form}")
@for_role("lead")
def exported(served: CurrentCampaign, form: str) -> Response:
    """Send an export of the campaign in a format (key of `FORMS`) as a file."""
    if form not in FORMS:
        raise RefusedError(404, "There is no such format.")
    from activeeval.campaigns.exporting import export

    suffix, _ = FORMS[form]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{form}.{suffix}"
        export(served.store, served.name, form, str(path))
        content = path.read_bytes()
    name = quote(f"{served.name}-{form}.{suffix}")
    headers = {"content-disposition": f"attachment; filename*=UTF-8''{name}"}
    return Response(content, media_type="application/octet-stream", headers=headers)


def people_page(
    served: ServedCampaign, user: Person, link: str = "", invited_name: str = "", token: str = ""
) -> Response:
    """Render the page of people, with a new link or token that is shown only once.

    Parameters
    ----------
    link, token : str
        New invitation link or token; empty if there is none.
    invited_name : str
        Name of the person for whom it is.
    """
    from activeeval.campaigns.estimates_over_time import date_of

    access = served.store.access(served.name)
    # elsewhere: site at which judges invited by e-mail address may sign in; least, most: characters of a password
    values = {
        "rows": [row for row in access.rows() if row.is_open],
        "link": link,
        "token": token,
        "invited_name": invited_name,
        "kinds": KINDS,
        "scopes": SCOPES,
        "date": date_of,
        "has_passwords": not served.door.auth_header,
        "has_password": access.password_of(user.name) is not None,
        "elsewhere": served.provider.oidc.host_of_addresses if served.provider else "",
        "least": LEAST,
        "most": MOST,
    }
    return page_of("people.html.j2", served, user, **values)
