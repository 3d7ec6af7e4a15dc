"""``activeeval serve``: serve the judging page of a campaign."""

from __future__ import annotations

import importlib.util
import sys
import tomllib
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from activeeval.campaigns.commands.options import judge_of, of_campaign, opened
from activeeval.cli.help import command
from activeeval.cli.input_options import any_grade_option, any_judge_option
from activeeval.cli.output import output_option, say
from activeeval.cli.waiting import settle, tell
from activeeval.core.errors import InputError
from activeeval.report.rendering import render
from activeeval.web.commands.sign_in_options import oidc_of, password_of, signing_in_options

if TYPE_CHECKING:
    from activeeval.campaigns.control_items import Controls
    from activeeval.campaigns.training import KnownItem
    from activeeval.web.serving import Invitation

_WAIT_S = 5.0  # a page reports a locked database sooner than a command does
_NEEDED = ("fastapi", "uvicorn", "markdown_it", "argon2", "httptools")


@command()
@of_campaign
@any_judge_option("judges", multiple=True, help="Name of a judge: each gets a link. Repeatable.")
@click.option("--lead", default="lead", metavar="NAME", help="Name of the lead, with which decisions are stored.")
@any_grade_option("named", multiple=True, metavar='N="NAME"', help="Name of a grade on the page. Repeatable.")
@click.option("--grades", metavar="FILE", help='The same in a file, as grades.toml: lines of 2 = "Highly relevant".')
@click.option("--guidelines", metavar="FILE", help="Markdown shown beside every item; answers keep its version.")
@click.option(
    "--training", metavar="FILE", help="Items with query, grade and why: each judge begins with the first ten."
)
@click.option(
    "--controls",
    metavar="P%",
    help="Share of a judge's items that are known or repeated ones, or swapped pairs, as 5%.",
)
@click.option(
    "--controls-from",
    metavar="FILE",
    help="Known items: as --training, with query_id and doc_id. Default: repeated ones.",
)
@click.option("--host", default="127.0.0.1", metavar="ADDRESS", help="Where to listen.")
@click.option("--port", type=click.IntRange(0, 65_535), default=8347, metavar="N", help="0 takes a free one.")
@click.option("--certificate", metavar="FILE", help="For https, with --key.")
@click.option("--key", metavar="FILE", help="Key of the certificate.")
@click.option("--behind-proxy", metavar="ADDRESS", help="Answer only this proxy, which speaks https to browsers.")
@click.option("--auth-header", metavar="NAME", help="In which the proxy names people: no links are needed then.")
@click.option("--address", metavar="URL", help="URL that people open. Default: host and port.")
@signing_in_options
@output_option
def serve(
    name: str,
    db: str | None,
    judges: tuple[str, ...],
    lead: str,
    named: tuple[str, ...],
    grades: str | None,
    guidelines: str | None,
    training: str | None,
    controls: str | None,
    controls_from: str | None,
    form: str,
    **where: Any,
) -> None:
    """Serve the judging page: people open the links that it prints, and judge in a browser.

    It prints a link for the lead and one for each judge, which works once, within seven days; with -o jsonl also a
    token for each judge, with which a program may claim and submit over HTTP for 90 days. Ctrl-C ends it; no answer
    is lost, and the same command goes on.

    The lead may sign in with a password (--lead-password), and people at a site that knows them (--oidc).

    \b
    activeeval serve week1 --judge ann --judge bob --guidelines guide.md --grade 2="Highly relevant"
    """
    _check_packages()
    from activeeval.campaigns.pair_desk import page_desk
    from activeeval.web import serving
    from activeeval.web.settings import ServerSettings

    # settings of sign-in at another site; `where` keeps the options that are fields of ServerSettings
    oidc, is_asked, file = oidc_of(where), where.pop("lead_password"), where.pop("lead_password_file")
    places = {place: value or "" for place, value in where.items() if place != "port"}
    door = ServerSettings(**places, port=where["port"])
    door.check(oidc)
    if (is_asked or file) and door.auth_header:
        raise click.UsageError(
            "--lead-password and --auth-header exclude each other: with a proxy nobody signs in by password"
        )
    if door.host in ("0.0.0.0", "::") and not door.address:
        say("the links work only on this computer; give --address URL for other people")
    names = (_names_in(grades) if grades else {}) | dict(map(_named, named))
    guide = None if guidelines is None else _text(guidelines)
    *names_of_judges, leader = map(judge_of, (*judges, lead))
    team = serving.Team(lead=leader, judges=names_of_judges, password=password_of(is_asked, file))
    tell("reading the log")
    with opened(name, db, wait_s=_WAIT_S) as store:
        top = store.campaign(name).max_grade  # largest grade; None if documents are compared
        desk = page_desk(store, name, names, _controls(controls, controls_from, top))
        known = [] if training is None else _known(training, top)
        settle()
        tell_of = partial(_print, form=form)
        serving.serve(store, desk, door, team, guide, tell_of, training=known, oidc=oidc)
    say("ended; every answer is stored")


