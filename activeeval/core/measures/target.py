"""What is to be estimated: the performance of one ranking, or the difference of two, by a measure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, Self, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from activeeval.core.errors import InputError
from activeeval.core.measures.labels import LabelsLike
from activeeval.core.measures.ranking_checks import check_pool, longest_list
from activeeval.core.measures.terms import Terms
from activeeval.core.pool import QueryPool, Rankings, check_judged
from activeeval.core.results import Moments
from activeeval.core.types import Floats, Ints


class Measure(Protocol):
    """A value for each query once the grades are known."""

    @property
    def cutoff(self) -> int | None: ...

    @property
    def max_grade(self) -> int | None: ...

    def bound_to(self, max_grade: int) -> Self: ...

    def limits(self, max_grade: int | None, longest: int) -> tuple[float, float]:
        """Compute the lowest and highest value of a query, its list of at most ``longest`` items."""
        ...

    def score(
        self, pool: QueryPool, grades: LabelsLike, ranking: Rankings, versus: Rankings | None = None
    ) -> Floats: ...


@runtime_checkable
class SampledMeasure(Measure, Protocol):
    """A measure whose distribution under a grade model is known, so that it can be sampled for."""

    @property
    def needs_max_grade(self) -> bool: ...

    @property
    def needs_all_items(self) -> bool: ...

    @property
    def is_additive(self) -> bool: ...

    @property
    def is_judged_whole(self) -> bool: ...

    @property
    def reads_parts(self) -> bool:
        """Whether it has an expected value when a part of a query's items is judged."""
        ...

    def terms(self, n_grades: int, longest: int, widest: int) -> Terms: ...

    @property
    def no_gain_between(self) -> str: ...

    def discount_vector(self, longest: int) -> Floats: ...

    def moments(
        self,
        pool: QueryPool,
        grade_probs: ArrayLike,
        ranking: Rankings,
        versus: Rankings | None = None,
        node_weights: ArrayLike | None = None,
    ) -> Moments: ...


AnyMeasure = TypeVar("AnyMeasure", bound=Measure)
_AS_USUAL = {
    "DCG": "dcg='exp-log2'",
    "nDCG": "dcg='log2'",
    **dict.fromkeys(("P", "R", "Success", "RR", "AP"), "rel=1"),
    "RBP": "p=0.8,rel=1",
    "kNDCG": "k=10",
    "kERR": "k=10",
}
"""What the name of a measure alone means, as `parse_measure` reads it."""
_WRITTEN = re.compile(r"(?P<name>\w+)\((?P<inside>.*)\)(?P<at>@\d+)?")


def shown_name(measure: Measure) -> str:
    """Return what tables and messages call a measure: what a caller calls it, else its name and what is unusual of it.

    The largest grade of ERR is left out: it is that of the scale.

    Examples
    --------
    >>> from activeeval.core.measures import DCG, ERR, NDCG, Precision
    >>> [shown_name(measure) for measure in (DCG(cutoff=10), NDCG("exp"), ERR(4, cutoff=20), Precision(5, rel=2))]
    ['DCG@10', "nDCG(dcg='exp-log2')", 'ERR@20', 'P(rel=2)@5']
    """
    if label := getattr(measure, "label", ""):
        return str(label)
    text = str(measure)
    written = _WRITTEN.fullmatch(text)
    if written is None or not (
        written["inside"] == _AS_USUAL.get(written["name"]) or re.fullmatch(r"max_rel=\d+", written["inside"])
    ):
        return text
    return written["name"] + (written["at"] or "")


def called(measure: AnyMeasure, text: str) -> AnyMeasure:
    """Return a measure that is shown as a caller wrote it, where that is not how it is shown anyway."""
    if text == shown_name(measure):
        return measure
    return replace(measure, label=text)  # type: ignore[type-var]


