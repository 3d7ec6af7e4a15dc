"""Connections and transactions; all differences between SQLite and PostgreSQL are in this module.

On both, a commit returns after the data are on disk. SQLite uses ``synchronous=FULL``: ``NORMAL`` does not wait for the
log of a commit, so that a power failure could lose acknowledged judgments.

A SQLite file that is read-only in a read-only folder is treated as an archive: it is read without the files that SQLite
normally creates next to it.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event, exc, text
from sqlalchemy.engine import URL
from sqlalchemy.pool import NullPool, QueuePool, StaticPool

from activeeval.campaigns.store.address import address_of
from activeeval.campaigns.store.faults import ConnectionFaults, is_disconnect, refusal_of, was_rolled_back
from activeeval.core.errors import ActiveEvalError, InputError, StateError, shown

T = TypeVar("T")

_PAGE = 65_536  # the index of SQLite's log takes 32 kB at least
N_CONNECTIONS = 16
TRIES = 5
"""Attempts at a transaction that the database rolls back itself, as after a deadlock."""

_NOW = text("SELECT (extract(epoch FROM statement_timestamp()) * 1000000)::bigint")
_writers: dict[str, threading.RLock] = {}
_writers_guard = threading.Lock()


class Database:
    """Database of a store.

    Parameters
    ----------
    url : str
        URL as SQLAlchemy writes it.
    wait_s : float
        Seconds to wait for other writers.

    Attributes
    ----------
    place : str
        Name in messages, see `masked`.
    path : str or None
        The SQLite file; None for a database in memory or on a server.
    is_archive : bool
        True if it can only be read.
    is_new : bool
        True if `make_file` has created the file.
    """

    def __init__(self, url: str, wait_s: float) -> None:
        """Prepare connections to the database at ``url``; ``wait_s`` are seconds to wait for other writers."""
        self._address = address_of(url)
        self.place, self.path, self.is_sqlite = self._address.place, self._address.path, self._address.is_sqlite
        self.is_archive = self.path is not None and _is_archive(self.path)
        self.is_new = False
        self._wait_s = wait_s
        self._engine = self._sqlite() if self.is_sqlite else self._postgresql(self._address.url)
        # a driver also fails outside SQLAlchemy's wrappers, and on undecodable text of a damaged file
        self._errors = (exc.SQLAlchemyError, UnicodeDecodeError, self._engine.dialect.loaded_dbapi.Error)
        # an export must not see part of a concurrent write
        self._snapshots = self._engine.execution_options(isolation_level="REPEATABLE READ")
        self._writer = _writer_of(self.path)
        # device and inode of the SQLite file when first used
        self._file_id: tuple[int, int] | None = None

    def read(self, work: Callable[[Connection], T]) -> T:
        """Run ``work`` in one read transaction on a consistent snapshot; return its result."""
        engine = self._engine if self.is_sqlite else self._snapshots
        # a database in memory has a single connection
        lock = self._writer if self.is_sqlite and self.path is None else nullcontext()
        return self._transaction(engine, lock, work, is_repeatable=True)

    def write(self, work: Callable[[Connection], T], *, is_repeatable: bool = False) -> T:
        """Run ``work`` in one write transaction; return its result after the commit.

        Parameters
        ----------
        is_repeatable : bool
            True if running it twice has the same effect as once: it is then also retried if the connection breaks
            during the commit.
        """
        engine = self._engine.execution_options(writes=True)
        return self._transaction(engine, self._writer if self.is_sqlite else nullcontext(), work, is_repeatable)

    def make_file(self) -> None:
        """Create the SQLite file, readable for its owner only, if it does not exist.

        The files that SQLite creates next to it have the same permissions.
        """
        if self.path is not None:
            with suppress(OSError):  # SQLite reports the cause when it opens the file
                os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
                self.is_new = True

    def write_ahead(self) -> None:
        """Switch a SQLite file to WAL mode, so that it can be read while it is written; the file keeps the setting."""
        if self.path is None or self.is_archive:
            return
        until = time.monotonic() + self._wait_s
        while True:
            try:
                with self._writer, self._engine.connect() as connection:
                    # not within a transaction: SQLAlchemy would begin one
                    connection.connection.cursor().execute("PRAGMA journal_mode=WAL").close()
                return
            except self._errors as error:
                # SQLite's own timeout does not apply here
                if "locked" not in str(error) or time.monotonic() > until:
                    raise self._refusal(error) from error
                time.sleep(0.02)

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    def _transaction(self, engine: Engine, lock: Any, work: Callable[[Connection], T], is_repeatable: bool) -> T:
        """Run ``work`` in a transaction, at most `TRIES` times; return its result after the commit.

        It is retried if the database rolled it back, or if the connection broke and a second run does no harm.

        Parameters
        ----------
        engine : Engine
            With option ``writes`` for a write transaction.
        lock : context manager
            Held during each attempt.
        is_repeatable : bool
            True if running it twice has the same effect as once; else it is not retried after its commit has begun.

        Raises
        ------
        ActiveEvalError
            The translated error of the database, without secrets.
        """
        self._check_there()
        broken = ConnectionFaults(self.place, is_repeatable)  # failures of the connection in all attempts
        writes = engine.get_execution_options().get("writes", False)
        for attempt in range(TRIES):
            commit = _Commit()
            try:
                with lock:
                    return _once(engine, work, commit)
            except self._errors as error:
                if is_disconnect(error):
                    broken.note(error, in_commit=writes and commit.has_begun)
                is_safe = was_rolled_back(error) or (is_disconnect(error) and (is_repeatable or not commit.has_begun))
                if attempt == TRIES - 1 or not is_safe:
                    raise self._without_secrets(broken.unknown() or self._refusal(broken.cause_of(error))) from error
        raise AssertionError("the last try returns or raises")

    def _refusal(self, error: BaseException) -> ActiveEvalError:
        """Convert a database's error to one of activeeval's, with the cause if the disk is full or a folder read-only.

        SQLite needs a second file next to its own; its messages do not name these causes.
        """
        refusal = refusal_of(error, self.place, self._wait_s, is_sqlite=self.is_sqlite)
        if self.path is not None and "could not be read or written" in str(refusal) and _is_full(self.path):
            problem = "the disk is full, and SQLite needs a file next to it: nothing of this was stored"
            return StateError(f"{self.place}: {problem}")
        if self.path is None or self.is_archive or os.access(os.path.dirname(self.path), os.W_OK):
            return refusal
        if "may only be read" in str(refusal) or "cannot be opened" in str(refusal):
            return InputError(f"{self.place}: its folder is not writable, and SQLite needs a file next to it")
        return refusal

    def _without_secrets(self, error: ActiveEvalError) -> ActiveEvalError:
        """Copy an error with the address's secrets masked, marked as one that may pass when the request is repeated."""
        plain = type(error)(self._address.without_secrets(str(error)))
        plain.is_passing = True
        return plain

    def _check_there(self) -> None:
        """Raise StateError if the open SQLite file was moved, removed or replaced: anything written would be lost.

        SQLite itself continues with such a file.
        """
        if self.path is None or self.is_archive:
            return
        try:
            status = os.stat(self.path)
        except FileNotFoundError:
            if self._file_id is None:
                return  # it is being created, or the driver reports it
            status = None
        file_id = None if status is None else (status.st_dev, status.st_ino)
        if self._file_id is not None and file_id != self._file_id:
            error = StateError(f"{self.place}: the file was removed or replaced; nothing of this was stored")
            error.is_passing = True  # the request may succeed when it is repeated
            raise error
        self._file_id = file_id

    def _sqlite(self) -> Engine:
        """Create the engine for SQLite: one connection in memory, a pool for a file, new ones each time for an archive.

        An archive is a file that can only be read.
        """
        arguments = {"timeout": self._wait_s, "check_same_thread": False}
        pool: dict[str, Any] = {"poolclass": StaticPool}  # a database in memory exists in one connection only
        if self.path is not None:
            pool = {"poolclass": QueuePool, "pool_size": N_CONNECTIONS, "max_overflow": -1}
        if self.is_archive:
            # others may have write access: each transaction opens the file anew, so that it sees their writes
            pool = {"poolclass": NullPool, "creator": lambda: self._archive(arguments)}
        engine = create_engine(self._address.url, connect_args=arguments, **pool)
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine

    def _archive(self, arguments: dict[str, Any]) -> sqlite3.Connection:
        """Open a read-only SQLite file.

        Raises InputError if its last writes, which are in a second file, cannot be read.

        ``arguments`` are passed to `sqlite3.connect`.
        """
        path = str(self.path)
        has_log = _has_bytes(path + "-wal")
        # SQLite reads the log if its index (-shm) exists; with immutable=1 it would ignore the log
        unread = "-journal" if _has_bytes(path + "-journal") else "-wal" if has_log else ""
        if unread == "-journal" or (unread and not os.path.exists(path + "-shm")):
            last = os.path.basename(path) + unread
            raise InputError(
                f"{self.place}: its last writes are still in {shown(last)}, and cannot be read where neither may be "
                "written: copy both elsewhere"
            )
        options = "mode=ro" if has_log else "mode=ro&immutable=1"
        connection: sqlite3.Connection = sqlite3.connect(f"{Path(path).as_uri()}?{options}", uri=True, **arguments)
        return connection

    def _postgresql(self, url: URL) -> Engine:
        """Create the engine for PostgreSQL; raise InputError if psycopg is not installed."""
        if importlib.util.find_spec("psycopg") is None:
            raise InputError(f"{self.place}: PostgreSQL needs psycopg: pip install 'activeeval-ir[postgresql]'")
        # a database in SQL_ASCII stores raw bytes: make them UTF-8
        arguments: dict[str, Any] = {"client_encoding": "utf8"}
        arguments |= {} if "connect_timeout" in url.query else {"connect_timeout": 10}
        engine = create_engine(
            url,
            connect_args=arguments,
            isolation_level="READ COMMITTED",
            pool_size=N_CONNECTIONS,
            max_overflow=N_CONNECTIONS,
            pool_timeout=self._wait_s,
        )
        event.listen(engine, "connect", lambda connection, _: _prepare_postgresql(connection, self._wait_s))
        return engine


