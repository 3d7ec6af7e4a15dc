"""Gains and discounts that are read out of truncated lists, beside the true ones; coverage of bootstrap intervals."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from activeeval.gains import bootstrap_gains, read_out, similarity
from benchmarks.metric_learning.data import LONG_LIST, N_RANKS, SHAPES, TRUTHS, draw, learned, orders_of
from benchmarks.metric_learning.running import Found

N_PAIRS = (200, 800)
N_RESAMPLES = 50


def truncated(rng: np.random.Generator) -> Iterator[Found]:
    """Learn from the top 10 of 20 documents, and see which intervals hold the truth."""
    for name, truth in TRUTHS.items():
        true = read_out(truth)
        train = draw(orders_of(LONG_LIST, N_RANKS), truth, max(N_PAIRS), rng)
        test = draw(orders_of(LONG_LIST, N_RANKS), truth, 20_000, rng)
        for shape, n in product(SHAPES, N_PAIRS):
            data = train[:n].preferences()
            learner = learned(data, shape=shape)
            found = learner.read_out()
            keys = {"data": name, "shape": shape, "pairs": n}
            weights = learner.weights_
            values = {"precision": test.precision(weights), "similarity": similarity(weights, truth)}
            yield "truncated", keys, values | {"rank-one share": found.rank_one_share}
            stability = bootstrap_gains(learner, data, N_RESAMPLES, rng)
            # the first discount and the first and last gain are 0 or 1 by definition
            for what, inner, told, real in (
                ("discounts", slice(1, None), found.discounts, true.discounts),
                ("gains", slice(1, -1), found.gains, true.gains),
            ):
                low, high = (end[inner] for end in stability.interval(what))
                holds = (low <= real[inner]) & (real[inner] <= high)
                values = {"coverage": holds.mean(), "width": (high - low).mean()}
                values |= {"bias": (told - real)[inner].mean(), "error": np.abs(told - real)[inner].mean()}
                yield "coverage", keys | {"of": what}, values
                for number in np.arange(real.size)[inner]:
                    one = {"found": told[number], "true": real[number], "error": abs(told[number] - real[number])}
                    yield (
                        "read-out",
                        keys | {"of": what[:-1], "number": int(number)},
                        one | {"coverage": holds[number - inner.start]},
                    )
