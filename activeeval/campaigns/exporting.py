"""Export a campaign: judgments for other tools, the log, and the weights of the sample."""

from __future__ import annotations

import csv
import json
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import singledispatch
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from activeeval.campaigns.known_labels import grades_of, round_grades
from activeeval.campaigns.state import CampaignState, state_of
from activeeval.campaigns.store import Store
from activeeval.core.campaign import Unit
from activeeval.core.campaign.probabilities import item_probabilities
from activeeval.core.errors import StateError, visible
from activeeval.core.judgments.comparisons import Truth
from activeeval.core.judgments.judging import ByComparisons, Judging
from activeeval.core.judgments.log import Event
from activeeval.core.judgments.policies import POLICIES
from activeeval.core.pool.keyed import Qrels
from activeeval.core.pool.texts import Texts
from activeeval.core.results import Caution, Note, Told
from activeeval.core.types import Floats
from activeeval.formats.comparisons import write_truth
from activeeval.formats.sampled_note import remove_sampled_note, write_sampled_note
from activeeval.formats.suffixes import TABLES, PathLike, bare_suffix
from activeeval.formats.tables.export import write_columns
from activeeval.formats.text.trec import Prels, write_prels, write_qrels
from activeeval.formats.writing import write_atomically
from activeeval.report.message_lookup import text_of
from activeeval.report.printable import PrintableResult
from activeeval.report.rendering import Cell

_TEXTS = ("query_id", "doc_id", "query", "docid", "judge", "judge_kind", "note")
_NOTHING_COMPLETE = "no block is complete: the inclusion probabilities are not known yet; judge block 1 first"
_Weighted = tuple[int, Unit, int, str]
"""Round (from 0), unit of the round, item and item id."""
_METRICS = {"P": "precision", "DCG": "dcg", "nDCG": "dcg", "RR": "mean_reciprocal_rank", "R": "recall"}


def _qrels(state: CampaignState, store: Store, path: PathLike) -> list[Note]:
    """Write the grades of all judged items as TREC qrels; return notes on the content, the first about the file."""
    judged = sorted((pair, grade) for pair, grade in grades_of(state).items() if grade >= 0)
    rows = Qrels(
        Texts.from_list([query for (query, _), _ in judged]),
        Texts.from_list([doc for (_, doc), _ in judged]),
        np.array([grade for _, grade in judged], dtype=np.int64),
    )
    one_judge = state.campaign.judges_per_item == 1
    write_qrels(rows, path, "0" if one_judge else state.policy)  # second column: how judges' grades were combined
    return [Note("judgments written", {"n": len(judged)}), *state.campaign.judging.about_labels]


def _prels(state: CampaignState, store: Store, path: PathLike) -> list[Note]:
    """Write grades with inclusion probabilities (prels): of complete blocks, and of items known before; return notes.

    A block is a part of the sample; only at its end are the probabilities known. Raises StateError if no block is
    complete, or the campaign has several rounds (samples).
    """
    if state.block == 0:
        raise StateError(_NOTHING_COMPLETE)
    if len(state.rounds) > 1:
        raise StateError(
            "a campaign of several rounds has no single probability for each item: export `weights` instead"
        )
    campaign = state.sample.campaign
    known, probs, pool = campaign.design.known, item_probabilities(campaign, state.level), campaign.design.pool
    block = np.full(pool.n_items, state.n_blocks + 1)  # items outside the sample have a block after the last
    for unit in campaign.units:
        block[list(unit.items)] = campaign.block_of(unit)
    graded, grades = grades_of(state), np.where(known >= 0, known, -1)
    for unit in campaign.units:
        grades[list(unit.items)] = [graded.get((unit.query_id, doc), -1) for doc in unit.item_ids]
    rows = np.flatnonzero((grades >= 0) & ((known >= 0) | (block <= state.block)))
    # how judges' grades were combined, as the file's number of a method: 0 if an item has one judge
    method = 0 if state.campaign.judges_per_item == 1 else POLICIES.index(state.policy)
    queries, docs = pool.query_texts[pool.item_queries[rows]], pool.item_texts[rows]
    write_prels(Prels(queries, docs, grades[rows], np.full(rows.size, method, dtype=np.int64), probs[rows]), path)
    n_known, n_later = int((known >= 0).sum()), int((grades >= 0).sum()) - rows.size  # n_later: not written
    n_new = rows.size - n_known
    notes = [Note("judgments of complete blocks", {"n": n_new, "last": state.block, "n_known": n_known})]
    numbers: dict[str, Told] = {"n": n_later}
    is_whole = state.block == state.n_blocks
    left_out = Note("asked beyond left out", numbers) if is_whole else Note("later blocks left out", numbers)
    notes += [left_out] if n_later else []
    return [*notes, *([] if method == 0 else [Note("policies by number", {"policies": POLICIES[1:]})])]


