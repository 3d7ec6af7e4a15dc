"""Where the first pass leaves tables for the second."""

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
    """A place for files that all workers reach; it can be pickled."""

    def write(self, name: str, content: bytes) -> None:
        """Put a file there, whole or not at all."""

    def read(self, name: str, begin: int = 0, end: int | None = None) -> bytes:
        """Return a file's bytes, or those from one place to another."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of this machine, or one that all workers have mounted.

    Attributes
    ----------
    path : str
    """

    path: str

    def write(self, name: str, content: bytes) -> None:
        """Put a file there, whole or not at all: whoever else writes it writes the same."""
        try:
            handle, made = tempfile.mkstemp(dir=self.path)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(content)
                os.replace(made, Path(self.path, name))
            except BaseException:
                os.unlink(made)
                raise
        except OSError as problem:
            reason = problem.strerror or type(problem).__name__
            raise InputError(f"{self.path}: a worker cannot write there: {reason}", field="scratch") from None

    def read(self, name: str, begin: int = 0, end: int | None = None) -> bytes:
        """Return a file's bytes, or those from one place to another."""
        try:
            with open(Path(self.path, name), "rb") as file:
                file.seek(begin)
                return file.read() if end is None else file.read(end - begin)
        except OSError as problem:
            reason = problem.strerror or type(problem).__name__
            text = f"{self.path}: what another worker has left there cannot be read: {reason}"
            raise InputError(text, field="scratch") from None


@dataclass(frozen=True, slots=True)
class RemoteFolder:
    """A folder behind an address, as ``s3://bucket/scratch``.

    Attributes
    ----------
    address : str
    """

    address: str

    def write(self, name: str, content: bytes) -> None:
        """Put a file there: object stores put all of one or nothing."""
        with _told_of(self.address), partition_files.output(self.address, name) as file:
            file.write(content)

    def read(self, name: str, begin: int = 0, end: int | None = None) -> bytes:
        """Return a file's bytes, or those from one place to another."""
        with _told_of(self.address), partition_files.input_of(self.address, name) as file:
            file.seek(begin)
            return bytes(file.read() if end is None else file.read(end - begin))


@contextmanager
def scratch_of(place: str | None) -> Iterator[Scratch | None]:
    """Give a new place for tables within a folder or an address, and take it away again; None where none is named."""
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
def _told_of(address: str) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        reason = (problem.strerror or str(problem) or type(problem).__name__).splitlines()[0]
        raise InputError(f"{address}: a worker cannot write or read there: {reason}", field="scratch") from None


class TemporaryFolder:
    """A new folder, which goes with all that is in it once nobody holds this.

    Parameters
    ----------
    within : str, optional
        The folder that it is made in; by default where the system keeps such.
    """

    def __init__(self, within: str | None = None) -> None:
        try:
            self.folder = Folder(tempfile.mkdtemp(prefix="activeeval-", dir=within))
        except OSError as problem:
            where = within or tempfile.gettempdir()
            raise InputError(f"{where}: cannot write there: {problem.strerror}", field="scratch") from None
        self.close = weakref.finalize(self, shutil.rmtree, self.folder.path, ignore_errors=True)
