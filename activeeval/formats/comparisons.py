"""Read and write tables of compared document pairs and of top-k truths."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from operator import itemgetter

from activeeval.core.errors import InputError, shown
from activeeval.core.judgments.comparisons import Comparison, Truth
from activeeval.formats.loading import DOCUMENT
from activeeval.formats.suffixes import PathLike, bare_suffix
from activeeval.formats.tables.preferences import QUERY, pair_answers
from activeeval.formats.tables.sheets import Sheet
from activeeval.formats.writing import write_atomically

_FIELDS = ("preferred", "other")
_BAD = "bad"
"""Written in the rank column for a document that the judge discarded as bad."""


def write_comparisons(comparisons: Iterable[Comparison], path: PathLike) -> None:
    """Write compared pairs as JSON lines: query, preferred, other, tie, and the judge if there is one.

    Raises
    ------
    InputError
        If the name does not end in .jsonl or .jsonl.gz, or the file cannot be written.
    """
    if bare_suffix(path) != ".jsonl":
        raise InputError(f"{os.fspath(path)}: expected a name that ends in .jsonl")
    with write_atomically(path) as handle:
        for pair in comparisons:
            record = {"query": pair.query, "preferred": pair.preferred, "other": pair.other, "tie": pair.is_tie}
            record |= {"judge": pair.judge} if pair.judge else {}
            handle.write(f"{json.dumps(record, ensure_ascii=False)}\n")


def comparisons_of(sheet: Sheet) -> list[Comparison]:
    """Convert a table written by `write_comparisons` to comparisons; ``tie`` and ``judge`` may be missing.

    Raises
    ------
    FormatError
        ``path:line`` of a cell that cannot be read, or of a document that is compared with itself.
    """
    queries = sheet.texts(sheet.column("query", QUERY)).tolist()
    preferred, other = (sheet.texts(sheet.column("document", [name])).tolist() for name in _FIELDS)
    ties = (pair_answers(sheet, is_asked=False) == 0).tolist()  # 1: the first document is preferred
    judges = sheet.words("judge") if "judge" in sheet.columns else [""] * sheet.n_rows
    for row, (better, worse) in enumerate(zip(preferred, other, strict=True)):
        if better == worse:
            sheet.fail(row, "other", f"holds {shown(worse)} as preferred does, expected another document")
    return [Comparison(*fields) for fields in zip(queries, preferred, other, ties, judges, strict=True)]


def write_truth(truths: Mapping[str, Truth], path: PathLike) -> None:
    """Write top-k truths to a table by the suffix of the name: .csv, .tsv, .jsonl (each also .gz) or .parquet.

    The columns are query, rank and doc_id, best first; equally good documents share a rank, documents below the top
    have no rank, discarded documents have the rank `bad`.
    """
    rows: list[tuple[str, str | None, str]] = []
    for query, truth in truths.items():
        rows += [(query, str(rank), doc) for rank, doc in truth.ranked]
        rows += [(query, None, doc) for doc in truth.below]
        rows += [(query, _BAD, doc) for doc in truth.bad]
    queries, ranks, docs = ([row[k] for row in rows] for k in range(3))
    import polars as pl  # imported late: reading does not need polars

    from activeeval.formats.tables.export import write_columns

    columns = pl.Series(ranks, dtype=pl.String)
    whole = columns if _BAD in ranks else columns.cast(pl.Int64)
    write_columns({"query": queries, "rank": whole, "doc_id": docs}, path)


def truths_of(sheet: Sheet) -> dict[str, Truth]:
    """Convert a table with the columns query, rank and doc_id, in any order, to top-k truths.

    Raises
    ------
    FormatError
        ``path:line`` of a rank that is not a whole number from 1 on or not one more than the number of documents ranked
        before it, or of a document that occurs twice for a query.
    """
    queries = sheet.texts(sheet.column("query", QUERY)).tolist()
    doc_name, rank_name = sheet.column("document", DOCUMENT), sheet.column("rank", ["rank"])
    is_bad = [word.strip().lower() == _BAD for word in sheet.words(rank_name)]
    cells = [None if bad else cell for cell, bad in zip(sheet.columns[rank_name], is_bad, strict=True)]
    ranked_sheet = replace(sheet, columns={rank_name: cells})
    docs, ranks = sheet.texts(doc_name).tolist(), ranked_sheet.wholes(rank_name, empty=0, least=1).tolist()
    _check_once(sheet, doc_name, queries, docs)
    by_query: dict[str, list[tuple[int, str, int]]] = {query: [] for query in queries}
    for row, (query, rank, doc) in enumerate(zip(queries, ranks, docs, strict=True)):
        by_query[query].append((rank, doc, row))
    return {query: _truth_of(sheet, rank_name, query, rows, is_bad) for query, rows in by_query.items()}


def _truth_of(
    sheet: Sheet, name: str, query: str, rows: Sequence[tuple[int, str, int]], is_bad: Sequence[bool]
) -> Truth:
    """Build the truth of a query from its rows (rank, document, row number); rank 0 means unranked.

    ``name`` is the column of ranks, ``is_bad`` flags the rows of the table whose document was discarded. Documents of
    equal rank are tied.
    """
    groups: list[list[str]] = []
    for rank, group in groupby(sorted(row for row in rows if row[0]), key=itemgetter(0)):
        members = list(group)
        n_before = sum(map(len, groups))
        if rank != n_before + 1:
            before = f", as {n_before} documents stand before it" if rank <= n_before else ""
            problem = f"query {shown(query)} has a rank {rank}, but none of {n_before + 1}{before}"
            sheet.fail(members[0][2], name, problem)
        groups.append([doc for _, doc, _ in members])
    unranked = [(doc, is_bad[row]) for rank, doc, row in rows if not rank]
    return Truth.of(groups, (doc for doc, bad in unranked if not bad), (doc for doc, bad in unranked if bad))


def _check_once(sheet: Sheet, name: str, queries: Sequence[str], docs: Sequence[str]) -> None:
    """Raise FormatError if a query has a document twice."""
    seen: dict[tuple[str, str], int] = {}
    for row, pair in enumerate(zip(queries, docs, strict=True)):
        first = seen.setdefault(pair, row)
        if first != row:
            query, doc = map(shown, pair)
            sheet.fail(row, name, f"{doc} of query {query} is there twice, first at {sheet.place(first)}")