def _line(event: Event) -> str:
    """Encode an event as a JSON line, without its idempotency key; empty fields become null."""
    values = {field.name: getattr(event, field.name) for field in fields(event) if field.name != "key"}
    record = {name: None if value in ("", {}) else value for name, value in values.items()}
    return json.dumps(record, ensure_ascii=False, sort_keys=True)


def _jsonl(state: CampaignState, store: Store, path: PathLike) -> list[Note]:
    """Write the log as JSON, one event a line; return a note with their number."""
    events = state.log
    with write_atomically(path) as handle:
        handle.writelines(f"{_line(event)}\n" for event in events)
    return [Note("events written", {"n": len(events)})]


def _csv(state: CampaignState, store: Store, path: PathLike) -> list[Note]:
    """Write the judgments as a table for spreadsheets; return notes on the content."""
    return _table(state.campaign.judging, state, path)


@singledispatch
def _table(judging: Judging, state: CampaignState, path: PathLike) -> list[Note]:
    """Write a row for each judge's judgment of each item; return notes on the content.

    For comparisons another function is registered, which writes ranks.
    """
    events = sorted((pair, e.judge, e) for pair, by_judge in state.judgments_by_item.items() for e in by_judge.values())
    rows = [event for *_, event in events]
    columns: dict[str, Any] = {
        name: [getattr(e, name) or None for e in rows] for name in ("query_id", "doc_id", "judge")
    }
    columns["grade"] = ["cannot" if e.grade is None else str(e.grade) for e in rows]
    columns["judge"] = [judge and visible(judge) for judge in columns["judge"]]
    columns["note"] = ["\n".join(map(visible, (e.reason or e.note).splitlines())) or None for e in rows]
    if any(e.machine for e in rows):
        columns["judge_kind"] = ["machine" if e.machine else "person" for e in rows]
    columns |= {"seq": np.array([e.seq for e in rows], dtype=np.int64), "at": np.array([e.at for e in rows])}
    _write_table(columns, path)
    n_cannot = sum(e.grade is None for e in rows)
    cannot = [Note("rows without a grade", {"n": n_cannot})] if n_cannot else []
    return [Note("judgments by judge", {"n": len(rows) - n_cannot}), *cannot]


@_table.register
def _(judging: ByComparisons, state: CampaignState, path: PathLike) -> list[Note]:
    """Write the resulting order of each completed query, in the format that `activeeval estimate` and `score` read."""
    events = {query: event for (query, _), by_judge in state.judgments_by_item.items() for event in by_judge.values()}
    truths = {query: Truth.from_parts(event.body) for query, event in sorted(events.items()) if event.kind == "judged"}
    write_truth(truths, path)
    return [Note("truths written", {"n": len(truths)})]


