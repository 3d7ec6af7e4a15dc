"""Items to rank, and obviously right, slow forms of what rankers minimise: enumeration, plain loops over one list.

A list is given by its scores and grades, best grade first; relevant are the first r items.
"""

import itertools
import math

import clarabel
import numpy as np
from scipy import sparse

# Items to learn from


def top_k_items(seed, n_queries=12, n_features=4, k=3, noise=0.5):
    """Items of interleaved queries whose best k, by a linear signal and noise, have the grades k … 1."""
    random = np.random.default_rng(seed)
    query_ids = np.repeat(np.arange(n_queries), random.integers(k + 1, 9, size=n_queries))
    X = random.normal(size=(query_ids.size, n_features))
    signal = X @ np.linspace(1, -1, n_features) + noise * random.normal(size=query_ids.size)
    grades = np.zeros(query_ids.size, dtype=np.int64)
    for q in range(n_queries):
        rows = np.flatnonzero(query_ids == q)
        grades[rows[np.argsort(-signal[rows])][:k]] = np.arange(k, 0, -1)
    order = random.permutation(query_ids.size)
    return X[order], grades[order], query_ids[order]


def by_query(X, grades, query_ids):
    """(rows, grades) of each query, the best grade first."""
    queries = []
    for q in np.unique(query_ids):
        rows = np.flatnonzero(query_ids == q)
        rows = rows[np.argsort(-grades[rows], kind="stable")]
        queries.append((X[rows], grades[rows].tolist()))
    return queries


# Pairs


def pairs_of(grades, top):
    """All (u, v) with u of the higher grade; of the top those from T to F alone."""
    n = range(len(grades))
    return [(u, v) for u in n for v in n if grades[u] > grades[v] and not (top and grades[v] > 0)]


def pair_loss(kind, scores, grades, top):
    """The mean over the pairs of one list."""
    values = []
    for u, v in pairs_of(grades, top):
        margin = scores[u] - scores[v]
        if kind == "hinge":
            values.append(max(0.0, 1 - (grades[u] - grades[v]) * margin))
        elif kind == "logistic":
            values.append(math.log(1 + math.exp(-margin)))
        else:
            values.append(math.exp(-margin))
    return sum(values) / len(values)


# Average precision


def average_precision(order, r):
    """Of a ranking, a sequence of items, with items 0 … r − 1 relevant."""
    hits = [k for k, item in enumerate(order) if item < r]
    return sum((i + 1) / (k + 1) for i, k in enumerate(hits)) / r


def features_of(order, scores, r):
    """wᵀΨ: the mean over relevant and other items of the difference of scores, signed by the ranking."""
    place = {item: k for k, item in enumerate(order)}
    n = len(scores)
    signed = [(1 if place[i] < place[j] else -1) * (scores[i] - scores[j]) for i in range(r) for j in range(r, n)]
    return sum(signed) / len(signed)


def ap_hinge(scores, r):
    """The largest violation over all rankings of the list."""
    right = features_of(range(len(scores)), scores, r)
    orders = itertools.permutations(range(len(scores)))
    return max(1 - average_precision(z, r) + features_of(z, scores, r) - right for z in orders)


def sorted_ap_hinge(scores, r):
    """The same for long lists: over all ways to merge the relevant and the other items, each by falling score."""
    relevant, others = sorted(scores[:r], reverse=True), sorted(scores[r:], reverse=True)
    m = len(others)
    best = {(0, 0): 0.0}
    for i, j in itertools.product(range(r + 1), range(m + 1)):
        ways = []
        if j:
            ways.append(best[i, j - 1])
        if i:
            wrong = sum(relevant[i - 1] - other for other in others[:j])
            ways.append(best[i - 1, j] - i / (i + j) / r - 2 * wrong / (r * m))
        if ways:
            best[i, j] = max(ways)
    return 1 + best[r, m]


def mean_ap_hinge(scores, grades):
    """On the top: over all r that do not part equal grades."""
    cuts = [r for r in range(1, len(grades)) if grades[r - 1] > grades[r]]
    return sum(ap_hinge(scores, r) for r in cuts) / len(cuts)


# Permutations


def permutation_prob(scores, order, k=None):
    """Of the first k places of a permutation under the model of Plackett and Luce."""
    k = len(order) if k is None else k
    weights = [math.exp(scores[item]) for item in order]
    return math.prod(weights[j] / sum(weights[j:]) for j in range(k))


def permutation_cross_entropy(scores, labels):
    orders = list(itertools.permutations(range(len(scores))))
    return -sum(permutation_prob(labels, z) * math.log(permutation_prob(scores, z)) for z in orders)


def top_k_likelihood(scores, k):
    """−log of the probability of all permutations that begin with items 0 … k − 1 in this order."""
    first = tuple(range(k))
    rests = itertools.permutations(range(k, len(scores)))
    return -math.log(sum(permutation_prob(scores, first + rest) for rest in rests))


