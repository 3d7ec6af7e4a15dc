"""Import judgments that arrive after the next night was drawn, and share them among nights with the same items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from activeeval.campaigns.import_judgments import ImportedFile, read_files
from activeeval.campaigns.store import JudgeAnswer, NightRow, Store
from activeeval.core.errors import InputError
from activeeval.core.judgments import Judgments
from activeeval.core.judgments.log import Event
from activeeval.formats.judgments.from_files import held_or_read
from activeeval.monitoring.judged_labels import by_night, n_waiting, record_of_step, state_of_step
from activeeval.monitoring.night_inputs import last_night
from activeeval.monitoring.night_outputs import ItemHistory, Pair, is_same_text
from activeeval.monitoring.settings import Settings

Answers = dict[str, Event]
"""The valid answers about an item, by judge."""


def import_sheets(
    store: Store,
    name: str,
    paths: Sequence[str] | Mapping[str, str | Judgments],
    judge: str | None = None,
    *,
    machine_is_truth: bool = False,
) -> list[tuple[NightRow, ImportedFile]]:
    """Store sheets in the nights for which they were written, other files in the last night; on an error store nothing.

    Return each file's result with the step (sample of a night) that received it. A night is a dated run of the watched
    index.

    Parameters
    ----------
    paths : sequence of str, or mapping of str to str or Judgments
        Files; or by display name, files or judgments in memory.
    judge : str, optional
        Name of the judge, for files that name none.
    machine_is_truth : bool
        Accept graders' grades in the files as labels.

    Raises
    ------
    InputError
        If the watch has no night, a file cannot be read or does not fit its night, or a sheet is of no night of the
        watch.
    """
    last, rows = last_night(store, name), store.watches.nights(name)
    steps = {sample.digest: row for row in rows for sample in store.samples(row.campaign)}  # by id of the sample
    of_step: dict[str, dict[str, str | Judgments]] = {}  # sources by name, by date of the step that receives them
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
    """A step of a night (one drawn sample): its row in the store, its drawn items, and their answers by judge.

    A night is a dated run of the watched index.
    """

    row: NightRow
    drawn: set[Pair]
    answers: dict[Pair, Answers] = field(default_factory=dict)

    @classmethod
    def of(cls, store: Store, row: NightRow, judges_per_item: int) -> _Step:
        """Load the drawn items of a step (one drawn sample), and the judges' answers about them."""
        drawn = {(unit.query_id, place.doc_id) for unit in store.units(row.campaign) for place in unit.places}
        step = cls(row, drawn)
        for by_judge in state_of_step(store, row, judges_per_item).judgments.values():
            for judge, event in by_judge.items():
                step.answers.setdefault((event.query_id, event.doc_id), {})[judge] = event
        return step


def share_labels(store: Store, name: str, *, is_corrected: bool = False) -> dict[str, int]:
    """Copy judgments of an item to every other night (a dated run) of watch `name` with the same item in the same text.

    An item that is unjudged when the next night is drawn may be drawn again. Whichever night is judged first, the other
    one gets the judgment too, by the same judge.

    Parameters
    ----------
    is_corrected : bool
        Also copy a judge's later correction, if no item is unjudged any more.

    Returns
    -------
    dict of str to int
        Number of judgments copied to each step, without zeros.
    """
    rows, n_judges = store.watches.nights(name), Settings.of(store.watches.get(name).config).judges_per_item
    current_drawings = {steps[0].drawing for steps in by_night(rows)}  # first samples of nights, the last if redrawn
    if not is_corrected and not any(n_waiting(store, row) for row in rows if row.drawing in current_drawings):
        return {}
    steps = [_Step.of(store, row, n_judges) for row in rows]
    records: dict[str, Mapping[Pair, ItemHistory]] = {}

    def of_step(pair: Pair, step: _Step) -> ItemHistory | None:
        """Look up the history of an item in the record of a step; None if the step has none."""
        if step.row.date not in records:
            records[step.row.date] = record_of_step(store, name, step.row).histories
        return records[step.row.date].get(pair)

    shared: dict[str, int] = {}
    for step in steps:
        if step.row.drawing not in current_drawings:  # a replaced drawing is not used any more
            continue
        by_judge: dict[str, list[tuple[str, str, JudgeAnswer]]] = {}  # rows (query, document, answer)
        for pair in sorted(step.drawn):
            present = step.answers.get(pair, {})
            others = [source for source in steps if source is not step and pair in source.answers]
            newest = _newest(pair, present, [o for o in others if is_same_text(of_step(pair, step), of_step(pair, o))])
            for judge, event in newest.items():
                if judge in present or len(present) < n_judges:
                    by_judge.setdefault(judge, []).append((*pair, _answer_of(event)))
        if by_judge:
            stored = store.record_all(step.row.campaign, list(by_judge.items()))
            n = sum(not answer.is_repeated for answers in stored for answer in answers)
            shared |= {step.row.date: n} if n else {}
    return shared


def _newest(pair: Pair, present: Answers, others: Sequence[_Step]) -> Answers:
    """Find, for each judge of an item, the newest answer in `others` that is later than the current one and differs.

    `present` has the current answers in the receiving step (a sample of a night), by judge; `others` are the other
    steps with an answer about the item `pair`. Judges without such an answer are left out.
    """
    newest: Answers = {}
    for source in others:
        for judge, event in source.answers[pair].items():
            current = newest.get(judge) or present.get(judge)
            if current is None or (
                (event.at, event.seq) > (current.at, current.seq) and _answer_of(event) != _answer_of(current)
            ):
                newest[judge] = event
    return newest


def _answer_of(event: Event) -> JudgeAnswer:
    """Convert an event of the log to the judge's answer that it records."""
    answer = JudgeAnswer(kind=event.kind, grade=event.grade, reason=event.reason)
    return answer.of_machine(event.machine)
