"""Parquet files of partitions, in a folder or an object store: list, describe, read, write."""

from __future__ import annotations

import fnmatch
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Any

from activeeval.core.errors import FormatError, InputError

KEY = b"activeeval"
"""Key of the pool's metadata, JSON, in a file's schema."""
_SCHEME = re.compile(r"^[a-z][a-z0-9+.-]+://", re.IGNORECASE)


def listed(pattern: str) -> list[str]:
    """List the files that match a pattern, sorted by name.

    Parameters
    ----------
    pattern : str
        A path, or an address as ``s3://bucket/pool/*.parquet``, whose last part may hold ``*``. Options of the file
        system follow a question mark, as ``?endpoint_override=127.0.0.1:9000&scheme=http``.

    Raises
    ------
    InputError
        If no file matches, or the location cannot be reached.
    """
    from pyarrow import fs

    system, path, options = _opened(pattern)
    folder, _, name = path.rpartition("/")
    with _read_errors(pattern):
        entries = system.get_file_info(fs.FileSelector(folder or ".", allow_not_found=True))
    names = sorted(info.base_name for info in entries if info.is_file and fnmatch.fnmatchcase(info.base_name, name))
    if not names:
        raise InputError(f"{pattern}: there is no such file", field="pool_parquet")
    base = _SCHEME.match(pattern)
    where = pattern.partition("?")[0].rpartition("/")[0] if base else folder
    return [f"{where}/{name}{options}" if where else name for name in names]


@contextmanager
def opened(path: str) -> Iterator[Any]:
    """Open a local or remote parquet file.

    Raises
    ------
    FormatError
        If it is missing, truncated or not a parquet file.
    """
    from pyarrow import parquet

    system, place, _ = _opened(path)
    with _read_errors(path), system.open_input_file(place) as handle, parquet.ParquetFile(handle) as file:
        yield file


def state_of(path: str) -> bytes:
    """Return size and modification time of a file as bytes, to detect a replacement.

    Raise FormatError on a read error.
    """
    system, place, _ = _opened(path)
    with _read_errors(path):
        info = system.get_file_info(place)
    return f"{info.size} {info.mtime_ns}".encode()


def said_of(path: str, file: Any) -> dict[str, Any]:
    """Read the pool's metadata (a dict) that `write` stored in an open parquet file; {} for files of other origin.

    FormatError, naming the path, is raised if they cannot be read.
    """
    metadata = (file.schema_arrow.metadata or {}).get(KEY)
    if metadata is None:
        return {}
    try:
        return dict(json.loads(metadata))
    except (ValueError, TypeError):
        raise FormatError(path, None, "its metadata cannot be read") from None


def with_empty(values: Any, is_empty: Any) -> Any:
    """Build a column of `values` with empty cells where the mask `is_empty` is True."""
    import pyarrow as pa

    return pa.array(values, mask=is_empty)


def write(path: str, groups: Iterator[Mapping[str, Any]], metadata: Mapping[str, Any]) -> None:
    """Write a parquet file: a row group for each mapping of columns in `groups`, with the pool's metadata.

    Raises
    ------
    InputError
        If the location is not writable.
    """
    import pyarrow as pa
    from pyarrow import parquet

    system, place, _ = _opened(path)
    try:
        writer = None
        for columns in groups:
            table = pa.table(dict(columns))
            table = table.replace_schema_metadata({KEY: json.dumps(dict(metadata)).encode()})
            writer = writer or parquet.ParquetWriter(place, table.schema, filesystem=system, compression="zstd")
            writer.write_table(table)
        if writer is not None:
            writer.close()
    except OSError as problem:
        raise InputError(f"{path}: cannot write: {_reason(problem)}", field="out") from None


def within(address: str, name: str) -> str:
    """Append a name to the path of an address, before its options.

    Examples
    --------
    >>> within("s3://bucket/pool?region=eu", "scratch")
    's3://bucket/pool/scratch?region=eu'
    """
    plain, mark, options = address.partition("?")
    return f"{plain.rstrip('/')}/{name}{mark}{options}"


