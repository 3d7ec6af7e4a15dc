"""Record of a night for the next one: its run, inclusion probabilities of items, grades from other sources."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from io import BytesIO
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from activeeval.core.design.carried_samples import EarlierLabels
from activeeval.core.pool import QueryPool
from activeeval.core.pool.texts import Texts
from activeeval.formats.arrays import pack, unpacked
from activeeval.formats.text.trec import Run

Pair = tuple[str, str]
_TIES = 100
"""Rows stored beyond the last rank, as ties in the score are broken by id later."""
_FIELDS = ("run.queries", "held.queries", "given.queries", "queries")


class ItemHistory(NamedTuple):
    """History of an item that may have been drawn on some night (a dated run).

    Attributes
    ----------
    prob : float
        M: probability that the item was drawn on any night so far.
    text : int
        Digest of its text; 0 if no text was given.
    version : int
        0, or after its text has changed a hash that gives the new text its own random number.
    since : int
        Number of the first step with this text: labels of earlier steps are of another text.
    """

    prob: float
    text: int
    version: int
    since: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NightRecord:
    """Record of a night (a dated run) for the next one.

    Attributes
    ----------
    run : Run
        The run as read, down to the last rank of lists.
    queries : tuple of str
        Queries of the watch.
    histories : dict
        History of items, by query and document.
    known_grades : dict
        Grades known beforehand, by query and document, with the digest of their text.
    """

    run: Run
    queries: tuple[str, ...]
    histories: Mapping[Pair, ItemHistory]
    known_grades: Mapping[Pair, tuple[int, int]]

    def packed(self, depth: int) -> bytes:
        """Serialize the record to bytes that `of` reads; lists are cut at rank `depth`.

        Arrays ``run.…`` hold the run, ``held.…`` item histories, ``given.…`` known grades, ``queries`` query ids.
        """
        content = BytesIO()
        arrays = run_arrays(self.run, depth) | {"queries": np.array(self.queries, dtype=np.str_)}
        pairs, rows = _columns(self.histories)
        arrays |= {f"held.{name}": column for name, column in pairs.items()}
        arrays["held.prob"] = np.array([row.prob for row in rows])
        arrays["held.text"], arrays["held.version"] = (
            np.array([getattr(row, name) for row in rows], dtype=np.uint64) for name in ("text", "version")
        )
        arrays["held.since"] = np.array([row.since for row in rows], dtype=np.int32)
        pairs, grades = _columns(self.known_grades)
        arrays |= {f"given.{name}": column for name, column in pairs.items()}
        arrays["given.grade"] = np.array([grade for grade, _ in grades], dtype=np.int32)
        arrays["given.text"] = np.array([text for _, text in grades], dtype=np.uint64)
        pack(arrays, content)
        return content.getvalue()

    @classmethod
    def of(cls, content: bytes, name: str) -> Self:
        """Read a record from the bytes of `packed`; ``name`` is its name in error messages.

        Arrays ``run.…`` hold the run, ``held.…`` item histories, ``given.…`` known grades, ``queries`` query ids.
        """
        arrays = unpacked(content, name, _FIELDS, "what a night leaves")
        columns = (arrays[f"held.{field}"].tolist() for field in ("prob", "text", "version", "since"))
        histories = {pair: ItemHistory(*row) for pair, *row in zip(_pairs(arrays, "held"), *columns, strict=True)}
        columns = (arrays[f"given.{field}"].tolist() for field in ("grade", "text"))
        known_grades = {
            pair: (grade, text) for pair, grade, text in zip(_pairs(arrays, "given"), *columns, strict=True)
        }
        return cls(
            run=run_of(arrays),
            queries=tuple(arrays["queries"].tolist()),
            histories=histories,
            known_grades=known_grades,
        )


def run_arrays(run: Run, depth: int) -> dict[str, NDArray[Any]]:
    """Convert a run to named arrays for storage.

    Lists are cut at rank `depth`, plus 100 ranks to break ties later.
    """
    is_listed = _first(run, depth)
    columns = {"queries": run.query_ids[is_listed].array(), "docs": run.doc_ids[is_listed].array()}
    named = {"scores": run.scores[is_listed], "ranks": run.ranks[is_listed], "name": np.array([run.name])}
    return {f"run.{name}": column for name, column in (columns | named).items()}


def run_of(arrays: Mapping[str, NDArray[Any]]) -> Run:
    """Restore the run from the arrays of `run_arrays`."""
    queries, docs = (Texts.from_list(arrays[f"run.{name}"].tolist()) for name in ("queries", "docs"))
    return Run(queries, docs, arrays["run.scores"], arrays["run.ranks"], str(arrays["run.name"][0]))


def in_hand(pool: QueryPool, histories: Mapping[Pair, ItemHistory], labels: Mapping[Pair, int]) -> EarlierLabels:
    """Align the inclusion probabilities and labels of earlier nights (dated runs) with the items of a pool.

    Parameters
    ----------
    histories : mapping of (query, document) to ItemHistory
        Items that are missing have probability 0.
    labels : mapping of (query, document) to int
        Grades by judges of earlier nights, −1 if an item cannot be judged.

    Returns
    -------
    EarlierLabels
        Arrays of shape (n_items,): probability of having been drawn, version of the text, judged or not, and grade.
    """
    hand = EarlierLabels.nothing(pool.n_items)
    for item, pair in enumerate(pool.pairs_of(np.arange(pool.n_items))):
        row = histories.get(pair)
        if row is None:
            continue
        hand.probs[item], hand.versions[item] = row.prob, row.version
        if pair in labels:
            hand.is_settled[item], hand.grades[item] = True, labels[pair]
    return hand


def held_after(
    pool: QueryPool,
    before: Mapping[Pair, ItemHistory],
    probs: NDArray[np.float64],
    texts: Mapping[Pair, int],
    night: int,
) -> dict[Pair, ItemHistory]:
    """Update item histories after a night (a dated run) is drawn, and add its new items.

    Parameters
    ----------
    before : mapping of (query, document) to ItemHistory
        Histories before this night; items that are not in the pool keep them.
    probs : ndarray, shape (n_items,)
        M of each item of the pool: probability that it was drawn on any night so far. Items with 0 are not added.
    texts : mapping of (query, document) to int
        Digests of tonight's texts.
    night : int
        Number of the step, recorded as the first one with the text of a new item.
    """
    after = dict(before)
    for pair, prob in zip(pool.pairs_of(np.arange(pool.n_items)), probs.tolist(), strict=True):
        row = before.get(pair, ItemHistory(0.0, texts.get(pair, 0), 0, night))
        if prob > 0 or pair in before:
            after[pair] = row._replace(prob=prob)
    return after


def with_texts(
    histories: Mapping[Pair, ItemHistory], texts: Mapping[Pair, int], night: int
) -> tuple[dict[Pair, ItemHistory], int]:
    """Update item histories for tonight's texts; return them and the number of items whose text has changed.

    An item with a changed text starts again, with a probability M of 0 of having been drawn, and a version of its own.
    A night is a dated run of the watched index.

    Parameters
    ----------
    texts : mapping of (query, document) to int
        Digests of tonight's texts.
    night : int
        Number of the step that is being drawn.
    """
    after, n_changed = dict(histories), 0
    for pair, text in texts.items():
        row = histories.get(pair)
        if row is None or row.text == text:
            continue
        if row.text == 0:  # its text was unknown before
            after[pair] = row._replace(text=text)
        else:
            after[pair], n_changed = ItemHistory(0.0, text, text, night), n_changed + 1
    return after, n_changed


def is_same_text(first: ItemHistory | None, second: ItemHistory | None) -> bool:
    """Check whether an item has the same text in two steps; an unknown text matches any text of the same version.

    The result is False if the item has no history (None) in one of the steps.
    """
    if first is None or second is None or first.version != second.version:
        return False
    return first.text == second.text or 0 in (first.text, second.text)


def merge_histories(
    histories: Mapping[Pair, ItemHistory], drawn: Mapping[Pair, ItemHistory], texts: Mapping[Pair, int]
) -> dict[Pair, ItemHistory]:
    """Add the item histories of a night that is being redrawn, so that its labels still count for the same texts.

    A night is a dated run of the watched index. An `ItemHistory` holds the digest of an item's text and the largest
    probability with which any night could draw it: labels are weighted by that probability, so that the newer row,
    which includes the replaced drawing's chance, replaces the earlier one if both are of the same text.

    Parameters
    ----------
    histories : mapping
        Histories before that night, with tonight's texts.
    drawn : mapping
        Histories that the replaced drawing recorded.
    texts : mapping of (query, document) to int
        Digests of tonight's texts.
    """
    after = dict(histories)
    for pair, row in drawn.items():
        before = histories.get(pair)
        now = row._replace(text=texts.get(pair, row.text)) if before is None else before
        if is_same_text(row, now):
            after[pair] = row._replace(text=now.text)
    return after


def pairs_in(run: Run) -> list[Pair]:
    """List query and document of every row of a run."""
    return list(zip(run.query_ids.tolist(), run.doc_ids.tolist(), strict=True))


def _first(run: Run, depth: int) -> NDArray[np.bool_]:
    """Mark the rows within the first `depth` + 100 ranks of their query; shape (n_rows,).

    Rows are ranked by descending score, equal scores by position in the run.
    """
    queries = run.query_ids.tolist()
    order = np.lexsort((np.arange(run.scores.size), -run.scores))
    seen: dict[str, int] = {}
    is_first = np.zeros(run.scores.size, dtype=np.bool_)
    for row in order.tolist():
        n = seen.get(queries[row], 0)
        is_first[row] = n < depth + _TIES
        seen[queries[row]] = n + 1
    return is_first


def _columns(by_pair: Mapping[Pair, Any]) -> tuple[dict[str, NDArray[Any]], list[Any]]:
    """Split a dict by (query, document): arrays "queries" and "docs" of ids, and the list of its values, aligned."""
    queries, docs = ([pair[k] for pair in by_pair] for k in (0, 1))
    return {"queries": Texts.from_list(queries).array(), "docs": Texts.from_list(docs).array()}, list(by_pair.values())


def _pairs(arrays: Mapping[str, NDArray[Any]], prefix: str) -> Iterable[Pair]:
    """Read pairs (query, document) from the stored arrays ``prefix``.queries and ``prefix``.docs."""
    return zip(arrays[f"{prefix}.queries"].tolist(), arrays[f"{prefix}.docs"].tolist(), strict=True)