def clock_of(connection: Connection) -> int:
    """Read the clock shared by all writers of a database, in UTC microseconds.

    For PostgreSQL it is the server's clock, because clients' clocks may differ by more than a lease; for SQLite it is
    this machine's.
    """
    return time.time_ns() // 1000 if connection.dialect.name == "sqlite" else int(connection.execute(_NOW).scalar_one())


class _Commit:
    """Flag whether the commit of a transaction had begun when it failed."""

    has_begun = False


def _once(engine: Engine, work: Callable[[Connection], T], commit: _Commit) -> T:
    """Run ``work`` once in a transaction and commit it; set ``commit.has_begun`` before the commit."""
    with engine.connect() as connection:
        try:
            with connection.begin() as transaction:
                value = work(connection)
                commit.has_begun = True
                transaction.commit()
                return value
        except exc.DBAPIError:
            # the state of a connection after a failed write is unknown: discard it
            if not isinstance(connection.engine.pool, StaticPool):
                connection.invalidate()
            raise


def _is_archive(path: str) -> bool:
    """Check whether a file exists and neither it nor its folder is writable; for root only on read-only media."""
    return os.path.isfile(path) and not any(os.access(p, os.W_OK) for p in (path, os.path.dirname(path)))


def _is_full(path: str) -> bool:
    """Check whether the disk has less free space than SQLite needs for its log."""
    return shutil.disk_usage(os.path.dirname(path)).free < _PAGE


