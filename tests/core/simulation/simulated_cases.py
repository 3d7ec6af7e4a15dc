"""Designs with their labels, which are replayed or judged."""

import math
from dataclasses import fields

import numpy as np
from core_cases import uneven_pool
from naive import PAPER, pool_of, random_lists, random_probs, rankings_of

from activeeval import AP, DCG, ERR, METHODS, NDCG, Recall, Success, Target
from activeeval.core.design import Replacement

LEVELS = [name for name in METHODS if name not in PAPER]
MEASURES = {"DCG": DCG([0, 1, 2, 4, 8], cutoff=5), "ERR": ERR(4), "nDCG": NDCG(cutoff=3), "AP": AP()}
MEASURES |= {"R": Recall(2), "Success": Success(3, 2)}


def case(measure="ERR", compare=True, seed=0, n_queries=24, longest=8):
    """Return a target on a small pool of unequal costs, a model of two nodes, and labels that do not follow it.

    Both lists agree on many ranks; query 0 is not ranked at all.
    """
    random = np.random.default_rng(seed)
    lengths = random.integers(2, longest, n_queries).tolist()
    pool, n_items = uneven_pool(random, lengths, random.uniform(0, 3, n_queries)), sum(lengths)
    first = random_lists(random, lengths, least=2)
    second = [one[:1] + one[1:][::-1] if q % 2 else one[::-1] for q, one in enumerate(first)]
    first[0] = second[0] = []
    lists = [rankings_of(pool, one) for one in (first, second)]
    target = Target(MEASURES.get(measure, measure), lists[0], lists[1] if compare else None)
    model = {"grade_probs": np.stack([random_probs(random, n_items, 5) for _ in range(2)]), "node_weights": [0.4, 0.6]}
    return target, model, random.integers(0, 5, n_items)


def labelled(seed=0, n_queries=40, longest=9, compare=True, measure=None):
    """Return designs by the paper's methods on a pool whose labels follow the model, and the labels."""
    random = np.random.default_rng(seed)
    lengths = random.integers(2, longest, n_queries).tolist()
    pool = pool_of(lengths, item_costs=random.uniform(0.5, 2, sum(lengths)))
    lists = [rankings_of(pool, random_lists(random, lengths, least=2)) for _ in range(2)]
    probs = random_probs(random, pool.n_items, 5)
    target = Target(measure or ERR(4), lists[0], lists[1] if compare else None)
    designs = {name: METHODS[name].design(target, probs) for name in PAPER}
    return designs, np.array([random.choice(5, p=row) for row in probs])


def budgets_of(design):
    """Return a small, a middling and a large budget, and one for everything."""
    dearest = design.order.dearest_units.max()
    if isinstance(design.scheme, Replacement):
        dearest = design.scheme.draws_of(design.order).costs.max()
    return [max(0.2 * design.cost, 1.001 * dearest), 0.5 * design.cost, 0.97 * design.cost, 1.1 * design.cost]


def truth_of(design, labels):
    return float(design.pool.query_probs @ design.target.values(labels))


def assert_same_runs(one, other):
    for field in fields(one):
        np.testing.assert_array_equal(getattr(one, field.name), getattr(other, field.name), err_msg=field.name)


def assert_is(live, run, r, k):
    """Check that an estimate is a repetition's, to the last bit."""
    found = [getattr(run, name)[r, k] for name in ("values", "degrees_of_freedom", "spent", "n_draws", "n_queries")]
    assert [live.value, live.degrees_of_freedom, live.cost, live.n_draws, live.n_queries] == found
    assert live.std_error == math.sqrt(run.variances[r, k])
    assert (live.n_items, live.n_open) == (run.n_items[r, k], run.n_open[r, k])
    if isinstance(live.interval().low, float) and math.isfinite(live.std_error):
        assert (live.interval().low, live.interval().high) == (run.lows[r, k], run.highs[r, k])
