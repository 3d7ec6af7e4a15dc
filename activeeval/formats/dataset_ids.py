"""Read the judgments of a data set of ir_datasets by its id, if the package is installed and its files are on disk."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from typing import Any

import numpy as np

from activeeval.core.errors import InputError, shown
from activeeval.core.pool.texts import Texts
from activeeval.core.types import Ints
from activeeval.formats.suffixes import PathLike

_ID = re.compile(r"[a-z0-9][\w.-]*(?:/[\w.:-]+)+")


class _NotOnDiskError(Exception):
    """A download that would be needed."""


def is_dataset_id(path: PathLike) -> bool:
    """Check whether a name may be an id of ir_datasets, as ``beir/scifact/test``: it has a slash and no such file."""
    name = os.fspath(path)
    return _ID.fullmatch(name) is not None and not os.path.lexists(name) and not os.path.isdir(os.path.dirname(name))


def read_dataset(name: str) -> tuple[Texts, Texts, Ints]:
    """Read query ids, document ids and grades of a data set, without any download.

    Raises
    ------
    InputError
        If ir_datasets is missing, does not know the id, or has no judgments of it on disk.
    """
    try:
        import ir_datasets
    except ImportError:
        problem = 'no such file; as an id of a data set it needs pip install "ir_datasets"'
        raise InputError(f"{name}: {problem}") from None
    try:
        data: Any = ir_datasets.load(name)
    except KeyError:
        raise InputError(f"{name}: no such file, and ir_datasets knows no data set of this id") from None
    if not data.has_qrels():
        raise InputError(f"{name}: the data set of ir_datasets has no judgments")
    try:
        with _without_downloads(), redirect_stderr(io.StringIO()):  # its log of the refused download
            rows = [(row.query_id, row.doc_id, int(row.relevance)) for row in data.qrels_iter()]
    except _NotOnDiskError:
        fetched = f"`ir_datasets export {name} qrels > qrels.txt` fetches them"
        raise InputError(f"{name}: the judgments of the data set are not on disk; {fetched}") from None
    except (AttributeError, TypeError, ValueError) as problem:
        raise InputError(f"{name}: the judgments of the data set cannot be read: {shown(str(problem))}") from None
    columns = (Texts.from_list([row[0] for row in rows]), Texts.from_list([row[1] for row in rows]))
    return *columns, np.array([row[2] for row in rows], dtype=np.int64)


@contextmanager
def _without_downloads() -> Iterator[None]:
    """Make every download of ir_datasets raise `_NotOnDiskError`."""
    from ir_datasets.util import RequestsDownload

    def refused(self: Any) -> Any:
        """Replace the download of ``RequestsDownload``: raise with its URL."""
        raise _NotOnDiskError(self.url)

    before = RequestsDownload.stream
    RequestsDownload.stream = refused
    try:
        yield
    finally:
        RequestsDownload.stream = before