def check_sampled(measure: Measure) -> SampledMeasure:
    """Return a measure once it is seen to be one that can be sampled for."""
    if not isinstance(measure, SampledMeasure):
        raise InputError(
            f"{measure} is a score only, no model says how it is distributed; "
            "choose DCG, ERR, RBP, P, Success, RR, nDCG, R or AP"
        )
    return measure


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """What is to be estimated: the value of a ranking, or by how much it is above that of another.

    L of a ranking, or δ = L(ranking) − L(versus): the only place where the two differ.

    Parameters
    ----------
    measure : SampledMeasure
    ranking : Rankings
    versus : Rankings, optional
        The ranking to compare with.
    within : array of bool, shape (n_queries,), optional
        The queries that the question is about; by default all of the pool.

    Examples
    --------
    >>> from activeeval.core.measures import DCG
    >>> pool = QueryPool(["q"], [0, 2], ["a", "b"])
    >>> new, old = (Rankings.from_ids(pool, {"q": ids}) for ids in (["a", "b"], ["b", "a"]))
    >>> target = Target(DCG(cutoff=1), new, versus=old)
    >>> target.name, target.values([2, 1])
    ('DCG@1', array([2.]))
    """

    measure: SampledMeasure
    ranking: Rankings
    versus: Rankings | None = None
    within: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        check_sampled(self.measure)
        if self.within is not None:
            object.__setattr__(self, "within", _as_segment(self.within, self.pool.n_queries))
        if self.measure.needs_max_grade:
            raise InputError(f"{self.measure} needs the largest grade of the scale, as in ERR(max_grade=4)")
        if self.versus is not None:
            check_pool(self.pool, self.versus)

    def is_same(self, other: Target) -> bool:
        """Whether another target asks the same of the same rankings."""
        lists = (self.ranking is other.ranking, self.versus is other.versus)
        segments = (self.within, other.within)
        are_alike = segments[0] is segments[1] or np.array_equal(*segments)  # type: ignore[arg-type]
        return all(lists) and are_alike and self.is_measured_by(other.measure)

    def is_measured_by(self, measure: SampledMeasure) -> bool:
        """Whether a measure is this target's own: the same text, which does not tell functions apart, and discounts."""
        discounts, of_measure = (each.discount_vector(self._longest) for each in (self.measure, measure))
        return str(self.measure) == str(measure) and np.array_equal(discounts, of_measure)

    @property
    def name(self) -> str:
        """What tables and messages call the measure."""
        return shown_name(self.measure)

    @property
    def pool(self) -> QueryPool:
        """The pool that is ranked."""
        return self.ranking.pool

    @property
    def other(self) -> Rankings:
        """The ranking to compare with, an empty one where there is none."""
        return Rankings.empty(self.pool) if self.versus is None else self.versus

    @property
    def depth(self) -> int:
        """The deepest rank that counts in either ranking."""
        return self.measure.discount_vector(self._longest).size

    @property
    def _longest(self) -> int:
        return longest_list(self.ranking, *(() if self.versus is None else (self.versus,)))

    @property
    def contrast(self) -> Floats:
        """What each item's rank is worth, a difference in a comparison, shape (n_items,); 0 where it is not ranked."""
        discounts = self.measure.discount_vector(self._longest)
        contrast = np.zeros(self.pool.n_items)
        for sign, ranking in ((1.0, self.ranking), (-1.0, self.other)):
            counts = ranking.ranks <= discounts.size
            contrast[ranking.items[counts]] += sign * discounts[ranking.ranks[counts] - 1]
        return contrast

    def limits(self, max_grade: int | None) -> tuple[float, float]:
        """Compute the lowest and highest of what a query's value, or its difference, can be: infinite on an open scale.

        Examples
        --------
        >>> from activeeval.core.measures import Precision
        >>> pool = QueryPool(["q"], [0, 2], ["a", "b"])
        >>> lists = [Rankings.from_ids(pool, {"q": ids}) for ids in (["a", "b"], ["b", "a"])]
        >>> Target(Precision(1), lists[0]).limits(None), Target(Precision(1), *lists).limits(None)
        ((0.0, 1.0), (-1.0, 1.0))
        """
        cutoff = self.measure.cutoff
        low, high = self.measure.limits(max_grade, self._longest if cutoff is None else cutoff)
        return (low, high) if self.versus is None else (low - high, high - low)

    def terms(self, n_grades: int) -> Terms:
        """Return what depth designs must know of the measure."""
        return self.measure.terms(n_grades, self._longest, int(np.diff(self.pool.query_offsets).max()))

    def values(self, grades: LabelsLike) -> Floats:
        """Return the value of every query, or its difference, for known labels, shape (n_queries,)."""
        return self.measure.score(self.pool, grades, self.ranking, self.versus)

    def check_judged(self, grades: ArrayLike) -> None:
        """Raise where an item that counts has no grade (a negative one), so that the true values are not known."""
        items, pool = self.judging_lists()[1], self.pool
        items = items if self.within is None else items[self.within[pool.item_queries[items]]]
        missing = items[np.asarray(grades)[items] < 0]
        check_judged(pool.pairs_of(missing), items.size, f"that {self.name} needs")

    def moments(self, grade_probs: ArrayLike, node_weights: ArrayLike | None = None) -> Moments:
        """Return mean, mean square and variance of every query's value, or difference, under a grade model."""
        return self.measure.moments(self.pool, grade_probs, self.ranking, self.versus, node_weights)

    def judging_lists(self) -> tuple[Ints, Ints]:
        """Return (offsets, items): what must be judged to know each query's value, in judging order.

        The union of both rankings down to the measure's cutoff, by better rank, at equal rank the
        first ranking's item first. Where every item counts (nDCG, R, AP), the rest of the rankings
        follows, then what neither holds.
        """
        return common_lists([self])

    @property
    def matters(self) -> NDArray[np.bool_]:
        """Whether an item's label can change the value of its query, shape (n_items,).

        It cannot where the item is not to be judged, where two lists are equal as deep as they count, where a list
        that every item counts for is empty, in an additive measure where its contrast is 0, and where the question is
        not about its query.
        """
        from activeeval.core.kernels import judging

        _, items = self.judging_lists()
        ranking, reference = self.ranking, self.other
        differs = np.empty(self.pool.n_queries, dtype=np.bool_)
        judging.differing_queries(
            ranking.offsets, ranking.items, reference.offsets, reference.items, self.depth, differs
        )
        matters = np.zeros(self.pool.n_items, dtype=np.bool_)
        matters[items] = differs[self.pool.item_queries[items]]
        if self.measure.is_additive:
            matters &= self.contrast != 0
        if self.within is not None:
            matters &= self.within[self.pool.item_queries]
        return matters


