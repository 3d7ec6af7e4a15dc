"""How the field samples documents of a query: uniformly, uniformly within strata of ranks, by a prior, or the top ones.

Sizes are set beforehand, query by query: a stratum of N documents gives round(share · N), at least one. Queries are a
plain random sample; every query of which documents are judged costs its overhead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from activeeval import Target
from activeeval.core.measures.target import common_lists
from activeeval.core.measures.terms import CASCADE, PRECISION, Terms
from activeeval.core.types import Bools, Floats, Ints
from benchmarks import inferred
from benchmarks.inferred import Documents, Lists

BANDS = (3, 10)
"""Last ranks of the strata but for the last one."""
RATES = ((1.0, 1.0, 0.2), (1.0, 0.5, 0.2), (1.0, 0.5, 0.1), (0.5, 0.5, 0.1), (0.5, 0.25, 0.1), (1 / 3, 1 / 3, 1 / 3))
"""Shares of the strata that are judged, from the top; tracks of TREC judge the first all and of the last a tenth."""
SHARES = (1.0, 0.5, 0.25, 0.1)
"""Of a query's documents, where ranks are not told apart, or by a prior alone."""
NAMES = {
    (True, False): ("infAP", "xinfAP", "statAP"),
    (False, False): ("infNDCG, no strata", "infNDCG"),
    (False, True): ("DCG, no strata", "DCG, strata", "DCG, statAP's sample"),
}
"""Baselines by whether a measure is of precisions, and whether it is divided by no ideal."""
_CLOSE = 30


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Case:
    """The documents that can change a target, its lists on them with their signs, and their grades and costs.

    ``open_queries`` are those that have any, numbered as the owners of `documents`.
    """

    documents: Documents
    lists: tuple[tuple[float, Lists], ...]
    grades: Ints
    costs: Floats
    open_queries: Ints
    terms: Terms

    @classmethod
    def of(cls, target: Target, grades: Ints, max_grade: int, bands: tuple[int, ...] = BANDS) -> Case:
        """Return the documents of a target, in strata that end at the ranks ``bands``; costs are in mean items."""
        pool, matters, listed = target.pool, target.matters, common_lists([target])[1]
        items = listed[matters[listed]]
        open_queries, owners = np.unique(pool.item_queries[items], return_inverse=True)
        place = np.full(pool.n_items, -1)
        place[items] = np.arange(items.size)
        strata = np.searchsorted(bands, best_ranks(target)[items])
        documents = Documents(owners, strata, open_queries.size, len(bands) + 1)
        lists = []
        for sign, ranking in ((1.0, target.ranking), (-1.0, target.other)):
            own = place[ranking.items] >= 0
            if own.any():
                lists.append((sign, Lists(documents, place[ranking.items[own]], ranking.ranks[own])))
        return cls(
            documents=documents,
            lists=tuple(lists),
            grades=grades[items],
            costs=pool.item_costs[items] / pool.item_costs.mean(),
            open_queries=open_queries,
            terms=target.terms(max_grade + 1),
        )

    @property
    def gains(self) -> Floats:
        """Gain of each document once it is judged."""
        return self.terms.values[self.grades]

    def value(self, estimate: Callable[[Lists], Floats]) -> Floats:
        """Return an estimate of every open query: of its list, or of two lists' difference."""
        found = np.zeros(self.documents.n_queries)
        for sign, lists in self.lists:
            found += sign * estimate(lists)
        return found

    def cost(self, probs: Floats) -> Floats:
        """Compute the mean cost of judging documents with these probabilities, by open query."""
        return np.bincount(self.documents.owners, probs * self.costs, minlength=self.documents.n_queries)


@dataclass(frozen=True, slots=True, eq=False)
class Way:
    """A baseline in one configuration: what one sample says of every open query, and what its documents cost there."""

    baseline: str
    configuration: str
    costs: Floats
    once: Callable[[np.random.Generator], Floats]


def best_ranks(target: Target) -> Ints:
    """Return the better rank of each item in any list of a target, (n_items,); beyond all ranks where it has none."""
    best = np.full(target.pool.n_items, np.iinfo(np.int64).max)
    for ranking in (target.ranking, target.other):
        best[ranking.items] = np.minimum(best[ranking.items], ranking.ranks)
    return best


def ways(target: Target, grades: Ints, max_grade: int) -> Iterator[Way]:
    """Return every baseline that estimates a measure from sampled documents, in all configurations."""
    by_rank, alike = (Case.of(target, grades, max_grade, bands) for bands in (BANDS, ()))
    if by_rank.terms.numerator == CASCADE:
        return
    names = NAMES[by_rank.terms.numerator == PRECISION, by_rank.terms.is_exact]
    for share in SHARES:
        yield _by_strata(alike, names[0], (share,))
    for shares in RATES:
        yield _by_strata(by_rank, names[1], shares)
    for share in SHARES[1:] if len(names) > 2 else ():
        yield _by_prior(alike, names[2], share)


