"""Speed of the kernels, the readers, the start and the simulation, in one run on one core.

    python -m benchmarks.kernels [--out benchmarks/results/kernels.json] [--only SECTION]

Moments are timed on a pool of MSLR-WEB30K's size and given as multiples of ``probs.copy()``, which
allocates (np.copyto into memory that is there already stands beside it). Each round times a copy
before every program, so that drift of the machine falls on both; ratios are those of medians.
"""

from __future__ import annotations

import statistics

import numpy as np

from activeeval import DCG, ERR, QueryPool, Rankings
from activeeval.core.pool.generated import GRADE_QUANTILES, WEIGHTS, noisy_scores, ranked_by_expected_grade
from activeeval.core.types import sealed
from benchmarks import readers, short_commands, start
from benchmarks.frame.experiment import Experiment
from benchmarks.frame.report import figure
from benchmarks.machine import seconds, stay_on_one_core

MSLR_QUERIES, ROUNDS = 31_531, 9
MAX_GRADE = 4
KERNEL_TARGETS = {False: 5, True: 12}
PUBLIC_TARGETS = {False: 8, True: 15}


# The pool


def mslr_sized(n_queries: int, rng: np.random.Generator):
    """Return a pool of the recipe's list lengths, and grade probabilities as a forest's: their mean has MSLR's shares.

    They are the recipe's own p(grade | features, query effect), which vary from item to item.
    """
    counts = np.clip(np.floor(np.exp(rng.normal(4.6, 0.62, n_queries))), 2, 1200).astype(np.int64)
    offsets = np.concatenate(([0], np.cumsum(counts)))
    known = np.linalg.norm(WEIGHTS) * rng.standard_normal(offsets[-1])
    known += np.repeat(0.8 * rng.standard_normal(n_queries), counts)
    thresholds = np.quantile(known + rng.logistic(size=known.size), GRADE_QUANTILES)
    probs = np.empty((known.size, MAX_GRADE + 1))
    below = np.zeros(known.size)
    for k, threshold in enumerate(thresholds):
        up_to = 1 / (1 + np.exp(known - threshold))
        probs[:, k] = up_to - below
        below = up_to
    probs[:, MAX_GRADE] = 1 - below
    return QueryPool(np.arange(n_queries), offsets), probs


def rankings_to_time(pool: QueryPool, probs: np.ndarray, rng: np.random.Generator) -> dict[str, tuple]:
    """Return pairs of rankings: the recipe's two, and two that have nothing to do with each other."""
    first = ranked_by_expected_grade(pool, probs)
    second = Rankings.from_scores(pool, noisy_scores(probs @ np.arange(MAX_GRADE + 1), rng))
    unrelated = [Rankings.from_scores(pool, rng.random(pool.n_items)) for _ in range(2)]
    return {"recipe's rankings": (first, second), "random rankings": tuple(unrelated)}


# Moments as multiples of a copy


def programs(pool: QueryPool, probs: np.ndarray, pairs: dict[str, tuple]) -> dict[tuple, tuple]:
    """Return (kernel call, public call) by (family, is comparison, rankings)."""
    out = np.empty((2, pool.n_queries))
    empty = Rankings.empty(pool)
    made = {}
    for name, (first, second) in pairs.items():
        for family, measure in (("additive", DCG()), ("cascade", ERR(MAX_GRADE))):
            for versus in (None, second):
                if versus is None and name != "recipe's rankings":
                    continue
                _, run = measure._kernels()
                values = sealed(measure._rule.values(MAX_GRADE + 1))
                other = empty if versus is None else versus
                longest = int(max(first.lengths.max(), other.lengths.max()))
                lists = (first.offsets, first.items, other.offsets, other.items)
                arrays = (pool.query_offsets, sealed(probs), values, measure.discount_vector(longest), *lists, *out)
                made[family, versus is not None, name] = (
                    lambda run=run, arrays=arrays: run(*arrays),
                    lambda m=measure, a=first, b=versus: m.moments(pool, probs, a, b),
                )
    return made


def time_moments(n_queries: int, rounds: int, rng: np.random.Generator) -> dict:
    """Time the four programs, kernels alone and through the public call, beside copies of the probabilities."""
    pool, probs = mslr_sized(n_queries, rng)
    calls = programs(pool, probs, rankings_to_time(pool, probs, rng))
    there = np.empty_like(probs)
    copies, copies_into, times = [], [], {key: ([], []) for key in calls}
    for pair in calls.values():
        pair[0](), pair[1]()
    for _ in range(rounds):
        for key, pair in calls.items():
            for call, taken in zip(pair, times[key], strict=True):
                copies.append(seconds(probs.copy))
                taken.append(seconds(call))
        copies_into.append(seconds(np.copyto, there, probs))
    return {
        "n_queries": pool.n_queries,
        "n_items": pool.n_items,
        "mean_grade_probs": [round(float(p), 4) for p in probs.mean(axis=0)],
        "probability_array_mb": probs.nbytes / 1e6,
        "rounds": rounds,
        "figures": copy_figures(copies, copies_into, probs.nbytes) + moment_figures(times, copies, copies_into),
    }


def copy_figures(copies: list[float], copies_into: list[float], n_bytes: int) -> list[dict]:
    """Make the figures of a copy, the unit of the others."""
    return [
        figure(what, 1000 * statistics.median(taken), "ms", minimum_ms=1000 * min(taken), n=len(taken), note=rate)
        for what, taken in (("probs.copy(), the unit", copies), ("np.copyto into existing memory", copies_into))
        for rate in (f"{n_bytes / statistics.median(taken) / 1e9:.1f} GB/s",)
    ]


def moment_figures(times: dict, copies: list[float], copies_into: list[float]) -> list[dict]:
    """Return the programs in copies."""
    unit, unit_into = statistics.median(copies), statistics.median(copies_into)
    rows = []
    for (family, is_comparison, name), pair in times.items():
        for way, taken, targets in zip(("kernel", "public"), pair, (KERNEL_TARGETS, PUBLIC_TARGETS), strict=True):
            median = statistics.median(taken)
            what = f"{family} {'comparison' if is_comparison else 'absolute'}, {name}, {way}"
            details = {"median_ms": 1000 * median, "minimum_ms": 1000 * min(taken)}
            details |= {"ratio_of_minima": min(taken) / min(copies), "copies_into_existing_memory": median / unit_into}
            note = f"{1000 * median:.0f} ms, least {1000 * min(taken):.0f}"
            rows.append(figure(what, median / unit, "copies", at_most=targets[is_comparison], note=note, **details))
    return rows


EXPERIMENT = Experiment(
    __spec__,
    __doc__,
    sections={
        "moments": (
            "Moments of an MSLR-sized pool",
            lambda o: time_moments(MSLR_QUERIES, ROUNDS, np.random.default_rng(o.seed)),
        ),
        "readers": ("Reading LETOR text", lambda _: readers.time_readers(200)),
        "start": ("Start and first use", lambda _: start.time_start(7)),
        "commands": (
            "Short commands, processor time of a process each",
            lambda _: short_commands.time_short_commands(ROUNDS),
        ),
        "simulation": ("Replicated simulation", lambda o: start.time_simulation(2000, o.seed)),
    },
    seed=0,
)


if __name__ == "__main__":
    stay_on_one_core(EXPERIMENT.module)
    EXPERIMENT.main()
