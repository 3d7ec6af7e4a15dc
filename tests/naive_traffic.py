"""Priority sampling by its definition, integrated over all numbers: what the fast code must agree with."""

from itertools import combinations, pairwise

import numpy as np


def pieces(sizes, n_nodes=6):
    """Yield thresholds and their weights: Gauss-Legendre between the points 1 / f, exact on polynomials."""
    x, w = np.polynomial.legendre.leggauss(n_nodes)
    ends = [0.0, *sorted({1 / f for f in sizes})]
    for low, high in pairwise(ends):
        for node, weight in zip(x, w, strict=True):
            yield (low + high) / 2 + node * (high - low) / 2, weight * (high - low) / 2


def samples(sizes, n):
    """Yield each sample of n, its threshold T and the weight of both in an integral over all numbers.

    T is the level u / f of one of the others, with density f where f T < 1; those in the sample lie below it, with
    chance min(1, f T), and the rest above.
    """
    everything = range(len(sizes))
    for chosen in combinations(everything, n):
        others = [k for k in everything if k not in chosen]
        for next_one in others:
            for t, weight in pieces(sizes):
                if sizes[next_one] * t >= 1:
                    continue
                density = sizes[next_one]
                for k in chosen:
                    density *= min(1.0, sizes[k] * t)
                for k in others:
                    if k != next_one:
                        density *= 1 - min(1.0, sizes[k] * t)
                if density > 0:
                    yield np.array(chosen), t, weight * density
