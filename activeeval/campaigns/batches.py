"""Write the waiting items of a campaign to judging sheets and check the items out to the sheets' judges."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from activeeval.campaigns.assignments import draw_further
from activeeval.campaigns.estimates_over_time import date_of
from activeeval.campaigns.state import CampaignState, state_of
from activeeval.campaigns.store import Chosen, OnSheet, OpenPlace, PlaceRow, Store, UnitRow
from activeeval.core.errors import InputError
from activeeval.core.judgments.assignment_shares import Item, shared_out
from activeeval.core.judgments.judge_names import judge_name
from activeeval.core.pool.texts import Texts
from activeeval.formats.tables.draws import EMPTY, TEXTS, Draws, read_draws
from activeeval.formats.writing import AtomicFiles
from activeeval.report.numbers import agreeing, counted
from activeeval.sampling.sheets import SheetPlan, write_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenSheet:
    """A sheet that was written for a judge.

    Attributes
    ----------
    sheet : str
        Path of the file.
    judge : str or None
        None if the sheet has no judge yet: the person who returns it counts as its judge.
    items : int
        Number of items on the sheet.
    block : int or None
        Lowest block (part of the sample, from 1) of these items; None if the sheet is empty.
    as_of : int
        Number of the log's last event when the sheet was written.
    until : int
        When the items become free for other judges: UTC, microseconds.
    """

    sheet: str
    judge: str | None
    items: int
    block: int | None
    as_of: int
    until: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """Size of a sheet, and for how long its items are reserved for the sheet's judge.

    Attributes
    ----------
    seconds : int
        Duration of the reservation.
    most : int or None
        Maximum number of items for each judge; None for no limit.
    ahead : bool
        True to take items of any block (part of the sample); False to take only items of the lowest incomplete block.
    """

    seconds: int = 3 * 86_400
    most: int | None = None
    ahead: bool = False


def write_batches(store: Store, name: str, plan: SheetPlan, lease: Lease | None = None) -> list[WrittenSheet]:
    """Write a sheet of waiting items for each judge and check the items out to (reserve them for) these judges.

    If a sheet of this campaign is overwritten, the items that were checked out with it are returned first.

    Return one entry for each sheet, in the order of the plan.

    Parameters
    ----------
    name : str
        Name of the campaign.
    plan : SheetPlan
        Paths, judges, grade names and guidelines of the sheets. A judge's sheet has no item that this judge has judged
        and none that is reserved for others. Judges are required if items have several judges. Without judges, the
        person who returns a sheet counts as its judge.
    lease : Lease, optional
        Size of the sheets and duration of the reservations; by default three days, without a limit.

    Raises
    ------
    InputError
        If no waiting item is free, or the campaign does not support sheets.
    """
    lease, state = lease or Lease(), state_of(store, name)
    # with adaptive depth (labels decide which items come next) the drawn items need not be judged in order
    lease = replace(lease, ahead=True) if state.campaign.follows_labels else lease
    _check_takes_sheets(state, plan.judges)
    plan = plan.checked().guided(state.campaign.max_grade)
    judges = plan.judges or ("",)
    with AtomicFiles() as files:
        choose = partial(_chosen, judges=judges, lease=lease)
        replaced = _on_sheets(store, name, plan.paths)
        # (assignment, judge) pairs that are now checked out, and the end of the reservation (UTC microseconds)
        lent, until = store.lend(name, judges, choose, lease.seconds, replaced)
        # adaptive depth: labels may lead to further items, which are drawn only now
        while not lent and state.campaign.follows_labels and draw_further(store, name):
            lent, until = store.lend(name, judges, choose, lease.seconds)
        if not lent:
            raise InputError(f"campaign {name}: {_nothing_free(store, name, plan.judges, lease)}")
        try:
            contents = [  # number of items and their lowest block, for each sheet
                _write_lent(store, name, path, files, judge, [place for place, holder in lent if holder == judge], plan)
                for path, judge in zip(plan.paths, judges, strict=True)
            ]
        except BaseException:
            store.take_back(name, lent, "no sheet could be written")
            raise
    as_of = store.last_seq(name)
    return [
        WrittenSheet(sheet=path, judge=judge or None, items=n, block=block, as_of=as_of, until=until)
        for path, judge, (n, block) in zip(plan.paths, judges, contents, strict=True)
    ]


def _on_sheets(store: Store, name: str, paths: Sequence[str]) -> set[OnSheet]:
    """Read the (judge, query, document) rows of paths that are existing sheets of this campaign; skip other files.

    Each row is also listed with judge "", because it may have been checked out without a named judge.
    """
    samples = {sample.digest for sample in store.samples(name)}
    on_sheets: set[OnSheet] = set()
    for path in filter(os.path.exists, paths):
        try:
            sheet = read_draws(path)
        except InputError:
            continue
        if sheet.sample in samples:
            rows = zip(sheet.query_id.tolist(), sheet.doc_id.tolist(), sheet.judge.tolist(), strict=True)
            on_sheets.update((who, query, doc) for query, doc, judge in rows for who in ("", judge_name(judge)))
    return on_sheets


def _write_lent(
    store: Store, name: str, path: str, files: AtomicFiles, judge: str, lent: Sequence[OpenPlace], plan: SheetPlan
) -> tuple[int, int | None]:
    """Write one judge's checked-out items to a sheet.

    Return the number of items and their lowest block (part of the sample; None if there are no items).

    Parameters
    ----------
    name : str
        Name of the campaign.
    path : str
        Sheet to write, among the ``files`` that appear together at the end.
    judge : str
        Name of the judge; "" if the sheet has none yet.
    lent : sequence of OpenPlace
        The judge's assignments (needed judgments), in the order of the sheet's rows.
    plan : SheetPlan
        Guidelines and grade names of the sheets.
    """
    rows_by_place = {(unit.number, place.doc_id): (unit, place) for unit in store.units(name) for place in unit.places}
    rows = [rows_by_place[place.unit, place.doc_id] for place in lent]
    write_rows(_sheet(store.samples(name)[-1].digest, rows), path, files, judge, _texts(rows), plan.guide)
    return len(rows), min((unit.block for unit, _ in rows), default=None)


def _chosen(opened: Sequence[OpenPlace], judges: Sequence[str], lease: Lease) -> Chosen:
    """Share out open assignments (judgments that items still need) among judges; return (assignment, judge) pairs.

    They come from the lowest block (part of the sample) with work for any of these judges, or from all blocks with
    ``lease.ahead``. A judge gets at most ``lease.most``. Assignments in other hands (not ``is_free``) are not chosen,
    but count for the lowest block: later blocks must wait until they are answered.

    Parameters
    ----------
    opened : sequence of OpenPlace
        Assignments without an answer, in the order in which they are given out. Their ``judges`` are those who hold or
        have judged the item and cannot judge it again.
    judges : sequence of str
        Names; "" for a sheet without a named judge.
    """
    waiting = [place for place in opened if any(judge not in place.judges for judge in judges)]
    lowest = min((place.block for place in waiting), default=0)
    # free assignments by item (block, unit, document): several if the item needs several judges
    free: dict[tuple[int, int, str], list[OpenPlace]] = {}
    for place in waiting:
        if place.is_free and (lease.ahead or place.block == lowest):
            free.setdefault((place.block, place.unit, place.doc_id), []).append(place)
    # a query's items stay together in a block, at the position of the query's first unit (items judged together)
    first_units: dict[tuple[int, str], int] = {}
    for (block, unit, _), places in free.items():
        first_units.setdefault((block, places[0].query_id), unit)
    items = sorted(
        free.values(), key=lambda places: (places[0].block, first_units[places[0].block, places[0].query_id])
    )
    wanted = [Item(places[0].block, places[0].query_id, len(places), places[0].judges) for places in items]
    assigned = [
        (place, judge)
        for places, judges_of_item in zip(items, shared_out(wanted, judges), strict=True)
        for place, judge in zip(places, judges_of_item, strict=False)
    ]
    return [pair for judge in judges for pair in [each for each in assigned if each[1] == judge][: lease.most]]


def _nothing_free(store: Store, name: str, judges: Sequence[str], lease: Lease) -> str:
    """Explain in a sentence why no item is free for a sheet of these judges.

    ``lease.ahead`` is True if all blocks (parts of the sample) were considered, not only the lowest with waiting items.
    """
    state = state_of(store, name)
    # waiting items as (unit, document), without those that each of these judges has judged
    waiting = state.waiting - {place for place, by in state.state.judgments.items() if judges and {*judges} <= {*by}}
    if not waiting:
        return "no item waits, all are judged" + (
            f", or the rest waits for other judges than {', '.join(judges)}" if judges else ""
        )
    # needed judgments that judges hold: by a claim ("leased") or on a sheet ("checked_out")
    out = [item for item in state.state.assigned if item.state in ("leased", "checked_out")]
    lowest = min(state.state.blocks[unit] for unit, _ in waiting)
    in_hand = [item for item in out if lease.ahead or item.block == lowest]
    names = ", ".join(sorted({item.judge or "no named judge" for item in in_hand}))
    until = max((item.lease_until or 0 for item in in_hand), default=0)
    where = "of all waiting items" if lease.ahead else f"of the waiting items in block {lowest}"
    beyond = "" if lease.ahead or lowest == state.n_blocks else "; `ahead` takes items of later blocks"
    return (
        f"no item is free {where}: {counted(len(in_hand), 'item')} {agreeing(len(in_hand), 'is', 'are')} with {names} "
        f"until {date_of(until)[:16]}Z{beyond}"
    )


def _check_takes_sheets(state: CampaignState, judges: Sequence[str]) -> None:
    """Raise InputError if the campaign cannot be judged by sheets, or needs judges' names for them."""
    row = state.campaign
    row.judging.check_sheets(row.name)
    if row.strict_order:
        raise InputError(f"campaign {row.name}: it has strict order: items are claimed one at a time, not by sheets")
    if not judges and row.judges_per_item > 1:
        raise InputError(
            f"campaign {row.name}: each item has {row.judges_per_item} judges: name the sheet's judge with `judge`",
            field="judge",
        )


def _sheet(sample: str, rows: Sequence[tuple[UnitRow, PlaceRow]]) -> Draws:
    """Build a sheet's rows, with empty grades, for the given items.

    Parameters
    ----------
    sample : str
        Id of the sample, written to the sheet.
    rows : sequence of (UnitRow, PlaceRow)
        Each item, after the unit (items judged together) that contains it.
    """
    return Draws(
        sample=sample,
        block=np.array([unit.block for unit, _ in rows], dtype=np.int64),
        query_id=Texts.from_list([unit.query_id for unit, _ in rows]),
        doc_id=Texts.from_list([place.doc_id for _, place in rows]),
        grade=np.full(len(rows), EMPTY, dtype=np.int64),
    )


def _texts(rows: Sequence[tuple[UnitRow, PlaceRow]]) -> dict[str, list[str]]:
    """Collect the sheet's text columns that are not empty, by name; each has one text for each row."""
    columns = {"query": [unit.query_text for unit, _ in rows]}
    columns |= {name: [place.text.get(name, "") for _, place in rows] for name in TEXTS if name != "query"}
    return {name: words for name, words in columns.items() if any(words)}
