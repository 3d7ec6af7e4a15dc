"""Obviously right, slow forms that the kernels are held against: enumeration and plain loops, no numba.

Arithmetic is that of the arguments, so `fractions.Fraction` probabilities give exact answers.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy.optimize import minimize

from activeeval import QueryPool, Rankings

# Cases


def pool_of(lengths, **fields):
    """Return a pool whose queries q0, q1 … own that many items each, numbered from 1."""
    return QueryPool([f"q{i}" for i in range(len(lengths))], np.concatenate(([0], np.cumsum(lengths))), **fields)


def rankings_of(pool, lists):
    """Return rankings from one list a query of item numbers within the query, best first."""
    offsets = np.concatenate(([0], np.cumsum([len(one) for one in lists])))
    items = [int(pool.query_offsets[q]) + z for q, one in enumerate(lists) for z in one]
    return Rankings(pool, offsets, np.array(items, dtype=np.int64))


def random_lists(random, lengths, least=0):
    """Return one list a query: a random part, at least ``least`` long, of its items in random order."""
    return [random.permutation(n)[: random.integers(min(least, n), n + 1)].tolist() for n in lengths]


def random_probs(random, n_items, n_grades):
    return random.dirichlet(np.full(n_grades, 0.7), size=n_items)


# Values of one ranked list of grades; a negative grade means that nobody judged the item


def additive_value(grades, gains, discounts, ranking):
    """Σ_i c_i g(y_i), eq. (1)."""
    return sum(c * gains[grades[z]] for c, z in zip(discounts, ranking, strict=False) if grades[z] >= 0)


def cascade_value(grades, stop_probs, discounts, ranking):
    """Σ_i c_i ℓ(y_i) Π_{l<i} (1 − ℓ(y_l)), eq. (2)."""
    value, reach = 0, 1
    for c, z in zip(discounts, ranking, strict=False):
        if grades[z] >= 0:
            value += c * reach * stop_probs[grades[z]]
            reach *= 1 - stop_probs[grades[z]]
    return value


def dcg(grades, ranking, gain=lambda y: 2**y - 1, cutoff=None):
    return sum(gain(grades[z]) / math.log2(i + 2) for i, z in enumerate(ranking[:cutoff]) if grades[z] > 0)


def ndcg(grades, ranking, gain=lambda y: 2**y - 1, cutoff=None):
    best = dcg(grades, sorted(range(len(grades)), key=lambda z: -grades[z]), gain, cutoff)
    return dcg(grades, ranking, gain, cutoff) / best if best > 0 else 0.0


def err(grades, ranking, max_grade, cutoff=None):
    value = 0.0
    for i, z in enumerate(ranking[:cutoff]):
        earlier = [1 - (2 ** grades[w] - 1) / 2**max_grade for w in ranking[:i] if grades[w] > 0]
        stop = (2 ** grades[z] - 1) / 2**max_grade if grades[z] > 0 else 0.0
        value += stop * math.prod(earlier) / (i + 1)
    return value


def average_precision(grades, ranking, rel=1, cutoff=None):
    relevant = [y >= max(rel, 0) for y in grades]
    hits = [i for i, z in enumerate(ranking[:cutoff]) if relevant[z]]
    return sum((n + 1) / (i + 1) for n, i in enumerate(hits)) / sum(relevant) if any(relevant) else 0.0


# Moments of one query under a grade model


def enumerated_moments(value, probs, worth, discounts, ranking, versus=()):
    """E[δ] and E[δ²] of value(ranking) − value(versus), summed over all label vectors."""
    mean = second = 0
    used = sorted({*ranking, *versus})
    for labels in itertools.product(range(len(worth)), repeat=len(used)):
        grades = dict(zip(used, labels, strict=True))
        p = math.prod(probs[z][y] for z, y in grades.items())
        delta = value(grades, worth, discounts, ranking) - value(grades, worth, discounts, versus)
        mean += p * delta
        second += p * delta**2
    return mean, second


def cascade_cross(probs, stop_probs, discounts, first, second):
    """E[L_1 L_2] by the paper's loop over pairs of ranks; needs f > 0 for every ranked item."""
    e = {z: sum(p * stop for p, stop in zip(probs[z], stop_probs, strict=True)) for z in {*first, *second}}
    s = {z: sum(p * stop**2 for p, stop in zip(probs[z], stop_probs, strict=True)) for z in e}
    f, t, h = {z: 1 - e[z] for z in e}, {z: e[z] - s[z] for z in e}, {z: 1 - 2 * e[z] + s[z] for z in e}
    total = 0
    for i, (c_i, z) in enumerate(zip(discounts, first, strict=False)):
        prefix1 = set(first[:i])
        product = math.prod(f[x] for x in first[:i])
        for j, (c_j, w) in enumerate(zip(discounts, second, strict=False)):
            of_z = t[z] / f[z] if z in second[:j] else e[z]
            of_w = t[w] / f[w] if w in prefix1 else e[w]
            total += c_i * c_j * product * (s[z] if w == z else of_z * of_w)
            product *= h[w] / f[w] if w in prefix1 else f[w]
    return total


