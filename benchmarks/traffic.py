"""Queries drawn from a log: how many stay from month to month, what intervals cover, what a large log takes.

*Kept.* Two logs share nine tenths of their traffic, Σ min(p, p′) = .9, in one of three ways: queries leave and as
frequent ones come; all frequencies move; half of either. Of 500 queries drawn from the first, how many are drawn from
the second?

*Coverage.* The log is that of a generated pool. Each time queries are drawn from it, a sample of their items is drawn
and judged, and the interval for all the traffic of the log either holds the truth or not.

*A large log.* Ten million events, a line each, 0.5 million distinct queries.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl

from activeeval import DCG, METHODS, Rankings, Target
from activeeval.core.pool import QueryPool
from activeeval.core.pool.generated import WEIGHTS, generate_pool, noisy_scores
from activeeval.inputs.modelling import uniform_beliefs
from activeeval.traffic.query_draws import draw_queries
from benchmarks.frame.experiment import Experiment
from benchmarks.frame.processes import run
from benchmarks.frame.report import figure
from benchmarks.pools import judged

SHARED, N_DRAWN, N_QUERIES = 0.9, 500, 50_000
CONFIDENCE = 0.95
_LARGE = """
import resource, sys, time
from activeeval.traffic.query_draws import draw_queries
began = time.perf_counter()
draw_queries(sys.argv[1], 500)
print(time.perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)
"""


def counts_of_month(n: int = N_QUERIES) -> np.ndarray:
    """Return how often each query is asked: a log in which the k-th most frequent has 1 / k of the first."""
    return np.ceil(400_000 / np.arange(1, n + 1))


def with_new(counts: np.ndarray, random: np.random.Generator, shared: float) -> tuple[np.ndarray, np.ndarray]:
    """Return counts and which queries are new: ones that are asked as often have taken the places of some."""
    left, is_new = counts.sum() * (1 - shared), np.zeros(counts.size, dtype=bool)
    for k in random.permutation(counts.size):
        if counts[k] <= left:
            is_new[k], left = True, left - counts[k]
    return counts, is_new


def moved(counts: np.ndarray, random: np.random.Generator, shared: float) -> tuple[np.ndarray, np.ndarray]:
    """Return counts that have moved, each by a factor of its own, as far as leaves a share of the traffic in common."""
    factors = random.normal(size=counts.size)
    low, high = 0.0, 3.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if in_common(counts, counts * np.exp(middle * factors)) > shared else (low, middle)
    return np.ceil(counts * np.exp(low * factors)), np.zeros(counts.size, dtype=bool)


def both(counts: np.ndarray, random: np.random.Generator, shared: float) -> tuple[np.ndarray, np.ndarray]:
    """Return half of either."""
    half = 1 - (1 - shared) / 2
    return moved(counts, random, half)[0], with_new(counts, random, half)[1]


CHANGES: dict[str, Callable] = {"queries leave and come": with_new, "frequencies move": moved, "half of either": both}


def in_common(counts: np.ndarray, others: np.ndarray) -> float:
    """Return what two logs share of their traffic."""
    return float(np.minimum(counts / counts.sum(), others / others.sum()).sum())


def kept(change: Callable, strata: str, n_pairs: int, n: int = N_DRAWN, n_queries: int = N_QUERIES) -> np.ndarray:
    """Return the shares of queries that are drawn again, and of traffic in common, shape (n_pairs, 2)."""
    out = []
    for seed in range(n_pairs):
        random = np.random.default_rng(seed)
        counts = counts_of_month(n_queries)
        after, is_new = change(counts, random, SHARED)
        names = [f"query {k}" for k in range(counts.size)]
        later = [f"new {name}" if new else name for name, new in zip(names, is_new, strict=True)]
        before, now = (
            set(draw_queries(dict(zip(keys, values, strict=True)), n, strata=strata, seed=seed).drawn.query_ids)
            for keys, values in ((names, counts), (later, after))
        )
        alike = float(np.minimum(counts / counts.sum(), np.where(is_new, 0.0, after / after.sum())).sum())
        out.append((len(before & now) / n, alike))
    return np.array(out)


def coverage(method: str, n: int, budget: float, n_draws: int, seed: int = 1) -> dict:
    """Return how often intervals of a method hold the truth about a log, and how wide they are beside errors."""
    made = generate_pool(2000, seed)
    scores = noisy_scores(made.features[:, : WEIGHTS.size] @ WEIGHTS, seed)
    counts = np.ceil(4000 / np.arange(1, 2001))
    whole = Target(DCG(cutoff=10).bound_to(4), Rankings.from_scores(made.pool, scores))
    truth = float(counts @ whole.values(made.grades) / counts.sum())
    log = {name: float(count) for name, count in zip(made.pool.query_ids.tolist(), counts.tolist(), strict=True)}
    errors, covers, widths = [], [], []
    for k in range(n_draws):
        drawn = draw_queries(log, n, seed=k).drawn
        places = np.array([int(text[1:]) - 1 for text in drawn.texts])
        pool, items = made.pool.replace(item_costs=None).subset(places)
        named = QueryPool(drawn.query_ids, pool.query_offsets, pool.item_texts)
        probs, draw = drawn.align(named)
        named = named.replace(query_probs=probs, draw=draw)
        target = Target(whole.measure, Rankings.from_scores(named, scores[items]))
        chosen = METHODS[method]
        model = uniform_beliefs(named.n_items, 4).for_method(chosen, 5)
        campaign = judged(chosen.design(target, **model, max_grade=4), made.grades[items], k, budget)
        estimate = campaign.estimate(scope="population")
        low, high = estimate.interval(CONFIDENCE)
        errors.append(estimate.value - truth)
        covers.append(low <= truth <= high)
        widths.append((high - low) / 2)
    rmse = float(np.sqrt(np.mean(np.square(errors))))
    return {
        "coverage": float(np.mean(covers)),
        "bias_over_rmse": float(np.mean(errors)) / rmse,
        "half_width_over_rmse": float(np.mean(widths)) / rmse,
        "rmse": rmse,
    }


def large_log(n_events: int) -> tuple[float, float]:
    """Return seconds and GB of memory that a log of so many events takes, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.csv"
        queries = np.random.default_rng(0).zipf(1.25, n_events) % 3_000_000
        pl.DataFrame({"query": pl.Series(queries).cast(pl.String) + " Shoes"}).write_csv(path)
        seconds, memory = map(float, run([sys.executable, "-c", _LARGE, str(path)]).split())
    return seconds, memory


