"""A grader's grades from any source, and their alignment with the items of a pool."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from activeeval.core.errors import InputError, shown, unseen_difference
from activeeval.core.grade_models.values import ValueTable, default_shares
from activeeval.core.judgments import Judgments
from activeeval.core.pool import QueryPool
from activeeval.core.pool.keys import positions_in
from activeeval.core.pool.texts import Texts
from activeeval.core.results import Note, Told
from activeeval.core.types import Bools, Floats, Ints
from activeeval.formats.graders.file_options import GraderDescription
from activeeval.formats.graders.from_files import GraderFormat, frame_replies, read_replies
from activeeval.formats.graders.joining import TextsOfIds
from activeeval.formats.graders.judge_replies import judge_replies, replies_of_sheet
from activeeval.formats.graders.repeated import merge_repeated
from activeeval.formats.graders.replies import Names, Replies
from activeeval.formats.suffixes import PathLike
from activeeval.formats.tables.text_tables import DOCUMENTS, QUERIES, Vocabulary, read_texts

_OF_REPLIES = ("query_ids", "probs", "costs", "tokens", "models", "prompt_versions", "explanations", "source")
"""Fields that `Grades` copies from `Replies` unchanged."""
_SEVERAL = 2
_MOST_HINTED = 100_000
"""Ids of a file that are compared with those of a pool to explain why none of them match."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GradesOnPool:
    """A grader's grades of the items of a pool.

    Attributes
    ----------
    values : ndarray of float64, shape (n_items,)
        NaN for items without a grade.
    probs : ndarray of float64, shape (n_items, n_grades), or None
        The grader's distribution over its own grades; a row of NaN for items without a grade.
    notes : tuple of Note
        Notes of reading the file and of matching it with the pool.
    """

    values: Floats
    probs: Floats | None
    notes: tuple[Note, ...]

    @property
    def is_graded(self) -> Bools:
        """True for items that have a grade, shape (n_items,)."""
        return ~np.isnan(self.values)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Grades:
    """A grader's grades, scores, or distributions over grades of items; they are never labels.

    Attributes
    ----------
    query_ids, item_ids : Texts, shape (n,)
        No pair comes twice.
    values : ndarray of float64, shape (n,)
        On any scale that rises with relevance; the expected grade of a distribution or of several replies. NaN if
        the reply is missing, which differs from grade 0.
    probs : ndarray of float64, shape (n, n_grades), or None
        Distributions over the grader's own grades 0, 1, …; a row of NaN for a missing reply.
    costs : ndarray of float64, shape (n,), or None
        Costs of the replies, in money.
    tokens : ndarray of int64, shape (n, 2), or None
        Tokens of the question and of the reply.
    models, prompt_versions : array of str, shape (n,), or None
    explanations : sequence of str, shape (n,), or None
    name, source : str
        The grader's name in messages, and the origin of its grades.
    cost : float or None
        Price of an item, in units of the price of a person's judgment; None if not stated.
    scale : (float, float) or None
        The least and the largest value, None if not stated.
    made : str
        The run that the grader, or a model of its family, produced.
    notes : tuple of Note

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"query_id": ["q1", "q1"], "doc_id": ["d1", "d2"], "score": [.9, None]})
    >>> Grades.read(frame).values.tolist()
    [0.9, nan]
    """

    query_ids: Texts
    item_ids: Texts
    values: Floats
    probs: Floats | None = None
    costs: Floats | None = None
    tokens: Ints | None = None
    models: Names | None = None
    prompt_versions: Names | None = None
    explanations: Sequence[str] | None = None
    name: str = ""
    source: str = "the grades"
    cost: float | None = None
    scale: tuple[float, float] | None = None
    made: str = ""
    notes: tuple[Note, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse ``FILE[:cost=.01][:scale=0-3][:name=…][:made=RUN][:asked=FILE]…``, and read the grades of FILE.

        Further options are ``:queries=FILE`` and ``:documents=FILE``. A file whose whole name is the text takes
        precedence. Otherwise as `read`.
        """
        stated = asdict(GraderDescription(path=text) if os.path.exists(text) else GraderDescription.parse(text))
        return cls.read(stated.pop("path"), **stated)

    @classmethod
    def read(
        cls,
        source: Any,
        *,
        cost: float | None = None,
        scale: tuple[float, float] | None = None,
        name: str = "",
        made: str = "",
        queries: TextsOfIds | PathLike | None = None,
        documents: TextsOfIds | PathLike | None = None,
        asked: PathLike | None = None,
    ) -> Self:
        """Read a grader's grades.

        Parameters
        ----------
        source : path, data frame, Judgments or Grades
            A path as `activeeval.formats.graders.from_files.read_replies` takes it. Of `Judgments`, only those of
            graders count if there are any.
        cost, scale, name, made
            Options of the grader; see the attributes. Values beyond the scale count as missing. In a book with
            several raters, `name` selects one.
        queries, documents : mapping of str to str, or path, optional
            Texts by id, or a table of them, for files that name queries or documents by their texts.
        asked : path, optional
            The table of pairs of a batch of questions; by default the table in the answers' folder that has them.

        Raises
        ------
        FormatError
            ``path:line: what is wrong``.
        InputError
            If every reply is missing, or more than half of the values are beyond the scale.
        """
        if isinstance(source, Grades):
            stated: dict[str, Any] = {"cost": cost, "scale": scale, "name": name, "made": made}
            return cls._again(source, {key: value for key, value in stated.items() if value not in (None, "")})
        texts = {"queries": _texts_by_id(queries, QUERIES), "documents": _texts_by_id(documents, DOCUMENTS)}
        how = GraderFormat(**texts, asked=asked, rater=name, judged=replies_of_sheet)
        if isinstance(source, Judgments):
            replies = judge_replies(source)
        elif isinstance(source, (str, os.PathLike)):
            replies = read_replies(source, how)
        else:
            replies = frame_replies(source, how)
        return cls._of(merge_repeated(replies), cost=cost, scale=scale, name=name or _name_of(source), made=made)

    @classmethod
    def _of(cls, replies: Replies, *, scale: tuple[float, float] | None, **stated: Any) -> Self:
        """Build grades from replies with one reply a pair; raise InputError if there are none or all are missing.

        Values beyond the ``scale`` (least, largest) count as missing; ``stated`` are name, cost and run of the grader.
        """
        if not replies.values.size:
            raise InputError(f"{replies.source}: holds no grade of a machine")
        values, notes = _within(replies, scale)
        if np.isnan(values).all():
            raise InputError(f"{replies.source}: all of its {values.size:,} replies are missing, expected a grade")
        stated |= {name: getattr(replies, name) for name in _OF_REPLIES}
        notes += _mixtures(replies)
        return cls(item_ids=replies.doc_ids, values=values, scale=scale, notes=tuple(notes), **stated)

    @classmethod
    def _again(cls, grades: Any, stated: dict[str, Any]) -> Self:
        """Copy grades that are already read, with the new options ``stated`` (cost, scale, name, made)."""
        pairs = {"query_ids": grades.query_ids, "doc_ids": grades.item_ids}
        values, notes = _within(Replies(**pairs, values=grades.values, source=grades.source), stated.get("scale"))
        renewed: Self = replace(grades, values=values, notes=(*grades.notes, *notes), **stated)
        return renewed

    def __len__(self) -> int:
        """Number of graded items, missing replies included."""
        return self.values.size

    def on(self, pool: QueryPool) -> GradesOnPool:
        """Align the grades with the items of a pool.

        Raises
        ------
        InputError
            If no item of the pool has a grade.
        """
        positions = positions_in(pool, self.query_ids, self.item_ids)
        in_pool = np.flatnonzero(positions >= 0)
        if not (in_pool.size and (~np.isnan(self.values[in_pool])).any()):
            self._refuse(pool, in_pool.size)
        values = self._aligned(pool, positions, in_pool)
        probs = None
        if self.probs is not None:
            probs = np.full((pool.n_items, self.probs.shape[1]), np.nan)
            probs[positions[in_pool]] = self.probs[in_pool]
            probs[np.isnan(values)] = np.nan
        return GradesOnPool(values=values, probs=probs, notes=(*self.notes, *self._notes_on(pool, in_pool, values)))

    def beliefs(self, pool: QueryPool, max_grade: int = 3) -> Floats:
        """Estimate p(y = k), the probability of each person's grade for a pool's items, before any label.

        By equation (2) of `activeeval.core.grade_models.values`; designs and moments of measures take the result as
        ``grade_probs``. Items without a grade of the grader get the default shares of grades.

        Parameters
        ----------
        max_grade : int
            The largest grade of people's scale.

        Returns
        -------
        ndarray, shape (n_items, max_grade + 1)

        Raises
        ------
        InputError
            If no item of the pool has a grade.

        Examples
        --------
        >>> import polars as pl
        >>> pool = QueryPool(["q1"], [0, 3], ["d1", "d2", "d3"])
        >>> graded = pl.DataFrame({"query_id": ["q1", "q1"], "doc_id": ["d1", "d2"], "grade": [0, 1]})
        >>> Grades.read(graded).beliefs(pool, max_grade=1).round(2).tolist()
        [[0.77, 0.23], [0.53, 0.47], [0.65, 0.35]]
        """
        # the table has the grade probabilities of each bin of values, and the bin of each item (`codes`)
        table = ValueTable.of(self.on(pool).values, default_shares(max_grade + 1))
        return np.asarray(table.probs[table.codes])

    def values_on(self, pool: QueryPool) -> Floats:
        """Align the values with the items of a pool, shape (n_items,), NaN for items without one; all may be NaN."""
        positions = positions_in(pool, self.query_ids, self.item_ids)
        return self._aligned(pool, positions, np.flatnonzero(positions >= 0))

    def _aligned(self, pool: QueryPool, positions: Ints, in_pool: Ints) -> Floats:
        """Copy the values of rows `in_pool` to their positions in the pool, NaN elsewhere; shape (n_items,).

        ``positions`` (n,) are the items of all rows, −1 outside the pool.
        """
        values = np.full(pool.n_items, np.nan)
        values[positions[in_pool]] = self.values[in_pool]
        return values

    def _refuse(self, pool: QueryPool, n_in_pool: int) -> None:
        """Raise InputError that explains why no item of the pool has a grade."""
        if n_in_pool:
            raise InputError(f"{self.source}: all of its {n_in_pool:,} replies for items of the pool are missing")
        queries = set(pool.query_texts)
        pairs = zip(self.query_ids[:_MOST_HINTED].tolist(), self.item_ids[:_MOST_HINTED].tolist(), strict=True)
        outside = [item if query in queries else query for query, item in pairs]
        unseen = unseen_difference(outside, [*queries, *pool.item_texts[:_MOST_HINTED].tolist()])
        of_file = f"item {shown(self.item_ids[0])} of query {shown(self.query_ids[0])}"
        first = f"its first is {of_file}, the pool's {pool.place(0)}"
        raise InputError(f"{self.source}: none of its {len(self):,} grades is of an item of the pool; {first}{unseen}")

    def _notes_on(self, pool: QueryPool, in_pool: Ints, values: Floats) -> list[Note]:
        """Note rows outside the pool, ungraded items and a constant value.

        ``in_pool`` are the rows of items of the pool, ``values`` (n_items,) their grades by item, NaN without one.
        """
        notes = []
        if in_pool.size < len(self):
            outside: dict[str, Told] = {"source": self.source, "n": len(self) - in_pool.size, "of": len(self)}
            notes.append(Note("grader foreign", outside))
        graded = values[~np.isnan(values)]
        if graded.size < pool.n_items:
            n_unread = int(np.isnan(self.values[in_pool]).sum())
            missing: dict[str, Told] = {"n": pool.n_items - graded.size, "of": pool.n_items, "n_unread": n_unread}
            missing["share"] = 1 - graded.size / pool.n_items
            notes.append(Note("grader missing", {"source": self.source, **missing}))
        if graded.size > 1 and graded.min() == graded.max():
            notes.append(Note("grader one value", {"source": self.source, "value": float(graded[0]), "n": graded.size}))
        return notes


def _texts_by_id(texts: TextsOfIds | PathLike | None, vocabulary: Vocabulary) -> TextsOfIds | None:
    """Read texts by id from a table: its column ``text``, otherwise its first text column."""
    if texts is None or isinstance(texts, Mapping):
        return texts
    table = read_texts(texts, vocabulary)
    last = "text" if "text" in table.names else table.names[0]
    return {text_id: parts[last] for text_id, parts in table.by_id.items() if last in parts}


def _name_of(source: Any) -> str:
    """Derive a grader's name from its file, or from the only grader among judgments; "" if there is none."""
    if isinstance(source, (str, os.PathLike)):
        path: Path = Path(source)
        while path.suffix.lower() in (".gz", ".csv", ".tsv", ".jsonl", ".json", ".parquet", ".xlsx", ".qrels", ".txt"):
            path = path.with_suffix("")
        return path.name
    if isinstance(source, Judgments):
        names = {judge.name for judge in source.judges if judge.is_machine and judge.name}
        return names.pop() if len(names) == 1 else ""
    return ""


def _within(replies: Replies, scale: tuple[float, float] | None) -> tuple[Floats, list[Note]]:
    """Set values beyond a stated scale to NaN, and note their number; raise if they are more than half."""
    values = replies.values
    if scale is None:
        return values, []
    is_beyond = (values < scale[0]) | (values > scale[1])
    n, of = int(is_beyond.sum()), int((~np.isnan(values)).sum())
    if 2 * n > of:
        row = int(np.argmax(is_beyond))
        problem = f"{n:,} of {of:,} values are beyond the scale {scale[0]:g} to {scale[1]:g} that is stated"
        replies.fail(row, f"holds {float(values[row])!r}; {problem}, expected values of the scale")
    if n == 0:
        return values, []
    beyond: dict[str, Told] = {"source": replies.source, "n": n, "of": of, "least": scale[0], "largest": scale[1]}
    return np.where(is_beyond, np.nan, values), [Note("grader beyond scale", beyond)]


def _mixtures(replies: Replies) -> list[Note]:
    """Note replies of several models or prompts, and rows by people."""
    notes = []
    if (models := _shares(replies, replies.models)) is not None:
        notes.append(Note("grader models mixed", models))
    if (prompts := _shares(replies, replies.prompt_versions)) is not None:
        notes.append(Note("grader prompts mixed", prompts))
    if replies.n_of_people:
        notes.append(Note("grader of people", {"source": replies.source, "n": replies.n_of_people}))
    return notes


def _shares(replies: Replies, names: Names | None) -> dict[str, Told] | None:
    """Count the replies of each name; None unless there are at least two names."""
    counts = Counter([] if names is None else filter(None, names.tolist()))
    if len(counts) < _SEVERAL:
        return None
    ordered = counts.most_common()
    by_name: dict[str, tuple[Told, ...]] = {
        "names": tuple(name for name, _ in ordered),
        "counts": tuple(count for _, count in ordered),
    }
    return {"source": replies.source, **by_name}
