"""Inclusion probabilities of queries that were sampled from a search log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from activeeval.core.checks import numbers
from activeeval.core.errors import InputError
from activeeval.core.types import Bools, Floats, Ints, frozen

_FIELDS = ("inclusion_probs", "strata", "sizes", "log", "log_numbers")


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryLog:
    """A search log from which queries were sampled.

    Attributes
    ----------
    name, digest : str
        Name of the log file and a digest of its content.
    n_events : float
        Number of searches in the log.
    n_queries : int
        Number of distinct queries.
    """

    name: str
    digest: str
    n_events: float
    n_queries: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QueryDraw:
    """The sampling of a pool's queries from a search log.

    Attributes
    ----------
    inclusion_probs : ndarray, shape (n_queries,)
        Inclusion probability π of each query, in (0, 1]; 1 if the query was certain to be drawn.
    strata : ndarray of int64, shape (n_queries,)
        Index of the stratum from which each query was drawn, from 0.
    sizes : ndarray of int64, shape (n_strata,)
        Number of queries drawn in each stratum, including queries that the pool does not hold.
    log : QueryLog

    Raises
    ------
    InputError
        If a probability lies outside (0, 1] or a stratum index is out of range.
    """

    inclusion_probs: Floats
    strata: Ints
    sizes: Ints
    log: QueryLog

    def __post_init__(self) -> None:
        """Convert the columns to read-only arrays; raise InputError for a probability or stratum out of range."""
        strata, sizes = (np.array(values, dtype=np.int64) for values in (self.strata, self.sizes))
        probs = numbers(self.inclusion_probs, "inclusion_probs", strata.shape)
        if not ((probs > 0) & (probs <= 1)).all():
            raise InputError(f"inclusion_probs must lie in (0, 1], got {probs[~((probs > 0) & (probs <= 1))][0]}")
        if strata.size and not (strata.min() >= 0 and strata.max() < sizes.size):
            raise InputError(f"strata must lie below {sizes.size}, got {strata.min()} to {strata.max()}")
        for name, values in (("inclusion_probs", probs), ("strata", strata), ("sizes", sizes)):
            object.__setattr__(self, name, frozen(values))

    def of(self, queries: ArrayLike) -> QueryDraw:
        """Select the rows of some queries, given by their positions in the pool."""
        chosen = np.asarray(queries, dtype=np.int64)
        drawn = (self.inclusion_probs[chosen], self.strata[chosen])
        return QueryDraw(inclusion_probs=drawn[0], strata=drawn[1], sizes=self.sizes, log=self.log)

    def thinned(self, share: float) -> QueryDraw:
        """Multiply the inclusion probabilities by ``share``, as the pool holds a random share of the drawn queries."""
        probs = self.inclusion_probs * share
        return QueryDraw(inclusion_probs=probs, strata=self.strata, sizes=self.sizes, log=self.log)

    def are_whole(self, within: Bools | None = None) -> Bools:
        """Flag the strata whose drawn queries are all in the pool, shape (n_strata,).

        `within` (n_queries,) restricts the check to flagged queries of the pool; None takes all.
        """
        chosen = self.strata if within is None else self.strata[within]
        return np.asarray(np.bincount(chosen, minlength=self.sizes.size) == self.sizes)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Convert the draw to arrays of numbers and text by name, for storage; `of_arrays` reads them.

        The names are ``draw.inclusion_probs``, ``draw.strata``, ``draw.sizes``, ``draw.log`` (name and digest of the
        log) and ``draw.log_numbers`` (its numbers of searches and of distinct queries).
        """
        values = (self.inclusion_probs, self.strata, self.sizes, np.array([self.log.name, self.log.digest]))
        columns = (*values, np.array([self.log.n_events, self.log.n_queries], dtype=np.float64))
        return {f"draw.{name}": array for name, array in zip(_FIELDS, columns, strict=True)}

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self | None:
        """Rebuild a draw from arrays that the method `arrays` made; None if they contain no draw."""
        if f"draw.{_FIELDS[0]}" not in arrays:
            return None
        probs, strata, sizes, words, figures = (arrays[f"draw.{name}"] for name in _FIELDS)
        name, digest = words.tolist()
        log = QueryLog(name=name, digest=digest, n_events=float(figures[0]), n_queries=int(figures[1]))
        return cls(inclusion_probs=probs, strata=strata, sizes=sizes, log=log)
