"""Find how a file is to be read: by the suffix of its name, and by its first line."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from activeeval.core.errors import FormatError, shown
from activeeval.formats.json_text import parse_json
from activeeval.formats.suffixes import SPREADSHEETS, PathLike, bare_suffix, located
from activeeval.formats.text.plain import first_lines

JSON = ".json"
"""Kind of a file that is one JSON value, not a line for each object."""
_INTEGER, _NUMBER = r"-?[0-9]+", r"-?[0-9.]+(?:[eE][-+]?[0-9]+)?"
RUN_OF_RANKS = re.compile(rf"\S+\t\S+\t{_INTEGER}")
"""A line of a run of MS MARCO: query, document and rank, separated by tabs."""
THREE_COLUMNS = re.compile(rf"\S+\t\S+\t{_NUMBER}")
"""A line of a run of query, document and rank (MS MARCO) or score, separated by tabs."""
_WITHOUT_HEADER = re.compile(
    rf"\S+\s+\S+\s+\S+\s+{_NUMBER}|\S+\s+\S+\s+\S+\s+{_INTEGER}\s+{_NUMBER}(?:\s+\S+)?|{THREE_COLUMNS.pattern}"
)
"""First line of a table without names of columns: of judgments and runs as TREC has them, and of runs of MS MARCO."""
QUERY_IDS = {"query_id", "q_id", "qid", "query-id", "query"}
"""Names of a column of queries."""


def kind_of(path: PathLike) -> str:
    """Find how to read a file.

    Returns
    -------
    str
        A suffix of `suffixes.TABLES` for a table; ".json"; or "" for lines of columns separated by white space.
    """
    file, _ = located(path)
    suffix = bare_suffix(file)
    if suffix in (".parquet", *SPREADSHEETS):
        return suffix
    lines = first_lines(file, 2)
    line = lines[0] if lines else ""
    if line.lstrip()[:1] in ("{", "["):
        return ".jsonl" if suffix == ".jsonl" or _is_record(lines) else JSON
    if suffix in (".csv", ".tsv"):
        return "" if _WITHOUT_HEADER.fullmatch(line.strip()) else suffix
    if suffix in (".jsonl", JSON):
        return suffix
    separator = max("\t,;", key=line.count)
    names = {name.strip().strip('"').lower() for name in line.split(separator)}
    return "" if names.isdisjoint(QUERY_IDS) or len(names) < 2 else ".tsv" if separator == "\t" else ".csv"


def _is_record(lines: Sequence[str]) -> bool:
    """Check whether the first line of a JSON file is a whole object, of a table or followed by others."""
    try:
        record = parse_json(lines[0])
    except ValueError:
        return False
    if not isinstance(record, dict) or all(isinstance(value, dict) for value in record.values()):
        return False
    return len(lines) > 1 or not QUERY_IDS.isdisjoint(record)


def read_json(path: PathLike) -> Any:
    """Read a file of one JSON value, of which a part may be named; a search response gives its documents.

    Raises
    ------
    FormatError
        If it is not JSON, an object has a key twice, or the part does not exist.
    """
    from activeeval.formats.files import MOST_PARSED, open_text  # imported late: plain text is read without it

    file, part = located(path)
    content = open_text(file, MOST_PARSED)
    try:
        value = parse_json(content)
    except ValueError as problem:
        raise FormatError(file, None, f"cannot be read as JSON: {problem}") from None
    for key in filter(None, part.split("/")):
        if not isinstance(value, dict) or key not in value:
            known = ", ".join(value) if isinstance(value, dict) else "none"
            raise FormatError(file, None, f"holds no part {shown(key)}; known: {known}")
        value = value[key]
    # a response of Elasticsearch or OpenSearch has its documents in hits.hits; a single one may hold all the ratings
    hits = value.get("hits") if isinstance(value, dict) else None
    within = hits.get("hits") if isinstance(hits, dict) else None
    if not isinstance(within, list) or not all(isinstance(hit, dict) for hit in within):
        return value
    alone = within[0].get("_source") if len(within) == 1 else None
    return alone if isinstance(alone, dict) and "doc_id" not in alone else within


def nested_values(value: Any, path: PathLike) -> Mapping[str, Mapping[str, Any]] | None:
    """Get {query: {document: value}} from JSON; None for other JSON. Parts without a choice are entered.

    Raises
    ------
    FormatError
        If there are several parts {part: {query: {document: value}}}, or a value is not a number.
    """
    names: list[str] = []
    while True:
        if not isinstance(value, dict) or not all(isinstance(part, dict) for part in value.values()):
            return None
        inner: Mapping[str, Mapping[str, Any]] = value
        parts = _with_parts(inner)
        if not parts:
            break
        named = ["/".join((*names, name)) for name in parts]
        if mixed := [key for key, part in inner.items() if key not in parts and _has_numbers(part)]:
            problem = f"{shown(mixed[0])} holds numbers and {shown(named[0])} objects, expected one depth"
            raise FormatError(os.fspath(path), None, problem)
        if len(parts) > 1:
            file, outer = located(path)
            leaf = "/".join(filter(None, (outer, *names, *_first_leaf(parts))))
            problem = f"holds {', '.join(named)}: name one, as {file}#{leaf}"
            raise FormatError(os.fspath(path), None, problem)
        name, value = next(iter(parts.items()))
        names.append(name)
    if not any(inner.values()):
        return None
    for query, documents in inner.items():
        for document, number in documents.items():
            if isinstance(number, bool) or not isinstance(number, (int, float)) or not math.isfinite(number):
                at = f"document {shown(document)} of query {shown(query)}"
                raise FormatError(os.fspath(path), None, f"{at} has {shown(str(number))}, expected a finite number")
    return inner


def listed_values(value: Any, source: str, *, is_run: bool) -> Mapping[str, Mapping[str, int]] | None:
    """Get {query: {document: value}} from {query: [document, …]}; None for anything else.

    Listed documents are relevant, each with the value 1; with ``is_run`` the list is the ranking, and the values fall
    with the rank. ``source`` is the name of the file in messages.
    """
    if not isinstance(value, Mapping) or not value or not all(map(_is_id_list, value.values())):
        return None
    for query, documents in value.items():
        if len(set(documents)) < len(documents):
            raise FormatError(source, None, f"the list of query {shown(query)} has a document twice")
    return {
        query: {document: -rank if is_run else 1 for rank, document in enumerate(documents)}
        for query, documents in value.items()
    }


def _with_parts(parts: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Select the parts that hold objects themselves."""
    return {key: part for key, part in parts.items() if any(isinstance(entry, dict) for entry in part.values())}


def _first_leaf(parts: Mapping[str, Any]) -> list[str]:
    """List the keys that lead to the first {query: {document: value}} below some parts."""
    name, part = next(iter(parts.items()))
    inner = _with_parts(part)
    return [name, *_first_leaf(inner)] if inner else [name]


def _is_id_list(value: Any) -> bool:
    """Check for a list of ids."""
    return isinstance(value, list) and all(isinstance(entry, str) for entry in value)


def _has_numbers(part: Mapping[str, Any]) -> bool:
    """Check whether an object holds a number."""
    return any(isinstance(entry, (int, float)) for entry in part.values())
