"""Create the tables of a store, and check that a database has those of this release."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path

from sqlalchemy import Connection, inspect, select, text

from activeeval.campaigns.store.database import Database
from activeeval.campaigns.store.tables import campaign, metadata
from activeeval.core.errors import ActiveEvalError, InputError, shown

VERSION = "0001_c52dcbf8"
"""Version of the schema: the revision of its migration, and a digest of its statements (checked by test_schema).

Until the first release there is one revision, which is rewritten in place; the digest distinguishes its states.
"""
VERSION_TABLE = "activeeval_schema"

_MIGRATIONS = Path(__file__).parent / "migrations"
_LOCK = 4_871_963_205  # arbitrary id of a PostgreSQL advisory lock: only one process may create the tables
_migrating = threading.Lock()  # alembic keeps its state in a module


def check_schema(database: Database) -> None:
    """Raise InputError if a database does not exist or has another version of the tables."""
    _check_file(database)
    version = database.read(_stored_version)
    if version is None:
        raise InputError(f"{database.place}: it contains no campaigns")
    _check_version(database, version)


def is_made(database: Database) -> bool:
    """Check whether the tables of a store exist in a database.

    Raises InputError if a SQLite file's folder is missing, or the file or folder is not valid or not writable.
    """
    _check_folder(database)
    if database.path is not None:
        is_there = _is_there(database)
        if not os.access(database.path if is_there else os.path.dirname(database.path), os.W_OK):
            raise InputError(f"{database.place}: it is not writable")
        if not is_there:
            return False
    return database.read(_stored_version) is not None


def make_tables(database: Database) -> None:
    """Create the tables if they do not exist; raise InputError if those of another version exist."""
    _check_folder(database)
    if _is_there(database):
        version = database.read(_stored_version)
        if version is not None:
            _check_version(database, version)
            database.write_ahead()  # the process that created the tables may have ended before this step
            return
    database.make_file()
    try:
        with _migrating:
            database.write(lambda connection: _run(connection, database))
    except BaseException:
        withdraw(database)
        raise
    database.write_ahead()


def withdraw(database: Database) -> None:
    """Remove a SQLite file that this process has created in vain.

    Keep it if it holds a campaign, even of another process.
    """

    def work(connection: Connection) -> None:
        """Delete the file and those that SQLite has put next to it, if it has no campaign."""
        has_tables = inspect(connection).has_table(campaign.name)
        if not has_tables or connection.execute(select(campaign.c.id).limit(1)).first() is None:
            for suffix in ("-wal", "-shm", ""):
                Path(f"{database.path}{suffix}").unlink(missing_ok=True)

    if database.is_new:
        with suppress(ActiveEvalError, OSError):
            database.write(work)


def _is_there(database: Database) -> bool:
    """Check whether a SQLite file exists; True for a database in memory or on a server."""
    return not database.is_sqlite or database.path is None or os.path.exists(database.path)


def _check_file(database: Database) -> None:
    """Raise InputError if a SQLite file is missing, a folder, or truncated."""
    if not _is_there(database):
        raise InputError(f"{database.place}: there is no such file; campaign create or watch init makes it")
    if database.path is not None and os.path.isdir(database.path):
        raise InputError(f"{database.place}: is a folder, not a file")
    if database.path is not None and _is_cut_short(database.path):
        raise InputError(f"{database.place}: was cut short; take a backup, or what can be read of it")


def _is_cut_short(path: str) -> bool:
    """Check whether a SQLite file that is not being written has fewer pages than its header states.

    SQLite itself reads the missing rest of the last page as zeros. In SQLite's file format the header has the page size
    in bytes 16 and 17 (1 means 65,536), the number of pages in 28 to 31, and two change counters in 24 to 27 and 92 to
    95: the number of pages is valid only if these are equal.
    """
    log = path + "-wal"
    if os.path.exists(log) and os.path.getsize(log):  # pages may still be in the log
        return False
    with suppress(OSError), open(path, "rb") as file:
        header = file.read(100)
        page_size, n_pages = int.from_bytes(header[16:18], "big"), int.from_bytes(header[28:32], "big")
        is_counted = header.startswith(b"SQLite format 3\0") and header[24:28] == header[92:96]
        return is_counted and os.path.getsize(path) < n_pages * (65536 if page_size == 1 else page_size)
    return False


def _check_folder(database: Database) -> None:
    """Raise InputError if the folder of a SQLite file is missing, or the file exists and is not valid."""
    if database.path is not None and not os.path.isdir(os.path.dirname(database.path)):
        raise InputError(f"{database.place}: there is no folder {os.path.dirname(database.path)!r}")
    if _is_there(database):
        _check_file(database)


def _stored_version(connection: Connection) -> str | None:
    """Read the version of the stored tables; None if there are no tables."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    return connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()


def _check_version(database: Database, version: str) -> None:
    """Raise InputError if the tables are of another version of activeeval."""
    if version != VERSION:
        theirs = f"was made by another version of activeeval (schema {shown(version)}, this one has {VERSION})"
        raise InputError(f"{database.place}: {theirs}; open it with that version, or create the campaign anew")


def _run(connection: Connection, database: Database) -> None:
    """Create the tables unless another process has; raise InputError if the database has foreign tables."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    version = _stored_version(connection)  # another process may have been here meanwhile
    if version is not None:
        _check_version(database, version)
        return
    # a SQLite file must be empty; on a server only tables of the same names are in the way
    others = set(inspect(connection).get_table_names())
    if others if database.is_sqlite else others & set(metadata.tables):
        raise InputError(f"{database.place}: contains tables of another program")
    _migrate(connection)


def _migrate(connection: Connection) -> None:
    """Run the migrations of this release."""
    # imported only here, so that claiming an item does not wait for the import of alembic
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    command.upgrade(config, VERSION)
