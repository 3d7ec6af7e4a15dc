"""Open or create the store of a database."""

from __future__ import annotations

from activeeval.campaigns.store import schema
from activeeval.campaigns.store.database import Database
from activeeval.campaigns.store.past_answers import Clock
from activeeval.campaigns.store.store import Store


def open_store(url: str, *, create: bool = False, clock: Clock | None = None, wait_s: float = 30.0) -> Store:
    """Open the store of campaigns in a database.

    Parameters
    ----------
    url : str
        As SQLAlchemy writes it: ``sqlite:///night.activeeval``, without options (`file_url` escapes any file name),
        ``postgresql://ann@db.example/campaigns``.
    create : bool
        Create the tables if they do not exist.
    clock : callable, optional
        Returns the time in microseconds; all times in the store come from it. By default the clock of the PostgreSQL
        server, or of this machine for SQLite.
    wait_s : float
        Seconds to wait while another process writes.

    Raises
    ------
    InputError
        If the database does not exist (unless ``create``), has another version of the tables, cannot be reached, or is
        not a database.

    Examples
    --------
    >>> with open_store("sqlite://", create=True) as store:
    ...     store.campaigns()
    []
    """
    database = Database(url, wait_s)
    try:
        schema.make_tables(database) if create else schema.check_schema(database)
    except BaseException:
        database.close()
        raise
    return Store(database, clock)


def is_made(url: str, *, wait_s: float = 30.0) -> bool:
    """Check whether the database at a URL has a store of campaigns; wait ``wait_s`` seconds while a process writes.

    Raises
    ------
    InputError
        If it has none and none can be created there.
    """
    database = Database(url, wait_s)
    try:
        return schema.is_made(database)
    finally:
        database.close()
