"""Labels of a file for a way of judging: grades, grades for subtopics, or κ-grades of ranks for comparisons."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np

from activeeval.core.judgments.comparisons import check_depth
from activeeval.core.judgments.judging import ByComparisons, BySubtopics, Judging
from activeeval.core.judgments.table import Judgments
from activeeval.core.pool.keyed import Qrels
from activeeval.core.pool.texts import Texts
from activeeval.formats.judgments.from_files import labels_of, read
from activeeval.formats.judgments.subtopic_files import load_subtopics


@singledispatch
def judged_labels(judging: Judging, path: Any) -> Qrels:
    """Read the label of each item of a file, by the way of judging: grades, or κ-grades for comparisons."""
    return labels_of(path)


@judged_labels.register
def _(judging: ByComparisons, path: Any) -> Qrels:
    """Read κ-grades (k + 1 − rank, or 0), the labels of judging by comparisons."""
    return load_truths(path, judging.k)


@judged_labels.register
def _(judging: BySubtopics, path: Any) -> Qrels:
    """Read grades for the subtopics of queries."""
    return load_subtopics(path)


def load_truths(path: Any, k: int) -> Qrels:
    """Read κ-grades (k + 1 − rank, or 0) from a file or judgments of ranks, or take κ-grades as they are.

    Ranks come from a table of query, rank and doc_id, or from a campaign's log. Raises InputError if a query has fewer
    than k ranks although further documents are not rejected.
    """
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
