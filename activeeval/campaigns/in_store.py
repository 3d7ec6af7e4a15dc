"""Common base of a stored campaign and a watch: a name in an open store."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from activeeval.campaigns.store import Store, file_url, open_store
from activeeval.core.errors import InputError
from activeeval.core.masked_addresses import masked


@dataclass(slots=True, eq=False)
class StoreHandle:
    """Base of a stored campaign and of a watch: its name in an open store.

    `close`, or the end of a ``with`` block, closes the store.
    """

    store: Store
    name: str

    def __enter__(self) -> Self:
        """Return this object, for a ``with`` block that closes the store."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Close the store, also after an error."""
        self.close()

    def close(self) -> None:
        """Close the store."""
        self.store.close()


def store_url(url: Any) -> str:
    """Convert a path to the URL of a store; a URL is returned unchanged.

    Raises InputError if the text looks like a server's address without a scheme.
    """
    text = str(os.fspath(url))
    if "://" in text:
        return text
    if "@" in text and ":" in text:
        raise InputError(f"{masked(text)}: a server is named as postgresql://USER@HOST/DATABASE")
    return file_url(text)


def opened_with(url: Any, first: Callable[[Store], object], *, create: bool = False) -> Store:
    """Open a store and call ``first`` on it; close the store again if that fails.

    Parameters
    ----------
    url : path or str
        A file, or a URL of SQLite or PostgreSQL.
    first : callable
        Looks up or creates the object for which the store is opened.
    create : bool
        Create the store if it does not exist.

    Raises
    ------
    InputError
        If the store does not exist and is not to be created, or is not a store; further errors as raised by ``first``.
    """
    store = open_store(store_url(url), create=create)
    try:
        first(store)
    except BaseException:
        store.close()
        raise
    return store
