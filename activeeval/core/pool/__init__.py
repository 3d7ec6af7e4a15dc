"""The nouns of the ground: a pool of queries with their items, rankings of them, judgments.

Each is frozen and validated once, here; everything above relies on it and checks no more.
The item axis is flat: query ``q`` owns the items ``query_offsets[q] … query_offsets[q+1] − 1``.
"""

from activeeval.core.pool.draws import QueryDraw, QueryLog
from activeeval.core.pool.grades import PoolGrades, check_judged
from activeeval.core.pool.id_checks import whole_grades
from activeeval.core.pool.identity import (
    Seed,
    checked_key,
    hashed_uniforms,
    key_of,
    known_digest,
    pool_hashes,
    text_numbers,
)
from activeeval.core.pool.queries import QueryPool
from activeeval.core.pool.rankings import Rankings

__all__ = [
    "PoolGrades",
    "QueryDraw",
    "QueryLog",
    "QueryPool",
    "Rankings",
    "Seed",
    "check_judged",
    "checked_key",
    "hashed_uniforms",
    "key_of",
    "known_digest",
    "pool_hashes",
    "text_numbers",
    "whole_grades",
]
