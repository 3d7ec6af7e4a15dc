"""Top-k judging of a case: what judging a query by comparisons costs, and truths on file in the place of grades."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from activeeval.cases.inputs import sampled_measure
from activeeval.errors import ChoiceError, InputError
from activeeval.io.comparisons import Truth
from activeeval.io.text.trec import Qrels
from activeeval.judgments import Judgments, read
from activeeval.measures import judged_k
from activeeval.pool import QueryPool
from activeeval.pool.texts import Texts
from activeeval.results import Note
from activeeval.top_k import expected_comparisons
from activeeval.top_k.assessors import SECONDS_A_COMPARISON
from activeeval.types import Floats, Ints


def asked_k(judging: str, measures: Sequence[str]) -> int | None:
    """Return the k of measure strings for judging by ``grades`` or of the ``top-k``; None of grades.

    Raises
    ------
    ChoiceError
        Where the measures are of the other kind.
    """
    k = judged_k([sampled_measure(text) for text in measures])
    if (k is None) != (judging == "grades"):
        names = ", ".join(map(str, measures))
        raise ChoiceError(
            f"{names}: of grades; with `judging` top-k ask for kNDCG or kERR, as kNDCG(k=5)@10"
            if k is None
            else f"{names}: of the {k} best of each query; it takes `judging` top-k of sample and plan",
            field="judging",
        )
    return k


def comparison_costs(pool: QueryPool, k: int) -> Floats:
    """Return what each item costs where its query is judged by comparisons, shape (n_items,): an equal part of it.

    The unit is a comparison; a query of one item, of which nothing is asked, counts as one.
    """
    sizes = np.diff(pool.query_offsets)
    costs = {n: max(expected_comparisons(n, min(k, n)).mean, 1.0) / n for n in set(sizes.tolist()) if n}
    return np.array([costs[n] for n in sizes.tolist() if n]).repeat(sizes[sizes > 0])


def comparisons_note(pool: QueryPool, k: int) -> Note:
    """Return what a budget means where queries are judged by comparisons."""
    each = float(pool.item_costs.mean())
    per_query = float(np.add.reduceat(pool.item_costs, pool.query_offsets[:-1]).mean())
    return Note(
        "comparisons",
        {
            "k": k,
            "per_query": per_query,
            "per_hundred": 100 * each,
            "minutes": 100 * each * SECONDS_A_COMPARISON / 60,
            "seconds": SECONDS_A_COMPARISON,
        },
    )


def check_truths(pool: QueryPool, grades: Ints, k: int, source: str) -> None:
    """Raise InputError where judged κ-grades of a query skip a rank, or too few of its best have one.

    They are k, k − 1, …; m items that are alike share one, and the next is m smaller.

    Parameters
    ----------
    grades : array of int, shape (n_items,)
        −1 where nobody has judged.
    """
    for query in np.unique(pool.item_queries[grades >= 0]).tolist():
        of_query = grades[pool.query_offsets[query] : pool.query_offsets[query + 1]]
        held = np.sort(of_query[of_query > 0])[::-1]
        where = f"{source}: query {pool.query_texts[query]!r}"
        n_above = np.searchsorted(-held, -held)
        wrong = np.flatnonzero(held != k - n_above)
        if wrong.size:
            rank = int(n_above[wrong[0]]) + 1
            raise InputError(f"{where} has κ-grade {held[rank - 1]} for rank {rank}, expected {k + 1 - rank}")
        if held.size < k and (of_query < 0).any():
            raise InputError(f"{where} has ranks 1 … {held.size} and documents without one, expected the {k} best")


def load_truths(path: Any, k: int) -> Qrels:
    """Return κ-grades of a file or of judgments: ranks (as query, rank, doc_id, or in a log), or κ-grades already."""
    judgments = path if isinstance(path, Judgments) else read(path)
    path = judgments.source
    if not judgments.holds("truth"):
        labels: Qrels = judgments.labels()
        return labels
    truths = judgments.truths()
    for query, truth in truths.items():
        check_depth(f"{path}: query {query!r}", truth, k)
    grades = {(query, doc): grade for query, truth in truths.items() for doc, grade in truth.grades(k).items()}
    queries, docs = (Texts.from_list([pair[part] for pair in grades]) for part in range(2))
    return Qrels(queries, docs, np.array(list(grades.values()), dtype=np.int64), path)


def check_depth(where: str, truth: Truth, k: int) -> None:
    """Raise where a truth has fewer than k ranks and names documents that would deserve one."""
    if len(truth.top) < k and truth.below:
        others = f"{len(truth.below)} documents without one that are not `bad`"
        raise InputError(f"{where} has ranks 1 … {len(truth.top)} and {others}, expected the {k} best")
