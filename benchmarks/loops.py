"""The cascade comparison against the loop over pairs of ranks, both compiled: how much faster, and how exact."""

from __future__ import annotations

import numba
import numpy as np

from activeeval.core.kernels import moments as kernel
from activeeval.core.types import sealed
from benchmarks.frame.report import figure
from benchmarks.machine import median_seconds

LENGTHS = (10, 20, 50, 119, 300, 1000, 5000)
MAX_GRADE = 4


@numba.njit(cache=True, error_model="numpy")
def loop_cross(e, s, discounts, first, second, place1, place2):
    """E[L_1 L_2] by the loop over pairs of ranks, as tests/naive.py has it."""
    total = 0.0
    reach = 1.0
    for i in range(first.size):
        z = first[i]
        product = reach
        for j in range(second.size):
            w = second[j]
            f_w, t_w = 1 - e[w], e[w] - s[w]
            if w == z:
                term = s[z]
            else:
                of_z = (e[z] - s[z]) / (1 - e[z]) if place2[z] < j else e[z]
                of_w = t_w / f_w if place1[w] < i else e[w]
                term = of_z * of_w
            total += discounts[i] * discounts[j] * product * term
            product *= (1 - 2 * e[w] + s[w]) / f_w if place1[w] < i else f_w
        reach *= 1 - e[z]
    return total


@numba.njit(cache=True, error_model="numpy")
def loop_comparison(offsets, probs, stop_probs, discounts, items1, items2, mean, second):
    """E[δ] and E[δ²] of each query: the pairs of ranks in a loop, the single lists in one pass."""
    for q in range(offsets.size - 1):
        start, n = offsets[q], offsets[q + 1] - offsets[q]
        e, s = np.zeros(n), np.zeros(n)
        for z in range(n):
            for y in range(stop_probs.size):
                e[z] += probs[start + z, y] * stop_probs[y]
                s[z] += probs[start + z, y] * stop_probs[y] ** 2
        list1, list2 = items1[start : start + n] - start, items2[start : start + n] - start
        place1, place2 = np.empty(n, np.int64), np.empty(n, np.int64)
        for i in range(n):
            place1[list1[i]] = i
            place2[list2[i]] = i
        mean1, mean2, square1, square2 = 0.0, 0.0, 0.0, 0.0
        for i in range(n - 1, -1, -1):
            z, w, c = list1[i], list2[i], discounts[i]
            square1 = c * c * s[z] + 2 * c * (e[z] - s[z]) * mean1 + (1 - 2 * e[z] + s[z]) * square1
            square2 = c * c * s[w] + 2 * c * (e[w] - s[w]) * mean2 + (1 - 2 * e[w] + s[w]) * square2
            mean1 = c * e[z] + (1 - e[z]) * mean1
            mean2 = c * e[w] + (1 - e[w]) * mean2
        mean[q] = mean1 - mean2
        second[q] = square1 + square2 - 2 * loop_cross(e, s, discounts, list1, list2, place1, place2)


def extended_second(probs, stop_probs, discounts, first, second) -> np.longdouble:
    """E[δ²] of one query by the same pairs of ranks in extended precision, a rank of the first list at a time."""
    wide = np.longdouble
    stops, c = stop_probs.astype(wide), discounts.astype(wide)
    e, s = probs.astype(wide) @ stops, probs.astype(wide) @ stops**2
    f, t, h = 1 - e, e - s, 1 - 2 * e + s
    place2 = np.argsort(second)
    of_w, step = e[second], f[second]
    cross, reach = wide(0), wide(1)
    for i, z in enumerate(first):
        product = reach * np.concatenate(([wide(1)], np.cumprod(step)[:-1]))
        of_z = np.where(np.arange(c.size) > place2[z], t[z] / f[z], e[z])
        terms = of_z * of_w
        terms[place2[z]] = s[z]
        cross += c[i] * (c * product * terms).sum()
        of_w[place2[z]], step[place2[z]] = t[z] / f[z], h[z] / f[z]
        reach *= f[z]
    squares = wide(0)
    for order in (first, second):
        mean = square = wide(0)
        for i in range(c.size - 1, -1, -1):
            z = order[i]
            square = c[i] ** 2 * s[z] + 2 * c[i] * t[z] * mean + h[z] * square
            mean = c[i] * e[z] + f[z] * mean
        squares += square
    return squares - 2 * cross