def _as_segment(within: ArrayLike, n_queries: int) -> NDArray[np.bool_]:
    """Return which queries a question is about, read-only."""
    segment = np.array(within)
    if segment.dtype != np.bool_ or segment.shape != (n_queries,):
        raise InputError(f"within must be true or false for each of {n_queries} queries, got {within!r}")
    if not segment.any():
        raise InputError("within holds no query: there is nothing to ask about")
    segment.setflags(write=False)
    return segment


def common_lists(targets: Sequence[Target]) -> tuple[Ints, Ints]:
    """Return (offsets, items) of all that several targets of one pool need, by better rank in any of their rankings.

    Where every item counts those that no list holds follow by item id descending, as equal scores would.
    """
    from activeeval.core.kernels import judging

    pool, depths, lists = targets[0].pool, [], []
    everything = any(target.measure.needs_all_items for target in targets)
    for target in targets:
        for ranking in (target.ranking, target.other):
            depths.append(target._longest if everything else target.depth)
            lists.append(ranking)
    sizes = [ranking.items.size for ranking in lists]
    ranked = np.concatenate([ranking.items for ranking in lists])
    rest = Rankings.from_scores(pool, np.zeros(pool.n_items)).items if everything else np.empty(0, dtype=np.int64)
    offsets = np.empty(pool.n_queries + 1, dtype=np.int64)
    items = np.empty(pool.n_items if everything else min(pool.n_items, ranked.size), dtype=np.int64)
    n = judging.judging_lists(
        pool.query_offsets,
        np.array(depths, dtype=np.int64),
        rest,
        np.concatenate(([0], np.cumsum(sizes)[:-1])),
        np.array([ranking.offsets for ranking in lists]),
        ranked,
        offsets,
        items,
    )
    return offsets, items[:n]
