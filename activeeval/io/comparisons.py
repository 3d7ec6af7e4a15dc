"""What judges said of pairs of documents, and the truth that it came to: files of preferences and of top-k truths."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

import polars as pl

from activeeval.errors import InputError, shown
from activeeval.io.export import write_columns
from activeeval.io.files import PathLike, bare_suffix
from activeeval.io.preferences import QUERY, pair_answers
from activeeval.io.sheets import TABLES, Sheet, read_sheet
from activeeval.io.tables import DOCUMENT
from activeeval.io.writing import write_atomically

_FIELDS = ("preferred", "other")
_BAD = "bad"
"""In the place of a rank: a document that was thrown out at once."""


class Comparison(NamedTuple):
    """A pair of documents of a query that somebody compared; in a tie the order of the two says nothing."""

    query: str
    preferred: str
    other: str
    is_tie: bool = False
    judge: str = ""


class Truth(NamedTuple):
    """A top-k truth of a query: its documents, best first, those that stand below, all tied, and those thrown out."""

    top: tuple[str, ...]
    below: tuple[str, ...] = ()
    bad: tuple[str, ...] = ()


def write_comparisons(comparisons: Iterable[Comparison], path: PathLike) -> None:
    """Write pairs as JSON lines: query, preferred, other, tie, and the judge where there is one.

    Raises
    ------
    InputError
        Where the name does not end in .jsonl or .jsonl.gz, or the file cannot be written.
    """
    if bare_suffix(path) != ".jsonl":
        raise InputError(f"{os.fspath(path)}: expected a name that ends in .jsonl")
    with write_atomically(path) as handle:
        for one in comparisons:
            record = {"query": one.query, "preferred": one.preferred, "other": one.other, "tie": one.is_tie}
            record |= {"judge": one.judge} if one.judge else {}
            handle.write(f"{json.dumps(record, ensure_ascii=False)}\n")


def read_comparisons(path: PathLike) -> list[Comparison]:
    """Read pairs of documents from a table, as `write_comparisons` writes it; ``tie`` and ``judge`` may be missing.

    Raises
    ------
    FormatError
        ``path:line`` of a cell that cannot be read, or of a document that is compared with itself.
    """
    return comparisons_of(read_sheet(path))


def comparisons_of(sheet: Sheet) -> list[Comparison]:
    """Return the pairs of a table that was read; raises as `read_comparisons`."""
    queries = sheet.texts(sheet.column("query", QUERY)).tolist()
    preferred, other = (sheet.texts(sheet.column("document", [name])).tolist() for name in _FIELDS)
    ties = (pair_answers(sheet, is_asked=False) == 0).tolist()
    judges = sheet.words("judge") if "judge" in sheet.columns else [""] * sheet.n_rows
    for row, (one, two) in enumerate(zip(preferred, other, strict=True)):
        if one == two:
            sheet.fail(row, "other", f"holds {shown(two)} as preferred does, expected another document")
    return [Comparison(*fields) for fields in zip(queries, preferred, other, ties, judges, strict=True)]


def write_truth(truths: Mapping[str, Truth], path: PathLike) -> None:
    """Write top-k truths by the suffix of the name: .csv, .tsv, .jsonl (each also .gz) or .parquet.

    The columns are query, rank and doc_id, best first; documents below the top have no rank, those thrown out `bad`.
    """
    rows: list[tuple[str, str | None, str]] = []
    for query, truth in truths.items():
        rows += [(query, str(rank), doc) for rank, doc in enumerate(truth.top, start=1)]
        rows += [(query, None, doc) for doc in truth.below]
        rows += [(query, _BAD, doc) for doc in truth.bad]
    queries, ranks, docs = ([row[k] for row in rows] for k in range(3))
    columns = pl.Series(ranks, dtype=pl.String)
    whole = columns if _BAD in ranks else columns.cast(pl.Int64)
    write_columns({"query": queries, "rank": whole, "doc_id": docs}, path)


def read_truth(path: PathLike) -> dict[str, Truth]:
    """Read top-k truths from a table with the columns query, rank and doc_id, in any order.

    Raises
    ------
    FormatError
        ``path:line`` of a rank that is no whole number from 1 on, of one that is there twice or skips one before, of a
        document that a query has twice.
    """
    return truths_of(read_sheet(path))


def read_truth_if_any(path: PathLike) -> dict[str, Truth] | None:
    """Return the truths of a table of ranks; None where a file is no table, or another; raises as `read_truth`."""
    if bare_suffix(path) not in TABLES:
        return None
    sheet = read_sheet(path).plainly_named()
    return truths_of(sheet) if holds_truths(sheet) else None


def holds_truths(sheet: Sheet) -> bool:
    """Whether a plainly named table is one of ranks and not of grades."""
    return "rank" in sheet.columns and "grade" not in sheet.columns


def truths_of(sheet: Sheet) -> dict[str, Truth]:
    """Return the truths of a table that was read; raises as `read_truth`."""
    queries = sheet.texts(sheet.column("query", QUERY)).tolist()
    doc_name, rank_name = sheet.column("document", DOCUMENT), sheet.column("rank", ["rank"])
    is_bad = [word.strip().lower() == _BAD for word in sheet.words(rank_name)]
    cells = [None if bad else cell for cell, bad in zip(sheet.columns[rank_name], is_bad, strict=True)]
    ranked_sheet = replace(sheet, columns={rank_name: cells})
    docs, ranks = sheet.texts(doc_name).tolist(), ranked_sheet.wholes(rank_name, empty=0, least=1).tolist()
    _check_once(sheet, doc_name, queries, [shown(doc) for doc in docs])
    _check_once(sheet, rank_name, queries, [f"rank {rank}" if rank else "" for rank in ranks])
    found: dict[str, list[tuple[int, int]]] = {query: [] for query in queries}
    for row, (query, rank) in enumerate(zip(queries, ranks, strict=True)):
        found[query].append((rank, row))
    for query, own in found.items():
        ranked = sorted(pair for pair in own if pair[0])
        for expected, (rank, row) in enumerate(ranked, start=1):
            if rank != expected:
                sheet.fail(row, rank_name, f"query {shown(query)} has a rank {rank}, but none of {expected}")
    return {
        query: Truth(
            tuple(docs[row] for rank, row in sorted(own) if rank),
            tuple(docs[row] for rank, row in own if not rank and not is_bad[row]),
            tuple(docs[row] for _, row in own if is_bad[row]),
        )
        for query, own in found.items()
    }


def _check_once(sheet: Sheet, name: str, queries: list[str], held: list[str]) -> None:
    """Raise where a query has something twice; what is empty it may have often."""
    seen: dict[tuple[str, str], int] = {}
    for row, (query, what) in enumerate(zip(queries, held, strict=True)):
        first = seen.setdefault((query, what), row)
        if what and first != row:
            at = sheet.place(first)
            sheet.fail(row, name, f"{what} of query {shown(query)} is there twice, first at {at}")
