"""Import judgments from files: sheets and judgments of many formats.

Only rows of the campaign are read here, because loading what estimates need would delay each import.
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
"""Maximum number of sample ids in a message: each top-up, round and batch adds one."""
WHY = "as the file says"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedFile:
    """Summary of the imported judgments of a file.

    Attributes
    ----------
    file : str
        Path or name of the source.
    stored, cannot : int
        Number of grades stored, and of items stored as impossible to judge.
    replaced, repeated : int
        How many of these replaced an earlier answer of the judge, and how many judgments were stored already.
    late : dict of str to int
        Number of judgments that were kept but do not count, by reason.
    foreign : int
        Number of judgments of items that were never drawn, which were not kept.
    of_machines : int
        Number of judgments by graders (LLMs or other models) left out, because they are not labels.
    truth_of_machines : int
        Number of graders' judgments now stored as labels; estimates of the campaign carry a warning.
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
        """Warning about judgments of graders (LLMs or other models) that are stored as labels, if there are any."""
        return [truth_of_machines(self.file, self.truth_of_machines)] if self.truth_of_machines else []

    def sentence(self, keep: str = "`keep_foreign`") -> str:
        """Summarize the import in a sentence; ``keep`` names the option that keeps judgments of items never drawn."""
        parts = [f"{counted(self.stored, 'judgment')} stored"]
        parts += [f"{counted(self.cannot, 'item')} cannot be judged"] if self.cannot else []
        parts += [f"{self.replaced} of them in place of earlier ones"] if self.replaced else []
        parts += [f"{self.repeated} were there already"] if self.repeated else []
        parts += [f"{n} kept without counting ({why})" for why, n in self.late.items()]
        parts += [f"{self.foreign} of items never drawn left out ({keep})"] if self.foreign else []
        parts += [f"{self.of_machines} of graders left out, which are not labels"] if self.of_machines else []
        return f"{self.file}: {', '.join(parts)}"

    @classmethod
    def of(cls, file: str, n_read: int, done: Sequence[Acknowledged], of_machines: int = 0) -> Self:
        """Summarize ``n_read`` judgments of a file, of which the store acknowledged those (``done``) of drawn items.

        ``of_machines`` counts judgments of graders (LLMs or other models) that were left out.
        """
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
    """Result of importing judgments; ``files`` has the summary of each source."""

    files: tuple[ImportedFile, ...]

    @property
    def sentences(self) -> list[str]:
        """One sentence for each source."""
        return [f"{file.sentence()}." for file in self.files]

    def rows(self) -> list[dict[str, Cell]]:
        """Build a row for each source, as the command line prints it."""
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
    """Import the judgments of files, all of them or none; return a summary for each file.

    Parameters
    ----------
    paths : sequence of str, or mapping of str to file or Judgments
        Files. The keys of a mapping name its sources in messages.
    judge : str, optional
        The judge of judgments that name none.
    keep_foreign : bool
        Also keep judgments of items that were never drawn, as events that do not count. In a file with the judgments of
        a whole collection nearly all are of such items.
    machine_is_truth : bool
        Accept judgments by graders (LLMs or other models) as labels; each of these events is marked.

    Raises
    ------
    InputError
        If a file cannot be read, is the sheet of another sample, names no judge and none is given, grades an item
        twice, or has only graders' judgments that are not accepted.
    """
    parsed = read_files(store, name, paths, judge, keep_foreign=keep_foreign, machine_is_truth=machine_is_truth)
    return parsed.stored()


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedFiles:
    """Judgments of files, parsed and checked for a campaign but not yet stored.

    Attributes
    ----------
    campaign : str
        Name of the campaign.
    parts : sequence of (str, str, list)
        File, judge and the judge's answers.
    unjudged : sequence of Unjudged
        Items of sheets that came back without an answer.
    n_read, of_machines : mapping of str to int
        By file: number of answers, and of graders' answers left out.
    """

    store: Store
    campaign: str
    parts: Sequence[tuple[str, str, list[Answer]]]
    unjudged: Sequence[Unjudged]
    n_read: Mapping[str, int]
    of_machines: Mapping[str, int]

    def stored(self) -> list[ImportedFile]:
        """Store all answers or none; return a summary for each file."""
        stored = self.store.record_all(self.campaign, [(by, answers) for _, by, answers in self.parts], self.unjudged)
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
    """Parse and check the judgments of files without storing them; raise InputError as `take_files` does.

    ``paths`` are files, or sources by name; ``judge`` gave the judgments that name no judge. ``keep_foreign`` keeps
    those of items never drawn, ``machine_is_truth`` accepts grades of graders (LLMs or other models) as labels.
    """
    campaign, units = store.campaign(name), store.units(name)
    drawn = _CampaignUnits([row.digest for row in store.samples(name)], units, campaign.max_grade)
    drawn.machine_is_truth = machine_is_truth
    drawn.sources = paths if isinstance(paths, Mapping) else {}
    # parse all files first: nothing is stored if one of them cannot be read
    unjudged: list[Unjudged] = []
    by_file = {path: _answers(campaign.judging, path, drawn, judge, unjudged) for path in paths}
    retained = by_file if keep_foreign else {path: _of_units(by_judge, units) for path, by_judge in by_file.items()}
    return ParsedFiles(
        store=store,
        campaign=name,
        parts=[(path, who, answers) for path, by_judge in retained.items() for who, answers in by_judge.items()],
        unjudged=unjudged,
        n_read={path: sum(map(len, by_judge.values())) for path, by_judge in by_file.items()},
        of_machines=drawn.of_machines,
    )


