"""Which version of the tables a database has, and how it gets this release's."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path

from sqlalchemy import Connection, inspect, select, text

from activeeval.errors import ActiveEvalError, InputError
from activeeval.store.database import Database
from activeeval.store.tables import campaign, metadata

VERSIONS = ("0001", "0002")
"""Of the schema, oldest first; the last is this release's. They are the revisions of the migrations."""
VERSION_TABLE = "activeeval_schema"

_MIGRATIONS = Path(__file__).parent / "migrations"
_LOCK = 4_871_963_205  # of PostgreSQL, arbitrary: two processes must not make the same tables
_migrating = threading.Lock()  # alembic keeps what it is doing in its module


def check_schema(database: Database) -> None:
    """Raise InputError where a database is not there or has another version of the tables."""
    _check_file(database)
    found = database.read(_found)
    if found is None:
        raise InputError(f"{database.place}: no campaigns are kept there")
    if _known(database, found) != VERSIONS[-1]:
        raise InputError(f"{database.place}: was written by an older release; activeeval campaign upgrade brings it up")


def is_made(database: Database) -> bool:
    """Return whether there are tables; InputError where there are none and none can be made."""
    _check_folder(database)
    if database.path is not None:
        is_there = _is_there(database)
        if not os.access(database.path if is_there else os.path.dirname(database.path), os.W_OK):
            raise InputError(f"{database.place}: nothing can be written there")
        if not is_there:
            return False
    return database.read(_found) is not None


def migrate(database: Database, *, create: bool) -> None:
    """Bring the tables of a database to this release's version.

    Parameters
    ----------
    create : bool
        Make them where there are none.
    """
    _check_folder(database) if create else _check_file(database)
    if _is_there(database):
        found = database.read(_found)
        if found is not None and _known(database, found) == VERSIONS[-1]:
            database.write_ahead()  # whoever made the tables may have ended before he came to that
            return
        if found is None and not create:
            raise InputError(f"{database.place}: no campaigns are kept there")
    database.make_file()
    try:
        with _migrating:
            database.write(lambda connection: _run(connection, database))
    except BaseException:
        withdraw(database)
        raise
    database.write_ahead()


def withdraw(database: Database) -> None:
    """Remove a file that this process has made in vain; one with a campaign, be it another's, stays."""

    def work(connection: Connection) -> None:
        has_tables = inspect(connection).has_table(campaign.name)
        if not has_tables or connection.execute(select(campaign.c.id).limit(1)).first() is None:
            for suffix in ("-wal", "-shm", ""):
                Path(f"{database.path}{suffix}").unlink(missing_ok=True)

    if database.is_new:
        with suppress(ActiveEvalError, OSError):
            database.write(work)


def _is_there(database: Database) -> bool:
    return not database.is_sqlite or database.path is None or os.path.exists(database.path)


def _check_file(database: Database) -> None:
    if not _is_there(database):
        raise InputError(f"{database.place}: there is no such file; campaign create makes it")
    if database.path is not None and os.path.isdir(database.path):
        raise InputError(f"{database.place}: is a folder, not a file")
    if database.path is not None and _is_cut_short(database.path):
        raise InputError(f"{database.place}: was cut short; take a backup, or what can be read of it")


def _is_cut_short(path: str) -> bool:
    """Whether a file of SQLite that nobody writes to has fewer pages than its header says.

    SQLite itself takes what is missing of the last page for zeros.
    """
    log = path + "-wal"
    if os.path.exists(log) and os.path.getsize(log):  # pages may be on their way from there
        return False
    with suppress(OSError), open(path, "rb") as file:
        header = file.read(100)
        page_size, n_pages = int.from_bytes(header[16:18], "big"), int.from_bytes(header[28:32], "big")
        is_counted = header.startswith(b"SQLite format 3\0") and header[24:28] == header[92:96]
        return is_counted and os.path.getsize(path) < n_pages * (65536 if page_size == 1 else page_size)
    return False


def _check_folder(database: Database) -> None:
    if database.path is not None and not os.path.isdir(os.path.dirname(database.path)):
        raise InputError(f"{database.place}: there is no folder {os.path.dirname(database.path)!r}")
    if _is_there(database):
        _check_file(database)


def _found(connection: Connection) -> str | None:
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    return connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()


def _known(database: Database, found: str) -> str:
    if found not in VERSIONS:
        raise InputError(f"{database.place}: was written by a newer release of activeeval (schema {found})")
    return found


def _run(connection: Connection, database: Database) -> None:
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    found = _found(connection)  # another process may have been here meanwhile
    others = set(inspect(connection).get_table_names())
    if found is None and (others if database.is_sqlite else others & set(metadata.tables)):
        raise InputError(f"{database.place}: holds tables of something else")
    if found is None or _known(database, found) != VERSIONS[-1]:
        _upgrade(connection)


def _upgrade(connection: Connection) -> None:
    # alembic is wanted here alone: whoever claims an item must not wait for its import
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    command.upgrade(config, VERSIONS[-1])
