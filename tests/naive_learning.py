"""Obviously right, slow forms that learning from preferences is held against, and pairs to learn from."""

import itertools

import numpy as np
from scipy.optimize import lsq_linear, minimize

from activeeval.gains import PreferenceData, random_list_pairs

# Pools and pairs


def log_discounts(depth, log=np.log):
    return 1 / log(np.arange(2, depth + 2))


def true_weights(gains, depth=10):
    """G_l / log(k + 1), as in the experiments of the paper."""
    return np.outer(log_discounts(depth), np.asarray(gains, dtype=float))


LINEAR, EXPONENTIAL = true_weights(np.arange(1, 6)), true_weights(2.0 ** np.arange(1, 6) - 1)


def utilities(weights, lists):
    """wᵀs(π) of many lists."""
    return weights[np.arange(weights.shape[0]), lists].sum(axis=1)


def preferences_of(weights, lists, others, noise=None, tied_below=0.0, **fields):
    """Say which of two lists has the higher utility, after noise; those closer than a limit are tied."""
    differences = utilities(weights, lists) - utilities(weights, others) + (0 if noise is None else noise)
    better = (differences > 0)[:, None]
    return PreferenceData(
        np.where(better, lists, others),
        np.where(better, others, lists),
        ties=np.abs(differences) <= tied_below,
        max_grade=weights.shape[1] - 1,
        **fields,
    )


