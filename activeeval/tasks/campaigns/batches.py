"""Judgments that come by files: a sheet of what waits goes out, sheets and judgments of many forms come in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, singledispatch
from typing import Self

import numpy as np

from activeeval.errors import FormatError, InputError, raise_all
from activeeval.io.tables.draws import EMPTY, TEXTS, Draws
from activeeval.io.tables.grades import allowed
from activeeval.io.writing import Together
from activeeval.judgments import Judgment, Judgments, read
from activeeval.judgments.judging import WHOLE, ByComparisons, Judging
from activeeval.judgments.sharing import Item, shared_out
from activeeval.pool.texts import Texts
from activeeval.store import Acknowledged, Chosen, OpenPlace, PlaceRow, Said, Store, UnitRow, Unjudged
from activeeval.tasks.campaigns.over_time import date_of
from activeeval.tasks.campaigns.state import CampaignState, state_of
from activeeval.tasks.ranked_sheets import check_held
from activeeval.tasks.sheets import SheetPlan, write_rows

Answer = tuple[str, str, Said, str | None, int | None]
WHY = "as the file says"


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenSheet:
    """A sheet that was written: its name, whose it is, its number of items, their lowest block, and as of which event.

    Attributes
    ----------
    sheet : str
    judge : str or None
        None where whoever brings it back is its judge.
    items : int
    block : int or None
        None where nothing is on it.
    as_of : int
    until : int
        When its items are anybody's again: UTC, microseconds.
    """

    sheet: str
    judge: str | None
    items: int
    block: int | None
    as_of: int
    until: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenFile:
    """What became of the judgments of a file.

    Attributes
    ----------
    file : str
    stored, replaced, repeated : int
        Judgments that were stored, how many of them in place of an earlier one, and those that were there already.
    late : dict of str to int
        By reason how many are kept and do not count.
    foreign : int
        Those of items that were never drawn and are not kept.
    """

    file: str
    stored: int
    replaced: int
    repeated: int
    late: Mapping[str, int]
    foreign: int

    @classmethod
    def of(cls, file: str, n_read: int, done: Sequence[Acknowledged]) -> Self:
        """Count what the store says of as many judgments as were read from a file."""
        fresh = [acknowledged.event for acknowledged in done if not acknowledged.is_repeated]
        late = Counter(event.reason for event in fresh if event.kind == "late")
        return cls(
            file=file,
            stored=len(fresh) - late.total(),
            replaced=sum(event.supersedes is not None for event in fresh),
            repeated=len(done) - len(fresh),
            late=dict(late),
            foreign=n_read - len(done),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """How much a batch is, and for how long its items are its judge's.

    Attributes
    ----------
    seconds : int
    most : int or None
        Items for each judge.
    ahead : bool
        Of any block, and not of the lowest one alone that is not complete.
    """

    seconds: int = 3 * 86_400
    most: int | None = None
    ahead: bool = False


def write_batches(store: Store, name: str, plan: SheetPlan, lease: Lease | None = None) -> list[WrittenSheet]:
    """Write the sheets of what waits, and lend it to their judges; return each with its block, size and lease.

    Parameters
    ----------
    plan : SheetPlan
        Whose sheets they are: they have their names, and nothing that they have judged already or that is lent to
        others. Needed where items have several judges; without a name whoever brings a sheet back is its judge.

    Raises
    ------
    InputError
        Where nothing waits that is free, or the campaign does not take sheets.
    """
    lease, state = lease or Lease(), state_of(store, name)
    _check_takes_sheets(state, plan.judges)
    plan = plan.checked().guided(state.campaign.max_grade)
    judges = plan.judges or ("",)
    with Together() as files:
        lent, until = store.lend(name, judges, partial(_chosen, judges=judges, lease=lease), lease.seconds)
        if not lent:
            raise InputError(f"campaign {name}: {_nothing_free(store, name, plan.judges, lease)}")
        try:
            sizes = [
                _write_lent(store, name, path, files, judge, [place for place, who in lent if who == judge], plan)
                for path, judge in zip(plan.paths, judges, strict=True)
            ]
        except BaseException:
            store.take_back(name, lent, "no sheet could be written")
            raise
    as_of = store.last_seq(name)
    return [
        WrittenSheet(sheet=path, judge=judge or None, items=n, block=block, as_of=as_of, until=until)
        for path, judge, (n, block) in zip(plan.paths, judges, sizes, strict=True)
    ]


def _write_lent(
    store: Store, name: str, path: str, files: Together, judge: str, lent: Sequence[OpenPlace], plan: SheetPlan
) -> tuple[int, int | None]:
    """Write what is lent to a judge; return how many items that is, and their lowest block."""
    held = {(unit.number, place.doc_id): (unit, place) for unit in store.units(name) for place in unit.places}
    rows = [held[place.unit, place.doc_id] for place in lent]
    write_rows(_sheet(store.samples(name)[-1].digest, rows), path, files, judge, _texts(rows), plan.guide)
    return len(rows), min((unit.block for unit, _ in rows), default=None)


def _chosen(there: Sequence[OpenPlace], judges: Sequence[str], lease: Lease) -> Chosen:
    """Return what each judge gets of what is open: of the lowest block in which something waits for any of them."""
    waits = [place for place in there if any(judge not in place.judges for judge in judges)]
    lowest = min((place.block for place in waits), default=0)
    free: dict[tuple[int, int, str], list[OpenPlace]] = {}
    for place in waits:
        if place.is_free and (lease.ahead or place.block == lowest):
            free.setdefault((place.block, place.unit, place.doc_id), []).append(place)
    first: dict[tuple[int, str], int] = {}
    for (block, unit, _), places in free.items():
        first.setdefault((block, places[0].query_id), unit)
    items = sorted(free.values(), key=lambda places: (places[0].block, first[places[0].block, places[0].query_id]))
    wanted = [Item(places[0].block, places[0].query_id, len(places), places[0].judges) for places in items]
    taken = [
        (place, judge)
        for places, whose in zip(items, shared_out(wanted, judges), strict=True)
        for place, judge in zip(places, whose, strict=False)
    ]
    return [pair for judge in judges for pair in [each for each in taken if each[1] == judge][: lease.most]]


def _nothing_free(store: Store, name: str, judges: Sequence[str], lease: Lease) -> str:
    """Return why there is nothing for a sheet."""
    state = state_of(store, name)
    waits = state.waiting - {place for place, by in state.state.judgments.items() if judges and {*judges} <= {*by}}
    if not waits:
        return "nothing waits, all is judged" + (f", or waits for others than {', '.join(judges)}" if judges else "")
    hands = [held for held in state.state.assigned if held.state in ("leased", "lent")]
    lowest = min(state.state.blocks[unit] for unit, _ in waits)
    there = [held for held in hands if lease.ahead or held.block == lowest]
    who = ", ".join(sorted({held.judge or "nobody by name" for held in there}))
    until = max((held.lease_until or 0 for held in there), default=0)
    where = "of all that waits" if lease.ahead else f"of what waits in block {lowest}"
    beyond = "" if lease.ahead or lowest == state.n_blocks else "; `ahead` goes beyond it"
    return f"nothing is free {where}: {len(there)} items are with {who} until {date_of(until)[:16]}Z{beyond}"


def _check_takes_sheets(state: CampaignState, judges: Sequence[str]) -> None:
    row = state.campaign
    row.judging.check_sheets(row.name)
    if row.strict_order:
        raise InputError(f"campaign {row.name}: goes strictly by level: items are claimed one at a time, not by sheets")
    if not judges and row.judges_per_item > 1:
        raise InputError(
            f"campaign {row.name}: each item has {row.judges_per_item} judges: say with `judge` whose sheet it is",
            field="judge",
        )


def _sheet(sample: str, rows: Sequence[tuple[UnitRow, PlaceRow]]) -> Draws:
    return Draws(
        sample=sample,
        block=np.array([unit.block for unit, _ in rows], dtype=np.int64),
        query_id=Texts.from_list([unit.query_id for unit, _ in rows]),
        doc_id=Texts.from_list([place.doc_id for _, place in rows]),
        grade=np.full(len(rows), EMPTY, dtype=np.int64),
    )


def _texts(rows: Sequence[tuple[UnitRow, PlaceRow]]) -> dict[str, list[str]]:
    columns = {"query": [unit.query_text for unit, _ in rows]}
    columns |= {name: [place.text.get(name, "") for _, place in rows] for name in TEXTS if name != "query"}
    return {name: words for name, words in columns.items() if any(words)}


def take_files(
    store: Store, name: str, paths: Sequence[str], judge: str | None = None, *, keep_foreign: bool = False
) -> list[TakenFile]:
    """Store the judgments of files, all of them or none; return what became of each.

    Parameters
    ----------
    keep_foreign : bool
        Keep also judgments of items that were never drawn, as events that do not count. Of a file with the judgments
        of a whole collection these are nearly all.

    Raises
    ------
    InputError
        Where a file cannot be read, is the sheet of another sample, names no judge while none is given, or grades an
        item twice.
    """
    campaign, units = store.campaign(name), store.units(name)
    drawn = _Drawn([row.digest for row in store.samples(name)], units, campaign.max_grade)
    # nothing is stored where one cannot be read
    unjudged: list[Unjudged] = []
    by_file = {path: _answers(campaign.judging, path, drawn, judge, unjudged) for path in paths}
    kept = by_file if keep_foreign else {path: _of_units(by_judge, units) for path, by_judge in by_file.items()}
    parts = [(path, who, answers) for path, by_judge in kept.items() for who, answers in by_judge.items()]
    stored = store.record_all(name, [(who, answers) for _, who, answers in parts], unjudged)
    done: dict[str, list[Acknowledged]] = {path: [] for path in by_file}
    for (path, *_), events in zip(parts, stored, strict=True):
        done[path] += events
    n_read = {path: sum(map(len, by_judge.values())) for path, by_judge in by_file.items()}
    return [TakenFile.of(path, n_read[path], events) for path, events in done.items()]


def _of_units(by_judge: Mapping[str, list[Answer]], units: Sequence[UnitRow]) -> dict[str, list[Answer]]:
    """Return the answers of items that were drawn; nothing of a judge who has none of any."""
    drawn = {(unit.query_id, place.doc_id) for unit in units for place in unit.places}
    kept = {who: [answer for answer in answers if answer[:2] in drawn] for who, answers in by_judge.items()}
    return {who: answers for who, answers in kept.items() if answers}


class _Drawn:
    """What sheets and tables may be about: the samples, the units of each item, and queries by their texts."""

    def __init__(self, samples: Sequence[str], units: Sequence[UnitRow], max_grade: int | None) -> None:
        self.samples, self.max_grade = samples, max_grade
        self.docs = {u.query_id: [doc for place in u.places for doc in place.members] for u in units}
        self.units = {(u.query_id, place.doc_id, u.block): u.number for u in units for place in u.places}
        self.ids = {u.query_id for u in units}
        self._by_text: dict[str, set[str]] = {}
        for unit in units:
            self._by_text.setdefault(unit.query_text, set()).add(unit.query_id)

    def query(self, place: str, named: str) -> str:
        """Return the id of a query that is named by its text, or by its id."""
        meant = (self._by_text.get(named, set()) | (self.ids & {named})) if named else set()
        if len(meant) > 1:
            ids = ", ".join(sorted(meant))
            raise InputError(f"{place}: the query {named!r} is the text of several ({ids}), expected their ids")
        return meant.pop() if meant else named

    def placed(self, judgments: Judgments) -> Iterator[tuple[int, Judgment, int | None]]:
        """Yield the row of each judgment that has a grade or says why not, and its unit where the file knows.

        Of a sheet also what waits.

        Raises
        ------
        InputError
            Where it is the sheet of another sample, or holds an item that its block does not.
        """
        if judgments.sample and judgments.sample not in self.samples:
            known = ", ".join(self.samples)
            raise InputError(
                f"{judgments.source}: the sheet is of sample {judgments.sample!r}, expected one of {known}"
            )
        for row, judgment in enumerate(judgments):
            unit = None
            if judgments.blocks is not None:
                unit = self._unit(judgments.place(row), judgment, int(judgments.blocks[row]))
            is_on_sheet = judgment.kind == "waits" and unit is not None
            if is_on_sheet or judgment.kind == "cannot" or (judgment.kind == "grade" and judgment.value >= 0):
                if judgments.is_by_text:
                    judgment = replace(judgment, query=self.query(judgments.place(row), judgment.query))
                yield row, judgment, unit

    def _unit(self, place: str, judgment: Judgment, block: int) -> int:
        """Return the unit of an item of a sheet's block."""
        unit = self.units.get((judgment.query, judgment.item, block))
        if unit is None:
            where = (
                f"{place}: item {judgment.item!r} of query {judgment.query!r} is not in block {block} of the campaign"
            )
            raise InputError(f"{where}; did a spreadsheet change an id?")
        return unit


