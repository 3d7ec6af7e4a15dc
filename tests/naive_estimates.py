"""Obviously right, slow forms of estimators and samples: plain loops, no numba; with fractions they are exact."""

import itertools
import math

import numpy as np

from activeeval.core.design import Selection


def quadratic(within, coefficients):
    """The quadratic form of (1, −B), of the upper triangle ``within`` row by row; B may be shorter than it is wide."""
    sides = [1, *(-b for b in coefficients)]
    width = next(w for w in itertools.count(1) if w * (w + 1) == 2 * len(within))
    pairs = ((a, b) for a in range(width) for b in range(a, width))
    terms = ((s, a, b) for s, (a, b) in zip(within, pairs, strict=True) if b < len(sides))
    return sum(s * sides[a] * sides[b] * (1 if a == b else 2) for s, a, b in terms)


def entry(within, width, a, b):
    """What the upper triangle, row by row, says in row a and column b."""
    a, b = min(a, b), max(a, b)
    return within[sum(width - row for row in range(a)) + b - a]


def solved(matrix, right):
    """x of ``matrix`` x = ``right`` by elimination; the matrix is positive definite."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for a in range(len(rows)):
        rows[a] = [value / rows[a][a] for value in rows[a]]
        for b in range(len(rows)):
            if b != a:
                rows[b] = [x - rows[b][a] * y for x, y in zip(rows[b], rows[a], strict=True)]
    return [row[-1] for row in rows]


def normal_matrix(omega, keep, totals, within):
    """Σ ω² (keep t t' + (1 − keep) S) of t = (y, z)."""
    width = len(totals[0])
    return [
        [
            sum(
                o**2 * (k * t[a] * t[b] + (1 - k) * entry(s, width, a, b))
                for o, k, t, s in zip(omega, keep, totals, within, strict=True)
            )
            for b in range(width)
        ]
        for a in range(width)
    ]


def regression(omega, keep, totals, within, population, k):
    """B of the first k regressors, and g = 1 + (Z̄ − Σ ω z)' H⁻¹ ω keep z of every query."""
    h = normal_matrix(omega, keep, totals, within)
    inner = [row[1 : k + 1] for row in h[1 : k + 1]]
    gap = [population[a] - sum(o * t[a + 1] for o, t in zip(omega, totals, strict=True)) for a in range(k)]
    lift = solved(inner, gap)
    g = [
        1 + o * p * sum(x * z for x, z in zip(lift, t[1 : k + 1], strict=True))
        for o, p, t in zip(omega, keep, totals, strict=True)
    ]
    return solved(inner, h[0][1 : k + 1]), g


def press(omega, keep, totals, within, k):
    """Σ ω² (keep e² + (1 − keep) |s|) / (1 − l)², l = ω² keep z' H⁻¹ z, of a fit of the first k regressors."""
    h = normal_matrix(omega, keep, totals, within)
    inner = [row[1 : k + 1] for row in h[1 : k + 1]]
    b, total = solved(inner, h[0][1 : k + 1]), 0
    for o, p, t, own in zip(omega, keep, totals, within, strict=True):
        z = t[1 : k + 1]
        lever = o**2 * p * sum(x * y for x, y in zip(z, solved(inner, z), strict=True))
        e = t[0] - sum(x * y for x, y in zip(b, z, strict=True))
        total += o**2 * (p * e**2 + (1 - p) * abs(quadratic(own, b))) / (1 - lever) ** 2
    return total


def n_regressors(omega, keep, totals, within, most):
    """How many of the first regressors predict best the queries that have no part in the fit."""
    return min(range(1, most + 1), key=lambda k: press(omega, keep, totals, within, k))


def linear(omega, keep, totals, within, population, coefficients, g):
    """R̂ = Z̄'B + Σ ω e, what each query adds to the error, g ω e, and to V̂, (g ω)² (keep e² + (1 − keep) s)."""
    e = [t[0] - sum(b * z for b, z in zip(coefficients, t[1:], strict=False)) for t in totals]
    s = [quadratic(own, coefficients) for own in within]
    value = sum(b * z for b, z in zip(coefficients, population, strict=False))
    value += sum(o * x for o, x in zip(omega, e, strict=True))
    shares = [(x * o) ** 2 * (k * y**2 + (1 - k) * v) for x, o, k, y, v in zip(g, omega, keep, e, s, strict=True)]
    return value, [x * o * y for x, o, y in zip(g, omega, e, strict=True)], shares


def degrees(shares, n_fitted):
    """1/df = 1/(n − k) + (Σ v² / (Σ v)² − 2/n)₊, at least one degree; a negative share counts as nothing."""
    v = [max(one, 0) for one in shares]
    n, uneven = len(v), sum(one**2 for one in v) / sum(v) ** 2 if any(v) else 0
    return max(1 / (1 / (n - n_fitted) + max(uneven - 2 / n, 0)), 1)


def selections(order, level):
    """Every sample of an order at a fixed level, with its chance."""
    pi, a = order.inclusion_probs(level)
    options = []
    for q in range(order.n_queries):
        first = int(order.offsets[q])
        # but for those that never come last
        own = [float(rate / pi[q]) for rate in a[first : order.offsets[q + 1]] if rate > 0]
        parts = (prefixes if order.is_nested else subsets)(first, own) if own else [(1.0, [])]
        options.append([(1 - pi[q], None), *((pi[q] * chance, list(slots)) for chance, slots in parts)])
    for chosen in itertools.product(*options):
        chance = math.prod(p for p, _ in chosen)
        if chance <= 0:
            continue
        drawn = [(q, slots) for q, (_, slots) in enumerate(chosen) if slots is not None]
        yield (
            chance,
            Selection(
                queries=np.array([q for q, _ in drawn], dtype=np.int64),
                counts=np.array([len(slots) for _, slots in drawn], dtype=np.int64),
                places=np.array([i for _, slots in drawn for i in slots], dtype=np.int64),
                level=level,
                cost=math.nan,
            ),
        )


def prefixes(first, rates):
    """Every prefix of a query's items with its probability once the query is drawn."""
    following = [*rates[1:], 0.0]
    return [(g - after, range(first, first + k)) for k, (g, after) in enumerate(zip(rates, following, strict=True), 1)]


def subsets(first, rates):
    """Every subset of a query's items with its probability once the query is drawn."""
    chosen = itertools.product((False, True), repeat=len(rates))
    return [
        (
            math.prod(g if is_in else 1 - g for is_in, g in zip(chosen_ones, rates, strict=True)),
            [first + i for i, is_in in enumerate(chosen_ones) if is_in],
        )
        for chosen_ones in chosen
    ]
