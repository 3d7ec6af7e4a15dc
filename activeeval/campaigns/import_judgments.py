"""Judgments that come by files: sheets and judgments of many forms come in.

Whoever brings a sheet back does not wait for what estimates need: nothing of a campaign is read here but its rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import singledispatch
from typing import Self

from activeeval.campaigns.store import Acknowledged, JudgeAnswer, Store, UnitRow, Unjudged
from activeeval.core.errors import FormatError, InputError, raise_all
from activeeval.core.judgments import Judgment, Judgments
from activeeval.core.judgments.judging import WHOLE, ByComparisons, Judging
from activeeval.core.judgments.policies import refuse_as_labels, truth_of_machines
from activeeval.core.results import Caution
from activeeval.formats.judgments.from_files import held_or_read
from activeeval.formats.tables.grades import allowed
from activeeval.report.numbers import counted
from activeeval.report.printable import PrintableResult
from activeeval.report.rendering import Cell

Answer = tuple[str, str, JudgeAnswer, str | None, int | None]
_FEW = 4
"""Samples that a message names: there is one more of each top-up, round and batch."""
WHY = "as the file says"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedFile:
    """What became of the judgments of a file.

    Attributes
    ----------
    file : str
    stored, cannot : int
        Judgments that were stored, and items that cannot be judged.
    replaced, repeated : int
        How many of both took the place of an earlier answer, and how many were there already.
    late : dict of str to int
        By reason how many are kept and do not count.
    foreign : int
        Those of items that were never drawn and are not kept.
    of_machines : int
        Those of machines, which are no labels and are left out.
    truth_of_machines : int
        Those of machines that are taken for people's, and there now: estimates of the campaign say so.
    """

    file: str
    stored: int
    cannot: int
    replaced: int
    repeated: int
    late: Mapping[str, int]
    foreign: int
    of_machines: int = 0
    truth_of_machines: int = 0

    @property
    def notes(self) -> list[Caution]:
        """What is to be said of machines' judgments that are taken for people's."""
        return [truth_of_machines(self.file, self.truth_of_machines)] if self.truth_of_machines else []

    def sentence(self, keep: str = "`keep_foreign`") -> str:
        """Say what became of the file; ``keep`` is what keeps judgments of items that were never drawn."""
        parts = [f"{counted(self.stored, 'judgment')} stored"]
        parts += [f"{counted(self.cannot, 'item')} cannot be judged"] if self.cannot else []
        parts += [f"{self.replaced} of them in place of earlier ones"] if self.replaced else []
        parts += [f"{self.repeated} were there already"] if self.repeated else []
        parts += [f"{n} kept that do not count ({why})" for why, n in self.late.items()]
        parts += [f"{self.foreign} of items never drawn left out ({keep})"] if self.foreign else []
        parts += [f"{self.of_machines} of machines left out, which are no labels"] if self.of_machines else []
        return f"{self.file}: {', '.join(parts)}"

    @classmethod
    def of(cls, file: str, n_read: int, done: Sequence[Acknowledged], of_machines: int = 0) -> Self:
        """Count what the store says of as many judgments as were read from a file."""
        fresh = [acknowledged.event for acknowledged in done if not acknowledged.is_repeated]
        late = Counter(event.reason for event in fresh if event.kind == "late")
        cannot = sum(event.kind == "cannot" for event in fresh)
        return cls(
            file=file,
            stored=len(fresh) - late.total() - cannot,
            cannot=cannot,
            replaced=sum(event.supersedes is not None for event in fresh),
            repeated=len(done) - len(fresh),
            late=dict(late),
            foreign=n_read - len(done),
            of_machines=of_machines,
            truth_of_machines=sum(bool(acknowledged.event.machine) for acknowledged in done),
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ImportResult(PrintableResult):
    """What became of judgments that came in.

    Attributes
    ----------
    files : tuple of TakenFile
    """

    files: tuple[ImportedFile, ...]

    @property
    def sentences(self) -> list[str]:
        """What became of each source."""
        return [f"{file.sentence()}." for file in self.files]

    def rows(self) -> list[dict[str, Cell]]:
        """Return a row for each source, as the command line has it."""
        return [asdict(file) | {"late": sum(file.late.values())} for file in self.files]


def take_files(
    store: Store,
    name: str,
    paths: Sequence[str] | Mapping[str, str | Judgments],
    judge: str | None = None,
    *,
    keep_foreign: bool = False,
    machine_is_truth: bool = False,
) -> list[ImportedFile]:
    """Store the judgments of files, all of them or none; return what became of each.

    Parameters
    ----------
    paths : sequence of str, or mapping of str to file or Judgments
        The keys of a mapping are what messages call the sources.
    keep_foreign : bool
        Keep also judgments of items that were never drawn, as events that do not count. Of a file with the judgments
        of a whole collection these are nearly all.
    machine_is_truth : bool
        Take what machines say for people's; each of these events says so.

    Raises
    ------
    InputError
        Where a file cannot be read, is the sheet of another sample, names no judge while none is given, or grades an
        item twice.
    """
    read = read_files(store, name, paths, judge, keep_foreign=keep_foreign, machine_is_truth=machine_is_truth)
    return read.stored()


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedFiles:
    """What files say of a campaign, read and checked and not yet stored.

    Attributes
    ----------
    store : Store
    campaign : str
    parts : sequence of (str, str, list)
        By file and judge their answers.
    unjudged : sequence of Unjudged
        What came back without an answer.
    n_read, of_machines : mapping of str to int
        By file how many answers it has, and how many of machines are left out.
    """

    store: Store
    campaign: str
    parts: Sequence[tuple[str, str, list[Answer]]]
    unjudged: Sequence[Unjudged]
    n_read: Mapping[str, int]
    of_machines: Mapping[str, int]

    def stored(self) -> list[ImportedFile]:
        """Store all of it or nothing; return what became of each file."""
        stored = self.store.record_all(self.campaign, [(who, answers) for _, who, answers in self.parts], self.unjudged)
        done: dict[str, list[Acknowledged]] = {path: [] for path in self.n_read}
        for (path, *_), events in zip(self.parts, stored, strict=True):
            done[path] += events
        return [
            ImportedFile.of(path, self.n_read[path], events, self.of_machines.get(path, 0))
            for path, events in done.items()
        ]


def read_files(
    store: Store,
    name: str,
    paths: Sequence[str] | Mapping[str, str | Judgments],
    judge: str | None = None,
    *,
    keep_foreign: bool = False,
    machine_is_truth: bool = False,
) -> ParsedFiles:
    """Read the judgments of files for a campaign; else as `take_files`."""
    campaign, units = store.campaign(name), store.units(name)
    drawn = _CampaignUnits([row.digest for row in store.samples(name)], units, campaign.max_grade)
    drawn.machine_is_truth = machine_is_truth
    drawn.sources = paths if isinstance(paths, Mapping) else {}
    # nothing is stored where one cannot be read
    unjudged: list[Unjudged] = []
    by_file = {path: _answers(campaign.judging, path, drawn, judge, unjudged) for path in paths}
    kept = by_file if keep_foreign else {path: _of_units(by_judge, units) for path, by_judge in by_file.items()}
    return ParsedFiles(
        store=store,
        campaign=name,
        parts=[(path, who, answers) for path, by_judge in kept.items() for who, answers in by_judge.items()],
        unjudged=unjudged,
        n_read={path: sum(map(len, by_judge.values())) for path, by_judge in by_file.items()},
        of_machines=drawn.of_machines,
    )


def _of_units(by_judge: Mapping[str, list[Answer]], units: Sequence[UnitRow]) -> dict[str, list[Answer]]:
    """Return the answers of items that were drawn; nothing of a judge who has none of any."""
    drawn = {(unit.query_id, place.doc_id) for unit in units for place in unit.places}
    kept = {who: [answer for answer in answers if answer[:2] in drawn] for who, answers in by_judge.items()}
    return {who: answers for who, answers in kept.items() if answers}


class _CampaignUnits:
    """What sheets and tables may be about: the samples, the units of each item, and queries by their texts."""

    def __init__(self, samples: Sequence[str], units: Sequence[UnitRow], max_grade: int | None) -> None:
        self.samples, self.max_grade = samples, max_grade
        self.of_machines: dict[str, int] = {}
        self.machine_is_truth = False
        self.sources: Mapping[str, str | Judgments] = {}
        self.docs = {u.query_id: [doc for place in u.places for doc in place.members] for u in units}
        self.units = {(u.query_id, place.doc_id, u.block): u.number for u in units for place in u.places}
        self.ids = {u.query_id for u in units}
        self._by_text: dict[str, set[str]] = {}
        for unit in units:
            self._by_text.setdefault(unit.query_text, set()).add(unit.query_id)

    def read(self, path: str) -> Judgments:
        """Return the judgments of a source; where a machine is taken for truth, what names no kind is a machine's."""
        return held_or_read(
            self.sources.get(path, path), kind="machine" if self.machine_is_truth else "person", is_plain=True
        )

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
            known = ", ".join(self.samples if len(self.samples) <= _FEW else (*self.samples[:_FEW], "…"))
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
    judging: Judging, path: str, drawn: _CampaignUnits, judge: str | None, unjudged: list[Unjudged]
) -> dict[str, list[Answer]]:
    """Return what each judge says in a file of grades, and add what came back on a sheet without one.

    Of queries that are judged as a whole, in a file of ranks.
    """
    judgments = drawn.read(path)
    if not judgments.is_of_grades:
        judgments.refuse("grades")
    if not drawn.machine_is_truth:
        if len(judgments) and not judgments.is_of_people.any():
            refuse_as_labels(path)
        drawn.of_machines[path] = int((~judgments.is_of_people).sum())
        judgments = judgments.where(judgments.is_of_people) if drawn.of_machines[path] else judgments
    answers: dict[str, dict[tuple[str, str, int | None], JudgeAnswer]] = {}
    wrong: list[FormatError] = []
    for row, judgment, unit in drawn.placed(judgments):
        name, place, grade = judgment.judge.name or judge, judgments.place(row), judgment.value
        if judgment.kind == "waits":
            unjudged.append(Unjudged(name or "", judgment.query, judgment.item, unit))
            continue
        if name is None:
            raise InputError(f"{place}: names no judge: say with `judge` whose judgments they are", field="judge")
        if drawn.max_grade is not None and grade > drawn.max_grade:
            line = judgments.places[row] if judgments.has_lines and judgments.places is not None else None
            above = f"the grade {grade} is above the largest of the scale, expected {allowed(drawn.max_grade)}"
            wrong.append(FormatError(path, line, above))
            continue
        is_grade, why = judgment.kind == "grade", judgment.reason or WHY
        answer = JudgeAnswer(kind="judged", grade=grade) if is_grade else JudgeAnswer(kind="cannot", reason=why)
        answer = answer.of_machine(path if judgment.judge.is_machine else "")
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
    judging: ByComparisons, path: str, drawn: _CampaignUnits, judge: str | None, unjudged: list[Unjudged]
) -> dict[str, list[Answer]]:
    from activeeval.sampling.ranked_sheets import check_held

    judgments = drawn.read(path)
    if not judgments.holds("truth"):
        judgments.refuse("a table of query, rank and doc_id")
    answers: dict[str, list[Answer]] = {}
    for (who, query), truth in judgments.truths_by_judge().items():
        name = who.name or judge
        if name is None:
            raise InputError(f"{path}: names no judge: say with `judge` whose judgments they are", field="judge")
        check_held(path, query, truth, drawn.docs, judging.k)
        body = {part: list(names) for part, names in truth._asdict().items()}
        answer = JudgeAnswer(kind="judged", body=body).of_machine(path if who.is_machine else "")
        answers.setdefault(name, []).append((query, WHOLE, answer, None, None))
    return answers
