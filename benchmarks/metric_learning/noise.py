"""Turned preferences and wrong grades; pairs with the best order; larger margins; documents without grades."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np

from activeeval.gains import PreferenceData, similarity
from benchmarks.metric_learning.data import (
    DECADES,
    N_RANKS,
    ONE_LIST,
    OTHER_LIST,
    PAIRS,
    SHAPES,
    TRUTHS,
    Floats,
    Ints,
    Pairs,
    best_against,
    draw,
    learned,
    orders_of,
)
from benchmarks.metric_learning.running import Found

N_TEST = 20_000
TURNED = {800: (0, 5, 25, 50, 100, 200), 200: (0, 5, 10, 20, 40)}
CROSS_VALIDATED = {(800, 200), (200, 40)}
REGRADED = (0.0, 0.1, 0.2, 0.3, 0.4)
FEW_PAIRS = (50, 200, 800)
UNGRADED_PAIRS = (*PAIRS, 1600)


def noisy_pairs(rng: np.random.Generator) -> Iterator[Found]:
    """Turn some preferences round; C is chosen on as many pairs of which the same share is turned."""
    for name, truth in TRUTHS.items():
        train, validation, test = (draw(orders_of(ONE_LIST), truth, n, rng) for n in (800, 800, N_TEST))
        for n, counts in TURNED.items():
            for n_turned in counts:
                seen, held = (one[:n].flipped(n_turned, rng).preferences() for one in (train, validation))
                keys = {"data": name, "pairs": n, "turned": n_turned}
                for shape in SHAPES:
                    found = learned(seen, held, shape=shape, grid=DECADES)
                    values = {"precision": test.precision(found.weights_), "log10 of C": np.log10(found.C_)}
                    yield "turned", keys | {"shape": shape, "C by": "validation"}, values
                if (n, n_turned) in CROSS_VALIDATED:
                    found = learned(seen)
                    values = {"precision": test.precision(found.weights_), "log10 of C": np.log10(found.C_)}
                    yield "turned", keys | {"shape": "decreasing", "C by": "cross-validation"}, values


def noisy_grades(rng: np.random.Generator) -> Iterator[Found]:
    """Give some places of the lists a grade at random, in training and in what chooses C."""
    for name, truth in TRUTHS.items():
        train, validation, test = (draw(orders_of(ONE_LIST), truth, n, rng) for n in (800, 800, N_TEST))
        for n, share in product((200, 800), REGRADED):
            seen, held = (one[:n].regraded(share, rng).preferences() for one in (train, validation))
            for shape in SHAPES:
                weights = learned(seen, held, shape=shape, grid=DECADES).weights_
                keys = {"data": name, "pairs": n, "share": share, "shape": shape}
                yield "regraded", keys, {"precision": test.precision(weights)}


def best_order(rng: np.random.Generator) -> Iterator[Found]:
    """Learn from pairs with the best order of a list, of the same grades and of others, beside random pairs."""
    kinds = {
        "best, same grades": best_against(ONE_LIST),
        "best, other grades": best_against(OTHER_LIST),
        "random": orders_of(ONE_LIST),
    }
    for name, truth in TRUTHS.items():
        test = draw(orders_of(ONE_LIST), truth, N_TEST, rng)
        for kind, lists in kinds.items():
            train, validation = (draw(lists, truth, max(PAIRS), rng) for _ in range(2))
            for shape, n in product(SHAPES, PAIRS):
                seen, held = (one[:n].preferences() for one in (train, validation))
                weights = learned(seen, held, shape=shape, grid=DECADES).weights_
                keys = {"data": name, "kind": kind, "shape": shape, "pairs": n}
                yield "best order", keys, {"precision": test.precision(weights)}


def margins(rng: np.random.Generator) -> Iterator[Found]:
    """Ask for a margin of 1, or of the number of ranks at which grades, or documents, differ."""
    for name, truth in TRUTHS.items():
        train, validation = (_of_documents(truth, max(FEW_PAIRS), rng) for _ in range(2))
        test = draw(orders_of(ONE_LIST), truth, N_TEST, rng)
        for shape, margin, n in product(SHAPES, ("unit", "grades", "documents"), FEW_PAIRS):
            seen, held = (one[:n].preferences() for one in (train, validation))
            weights = learned(seen, held, shape=shape, margin=margin, grid=DECADES).weights_
            keys = {"data": name, "shape": shape, "margin": margin, "pairs": n}
            yield "margins", keys, {"precision": test.precision(weights), "similarity": similarity(weights, truth)}


def _orders(n: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Draw pairs of orders of ten documents."""
    first, second = (rng.permuted(np.tile(np.arange(N_RANKS), (n, 1)), axis=1) for _ in range(2))
    return first, second


def _of_documents(truth: Floats, n: int, rng: np.random.Generator) -> Pairs:
    """Draw pairs of orders of ten documents and keep their grades, and at how many ranks documents differ."""
    pairs = draw(_orders, truth[:, ONE_LIST], n, rng)
    moved = (pairs.first != pairs.second).sum(axis=1)
    return replace(pairs, first=ONE_LIST[pairs.first], second=ONE_LIST[pairs.second], moved=moved)


def no_grades(rng: np.random.Generator) -> Iterator[Found]:
    """Learn what each of ten documents is worth at each rank; how it would be graded is not seen."""
    names = np.array([f"d{document}" for document in range(N_RANKS)])
    for name, truth in TRUTHS.items():
        worth = truth[:, ONE_LIST]
        train, validation, test = (draw(_orders, worth, n, rng) for n in (max(UNGRADED_PAIRS), 800, N_TEST))

        def seen(pairs: Pairs) -> PreferenceData:
            ordered = pairs.preferences(top=N_RANKS - 1)
            return PreferenceData.from_documents(names[ordered.preferred].tolist(), names[ordered.other].tolist())

        held = seen(validation)
        for n in UNGRADED_PAIRS:
            found = learned(seen(train[:n]), held, grid=DECADES)
            yield "no grades", {"data": name, "pairs": n}, {"precision": test.precision(found.weights_)}
