"""Judgments that come by files: a sheet of what waits goes out, sheets and judgments of many forms come in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from activeeval.campaign.labels import WHOLE
from activeeval.errors import InputError
from activeeval.io.comparisons import holds_truths, truths_of
from activeeval.io.files import bare_suffix
from activeeval.io.judged import JudgedRow, read_judged
from activeeval.io.judges import judge_name
from activeeval.io.loading import load_grades
from activeeval.io.tables.draws import CANNOT, EMPTY, TEXTS, Draws, read_draws_if_any, write_draws
from activeeval.io.tables.sheets import TABLES, read_sheet
from activeeval.pool.texts import Texts
from activeeval.store import Acknowledged, PlaceRow, Said, Store, UnitRow
from activeeval.tasks.campaigns.standing import Standing, standing
from activeeval.tasks.ranked_sheets import check_held

Row = dict[str, Any]
Answer = tuple[str, str, Said, str | None, int | None]


def write_batch(store: Store, name: str, path: str, most: int | None = None, judge: str | None = None) -> Row:
    """Write the sheet of what waits in the lowest block that is not complete; return its name, block and size.

    Parameters
    ----------
    judge : str, optional
        Whose sheet it is: it has his name, and nothing that he has judged already. Needed where items have several
        judges.

    Raises
    ------
    InputError
        Where nothing waits, or the campaign does not take sheets.
    """
    found = standing(store, name)
    _check_takes_sheets(found, judge)
    waits = found.waiting - {place for place, own in found.state.judgments.items() if judge in own}
    rows = [(u, p) for u in store.units(name) for p in u.places if (u.number, p.doc_id) in waits]
    if not rows:
        done = "all is judged" if judge is None else f"all is judged, or waits for others than {judge}"
        raise InputError(f"campaign {name}: nothing waits, {done}")
    block = rows[0][0].block
    rows = [row for row in rows if row[0].block == block][:most]
    write_draws(_sheet(store.samples(name)[-1].digest, rows, judge or ""), path, texts=_texts(rows))
    return {"sheet": path, "items": len(rows), "block": block, "as_of": found.as_of}


def _check_takes_sheets(found: Standing, judge: str | None) -> None:
    row = found.campaign
    if row.config.get("top_k") is not None:
        raise InputError(f"campaign {row.name}: queries are judged by comparisons, which `campaign label` asks for")
    if row.by_level:
        raise InputError(f"campaign {row.name}: goes strictly by level: items are claimed one at a time, not by sheets")
    if judge is None and row.judges_per_item > 1:
        raise InputError(
            f"campaign {row.name}: each item has {row.judges_per_item} judges: say with --judge whose sheet it is"
        )


def _sheet(sample: str, rows: Sequence[tuple[UnitRow, PlaceRow]], judge: str) -> Draws:
    return Draws(
        sample=sample,
        block=np.array([unit.block for unit, _ in rows], dtype=np.int64),
        query_id=Texts.from_list([unit.query_id for unit, _ in rows]),
        doc_id=Texts.from_list([place.doc_id for _, place in rows]),
        grade=np.full(len(rows), EMPTY, dtype=np.int64),
        judge=Texts.from_list([judge] * len(rows)),
    )


def _texts(rows: Sequence[tuple[UnitRow, PlaceRow]]) -> dict[str, list[str]]:
    columns = {"query": [unit.query_text for unit, _ in rows]}
    columns |= {name: [place.text.get(name, "") for _, place in rows] for name in TEXTS if name != "query"}
    return {name: words for name, words in columns.items() if any(words)}


def take_files(
    store: Store, name: str, paths: Sequence[str], judge: str | None = None, *, keep_foreign: bool = False
) -> list[Row]:
    """Store the judgments of files, all of them or none; return what became of each.

    Parameters
    ----------
    keep_foreign : bool
        Keep also judgments of items that were never drawn, as events that do not count. Of a file with the judgments
        of a whole collection these are nearly all.

    Returns
    -------
    list of dict
        By file how many judgments were ``stored``, how many of them ``replaced`` an earlier one, how many were
        ``repeated``, by reason how many are kept and do not count, ``late``, and how many are of items that were never
        drawn and are not kept, ``foreign``.

    Raises
    ------
    InputError
        Where a file cannot be read, is the sheet of another sample, names no judge while none is given, or grades an
        item twice.
    """
    campaign, units = store.campaign(name), store.units(name)
    k = campaign.config.get("top_k")
    docs = {u.query_id: [doc for place in u.places for doc in place.members] for u in units}
    drawn = _Drawn([row.digest for row in store.samples(name)], units, campaign.max_grade)
    # nothing is stored where one cannot be read
    read = {path: _answers(path, drawn, judge) if k is None else _truths(path, docs, k, judge) for path in paths}
    kept = read if keep_foreign else {path: _of_units(by_judge, units) for path, by_judge in read.items()}
    parts = [(path, who, said) for path, by_judge in kept.items() for who, said in by_judge.items()]
    stored = store.record_all(name, [(who, said) for _, who, said in parts])
    done: dict[str, list[Acknowledged]] = {path: [] for path in read}
    for (path, *_), own in zip(parts, stored, strict=True):
        done[path] += own
    n_read = {path: sum(map(len, by_judge.values())) for path, by_judge in read.items()}
    return [{"file": path, **_counts(own), "foreign": n_read[path] - len(own)} for path, own in done.items()]


def _of_units(by_judge: Mapping[str, list[Answer]], units: Sequence[UnitRow]) -> dict[str, list[Answer]]:
    """Return what is said of items that were drawn; nothing of a judge who says nothing of any."""
    drawn = {(unit.query_id, place.doc_id) for unit in units for place in unit.places}
    kept = {who: [answer for answer in said if answer[:2] in drawn] for who, said in by_judge.items()}
    return {who: said for who, said in kept.items() if said}


def _counts(done: Sequence[Acknowledged]) -> Row:
    fresh = [one.event for one in done if not one.is_repeated]
    late = Counter(event.reason for event in fresh if event.kind == "late")
    return {
        "stored": len(fresh) - late.total(),
        "replaced": sum(event.supersedes is not None for event in fresh),
        "repeated": len(done) - len(fresh),
        "late": dict(late),
    }


class _Drawn:
    """What sheets and tables may be about: the samples, the units of each item, and queries by their texts."""

    def __init__(self, samples: Sequence[str], units: Sequence[UnitRow], max_grade: int | None) -> None:
        self.samples, self.max_grade = samples, max_grade
        self.units = {(u.query_id, place.doc_id, u.block): u.number for u in units for place in u.places}
        self.ids = {u.query_id for u in units}
        self._by_text: dict[str, set[str]] = {}
        for unit in units:
            self._by_text.setdefault(unit.query_text, set()).add(unit.query_id)

    def query(self, place: str, named: str) -> str:
        """Return the id of a query that is named by its text, or by its id."""
        found = (self._by_text.get(named, set()) | (self.ids & {named})) if named else set()
        if len(found) > 1:
            ids = ", ".join(sorted(found))
            raise InputError(f"{place}: the query {named!r} is the text of several ({ids}), expected their ids")
        return found.pop() if found else named


def _answers(path: str, drawn: _Drawn, judge: str | None) -> dict[str, list[Answer]]:
    """Return what each judge says in a file."""
    found: dict[str, dict[tuple[str, str, int | None], Said]] = {}
    for place, row, unit in _rows(path, drawn):
        name = judge_name(row.judge) or judge
        if name is None:
            raise InputError(f"{place}: names no judge: say with --judge whose judgments they are")
        if drawn.max_grade is not None and row.grade > drawn.max_grade:
            raise InputError(f"{place}: the grade {row.grade} is above the largest of the scale, {drawn.max_grade}")
        is_grade = row.grade != CANNOT
        said = Said(kind="judged", grade=row.grade) if is_grade else Said(kind="cannot", reason=row.reason)
        own = found.setdefault(name, {})
        if own.setdefault((row.query, row.doc, unit), said) != said:
            raise InputError(f"{place}: item {row.doc!r} of query {row.query!r} has two grades of {name!r}")
    if not found:
        raise InputError(f"{path}: holds no grade yet")
    return {
        who: [(query, doc, said, None, unit) for (query, doc, unit), said in own.items()] for who, own in found.items()
    }


def _truths(path: str, docs: Mapping[str, list[str]], k: int, judge: str | None) -> dict[str, list[Answer]]:
    """Return what a table of ranks says of queries that are judged as a whole."""
    sheet = read_sheet(path).plainly_named()
    if not holds_truths(sheet):
        raise InputError(f"{path}: holds no ranks, expected a table of query, rank and doc_id")
    if judge is None:
        raise InputError(f"{path}: names no judge: say with --judge whose judgments they are")
    found = truths_of(sheet)
    for query, truth in found.items():
        check_held(path, query, truth, docs, k)
    bodies = {query: {name: list(part) for name, part in truth._asdict().items()} for query, truth in found.items()}
    return {judge: [(query, WHOLE, Said(kind="judged", body=body), None, None) for query, body in bodies.items()]}


def _rows(path: str, drawn: _Drawn) -> Iterable[tuple[str, JudgedRow, int | None]]:
    """Yield the place, what is said there, and of which unit, where the file knows, of all that a file says."""
    sheet = read_draws_if_any(path)
    if sheet is not None:
        yield from _sheet_rows(path, sheet, drawn)
    elif bare_suffix(path) in TABLES:
        rows, by_text = read_judged(path)
        for row in rows:
            query = drawn.query(row.place, row.query) if by_text else row.query
            yield row.place, row._replace(query=query), None
    else:
        told = load_grades(path)
        columns = (told.query_ids.tolist(), told.doc_ids.tolist(), told.grades.tolist())
        for query, doc, grade in zip(*columns, strict=True):
            if grade >= 0:
                yield path, JudgedRow(path, query, doc, grade, "", ""), None


def _sheet_rows(path: str, sheet: Draws, drawn: _Drawn) -> Iterable[tuple[str, JudgedRow, int | None]]:
    if sheet.sample not in drawn.samples:
        raise InputError(f"{path}: the sheet is of sample {sheet.sample!r}, expected one of {', '.join(drawn.samples)}")
    columns = (sheet.query_id, sheet.doc_id, sheet.grade, sheet.judge, sheet.note)
    for k, (query, doc, grade, who, note) in enumerate(zip(*(one.tolist() for one in columns), strict=True)):
        place, unit = sheet.place(path, k), drawn.units.get((query, doc, int(sheet.block[k])))
        if unit is None:
            where = f"{place}: item {doc!r} of query {query!r} is not in block {sheet.block[k]} of the campaign"
            raise InputError(f"{where}; did a spreadsheet change an id?")
        if grade != EMPTY:
            yield place, JudgedRow(place, query, doc, grade, who, note or "as the sheet says"), unit
