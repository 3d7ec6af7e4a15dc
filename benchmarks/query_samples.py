"""How the field samples whole queries with a model's predictions: strata with Neyman's allocation, active inference.

Everything is of the queries that a label can change; estimates are of the mean of their values.

- Stratified sampling: Neyman, JRSS 97, 1934; with costs, Cochran, Sampling Techniques, 1977, 5.5.
- Active statistical inference: Zrnic and Candès, ICML 2024, power-tuned as in Angelopoulos, Duchi and Zrnic's PPI++:
  y ξ/π + β f (1 − ξ/π), β the coefficient with the least variance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

N_STRATA = 5
"""Few, as a tenth of some pools is two or three dozen queries, two a stratum at the least."""
MIXED = (0.0, 0.2)
"""Shares of a uniform sample in the probabilities of active inference, as its authors advise."""
LEAST_SPREAD = 1e-3
"""Of the largest predicted spread: no query is certain beforehand."""
_CLOSE = 60


@dataclass(frozen=True, slots=True, eq=False)
class Queries:
    """Values of queries, what a model predicts of them and how far off it may be, and what judging each costs whole."""

    values: Floats
    predictions: Floats
    spreads: Floats
    costs: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """What a baseline says in one configuration: estimates (repetitions,), and what it spent on average."""

    baseline: str
    configuration: str
    estimates: Floats
    spent: float


def samples(queries: Queries, budget: float, repetitions: int, rng: np.random.Generator) -> Iterator[Found]:
    """Return every baseline on whole queries, in all configurations."""
    for name, keys in (("predictions", queries.predictions), ("spreads", queries.spreads)):
        strata = np.argsort(np.argsort(keys, kind="stable")) * N_STRATA // keys.size
        sizes = neyman(queries, strata, budget)
        if sizes is not None:
            estimates = stratified(queries.values, strata, sizes, repetitions, rng)
            mean_costs = np.bincount(strata, queries.costs) / np.bincount(strata)
            yield Found("stratified queries", f"strata by {name}", estimates, float(sizes @ mean_costs))
    for mixed in MIXED:
        probs = active_probs(queries, budget, mixed)
        estimates = active(queries.values, queries.predictions, probs, repetitions, rng)
        yield Found("active inference", f"{mixed:.0%} uniform", estimates, float(probs @ queries.costs))


def neyman(queries: Queries, strata: Ints, budget: float) -> Ints | None:
    """Allocate queries to strata, n_h ∝ N_h S_h / sqrt(λ_h), two at least; None where these cost more.

    S_h² is what the model expects: the mean squared spread of the stratum's queries, and the variance of their
    predictions.
    """
    held = np.bincount(strata)
    costs, inside, mean, square = (
        np.bincount(strata, each) / held
        for each in (queries.costs, queries.spreads**2, queries.predictions, queries.predictions**2)
    )
    wanted = held * np.sqrt(inside + np.maximum(square - mean**2, 0.0)) / np.sqrt(costs)
    wanted = np.maximum(wanted, 1e-9 * held)
    least = np.minimum(2, held)

    def sizes(scale: float) -> Ints:
        return np.clip(np.floor(scale * wanted), least, held).astype(np.int64)

    if least @ costs > budget:
        return None
    low, high = 0.0, float((held / wanted).max()) + 1.0
    for _ in range(_CLOSE):
        middle = (low + high) / 2
        low, high = (middle, high) if sizes(middle) @ costs <= budget else (low, middle)
    return sizes(low)


def stratified(values: Floats, strata: Ints, sizes: Ints, repetitions: int, rng: np.random.Generator) -> Floats:
    """Return stratified means, Σ (N_h/N) ȳ_h, of as many samples without replacement, shape (repetitions,)."""
    found = np.zeros(repetitions)
    for h, size in enumerate(sizes):
        own = values[strata == h]
        found += own.size / values.size * own[subsets(own.size, int(size), repetitions, rng)].mean(axis=1)
    return found


def active_probs(queries: Queries, budget: float, mixed: float) -> Floats:
    """Return π ∝ spread / sqrt(λ), a share of it uniform, 1 at most, that cost the budget on average."""
    spreads = np.maximum(queries.spreads, LEAST_SPREAD * queries.spreads.max())
    wanted = spreads / np.sqrt(queries.costs)
    wanted = (1 - mixed) * wanted / wanted.mean() + mixed
    low, high = 0.0, float(1.0 / wanted.min())
    for _ in range(_CLOSE):
        middle = (low + high) / 2
        low, high = (middle, high) if np.minimum(1.0, middle * wanted) @ queries.costs <= budget else (low, middle)
    return np.minimum(1.0, low * wanted)


def active(values: Floats, predictions: Floats, probs: Floats, repetitions: int, rng: np.random.Generator) -> Floats:
    """Return power-tuned active estimates of the mean, shape (repetitions,)."""
    weights = (rng.random((repetitions, values.size)) < probs) / probs
    known, gap = weights * values, predictions * (1.0 - weights)
    known_mean, gap_mean = known.mean(axis=1), gap.mean(axis=1)
    covariance = (known * gap).mean(axis=1) - known_mean * gap_mean
    variance = (gap**2).mean(axis=1) - gap_mean**2
    beta = -np.divide(covariance, variance, out=np.zeros(repetitions), where=variance > 0)
    return known_mean + beta * gap_mean


def subsets(size: int, n: int, repetitions: int, rng: np.random.Generator) -> Ints:
    """Return random subsets of n of ``size``, shape (repetitions, n)."""
    if n >= size:
        return np.broadcast_to(np.arange(size), (repetitions, size))
    return np.argpartition(rng.random((repetitions, size)), n, axis=1)[:, :n]
