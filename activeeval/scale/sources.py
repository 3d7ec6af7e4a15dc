"""Sources of a pool's partitions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from activeeval.core.errors import InputError
from activeeval.core.types import Ints
from activeeval.scale.chunks import Chunk
from activeeval.scale.scratch import Scratch

Chunks = Iterable[Chunk] | Callable[[], Iterable[Chunk]]


class Source(Protocol):
    """Lists the partitions of a pool, and reads them on any worker; picklable.

    Attributes
    ----------
    is_streamed : bool
        True if partitions come one after the other, so that a second read iterates over all of them.
    """

    is_streamed: bool

    def keys(self) -> Iterable[Any]:
        """Yield a key for each partition, from which a worker can read it."""

    def read(self, key: Any) -> Chunk:
        """Read the partition of a key as a chunk."""

    def read_some(self, key: Any, queries: Ints) -> Chunk:
        """Read some queries of a partition by their ascending numbers in the chunk that `read` returns."""

    def state(self, key: Any) -> bytes:
        """Return bytes that change if the partition is replaced; b"" if this cannot be detected."""

    def name(self, number: int, key: Any) -> str:
        """Name a partition for messages."""

    def query_name(self, partition: int, query: int) -> str:
        """Name a query for messages, by the numbers of its partition and of the query."""


def named(problem: InputError, name: str) -> InputError:
    """Prefix an error's message with the name of its partition, unless it starts with that."""
    return problem if str(problem).startswith(name) else InputError(f"{name}: {problem}")


def keep_state(source: Source, scratch: Scratch, number: int, key: Any) -> None:
    """Store the state (size and time of the file) of a partition before its first read.

    `number` and `key` identify the partition.
    """
    scratch.write(f"state-{number}", source.state(key))


def check_state(source: Source, scratch: Scratch, number: int, key: Any) -> None:
    """Raise InputError if a partition, identified by `number` and `key`, was replaced since `keep_state`."""
    if source.state(key) != scratch.read(f"state-{number}"):
        raise InputError(f"{source.name(number, key)}: was changed while the sample was drawn: draw it once more")


@dataclass(frozen=True, slots=True, eq=False)
class SuppliedChunks:
    """Partitions that the caller supplies as chunks, or by a function that returns them; they are read as a stream.

    Attributes
    ----------
    chunks : iterable of Chunk, or function that returns one
    """

    chunks: Chunks
    is_streamed = True

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without the chunks: workers receive each chunk as a key."""
        return SuppliedChunks, ((),)  # a worker receives its chunk as the key, so the task is sent without chunks

    @property
    def comes_once(self) -> bool:
        """True if the chunks can be iterated over only once."""
        return not callable(self.chunks) and iter(self.chunks) is self.chunks

    def keys(self) -> Iterator[Chunk]:
        """Yield the chunks; raise InputError at the first that is not a Chunk."""
        for k, chunk in enumerate(self.chunks() if callable(self.chunks) else self.chunks):
            if not isinstance(chunk, Chunk):
                raise InputError(f"chunks[{k}] must be a Chunk, got {type(chunk).__name__}")
            yield chunk

    def read(self, key: Chunk) -> Chunk:
        """Return the chunk, which is its own key."""
        return key

    def read_some(self, key: Chunk, queries: Ints) -> Chunk:
        """Select some queries of the chunk."""
        return key.restricted_to(queries)

    def state(self, key: Chunk) -> bytes:
        """Return b"": the caller may supply an equal chunk anew, so that a replacement cannot be detected here."""
        return b""

    def name(self, number: int, key: Any) -> str:
        """Name a chunk for messages."""
        return f"chunks[{number}]"

    def query_name(self, partition: int, query: int) -> str:
        """Name a query by its number for messages, as the id of a streamed chunk is no longer available."""
        return f"query {query}"
