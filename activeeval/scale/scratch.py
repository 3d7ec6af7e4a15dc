"""Scratch storage for the tables between passes over a pool."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from activeeval.core.errors import InputError
from activeeval.scale import partition_files


class Scratch(Protocol):
    """File storage that all workers can access; picklable."""

    def write(self, name: str, content: bytes) -> None:
        """Write a file by name atomically, as several workers may write the same; raise InputError if that fails."""

    def read(self, name: str, begin: int = 0, end: int | None = None) -> bytes:
        """Read a file, or its bytes from `begin` to before `end` (None: the rest); raise InputError if that fails."""


@dataclass(frozen=True, slots=True)
class Folder:
    """Local folder, or one mounted on all workers.

    Attributes
    ----------
    path : str
    """

    path: str

    def write(self, name: str, content: bytes) -> None:
        """Write a file atomically; concurrent writers write the same content. InputError is raised if that fails."""
        try:
            handle, temporary = tempfile.mkstemp(dir=self.path)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(content)
                os.replace(temporary, Path(self.path, name))
            except BaseException:
                os.unlink(temporary)
                raise
        except OSError as problem:
            reason = problem.strerror or type(problem).__name__
            raise InputError(f"{self.path}: a worker cannot write there: {reason}", field="scratch") from None

    def read(self, name: str, begin: int = 0, end: int | None = None) -> bytes:
        """Read a file, or its bytes from `begin` to before `end`; raise InputError if that fails."""
        try:
            with open(Path(self.path, name), "rb") as file:
                file.seek(begin)
                return file.read() if end is None else file.read(end - begin)
        except OSError as problem:
            reason = problem.strerror or type(problem).__name__
            text = f"{self.path}: the file of another worker cannot be read: {reason}"
            raise InputError(text, field="scratch") from None


@dataclass(frozen=True, slots=True)
class RemoteFolder:
    """Remote folder, as ``s3://bucket/scratch``.

    Attributes
    ----------
    address : str
    """

    address: str

    def write(self, name: str, content: bytes) -> None:
        """Write a file; object stores write atomically. InputError is raised if that fails."""
        with _io_errors(self.address), partition_files.output(self.address, name) as file:
            file.write(content)

    def read(self, name: str, begin: int = 0, end: int | None = None) -> bytes:
        """Read a file, or its bytes from `begin` to before `end`; raise InputError if that fails."""
        with _io_errors(self.address), partition_files.input_of(self.address, name) as file:
            file.seek(begin)
            return bytes(file.read() if end is None else file.read(end - begin))


@contextmanager
def scratch_of(place: str | None) -> Iterator[Scratch | None]:
    """Create a temporary folder within a path or address, and delete it after the block.

    Yield None if `place` is None.
    """
    if place is None:
        yield None
    elif "://" in place:
        within = partition_files.within(place, f"activeeval-{secrets.token_hex(8)}")
        try:
            yield RemoteFolder(within)
        finally:
            partition_files.remove(within)
    else:
        folder = TemporaryFolder(place)
        try:
            yield folder.folder
        finally:
            folder.close()


@contextmanager
def _io_errors(address: str) -> Iterator[None]:
    """Raise I/O errors of a remote folder as InputError."""
    try:
        yield
    except OSError as problem:
        reason = (problem.strerror or str(problem) or type(problem).__name__).splitlines()[0]
        raise InputError(f"{address}: a worker cannot write or read there: {reason}", field="scratch") from None


class TemporaryFolder:
    """New folder that is deleted when this object is garbage-collected.

    Parameters
    ----------
    within : str, optional
        Parent folder; by default the system's folder for temporary files.
    """

    def __init__(self, within: str | None = None) -> None:
        """Create the folder in the folder ``within`` (None: that of temporary files), or raise InputError.

        `close` deletes it, at the latest when this object is garbage-collected.
        """
        try:
            self.folder = Folder(tempfile.mkdtemp(prefix="activeeval-", dir=within))
        except OSError as problem:
            where = within or tempfile.gettempdir()
            raise InputError(f"{where}: cannot write there: {problem.strerror}", field="scratch") from None
        self.close = weakref.finalize(self, shutil.rmtree, self.folder.path, ignore_errors=True)