def _of_units(by_judge: Mapping[str, list[Answer]], units: Sequence[UnitRow]) -> dict[str, list[Answer]]:
    """Keep the answers (query, document, …) to items that were drawn, by judge; judges without any are left out."""
    drawn = {(unit.query_id, place.doc_id) for unit in units for place in unit.places}
    in_sample = {who: [answer for answer in answers if answer[:2] in drawn] for who, answers in by_judge.items()}
    return {who: answers for who, answers in in_sample.items() if answers}


class _CampaignUnits:
    """Data of a campaign for checking imports, and settings of the import."""

    def __init__(self, samples: Sequence[str], units: Sequence[UnitRow], max_grade: int | None) -> None:
        """Index the stored units (items judged together); ``samples`` are the ids of the sample's versions.

        ``docs`` has the documents of each query that is judged as a whole; ``units`` maps (query, document, block) to
        the number of the unit. ``max_grade`` is the largest grade, None if any is allowed.
        """
        self.samples, self.max_grade = samples, max_grade
        self.of_machines: dict[str, int] = {}  # number of answers of graders (models) left out, by file
        self.machine_is_truth = False
        self.sources: Mapping[str, str | Judgments] = {}  # sources by name; other names are paths
        self.docs = {u.query_id: [doc for place in u.places for doc in place.members] for u in units}
        self.units = {(u.query_id, place.doc_id, u.block): u.number for u in units for place in u.places}
        self.ids = {u.query_id for u in units}
        self._by_text: dict[str, set[str]] = {}
        for unit in units:
            self._by_text.setdefault(unit.query_text, set()).add(unit.query_id)

    def read(self, path: str) -> Judgments:
        """Read a source's judgments.

        A judge of unstated kind is a grader (model) if these are accepted, else a person.
        """
        return held_or_read(
            self.sources.get(path, path), kind="machine" if self.machine_is_truth else "person", is_plain=True
        )

    def query(self, place: str, named: str) -> str:
        """Find the id of a query that is named by id or text, else return ``named``.

        Raises InputError, which begins with ``place`` (a line of the file), if a text is that of several queries.
        """
        meant = (self._by_text.get(named, set()) | (self.ids & {named})) if named else set()
        if len(meant) > 1:
            ids = ", ".join(sorted(meant))
            raise InputError(
                f"{place}: the query {named!r} is the text of several queries ({ids}), expected one of these ids"
            )
        return meant.pop() if meant else named

    def placed(self, judgments: Judgments) -> Iterator[tuple[int, Judgment, int | None]]:
        """Yield (row, judgment, unit) for each judgment with a grade or a reason for none.

        The unit (number of the items judged together) is None if the file does not name blocks (parts of the sample).
        For a sheet, items that still wait are included. Raises InputError if it is the sheet of another sample, an item
        is not in its block, or a query's text is ambiguous.
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
        """Find the unit with an item of a block (part of the sample); raise InputError, for line ``place``, if none."""
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
    """Parse a file of grades into answers by judge; for comparisons, a file of ranks.

    ``drawn`` has the campaign's units and the settings of the import, ``judge`` gave the judgments that name none. A
    sheet's items without an answer are added to ``unjudged``. Raises InputError if the file has no grades (or ranks) or
    only those of graders (models), names no judge, grades an item twice, or has a grade above the largest.
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
            raise InputError(f"{place}: names no judge: give one with `judge`", field="judge")
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
    # without idempotency keys (None)
    return {
        who: [(query, doc, answer, None, unit) for (query, doc, unit), answer in by_item.items()]
        for who, by_item in answers.items()
    }


@_answers.register
def _(
    judging: ByComparisons, path: str, drawn: _CampaignUnits, judge: str | None, unjudged: list[Unjudged]
) -> dict[str, list[Answer]]:
    """Parse a file of ranks into answers by judge (``judge`` where none is named), each the order of one query."""
    from activeeval.sampling.ranked_sheets import check_held

    judgments = drawn.read(path)
    if not judgments.holds("truth"):
        judgments.refuse("a table of query, rank and doc_id")
    answers: dict[str, list[Answer]] = {}
    for (who, query), truth in judgments.truths_by_judge().items():
        name = who.name or judge
        if name is None:
            raise InputError(f"{path}: names no judge: give one with `judge`", field="judge")
        check_held(path, query, truth, drawn.docs, judging.k)
        body = {part: list(names) for part, names in truth._asdict().items()}
        answer = JudgeAnswer(kind="judged", body=body).of_machine(path if who.is_machine else "")
        answers.setdefault(name, []).append((query, WHOLE, answer, None, None))  # WHOLE: all documents of the query
    return answers
