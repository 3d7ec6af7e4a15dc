"""Connections and transactions: where SQLite and PostgreSQL differ, they differ in here.

A commit returns after the data are on the disk, on both: SQLite with ``synchronous=FULL``, as ``NORMAL`` does not
wait for the log of a commit and a power cut would take acknowledged judgments back.

A file of SQLite that nobody can write, nor its folder, is an archive: it is read without the files that SQLite else
keeps beside it.
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
"""Of a transaction that the database itself gave up, as after a deadlock."""

_NOW = text("SELECT (extract(epoch FROM statement_timestamp()) * 1000000)::bigint")
_writers: dict[str, threading.RLock] = {}
_writers_guard = threading.Lock()


class Database:
    """A database that a store is in.

    Parameters
    ----------
    url : str
        As SQLAlchemy writes it.
    wait_s : float
        How long to wait while others write.

    Attributes
    ----------
    place : str
        How messages name it, see `masked`.
    path : str or None
        The file of SQLite; None in memory and elsewhere.
    is_archive : bool
        It can only be read.
    is_new : bool
        The file was made by `make_file`.
    """

    def __init__(self, url: str, wait_s: float) -> None:
        self._address = address_of(url)
        self.place, self.path, self.is_sqlite = self._address.place, self._address.path, self._address.is_sqlite
        self.is_archive = self.path is not None and _is_archive(self.path)
        self.is_new = False
        self._wait_s = wait_s
        self._engine = self._sqlite() if self.is_sqlite else self._postgresql(self._address.url)
        # a driver also fails where SQLAlchemy does not stand around it, and over letters of a damaged file
        self._errors = (exc.SQLAlchemyError, UnicodeDecodeError, self._engine.dialect.loaded_dbapi.Error)
        # an export must not see half of what is written meanwhile
        self._snapshots = self._engine.execution_options(isolation_level="REPEATABLE READ")
        self._writer = _writer_of(self.path)
        self._lies_at: tuple[int, int] | None = None

    def read(self, work: Callable[[Connection], T]) -> T:
        """Return what ``work`` finds in one snapshot."""
        engine = self._engine if self.is_sqlite else self._snapshots
        # a database in memory has a single connection
        lock = self._writer if self.is_sqlite and self.path is None else nullcontext()
        return self._transaction(engine, lock, work, is_repeatable=True)

    def write(self, work: Callable[[Connection], T], *, is_repeatable: bool = False) -> T:
        """Do ``work`` in one transaction and return its value after the commit.

        Parameters
        ----------
        is_repeatable : bool
            Doing it twice is as good as once: it is tried again also where the connection broke during the commit.
        """
        engine = self._engine.execution_options(writes=True)
        return self._transaction(engine, self._writer if self.is_sqlite else nullcontext(), work, is_repeatable)

    def make_file(self) -> None:
        """Make the file of SQLite, where there is none, for its owner alone; what SQLite keeps beside it is like it."""
        if self.path is not None:
            with suppress(OSError):  # what stands in the way SQLite says itself
                os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
                self.is_new = True

    def write_ahead(self) -> None:
        """Let a file of SQLite be read while it is written; the file remembers."""
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
                # SQLite itself does not wait here while somebody else has the file open
                if "locked" not in str(error) or time.monotonic() > until:
                    raise self._refusal(error) from error
                time.sleep(0.02)

    def close(self) -> None:
        self._engine.dispose()

    def _transaction(self, engine: Engine, lock: Any, work: Callable[[Connection], T], is_repeatable: bool) -> T:
        self._check_there()
        broken = ConnectionFaults(self.place, is_repeatable)
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
        refusal = refusal_of(error, self.place, self._wait_s, is_sqlite=self.is_sqlite)
        if self.path is not None and "could not be read or written" in str(refusal) and _is_full(self.path):
            says = "the disk is full, and SQLite keeps a file beside it: nothing of this was stored"
            return StateError(f"{self.place}: {says}")
        if self.path is None or self.is_archive or os.access(os.path.dirname(self.path), os.W_OK):
            return refusal
        if "may only be read" in str(refusal) or "cannot be opened" in str(refusal):
            return InputError(f"{self.place}: its folder may not be written, and SQLite keeps a file beside it")
        return refusal

    def _without_secrets(self, error: ActiveEvalError) -> ActiveEvalError:
        plain = type(error)(self._address.without_secrets(str(error)))
        plain.is_passing = True
        return plain

    def _check_there(self) -> None:
        """Raise StateError where the file that is open is not the one that lies there: what it takes would be lost.

        SQLite itself goes on with a file that somebody has moved or removed.
        """
        if self.path is None or self.is_archive:
            return
        try:
            lies = os.stat(self.path)
        except FileNotFoundError:
            if self._lies_at is None:
                return  # it is being made, or the driver says it
            lies = None
        there = None if lies is None else (lies.st_dev, lies.st_ino)
        if self._lies_at is not None and there != self._lies_at:
            error = StateError(f"{self.place}: the file is gone or is another one; nothing of this was stored")
            error.is_passing = True
            raise error
        self._lies_at = there

    def _sqlite(self) -> Engine:
        arguments = {"timeout": self._wait_s, "check_same_thread": False}
        sizes: dict[str, Any] = {"poolclass": StaticPool}
        if self.path is not None:
            sizes = {"poolclass": QueuePool, "pool_size": N_CONNECTIONS, "max_overflow": -1}
        if self.is_archive:
            # others may have rights that this user has not: each transaction looks anew for what they write
            sizes = {"poolclass": NullPool, "creator": lambda: self._archive(arguments)}
        engine = create_engine(self._address.url, connect_args=arguments, **sizes)
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine

    def _archive(self, arguments: dict[str, Any]) -> sqlite3.Connection:
        path = str(self.path)
        has_log = _has_bytes(path + "-wal")
        # with the index of its log beside it SQLite reads both; immutable it would not look at the log at all
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
        if importlib.util.find_spec("psycopg") is None:
            raise InputError(f"{self.place}: PostgreSQL needs psycopg: pip install 'activeeval-ir[postgresql]'")
        # a database in SQL_ASCII keeps bytes as they come: they are to come and go as UTF-8
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
    """Return the time in microseconds by the clock that all who write to a database share.

    That is the server's, as the machines of its clients may differ by more than a lease; of a file the machine's.
    """
    return time.time_ns() // 1000 if connection.dialect.name == "sqlite" else int(connection.execute(_NOW).scalar_one())


class _Commit:
    """Whether the commit of a transaction had begun when it broke."""

    has_begun = False


def _once(engine: Engine, work: Callable[[Connection], T], commit: _Commit) -> T:
    with engine.connect() as connection:
        try:
            with connection.begin() as transaction:
                value = work(connection)
                commit.has_begun = True
                transaction.commit()
                return value
        except exc.DBAPIError:
            # what a connection is worth after a failed write nobody knows: the next one starts afresh
            if not isinstance(connection.engine.pool, StaticPool):
                connection.invalidate()
            raise


def _is_archive(path: str) -> bool:
    """Whether a file is there and neither it nor its folder can be written; root can write all but a medium."""
    return os.path.isfile(path) and not any(os.access(p, os.W_OK) for p in (path, os.path.dirname(path)))


def _is_full(path: str) -> bool:
    return shutil.disk_usage(os.path.dirname(path)).free < _PAGE


def _has_bytes(path: str) -> bool:
    return os.path.exists(path) and os.path.getsize(path) > 0


def _writer_of(path: str | None) -> threading.RLock:
    if path is None:
        return threading.RLock()
    with _writers_guard:
        return _writers.setdefault(path, threading.RLock())


def _prepare_sqlite(connection: sqlite3.Connection, _: object) -> None:
    connection.isolation_level = None  # SQLAlchemy's own BEGIN, as below, and nobody else's
    for pragma in ("foreign_keys=ON", "synchronous=FULL"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _prepare_postgresql(connection: Any, wait_s: float) -> None:
    # a server may be set not to wait for its disk; whoever set it to wait for more keeps that
    connection.execute(
        "SELECT set_config('lock_timeout', %s, false),"
        " set_config('synchronous_commit', replace(current_setting('synchronous_commit'), 'off', 'on'), false)",
        (f"{max(1, round(wait_s * 1000))}ms",),
    )
    connection.commit()
