"""The quantity to estimate: the performance of one ranking, or the difference of two, by a measure."""

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
    """A measure that assigns a value to each query once the grades are known."""

    @property
    def cutoff(self) -> int | None:
        """Last rank that counts; None without a cutoff."""

    @property
    def max_grade(self) -> int | None:
        """Largest grade of the measure's scale; None if it accepts any."""

    def bound_to(self, max_grade: int) -> Self:
        """Copy the measure with an open grade scale fixed at `max_grade`."""

    def limits(self, max_grade: int | None, longest: int) -> tuple[float, float]:
        """Compute the lowest and highest possible value of a query whose list has at most `longest` items.

        ``max_grade`` is the largest grade, used if the measure does not fix it; None on an open scale.
        """
        ...

    def score(self, pool: QueryPool, grades: LabelsLike, ranking: Rankings, versus: Rankings | None = None) -> Floats:
        """Compute the value of each query, or the difference ``ranking − versus``, shape (n_queries,).

        ``grades`` (n_items,) are negative for unjudged items.
        """


@runtime_checkable
class SampledMeasure(Measure, Protocol):
    """A measure with known moments under a grade model, so that judgments can be sampled for it."""

    @property
    def needs_max_grade(self) -> bool:
        """True if the value of a grade depends on the largest grade, and that is not known yet."""

    @property
    def needs_all_items(self) -> bool:
        """True if every item of a query counts, because each can be in the ideal ranking."""

    @property
    def is_additive(self) -> bool:
        """True if the value is a sum of one term per item."""

    @property
    def is_judged_whole(self) -> bool:
        """True if whole queries are judged by comparisons, not items by grades."""

    @property
    def reads_parts(self) -> bool:
        """True if an expected value can be computed when only some of a query's items are judged."""
        ...

    def terms(self, n_grades: int, longest: int, widest: int) -> Terms:
        """Get values and discounts for partly judged queries of up to `widest` items, and lists of up to `longest`."""

    @property
    def no_gain_between(self) -> str:
        """Grades between which the measure has no mean value, for a message, such as "ranks"; else empty."""

    def discount_vector(self, longest: int) -> Floats:
        """Compute the discounts of the ranks that count in lists of up to `longest` items."""

    def moments(
        self,
        pool: QueryPool,
        grade_probs: ArrayLike,
        ranking: Rankings,
        versus: Rankings | None = None,
        node_weights: ArrayLike | None = None,
    ) -> Moments:
        """Compute mean, mean square and variance of each query's value under a grade model; see `Additive.moments`.

        ``grade_probs`` has shape (n_items, n_grades), or (n_nodes, n_items, n_grades) with ``node_weights`` (n_nodes,).
        """


AnyMeasure = TypeVar("AnyMeasure", bound=Measure)
_AS_USUAL = {
    "DCG": "dcg='exp-log2'",
    "nDCG": "dcg='log2'",
    **dict.fromkeys(("P", "R", "Success", "RR", "AP", "Rprec", "R_cap", "F1", "Bpref", "infAP", "ERR_IA"), "rel=1"),
    "alpha_nDCG": "alpha=0.5,rel=1",
    "RBP": "p=0.8,rel=1",
    **dict.fromkeys(("kNDCG", "kERR"), "k=10"),
}
"""Parameters that the name of a measure alone implies, as in `parse_measure`."""
_WRITTEN = re.compile(r"(?P<name>\w+)\((?P<inside>.*)\)(?P<at>@\d+)?")


def shown_name(measure: Measure) -> str:
    """Name a measure for tables and messages: the caller's label, else its name with all unusual parameters.

    The largest grade of ERR is omitted: it is that of the scale.

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
    """Label a measure with the caller's text, unless `shown_name` shows that text already."""
    if text == shown_name(measure):
        return measure
    return replace(measure, label=text)  # type: ignore[type-var]


