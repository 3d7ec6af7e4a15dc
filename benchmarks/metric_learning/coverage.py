"""How often the intervals of gains and discounts hold the true ones, over pairs, noise, ranks and measures."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from activeeval.core.errors import InputError
from activeeval.core.types import Floats
from activeeval.gains import bootstrap_gains, gain_intervals
from benchmarks.metric_learning.data import EQUAL, Lists, Pairs, draw, learned
from benchmarks.metric_learning.running import Found, Row

PAIRS = (20, 50, 100, 200, 400, 800, 1600)
OF_TEN = (20, 100, 400, 1600)
FEW_KINDS = (100, 400)
NOISE = ("none", "a tenth turned", "a quarter turned", "logistic")
TURNED = {"a tenth turned": 0.1, "a quarter turned": 0.25}
STEEPNESS = 5.0  # of the logistic noise, in gains of the best grade: it turns 17 to 20 % of these pairs
LARGE = 100.0  # C: the penalty pulls little, so that intervals are hardly stretched to hold what was learned
N_RESAMPLES = 50
TOP = 4


def truths(n_ranks: int) -> dict[str, tuple[Floats, Floats]]:
    """Return discounts and gains by name, on the scale of what is read out."""
    ranks, grades = np.arange(1, n_ranks + 1), np.arange(TOP + 1.0)
    usual, exponential = 1 / np.log2(1 + ranks), (2**grades - 1) / (2**TOP - 1)
    return {
        "2^y − 1, 1 / log2(1 + k)": (usual, exponential),
        "y, 1 / log2(1 + k)": (usual, grades / TOP),
        "2^y − 1, 1 / 2^(k − 1)": (0.5 ** (ranks - 1), exponential),
    }


def noisy(pairs: Pairs, noise: str, rng: np.random.Generator) -> Pairs:
    """Turn some preferences round."""
    by_gap = 1 / (1 + np.exp(STEEPNESS * np.abs(pairs.gaps)))
    share = by_gap if noise == "logistic" else np.full(len(pairs), TURNED.get(noise, 0.0))
    return Pairs(pairs.first, pairs.second, np.where(rng.random(len(pairs)) < share, -pairs.gaps, pairs.gaps))


def of_five(rng: np.random.Generator) -> Iterator[Found]:
    """Learn from lists of five ranks."""
    return _coverage_of(5, PAIRS, rng)


def of_ten(rng: np.random.Generator) -> Iterator[Found]:
    """Learn from lists of ten ranks."""
    return _coverage_of(10, OF_TEN, rng)


def _coverage_of(n_ranks: int, sizes: tuple[int, ...], rng: np.random.Generator) -> Iterator[Found]:
    """Learn from random lists of five grades; each repetition takes one of the measures for all its cells."""
    name, (discounts, gains) = list(truths(n_ranks).items())[int(rng.integers(3))]
    every = draw(lists_of(n_ranks, TOP), np.outer(discounts, gains), max(sizes), rng)
    for noise in NOISE:
        told = noisy(every, noise, rng)
        for n in sizes:
            yield from _held(told[:n], discounts, gains, {"ranks": n_ranks, "noise": noise, "pairs": n}, name)


def few_kinds(rng: np.random.Generator) -> Iterator[Found]:
    """Learn from lists of five with two or three grades, which make few kinds of pairs; and resample the pairs."""
    for top, noise, n in product((1, 2), NOISE, FEW_KINDS):
        discounts, gains = 1 / np.log2(1 + np.arange(1, 6)), np.arange(top + 1.0) / top
        told = noisy(draw(lists_of(5, top), np.outer(discounts, gains), n, rng), noise, rng)
        keys = {"grades": top + 1, "noise": noise, "pairs": n}
        yield from _held(told, discounts, gains, keys)
        if noise == "none":
            data = told.preferences(top=top)
            low, high = bootstrap_gains(learned(data, C=LARGE), data, N_RESAMPLES, rng).interval("discounts")
            values = _coverage(np.array([low, high])[:, 1:], discounts[1:])
            yield "resampled", keys, values


def lists_of(n_ranks: int, top: int) -> Lists:
    """Make a function that draws pairs of lists of any grades."""
    return lambda n, rng: tuple(rng.integers(0, top + 1, (2, n, n_ranks)))


def _held(pairs: Pairs, discounts: Floats, gains: Floats, keys: Row, name: str | None = None) -> Iterator[Found]:
    data = pairs.preferences(top=len(gains) - 1)
    learner = learned(data, C=LARGE)
    try:
        found = gain_intervals(learner, data)
    except InputError:
        yield "given", keys, {"given": 0.0}
        return
    yield "given", keys, {"given": 1.0}
    for what, ends, true in (
        ("discounts", found.discounts[:, 1:], discounts[1:]),
        ("gains", found.gains[:, 1:-1], gains[1:-1]),
    ):
        if true.size:
            values = _coverage(ends, true)
            yield "intervals", keys | {"of": what}, values
            if name:
                yield "by measure", {"measure": name} | keys | {"of": what}, values


def _coverage(ends: Floats, true: Floats) -> dict[str, float]:
    low, high = ends
    holds = (low <= true + EQUAL) & (true <= high + EQUAL)
    return {"coverage": float(holds.mean()), "width": float((high - low).mean())}
