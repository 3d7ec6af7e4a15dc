"""Learning curves on simulated pairs: precision, similarity, accuracy by DCG difference; agreement of two measures."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from activeeval.core.measures import Additive
from activeeval.gains import coherence, random_list_pairs, read_out, similarity
from activeeval.gains.learner import GRID
from benchmarks.metric_learning.data import (
    DISCOUNTS,
    ONE_LIST,
    OTHER,
    PAIRS,
    SHAPES,
    TRUTHS,
    Floats,
    Pairs,
    draw,
    learned,
    orders_of,
)
from benchmarks.metric_learning.running import Found, Row

N_TEST = 20_000
EDGES = {
    "Data 1": (0, 0.25, 0.5, 0.75, 1, 1.5, 2, 2.5, 3, 4, np.inf),
    "Data 2": (0, 1, 2, 4, 6, 8, 12, 16, 20, 30, np.inf),
}
BINNED = (200, 800)
AGREEMENT_EDGES = np.arange(0, 10.01, 0.25)
CODINGS = {"1 to 5": 1, "0 to 4": 0}
"""How five grades are numbered, by the number of the worst; coded from 0, 2^l − 1 is half as far apart."""
LOGARITHMS = {"natural log": 1.0, "log2": np.log(2), "log10": np.log(10)}


def curves(rng: np.random.Generator) -> Iterator[Found]:
    """Learn from 20 to 800 random pairs of orders of one list; C by cross-validation, and the best C in hindsight."""
    for name, truth in TRUTHS.items():
        train, test = (draw(orders_of(ONE_LIST), truth, n, rng) for n in (max(PAIRS), N_TEST))
        other = TRUTHS[OTHER[name]]
        baseline = {"precision": test.precision(other), "similarity": similarity(other, truth)}
        yield "baseline", {"data": name}, baseline
        yield from by_difference({"data": name, "weights": "Other"}, test, other, EDGES[name])
        for shape in SHAPES:
            for n in PAIRS:
                keys = {"data": name, "shape": shape, "pairs": n}
                learner = learned(train[:n].preferences(), shape=shape)
                weights = learner.weights_
                program = learner.program(train[:n].preferences())
                hindsight = max(test.precision(program.solve(C)) for C in GRID)
                yield (
                    "curve",
                    keys,
                    {
                        "precision": test.precision(weights),
                        "similarity": similarity(weights, truth),
                        "best C in hindsight": hindsight,
                        "log10 of C": np.log10(learner.C_),
                    },
                )
                if n in BINNED:
                    label = {"data": name, "weights": f"{shape}, {n} pairs"}
                    yield from by_difference(label, test, weights, EDGES[name])
                if n == max(PAIRS):
                    yield from one_list_discounts({"data": name, "shape": shape}, weights)


def at_200(rng: np.random.Generator) -> Iterator[Found]:
    """Learn from 200 pairs by the paper's program, five times a repetition: it comes out close to its bar."""
    for name, truth in TRUTHS.items():
        for _ in range(5):
            train, test = (draw(orders_of(ONE_LIST), truth, n, rng) for n in (200, N_TEST))
            weights = learned(train.preferences(), shape="monotone").weights_
            yield "curve", {"data": name, "shape": "monotone", "pairs": 200}, {"precision": test.precision(weights)}


def by_difference(keys: Row, test: Pairs, weights: Floats, edges: tuple[float, ...]) -> Iterator[Found]:
    """Return the accuracy among test pairs of alike true differences."""
    rights, sizes = test.rights(weights), np.abs(test.gaps)
    for low, high in pairwise(edges):
        own = rights[(sizes >= low) & (sizes < high)]
        high_key = None if np.isinf(high) else high
        yield "by difference", keys | {"low": low, "high": high_key}, {"precision": own.mean() if own.size else np.nan}


def one_list_discounts(keys: Row, weights: Floats) -> Iterator[Found]:
    """Read discounts, but for a constant that is added to all, and gains from lists of the same grades."""
    discounts, gains = ratios(weights)
    true_discounts, true_gains = ratios(TRUTHS[keys["data"]])
    for rank, (found, true) in enumerate(zip(discounts, true_discounts, strict=True), 1):
        yield "read-out", keys | {"of": "discount", "number": rank}, _beside(found, true)
    for grade, (found, true) in enumerate(zip(gains, true_gains, strict=True)):
        yield "read-out", keys | {"of": "gain", "number": grade}, _beside(found, true)


def _beside(found: float, true: float) -> dict[str, float]:
    return {"found": found, "true": true, "error": abs(found - true)}


def ratios(weights: Floats) -> tuple[Floats, Floats]:
    """Return (c_k − c_K) / (c_1 − c_K) and gains as shares of the best grade's."""
    found = read_out(weights)
    last = found.discounts[-1]
    return (found.discounts - last) / (1 - last), found.gains


def agreement(rng: np.random.Generator) -> Iterator[Found]:
    """Compare gains 2^l − 1 and l with the same discounts, by their DCG difference under the former.

    The paper numbers grades from 1 in one place and from 0 in another: both.
    """
    lists, others = random_list_pairs(ONE_LIST, 100_000, rng=rng)
    for grades, least in CODINGS.items():
        labels = np.arange(least, least + 5)
        for name, base in LOGARITHMS.items():
            measures = (Additive(gains, base * DISCOUNTS) for gains in (2.0**labels - 1, labels))
            report = coherence(*measures, lists, others, AGREEMENT_EDGES)
            shares = np.array([one.agree for one in report.bins])
            centres = (AGREEMENT_EDGES[:-1] + AGREEMENT_EDGES[1:]) / 2
            keys = {"grades": grades, "discount": name}
            for one, centre in zip(report.bins, centres, strict=True):
                yield "share", keys | {"difference": centre}, {"agree": one.agree, "pairs": one.pairs}
            kept = ~np.isnan(shares)
            smooth = np.polynomial.Polynomial.fit(centres[kept], shares[kept], 4)
            crossing = np.interp(0.8, smooth(centres[kept]), centres[kept])
            found = {"agree at 1": smooth(1.0), "difference at 80 %": crossing, "all": report.agree}
            yield "summary", keys, found
