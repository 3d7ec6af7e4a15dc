"""Pools whose queries were drawn from a search log: set their weights and note those left out."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import numpy as np

from activeeval.core.pool import QueryPool
from activeeval.core.results import Note, Told
from activeeval.formats.reading_rules import reading
from activeeval.formats.tables.drawn_queries import DrawnQueries, are_drawn_queries, read_drawn_queries
from activeeval.inputs.loading import Inputs


def drawn_queries_of(source: Any) -> DrawnQueries:
    """Read drawn queries from a file; `DrawnQueries` pass unchanged."""
    return source if isinstance(source, DrawnQueries) else read_drawn_queries(source)


def drawn_among(queries: str | None) -> str | None:
    """Return the path `queries` if it is a table of queries drawn from a log; None for other tables, or no path."""
    return queries if queries is not None and are_drawn_queries(queries) else None


def reading_queries(queries: Any) -> AbstractContextManager[None]:
    """Read judgments that name queries by texts with a table of their ids, if `queries` is the path of one."""
    is_of_texts = isinstance(queries, (str, os.PathLike)) and not are_drawn_queries(queries)
    return reading(queries=os.fspath(queries) if is_of_texts else "")


def of_log(inputs: Inputs, source: Any, share: float = 1.0) -> Inputs:
    """Weight the queries of inputs as a sample of the log they were drawn from.

    Parameters
    ----------
    source : path or DrawnQueries
    share : float
        Fraction of the drawn queries that entered the pool, at random.
    """
    drawn = drawn_queries_of(source)
    probs, draw = drawn.align(inputs.pool)
    weighted = inputs.with_traffic(probs, draw if share == 1.0 else draw.thinned(share))
    # with a share, queries are missing on purpose: no note on them
    return weighted if share < 1.0 else replace(weighted, notes=(*weighted.notes, *left_out(drawn, inputs.pool)))


def left_out(drawn: DrawnQueries, pool: QueryPool) -> list[Note]:
    """Note drawn queries that the pool lacks, as the estimate is then about the rest of the log.

    The list of notes is empty if the pool has all of them.
    """
    are_in = np.isin(np.array(drawn.query_ids), np.array(pool.query_ids))
    if are_in.all():
        return []
    share = float(drawn.query_probs[~are_in].sum())
    numbers: dict[str, Told] = {"n": int((~are_in).sum()), "of": are_in.size, "share": share, "log": drawn.log.name}
    return [Note("drawn queries left out", numbers)]
