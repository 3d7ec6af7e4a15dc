"""Rehearsals: a method's campaign run on labels that the grade model draws, for what no formula tells beforehand.

A few queries carry most of a comparison: the degrees of freedom of its intervals are a fraction of the judged queries,
and that fraction hangs on fourth moments of what the labels add. Labels drawn from the model show it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from activeeval.design import Beliefs, Design
from activeeval.measures import Target
from activeeval.pool import Seed
from activeeval.simulation import replicate

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_SETS, _REPETITIONS = 4, 25
"""Of labels, and of samples for each: the fraction then varies by about a tenth of itself, a half-width of 20 degrees
of freedom by less than a hundredth."""
SHARES = (0.02, 0.05, 0.1, 0.2, 0.4, 0.7)
"""Of the cost of everything: a plan says the same of a budget whatever else is asked."""
_MANY_ITEMS = 100_000
"""Of a larger pool one set of labels says as much: it has more queries."""
MOST_ITEMS = 1_000_000
"""Of a larger pool a sample has so many queries that their degrees of freedom hardly matter: it is not rehearsed."""


def drawn_labels(beliefs: Beliefs, rng: Seed) -> Ints:
    """Return grades drawn from a model, shape (n_items,): a node for each query, then its items' grades given that."""
    random = np.random.default_rng(rng)
    offsets = beliefs.query_offsets
    n_queries, n_items = offsets.size - 1, int(offsets[-1])
    cumulated = np.cumsum(beliefs.weights, axis=1)
    nodes = (random.random((n_queries, 1)) * cumulated[:, -1:] >= cumulated).sum(axis=1)
    nodes = np.minimum(nodes, beliefs.weights.shape[1] - 1)
    probs = beliefs.nodes[np.repeat(nodes, np.diff(offsets)), np.arange(n_items)]
    tails = np.cumsum(probs, axis=1)
    return np.asarray((random.random((n_items, 1)) * tails[:, -1:] >= tails).sum(axis=1), dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Evenness:
    """Which fraction of the judged queries that chance chose the degrees of freedom are, by the budget.

    Attributes
    ----------
    budgets, shares : ndarray, shape (n,)
        Where it was looked up, ascending, and what it is there; between them by the logarithm of the budget.
    """

    budgets: Floats
    shares: Floats

    def at(self, budget: float) -> float:
        """Return the fraction at a budget in mean items."""
        if not self.budgets.size:
            return 1.0
        return float(np.interp(np.log(budget), np.log(self.budgets), self.shares))


def evenness(design: Design, beliefs: Beliefs, rng: Seed = 0, *, target: Target | None = None) -> Evenness:
    """Return how even the judged queries are, of campaigns on labels that the model draws, at `SHARES` of the cost.

    Parameters
    ----------
    design : Design
    beliefs : Beliefs
        What labels are drawn from.
    target : Target, optional
        The first that the design was made for by default.
    """
    least = design.scheme.least(design.order)
    budgets = [share * design.cost for share in SHARES if share * design.cost >= least]
    if not budgets:
        return Evenness(np.empty(0), np.empty(0))
    n_sets = _SETS if design.pool.n_items <= _MANY_ITEMS else 1
    shares: list[list[float]] = [[] for _ in budgets]
    for seed in np.random.SeedSequence(np.random.default_rng(rng).integers(2**31)).spawn(n_sets):
        run = replicate(design, drawn_labels(beliefs, seed), budgets, _REPETITIONS, seed, target=target)
        tells = np.isfinite(run.variances) & np.isfinite(run.degrees_of_freedom) & (run.n_open > 0)
        for own, one, n_open, freedom in zip(shares, tells.T, run.n_open.T, run.degrees_of_freedom.T, strict=True):
            own += (freedom[one] / n_open[one]).tolist()
    found = [float(np.clip(np.median(own), 0.0, 1.0)) if own else 1.0 for own in shares]
    return Evenness(np.array(budgets), np.array(found))
