"""From a target and a grade model to what is judged of a query: the stages of designs."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from activeeval.design.stages import Items, Prefix, Stage, path_of, reveal_arrays
from activeeval.errors import InputError
from activeeval.kernels import reveal
from activeeval.measures import Additive, Target
from activeeval.measures.doors import sealed

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_BLOCK_ITEMS = 50_000
_MOST_DRAWN_LABELS = 2**23
_FEWEST_SAMPLES, _MOST_SAMPLES = 2, 32
_SEED = 20130301


def whole_queries(target: Target, nodes: Floats | None, node_weights: Floats | None) -> Stage:
    """Judge every query that is drawn down to the measure's cutoff."""
    offsets, items = target.judging_lists()
    if nodes is None:
        unknown = np.full(target.pool.n_queries, np.nan)
        return Stage(target, offsets, items, unknown, unknown)
    moments = target.moments(nodes, node_weights)
    return Stage(target, offsets, items, moments.mean, moments.variance)


def random_prefixes(target: Target, nodes: Floats, node_weights: Floats) -> Prefix:
    """Judge every query that is drawn down to a random depth."""
    offsets, items = _items_that_matter(target)
    n_queries, n_slots = target.pool.n_queries, items.size
    arrays = reveal_arrays(target, nodes, node_weights, offsets, items)
    f0, spreads = np.zeros(n_queries), np.zeros(n_slots)
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        for done in [threads.submit(_expect, arrays, *block, f0, spreads) for block in _blocks(offsets)]:
            done.result()
    owners = np.repeat(np.arange(n_queries), np.diff(offsets))
    variances = np.asarray(np.bincount(owners, spreads, minlength=n_queries), dtype=np.float64)
    all_lowest, everything = np.zeros(target.pool.n_items, dtype=np.int64), np.diff(offsets)
    lowest = path_of(target, nodes, node_weights, offsets, items, all_lowest, everything)
    return Prefix(target, offsets, items, f0, variances, nodes, node_weights, np.maximum(spreads, 0.0), lowest)


def single_items(target: Target, nodes: Floats, node_weights: Floats) -> Items:
    """Judge any items of every query that is drawn; for additive measures.

    Raises
    ------
    InputError
        Where the measure is not additive.
    """
    if not isinstance(target.measure, Additive):
        raise InputError(f"item designs are for additive measures (DCG, RBP, P), not for {target.measure}")
    offsets, items = _items_that_matter(target)
    gains = target.terms(nodes.shape[2]).values
    contrast = target.contrast[items]
    means = (node_weights @ (nodes @ gains))[items]
    spreads = _unlearnt_variances(nodes[:, items], node_weights, gains) * contrast**2
    order = np.lexsort((-spreads, np.repeat(np.arange(offsets.size - 1), np.diff(offsets))))
    moments = target.moments(nodes, node_weights)
    return Items(
        target,
        offsets,
        items[order],
        moments.mean,
        moments.variance,
        contrast[order],
        means[order],
        spreads[order],
        nodes,
        node_weights,
        gains,
    )


def _unlearnt_variances(nodes: Floats, node_weights: Floats, gains: Floats) -> Floats:
    """Return E[(g − μ)²] of every item once the labels before it have said half of what the nodes disagree on."""
    by_node = nodes @ gains
    between = node_weights @ (by_node - node_weights @ by_node) ** 2
    within = np.zeros_like(between)
    for weight, probs, mean in zip(node_weights, nodes, by_node, strict=True):
        within += weight * (probs * (gains - mean[:, None]) ** 2).sum(axis=1)
    return np.asarray(within + between / 2)


def _items_that_matter(target: Target) -> tuple[Ints, Ints]:
    """Return the judging lists less the items whose labels cannot change the value."""
    offsets, items = target.judging_lists()
    if not isinstance(target.measure, Additive):
        return offsets, items
    matters = target.contrast[items] != 0
    counts = np.concatenate(([0], np.cumsum(matters)))
    return counts[offsets], items[matters]


def _expect(arrays: tuple[Any, ...], first: int, last: int, f0: Floats, spreads: Floats) -> None:
    """Fill f_0 and E[D²] of a block of queries, with labels drawn from the model."""
    offsets = arrays[-2]
    n_slots = int(offsets[last] - offsets[first])
    n_samples = int(np.clip(_MOST_DRAWN_LABELS // offsets[-1], _FEWEST_SAMPLES, _MOST_SAMPLES)) if n_slots else 1
    uniforms = np.random.default_rng((_SEED, first)).random((n_samples, n_slots))
    nobody, nothing = sealed(np.empty(0), np.int64), np.empty(0)
    reveal.reveal(*(*arrays, first, last, nobody, nobody, uniforms, f0, nothing, spreads))


def _blocks(offsets: Ints) -> list[tuple[int, int]]:
    """Cut the queries into runs of about equally many items, whatever the machine."""
    edges = np.unique(np.searchsorted(offsets, np.arange(0, offsets[-1], _BLOCK_ITEMS)))
    edges = np.unique(np.concatenate(([0], edges, [offsets.size - 1])))
    return list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))
