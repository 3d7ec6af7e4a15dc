"""Sign-in options of ``activeeval serve``: a password of the lead, and OpenID Connect."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, MutableMapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from activeeval.campaigns.commands.options import judge_of
from activeeval.cli.input_options import with_options
from activeeval.cli.waiting import settle
from activeeval.core.errors import InputError, shown

if TYPE_CHECKING:
    from activeeval.web.oidc import Oidc

PASSWORD, SECRET = "ACTIVEEVAL_LEAD_PASSWORD", "ACTIVEEVAL_OIDC_SECRET"
"""Environment variables for secrets: other users of the computer can read a command's arguments."""
_NEEDED = ("authlib", "joserfc")
_OPTIONS = (
    click.option("--lead-password", is_flag=True, help=f"Ask for the lead's password here, or take it of {PASSWORD}."),
    click.option("--lead-password-file", metavar="FILE", help="The same from a file, its first line."),
    click.option("--oidc", metavar="URL", help="People sign in there: the issuer of OpenID Connect."),
    click.option(
        "--oidc-client", metavar="ID", help=f"Name of this server at that site. Its secret: {SECRET}, or a file."
    ),
    click.option("--oidc-secret-file", metavar="FILE", help="The client's secret, in its first line."),
    click.option(
        "--oidc-claim", type=click.Choice(("email", "sub")), default="email", help="People are known by that."
    ),
    click.option(
        "--oidc-lead", "oidc_leads", multiple=True, metavar="[NAME=]WHO", help="A lead, as known there. Repeatable."
    ),
    click.option(
        "--oidc-judge", "oidc_judges", multiple=True, metavar="[NAME=]WHO", help="A judge, as known there. Repeatable."
    ),
)


def signing_in_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the sign-in options to a command."""
    return with_options(command, _OPTIONS)


def oidc_of(options: MutableMapping[str, Any]) -> Oidc | None:
    """Remove the OpenID Connect options from ``options``, and build their settings; None without --oidc.

    Raises InputError if an option lacks another one, a package is not installed, or there is no secret.
    """
    oidc_options = {name: options.pop(name) for name in [name for name in options if name.startswith("oidc")]}
    issuer, claim = oidc_options["oidc"], oidc_options["oidc_claim"]
    if issuer is None:
        # an option without --oidc; --oidc-claim has a default
        alone = next((name for name, value in oidc_options.items() if value and name != "oidc_claim"), None)
        if alone is not None:
            raise InputError(f"`{alone}` goes with `oidc`", field=alone)
        return None
    if any(importlib.util.find_spec(package) is None for package in _NEEDED):
        raise InputError("it needs more packages: pip install 'activeeval-ir[oidc]'", field="oidc")
    from activeeval.web.oidc import Oidc

    file = oidc_options["oidc_secret_file"]
    secret = os.environ.get(SECRET, "") if file is None else _first_line(file)
    if not secret:
        raise InputError(f"`oidc` needs the client's secret: in {SECRET}, or in a file", field="oidc_secret_file")
    people = {whose: _people(oidc_options[f"oidc_{whose}"], claim) for whose in ("leads", "judges")}
    return Oidc(issuer=issuer, client=oidc_options["oidc_client"] or "", secret=secret, claim=claim, **people)


def password_of(is_asked: bool, file: str | None) -> str | None:
    """Get the lead's new password from a file, the environment, or a prompt.

    Parameters
    ----------
    is_asked : bool
        True for --lead-password.
    file : str or None
        File of --lead-password-file.

    Returns
    -------
    str or None
        None if no option requests a password.

    Raises
    ------
    InputError
        If the password is too short or too long, a file has none, or there is no terminal for a prompt.
    """
    if file is None and not is_asked:
        return None
    from activeeval.web.passwords import problem_of

    password = os.environ.get(PASSWORD) if file is None else _first_line(file)
    if password is None:
        return _typed(problem_of)
    if problem := problem_of(password):
        raise InputError(f"{file or PASSWORD}: {problem}")
    return password


def _typed(problem_of: Callable[[str], str]) -> str:
    """Prompt for a password twice without echo; raise InputError without a terminal.

    ``problem_of`` returns the reason why a password is not accepted, or "".
    """
    if not sys.stdin.isatty():
        problem = f"no terminal to type the password at: put it in {PASSWORD}, or in a `lead_password_file`"
        raise InputError(problem, field="lead_password_file")

    def checked(text: str) -> str:
        """Return the password if it is accepted; otherwise raise UsageError, so that click asks again."""
        if problem := problem_of(text):
            raise click.UsageError(problem)
        return text

    settle()
    typed: str = click.prompt(
        "Password of the lead", hide_input=True, confirmation_prompt="The same again", value_proc=checked, err=True
    )
    return typed


def _people(words: tuple[str, ...], claim: str) -> dict[str, str]:
    """Parse ``[NAME=]ACCOUNT`` texts to a dict from account keys (`account_key`) to names in the campaign.

    ``claim`` says what an account is: an "email" address, which also serves as the name, or the site's number ("sub").
    Raises UsageError if a text is not valid.
    """
    from activeeval.web.oidc import account_key

    people = {}
    for word in words:
        name, mark, account = word.partition("=")
        name, account = (name.strip(), account.strip()) if mark else ("", word.strip())
        is_named = bool(name) if mark or claim == "sub" else True
        if not is_named or not account or (claim == "email" and "@" not in account):
            expected = "ann@example.org, or ann=ann@example.org" if claim == "email" else "ann=00u1x, a name and a sub"
            raise click.UsageError(f"expected an account of the site, as {expected}, got {shown(word)}")
        people[account_key(account, claim)] = judge_of(name or account)
    return people


def _first_line(path: str) -> str:
    """Read the first line of a UTF-8 text file; raise InputError if it is empty."""
    try:
        lines = Path(path).read_text("utf-8").splitlines()
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not UTF-8 text") from None
    if not lines or not lines[0].strip():
        raise InputError(f"{path}: its first line is empty")
    return lines[0].strip()
