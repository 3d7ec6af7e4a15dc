"""What a night leaves to the next: its run, with which probability each item has come, grades from elsewhere."""

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
"""Rows beyond the last rank that are kept: equal scores are put in order by id later."""
_FIELDS = ("run.queries", "held.queries", "given.queries", "queries")


class ItemHistory(NamedTuple):
    """What is known of an item that may have come on some night.

    Attributes
    ----------
    prob : float
        M, see `activeeval.core.design.carried_samples`.
    text : int
        A digest of its text; 0 where nobody has given one.
    version : int
        0, or what makes another item of one whose text has changed: see `EarlierLabels`.
    since : int
        The number of the night on which it first came in this text: labels of earlier nights are of another.
    """

    prob: float
    text: int
    version: int
    since: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NightRecord:
    """What a night leaves.

    Attributes
    ----------
    run : Run
        As it was read, down to the rank at which lists end.
    queries : tuple of str
        Of the watch.
    held : dict
        By query and document.
    known_grades : dict
        Grades that were known beforehand, by query and document, with the digest of the text they are of.
    """

    run: Run
    queries: tuple[str, ...]
    held: Mapping[Pair, ItemHistory]
    known_grades: Mapping[Pair, tuple[int, int]]

    def packed(self, depth: int) -> bytes:
        """Return the bytes that `of` makes it of again; of lists that end at a rank."""
        content = BytesIO()
        arrays = run_arrays(self.run, depth) | {"queries": np.array(self.queries, dtype=np.str_)}
        pairs, rows = _columns(self.held)
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
        """Return what `packed` made bytes of; ``name`` is what messages call it."""
        arrays = unpacked(content, name, _FIELDS, "what a night leaves")
        columns = (arrays[f"held.{what}"].tolist() for what in ("prob", "text", "version", "since"))
        held = {pair: ItemHistory(*row) for pair, *row in zip(_pairs(arrays, "held"), *columns, strict=True)}
        columns = (arrays[f"given.{what}"].tolist() for what in ("grade", "text"))
        known_grades = {
            pair: (grade, text) for pair, grade, text in zip(_pairs(arrays, "given"), *columns, strict=True)
        }
        return cls(run=run_of(arrays), queries=tuple(arrays["queries"].tolist()), held=held, known_grades=known_grades)


def run_arrays(run: Run, depth: int) -> dict[str, NDArray[Any]]:
    """Return a run as arrays, its lists ending at a rank as rows are: more is not looked at."""
    kept = _first(run, depth)
    columns = {"queries": run.query_ids[kept].array(), "docs": run.doc_ids[kept].array()}
    named = {"scores": run.scores[kept], "ranks": run.ranks[kept], "name": np.array([run.name])}
    return {f"run.{name}": column for name, column in (columns | named).items()}


def run_of(arrays: Mapping[str, NDArray[Any]]) -> Run:
    """Return the run that `run_arrays` made arrays of."""
    queries, docs = (Texts.from_list(arrays[f"run.{name}"].tolist()) for name in ("queries", "docs"))
    return Run(queries, docs, arrays["run.scores"], arrays["run.ranks"], str(arrays["run.name"][0]))


def in_hand(pool: QueryPool, held: Mapping[Pair, ItemHistory], labels: Mapping[Pair, int]) -> EarlierLabels:
    """Return what earlier nights leave of a pool's items.

    Parameters
    ----------
    labels : mapping of (query, document) to int
        Grades by judges of earlier nights, −1 where one could not judge.
    """
    hand = EarlierLabels.nothing(pool.n_items)
    for z, pair in enumerate(pool.pairs_of(np.arange(pool.n_items))):
        row = held.get(pair)
        if row is None:
            continue
        hand.probs[z], hand.versions[z] = row.prob, row.version
        if pair in labels:
            hand.is_settled[z], hand.grades[z] = True, labels[pair]
    return hand


def held_after(
    pool: QueryPool,
    before: Mapping[Pair, ItemHistory],
    probs: NDArray[np.float64],
    texts: Mapping[Pair, int],
    night: int,
) -> dict[Pair, ItemHistory]:
    """Return what is held once a night is drawn with M of every item of its pool, (n_items,)."""
    after = dict(before)
    for pair, prob in zip(pool.pairs_of(np.arange(pool.n_items)), probs.tolist(), strict=True):
        row = before.get(pair, ItemHistory(0.0, texts.get(pair, 0), 0, night))
        if prob > 0 or pair in before:
            after[pair] = row._replace(prob=prob)
    return after


def with_texts(
    held: Mapping[Pair, ItemHistory], texts: Mapping[Pair, int], night: int
) -> tuple[dict[Pair, ItemHistory], int]:
    """Return what is held of tonight's texts, and of how many items these have changed.

    A changed item has not come yet, and has a number of its own.

    Parameters
    ----------
    texts : mapping of (query, document) to int
        Digests of tonight's texts.
    """
    after, n_changed = dict(held), 0
    for pair, text in texts.items():
        row = held.get(pair)
        if row is None or row.text == text:
            continue
        if row.text == 0:  # nobody had given its text before
            after[pair] = row._replace(text=text)
        else:
            after[pair], n_changed = ItemHistory(0.0, text, text, night), n_changed + 1
    return after, n_changed


def is_same_text(first: ItemHistory | None, second: ItemHistory | None) -> bool:
    """Whether an item is held in the same text on two steps; a step that knows no text takes any of its version."""
    if first is None or second is None or first.version != second.version:
        return False
    return first.text == second.text or 0 in (first.text, second.text)


def held_also(
    held: Mapping[Pair, ItemHistory], drawn: Mapping[Pair, ItemHistory], texts: Mapping[Pair, int]
) -> dict[Pair, ItemHistory]:
    """Add what a night that is drawn anew had drawn: its labels count, where they are of the same texts.

    Parameters
    ----------
    held : mapping
        What was held before that night, of tonight's texts.
    drawn : mapping
        What that night left.
    texts : mapping of (query, document) to int
        Digests of tonight's texts.
    """
    after = dict(held)
    for pair, row in drawn.items():
        before = held.get(pair)
        now = row._replace(text=texts.get(pair, row.text)) if before is None else before
        if is_same_text(row, now):
            after[pair] = row._replace(text=now.text)
    return after


def pairs_in(run: Run) -> list[Pair]:
    """Return query and document of every row of a run."""
    return list(zip(run.query_ids.tolist(), run.doc_ids.tolist(), strict=True))


def _first(run: Run, depth: int) -> NDArray[np.bool_]:
    """Return which rows stand among the first of their query: by score, then as they stand."""
    queries = run.query_ids.tolist()
    order = np.lexsort((np.arange(run.scores.size), -run.scores))
    seen: dict[str, int] = {}
    kept = np.zeros(run.scores.size, dtype=np.bool_)
    for row in order.tolist():
        n = seen.get(queries[row], 0)
        kept[row] = n < depth + _TIES
        seen[queries[row]] = n + 1
    return kept


def _columns(by_pair: Mapping[Pair, Any]) -> tuple[dict[str, NDArray[Any]], list[Any]]:
    queries, docs = ([pair[k] for pair in by_pair] for k in (0, 1))
    return {"queries": Texts.from_list(queries).array(), "docs": Texts.from_list(docs).array()}, list(by_pair.values())


def _pairs(arrays: Mapping[str, NDArray[Any]], what: str) -> Iterable[Pair]:
    return zip(arrays[f"{what}.queries"].tolist(), arrays[f"{what}.docs"].tolist(), strict=True)
