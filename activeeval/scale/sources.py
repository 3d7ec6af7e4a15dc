"""Where the partitions of a pool come from."""

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
    """Names the partitions of a pool, and reads them wherever a task runs; it can be pickled.

    Attributes
    ----------
    is_streamed : bool
        Whether partitions come one after the other, so that all go by where some are read again.
    """

    is_streamed: bool

    def keys(self) -> Iterable[Any]:
        """Return what names each partition."""

    def read(self, key: Any) -> Chunk:
        """Return a partition."""

    def read_some(self, key: Any, queries: Ints) -> Chunk:
        """Return some queries of a partition, ascending by their numbers in `read`."""

    def state(self, key: Any) -> bytes:
        """Return what is different once something else is in a partition's place; nothing where nobody can tell."""

    def name(self, number: int, key: Any) -> str:
        """Return what messages call a partition."""

    def query_name(self, partition: int, query: int) -> str:
        """Return what messages call a query of a partition, by the numbers of both."""


def named(problem: InputError, name: str) -> InputError:
    """Return a problem that names its partition; one of a file does already."""
    return problem if str(problem).startswith(name) else InputError(f"{name}: {problem}")


def keep_state(source: Source, scratch: Scratch, number: int, key: Any) -> None:
    """Keep the state of a partition, before it is read for the first time."""
    scratch.write(f"state-{number}", source.state(key))


def check_state(source: Source, scratch: Scratch, number: int, key: Any) -> None:
    """Raise InputError where something else is in the place of a partition that was read again."""
    if source.state(key) != scratch.read(f"state-{number}"):
        raise InputError(f"{source.name(number, key)}: was changed while the sample was drawn: draw it once more")


@dataclass(frozen=True, slots=True, eq=False)
class SuppliedChunks:
    """Chunks that the caller brings, or a function that does.

    Attributes
    ----------
    chunks : iterable of Chunk, or function that returns one
    """

    chunks: Chunks
    is_streamed = True

    def __reduce__(self) -> tuple[Any, ...]:
        return SuppliedChunks, ((),)  # a worker gets its chunk as the key: the others do not travel with the task

    @property
    def comes_once(self) -> bool:
        """Whether the chunks can be gone through but once."""
        return not callable(self.chunks) and iter(self.chunks) is self.chunks

    def keys(self) -> Iterator[Chunk]:
        """Yield the chunks once they are seen to be chunks."""
        for k, chunk in enumerate(self.chunks() if callable(self.chunks) else self.chunks):
            if not isinstance(chunk, Chunk):
                raise InputError(f"chunks[{k}] must be a Chunk, got {type(chunk).__name__}")
            yield chunk

    def read(self, key: Chunk) -> Chunk:
        """Return the chunk."""
        return key

    def read_some(self, key: Chunk, queries: Ints) -> Chunk:
        """Return the chunk of some of its queries."""
        return key.restricted_to(queries)

    def state(self, key: Chunk) -> bytes:
        """Return nothing: chunks that are made anew may be the same."""
        return b""

    def name(self, number: int, key: Any) -> str:
        """Return what messages call a chunk."""
        return f"chunks[{number}]"

    def query_name(self, partition: int, query: int) -> str:
        """Return what messages call a query of a chunk: chunks that went by are not there to look its id up."""
        return f"query {query}"