def output(address: str, name: str) -> Any:
    """Open the file `name` of a remote folder for writing."""
    system, path, _ = _opened(within(address, name))
    return system.open_output_stream(path)


def input_of(address: str, name: str) -> Any:
    """Open the file `name` of a remote folder for reading."""
    system, path, _ = _opened(within(address, name))
    return system.open_input_file(path)


def holds_any(address: str) -> bool:
    """Check whether a remote folder contains anything.

    Raises
    ------
    InputError
        If the location cannot be reached.
    """
    from pyarrow import fs

    system, path, _ = _opened(address)
    try:
        return bool(system.get_file_info(fs.FileSelector(path, allow_not_found=True)))
    except OSError as problem:
        raise InputError(f"{address}: cannot be read: {_reason(problem)}", field="out") from None


def remove(address: str) -> None:
    """Delete a remote folder and its contents; errors are ignored."""
    with suppress(OSError):
        system, path, _ = _opened(address)
        system.delete_dir(path)


def _opened(address: str) -> tuple[Any, str, str]:
    """Return the pyarrow file system of a path or address, the path on it, and the address's options ("?…" or "").

    Raises
    ------
    InputError
        If pyarrow is missing, or the location cannot be reached.
    """
    try:
        from pyarrow import fs
    except ImportError:
        text = "a pool in parquet needs pyarrow: pip install 'activeeval-ir[parquet]'"
        raise InputError(text, field="pool_parquet") from None
    if not _SCHEME.match(address):
        return fs.LocalFileSystem(), os.path.expanduser(address), ""
    plain, mark, options = address.partition("?")
    # the file system parses the folder only, as a pattern is not a valid address; the last part is appended
    folder, _, name = plain.rpartition("/")
    system, path = _system_of(f"{folder}{mark}{options}")
    return system, f"{path}/{name}", f"{mark}{options}"


@lru_cache(maxsize=16)
def _system_of(folder: str) -> tuple[Any, str]:
    """Return the file system of a folder's address, and the path on it; cached with its connections.

    InputError is raised if it cannot be reached.
    """
    from pyarrow import fs

    try:
        return fs.FileSystem.from_uri(folder)  # type: ignore[no-any-return]
    except NotImplementedError:  # pyarrow was built without this file system
        return _by_fsspec(folder)
    except (OSError, ValueError) as problem:
        if "Unrecognized filesystem type" in str(problem):
            return _by_fsspec(folder)
        raise InputError(f"{folder}: cannot be reached: {_reason(problem)}", field="pool_parquet") from None


def _by_fsspec(folder: str) -> tuple[Any, str]:
    """Return an fsspec file system for an address that pyarrow does not support, and the path on it.

    InputError is raised if it cannot be reached.
    """
    from pyarrow import fs

    try:
        import fsspec

        system, path = fsspec.url_to_fs(folder.partition("?")[0])
    except (ImportError, OSError, ValueError) as problem:
        text = f"{folder}: cannot be reached: {_reason(problem)}"
        raise InputError(text, field="pool_parquet") from None
    return fs.PyFileSystem(fs.FSSpecHandler(system)), str(path)


@contextmanager
def _read_errors(path: str) -> Iterator[None]:
    """Raise read errors of a file as FormatError in one line."""
    import pyarrow as pa

    try:
        yield
    except (OSError, pa.ArrowException) as problem:
        raise FormatError(path, None, f"cannot be read as parquet: {_reason(problem)}") from None


def _reason(problem: BaseException) -> str:
    """Return the first line of an error's message, or its type."""
    text = getattr(problem, "strerror", None) or str(problem).strip() or type(problem).__name__
    return str(text).splitlines()[0]


def names_of(columns: Sequence[str], prefix: str) -> list[str]:
    """Return the names of columns with a prefix, without it.

    Examples
    --------
    >>> names_of(["rank:old", "query_id", "rank:new"], "rank:")
    ['old', 'new']
    """
    return [name.removeprefix(prefix) for name in columns if name.startswith(prefix)]