def _by_strata(case: Case, name: str, shares: tuple[float, ...]) -> Way:
    documents, terms, is_relevant = case.documents, case.terms, case.gains > 0
    taken = numbers(documents, shares)
    precision = inferred.inferred_ap if documents.n_strata == 1 else inferred.extended_inferred_ap

    def once(rng: np.random.Generator) -> Floats:
        judged = stratified(documents, taken, rng)
        if terms.numerator == PRECISION:
            return case.value(lambda lists: precision(lists, judged, is_relevant))
        found = case.value(lambda lists: inferred.inferred_dcg(lists, judged, case.gains, terms.discounts))
        if terms.is_exact:
            return found
        ideal = inferred.inferred_ideal(documents, judged, case.grades, terms.values, terms.cumulative)
        return np.divide(found, ideal, out=np.zeros_like(found), where=ideal > 0)

    probs = (taken / np.maximum(documents.count().ravel(), 1))[documents.cells]
    return Way(name, "judged from the top: " + ", ".join(f"{share:.2g}" for share in shares), case.cost(probs), once)


def _by_prior(case: Case, name: str, share: float) -> Way:
    documents, terms, is_relevant = case.documents, case.terms, case.gains > 0
    probs = prior_probs(documents, [lists for _, lists in case.lists], share)

    def once(rng: np.random.Generator) -> Floats:
        judged = systematic(documents, probs, rng)
        if terms.numerator == PRECISION:
            return case.value(lambda lists: inferred.stat_ap(lists, judged, is_relevant, probs))
        return case.value(lambda lists: inferred.weighted_dcg(lists, judged, case.gains, probs, terms.discounts))

    return Way(name, f"{share:.2g} judged, by the prior of AP", case.cost(probs), once)


def numbers(documents: Documents, shares: tuple[float, ...]) -> Ints:
    """Compute the number of judged documents of each stratum of each query, shape (n_queries · n_strata,)."""
    held = documents.count()
    wanted = np.maximum(np.floor(held * shares + 0.5), 1)
    return np.minimum(wanted, held).ravel().astype(np.int64)


def stratified(documents: Documents, taken: Ints, rng: np.random.Generator) -> Bools:
    """Draw that many documents of each stratum, all of a stratum equally likely, shape (n_documents,)."""
    cells = documents.cells
    order = np.argsort(cells + rng.random(cells.size))
    ordered = cells[order]
    place = np.arange(cells.size) - np.searchsorted(ordered, ordered)
    judged = np.empty(cells.size, dtype=bool)
    judged[order] = place < taken[ordered]
    return judged


def prior_probs(documents: Documents, lists: list[Lists], share: float) -> Floats:
    """Return inclusion probabilities in proportion to statAP's prior, 1 + Σ_{j=r..n} 1/j, the mean over lists.

    They are 1 at most; of each query they sum to as many documents as `numbers` takes of an undivided one.
    """
    weights, n = np.full(documents.owners.size, 1e-9), documents.n_queries
    for one in lists:
        tails = 1.0 + _tail_sums(one)
        weights[one.places] += tails / one.total(tails)[one.owners]
    held = np.bincount(documents.owners, minlength=n)
    wanted = np.minimum(np.maximum(np.floor(share * held + 0.5), 1), held)
    probs = np.zeros(weights.size)
    for _ in range(_CLOSE):
        is_full = probs >= 1.0
        left = wanted - np.bincount(documents.owners, is_full, minlength=n)
        rest = np.bincount(documents.owners, np.where(is_full, 0.0, weights), minlength=n)
        scale = np.divide(left, rest, out=np.zeros(n), where=rest > 0)
        probs = np.where(is_full, 1.0, np.minimum(1.0, scale[documents.owners] * weights))
    return probs


def systematic(documents: Documents, probs: Floats, rng: np.random.Generator) -> Bools:
    """Draw documents of every query with given probabilities, as many as they sum to: systematic, in random order."""
    owners = documents.owners
    order = np.argsort(owners + rng.random(owners.size))
    first = np.searchsorted(owners, np.arange(documents.n_queries))
    upto = np.concatenate(([0.0], np.cumsum(probs[order])))
    before = upto[first] - rng.random(documents.n_queries)
    steps = np.floor(upto[1:] - before[owners] + 1e-9)  # sums of probabilities are not whole to the last digit
    earlier = np.concatenate(([0.0], steps[:-1]))
    earlier[first] = 0.0
    judged = np.empty(owners.size, dtype=bool)
    judged[order] = steps > earlier
    return judged


def _tail_sums(lists: Lists) -> Floats:
    """Return Σ 1/j over the ranks j from an entry's own to the last of its list."""
    parts = 1.0 / lists.ranks
    return lists.total(parts)[lists.owners] - lists.above(parts)
