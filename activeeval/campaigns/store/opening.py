"""The store of a database, opened or made."""

from __future__ import annotations

from activeeval.campaigns.store import schema
from activeeval.campaigns.store.database import Database
from activeeval.campaigns.store.past_answers import Clock
from activeeval.campaigns.store.store import Store


def open_store(url: str, *, create: bool = False, clock: Clock | None = None, wait_s: float = 30.0) -> Store:
    """Open the store of a database.

    Parameters
    ----------
    url : str
        As SQLAlchemy writes it: ``sqlite:///night.activeeval``, without options (`file_url` writes that of any file),
        ``postgresql://ann@db.example/campaigns``.
    create : bool
        Make the tables where there are none.
    clock : callable, optional
        Returns the time in microseconds; every time in the store comes from here. By default the clock of the
        PostgreSQL server, or of the machine that has the file.
    wait_s : float
        How long to wait while another process writes.

    Raises
    ------
    InputError
        Where there is no such database, where it is of another version, or no database at all.

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
    """Return whether a database has a store.

    Raises
    ------
    InputError
        Where it has none and none can be made there.
    """
    database = Database(url, wait_s)
    try:
        return schema.is_made(database)
    finally:
        database.close()
