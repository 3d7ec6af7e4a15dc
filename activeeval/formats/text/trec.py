"""Read and write TREC text: judgments (qrels), rankings (runs), and judgments with inclusion probabilities (prels)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from activeeval.core.errors import InputError, shown
from activeeval.core.pool.keyed import Qrels, close_columns
from activeeval.core.pool.keys import distinct_texts, follows_its_query, places_within
from activeeval.core.pool.texts import Texts
from activeeval.core.results import Note
from activeeval.core.types import Floats, Ints
from activeeval.formats.dialects import read_as
from activeeval.formats.file_kinds import RUN_OF_RANKS, THREE_COLUMNS
from activeeval.formats.reading_rules import coded_gains
from activeeval.formats.subtopics import told_subtopics
from activeeval.formats.suffixes import PathLike
from activeeval.formats.tables.cells import LEAST_NORMAL
from activeeval.formats.text.columns import read_columns
from activeeval.formats.text.plain import first_lines
from activeeval.formats.writing import write_atomically

_QRELS = "query iteration document grade"
_RUN = "query Q0 document rank score tag"
_PRELS = "query document grade method probability"
_A_FEW = 1000
_LARGEST_WHOLE = 2.0**53
_NOT_ONE_WORD = re.compile(r"[\x00-\x20]|^#")


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """Ranked documents, one row a document, in the order of the file.

    Attributes
    ----------
    query_ids, doc_ids : Texts, shape (n,)
    scores : ndarray of float64, shape (n,)
    ranks : ndarray of int64, shape (n,)
        The rank column unchanged; it may start at 0, 1 or any number.
    name : str
        The tag of the first line.
    source : str
        Name of the run in messages, such as the name of its file.
    notes : tuple of Note
        Notes of the reader about unusual scores.
    """

    query_ids: Texts
    doc_ids: Texts
    scores: Floats
    ranks: Ints
    name: str = ""
    source: str = "the run"
    notes: tuple[Note, ...] = ()

    def __post_init__(self) -> None:
        """Convert the columns to their types, read-only; raise InputError if one does not fit."""
        close_columns(self, {"query_ids": "U", "doc_ids": "U", "scores": "f", "ranks": "i"})


@dataclass(frozen=True, slots=True, eq=False)
class Prels:
    """Judgments of sampled documents with their inclusion probabilities.

    Attributes
    ----------
    query_ids, doc_ids : Texts, shape (n,)
    grades : ndarray of int64, shape (n,)
    methods : ndarray of int64, shape (n,)
        Number of the sampling method that selected the document, defined by the writer.
    probs : ndarray of float64, shape (n,)
        Inclusion probabilities, in (0, 1].
    """

    query_ids: Texts
    doc_ids: Texts
    grades: Ints
    methods: Ints
    probs: Floats

    def __post_init__(self) -> None:
        """Convert the columns to their types, read-only; raise InputError if one does not fit."""
        close_columns(self, {"query_ids": "U", "doc_ids": "U", "grades": "i", "methods": "i", "probs": "f"})


def read_qrels(path: PathLike) -> Qrels:
    """Read judgments: ``query iteration document grade``.

    Raises
    ------
    FormatError
        ``path:line`` of a line without four columns, a grade that is not an integer, or a
        document that occurs twice for a query.
    """
    columns = read_columns(path, "q-tn", _QRELS)  # query and document are texts, iteration is ignored, grade a number
    grades, gains = coded_gains(columns.floats(0), columns.fail) or (columns.grades(0), None)

    def hint(first: int, again: int) -> str:
        """Tell that a document can have a row for each subtopic if the second columns differ."""
        second = [columns.words(row)[1] for row in (first, again)]
        return "" if second[0] == second[1] else told_subtopics(*second)

    return Qrels(*columns.pairs(hint), grades, columns.path, gains=gains)


def read_run(path: PathLike) -> Run:
    """Read a run: ``query Q0 document rank score tag``, or query, document and rank (MS MARCO) or score by tabs.

    Raises
    ------
    FormatError
        ``path:line`` of a line without six columns, a score that is not a finite number, a rank
        that is not an integer, or a document that occurs twice for a query.
    """
    first = next(iter(first_lines(path)), "")
    if THREE_COLUMNS.fullmatch(first):
        return _read_three_columns(path, is_of_scores=not RUN_OF_RANKS.fullmatch(first))
    columns = read_columns(path, "q-tnn1*", _RUN)  # q, t, 1: texts, the tag of the first row only; n: rank and score
    name = columns.texts[2][0]
    ranks = columns.wholes(0, "rank")
    query_ids, doc_ids = columns.pairs()
    scores = columns.floats(1)
    notes = order_notes(columns.path, query_ids, scores, ranks, columns.tiny_texts(1))
    if columns.n_longer:
        notes = (Note("long lines", {"source": columns.path, "n": columns.n_longer}), *notes)
    return Run(query_ids, doc_ids, scores, ranks, name, columns.path, notes)


def _read_three_columns(path: PathLike, *, is_of_scores: bool) -> Run:
    """Read a run of query, document and rank, whose scores are the negative ranks; or of scores, if one is no whole.

    ``is_of_scores`` is True if the first line has a decimal, which may be whole as 2.0.
    """
    columns = read_columns(path, "qtn", "query document rank")
    query_ids, doc_ids = columns.pairs()
    owners, values = distinct_texts(query_ids)[1], columns.floats(0)
    if is_of_scores or (values != np.floor(values)).any():
        note = read_as(columns.path, "a run: query, document, score")
        ranks = places_within(owners)  # positions of the rows in their queries
        return Run(query_ids, doc_ids, values.copy(), ranks, source=columns.path, notes=(note,))
    ranks = columns.wholes(0, "rank")
    order = np.lexsort((ranks, owners))
    # the first rank of a query is 0 or 1, any other above the one before
    begins = np.r_[True, np.diff(owners[order]) != 0]
    is_rank = np.where(begins, np.isin(ranks[order], (0, 1)), np.r_[True, np.diff(ranks[order]) > 0])
    falls = np.diff(ranks)[np.diff(owners) == 0] < 0
    is_rank &= not (falls.size and falls.all())  # whole scores, best first
    if not is_rank.all():
        row = int(order[int(np.argmin(is_rank))])
        expected = (
            "expected ranks from 0 or 1, each once in its query; for scores begin with a line query_id, doc_id, score"
        )
        columns.fail(row, f"{ranks[row]} is no rank of query {shown(query_ids[row])}, {expected}")
    note = read_as(columns.path, "a run of MS MARCO: query, document, rank")
    return Run(query_ids, doc_ids, -ranks.astype(np.float64), ranks, source=columns.path, notes=(note,))


def order_notes(
    source: str, query_ids: Texts, scores: Floats, ranks: Ints, tiny: Mapping[int, str]
) -> tuple[Note, ...]:
    """Note unusual scores of a run: all equal, rising with the ranks, or indistinguishable as floats.

    Parameters
    ----------
    tiny : mapping of int to str
        By row, the texts of scores that are not 0 but below the smallest normal float.
    """
    return (
        *_order_notes(source, query_ids, scores, ranks),
        *_vast_score_notes(source, query_ids, scores),
        *_tiny_score_notes(source, query_ids, scores, tiny),
    )


def _tiny_score_notes(source: str, query_ids: Texts, scores: Floats, tiny: Mapping[int, str]) -> tuple[Note, ...]:
    """Note the number of scores near 0 that differ from another of their query as text but not as a float.

    ``tiny`` has, by row, the texts of scores that are not 0 but below the smallest normal float.
    """
    if not tiny:
        return ()
    near = np.flatnonzero(np.abs(scores) < LEAST_NORMAL)
    # query and score of each row; adding 0 turns -0 into 0
    keys = list(zip(distinct_texts(query_ids)[1][near].tolist(), (scores[near] + 0.0).tolist(), strict=True))
    exact_scores = [
        Decimal(tiny[row]) if row in tiny else Decimal(score)
        for row, (_, score) in zip(near.tolist(), keys, strict=True)
    ]
    several: dict[tuple[int, float], set[Decimal]] = {}
    for key, exact in zip(keys, exact_scores, strict=True):
        several.setdefault(key, set()).add(exact)
    n_equal = sum(len(several[key]) > 1 for row, key in zip(near.tolist(), keys, strict=True) if row in tiny)
    return (Note("tiny scores", {"source": source, "n": n_equal}),) if n_equal else ()


def _vast_score_notes(source: str, query_ids: Texts, scores: Floats) -> tuple[Note, ...]:
    """Note the number of scores beyond 2⁵³, where floats do not distinguish neighbouring integers, that are equal."""
    if max(scores.max(initial=0.0), -scores.min(initial=0.0)) <= _LARGEST_WHOLE:
        return ()
    vast = np.flatnonzero(np.abs(scores) > _LARGEST_WHOLE)
    owners = distinct_texts(query_ids)[1][vast]
    n_equal = vast.size - np.unique(np.stack((owners.astype(np.float64), scores[vast])), axis=1).shape[1]
    return (Note("vast scores", {"source": source, "n": n_equal}),) if n_equal else ()


def _order_notes(source: str, query_ids: Texts, scores: Floats, ranks: Ints) -> tuple[Note, ...]:
    """Note scores that rise with the rank, or are all equal."""
    follows = follows_its_query(query_ids)[1:]  # True for rows with the query of the row before
    # the first rows nearly always settle that the order is normal
    for rows in (slice(_A_FEW), slice(None)):
        # 1 where the score rises with the rank, −1 where it falls; 0 between queries and for equal ones
        steps = np.sign(np.diff(ranks[rows])) * np.sign(np.diff(scores[rows])) * follows[: ranks[rows].size - 1]
        if (steps < 0).any():
            return ()
    if (steps > 0).any():
        return (Note("rising scores", {"source": source}),)
    if (scores == scores[0]).all() and follows.any():
        return (Note("equal scores", {"source": source, "n": scores.size}),)
    return ()


def read_prels(path: PathLike) -> Prels:
    """Read sampled judgments: ``query document grade method probability``.

    Raises
    ------
    FormatError
        ``path:line``, as `read_qrels`; also if a probability is not in (0, 1].
    """
    columns = read_columns(path, "qtnnn", _PRELS)
    grades, methods, probs = columns.grades(0), columns.wholes(1, "method"), columns.floats(2)
    bad = np.flatnonzero(~((probs > 0) & (probs <= 1)))
    if bad.size:
        columns.fail(int(bad[0]), f"the probability {float(probs[bad[0]])!r} is out of range, expected one in (0, 1]")
    return Prels(*columns.pairs(), grades, methods, probs)


def write_qrels(qrels: Qrels, path: PathLike, iteration: str = "0") -> None:
    """Write judgments as ``query iteration document grade``; the file is replaced only when it is complete."""
    queries, documents = _words(qrels.query_ids, "query"), _words(qrels.doc_ids, "document")
    rows = zip(queries, documents, qrels.grades.tolist(), strict=True)
    _write_lines(path, (f"{query} {iteration} {document} {grade}\n" for query, document, grade in rows))


def write_run(run: Run, path: PathLike) -> None:
    """Write a run as ``query Q0 document rank score tag``; the file is replaced only when it is complete."""
    queries, documents = _words(run.query_ids, "query"), _words(run.doc_ids, "document")
    tag = run.name or "activeeval"
    rows = zip(queries, documents, run.ranks.tolist(), run.scores.tolist(), strict=True)
    _write_lines(path, (f"{query} Q0 {document} {rank} {score!r} {tag}\n" for query, document, rank, score in rows))


def write_prels(prels: Prels, path: PathLike) -> None:
    """Write ``query document grade method probability``; the file is replaced only when it is complete."""
    queries, documents = _words(prels.query_ids, "query"), _words(prels.doc_ids, "document")
    rows = zip(queries, documents, prels.grades.tolist(), prels.methods.tolist(), prels.probs.tolist(), strict=True)
    _write_lines(path, (f"{q} {d} {grade} {method} {prob!r}\n" for q, d, grade, method, prob in rows))


def _write_lines(path: PathLike, lines: Iterable[str]) -> None:
    """Write lines to a file atomically."""
    with write_atomically(path) as handle:
        handle.writelines(lines)


def _words(ids: Texts, what: str) -> list[str]:
    """Convert ids to text; raise InputError if one contains white space or starts with ``#``."""
    words: list[str] = ids.tolist()
    for word in words:
        if _NOT_ONE_WORD.search(word):
            raise InputError(
                f"the {what} id {shown(word)} cannot stand in TREC text, expected one word without white space"
            )
    return words
