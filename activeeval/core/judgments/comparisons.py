"""Pairs of documents that judges compared, and the truth that they came to, as ranks and as κ-grades."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from activeeval.core.errors import InputError

if TYPE_CHECKING:
    from activeeval.core.pool import QueryPool
    from activeeval.core.types import Ints


class Comparison(NamedTuple):
    """A pair of documents of a query that somebody compared; in a tie the order of the two says nothing."""

    query: str
    preferred: str
    other: str
    is_tie: bool = False
    judge: str = ""


class Truth(NamedTuple):
    """A top-k truth of a query.

    Attributes
    ----------
    top : tuple of str
        The documents that have a rank, best first; of those that share one by id.
    below : tuple of str
        Documents that stand below, all tied.
    bad : tuple of str
        Documents that were thrown out.
    ranks : tuple of int
        The ranks of the top where some of it are alike: these share the first of theirs, the next has the rank behind
        them. Empty where each has its own.
    """

    top: tuple[str, ...]
    below: tuple[str, ...] = ()
    bad: tuple[str, ...] = ()
    ranks: tuple[int, ...] = ()

    @classmethod
    def of(cls, groups: Iterable[Iterable[str]], below: Iterable[str] = (), bad: Iterable[str] = ()) -> Self:
        """Return the truth of groups of documents that are alike, best group first; of equal ones the same."""
        top: list[str] = []
        ranks: list[int] = []
        for group in map(sorted, groups):
            ranks += [len(top) + 1] * len(group)
            top += group
        is_tied = len(set(ranks)) < len(top)
        return cls(tuple(top), tuple(sorted(below)), tuple(sorted(bad)), tuple(ranks) if is_tied else ())

    @classmethod
    def from_parts(cls, parts: Mapping[str, Iterable[Any]]) -> Self:
        """Return the truth of its parts by their names, as a log keeps it; one that is not there is empty."""
        return cls(*(tuple(parts.get(name, ())) for name in cls._fields))

    @property
    def parts(self) -> dict[str, list[Any]]:
        """Its parts by their names, as a log keeps them."""
        return {name: list(part) for name, part in self._asdict().items()}

    def grades(self, k: int) -> dict[str, int]:
        """Return κ-grades of the documents that it names; a truth of more than k ranks holds that of k."""
        ranked = {doc: max(k + 1 - rank, 0) for rank, doc in self.ranked}
        return ranked | dict.fromkeys((*self.below, *self.bad), 0)

    @property
    def ranked(self) -> list[tuple[int, str]]:
        """The rank and the id of each document of the top."""
        return list(zip(self.ranks or range(1, len(self.top) + 1), self.top, strict=True))


def check_truths(pool: QueryPool, grades: Ints, k: int, source: str) -> None:
    """Raise InputError where judged κ-grades of a query skip a rank, or too few of its best have one.

    They are k, k − 1, …; m items that are alike share one, and the next is m smaller.

    Parameters
    ----------
    grades : array of int, shape (n_items,)
        −1 where nobody has judged.
    """
    import numpy as np  # a page that compares takes none of it

    for query in np.unique(pool.item_queries[grades >= 0]).tolist():
        of_query = grades[pool.query_offsets[query] : pool.query_offsets[query + 1]]
        held = np.sort(of_query[of_query > 0])[::-1]
        where = f"{source}: query {pool.query_texts[query]!r}"
        n_above = np.searchsorted(-held, -held)
        wrong = np.flatnonzero(held != k - n_above)
        if wrong.size:
            rank = int(n_above[wrong[0]]) + 1
            raise InputError(f"{where} has κ-grade {held[rank - 1]} for rank {rank}, expected {k + 1 - rank}")
        if held.size < k and (of_query < 0).any():
            raise InputError(f"{where} has ranks 1 … {held.size} and documents without one, expected the {k} best")


def check_depth(where: str, truth: Truth, k: int) -> None:
    """Raise where a truth has fewer than k ranks and names documents that would deserve one."""
    if len(truth.top) < k and truth.below:
        others = f"{len(truth.below)} documents without one that are not `bad`"
        raise InputError(f"{where} has ranks 1 … {len(truth.top)} and {others}, expected the {k} best")