def kept_figures(options: argparse.Namespace) -> Iterator[dict]:
    """Yield the shares of queries that are drawn again."""
    for (name, change), strata in product(CHANGES.items(), ("thirds", "none")):
        shares = kept(change, strata, options.pairs)
        note = f"{shares[:, 1].mean():.1%} of the traffic in common, least {shares[:, 0].min():.3f}"
        yield figure(f"{name}, strata {strata}", shares[:, 0].mean(), "kept", at_least=0.85, note=note)


def coverage_figures(options: argparse.Namespace) -> Iterator[dict]:
    """Yield how often intervals hold the truth, by method."""
    for method, n, budget in (("items", 150, 400.0), ("depth", 150, 400.0), ("whole", 150, 600.0)):
        got = coverage(method, n, budget, options.draws)
        yield figure(f"{method}, {n} queries, budget {budget:g}", got.pop("coverage"), "", at_least=0.93, **got)


def large_figures(options: argparse.Namespace) -> list[dict]:
    """Measure a large log."""
    seconds, memory = large_log(options.events)
    return [figure(f"{options.events:,} events", seconds, "s"), figure("its peak memory", memory, "GB", at_most=1.0)]


EXPERIMENT = Experiment(
    __spec__,
    __doc__,
    sections={
        "kept": (f"{N_DRAWN} queries drawn again from the next log", kept_figures),
        "coverage": ("95 % intervals for all the traffic of the log", coverage_figures),
        "large": ("A large log", large_figures),
    },
    pairs=20,
    draws=500,
    events=10_000_000,
)


if __name__ == "__main__":
    EXPERIMENT.main()
