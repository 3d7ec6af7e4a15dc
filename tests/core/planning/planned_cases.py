"""Planners of a generated pool, and pilots that are judged by labels of its model."""

from functools import cache

import numpy as np
from core_cases import judge_all, noisy_lists

from activeeval import DCG, ERR, METHODS, Campaign, Target
from activeeval.core.grade_models import QueryFactor
from activeeval.core.planning import Planner
from activeeval.core.planning.scales import Scale
from activeeval.core.pool.generated import WEIGHTS, generate_pool

FACTOR = QueryFactor(1.0)
PLAIN = {"items_plain": DCG(cutoff=10), "depth_plain": ERR(4, cutoff=10), "passive": DCG(cutoff=10)}
FITTED = {"items": DCG(cutoff=10), "depth": ERR(4, cutoff=10), "whole": DCG(cutoff=10), "random": DCG(cutoff=10)}


@cache
def made():
    """Make a pool of 150 queries, two rankings and probabilities of grades."""
    found = generate_pool(150, 5)
    centres = np.clip(1.0 + 0.6 * (found.features[:, : WEIGHTS.size] @ WEIGHTS), 0, 4)[:, None]
    weights = np.exp(-((np.arange(5) - centres) ** 2))
    return found.pool, noisy_lists(found), weights / weights.sum(axis=1, keepdims=True)


def planner_of(measure=PLAIN["passive"], *, probs=None, versus=True, overhead=0.0, known=None):
    pool, lists, usual = made()
    costed = pool.replace(query_costs=np.full(pool.n_queries, overhead))
    first, second = (one.restricted_to(costed, np.arange(pool.n_items)) for one in lists)
    believed = {"grade_probs": usual if probs is None else probs}
    return Planner(
        targets=[Target(measure, first, second if versus else None)],
        believed=lambda method: believed | {"factor": None if method.ignores_factor else FACTOR},
        max_grade=4,
        known=known,
        scale=Scale(),
    )


def sharpened(power):
    """Return the probabilities of a model that is surer than the one of the pool."""
    probs = made()[2] ** power
    return probs / probs.sum(axis=1, keepdims=True)


def design_of(planner, name):
    return METHODS[name].design(planner.targets, **planner.believed(METHODS[name]), max_grade=4)


def pilot_of(planner, name, budget, labels, seed, design=None):
    return judge_all(Campaign(design or design_of(planner, name), budget, rng=seed), labels)
