"""Judgments as numbers, for coefficients of agreement: grades, and which of two items is the better one.

Grades say of any two items of a query which is the better one, too; so grades and preferences are compared by the same
tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Self

import numpy as np

from activeeval.core.errors import InputError, shown
from activeeval.core.types import Floats, Ints


class _Numbers:
    """The numbers that names get as they come."""

    def __init__(self) -> None:
        self.of: dict[tuple[str, ...], int] = {}

    def __call__(self, *name: str) -> int:
        return self.of.setdefault(name, len(self.of))

    def names(self) -> tuple[str, ...]:
        """Return the names in their order."""
        return tuple(name[-1] for name in sorted(self.of))

    def by_name(self) -> Ints:
        """Return the place of each number in the order of the names, which no order of rows changes."""
        return np.argsort(sorted(range(len(self.of)), key=list(self.of).__getitem__))


def _by_name(kinds: dict[str, _Numbers], numbers: Ints) -> dict[str, Ints]:
    """Return the first columns of rows of numbers, which these are of, in the order of the names."""
    return {name: kind.by_name()[column] for (name, kind), column in zip(kinds.items(), numbers.T, strict=False)}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CodedGrades:
    """Grades by judge and item, one a row, none of them twice.

    Attributes
    ----------
    judges, queries : tuple of str
        Their names in their order, by the numbers in the columns.
    judge, query, item : ndarray of int64, shape (n,)
        An item is a document of one query; items are numbered in the order of their ids.
    grade : ndarray of float64, shape (n,)
    """

    judges: tuple[str, ...]
    queries: tuple[str, ...]
    judge: Ints
    query: Ints
    item: Ints
    grade: Floats

    @classmethod
    def of(cls, rows: Iterable[tuple[str, str, str, float]]) -> Self:
        """Take rows of judge, query, item and grade.

        Raises
        ------
        InputError
            Where a judge gives an item two grades.
        """
        judges, queries, items = _Numbers(), _Numbers(), _Numbers()
        held: dict[tuple[int, int], tuple[int, float]] = {}
        for judge, query, item, grade in rows:
            key = judges(judge), items(query, item)
            before = held.setdefault(key, (queries(query), grade))[1]
            if before != grade:
                what = f"document {shown(item)} of query {shown(query)}"
                raise InputError(f"{what} has two grades of judge {shown(judge)}, {before:g} and {grade:g}")
        numbers = np.array([(*key, query) for key, (query, _) in held.items()], dtype=np.int64).reshape(-1, 3)
        columns = _by_name({"judge": judges, "item": items, "query": queries}, numbers)
        values = np.array([grade for _, grade in held.values()], dtype=np.float64)
        return cls(judges=judges.names(), queries=queries.names(), grade=values, **columns)

    def shared(self) -> Self:
        """Return the grades of the items that several judges graded."""
        kept = np.bincount(self.item)[self.item] > 1 if self.item.size else np.zeros(0, dtype=bool)
        columns = {name: getattr(self, name)[kept] for name in ("judge", "query", "item", "grade")}
        return type(self)(judges=self.judges, queries=self.queries, **columns)

    def relations(self) -> Relations:
        """Return the preferences that the grades imply, of items that several judges graded."""
        shared = self.shared()
        parts = [np.empty((4, 0), dtype=np.int64)]
        order = np.lexsort((shared.item, shared.query, shared.judge))
        ends = np.flatnonzero(np.diff(shared.judge[order]) | np.diff(shared.query[order])) + 1
        n_items = int(shared.item.max(initial=0)) + 1
        for rows in np.split(order, ends) if order.size else ():
            first, second = (rows[side] for side in np.triu_indices(rows.size, 1))
            signs = np.sign(shared.grade[first] - shared.grade[second]).astype(np.int64)
            pairs = shared.item[first] * n_items + shared.item[second]  # rows ascend by item
            parts.append(np.stack([shared.judge[first], shared.query[first], pairs, signs]))
        judge, query, pair, sign = np.concatenate(parts, axis=1)
        return Relations(judges=self.judges, queries=self.queries, judge=judge, query=query, pair=pair, sign=sign)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Relations:
    """Which item of a pair judges hold for the better one, a row for each judge and pair, none of them twice.

    Attributes
    ----------
    judges, queries : tuple of str
        Their names in their order, by the numbers in the columns.
    judge, query, pair : ndarray of int64, shape (n,)
        A pair is of two items of one query, A and B; A is the one whose id comes first.
    sign : ndarray of int64, shape (n,)
        1 where A is better, −1 where B is, 0 in a tie.
    """

    judges: tuple[str, ...]
    queries: tuple[str, ...]
    judge: Ints
    query: Ints
    pair: Ints
    sign: Ints

    @classmethod
    def of(cls, rows: Iterable[tuple[str, str, str, str, bool]]) -> Self:
        """Take rows of judge, query, the better item, the other one, and whether they are alike.

        Raises
        ------
        InputError
            Where a judge says two things of a pair.
        """
        judges, queries, pairs = _Numbers(), _Numbers(), _Numbers()
        held: dict[tuple[int, int], tuple[int, int]] = {}
        for judge, query, preferred, other, is_tie in rows:
            sign = 0 if is_tie else 1 if preferred < other else -1
            key = judges(judge), pairs(query, *sorted((preferred, other)))
            if held.setdefault(key, (queries(query), sign))[1] != sign:
                what = f"documents {shown(preferred)} and {shown(other)} of query {shown(query)}"
                raise InputError(f"judge {shown(judge)} says two things of {what}")
        numbers = np.array([(*key, *value) for key, value in held.items()], dtype=np.int64).reshape(-1, 4)
        columns = _by_name({"judge": judges, "pair": pairs, "query": queries}, numbers)
        return cls(judges=judges.names(), queries=queries.names(), sign=numbers[:, 3], **columns)

    def tables(self) -> Ints:
        """Return how often a judge and another say what of a pair, by query, shape (n_queries, 3, 3).

        Rows are what the judge says who comes first, columns what the other does: A ≻ B, A ~ B, A ≺ B. Of
        several judges every two count.
        """
        counts = np.zeros((len(self.queries), 3, 3), dtype=np.int64)
        for mine, theirs in every_two(self.judge):
            first, second = mine[np.argsort(self.pair[mine])], theirs[np.argsort(self.pair[theirs])]
            _, here, there = np.intersect1d(self.pair[first], self.pair[second], True, return_indices=True)
            rows, columns = first[here], second[there]
            np.add.at(counts, (self.query[rows], 1 - self.sign[rows], 1 - self.sign[columns]), 1)
        return counts


def every_two(judge: Ints) -> Iterator[tuple[Ints, Ints]]:
    """Yield the rows of every two judges."""
    rows = [np.flatnonzero(judge == number) for number in np.unique(judge)]
    yield from combinations(rows, 2)