def cascade_moments(probs, stop_probs, discounts, ranking, versus=()):
    """E[δ] and E[δ²] of a cascade measure: eqs. (16)–(18) with `cascade_cross` for every product."""
    mean = _cascade_mean(probs, stop_probs, discounts, ranking) - _cascade_mean(probs, stop_probs, discounts, versus)
    pairs = ((ranking, ranking, 1), (ranking, versus, -2), (versus, versus, 1))
    return mean, sum(k * cascade_cross(probs, stop_probs, discounts, a, b) for a, b, k in pairs)


def _cascade_mean(probs, stop_probs, discounts, ranking):
    mean, reach = 0, 1
    for c, z in zip(discounts, ranking, strict=False):
        e = sum(p * stop for p, stop in zip(probs[z], stop_probs, strict=True))
        mean += c * reach * e
        reach *= 1 - e
    return mean


# What is expected while labels are revealed, and every sample that a Poisson design may give


def expected_given(value, nodes, node_weights, known):
    """E[value(grades) | known labels] over all labels of the other items; None where the model excludes them.

    A negative label says that the item could not be judged: it teaches nothing.
    """
    free = [z for z in range(len(nodes[0])) if z not in known]
    total = mass = 0
    for labels in itertools.product(range(len(nodes[0][0])), repeat=len(free)):
        grades = known | dict(zip(free, labels, strict=True))
        p = likelihood(nodes, node_weights, grades)
        total += p * value(grades)
        mass += p
    return total / mass if mass > 0 else None


def likelihood(nodes, node_weights, grades):
    """p(grades): grades are independent given a node."""
    judged = [(z, y) for z, y in grades.items() if y >= 0]
    return sum(w * math.prod(probs[z][y] for z, y in judged) for w, probs in zip(node_weights, nodes, strict=True))


def prefix_value(path, rates):
    """L̃ = m + Σ D_k/G_k and its variance (L̃ − m)² − Σ ((f_k − m)² − (f_{k−1} − m)²)/G_k, of f_0 … f_k."""
    m, moved, square = path[0], 0, 0
    for before, f, rate in zip(path, path[1:], rates, strict=False):
        moved += (f - before) / rate
        square += ((f - m) ** 2 - (before - m) ** 2) / rate
    return m + moved, moved**2 - square


def items_value(contrast, means, gains, rates, judged):
    """L̃ = Σ c μ + Σ_judged c (g − μ)/G and its variance Σ_judged (1 − G)/G² c² (g − μ)²."""
    value, variance = sum(c * mu for c, mu in zip(contrast, means, strict=True)), 0
    for i in judged:
        gap = contrast[i] * (gains[i] - means[i])
        value += gap / rates[i]
        variance += (1 - rates[i]) / rates[i] ** 2 * gap**2
    return value, variance


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


def poisson_samples(probs, offsets, rates, parts):
    """Every sample of a Poisson design: probability, queries, counts, places; ``parts`` is `prefixes` or `subsets`."""
    options = []
    for q, pi in enumerate(probs):
        first, last = int(offsets[q]), int(offsets[q + 1])
        inside = parts(first, list(rates[first:last])) if last > first else [(1.0, [])]
        options.append([(1 - pi, None), *((pi * chance, slots) for chance, slots in inside)])
    for chosen in itertools.product(*options):
        chance = math.prod(p for p, _ in chosen)
        if chance <= 0:
            continue
        drawn = [(q, list(slots)) for q, (_, slots) in enumerate(chosen) if slots is not None]
        queries = np.array([q for q, _ in drawn], dtype=np.int64)
        counts = np.array([len(slots) for _, slots in drawn], dtype=np.int64)
        yield chance, queries, counts, np.array([i for _, slots in drawn for i in slots], dtype=np.int64)


def poisson_variance(omega, pi, residuals, within):
    """Σ ω² ((1 − π) e² + π s)."""
    return sum(o**2 * ((1 - p) * e**2 + p * s) for o, p, e, s in zip(omega, pi, residuals, within, strict=True))


def optimal_rates(variances, costs, budget, smaller, larger):
    """Minimise Σ V/a subject to Σ cost a = budget, a[smaller] ≤ a[larger], a ≤ 1, by SLSQP in units of the budget."""
    n = variances.size
    constraints = [{"type": "eq", "fun": lambda a: (costs @ a) / budget - 1, "jac": lambda a: costs / budget}]
    if len(smaller):
        rows = np.zeros((len(smaller), n))
        rows[np.arange(len(smaller)), larger], rows[np.arange(len(smaller)), smaller] = 1, -1
        constraints.append({"type": "ineq", "fun": lambda a: rows @ a, "jac": lambda a: rows})
    start = np.full(n, budget / costs.sum())
    scale = (variances / start).sum()
    return minimize(
        lambda a: (variances / a).sum() / scale,
        start,
        jac=lambda a: -variances / a**2 / scale,
        bounds=[(1e-3, 1)] * n,
        constraints=constraints,
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-16},
    ).x


PAPER = ("passive", "active", "active_uniC", "active_uniD")