def _has_bytes(path: str) -> bool:
    """Check whether a file exists and is not empty."""
    return os.path.exists(path) and os.path.getsize(path) > 0


def _writer_of(path: str | None) -> threading.RLock:
    """Return the lock shared by all writers of a SQLite file in this process; a new one without a file (None)."""
    if path is None:
        return threading.RLock()
    with _writers_guard:
        return _writers.setdefault(path, threading.RLock())


def _prepare_sqlite(connection: sqlite3.Connection, _: object) -> None:
    """Configure a new SQLite connection: foreign keys are checked, and a commit waits for the disk."""
    connection.isolation_level = None  # only the explicit BEGIN of `_begin_sqlite`, none by the driver
    for pragma in ("foreign_keys=ON", "synchronous=FULL"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    """Begin a transaction; writers take the lock immediately."""
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _prepare_postgresql(connection: Any, wait_s: float) -> None:
    """Configure a new PostgreSQL connection: durable commits, and waits for locks of at most ``wait_s`` seconds."""
    # a server may be configured not to wait for its disk; stricter settings are kept
    connection.execute(
        "SELECT set_config('lock_timeout', %s, false),"
        " set_config('synchronous_commit', replace(current_setting('synchronous_commit'), 'off', 'on'), false)",
        (f"{max(1, round(wait_s * 1000))}ms",),
    )
    connection.commit()
