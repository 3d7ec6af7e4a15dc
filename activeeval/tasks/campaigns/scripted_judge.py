"""A scripted judge: claims and submits one item after another, with the grades that a file has."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from activeeval.errors import InputError
from activeeval.store import Acknowledged, Said, Store

Pair = tuple[str, str]
_TABLES = (".csv", ".tsv", ".jsonl", ".parquet", ".xlsx", ".ods")
_DOCUMENT = re.compile(r"#\s*docid\s*=\s*(\S+)")
_WHOLE = re.compile(r"-?[0-9]{1,9}")
_COLUMNS = 4
_LONGEST = 1 << 16
_MOST_PLAIN = 1 << 24
"""Letters that are read line by line: of more the compiled readers are the faster, and bound what is unpacked."""


class Answered(NamedTuple):
    """An answer that the store has acknowledged, and the token it was given with."""

    acknowledged: Acknowledged
    token: str


def read_oracle(path: str) -> dict[Pair, int]:
    """Return the grade of each query and document that judgments or a LETOR file hold.

    Plain text is read line by line here: the compiled readers take a second to start, and whoever runs a scripted
    judge again and again waits for that each time. Tables, and LETOR files without ids of documents, are read by them.

    Raises
    ------
    InputError
        Where the file cannot be read.
    """
    found: dict[Pair, int] = {}
    try:
        if not path.lower().removesuffix(".gz").endswith(_TABLES):
            with (gzip.open if _is_packed(path) else open)(path, "rt", encoding="utf-8") as lines:
                n_read = 0
                while line := lines.readline(_LONGEST):
                    n_read += len(line)
                    if len(line) == _LONGEST or n_read > _MOST_PLAIN:
                        raise _NotPlainError
                    _take(line, found)
            if found:
                return found
    except (_NotPlainError, OSError, UnicodeError, EOFError):
        pass  # the readers with all their checks say what it is
    from activeeval.io.loading import load_grades

    told = load_grades(path)
    columns = (told.query_ids.tolist(), told.doc_ids.tolist(), told.grades.tolist())
    return {(query, doc): grade for query, doc, grade in zip(*columns, strict=True)}


class _NotPlainError(Exception):
    """A line that is neither of judgments nor of LETOR."""


def _is_packed(path: str) -> bool:
    with open(path, "rb") as handle:
        return handle.read(2) == b"\x1f\x8b"


def _take(line: str, found: dict[Pair, int]) -> None:
    """Add what a line says; raises _NotPlainError where that takes a closer look."""
    words = line.split()
    if not words or words[0].startswith("#"):
        return
    if len(words) > 1 and words[1].startswith("qid:"):
        named = _DOCUMENT.search(line)
        pair, grade = (words[1][4:], named[1] if named else ""), words[0].replace("-", "?")
    else:
        pair, grade = (words[0], words[2] if len(words) == _COLUMNS else ""), words[-1]
    if not pair[1] or pair in found or not _WHOLE.fullmatch(grade):
        raise _NotPlainError
    found[pair] = int(grade)


def judge_all(
    store: Store,
    name: str,
    judge: str,
    oracle: Mapping[Pair, int],
    *,
    limit: int | None = None,
    unjudged: str = "error",
) -> Iterator[Answered]:
    """Claim and submit until nothing is left or so many are judged; yield each answer once it is acknowledged.

    Raises
    ------
    InputError
        Where the oracle has no grade of an item that is asked for, unless such items are irrelevant.
    """
    item = store.claim(name, judge) if limit is None or limit > 0 else None
    n_done = 0
    while item is not None:
        grade = oracle.get((item.query_id, item.doc_id), -1)
        if grade < 0 and unjudged == "error":
            pairs = [(unit.query_id, place.doc_id) for unit in store.units(name) for place in unit.places]
            n_missing = sum(oracle.get(pair, -1) < 0 for pair in pairs)
            first = f"document {item.doc_id!r} of query {item.query_id!r}"
            raise InputError(f"{first} is asked for and has no grade ({n_missing} such items): expected one")
        n_done += 1
        said = Said(kind="judged", grade=max(grade, 0))
        if limit is not None and n_done == limit:
            yield Answered(store.submit(name, item.token, said), item.token)
            return
        done, following = store.submit_and_claim(name, item.token, said)
        yield Answered(done, item.token)
        item = following
