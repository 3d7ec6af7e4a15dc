"""What tests of the core share: campaigns judged to their end, designs with labels, samples and estimates by hand."""

import math
from dataclasses import replace

import numpy as np
from naive import pool_of, random_lists, random_probs, rankings_of

from activeeval import DCG, ERR, METHODS, Estimate, Rankings, Target
from activeeval.core.estimation import Evidence
from activeeval.core.estimation.evidence import ReplacementEvidence
from activeeval.core.pool.generated import WEIGHTS

P = np.array([0.4, 0.1, 0.3, 0.2])
L = np.array([1.0, -2.0, 4.0, 0.5])
M = np.array([0.3, 1.0, 2.5, -1.0])
"""Four queries: shares of the traffic, values, and predictions that have nothing to do with the values."""
LEVELLED = ("random", "whole", "depth_plain", "depth", "items_plain", "items")


def judge_all(campaign, labels, steps=math.inf, cannot=()):
    """Ask and tell until the end, or for a number of units; some items cannot be judged."""
    while steps > 0 and (unit := campaign.ask()) is not None:
        campaign.tell(unit, [None if item in cannot else int(labels[item]) for item in unit.items])
        steps -= 1
    return campaign


def figures(estimate):
    """Return what an estimate says, but for the part of the budget that it rests on."""
    return replace(estimate, share=1.0)


def uneven_pool(random, lengths, query_costs=0.0):
    """Return a pool with unequal costs of items and unequal shares of its queries in the traffic."""
    return pool_of(
        lengths,
        item_costs=random.uniform(0.5, 2, sum(lengths)),
        query_costs=np.broadcast_to(query_costs, len(lengths)),
        query_probs=random.dirichlet(np.full(len(lengths), 5.0)),
    )


def labelled_design(seed=0, method="items", n_queries=25, measure=None, compare=False, judged=None, **fields):
    """Return a design on a pool with unequal costs, and the pool's labels."""
    random = np.random.default_rng(seed)
    lengths = random.integers(1, 7, n_queries).tolist()
    pool = uneven_pool(random, lengths, random.choice([0.0, 1.0, 3.0], n_queries)).replace(**fields)
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


def sample_of(queries, probs, *, p=P, values=L, means=M, certain=(), with_replacement=False, is_fitted=True, **fields):
    """Return the sample of queries judged whole, some of the pool's certain to be in it."""
    drawn = np.array(queries, dtype=np.int64)
    is_open = ~np.isin(np.arange(p.size), certain)
    given = {
        "totals": np.column_stack((values[drawn], np.ones(drawn.size), means[drawn])),
        "within": np.zeros((drawn.size, 6)),
        "population": np.array([p[is_open].sum(), (p * means)[is_open].sum()]),
        "base": float((p * values)[~is_open].sum()),
        "certain_squares": float((p * values**2)[~is_open].sum()),
        "open_share": float(p[is_open].sum()),
        "pool_size": 1 / float(p @ p),
        "n_draws": drawn.size,
        "n_queries": len(set(queries)) + len(certain),
        "n_items": drawn.size + len(certain),
        "cost": float(drawn.size),
    }
    return (ReplacementEvidence if with_replacement else Evidence)(
        is_fitted=is_fitted and not with_replacement,
        query_probs=p[drawn],
        inclusion_probs=np.asarray(probs, dtype=float),
        values=values[drawn],
        **(given | fields),
    )


def estimate_of(value=1.0, std_error=0.1, degrees_of_freedom=20.0, **fields):
    """Return an estimate from numbers."""
    counts = {"n_open": 20, "n_draws": 20, "n_queries": 20, "n_items": 20, "cost": 20.0, "method": "items"}
    return Estimate(value=value, std_error=std_error, degrees_of_freedom=degrees_of_freedom, **(counts | fields))
