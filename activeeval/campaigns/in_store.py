"""What a campaign and a watch have in common: a name in a store that is opened and closed with them."""

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
    """A name in a store; `close`, or the end of a ``with``, closes the store."""

    store: Store
    name: str

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the store."""
        self.store.close()


def store_url(url: Any) -> str:
    """Return the address of a store: a URL as it is, and that of a file."""
    text = str(os.fspath(url))
    if "://" in text:
        return text
    if "@" in text and ":" in text:
        raise InputError(f"{masked(text)}: a server is named as postgresql://USER@HOST/DATABASE")
    return file_url(text)


def opened_with(url: Any, first: Callable[[Store], object], *, create: bool = False) -> Store:
    """Open a store and do what comes first in it; where that fails the store is closed again.

    Parameters
    ----------
    url : path or str
        As of `store_url`.
    first : callable
        Finds, or makes, what the store is opened for.
    create : bool
        Make the store where there is none.
    """
    store = open_store(store_url(url), create=create)
    try:
        first(store)
    except BaseException:
        store.close()
        raise
    return store
