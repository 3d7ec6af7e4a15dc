"""Apply the rules for reading to runs and judgments: chunks become documents, a query's own document is left out."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from activeeval.core.judgments.table import Judgments
from activeeval.core.pool.texts import Texts
from activeeval.core.results import Note
from activeeval.core.types import Bools, Floats, Ints
from activeeval.formats.reading_rules import rules

if TYPE_CHECKING:
    from activeeval.formats.text.trec import Run


def ruled_run(run: Run) -> Run:
    """Apply the reading rules to a run: chunks become documents, and documents with the id of their query are left out.

    Without the second rule, queries whose first document has their own id are noted.

    Of the chunks of a document the one with the highest score counts, of equal scores the first.
    """
    held = rules()
    if held.collapse:
        document_of = held.document_of()
        docs = [document_of(chunk) for chunk in run.doc_ids.tolist()]
        rows = _best_rows(list(zip(run.query_ids.tolist(), docs, strict=True)), run.scores)
        texts = Texts.from_list([docs[row] for row in rows.tolist()])
        note = Note("collapsed", {"source": run.source, "n": len(docs), "n_documents": rows.size})
        columns: dict[str, Any] = {"scores": run.scores[rows], "ranks": run.ranks[rows], "notes": (*run.notes, note)}
        run = replace(run, query_ids=run.query_ids[rows], doc_ids=texts, **columns)
    if not held.leave_out_self:
        first = np.flatnonzero(run.ranks == run.ranks.min())
        n_own = int(_are_own(run.query_ids[first], run.doc_ids[first]).sum())
        note = Note("own documents", {"source": run.source, "n": n_own})
        return replace(run, notes=(*run.notes, note)) if n_own else run
    rows = np.flatnonzero(~_are_own(run.query_ids, run.doc_ids))
    note = Note("own left out", {"source": run.source, "n": run.scores.size - rows.size})
    columns = {name: getattr(run, name)[rows] for name in ("query_ids", "doc_ids", "scores", "ranks")}
    return replace(run, notes=(*run.notes, note), **columns)


def ruled_judgments(judgments: Judgments) -> Judgments:
    """Apply the reading rules to judgments: a document has the largest grade that a judge gives one of its chunks.

    Documents with the id of their query are left out if the rules say so.
    """
    held = rules()
    if held.leave_out_self:
        judgments = judgments.where(~_are_own(judgments.query_ids, judgments.item_ids))
    if not held.collapse:
        return judgments
    document_of = held.document_of()
    docs = [document_of(chunk) for chunk in judgments.item_ids.tolist()]
    keys = list(zip(judgments.query_ids.tolist(), docs, judgments.judge_of.tolist(), strict=True))
    rows = _best_rows(keys, judgments.values)
    texts = Texts.from_list([docs[row] for row in rows.tolist()])
    return replace(judgments.where(rows), item_ids=texts, is_distinct=False)


def _best_rows(keys: Sequence[Hashable], values: Floats | Ints) -> Ints:
    """Find the row with the largest value of each key, of equal values the first; in the order of the rows.

    ``keys`` and ``values`` have an entry for each row.
    """
    best: dict[Hashable, int] = {}
    for row in np.argsort(-values, kind="stable").tolist():
        best.setdefault(keys[row], row)
    return np.array(sorted(best.values()), dtype=np.int64)


def _are_own(queries: Texts, docs: Texts) -> Bools:
    """Mark the rows whose document has the id of its query, shape (n,)."""
    pairs = zip(queries.tolist(), docs.tolist(), strict=True)
    return np.array([query == doc for query, doc in pairs], dtype=np.bool_)
