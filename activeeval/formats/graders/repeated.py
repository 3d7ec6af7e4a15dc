"""Reduce several replies for a pair of query and document to one: a repetition, a conflict, or samples."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from activeeval.core.checks import LARGEST_GRADE
from activeeval.core.pool.keys import distinct_texts, first_places
from activeeval.core.types import Floats, Ints
from activeeval.formats.graders.replies import Replies


def merge_repeated(replies: Replies) -> Replies:
    """Reduce replies to one for each pair, in the order of their first rows.

    If the file has samples, the shares of their grades are the distribution, their mean is the value, and their costs
    add up. Otherwise they must agree; missing replies are skipped.

    Raises
    ------
    FormatError
        If two replies that are not samples differ; names both lines.
    """
    # of each row, the first row with the same query and document
    first = first_places(distinct_texts(replies.query_ids)[1], replies.doc_ids)
    rows = np.flatnonzero(first == np.arange(first.size))
    if rows.size == first.size:
        return replies
    group = np.searchsorted(rows, first)
    return _of_samples(replies, rows, group) if replies.is_sampled else _first_answers(replies, rows, group)


def _first_answers(replies: Replies, rows: Ints, group: Ints) -> Replies:
    """Keep the first reply of each pair that is not missing; raise FormatError if another one differs.

    ``rows`` (n_pairs,) is the first row of each pair of query and document, ``group`` (n,) the index of each row's
    pair.
    """
    values = replies.values
    is_answered = np.flatnonzero(~np.isnan(values))
    first_answered = rows.copy()
    # the first reply that is not missing counts: it is written last
    first_answered[group[is_answered[::-1]]] = is_answered[::-1]
    differs = is_answered[values[is_answered] != values[first_answered[group[is_answered]]]]
    if differs.size:
        again = int(differs[0])
        before = int(first_answered[group[again]])
        earlier = f"{float(values[before])!r} at {replies.place(before)}"
        problem = (
            f"{replies.pair(again)} has the grade {float(values[again])!r}, and {earlier}; expected one grade a pair"
        )
        replies.fail(again, f"{problem}, or a column sample")
    return _rows_of(replies, first_answered)


def _of_samples(replies: Replies, rows: Ints, group: Ints) -> Replies:
    """Average the sampled replies of each pair, and add up their costs and tokens.

    ``rows`` (n_pairs,) is the first row of each pair of query and document, ``group`` (n,) the index of each row's
    pair.
    """
    values, n_pairs = replies.values, rows.size
    answered = np.flatnonzero(~np.isnan(values))
    counts = np.bincount(group[answered], minlength=n_pairs)
    totals = np.bincount(group[answered], weights=values[answered], minlength=n_pairs)
    with np.errstate(invalid="ignore"):
        means = totals / counts
    folded = replace(_rows_of(replies, rows), values=means, probs=_shares(replies, answered, group, counts))
    if replies.costs is not None:
        costs: Floats = np.bincount(group, weights=replies.costs, minlength=n_pairs).astype(np.float64)
        folded = replace(folded, costs=costs)
    if replies.tokens is not None:
        tokens = np.zeros((n_pairs, 2), dtype=np.int64)
        np.add.at(tokens, group, replies.tokens)
        folded = replace(folded, tokens=tokens)
    return folded


def _shares(replies: Replies, answered: Ints, group: Ints, counts: Ints) -> Floats | None:
    """Compute the distribution over grades of each pair, shape (n_pairs, n_grades); None if values are not grades.

    ``answered`` are the rows with a reply, ``group`` (n,) is the index of each row's pair, and ``counts`` (n_pairs,)
    the number of its replies.
    """
    values = replies.values[answered]
    if replies.probs is not None:
        sums = np.zeros((counts.size, replies.probs.shape[1]))
        np.add.at(sums, group[answered], replies.probs[answered])
    elif values.size and values.min() >= 0 and values.max() <= LARGEST_GRADE and (values == np.floor(values)).all():
        sums = np.zeros((counts.size, int(values.max()) + 1))
        np.add.at(sums, (group[answered], values.astype(np.int64)), 1.0)
    else:
        return None
    with np.errstate(invalid="ignore"):
        shares: Floats = sums / counts[:, None]
    return shares


def _rows_of(replies: Replies, rows: Ints) -> Replies:
    """Select the rows ``rows`` (indices) of replies from all of their columns."""
    columns: dict[str, Any] = {
        name: None if getattr(replies, name) is None else getattr(replies, name)[rows]
        for name in ("query_ids", "doc_ids", "values", "probs", "costs", "tokens", "models", "prompt_versions")
    }
    texts = replies.explanations
    columns["explanations"] = None if texts is None else [texts[row] for row in rows.tolist()]
    if (line_of := replies.line_of) is not None:
        columns["line_of"] = lambda row: line_of(int(rows[row]))
    return replace(replies, **columns)
