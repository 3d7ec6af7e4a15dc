"""Judgments that come back after the next night was drawn: they count for all nights that ask for the item."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from activeeval.campaigns.import_judgments import ImportedFile, read_files
from activeeval.campaigns.store import JudgeAnswer, NightRow, Store
from activeeval.core.errors import InputError
from activeeval.core.judgments import Judgments
from activeeval.core.judgments.log import Event
from activeeval.formats.judgments.from_files import held_or_read
from activeeval.monitoring.judged_labels import by_night, folded, left_by, n_waiting
from activeeval.monitoring.night_inputs import last_night
from activeeval.monitoring.night_outputs import ItemHistory, Pair, is_same_text
from activeeval.monitoring.settings import Settings

Answers = dict[str, Event]
"""What stands of an item, by judge."""


def take_sheets(
    store: Store,
    name: str,
    paths: Sequence[str] | Mapping[str, str | Judgments],
    judge: str | None = None,
    *,
    machine_is_truth: bool = False,
) -> list[tuple[NightRow, ImportedFile]]:
    """Store sheets in the nights that they were drawn for, and other files in the last one: all of them or none.

    Raises
    ------
    InputError
        As `activeeval.campaigns.import_judgments.take_files`, and where a sheet is of no night of the watch.
    """
    last, rows = last_night(store, name), store.watches.nights(name)
    steps = {sample.digest: row for row in rows for sample in store.samples(row.campaign)}
    of_step: dict[str, dict[str, str | Judgments]] = {}
    sources = paths if isinstance(paths, Mapping) else dict(zip(paths, paths, strict=True))
    for path, source in sources.items():
        kind = "machine" if machine_is_truth else "person"
        sample = held_or_read(source, kind=kind, is_plain=True).sample
        if sample and sample not in steps:
            problem = f"the sheet is of no night of watch {name}, expected one that `watch night {name}` has written"
            raise InputError(f"{path}: {problem}")
        of_step.setdefault(steps[sample].date if sample else last.date, {})[path] = source
    reads = [
        (row, read_files(store, row.campaign, of_step[row.date], judge, machine_is_truth=machine_is_truth))
        for row in rows
        if row.date in of_step
    ]
    return [(row, file) for row, files in reads for file in files.stored()]


@dataclass(slots=True)
class _Step:
    """A step of a night: the items that it asks for, and what stands of them."""

    row: NightRow
    asked: set[Pair]
    answers: dict[Pair, Answers] = field(default_factory=dict)

    @classmethod
    def of(cls, store: Store, row: NightRow, judges_per_item: int) -> _Step:
        asked = {(unit.query_id, place.doc_id) for unit in store.units(row.campaign) for place in unit.places}
        step = cls(row, asked)
        for by_judge in folded(store, row, judges_per_item).judgments.values():
            for judge, event in by_judge.items():
                step.answers.setdefault((event.query_id, event.doc_id), {})[judge] = event
        return step


def share_labels(store: Store, name: str, *, is_corrected: bool = False) -> dict[str, int]:
    """Let what a night's judges say count for every other night that asks for the same item in the same text.

    An item that waits when the next night is drawn may be asked for again. Whichever night is judged first, the other
    one takes the judgment over, by the same judge.

    Parameters
    ----------
    is_corrected : bool
        Take over a judge's later correction too, where nothing waits any more.

    Returns
    -------
    dict of str to int
        How many judgments each step has taken over, of those that have.
    """
    rows, n_judges = store.watches.nights(name), Settings.of(store.watches.get(name).config).judges_per_item
    drawings = {steps[0].drawing for steps in by_night(rows)}
    if not is_corrected and not any(n_waiting(store, row) for row in rows if row.drawing in drawings):
        return {}
    steps = [_Step.of(store, row, n_judges) for row in rows]
    held: dict[str, Mapping[Pair, ItemHistory]] = {}

    def of_step(pair: Pair, step: _Step) -> ItemHistory | None:
        if step.row.date not in held:
            held[step.row.date] = left_by(store, name, step.row).held
        return held[step.row.date].get(pair)

    shared: dict[str, int] = {}
    for step in steps:
        if step.row.drawing not in drawings:  # nobody reads it any more
            continue
        taken: dict[str, list[tuple[str, str, JudgeAnswer]]] = {}
        for pair in sorted(step.asked):
            there = step.answers.get(pair, {})
            others = [other for other in steps if other is not step and pair in other.answers]
            newest = _newest(pair, there, [o for o in others if is_same_text(of_step(pair, step), of_step(pair, o))])
            for judge, event in newest.items():
                if judge in there or len(there) < n_judges:
                    taken.setdefault(judge, []).append((*pair, _said(event)))
        if taken:
            done = store.record_all(step.row.campaign, list(taken.items()))
            n = sum(not answer.is_repeated for answers in done for answer in answers)
            shared |= {step.row.date: n} if n else {}
    return shared


def _newest(pair: Pair, there: Answers, others: Sequence[_Step]) -> Answers:
    """Find by judge the newest answer of other steps that says something else, later than what is there."""
    newest: Answers = {}
    for other in others:
        for judge, event in other.answers[pair].items():
            stands = newest.get(judge) or there.get(judge)
            if stands is None or ((event.at, event.seq) > (stands.at, stands.seq) and _said(event) != _said(stands)):
                newest[judge] = event
    return newest


def _said(event: Event) -> JudgeAnswer:
    said = JudgeAnswer(kind=event.kind, grade=event.grade, reason=event.reason)
    return said.of_machine(event.machine)