def _weights(state: CampaignState, store: Store, path: PathLike) -> list[Note]:
    """Write unit, block, level, inclusion probability, importance weight and grade of each item of the sample.

    The weight is the query's probability divided by the inclusion probability. A unit holds items that are judged
    together, a block is a part of the sample, and the level is the position in the judging order. With adaptive depth
    (labels decide what comes next) only items of complete blocks are written, as the other probabilities are not yet
    known. Return notes on the content.

    Raises
    ------
    StateError
        If the campaign has adaptive depth and no block is complete.
    """
    if state.batch and state.block == 0:
        raise StateError(_NOTHING_COMPLETE)
    # rows: (round from 0, unit, item, item id); by_round: probability of each item of the pool
    pool, n_later, rows, by_round = state.sample.campaign.design.pool, 0, list[_Weighted](), list[Floats]()
    for k, sample in enumerate(state.rounds):
        campaign, units = sample.campaign, list(sample.campaign.units)
        # with adaptive depth, the level where the last complete block ends
        level = None if campaign.paths is None else campaign.complete_block[1]
        by_round.append(item_probabilities(campaign, level))
        inside = units if level is None else [unit for unit in units if unit.level < level]
        n_later += sum(len(unit.items) for unit in units) - sum(len(unit.items) for unit in inside)
        rows += [(k, u, item, doc) for u in inside for item, doc in zip(u.items, u.item_ids, strict=True)]
    grades = [round_grades(sample.campaign) for sample in state.rounds]
    probs = np.array([by_round[k][item] for k, _, item, _ in rows])
    owners = pool.item_queries[[item for _, _, item, _ in rows]]
    units = [unit for _, unit, *_ in rows]
    _write_table(
        {
            "query_id": [unit.query_id for unit in units],
            "doc_id": [doc for *_, doc in rows],
            "round": np.array([k + 1 for k, *_ in rows], dtype=np.int64),
            "unit": np.array([unit.number for unit in units], dtype=np.int64),
            "block": np.array([state.rounds[k].campaign.block_of(unit) for k, unit, *_ in rows], dtype=np.int64),
            "level": np.array([unit.level for unit in units], dtype=np.float64),
            "query_prob": pool.query_probs[owners],
            "inclusion_prob": probs,
            "importance_weight": pool.query_probs[owners] / probs,
            "grade": [_shown(grades[k].get(item)) for k, _, item, _ in rows],
        },
        path,
    )
    n_known = int((state.rounds[0].campaign.design.known >= 0).sum())
    without = [Note("known grades left out", {"n": n_known})] if n_known else []
    without += [Note("asked beyond left out", {"n": n_later})] if n_later else []
    return [Note("weights written", {"n": len(rows)}), *without]


def _write_table(columns: Mapping[str, Any], path: PathLike) -> None:
    """Write columns as a table in the format of the file's suffix, CSV by default."""
    suffix = bare_suffix(path)
    write_columns(columns, path, suffix=suffix if suffix in TABLES else ".csv")


def _shown(grade: int | None) -> str | None:
    """Format a grade for the table of weights: "cannot" for −1 (cannot be judged), None if the item is not judged."""
    return "cannot" if grade == -1 else None if grade is None else str(grade)


def _quepid(state: CampaignState, store: Store, path: PathLike) -> list[Note]:
    """Write the ratings of a Quepid case: ``query,docid,rating``, with ids for missing query texts; return notes."""
    texts = {unit.query_id: unit.query_text or unit.query_id for unit in store.units(state.campaign.name)}
    judged = sorted((pair, grade) for pair, grade in grades_of(state).items() if grade >= 0)
    queries = {query for (query, _), _ in judged}
    n_shared = len(queries) - len({texts[query] for query in queries})
    shared = [Note("queries of one text", {"n": n_shared})] if n_shared else []
    columns = {
        # without control characters, which Quepid would treat as part of the query
        "query": [visible(texts[query]) for (query, _), _ in judged],
        "docid": [visible(doc) for (_, doc), _ in judged],
        "rating": [str(grade) for _, grade in judged],
    }
    _write_table(columns, path)
    return [Note("ratings written", {"n": len(judged)}), *shared, *state.campaign.judging.about_labels]


def _rank_eval(state: CampaignState, store: Store, path: PathLike) -> list[Note]:
    """Write a ``_rank_eval`` request for Elasticsearch and OpenSearch, which score judged documents; return notes."""
    texts = {unit.query_id: unit.query_text or unit.query_id for unit in store.units(state.campaign.name)}
    ratings: dict[str, list[dict[str, Any]]] = {}
    for (query, doc), grade in sorted(grades_of(state).items()):
        if grade >= 0:
            ratings.setdefault(query, []).append({"_index": "INDEX", "_id": doc, "rating": grade})
    requests = [
        {"id": query, "request": {"query": {"query_string": {"query": texts[query]}}}, "ratings": rated}
        for query, rated in ratings.items()
    ]
    with write_atomically(path) as handle:
        json.dump({"requests": requests, "metric": _metric(state)}, handle, ensure_ascii=False, indent=1)
        handle.write("\n")
    measure = str(state.sample.campaign.design.target.measure)
    return [Note("request written", {"n": len(requests)}), Note("nearest metric", {"measure": measure})]


def _metric(state: CampaignState) -> Mapping[str, Mapping[str, int | None]]:
    """Choose the ``_rank_eval`` metric nearest to the measure, in the engines' format; of 10 ranks without a cutoff."""
    target = state.sample.campaign.design.target  # the first question
    name, k = str(target.measure).split("(")[0].split("@")[0], target.measure.cutoff or 10
    if name == "ERR":
        return {"expected_reciprocal_rank": {"maximum_relevance": target.measure.max_grade, "k": k}}
    metric = _METRICS.get(name, "dcg")
    return {metric: {"k": k} | ({"normalize": name == "nDCG"} if metric == "dcg" else {})}