def top_one_cross_entropy(scores, labels):
    def shares(values):
        return [math.exp(v) / sum(math.exp(u) for u in values) for v in values]

    return -sum(p * math.log(q) for p, q in zip(shares(labels), shares(scores), strict=True))


# nDCG and AP of ties: the mean over all permutations that the scores allow


def mean_over_orders(value, scores):
    orders = itertools.permutations(range(len(scores)))
    allowed = [z for z in orders if all(scores[a] >= scores[b] for a, b in itertools.pairwise(z))]
    return sum(map(value, allowed)) / len(allowed)


def tied_ndcg(scores, grades):
    def dcg(order):
        return sum((2 ** grades[item] - 1) / math.log2(k + 2) for k, item in enumerate(order))

    return mean_over_orders(dcg, scores) / dcg(sorted(range(len(grades)), key=lambda i: -grades[i]))


def tied_ap(scores, grades):
    def precision(order):
        hits = [k for k, item in enumerate(order, 1) if grades[item] > 0]
        return sum(n / k for n, k in enumerate(hits, 1)) / len(hits)

    return mean_over_orders(precision, scores)


# Convex programs


def least_hinges(groups, C):
    """Minimise ½‖w‖² + C Σ_g weight_g · max(0, max over rows (l, a) of group g of l − aᵀw) with a slack for each group.

    A group is (weight, losses, rows).
    """
    d = groups[0][2].shape[1]
    n = len(groups)
    weights = np.array([weight for weight, _, _ in groups])
    rows = np.vstack([rows for _, _, rows in groups])
    losses = np.concatenate([losses for _, losses, _ in groups])
    own = np.repeat(np.arange(n), [len(losses) for _, losses, _ in groups])
    slacks = sparse.csr_matrix((np.ones(own.size), (np.arange(own.size), own)), shape=(own.size, n))
    bounds = sparse.vstack(
        [sparse.hstack([-rows, -slacks]), sparse.hstack([sparse.csr_matrix((n, d)), -sparse.eye(n)])]
    )
    quadratic = sparse.block_diag([sparse.eye(d), sparse.csr_matrix((n, n))])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    limits = np.concatenate([-losses, np.zeros(n)])
    solver = clarabel.DefaultSolver(
        sparse.triu(quadratic).tocsc(),
        np.concatenate([np.zeros(d), C * weights]),
        bounds.tocsc(),
        limits,
        [clarabel.NonnegativeConeT(limits.size)],
        settings,
    )
    solution = solver.solve()
    return np.array(solution.x[:d]), solution.obj_val


# Boosting


def boosted(queries, beta, top, n_rounds, performance=tied_ndcg):
    """Weights of features in [0, 1] after so many rounds, and the edges; the first query's items come first.

    A query is (rows of features, grades), best grade first; with `top` lists are T and pairs T × F.
    """
    n_features = len(queries[0][0][0])
    lists = [(rows[: sum(y > 0 for y in g)], [y for y in g if y > 0]) if top else (rows, g) for rows, g in queries]
    lists = [(rows, g) for rows, g in lists if len(set(g)) > 1]
    with_pairs = [(rows, g) for rows, g in queries if pairs_of(g, top)]
    pairs = [
        (rows[u], rows[v], 1 / len(with_pairs) / len(pairs_of(g, top)))
        for rows, g in with_pairs
        for u, v in pairs_of(g, top)
    ]
    of_lists, of_pairs = [1 / len(lists)] * len(lists), [weight for _, _, weight in pairs]
    weights, edges = [0.0] * n_features, []
    for _ in range(n_rounds):
        candidates = []
        for sign in (1, -1):
            for j in range(n_features):
                gain = sum(
                    d * performance([sign * row[j] for row in rows], g)
                    for d, (rows, g) in zip(of_lists, lists, strict=True)
                )
                gap = sum(d * sign * (u[j] - v[j]) for d, (u, v, _) in zip(of_pairs, pairs, strict=True))
                candidates.append((beta * gain + (1 - beta) * gap, sign, j))
        edge, sign, j = max(candidates, key=lambda candidate: candidate[0])
        alpha = sign * math.log((1 + edge) / (1 - edge)) / 2
        weights[j] += alpha
        edges.append(edge)
        sums = [[sum(w * x for w, x in zip(weights, row, strict=True)) for row in rows] for rows, _ in lists]
        of_lists = [math.exp(-performance(s, g)) for s, (_, g) in zip(sums, lists, strict=True)]
        of_lists = [d / sum(of_lists) for d in of_lists]
        of_pairs = [d * math.exp(-alpha * (u[j] - v[j])) for d, (u, v, _) in zip(of_pairs, pairs, strict=True)]
        of_pairs = [d / sum(of_pairs) for d in of_pairs]
    return weights, edges
