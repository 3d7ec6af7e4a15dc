"""The cells of the table of coverage: a list that follows from this file alone, on any machine and version."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import product

SEED = 2013

COLLECTIONS = ("MQ2008", "MQ2007-agg", "OHSUMED", "LightGBM", "generated")
WORST_COLLECTIONS = ("rare relevance", "empty lists", "certain queries")
MEASURES = ("DCG", "ERR", "nDCG@10", "DCG@10", "ERR@10", "P@10", "RR")
WORST_AFTER_UPDATES = ("ERR", "ERR@10", "RR")
CASES = ("one ranking", "two rankers", "index update")
OVERHEADS = (0.0, 1.0, 5.0)
MODELS = ("forest", "uniform", "reversed", "overconfident")

SHARES = (0.02, 0.05, 0.1, 0.25)
SHARES_OF_CERTAIN = (0.15, 0.2, 0.25)
"""A smaller budget makes hardly any query certain."""

FEW_TOPICS = ("OHSUMED, 42", "Robust03, 50", "Robust03, 30", "LightGBM test, 50")
MODELS_OF_FEW = ("forest", "uniform", "overconfident")
MEASURES_OF_FEW = ("ERR", "nDCG@10", "DCG@10", "ERR@10", "P@10", "RR", "AP")
SHARES_OF_FEW = (0.1, 0.2, 0.4)

DEALT = 2
"""Pairs of case and overhead for each collection, measure and model."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Cell:
    """One entry of the table: a question, on a collection, under a grade model, at a budget.

    Attributes
    ----------
    collection, measure, model, case : str
    overhead : float
        Cost of turning to a query, in mean items.
    share : float
        The budget, as a share of the cost of judging everything that the question needs.
    """

    collection: str
    measure: str
    model: str
    case: str
    overhead: float
    share: float

    @property
    def plan(self) -> Cell:
        """The cell without its budget: cells with equal plans differ in nothing else."""
        return replace(self, share=0.0)

    @property
    def name(self) -> str:
        """What tables call the cell."""
        question = f"{self.collection}, {self.measure}, {self.case}, overhead {self.overhead:g}, {self.model}"
        return f"{question}, {self.share:.0%}"

    @property
    def seed(self) -> int:
        """Seed of the cell's repetitions: cells are independent, and a cell run alone gives the same figures."""
        return number_of(self.name)


def cells() -> list[Cell]:
    """Return the list.

    For every collection and measure the nine pairs of case and overhead are shuffled and dealt to the four models, two
    to each. By turns a pair gets every other budget from the first on, or from the second. By ERR, ERR@10 and RR a
    model to which no index update was dealt gets one more pair, which is.
    """
    return sorted(
        Cell(collection=collection, measure=measure, model=model, case=case, overhead=overhead, share=share)
        for collection, measure in product((*COLLECTIONS, *WORST_COLLECTIONS), MEASURES)
        for model, pairs in _dealt(collection, measure)
        for i, (case, overhead) in enumerate(pairs)
        for share in (SHARES_OF_CERTAIN if collection == "certain queries" else SHARES)[i % 2 :: 2]
    )


def cells_of_few() -> list[Cell]:
    """Return the list of cells of 30 to 50 queries: every case of every measure and model, an overhead dealt to it."""
    return sorted(
        replace(cell, overhead=OVERHEADS[number_of(f"overhead {cell.name}") % len(OVERHEADS)], share=share)
        for collection, measure, model, case in product(FEW_TOPICS, MEASURES_OF_FEW, MODELS_OF_FEW, CASES)
        for cell in [Cell(collection=collection, measure=measure, model=model, case=case, overhead=0.0, share=0.0)]
        for share in SHARES_OF_FEW
    )


def _dealt(collection: str, measure: str) -> Iterator[tuple[str, list[tuple[str, float]]]]:
    """Give every model its pairs of case and overhead."""
    pairs = list(product(CASES, OVERHEADS))
    deck, updates = (
        sorted(pairs, key=lambda p: number_of(f"{p} {collection} {measure} {n}")) for n in ("deal", "more")
    )
    updates = [pair for pair in updates if pair[0] == "index update"]
    for i, model in enumerate(MODELS):
        own = deck[DEALT * i : DEALT * (i + 1)]
        if measure in WORST_AFTER_UPDATES and not any(pair in updates for pair in own):
            own.append(updates[i % len(updates)])
        yield model, own


def number_of(text: str) -> int:
    """Return a number that looks random; unlike a generator's it is the same in every version of everything."""
    return int.from_bytes(blake2b(f"{SEED} {text}".encode(), digest_size=8).digest())