def loop_case(n: int, n_queries: int, rng: np.random.Generator):
    """Return queries of n items in two random orders; Σ E[ℓ] is at most 10, so that no product underflows."""
    stop_probs = (2.0 ** np.arange(MAX_GRADE + 1) - 1) / 2**MAX_GRADE
    probs = rng.dirichlet(np.array([51, 32, 13, 2, 1]) / 20, n * n_queries)
    stop_probs *= min(1.0, 10 / (n * float((probs @ stop_probs).mean())))
    orders = [np.concatenate([q * n + rng.permutation(n) for q in range(n_queries)]) for _ in range(2)]
    return n, probs, stop_probs, orders


def both_ways(n: int, probs, stop_probs, orders) -> tuple:
    """Return calls of kernel and loop that return E[δ²] of every query."""
    offsets = sealed(np.arange(len(probs) // n + 1) * n, np.int64)
    discounts = 1 / np.arange(1.0, n + 1)
    mean, variance, loop_mean, loop_second = np.zeros((4, offsets.size - 1))
    args = [offsets, sealed(probs), sealed(stop_probs), sealed(discounts)]
    first, second = (sealed(order, np.int64) for order in orders)

    def by_kernel():
        kernel.cascade_moments(*args, offsets, first, offsets, second, mean, variance)
        return variance + mean**2

    def by_loop():
        loop_comparison(*args, first, second, loop_mean, loop_second)
        return loop_second

    return by_kernel, by_loop


def errors(n: int, probs, stop_probs, orders, *calls) -> list[float]:
    """Compute the relative error of each call's E[δ²] of the first query, against extended precision."""
    exact = extended_second(probs[:n], stop_probs, 1 / np.arange(1.0, n + 1), *(order[:n] for order in orders))
    return [float(abs(call()[0] - exact) / exact) for call in calls]


def time_loops(is_quick: bool, rng: np.random.Generator) -> dict:
    """Compare the kernel with the loop: how much faster, how far apart, how far each from extended precision."""
    rows = []
    for n in LENGTHS:
        case = loop_case(n, max(1, min(2000, 4000 // n)), rng)
        by_kernel, by_loop = both_ways(*case)
        apart = float(np.max(np.abs(by_kernel() - by_loop()) / by_loop()))
        repeats = 3 if is_quick or n >= 5000 else 9
        ours, loops = median_seconds(by_kernel, 3 * repeats), median_seconds(by_loop, repeats)
        kernel_error, loop_error = errors(*case, by_kernel, by_loop)
        target = {"at_least": 50} if n == 1000 else {}
        rows.append(
            figure(
                f"n = {n:,}: times faster than O(n²)",
                loops / ours,
                "x",
                **target,
                kernel_us_per_query=1e6 * ours * n / len(case[1]),
                loop_us_per_query=1e6 * loops * n / len(case[1]),
                largest_relative_difference=apart,
                kernel_relative_error=kernel_error,
                loop_relative_error=loop_error,
                note=f"apart {apart:.0e}; error of kernel {kernel_error:.0e}, of loop {loop_error:.0e}",
            )
        )
    return {"compared": "E[delta^2]; errors against extended precision", "figures": [*rows, *largest(rng, rows[-1])]}


def largest(rng: np.random.Generator, row: dict) -> list[dict]:
    """Return the kernel's errors at n = 5,000: small stop probabilities, and every E[ℓ] = 0.2."""
    n = LENGTHS[-1]
    case = (n, np.tile([0.6, 0.4], (n, 1)), np.array([0.0, 0.5]), [rng.permutation(n) for _ in range(2)])
    by_kernel, by_loop = both_ways(*case)
    ours, loops = errors(*case, by_kernel, by_loop)
    return [
        figure(f"n = {n:,}: relative error of the kernel", row["kernel_relative_error"], "", at_most=1e-10),
        figure(f"n = {n:,}, every f = 0.8: relative error", ours, "", at_most=1e-10, loop_relative_error=loops,
               is_finite=bool(np.isfinite(by_kernel()[0]))),
    ]  # fmt: skip