def _check_packages() -> None:
    """Raise InputError if a package of the web extra is not installed."""
    if any(importlib.util.find_spec(package) is None for package in _NEEDED):
        raise InputError("the judging page needs more packages: pip install 'activeeval-ir[web]'")


def _print(invited: Invitation, form: str) -> None:
    """Print an invitation and flush it; in a format (``form``) other than "text" also create and print a token."""
    if form == "text":
        click.echo(f"{'lead' if invited.kind == 'lead' else invited.judge}: {invited.url}")
        sys.stdout.flush()
        return
    row = {"kind": invited.kind} | ({"judge": invited.judge} if invited.kind == "judge" else {}) | {"url": invited.url}
    row |= {"token": invited.make_token()} if invited.make_token else {}
    click.echo(render([row], form))
    sys.stdout.flush()


def _controls(rate: str | None, path: str | None, max_grade: int | None) -> Controls | None:
    """Build the settings of controls (items with an expected answer, mixed among the others to check a judge).

    Parameters
    ----------
    rate : str or None
        Share of controls, as "5%"; None for no controls.
    path : str or None
        File of items with known grades.
    max_grade : int or None
        Largest grade; None if documents are compared.

    Raises
    ------
    UsageError
        If the share is not a number, or a file is given without it.
    """
    from activeeval.campaigns.control_items import Controls

    if rate is None:
        if path is not None:
            raise click.UsageError("--controls-from goes with --controls, as --controls 5%")
        return None
    text = rate.strip()
    try:
        share = float(text.removesuffix("%")) / 100 if text.endswith("%") else float(text)
    except ValueError:
        raise click.UsageError(f"--controls takes a share, as 5%, got {rate!r}") from None
    return Controls(rate=share, known=[] if path is None else _known(path, max_grade, None))


def _known(path: str, max_grade: int | None, most: int | None = 10) -> list[KnownItem]:
    """Read at most ``most`` items with known grades (all for None).

    Raises InputError if the campaign compares documents (``max_grade`` is None).
    """
    from activeeval.campaigns.training import read_known

    if max_grade is None:
        raise InputError(
            f"{path}: this campaign compares documents: there are no known grades to begin with", field="training"
        )
    return read_known(path, max_grade, most)


def _named(text: str) -> tuple[int, str]:
    """Parse ``GRADE=NAME``; raise UsageError if the text has another form."""
    grade, mark, name = text.partition("=")
    if not mark or not grade.strip().isdigit() or not name.strip():
        raise click.UsageError(f'--grade names one, as 2="Highly relevant", got {text!r}')
    return int(grade), name.strip().strip('"').strip()


def _names_in(path: str) -> dict[int, str]:
    """Read the names of grades from a TOML file, in a table [grades] or at the top level.

    Raises InputError if a line is not a grade and its name.
    """
    try:
        content = tomllib.loads(_text(path))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: {error}") from None
    table = content.get("grades", content)
    lines = table.items() if isinstance(table, dict) else ()
    wrong = [grade for grade, name in lines if not grade.isdigit() or not isinstance(name, str) or not name.strip()]
    if wrong or not lines:
        got = f", got {wrong[0]}" if wrong else ""
        raise InputError(f'{path}: expected lines of a grade and its name, as 2 = "Highly relevant"{got}')
    return {int(grade): name.strip() for grade, name in lines}


def _text(path: str) -> str:
    """Read a UTF-8 text file; raise InputError if it is not UTF-8."""
    try:
        return Path(path).read_text("utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not UTF-8 text") from None
