"""Read traffic: the frequencies of queries, the weights of a mean over queries."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from activeeval.core.errors import FormatError, shown
from activeeval.core.pool import QueryPool
from activeeval.formats.suffixes import PathLike
from activeeval.formats.text.columns import read_columns


@dataclass(frozen=True, slots=True)
class Traffic:
    """Weights of queries by id; only their proportions matter."""

    weights: dict[str, float]
    source: str

    def align(self, pool: QueryPool) -> NDArray[np.float64]:
        """Compute p(x) of the pool's queries, shape (n_queries,), summing to 1.

        Raises
        ------
        FormatError
            Names the first query of the pool without a weight.
        """
        for query in pool.query_texts:
            if query not in self.weights:
                raise FormatError(self.source, None, f"no weight for query {shown(query)} of the pool")
        weights = np.array([self.weights[query] for query in pool.query_texts])
        return np.asarray(weights / weights.sum())


def read_traffic(path: PathLike) -> Traffic:
    """Read query weights: a query id and a positive number a line, for example counts of a query log."""
    columns = read_columns(path, "tn", "query weight")
    ids, values = columns.texts[0].tolist(), columns.floats(0)
    bad = np.flatnonzero(values <= 0)
    if bad.size:
        columns.fail(int(bad[0]), f"the weight {float(values[bad[0]])!r} is not positive, expected a positive number")
    weights: dict[str, float] = {}
    for row, (query, value) in enumerate(zip(ids, values.tolist(), strict=True)):
        if query in weights:
            columns.fail(row, f"query {shown(query)} is there twice, expected it once")
        weights[query] = value
    return Traffic(weights, os.fspath(path))
