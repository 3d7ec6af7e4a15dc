"""Files as they go: whole under their names, or none."""

from __future__ import annotations

import errno
import gzip
import io
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import IO, Any

from activeeval.core.errors import InputError
from activeeval.formats.suffixes import PathLike

_STANDARD = {"/dev/stdout": 1, "/dev/stderr": 2}
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_LIVE: set[str] = set()
"""Temporary names that this process writes under now."""


class AtomicFiles:
    """Files that take their names together: each is written whole and synced before the first one does.

    They take them in the order in which they were opened, and none does where writing any of them fails.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, AtomicFiles() as files:
    ...     for name in ("one", "two"):
    ...         with files.open(f"{folder}/{name}") as handle:
    ...             _ = handle.write(name)
    """

    def __init__(self) -> None:
        self._pending: list[tuple[PathLike, str, str]] = []

    def __enter__(self) -> AtomicFiles:
        return self

    @contextmanager
    def open(self, path: PathLike, binary: bool = False) -> Iterator[IO[Any]]:
        """Open a file for writing under a temporary name in the same folder.

        A name that ends in ``.gz`` is packed. A link stays, and what it leads to is written. What is there and no
        regular file, as ``/dev/stdout``, is written to directly. What a killed process left of the same name goes.

        Raises
        ------
        InputError
            ``path: cannot write: <reason>`` where the system refuses.
        """
        target = os.path.realpath(path)
        special = _is_special(path, target)
        temporary = os.fspath(path) if special else _temporary(target)
        if not special:
            _remove_left_over(target)
            self._pending.append((path, temporary, target))
        with _telling(path), _opened(temporary, special) as raw:
            with _encoded(raw, str(path), binary) as handle:
                yield handle
            raw.flush()
            if not special:
                os.fsync(raw.fileno())

    def __exit__(self, kind: type[BaseException] | None, *_problem: object) -> None:
        try:
            named = self._pending if kind is None else []
            for path, temporary, target in named:
                with _telling(path):
                    if os.path.islink(target):
                        raise OSError("the link leads to itself")
                    if os.path.exists(target):
                        shutil.copymode(target, temporary)
                    os.replace(temporary, target)
            for folder, path in {os.path.dirname(target): path for path, _, target in named}.items():
                with _telling(path):
                    _sync_folder(folder)
        finally:
            for _, temporary, _ in self._pending:
                with suppress(OSError):
                    os.unlink(temporary)
                _LIVE.discard(temporary)


@contextmanager
def write_atomically(path: PathLike, binary: bool = False) -> Iterator[IO[Any]]:
    """Open a file for writing that appears under its name only when all of it is written; see `AtomicFiles.open`."""
    with AtomicFiles() as files, files.open(path, binary) as handle:
        yield handle


def _temporary(target: str) -> str:
    """Return a name beside a file that nobody can foresee: another user may have put a link there."""
    folder, name = os.path.split(target)
    temporary = os.path.join(folder, f".{name}.{os.getpid()}-{secrets.randbelow(10**15)}.tmp")
    _LIVE.add(temporary)
    return temporary


def _sync_folder(folder: str) -> None:
    """Have the new names of a folder last through a loss of power, where the system can."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # as of a folder that may be written and not read
        return
    try:
        os.fsync(handle)
    except OSError as problem:
        if problem.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF):
            raise
    finally:
        os.close(handle)


def _remove_left_over(target: str) -> None:
    """Remove what processes that are no more left behind when they wrote a file."""
    folder, name = os.path.split(target)
    left = re.compile(rf"\.{re.escape(name)}\.(\d+)(-\d+)?\.tmp")
    with suppress(OSError):
        for left_over in filter(None, map(left.fullmatch, os.listdir(folder))):
            path = os.path.join(folder, left_over[0])
            if path not in _LIVE and not _is_alive(int(left_over[1])):
                os.unlink(path)


def _is_alive(process: int) -> bool:
    """Return whether a process other than this one runs: what this one writes is known."""
    if process == os.getpid():
        return False
    try:
        if os.name == "posix":  # elsewhere it would end the process
            os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


@contextmanager
def _telling(path: PathLike) -> Iterator[None]:
    """Turn what the system refuses into one line that names the file."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as problem:
        raise InputError(f"{os.fspath(path)}: cannot write: {problem.strerror or problem}") from None


def _opened(path: str, special: bool) -> IO[bytes]:
    # opened by name, a redirected standard output would be written from its start again
    if path in _STANDARD:
        return open(os.dup(_STANDARD[path]), "wb")
    if special:
        return open(path, "ab")
    return os.fdopen(os.open(path, _NEW, 0o666), "wb")


def _is_special(path: PathLike, target: str) -> bool:
    # /dev/stdout may lead to a regular file, which other output goes to as well
    if os.path.abspath(path).startswith(("/dev/", "/proc/")):
        return True
    return os.path.exists(target) and not stat.S_ISREG(os.stat(target).st_mode) and not os.path.isdir(target)


@contextmanager
def _encoded(raw: IO[bytes], path: str, binary: bool) -> Iterator[IO[Any]]:
    with ExitStack() as stack:
        stream: IO[Any] = raw
        if path.lower().endswith(".gz"):
            # mtime 0: the same table packs to the same bytes on every day
            packed: Any = gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0)
            stream = stack.enter_context(packed)
        if binary:
            yield stream
        else:
            text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
            stack.callback(text.detach)
            yield text
