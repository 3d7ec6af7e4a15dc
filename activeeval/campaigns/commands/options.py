"""Common options of campaign commands: its name, its store, opening the store."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from activeeval.cli.input_options import any_judge_option
from activeeval.core.errors import InputError

if TYPE_CHECKING:
    from activeeval.campaigns.store import Store

_URL = re.compile(r"[a-z][\w+.-]*://", re.I)
_SECRET = re.compile(r":.*@|pass\w*\s*=", re.I | re.S)
_TIME = re.compile(r"(\d+(?:\.\d+)?)([mhd])")
_SECONDS = {"m": 60, "h": 3600, "d": 86_400}
_UNITS = ((86_400, "day"), (3600, "hour"), (60, "minute"))
_LONGEST_LEASE = 366 * 86_400
name_argument = click.argument("name", metavar="NAME")
any_db_option = partial(click.option, "--db", metavar="URL")
db_option = any_db_option(help="The store: a file or postgresql://USER@HOST/DATABASE. Default: NAME.activeeval.")
as_of_option = click.option(
    "--as-of", type=click.IntRange(1), metavar="SEQ", help="Use the log up to this event. Default: the last."
)
judge_option = any_judge_option(required=True, help="Name or number of the judge.")


class _Duration(click.ParamType):  # type: ignore[type-arg]  # older releases are not generic
    """Command-line type for a duration such as 45m, 12h or 3d; its value is in seconds."""

    name = "TIME"

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> int:
        """Convert a text to seconds; fail with a usage error if it is not a duration of at most a year."""
        match = _TIME.fullmatch(str(value))
        seconds = round(float(match[1]) * _SECONDS[match[2]]) if match else 0
        if not 1 <= seconds <= _LONGEST_LEASE:
            self.fail(f"{value!r} is not a time of at most a year, expected one like 45m, 12h or 3d", param, context)
        return seconds


DURATION = _Duration()


def lasting(seconds: int) -> str:
    """Format a duration in seconds as days, hours or minutes: the largest of these that it reaches.

    Examples
    --------
    >>> lasting(3 * 86_400), lasting(5_400)
    ('3 days', '1.5 hours')
    """
    size, unit = next(((size, unit) for size, unit in _UNITS if seconds >= size), _UNITS[-1])
    return f"{seconds / size:.3g} {unit}" + ("s" if seconds != size else "")


def url_of(name: str, db: str | None) -> str:
    """Build the URL of a campaign's store.

    Parameters
    ----------
    name : str
        Name of the campaign.
    db : str or None
        A file or a URL; None for the file ``NAME.activeeval`` in this folder.

    Raises
    ------
    InputError
        If ``db`` names a server without a URL scheme, or a database in memory.
    """
    from activeeval.campaigns.store import address_of, checked_name, file_url
    from activeeval.core.masked_addresses import masked

    if db is None:
        return file_url(f"{checked_name(name)}.activeeval")
    if not _URL.match(db) and _SECRET.search(db):
        raise InputError(f"{masked(db)}: a server is named as postgresql://USER@HOST/DATABASE")
    url = db if _URL.match(db) else file_url(db)
    if address_of(url).is_in_memory:
        raise InputError(f"{db}: a database in memory is lost when the command ends, expected the name of a file")
    return url


def place_of(name: str, db: str | None) -> str:
    """Build the address of a campaign's store as shown in messages, without its password.

    ``db`` is a file or a URL; None for the file ``NAME.activeeval`` in this folder.
    """
    from activeeval.core.masked_addresses import masked

    return masked(url_of(name, db))


def named_again(db: str | None) -> str:
    """Format the --db option for a printed command, without the password; empty if ``db`` is None."""
    from activeeval.core.masked_addresses import masked

    return f" --db {masked(db)}" if db else ""


@contextmanager
def opened(name: str, db: str | None, *, create: bool = False, wait_s: float = 30.0) -> Iterator[Store]:
    """Open a campaign's store and close it at the end of the ``with`` block.

    Parameters
    ----------
    name : str
        Name of the campaign.
    db : str or None
        A file or a URL; None for the file ``NAME.activeeval`` in this folder.
    create : bool
        True to create the store if it does not exist.
    wait_s : float
        Seconds to wait while another process writes.
    """
    from activeeval.campaigns.store import open_store

    with open_store(url_of(name, db), create=create, wait_s=wait_s) as store:
        yield store


def check_free(name: str, db: str | None) -> None:
    """Raise InputError if a campaign of this name exists in the store ``db``, or cannot be stored there.

    ``db`` is a file or a URL; None for the file ``NAME.activeeval`` in this folder.
    """
    from activeeval.campaigns.store import is_made

    if not is_made(url_of(name, db)):
        return
    with opened(name, db) as store:
        if name in store.campaigns():
            raise InputError(f"there is a campaign {name!r} already in {place_of(name, db)}")


def of_campaign(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the argument NAME (the campaign) and the option --db (its store) to a command."""
    return name_argument(db_option(command))


def judge_of(text: str) -> str:
    """Normalize a judge's name for storage: blanks and capitals do not distinguish judges.

    Raise UsageError if it is empty.
    """
    from activeeval.core.judgments.judge_names import judge_name

    name = judge_name(text)
    if not name:
        raise click.UsageError("--judge must be a name, got an empty one")
    return name
