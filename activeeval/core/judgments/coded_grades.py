"""Judgments as integer codes, for coefficients of agreement: grades and preferences.

Grades imply a preference between any two items of a query, so the same tables compare grades and preferences.
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
    """Whole numbers as codes of names, assigned in order of first use."""

    def __init__(self) -> None:
        """Start without names; ``of`` maps each name, a tuple of texts, to its code."""
        self.of: dict[tuple[str, ...], int] = {}

    def __call__(self, *name: str) -> int:
        """Get the code of a name; a new name gets the next code.

        A name is a tuple of texts, such as the query and the document of an item.
        """
        return self.of.setdefault(name, len(self.of))

    def names(self) -> tuple[str, ...]:
        """List the names (last part of each key) in alphabetical order."""
        return tuple(name[-1] for name in sorted(self.of))

    def by_name(self) -> Ints:
        """Map each code to its position in alphabetical order, shape (n_names,)."""
        # argsort inverts the list of codes in alphabetical order
        return np.argsort(sorted(range(len(self.of)), key=list(self.of).__getitem__))


def _by_name(kinds: dict[str, _Numbers], numbers: Ints) -> dict[str, Ints]:
    """Recode the columns of `numbers` so that codes are positions in alphabetical order; return them by column name.

    The entries of `kinds` belong to the columns (n_rows, n_columns) in their order; further columns are left out.
    """
    return {name: kind.by_name()[column] for (name, kind), column in zip(kinds.items(), numbers.T, strict=False)}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CodedGrades:
    """Grades by judge and item, one row per grade, without duplicates; names are coded as whole numbers.

    Attributes
    ----------
    judges, queries : tuple of str
        Names in alphabetical order; the columns index them.
    judge, query, item : ndarray of int64, shape (n,)
        Codes. An item is a document of one query; items are numbered in the order of their ids.
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
        """Build the table from rows of judge, query, item and grade; equal rows are merged.

        Raises
        ------
        InputError
            If a judge gives an item two different grades.
        """
        judges, queries, items = _Numbers(), _Numbers(), _Numbers()
        by_key: dict[tuple[int, int], tuple[int, float]] = {}
        for judge, query, item, grade in rows:
            key = judges(judge), items(query, item)
            before = by_key.setdefault(key, (queries(query), grade))[1]
            if before != grade:
                where = f"document {shown(item)} of query {shown(query)}"
                raise InputError(f"{where} has two grades of judge {shown(judge)}, {before:g} and {grade:g}")
        numbers = np.array([(*key, query) for key, (query, _) in by_key.items()], dtype=np.int64).reshape(-1, 3)
        columns = _by_name({"judge": judges, "item": items, "query": queries}, numbers)
        values = np.array([grade for _, grade in by_key.values()], dtype=np.float64)
        return cls(judges=judges.names(), queries=queries.names(), grade=values, **columns)

    def shared(self) -> Self:
        """Select the grades of items that two or more judges graded."""
        is_shared = np.bincount(self.item)[self.item] > 1 if self.item.size else np.zeros(0, dtype=bool)
        columns = {name: getattr(self, name)[is_shared] for name in ("judge", "query", "item", "grade")}
        return type(self)(judges=self.judges, queries=self.queries, **columns)

    def relations(self) -> Relations:
        """Derive the preferences that grades imply between two items of a query, both graded by the judge.

        Only items that several judges graded are used.
        """
        shared = self.shared()
        parts = [np.empty((4, 0), dtype=np.int64)]
        order = np.lexsort((shared.item, shared.query, shared.judge))
        ends = np.flatnonzero(np.diff(shared.judge[order]) | np.diff(shared.query[order])) + 1
        n_items = int(shared.item.max(initial=0)) + 1
        for rows in np.split(order, ends) if order.size else ():
            first, second = (rows[side] for side in np.triu_indices(rows.size, 1))
            signs = np.sign(shared.grade[first] - shared.grade[second]).astype(np.int64)
            pairs = shared.item[first] * n_items + shared.item[second]  # one code a pair: rows ascend by item
            parts.append(np.stack([shared.judge[first], shared.query[first], pairs, signs]))
        judge, query, pair, sign = np.concatenate(parts, axis=1)
        return Relations(judges=self.judges, queries=self.queries, judge=judge, query=query, pair=pair, sign=sign)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Relations:
    """Preferences between the two items of a pair, one row per judge and pair, without duplicates.

    Attributes
    ----------
    judges, queries : tuple of str
        Names in alphabetical order; the columns index them.
    judge, query, pair : ndarray of int64, shape (n,)
        Codes. A pair consists of two items A and B of one query; A is the item whose id comes first.
    sign : ndarray of int64, shape (n,)
        1 if A is preferred, −1 if B is, 0 for a tie.
    """

    judges: tuple[str, ...]
    queries: tuple[str, ...]
    judge: Ints
    query: Ints
    pair: Ints
    sign: Ints

    @classmethod
    def of(cls, rows: Iterable[tuple[str, str, str, str, bool]]) -> Self:
        """Build the table from rows of judge, query, preferred item, other item, and whether they are tied.

        Raises
        ------
        InputError
            If a judge gives two different answers for a pair.
        """
        judges, queries, pairs = _Numbers(), _Numbers(), _Numbers()
        by_key: dict[tuple[int, int], tuple[int, int]] = {}
        for judge, query, preferred, other, is_tie in rows:
            sign = 0 if is_tie else 1 if preferred < other else -1
            key = judges(judge), pairs(query, *sorted((preferred, other)))
            if by_key.setdefault(key, (queries(query), sign))[1] != sign:
                where = f"documents {shown(preferred)} and {shown(other)} of query {shown(query)}"
                raise InputError(f"judge {shown(judge)} gives two different answers for {where}")
        numbers = np.array([(*key, *value) for key, value in by_key.items()], dtype=np.int64).reshape(-1, 4)
        columns = _by_name({"judge": judges, "pair": pairs, "query": queries}, numbers)
        return cls(judges=judges.names(), queries=queries.names(), sign=numbers[:, 3], **columns)

    def tables(self) -> Ints:
        """Cross-tabulate the answers of every two judges to the pairs that both compared, shape (n_queries, 3, 3).

        Rows are the answers of the judge whose name comes first, columns those of the other: A ≻ B, A ~ B, A ≺ B.
        """
        counts = np.zeros((len(self.queries), 3, 3), dtype=np.int64)
        for mine, theirs in every_two(self.judge):
            first, second = mine[np.argsort(self.pair[mine])], theirs[np.argsort(self.pair[theirs])]
            common = np.intersect1d(self.pair[first], self.pair[second], True, return_indices=True)
            rows, columns = first[common[1]], second[common[2]]
            # the answers 1 (A ≻ B), 0, −1 become the indices 0, 1, 2
            np.add.at(counts, (self.query[rows], 1 - self.sign[rows], 1 - self.sign[columns]), 1)
        return counts


def every_two(judge: Ints) -> Iterator[tuple[Ints, Ints]]:
    """Yield the row indices of every two judges, as ``(rows of one, rows of the other)``; ``judge`` (n,) has codes."""
    rows = [np.flatnonzero(judge == number) for number in np.unique(judge)]
    yield from combinations(rows, 2)
