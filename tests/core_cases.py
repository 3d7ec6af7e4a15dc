"""What tests of the core share: campaigns judged to their end, a design with labels, rankings of a generated pool."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from naive import pool_of, random_lists, random_probs, rankings_of

from activeeval import DCG, ERR, METHODS, Rankings, Target
from activeeval.core.pool.generated import WEIGHTS

LEVELLED = ("random", "whole", "depth_plain", "depth", "items_plain", "items")


def judge(campaign, labels, steps=math.inf, cannot=()):
    """Ask and tell until the end, or for a number of units; some items cannot be judged."""
    while steps > 0 and (unit := campaign.ask()) is not None:
        campaign.tell(unit, [None if item in cannot else int(labels[item]) for item in unit.items])
        steps -= 1
    return campaign


def figures(estimate):
    """Return what an estimate says, but for the part of the budget that it rests on."""
    return replace(estimate, share=1.0)


def labelled_design(seed=0, method="items", n_queries=25, measure=None, compare=False, judged=None, **fields):
    """Return a design on a pool with unequal costs, and the pool's labels."""
    random = np.random.default_rng(seed)
    lengths = random.integers(1, 7, n_queries).tolist()
    pool = pool_of(
        lengths,
        item_costs=random.uniform(0.5, 2, sum(lengths)),
        query_costs=random.choice([0.0, 1.0, 3.0], n_queries),
        query_probs=random.dirichlet(np.full(n_queries, 6.0)),
    ).replace(**fields)
    lists = [rankings_of(pool, random_lists(random, lengths, least=1)) for _ in range(2)]
    measure = measure or (DCG() if "items" in method else ERR(4))
    target = Target(measure, lists[0], lists[1] if compare else None)
    probs = random_probs(random, pool.n_items, 5)
    labels = np.array([random.choice(5, p=row) for row in probs])
    return METHODS[method].design(target, probs, judged=None if judged is None else judged(labels)), labels


def noisy_lists(made, pool=None):
    """Return two rankings of a generated pool by what is known of its items and noise, more of it in the second."""
    known, rng = made.features[:, : WEIGHTS.size] @ WEIGHTS, np.random.default_rng(0)
    return [Rankings.from_scores(pool or made.pool, known + x * rng.standard_normal(known.size)) for x in (1.0, 1.5)]