@singledispatch
def _answers(
    judging: Judging, path: str, drawn: _Drawn, judge: str | None, unjudged: list[Unjudged]
) -> dict[str, list[Answer]]:
    """Return what each judge says in a file of grades, and add what came back on a sheet without one.

    Of queries that are judged as a whole, in a file of ranks.
    """
    judgments = read(path)
    if not judgments.is_of_grades:
        judgments.refuse("grades")
    answers: dict[str, dict[tuple[str, str, int | None], Said]] = {}
    wrong: list[FormatError] = []
    for row, judgment, unit in drawn.placed(judgments):
        name, place, grade = judgment.judge.name or judge, judgments.place(row), judgment.value
        if judgment.kind == "waits":
            unjudged.append(Unjudged(name or "", judgment.query, judgment.item, unit))
            continue
        if name is None:
            raise InputError(f"{place}: names no judge: say with `judge` whose judgments they are", field="judge")
        if judgment.judge.is_machine:
            raise InputError(f"{place}: {name!r} is a machine, whose judgments are no labels")
        if drawn.max_grade is not None and grade > drawn.max_grade:
            line = judgments.places[row] if judgments.has_lines and judgments.places is not None else None
            above = f"the grade {grade} is above the largest of the scale, expected {allowed(drawn.max_grade)}"
            wrong.append(FormatError(path, line, above))
            continue
        is_grade = judgment.kind == "grade"
        answer = Said(kind="judged", grade=grade) if is_grade else Said(kind="cannot", reason=judgment.reason or WHY)
        by_item = answers.setdefault(name, {})
        if by_item.setdefault((judgment.query, judgment.item, unit), answer) != answer:
            item = f"item {judgment.item!r} of query {judgment.query!r}"
            raise InputError(f"{place}: {item} has two grades of {name!r}")
    raise_all(wrong)
    if not answers:
        raise InputError(f"{path}: holds no grade yet")
    return {
        who: [(query, doc, answer, None, unit) for (query, doc, unit), answer in by_item.items()]
        for who, by_item in answers.items()
    }


@_answers.register
def _(
    judging: ByComparisons, path: str, drawn: _Drawn, judge: str | None, unjudged: list[Unjudged]
) -> dict[str, list[Answer]]:
    judgments = read(path)
    if not judgments.holds("truth"):
        judgments.refuse("a table of query, rank and doc_id")
    answers: dict[str, list[Answer]] = {}
    for (who, query), truth in judgments.truths_by_judge().items():
        name = who.name or judge
        if name is None:
            raise InputError(f"{path}: names no judge: say with `judge` whose judgments they are", field="judge")
        check_held(path, query, truth, drawn.docs, judging.k)
        body = {part: list(names) for part, names in truth._asdict().items()}
        answers.setdefault(name, []).append((query, WHOLE, Said(kind="judged", body=body), None, None))
    return answers