def paper_pairs(weights, n_pairs, seed, n_documents=10):
    """Pairs of random orders of the paper's list, two of each grade; of 20 documents the first 10 ranks are seen."""
    grades = np.repeat(np.arange(5), n_documents // 5)
    return preferences_of(weights, *random_list_pairs(grades, n_pairs, depth=10, rng=seed))


def random_pairs(seed, n_pairs, depth=4, n_levels=3, noise=1.0, tied_below=0.0, **fields):
    """Pairs of lists of any grades, whose preferences a truth explains but for noise."""
    random = np.random.default_rng(seed)
    weights = np.outer(log_discounts(depth), 2.0 ** np.arange(n_levels) - 1)
    lists = random.integers(0, n_levels, size=(2, n_pairs, depth))
    return preferences_of(weights, *lists, noise * random.normal(size=n_pairs), tied_below, **fields)


def swapped(data, flip):
    """The same pairs with the two lists of some in the other order, whatever was preferred."""
    flip = np.asarray(flip)[:, None]
    return PreferenceData(
        np.where(flip, data.other, data.preferred),
        np.where(flip, data.preferred, data.other),
        ties=data.ties,
        queries=data.queries,
        max_grade=data.max_grade,
    )


# s(π) and what is said of pairs


def indicator(grades, n_levels):
    """s(π): block k is one-hot in the grade at position k."""
    blocks = [[1 if grade == y else 0 for y in range(n_levels)] for grade in grades]
    return [entry for block in blocks for entry in block]


def difference_rows(data):
    return np.array(
        [
            np.subtract(indicator(a, data.n_levels), indicator(b, data.n_levels))
            for a, b in zip(data.preferred.tolist(), data.other.tolist(), strict=True)
        ],
        dtype=float,
    )


def extreme_measures(depth, n_levels):
    """Discounts 1, …, 1, 0, …, 0 and gains 0, …, 0, 1, …, 1: every decreasing and increasing vector is a mixture."""
    for j, y in itertools.product(range(1, depth + 1), range(1, n_levels)):
        yield [1] * j + [0] * (depth - j), [0] * y + [1] * (n_levels - y)


def dcg_difference(discounts, gains, first, second):
    return sum(c * (gains[a] - gains[b]) for c, a, b in zip(discounts, first, second, strict=True))


def count_pairs(data):
    """What a summary of pairs counts, pair by pair."""
    queries = data.query_numbers.tolist()
    rows = list(zip(queries, map(tuple, data.preferred), map(tuple, data.other), data.ties.tolist(), strict=True))
    said, both = set(), set()
    names = "pairs ties duplicates contradictory indistinguishable decided unexplainable"
    counts = dict.fromkeys(names.split(), 0)
    for query, first, second, tied in rows:
        statement = (query, frozenset((first, second)), "tied" if tied else first)
        counts["duplicates"] += statement in said
        said.add(statement)
        counts["ties" if tied else "pairs"] += 1
        if tied:
            continue
        if first != second and (query, second, first, False) in rows:
            both.add((query, frozenset((first, second))))
        measures = extreme_measures(data.depth, data.n_levels)
        signs = {np.sign(dcg_difference(*measure, first, second)) for measure in measures}
        counts["indistinguishable"] += first == second
        counts["decided"] += 1 in signs and -1 not in signs
        counts["unexplainable"] += -1 in signs and 1 not in signs
    counts["contradictory"] = len(both)
    return counts


# The program


def loss(weights, data, C, C_ties=None, margins=1.0, tie_margin=1.0, rows=None):
    """wᵀw + C Σ ξ² over preferences + C_ties Σ ξ² over ties, each ξ the least that its bound allows."""
    differences = (difference_rows(data) if rows is None else rows) @ np.ravel(weights)
    strict = np.maximum(margins - differences, 0)[~data.ties]
    tied = np.maximum(np.abs(differences) - tie_margin, 0)[data.ties]
    return np.sum(np.square(weights)) + C * strict @ strict + (C if C_ties is None else C_ties) * tied @ tied


def slope(weights, data, C, C_ties=None, margins=1.0, tie_margin=1.0, rows=None):
    """The derivative of `loss` by the weights."""
    rows = difference_rows(data) if rows is None else rows
    differences = rows @ np.ravel(weights)
    strict = np.where(data.ties, 0, np.maximum(margins - differences, 0))
    tied = np.where(data.ties, np.sign(differences) * np.maximum(np.abs(differences) - tie_margin, 0), 0)
    return 2 * np.ravel(weights) + 2 * ((C if C_ties is None else C_ties) * tied - C * strict) @ rows


def edges(shape, depth, n_levels):
    """Return M of w = Mz, and how many of z are free: a weight for each rank, then increments ≥ 0."""
    if shape == "free":
        return np.eye(depth * n_levels), depth * n_levels
    columns = []
    for k in range(depth):
        columns.append(np.zeros((depth, n_levels)))
        columns[-1][k] = 1
    for k, y in itertools.product(range(depth), range(1, n_levels)):
        columns.append(np.zeros((depth, n_levels)))
        columns[-1][slice(0, k + 1) if shape == "decreasing" else k, y:] = 1
    return np.array([column.ravel() for column in columns]).T, depth


def least_loss(data, shape, C, C_ties=None, margins=1.0, tie_margin=1.0):
    """Descend with L-BFGS-B in z, then solve with the bounds that are violated there until these stay the same."""
    matrix, n_free = edges(shape, data.depth, data.n_levels)
    low = np.repeat([-np.inf, 0.0], (n_free, matrix.shape[1] - n_free))
    rows = difference_rows(data)
    kind = {"C_ties": C_ties, "margins": margins, "tie_margin": tie_margin, "rows": rows}
    options = {"maxiter": 5000, "maxfun": 20_000, "ftol": 1e-16, "gtol": 1e-12}
    found = minimize(
        lambda z: loss(matrix @ z, data, C, **kind),
        np.zeros(matrix.shape[1]),
        jac=lambda z: slope(matrix @ z, data, C, **kind) @ matrix,
        method="L-BFGS-B",
        bounds=[(None if end < 0 else 0, None) for end in low],
        options=options,
    ).x
    rows, cost_of_tie = rows @ matrix, C if C_ties is None else C_ties
    sides = np.concatenate((rows[~data.ties], rows[data.ties], -rows[data.ties]))
    n_strict, n_tied = int((~data.ties).sum()), int(data.ties.sum())
    wanted = np.concatenate((np.broadcast_to(margins, len(rows))[~data.ties], np.full(2 * n_tied, -tie_margin)))
    roots = np.sqrt(np.repeat([C, cost_of_tie], (n_strict, 2 * n_tied)))
    violated = wanted > sides @ found
    for _ in range(50):
        left = np.concatenate((matrix, (roots[:, None] * sides)[violated]))
        right = np.concatenate((np.zeros(len(matrix)), (roots * wanted)[violated]))
        if shape == "free":
            found = np.linalg.lstsq(left, right, rcond=None)[0]
        else:
            found = lsq_linear(left, right, (low, np.inf), method="bvls", tol=1e-15, max_iter=1000).x
        before, violated = violated, wanted > sides @ found
        if np.array_equal(before, violated):
            return (matrix @ found).reshape(data.depth, data.n_levels)
    raise AssertionError("the reference did not come to rest")
