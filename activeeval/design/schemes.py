"""How queries come: one draw after the other, or a whole sample at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from activeeval.design.designs import Design
from activeeval.kernels import cube, replication

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Pick:
    """A query that came up, its probability in this draw, and which places of the design's items are judged."""

    query: int
    prob: float
    slots: Ints


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """A settled sample: its queries, ascending, how many items of each are judged, and their places in ``items``."""

    queries: Ints
    counts: Ints
    slots: Ints


def picks(design: Design, rng: np.random.Generator) -> Iterator[Pick]:
    """Yield the queries of a design as they come, without end where draws are with replacement."""
    if design.scheme == "replacement":
        return _with_replacement(design, rng)
    if design.scheme == "sequential":
        return _without_replacement(design, rng)
    return _of_sample(design, draw_sample(design, rng))


def _with_replacement(design: Design, rng: np.random.Generator) -> Iterator[Pick]:
    cumulative = np.cumsum(design.sampling_probs)
    while True:
        u = rng.random()
        query = int(replication.locate(cumulative, u))
        first, last = design.offsets[query], design.offsets[query + 1]
        end = replication.reach(cumulative, query, u, design.item_probs, first, last)
        yield Pick(query, float(design.sampling_probs[query]), np.arange(first, end))


def _without_replacement(design: Design, rng: np.random.Generator) -> Iterator[Pick]:
    tree = replication.sum_tree(design.sampling_probs)
    for _ in range(design.pool.n_queries):
        query, prob = replication.take(tree, rng.random())
        yield Pick(int(query), float(prob), np.arange(design.offsets[query], design.offsets[query + 1]))


def _of_sample(design: Design, sample: Sample) -> Iterator[Pick]:
    ends = np.cumsum(sample.counts)
    for query, end, count in zip(sample.queries.tolist(), ends.tolist(), sample.counts.tolist(), strict=True):
        yield Pick(query, float(design.sampling_probs[query]), sample.slots[end - count : end])


def draw_sample(design: Design, rng: np.random.Generator) -> Sample:
    """Return a whole sample of a poisson or cube design."""
    queries, left = _queries(design, rng)
    first, last = design.offsets[queries], design.offsets[queries + 1]
    counts = np.empty_like(queries)
    if design.stage.is_nested:
        replication.depths(first, last, design.item_probs, left, counts)
        return Sample(queries, counts, places(first, counts))
    uniforms = rng.random(int((last - first).sum()))
    slots = np.empty(uniforms.size, dtype=np.int64)
    n_judged = replication.single_items(first, last, design.item_probs, uniforms, counts, slots)
    return Sample(queries, counts, slots[:n_judged].copy())


def places(first: Ints, counts: Ints) -> Ints:
    """Return first, first + 1 … for as many places as each query counts."""
    return np.repeat(first - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())


def _queries(design: Design, rng: np.random.Generator) -> tuple[Ints, Floats]:
    """Return the queries of a sample and for each a number that is uniform on [0, 1), whatever else happened."""
    probs = design.sampling_probs
    if design.scheme == "poisson":
        uniforms = rng.random(probs.size)
        queries = np.flatnonzero(uniforms < probs)
        return queries, uniforms[queries] / probs[queries]
    order = rng.permutation(probs.size)
    chosen = np.empty(probs.size, dtype=np.bool_)
    cube.cube(rng.random(probs.size), probs[order], balancing(design)[order], chosen)
    queries = np.sort(order[chosen])
    return queries, rng.random(queries.size)


def balancing(design: Design) -> Floats:
    """Return what a cube sample is balanced on, shape (n_queries, k): π, the expected cost, p times the regressors."""
    pi = design.sampling_probs
    regressors = design.query_probs[:, None] * design.stage.regressors
    return np.ascontiguousarray(np.column_stack((pi, pi * design.expected_costs, regressors)))
