"""Write files atomically: a file is replaced only when it is complete."""

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
from activeeval.formats.reading_rules import check_columns_met
from activeeval.formats.suffixes import READ_ONLY, PathLike

_STANDARD = {"/dev/stdout": 1, "/dev/stderr": 2}
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_LIVE: set[str] = set()
"""Temporary files that this process is writing now."""


class AtomicFiles:
    """Group of files that are replaced together: all are written and synced before the first is renamed.

    They are renamed in the order in which they were opened; if writing any of them fails, none is.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, AtomicFiles() as files:
    ...     for name in ("one", "two"):
    ...         with files.open(f"{folder}/{name}") as handle:
    ...             _ = handle.write(name)
    """

    def __init__(self) -> None:
        """Start without files; each entry will be (path as the caller gave it, temporary name, file to replace)."""
        self._pending: list[tuple[PathLike, str, str]] = []

    def __enter__(self) -> AtomicFiles:
        """Start the group."""
        return self

    @contextmanager
    def open(self, path: PathLike, binary: bool = False) -> Iterator[IO[Any]]:
        """Open a file for writing under a temporary name in the same folder.

        A name that ends in ``.gz`` is compressed. A symbolic link stays, and its target is written. An existing path
        that is not a regular file, such as ``/dev/stdout``, is written to directly. Temporary files of the same name
        that killed processes left behind are removed. The handle takes bytes if ``binary``, else UTF-8 text.

        Raises
        ------
        InputError
            ``path: cannot write: <reason>`` if the system refuses; if a column that the user named was in no table.
        """
        check_columns_met()
        target = os.path.realpath(path)
        special = _is_special(path, target)
        temporary = os.fspath(path) if special else _temporary(target)
        if not special:
            _remove_left_over(target)
            self._pending.append((path, temporary, target))
        with _naming_errors(path), _opened(temporary, special) as raw:
            with _encoded(raw, str(path), binary) as handle:
                yield handle
            raw.flush()
            if not special:
                os.fsync(raw.fileno())

    def __exit__(self, kind: type[BaseException] | None, *_problem: object) -> None:
        """Rename all files and sync their folders, unless an error occurred; remove temporary files."""
        try:
            finished = self._pending if kind is None else []
            for path, temporary, target in finished:
                with _naming_errors(path):
                    if os.path.islink(target):
                        raise OSError("the link leads to itself")
                    if os.path.exists(target):
                        shutil.copymode(target, temporary)
                    os.replace(temporary, target)
            for folder, path in {os.path.dirname(target): path for path, _, target in finished}.items():
                with _naming_errors(path):
                    _sync_folder(folder)
        finally:
            for _, temporary, _ in self._pending:
                with suppress(OSError):
                    os.unlink(temporary)
                _LIVE.discard(temporary)


@contextmanager
def write_atomically(path: PathLike, binary: bool = False) -> Iterator[IO[Any]]:
    """Open a file for writing that is replaced only when it is complete; see `AtomicFiles.open`."""
    with AtomicFiles() as files, files.open(path, binary) as handle:
        yield handle


def _temporary(target: str) -> str:
    """Build an unpredictable temporary name in a file's folder, as another user could put a link under a known one."""
    folder, name = os.path.split(target)
    temporary = os.path.join(folder, f".{name}.{os.getpid()}-{secrets.randbelow(10**15)}.tmp")
    _LIVE.add(temporary)
    return temporary


def _sync_folder(folder: str) -> None:
    """Sync a folder so that renamed files survive a loss of power, if the system supports it."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # for example a folder with write but no read permission
        return
    try:
        os.fsync(handle)
    except OSError as problem:
        if problem.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF):
            raise
    finally:
        os.close(handle)


def _remove_left_over(target: str) -> None:
    """Remove temporary files of a target that ended processes left behind."""
    folder, name = os.path.split(target)
    left = re.compile(rf"\.{re.escape(name)}\.(\d+)(-\d+)?\.tmp")
    with suppress(OSError):
        for left_over in filter(None, map(left.fullmatch, os.listdir(folder))):
            path = os.path.join(folder, left_over[0])
            if path not in _LIVE and not _is_alive(int(left_over[1])):
                os.unlink(path)


def _is_alive(process: int) -> bool:
    """Check whether a process other than this one is running."""
    if process == os.getpid():
        return False
    try:
        if os.name == "posix":  # on other systems this would end the process
            os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


@contextmanager
def _naming_errors(path: PathLike) -> Iterator[None]:
    """Convert an OSError to an InputError that names the file."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as problem:
        raise InputError(f"{os.fspath(path)}: cannot write: {problem.strerror or problem}") from None


def _opened(path: str, special: bool) -> IO[bytes]:
    # opened by name, a redirected standard output would be overwritten from its start
    """Open a file for writing: standard streams by duplicate descriptors, special files to append, others new."""
    if path in _STANDARD:
        return open(os.dup(_STANDARD[path]), "wb")
    if special:
        return open(path, "ab")
    return os.fdopen(os.open(path, _NEW, 0o666), "wb")


def _is_special(path: PathLike, target: str) -> bool:
    # /dev/stdout may be redirected to a regular file that receives other output too
    """Check whether a path is a device or another existing path that is not a regular file."""
    if os.path.abspath(path).startswith(("/dev/", "/proc/")):
        return True
    return os.path.exists(target) and not stat.S_ISREG(os.stat(target).st_mode) and not os.path.isdir(target)


@contextmanager
def _encoded(raw: IO[bytes], path: str, binary: bool) -> Iterator[IO[Any]]:
    """Wrap a binary handle for gzip compression and text as the path and `binary` require."""
    if path.lower().endswith(READ_ONLY):
        raise InputError(f"{path}: files are written plain or packed by gzip: expected a name without it, or with .gz")
    with ExitStack() as stack:
        stream: IO[Any] = raw
        if path.lower().endswith(".gz"):
            # mtime 0: the same table compresses to the same bytes at any time
            packed: Any = gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0)
            stream = stack.enter_context(packed)
        if binary:
            yield stream
        else:
            text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
            stack.callback(text.detach)
            yield text
