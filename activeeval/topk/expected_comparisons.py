"""Expected number of comparisons of a top-k labelling, before its start and during it.

Before the start. Items arrive in random order. Item m is among the k best of the first m with probability k / m,
independently of earlier items, and then has a uniform rank among them. So the number R of replacements is a sum of
independent Bernoulli variables with P = k / m, m = k + 1 … n; and the heap follows a Markov chain that depends on R
alone. With C_j the comparisons for the construction, j replacements and the final order,

    N = (n − k) + C_R,   E N = (n − k) + Σ_j P(R = j) E C_j,   Var N = Σ_j P(R = j) E C_j² − (Σ_j P(R = j) E C_j)².

P(R = j) follows by recursion over m. The moments of C_j do not depend on n: one simulation of the chain serves every n.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from activeeval.core.checks import whole_number
from activeeval.core.errors import InputError
from activeeval.core.types import Floats
from activeeval.topk.known_order import KnownOrder, bits

_SEED = 20120812
_STEPS = 3e7
"""Approximate number of comparisons simulated for one k: half a second. At n = 50, k = 10 the mean has an error of
0.1."""
_FEWEST, _MOST = 50, 20_000
_NEGLIGIBLE = 1e-12


class RemainingComparisons(NamedTuple):
    """5 % (`low`) and 95 % (`high`) quantiles of the number of remaining comparisons."""

    low: int
    high: int


class ExpectedComparisons(NamedTuple):
    """Mean and standard deviation of the number of comparisons, for a consistent judge and random order of arrival."""

    mean: float
    std: float


def expected_comparisons(n_items: int, k: int, *, transitive: bool = False) -> ExpectedComparisons:
    """Compute mean and standard deviation of the number of comparisons of a top-k labelling of one query.

    Parameters
    ----------
    n_items, k : int
        1 ≤ k ≤ n_items.
    transitive : bool
        True: for a labelling without comparisons that follow from earlier answers.

    Raises
    ------
    InputError
        If a number is not valid.

    Examples
    --------
    >>> mean, std = expected_comparisons(50, 10)
    >>> round(mean), round(std)
    (151, 14)
    >>> expected_comparisons(7, 1)
    ExpectedComparisons(mean=6.0, std=0.0)
    """
    n_items, k = whole_number(n_items, "n_items", 1), whole_number(k, "k", 1)
    if k > n_items:
        raise InputError(f"k must be at most n_items, got k = {k} of {n_items} items")
    # computed for all n up to the next power of two, as the queries of a pool have many different lengths
    means, stds = _expected_up_to(1 << (n_items - 1).bit_length(), k, transitive)
    return ExpectedComparisons(float(means[n_items]), float(stds[n_items]))


@lru_cache(maxsize=256)
def _expected_up_to(n_most: int, k: int, transitive: bool) -> tuple[Floats, Floats]:
    """Compute means and standard deviations of the number of comparisons for n = 0 … n_most items.

    Both arrays have shape (n_most + 1,), with NaN below n = k. ``transitive`` skips comparisons that follow from
    earlier answers.
    """
    replaced = _replacement_probs(n_most, k)
    chain_means, chain_squares = _chain_moments(k, replaced.shape[1] - 1, transitive)
    means: Floats = np.full(n_most + 1, np.nan)
    squares = means.copy()
    means[k:], squares[k:] = replaced @ chain_means, replaced @ chain_squares
    stds = np.sqrt(np.maximum(squares - means**2, 0))
    # every item after the first k is compared with the root of the heap once
    root_comparisons: Floats = np.arange(n_most + 1, dtype=np.float64) - k
    return root_comparisons + means, stds


def _replacement_probs(n_most: int, k: int) -> Floats:
    """Compute P(R = j), the distribution of the number of replacements in the heap, for n = k … n_most items.

    Item m replaces one of the k best before it with probability k / m. The result has a row for each n and a column for
    each j, shape (n_most − k + 1, J + 1); columns with negligible probabilities are cut off.
    """
    mean = k * float(np.sum(1 / np.arange(k + 1, n_most + 1)))
    # ten standard deviations, and a constant for small means; a test checks that no probability is lost
    most = min(n_most - k, int(mean + 10 * np.sqrt(mean) + 20))
    probs = np.zeros((n_most - k + 1, most + 1))
    probs[0, 0] = 1.0
    for row, m in enumerate(range(k + 1, n_most + 1), start=1):
        before = probs[row - 1]
        probs[row] = before * (1 - k / m)
        probs[row, 1:] += before[:-1] * k / m
    n_kept = np.flatnonzero(probs.max(axis=0) > _NEGLIGIBLE)[-1] + 1
    return probs[:, :n_kept]


def _chain_moments(k: int, n_replaced: int, transitive: bool) -> tuple[Floats, Floats]:
    """Estimate E C_j and E C_j² by simulation, two arrays of shape (n_replaced + 1,).

    C_j is the number of comparisons for constructing the heap of the k best, j replacements in it, and the final order.
    ``transitive`` skips comparisons that follow from earlier answers.
    """
    from activeeval.core.kernels.top_k import chain_comparisons

    comparisons_a_step = 1 + k * max(1, k.bit_length()) * (k if transitive else 1)
    n_chains = int(np.clip(_STEPS / (comparisons_a_step * (n_replaced + 1)), _FEWEST, _MOST))
    random = np.random.default_rng((_SEED, k, n_replaced))
    orders = random.permuted(np.tile(np.arange(k), (n_chains, 1)), axis=1)  # in which the first k items arrive
    ranks = random.integers(k, size=(n_chains, n_replaced))  # of each new item among the k best
    counts = np.empty((n_chains, n_replaced + 1), dtype=np.int64)
    chain_comparisons(orders, ranks, transitive, counts)
    return np.mean(counts, axis=0, dtype=np.float64), np.mean(counts**2, axis=0, dtype=np.float64)


def likely_values(known: KnownOrder, left: list[int], k: int, random: np.random.Generator) -> dict[int, float]:
    """Draw a random value for every item of `left` (remaining items), consistent with the known order.

    Higher is better. Items without known relations get a random place among the others. Of the others, items with at
    least k known betters are below the top, and are ranked by their number of known betters. The rest, the heap, is
    filled from the worst: among the items without a remaining worse one, one is drawn with probability proportional to
    the number of items at least as good. This draws all orders of a heap with equal probability; if the answers
    determine more than the heap, it is approximate.
    """
    left_bits = bits(left)  # sets of items are bits of integers, also those of known better and worse items
    compared = [item for item in left if known.better(item) | known.worse(item)]
    n_better = {item: (known.better(item) & left_bits).bit_count() for item in compared}
    heap = [item for item in compared if n_better[item] < k]
    noise = random.random(len(compared))
    below_top = sorted((n_better[item], noise[row], item) for row, item in enumerate(compared) if n_better[item] >= k)
    ranked = [*_filled(known, heap, random)[::-1], *(item for *_, item in below_top)]
    values = dict(zip(left, random.random(len(left)).tolist(), strict=True))
    compared_values = sorted((values[item] for item in compared), reverse=True)
    return values | dict(zip(ranked, compared_values, strict=True))


def _filled(known: KnownOrder, heap: list[int], random: np.random.Generator) -> list[int]:
    """Draw an order of the heap's items, worst first, consistent with the known order.

    The next item is one of those without a remaining worse one, drawn with probability proportional to the number of
    remaining items at least as good as it. Sets of items are bits of integers.
    """
    open_ones, filled = list(heap), []
    while open_ones:
        open_bits = bits(open_ones)
        n_worse = [(known.worse(item) & open_bits).bit_count() for item in open_ones]
        # contradictory answers may leave no item without a worse one
        least = [item for item, n in zip(open_ones, n_worse, strict=True) if n == min(n_worse)]
        weights = np.cumsum([1 + (known.better(item) & open_bits).bit_count() for item in least])
        chosen = least[int(np.searchsorted(weights, random.random() * weights[-1], side="right"))]
        open_ones.remove(chosen)
        filled.append(chosen)
    return filled
