"""Obviously right, slow forms that the kernels are held against: enumeration and plain loops, no numba.

Arithmetic is that of the arguments, so `fractions.Fraction` probabilities give exact answers.
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from activeeval import QueryPool, Rankings
from activeeval.core.design import Selection
from activeeval.core.estimation import evaluate, evidence_of

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


def recall(grades, ranking, rel=1, cutoff=None):
    relevant = [y >= max(rel, 0) for y in grades]
    return sum(relevant[z] for z in ranking[:cutoff]) / sum(relevant) if any(relevant) else 0.0


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


# What is expected while labels are revealed, and what is seen of it


def expected_given(value, nodes, node_weights, known):
    """E[value(grades) | known labels] over all labels of the other items; None where the model excludes them."""
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
    chances = [math.prod(probs[z][y] for z, y in grades.items()) for probs in nodes]
    return sum(w * chance for w, chance in zip(node_weights, chances, strict=True))


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


def poisson_variance(omega, pi, residuals, within):
    """Σ ω² ((1 − π) e² + π s)."""
    return sum(o**2 * ((1 - p) * e**2 + p * s) for o, p, e, s in zip(omega, pi, residuals, within, strict=True))


# Numbers that belong to ids: FNV-1a and splitmix64 as they were published, in whole numbers of any size

_WORD = 2**64 - 1


def fnv1a(data, start=0xCBF29CE484222325):
    """FNV-1a of 64 bits (Fowler, Noll, Vo) of bytes."""
    for byte in data:
        start = ((start ^ byte) * 0x100000001B3) & _WORD
    return start


def splitmix(state):
    """The output of splitmix64 (Steele, Lea, Flood 2014) at a state."""
    z = (state + 0x9E3779B97F4A7C15) & _WORD
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _WORD
    return z ^ (z >> 31)


def id_hash(start, text):
    """The hash of an id: of the UTF-8 bytes, their number before them and a finaliser behind them."""
    data = text.encode()
    return splitmix(fnv1a(data, splitmix(start ^ len(data)) ^ 0xCBF29CE484222325))


def id_hashes(pool):
    """The hashes of all queries and of all items; an item's starts from its query's."""
    queries = [id_hash(0xB7E151628AED2A6B, str(name)) for name in pool.query_ids]
    owners = pool.item_queries.tolist()
    starts = [splitmix(0x243F6A8885A308D3 ^ queries[q]) for q in owners]
    return queries, [id_hash(start, str(name)) for start, name in zip(starts, pool.item_ids, strict=True)]


def number_of(key, word):
    """The number in (0, 1) of a hash under a key: the upper 53 bits of the two mixed."""
    return ((splitmix(int(key) ^ word) >> 11) + 0.5) * 2.0**-53


# Levels, from their definition: t = u / r; s = s_parent if v < r / r_parent, else v / r


@dataclass(frozen=True)
class Roots:
    """A query of an order: roots of the query and of its places, what they cost, whether places follow each other."""

    root: float
    places: tuple
    costs: tuple
    overhead: float
    nested: bool

    def cost(self, judged):
        """What judging some of its places costs."""
        return self.overhead * bool(judged) + sum(self.costs[i] for i in judged)


def roots_of(order):
    """The queries of an order; places are counted within each."""
    spans = [slice(a, b) for a, b in itertools.pairwise(order.offsets.tolist())]
    return [
        Roots(
            float(order.query_rates[q]),
            tuple(order.place_rates[own].tolist()),
            tuple(order.costs[own].tolist()),
            float(order.overheads[q]),
            order.is_nested,
        )
        for q, own in enumerate(spans)
    ]


def place_levels(query, u, v):
    """The level of a query and of each of its places for their numbers; infinite where one never comes."""
    level = above = u / query.root if query.root > 0 else math.inf
    parent, out = query.root, []
    for root, own in zip(query.places, v, strict=True):
        comes = root > 0 and not math.isinf(above)
        out.append((above if own < root / parent else own / root) if comes else math.inf)
        if query.nested:
            above, parent = out[-1], root
    return level, out


def queue_of(queries, numbers):
    """All units of an order, lowest first: (level, query, places, cost); ``numbers`` are u and v of every query."""
    units = []
    for q, (query, (u, v)) in enumerate(zip(queries, numbers, strict=True)):
        levels = place_levels(query, u, v)[1]
        overhead = query.overhead
        for level in sorted({s for s in levels if s < math.inf}):
            places = tuple(i for i, s in enumerate(levels) if s == level)
            units.append((level, q, places, overhead + sum(query.costs[i] for i in places)))
            overhead = 0.0
    return sorted(units)


def paid_units(units, budget):
    """Which of the units, lowest first, a budget pays for, and T: the level of the first that it does not."""
    spent = 0.0
    for k, (level, _, _, cost) in enumerate(units):
        if spent + cost > budget:
            return units[:k], level
        spent += cost
    return units, math.inf


BELOW, AT, ABOVE = range(3)


def standing(level, low, high):
    """Where a number uniform on (low, high) may stand to a level: chances below and above, the density at it."""
    if level <= low:
        return [(ABOVE, 1)]
    if level >= high:
        return [(BELOW, 1)]
    return [(BELOW, (level - low) / (high - low)), (AT, 1 / (high - low)), (ABOVE, (high - level) / (high - low))]


def query_law(query, level):
    """{(places below a level, places at it): chance, or density at the level where there are any}."""
    law = {}

    def follow(i, above, parent, is_density, below, at, chance):
        if chance == 0:
            return
        if i == len(query.places) or (query.places[i] == 0 and query.nested):
            if is_density == bool(at):  # a query that enters at the level without a place is no unit there
                law[below, at] = law.get((below, at), 0) + chance
            return
        root = query.places[i]
        if root == 0:
            follow(i + 1, above, parent, is_density, below, at, chance)
            return
        share, low = (0, 0) if math.isinf(parent) else (root / parent, 1 / parent)
        ways = [(above, share, False)]
        if share < 1:
            ways += [(own, (1 - share) * part, own == AT) for own, part in standing(level, low, 1 / root)]
        for own, part, is_alone in ways:
            if is_alone and is_density:  # two levels at one place have no chance
                continue
            following = (own, root) if query.nested else (above, parent)
            places = (below + (i,) * (own == BELOW), at + (i,) * (own == AT))
            follow(i + 1, *following, is_density or is_alone, *places, chance * part)

    entering = [(ABOVE, 1)] if query.root == 0 else [(BELOW, 1)]
    if 0 < query.root < math.inf:
        entering = standing(level, 0, 1 / query.root)
    for own, part in entering:
        follow(0, own, query.root, own == AT, (), (), part)
    return law


def fixed_samples(queries, level):
    """Every sample below a fixed level: its chance and the places of each query."""
    laws = [{own: chance for (own, at), chance in query_law(query, level).items() if not at} for query in queries]
    for below in itertools.product(*laws):
        yield math.prod(law[own] for law, own in zip(laws, below, strict=True)), below


def threshold_samples(queries, budget, n_nodes=12):
    """Every sample that a budget may pay for: its weight, the places below T of each query, T.

    T is the level of the first unit, by level, that the budget cannot pay: what lies below it is paid for, the unit
    at it is not. Levels of queries are independent and their distribution functions linear between the 1/r, where
    Gauss-Legendre weights integrate.
    """
    ends = sorted({0.0} | {1 / r for query in queries for r in (query.root, *query.places) if 0 < r < math.inf})
    nodes, weights = np.polynomial.legendre.leggauss(n_nodes)
    for low, high in itertools.pairwise(ends):
        for node, weight in zip(nodes.tolist(), weights.tolist(), strict=True):
            level = (low + high) / 2 + (high - low) / 2 * node
            laws = [query_law(query, level) for query in queries]
            for below in itertools.product(*({own for own, _ in law} for law in laws)):
                spent = list(map(Roots.cost, queries, below))
                if sum(spent) > budget:
                    continue
                chances = [law.get((own, ()), 0) for law, own in zip(laws, below, strict=True)]
                density = 0.0
                for q, (query, law) in enumerate(zip(queries, laws, strict=True)):
                    room = budget - sum(spent[:q]) - sum(spent[q + 1 :])
                    coming = sum(
                        part
                        for (own, at), part in law.items()
                        if at and own == below[q] and query.cost(own + at) > room
                    )
                    density += coming * math.prod(chances[:q]) * math.prod(chances[q + 1 :])
                if density > 0:
                    yield weight * (high - low) / 2 * density, below, level


def selection_of(order, below, level):
    """The selection of places of each query, counted within it."""
    queries = [q for q, own in enumerate(below) if own]
    slots = [int(order.offsets[q]) + i for q in queries for i in sorted(below[q])]
    return Selection(
        queries=np.array(queries, dtype=np.int64),
        counts=np.array([len(below[q]) for q in queries], dtype=np.int64),
        places=np.array(slots, dtype=np.int64),
        level=level,
        cost=sum(map(Roots.cost, roots_of(order), below)),
    )


def over_thresholds(design, reading, grades, budget, n_nodes=12):
    """Σ of the chances of all samples, E[R̂], Var[R̂] and E[V̂] of the library's plain estimator.

    A sample in which chance chose no query is refused: all it says is what is known and what is predicted.
    """
    judge, rows = reading.judge(grades), []
    for chance, below, level in threshold_samples(roots_of(design.order), budget, n_nodes):
        sample = evidence_of(design, reading, judge, selection_of(design.order, below, level))
        if sample.values.size or sample.is_census:
            found = evaluate(sample)
            rows.append((chance, found.value, found.plain_variance))
        else:
            rows.append((chance, sample.base + sample.population[1], 0.0))
    chances, values, variances = np.array(rows).T
    mean = chances @ values
    return chances.sum(), mean, chances @ (values - mean) ** 2, chances @ variances


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
