"""Pairwise comparisons of documents, and the top-k truth that follows from them, as ranks and as κ-grades."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from activeeval.core.errors import InputError

if TYPE_CHECKING:
    from activeeval.core.pool import QueryPool
    from activeeval.core.types import Ints


class Comparison(NamedTuple):
    """A judge's comparison of two documents of a query; for a tie, the order of the two has no meaning."""

    query: str
    preferred: str
    other: str
    is_tie: bool = False
    judge: str = ""


class Truth(NamedTuple):
    """A judge's k best documents of a query in order (a top-k truth).

    Attributes
    ----------
    top : tuple of str
        Documents with a rank, best first; documents with the same rank are sorted by id.
    below : tuple of str
        Documents below the top, all tied.
    bad : tuple of str
        Documents that were rejected.
    ranks : tuple of int
        Ranks of the documents in `top`, if some are tied: tied documents share the first of their ranks, and the next
        rank counts all of them. Empty if there are no ties.
    """

    top: tuple[str, ...]
    below: tuple[str, ...] = ()
    bad: tuple[str, ...] = ()
    ranks: tuple[int, ...] = ()

    @classmethod
    def of(cls, groups: Iterable[Iterable[str]], below: Iterable[str] = (), bad: Iterable[str] = ()) -> Self:
        """Build a truth from groups of tied documents, best group first; the order within a group has no effect.

        ``below`` are documents below the top, ``bad`` those that were rejected.
        """
        top: list[str] = []
        ranks: list[int] = []
        for group in map(sorted, groups):
            ranks += [len(top) + 1] * len(group)
            top += group
        is_tied = len(set(ranks)) < len(top)
        return cls(tuple(top), tuple(sorted(below)), tuple(sorted(bad)), tuple(ranks) if is_tied else ())

    @classmethod
    def from_parts(cls, parts: Mapping[str, Iterable[Any]]) -> Self:
        """Build a truth from its parts (``top``, ``below`` …) by name, as stored in a log; missing parts are empty."""
        return cls(*(tuple(parts.get(name, ())) for name in cls._fields))

    @property
    def parts(self) -> dict[str, list[Any]]:
        """The parts (``top``, ``below`` …) by name, as stored in a log."""
        return {name: list(part) for name, part in self._asdict().items()}

    def grades(self, k: int) -> dict[str, int]:
        """Compute the κ-grades of the truth's documents, by id: k + 1 − rank, at least 0; 0 below the top.

        k can be smaller than the number of ranks.
        """
        ranked = {doc: max(k + 1 - rank, 0) for rank, doc in self.ranked}
        return ranked | dict.fromkeys((*self.below, *self.bad), 0)

    @property
    def ranked(self) -> list[tuple[int, str]]:
        """``(rank, document id)`` of each document of the top, best first."""
        return list(zip(self.ranks or range(1, len(self.top) + 1), self.top, strict=True))


def check_truths(pool: QueryPool, grades: Ints, k: int, source: str) -> None:
    """Raise InputError if the κ-grades (k + 1 − rank) of a query skip a rank, or fewer than k documents have one.

    The κ-grades must be k, k − 1, …; m tied items share one, and the next is m smaller.

    Parameters
    ----------
    grades : array of int, shape (n_items,)
        κ-grades; −1 if unjudged.
    source : str
        Origin of the grades, for the message.
    """
    import numpy as np  # imported here, because the page for comparisons does not need it

    for query in np.unique(pool.item_queries[grades >= 0]).tolist():
        of_query = grades[pool.query_offsets[query] : pool.query_offsets[query + 1]]
        ranked = np.sort(of_query[of_query > 0])[::-1]
        where = f"{source}: query {pool.query_texts[query]!r}"
        n_above = np.searchsorted(-ranked, -ranked)  # number of documents with a larger κ-grade
        wrong = np.flatnonzero(ranked != k - n_above)
        if wrong.size:
            rank = int(n_above[wrong[0]]) + 1
            raise InputError(f"{where} has κ-grade {ranked[rank - 1]} for rank {rank}, expected {k + 1 - rank}")
        if ranked.size < k and (of_query < 0).any():
            raise InputError(f"{where} has ranks 1 … {ranked.size} and documents without one, expected the {k} best")


def check_depth(where: str, truth: Truth, k: int) -> None:
    """Raise InputError if a truth has fewer than k ranks although documents remain that are not rejected.

    ``where`` names the query for the message.
    """
    if len(truth.top) < k and truth.below:
        others = f"{len(truth.below)} documents without one that are not `bad`"
        raise InputError(f"{where} has ranks 1 … {len(truth.top)} and {others}, expected the {k} best")
