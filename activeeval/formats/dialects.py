"""File formats of other tools: tables by their columns, and JSON documents by their keys.

Adding a format is adding a row to `TABLE_DIALECTS` or `DOCUMENT_DIALECTS`, and a test file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from activeeval.core.errors import FormatError
from activeeval.core.results import Note
from activeeval.formats.reading_rules import rules
from activeeval.formats.suffixes import PathLike
from activeeval.formats.tables.records import RenamedColumns

if TYPE_CHECKING:
    from activeeval.formats.tables.sheets import Sheet

_NAMED_AS_MODEL = re.compile(r"\bAI\b|(?i:llm|gpt|openai|ollama|claude|gemini|llama|mistral|qwen|deepseek)")
_IMPORTED = "IMPORT_JUDGMENT"
Lookup = Callable[[str], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableDialect:
    """Columns of another tool's table.

    Attributes
    ----------
    name : str
    needs : frozenset of str
        Columns by which the table is recognized, in lower case.
    columns : mapping of str to str
        Its columns, in lower case -> their names in this library; others keep their names.
    """

    name: str
    needs: frozenset[str]
    columns: Mapping[str, str]


TABLE_DIALECTS = (
    TableDialect(
        name="a BEIR table",
        needs=frozenset(("query-id", "corpus-id", "score")),
        columns={"query-id": "query_id", "corpus-id": "doc_id"},
    ),
    TableDialect(
        name="Label Studio's JSON-MIN or CSV",
        needs=frozenset(("annotation_id", "lead_time")),
        columns={"annotator": "judge", "lead_time": "seconds", "choice": "grade", "choices": "grade"},
    ),
    TableDialect(
        name="judgements of Elasticsearch Relevance Studio",
        needs=frozenset(("scenario_id", "doc_id", "rating")),
        columns={"scenario_id": "query_id"},
    ),
    TableDialect(name="Quepid's Basic CSV", needs=frozenset(("query", "docid", "rating")), columns={"docid": "doc_id"}),
    TableDialect(name="doccano's JSON lines", needs=frozenset(("id", "label", "comments")), columns={"label": "grade"}),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentDialect:
    """Keys of another tool's JSON document, or of the objects of a list in JSON.

    A path joins keys by dots; ``*`` is the only key of an object, whatever it is; alternatives are separated by ``|``.

    Attributes
    ----------
    name : str
    needs : tuple of str
        Keys by which the document, or the first object, is recognized.
    rows : str
        Path of the lists whose entries are ratings; each key of it holds a list.
    query, document, grade : str
        Paths. A path that begins as `rows` is followed from the entry of that list.
    judge, reason, seconds : str
        Paths; "" if the format has none.
    control : str
        Path of the name of the question that an entry answers; of several, the user's column of grades is read.
    fields : str
        Path of the object whose keys are columns of the table that the user imported; "" if there is none.
    skipped : str
        Path of the flag of an answer that its judge skipped or put off.
    is_left_out, is_machine, cannot : callable
        Decide, by a function from paths to values, whether an entry is no rating, is by a grader, or says that the
        item cannot be judged.
    """

    name: str
    needs: tuple[str, ...]
    rows: str
    query: str
    document: str
    grade: str
    judge: str = ""
    reason: str = ""
    seconds: str = ""
    control: str = ""
    fields: str = ""
    skipped: str = ""
    is_left_out: Callable[[Lookup], Any] = lambda at: False
    is_machine: Callable[[Lookup], Any] = lambda at: False
    cannot: Callable[[Lookup], Any] = lambda at: False


def is_ai_name(name: str) -> bool:
    """Check whether a rater's name contains the name of a model or provider.

    Examples
    --------
    >>> is_ai_name("AI Judge (gpt-4o)"), is_ai_name("Ai Tanaka")
    (True, False)
    """
    return _NAMED_AS_MODEL.search(name) is not None


def _is_quepid_machine(at: Lookup) -> bool:
    """Check for a user of Quepid without an address (null, not missing) or with the name of a model.

    ``at`` looks up a path of the dialect, seen from one rating.
    """
    has_address = at("query_doc_pairs.judgements").get("user_email", "unknown")
    return not has_address or is_ai_name(str(at("query_doc_pairs.judgements.user_name") or ""))


DOCUMENT_DIALECTS = (
    DocumentDialect(
        name="judgments of OpenSearch",
        needs=("judgmentRatings",),
        rows="judgmentRatings.ratings",
        query="judgmentRatings.query",
        document="judgmentRatings.ratings.docId",
        grade="judgmentRatings.ratings.rating",
        judge="metadata.modelId",
        is_machine=lambda at: at("type") not in (None, _IMPORTED),
    ),
    DocumentDialect(
        name="a book of Quepid",
        needs=("query_doc_pairs",),
        rows="query_doc_pairs.judgements",
        query="query_doc_pairs.query_text|query_doc_pairs.query",
        document="query_doc_pairs.doc_id",
        grade="query_doc_pairs.judgements.rating",
        judge="query_doc_pairs.judgements.user_name|query_doc_pairs.judgements.user_email",
        reason="query_doc_pairs.judgements.explanation",
        skipped="query_doc_pairs.judgements.judge_later",
        is_left_out=lambda at: at("query_doc_pairs.judgements.judge_later"),
        is_machine=_is_quepid_machine,
        cannot=lambda at: at("query_doc_pairs.judgements.unrateable"),
    ),
    DocumentDialect(
        name="ratings of Elasticsearch's _rank_eval",
        needs=("requests",),
        rows="requests.ratings",
        query="requests.id",
        document="requests.ratings._id",
        grade="requests.ratings.rating",
    ),
    DocumentDialect(
        name="Label Studio's JSON",
        needs=("data", "annotations"),
        rows="annotations.result",
        query="data.query_id|data.qid|data.query",
        document="data.doc_id|data.docno|data.docid|data.document_id",
        grade="annotations.result.value.choices|annotations.result.value.rating|annotations.result.value.number",
        judge="annotations.completed_by.email|annotations.completed_by",
        seconds="annotations.lead_time",
        control="annotations.result.from_name",
        fields="data",
        skipped="annotations.was_cancelled",
        is_left_out=lambda at: (
            at("annotations.was_cancelled") or at("annotations.result.type") not in ("choices", "rating", "number")
        ),
    ),
    DocumentDialect(
        name="records of Argilla",
        needs=("fields", "responses"),
        rows="responses.*",
        query="metadata.query_id|fields.query_id|metadata.qid|fields.query",
        document="metadata.doc_id|fields.doc_id|metadata.docno",
        grade="responses.*.value",
        judge="responses.*.user_id",
        fields="metadata|fields",
        is_left_out=lambda at: (
            at("responses.*.status") in ("draft", "discarded") or not re.search(r"\d", str(at("responses.*.value")))
        ),
    ),
    DocumentDialect(
        name="predictions of sentence-transformers",
        needs=("query_id", "results"),
        rows="results",
        query="query_id",
        document="results.corpus_id",
        grade="results.score",
    ),
    DocumentDialect(
        name="judgements of Elasticsearch Relevance Studio",
        needs=("_source", "_id"),
        rows="",
        query="_source.scenario_id",
        document="_source.doc_id",
        grade="_source.rating",
        judge="_source.@meta.created_by",
    ),
)


def read_as(source: PathLike, form: str) -> Note:
    """Note the format that a file is read as."""
    return Note("read as", {"source": os.fspath(source), "form": form})


def by_roles(sheet: Sheet, value_name: str = "") -> Sheet:
    """Rename the columns of another tool's table, and those that the user named, to this library's; note the format.

    ``value_name`` "score" reads a run, in which no column is the grade that the user named. The user's columns that the
    table has are added to ``rules().met``: those in no table are reported at the end.
    """
    plain = {name.strip().lower(): name for name in sheet.columns}
    unused = "grade" if value_name == "score" else ""
    renamed = {column: role for column, role in rules().columns.items() if column in plain and role != unused}
    rules().met.update(renamed)
    notes = sheet.notes
    dialect = next((dialect for dialect in TABLE_DIALECTS if dialect.needs <= plain.keys()), None)
    if dialect is not None:
        taken = {*renamed.values(), *plain}
        for column, role in dialect.columns.items():
            if column in dialect.needs and role in plain:
                problem = f"columns {column} and {role} hold the same, expected one of them"
                raise FormatError(sheet.source, None, problem)
        renamed |= {c: role for c, role in dialect.columns.items() if c in plain and role not in taken}
        named = ", ".join(plain[name] for name in plain if name in dialect.needs | dialect.columns.keys())
        notes = (*notes, read_as(sheet.source, f"{dialect.name}: {named}"))
    if not renamed:
        return sheet
    columns = {name: name for plain_name, name in plain.items() if plain_name not in {*renamed, *renamed.values()}}
    columns |= {role: plain[column] for column, role in renamed.items()}
    return replace(sheet, columns=RenamedColumns(sheet.columns, columns), notes=notes)


def document_dialect(keys: Collection[str]) -> DocumentDialect | None:
    """Find the format of a JSON document by the keys of its object, or of the first one of its list."""
    return next((dialect for dialect in DOCUMENT_DIALECTS if set(dialect.needs) <= set(keys)), None)


def entries(dialect: DocumentDialect, document: Any) -> Iterator[Lookup]:
    """Yield, for each rating in an object of JSON, the function that looks up paths of the dialect from it.

    Raises
    ------
    ValueError
        If a key of `DocumentDialect.rows` does not hold a list of objects.
    """
    contexts: list[dict[str, Any]] = [{"": document}]  # by rating: path of each object around it -> the object
    at = ""
    for key in filter(None, dialect.rows.split(".")):
        path = f"{at}.{key}" if at else key
        contexts = [{**context, path: entry} for context in contexts for entry in _listed(context[at], key)]
        at = path
    for context in contexts:
        yield lambda paths, context=context: _first(context, paths)  # type: ignore[misc]


def is_asked(dialect: DocumentDialect, at: Lookup) -> bool:
    """Check whether an entry answers the question that the user named as the column of grades, if any.

    ``at`` looks up a path of the dialect. A question that is there is added to ``rules().met``, as a column is.
    """
    asked = [column for column, role in rules().columns.items() if role == "grade"]
    control = str(at(dialect.control)).lower() if dialect.control else ""
    rules().met.update(column for column in asked if column == control)
    return not asked or not control or control in asked


def named_field(dialect: DocumentDialect, at: Lookup, role: str) -> Any:
    """Look up the field of an entry that the user named as the column of a role, such as query_id; None without one.

    A field that is there is added to ``rules().met``, as a column is.
    """
    held = rules()
    for path in dialect.fields.split("|") if held.columns else ():
        fields = at(path)
        for name, value in fields.items() if isinstance(fields, dict) else ():
            if held.columns.get(plain := name.strip().lower()) == role:
                held.met.add(plain)
                return value
    return None


def _listed(value: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    """Get the objects of the list under a key of ``value``, none if it is missing; ``*`` takes the lists of all keys.

    A single object counts as a list of one. Raises ValueError for anything else.
    """
    if key == "*":
        return [entry for name in value for entry in _listed(value, name)]
    rows = value.get(key)
    rows = [rows] if isinstance(rows, dict) else [] if rows is None else rows
    if not isinstance(rows, list) or not all(isinstance(entry, dict) for entry in rows):
        raise ValueError(f"{key} is no list of objects")
    return rows


def _first(context: Mapping[str, Any], paths: str) -> Any:
    """Look up the first of some paths (separated by ``|``) that holds a value; None if none does.

    ``context`` maps paths to objects known already; the longest that begins a path is followed from there.
    """
    for path in paths.split("|"):
        start = max((begin for begin in context if f"{path}.".startswith(f"{begin}." if begin else "")), key=len)
        value = context[start]
        for key in filter(None, path[len(start) :].split(".")):
            value = value.get(key) if isinstance(value, dict) else None
        if value not in (None, "", []):
            return value
    return None