FORMATS: dict[str, Callable[[CampaignState, Store, PathLike], list[Note]]] = {
    "qrels": _qrels,
    "prels": _prels,
    "jsonl": _jsonl,
    "csv": _csv,
    "weights": _weights,
    "quepid": _quepid,
    "rank-eval": _rank_eval,
}
"""Export formats; the format of a table follows from the suffix of the file's name."""


_UNWEIGHTED = ("qrels", "csv", "quepid")
"""Formats with judgments but without weights, which could be mistaken for complete judgments."""


def _beside(state: CampaignState, form: str, path: PathLike) -> list[Note]:
    """Write a file next to an export of judgments, which warns that they are those of a sample without weights.

    Return the same as a note. For other formats (``form``), or if the whole pool was judged, remove such a file and
    return no note.
    """
    if form not in _UNWEIGHTED or not state.rounds or _is_complete(state):
        remove_sampled_note(path)
        return []
    name = state.campaign.name
    instead = f"activeeval campaign estimate {name}"
    write_sampled_note(path, f"campaign {name}, as of event {state.as_of}", instead)
    return [Note("judgments of a sample", {"instead": instead})]


def _is_complete(state: CampaignState) -> bool:
    """Check whether each item of the pool was known before or is judged, also as impossible to judge."""
    first = state.rounds[0].campaign
    n_known = int((first.design.known >= 0).sum())
    return n_known + len(grades_of(state)) >= first.design.pool.n_items


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ExportResult(PrintableResult):
    """Result of an export.

    Attributes
    ----------
    as_of : int
        Number of the last event that was exported.
    content : Note
        Content of the file.
    notes : tuple of Note or Caution
        Further remarks and warnings.
    text : str
        Text of the export if no file is named, else empty.
    """

    as_of: int
    content: Note
    notes: tuple[Note | Caution, ...]
    text: str = ""

    @property
    def sentences(self) -> list[str]:
        """Content of the export and each note, as one sentence each."""
        return [f"As of event {self.as_of}: {text_of(self.content)}.", *(f"{text_of(note)}." for note in self.notes)]

    def rows(self) -> list[dict[str, Cell]]:
        """Parse the exported table (csv, weights or quepid) into rows; only for an export without a file."""
        rows = csv.DictReader(StringIO(self.text))
        return [{name: cell if name in _TEXTS else _cell(cell) for name, cell in row.items()} for row in rows]


def _cell(text: str) -> Cell:
    """Parse a cell of an export: a number, a text, or None if it is empty."""
    try:
        return int(text) if text.lstrip("-").isdecimal() else float(text)
    except ValueError:
        return text or None


def exported(
    store: Store, name: str, form: str, path: PathLike | None = None, as_of: int | None = None
) -> ExportResult:
    """Write a campaign up to event ``as_of`` in a format of `FORMATS`; without a path, the result holds the text."""
    if path is not None:
        return export(store, name, form, path, as_of)
    with tempfile.TemporaryDirectory() as folder:
        whole = f"{folder}/{form}.csv"
        return replace(export(store, name, form, whole, as_of), text=Path(whole).read_text("utf-8"))


def export(store: Store, name: str, form: str, path: PathLike, as_of: int | None = None) -> ExportResult:
    """Write a campaign in one of `FORMATS`.

    Parameters
    ----------
    form : str
        Key of `FORMATS`.
    path : path
        File to write.
    as_of : int, optional
        Number of the last event to use; by default the log's last.

    Raises
    ------
    InputError
        If there is no such event, the file cannot be written, or an id is not allowed in the format.
    StateError
        If the sample does not support the format yet.
    """
    is_of_log = form in ("jsonl", "csv")  # needs no sample, which a campaign of comparisons lacks
    state = CampaignState.of(store, name).refresh(store, as_of) if is_of_log else state_of(store, name, as_of)
    content, *notes = FORMATS[form](state, store, path)  # writes the file; the first note is about its content
    notes += _beside(state, form, path)
    if state.campaign.judges_per_item > 1 and not is_of_log:
        notes.append(Note("grade of judges", {"policy": state.policy, "n": state.campaign.judges_per_item}))
    return ExportResult(as_of=state.as_of, content=content, notes=(*notes, *state.machine_cautions))
