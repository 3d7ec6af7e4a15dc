"""Aggregation of judgments into labels, shares of grades, truths of queries, or compared pairs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from activeeval.core.errors import shown
from activeeval.core.judgments.judgment import BAD, GRADE, PREFERENCE, TRUTH, Judge
from activeeval.core.judgments.policies import DisagreedItem, add_grade, check_alike, one_grade
from activeeval.core.pool.texts import Texts
from activeeval.core.types import Ints

if TYPE_CHECKING:
    from activeeval.core.judgments.comparisons import Comparison, Truth
    from activeeval.core.judgments.table import Judgments, Pair
    from activeeval.core.pool.keyed import Probabilities


def label_columns(judgments: Judgments, policy: str) -> tuple[Texts, Texts, Ints]:
    """Compute one grade per item, combining several judges by a policy; return ``(query ids, item ids, grades)``.

    The policy is ``refuse``, ``majority``, ``median`` or ``mean-gain``. A negative grade means that the item cannot be
    judged. Raises InputError if the table holds comparisons or ranks, a judge gives an item two grades, or judges
    differ and the policy is ``refuse``.
    """
    if not judgments.is_of_grades:
        judgments.refuse("grades")
    if judgments.is_distinct and judgments.kinds is None:  # one grade an item: nothing to combine
        return judgments.query_ids, judgments.item_ids, judgments.values
    by_pair = _by_pair(judgments, policy)
    grades = [one_grade(sorted(y for y in by_judge.values() if y >= 0), policy) for by_judge in by_pair.values()]
    queries, items = (Texts.from_list([pair[side] for pair in by_pair]) for side in range(2))
    return queries, items, np.array(grades, dtype=np.int64)


def distributions(judgments: Judgments) -> Probabilities:
    """Compute the share of judges for each grade, for items with a grade and no negative one ("cannot", or unjudged).

    Raises InputError if a judge gives an item two grades.
    """
    from activeeval.core.pool.keyed import Probabilities

    graded = {pair: list(by_judge.values()) for pair, by_judge in _by_pair(judgments, "mean-gain").items()}
    graded = {pair: grades for pair, grades in graded.items() if min(grades) >= 0}
    probs = np.zeros((len(graded), 1 + max((max(grades) for grades in graded.values()), default=0)))
    for row, grades in enumerate(graded.values()):
        np.add.at(probs[row], grades, 1 / len(grades))
    queries, items = (Texts.from_list([pair[side] for pair in graded]) for side in range(2))
    return Probabilities(queries, items, probs, judgments.source)


def _by_pair(judgments: Judgments, policy: str) -> dict[Pair, dict[str, int]]:
    """Group the grades by (query, item), then by judge.

    Raises InputError if a judge gives an item two grades, and with policy ``refuse`` if judges differ.
    """
    by_pair: dict[Pair, dict[str, int]] = {}
    places: dict[Pair, dict[str, str]] = {}  # where each judge's grade stands, for the error of policy "refuse"
    for row, query, item, grade, judge in judgments.rows_of(GRADE):
        pair, name, place = (query, item), judgments.judges[judge].name, judgments.place(row)
        add_grade(by_pair.setdefault(pair, {}), name, grade, f"{place}: {_named(pair)}")
        if policy == "refuse":
            places.setdefault(pair, {})[name] = place
    check_alike(DisagreedItem(_named(pair), by_pair[pair], places[pair]) for pair in places)
    return by_pair


def _named(pair: Pair) -> str:
    """Name an item, given as (query, item), for a message."""
    query, item = pair
    return f"document {shown(item)} of query {shown(query)}"


def truths_by_judge(judgments: Judgments) -> dict[tuple[Judge, str], Truth]:
    """Build the truth (ranking of the k best documents) of each judge and query from judgments of kind ``truth``.

    Other judgments are ignored.
    """
    from activeeval.core.judgments.comparisons import Truth

    ranked: dict[tuple[Judge, str], dict[int, list[str]]] = {}
    for _, query, doc, rank, judge in judgments.rows_of(TRUTH):
        ranked.setdefault((judgments.judges[judge], query), {}).setdefault(rank, []).append(doc)
    return {
        key: Truth.of((by_rank[rank] for rank in sorted(by_rank) if rank > 0), by_rank.get(0, ()), by_rank.get(BAD, ()))
        for key, by_rank in ranked.items()
    }


def placed_comparisons(judgments: Judgments) -> Iterator[tuple[str, Comparison]]:
    """Yield each compared pair of documents as ``(place in the input, comparison)``.

    A judge's truth (ranking of the k best documents) implies a comparison of every two and replaces the judge's
    comparisons of the query.
    """
    from activeeval.core.judgments.comparisons import Comparison

    truths = truths_by_judge(judgments)
    for row, query, better, value, number in judgments.rows_of(PREFERENCE):
        judge = judgments.judges[number]
        if (judge, query) not in truths and judgments.others is not None:
            yield judgments.place(row), Comparison(query, better, judgments.others[row], value == 0, judge.name)
    for (judge, query), truth in truths.items():
        last = len(truth.top) + 1
        placed = [*truth.ranked, *((last, doc) for doc in (*truth.below, *truth.bad))]
        for (rank, doc), (other_rank, other) in combinations(placed, 2):
            where = f"{judgments.source}: query {shown(query)}"
            yield where, Comparison(query, doc, other, rank == other_rank, judge.name)