def check_sampled(measure: Measure) -> SampledMeasure:
    """Check that a measure has moments under a grade model, so that designs can sample for it; return it.

    Raises InputError otherwise.
    """
    if not isinstance(measure, SampledMeasure):
        raise InputError(
            f"{measure} can be scored but not sampled for: it has no moments under a grade model; "
            "choose DCG, ERR, RBP, P, Success, RR, nDCG, R or AP"
        )
    return measure


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """The quantity to estimate: the value of a ranking, or its difference from the value of another.

    L of a ranking, or δ = L(ranking) − L(versus). All other code treats the two cases alike.

    Parameters
    ----------
    measure : SampledMeasure
    ranking : Rankings
    versus : Rankings, optional
        The ranking to compare with.
    within : array of bool, shape (n_queries,), optional
        The queries to average over; by default all queries of the pool.

    Raises
    ------
    InputError
        If the measure cannot be sampled for or needs the largest grade, the rankings have different pools, or
        ``within`` is not a mask that selects a query.

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
        """Check measure, queries and rankings; raise InputError if one does not fit."""
        check_sampled(self.measure)
        if self.within is not None:
            object.__setattr__(self, "within", _as_segment(self.within, self.pool.n_queries))
        if self.measure.needs_max_grade:
            raise InputError(f"{self.measure} needs the largest grade of the scale, as in ERR(max_grade=4)")
        if self.versus is not None:
            check_pool(self.pool, self.versus)

    def is_same(self, other: Target) -> bool:
        """Check whether another target has the same measure, the same ranking objects and the same queries."""
        lists = (self.ranking is other.ranking, self.versus is other.versus)
        segments = (self.within, other.within)
        are_alike = segments[0] is segments[1] or np.array_equal(*segments)  # type: ignore[arg-type]
        return all(lists) and are_alike and self.is_measured_by(other.measure)

    def is_measured_by(self, measure: SampledMeasure) -> bool:
        """Check whether a measure equals this target's: same text, and same discounts, as the text omits functions."""
        discounts, of_measure = (
            each_measure.discount_vector(self._longest) for each_measure in (self.measure, measure)
        )
        return str(self.measure) == str(measure) and np.array_equal(discounts, of_measure)

    @property
    def name(self) -> str:
        """Name of the measure in tables and messages."""
        return shown_name(self.measure)

    @property
    def pool(self) -> QueryPool:
        """The pool of the ranking."""
        return self.ranking.pool

    @property
    def other(self) -> Rankings:
        """The ranking to compare with; one with empty lists if there is none."""
        return Rankings.empty(self.pool) if self.versus is None else self.versus

    @property
    def depth(self) -> int:
        """Deepest rank that counts in either ranking."""
        return self.measure.discount_vector(self._longest).size

    @property
    def _longest(self) -> int:
        """Length of the longest list of both rankings."""
        return longest_list(self.ranking, *(() if self.versus is None else (self.versus,)))

    @property
    def contrast(self) -> Floats:
        """Weight of each item in the value: its discount in the ranking minus that in ``versus``, shape (n_items,).

        0 if neither ranks it at a rank that counts.
        """
        discounts = self.measure.discount_vector(self._longest)
        contrast = np.zeros(self.pool.n_items)
        for sign, ranking in ((1.0, self.ranking), (-1.0, self.other)):
            counts = ranking.ranks <= discounts.size
            contrast[ranking.items[counts]] += sign * discounts[ranking.ranks[counts] - 1]
        return contrast

    def limits(self, max_grade: int | None) -> tuple[float, float]:
        """Compute the lowest and highest value, or difference, of a query; ``max_grade`` is None on an open scale.

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
        """Get values (of ``n_grades`` grades) and discounts for the expected values of partly judged queries."""
        return self.measure.terms(n_grades, self._longest, int(np.diff(self.pool.query_offsets).max()))

    def values(self, grades: LabelsLike) -> Floats:
        """Compute the value, or difference, of every query from known labels, shape (n_queries,).

        A negative grade means unjudged; such an item counts as in the measure's `score`.
        """
        return self.measure.score(self.pool, grades, self.ranking, self.versus)

    def check_judged(self, grades: ArrayLike) -> None:
        """Raise InputError if an item that counts is unjudged (negative grade), so that the true values are unknown."""
        items, pool = self.judging_lists()[1], self.pool
        items = items if self.within is None else items[self.within[pool.item_queries[items]]]
        missing = items[np.asarray(grades)[items] < 0]
        check_judged(pool.pairs_of(missing), items.size, f"that {self.name} needs")

    def moments(self, grade_probs: ArrayLike, node_weights: ArrayLike | None = None) -> Moments:
        """Compute mean, mean square and variance of every query's value, or difference, under a grade model.

        ``grade_probs`` has shape (n_items, n_grades), or (n_nodes, n_items, n_grades) with ``node_weights`` (n_nodes,)
        of a query factor (a random effect of a query).
        """
        return self.measure.moments(self.pool, grade_probs, self.ranking, self.versus, node_weights)

    def judging_lists(self) -> tuple[Ints, Ints]:
        """List the items to judge for each query's value, in judging order, as ``(offsets, items)``.

        Query q has ``items[offsets[q]:offsets[q + 1]]``, positions on the pool's item axis.

        The items of both rankings down to the measure's cutoff, by better rank; at equal rank, the first ranking's
        item comes first. If every item counts (nDCG, R, AP), the rest of the rankings follows, then the items in
        neither.
        """
        return common_lists([self])

    @property
    def matters(self) -> NDArray[np.bool_]:
        """Flag the items whose label can change the value of their query, shape (n_items,).

        A label has no effect if the value does not depend on the item's grade, if both lists are equal down to the last
        rank that counts, if the list of a measure that counts every item is empty, if the item's discounts in both
        lists are equal in an additive measure, or if its query is outside `within`.
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
    """Check a mask of queries and return it read-only; InputError unless it has a bool for each, one of them True."""
    segment = np.array(within)
    if segment.dtype != np.bool_ or segment.shape != (n_queries,):
        raise InputError(f"within must be true or false for each of {n_queries} queries, got {within!r}")
    if not segment.any():
        raise InputError("within selects no query, expected at least one")
    segment.setflags(write=False)
    return segment


def common_lists(targets: Sequence[Target]) -> tuple[Ints, Ints]:
    """List all items that several targets of one pool need, by better rank in any ranking, as ``(offsets, items)``.

    Query q has ``items[offsets[q]:offsets[q + 1]]``, positions on the pool's item axis. If a measure counts every item,
    the items in no list follow, by item id descending, as for equal scores.
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
        np.concatenate(([0], np.cumsum(sizes)[:-1])),  # start of each ranking in `ranked`
        np.array([ranking.offsets for ranking in lists]),
        ranked,
        offsets,
        items,
    )
    return offsets, items[:n]
