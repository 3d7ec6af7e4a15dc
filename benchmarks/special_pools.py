"""Generated pools that are hard on intervals, of moderate size; each with a forest trained on queries beside it."""

from __future__ import annotations

import numpy as np

from activeeval import QueryPool, Rankings
from activeeval.core.pool.generated import GeneratedPool, generate_pool, noisy_scores
from activeeval.inputs.loading import Inputs
from activeeval.quickstart.demonstration import MAX_GRADE, recipe_beliefs
from benchmarks.pools import SEED, JudgedPool

RELEVANT_SHARE = 0.04
EMPTY_SHARE = 0.25
TRAFFIC_SPREAD = 1.5
"""Standard deviation of log p(x): the tenth of the queries that is asked most has half of the traffic."""


def generated() -> JudgedPool:
    """Return 1,500 queries of at most 30 items by the recipe."""
    return _ranked("generated", _heads(generate_pool(1650, SEED), 30), 150)


def rare_relevance() -> JudgedPool:
    """Return 800 queries of at most 20 items, of which 4 % have anything relevant; no feature tells which."""
    whole = _heads(generate_pool(1000, SEED + 1), 20)
    has_relevant = np.random.default_rng(SEED).random(whole.pool.n_queries) < RELEVANT_SHARE
    grades = np.where(has_relevant[whole.pool.item_queries], whole.grades, 0)
    return _ranked("rare relevance", GeneratedPool(whole.pool, grades, whole.features, whole.lengths), 200)


def empty_lists() -> JudgedPool:
    """Return 600 queries of at most 20 items; for a quarter of them neither ranker has a list."""
    whole = _heads(generate_pool(700, SEED + 2), 20)
    return _ranked("empty lists", whole, 100, empty_share=EMPTY_SHARE)


def certain_queries() -> JudgedPool:
    """Return 300 queries of at most 40 items with so uneven a traffic that many are judged with certainty."""
    whole = _heads(generate_pool(400, SEED + 3), 40)
    asked = np.exp(TRAFFIC_SPREAD * np.random.default_rng(SEED).standard_normal(whole.pool.n_queries))
    pool = whole.pool.replace(query_probs=asked / asked.sum())
    return _ranked("certain queries", GeneratedPool(pool, whole.grades, whole.features, whole.lengths), 100)


SPECIAL_POOLS = {
    "generated": generated,
    "rare relevance": rare_relevance,
    "empty lists": empty_lists,
    "certain queries": certain_queries,
}


def _heads(whole: GeneratedPool, longest: int) -> GeneratedPool:
    """Keep the first items of every query; the recipe's items come in no order."""
    pool = whole.pool
    place = np.arange(pool.n_items) - pool.query_offsets[pool.item_queries]
    kept = np.flatnonzero(place < longest)
    offsets = np.searchsorted(kept, pool.query_offsets)
    part = QueryPool(pool.query_ids, offsets, item_costs=pool.item_costs[kept])
    return GeneratedPool(part, whole.grades[kept], whole.features[kept], whole.lengths[kept])


def _ranked(name: str, whole: GeneratedPool, n_training: int, empty_share: float = 0.0) -> JudgedPool:
    """Train on the first queries; rank the others by expected grade, and by that with noise."""
    first, rest = whole.split(n_training)
    beliefs = recipe_beliefs(first, rest, SEED)
    scores = beliefs.probs @ np.arange(MAX_GRADE + 1)
    is_empty = np.random.default_rng(SEED).random(rest.pool.n_queries) < empty_share
    unranked = np.where(is_empty[rest.pool.item_queries], np.nan, 0.0)
    ranking = Rankings.from_scores(rest.pool, scores + unranked)
    second = Rankings.from_scores(rest.pool, noisy_scores(scores, SEED) + unranked)
    return JudgedPool(name, Inputs(rest.pool, (ranking,), rest.grades, rest.features), second, beliefs, MAX_GRADE)
