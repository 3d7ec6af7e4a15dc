"""Samples: drawn of a case, written beside a sheet for the judges, read again, asked and topped up."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from io import BytesIO
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from activeeval.core.campaign import Campaign
from activeeval.core.design import Design
from activeeval.core.design.methods import default_method, find_method
from activeeval.core.errors import BudgetError, InputError, StateError
from activeeval.core.judgments.judging import judging_of
from activeeval.core.judgments.policies import truth_of_machines
from activeeval.core.measures import SampledMeasure, Target
from activeeval.core.pool import Rankings
from activeeval.core.results import Caution, Estimate, Note, Told
from activeeval.formats.arrays import pack, write_arrays
from activeeval.formats.sample_file import (
    FILES,
    JUDGES,
    MACHINES,
    TEXTS,
    Arrays,
    beyond,
    id_of,
    lists_of,
    read_campaign,
    to_arrays,
    unpacked_campaign,
)
from activeeval.formats.sample_sheet import sheet_of
from activeeval.formats.writing import Together
from activeeval.inputs.budgets import Budget, check_open
from activeeval.inputs.case import Case
from activeeval.inputs.loading import ending_at, on_scale, sampled_measure
from activeeval.inputs.systems import Asked, asked_among, asked_of, check_differ
from activeeval.inputs.texts import TextFile, TextFiles
from activeeval.report.numbers import agreeing, counted
from activeeval.sampling.adaptive_depth import OF_SHEETS, DrawOptions, looks_in
from activeeval.sampling.sheets import SheetPlan, write_sheets

_FEW = 30
"""Below 30 judged queries the bias of a fitted estimate was measured up to .4 of its root mean squared error."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sample:
    """A campaign whose units stand on sheets.

    Attributes
    ----------
    campaign : Campaign
    questions : tuple of str
        What each of the targets asks: difference, run or versus.
    systems : tuple of str
        What the systems are called, in the order in which the targets name them; by default run 1, run 2 and on.
    earlier : tuple of str
        The ids of the samples that this one was topped up from.
    n_before : int
        How many units are on their sheets.
    depth : int or None
        The rank at which the lists were cut when it was drawn.
    seed : int or None
        What it was drawn with.
    model : str
        The grade model that it was drawn by.
    text_files : mapping of str to TextFile
        Where the texts came from that its judges read.
    truth_of_machines : sequence of (str, int)
        Files, with how many grades of machines in them were taken for people's; every estimate says so.
    judges : tuple of str
        Whose sheets were written with it, where there were several.
    files : dict or None
        Of a sample of a pool in files what was asked of these: `activeeval.sampling.draw_pool_files.FilesAsked.again`.
    """

    campaign: Campaign
    questions: tuple[str, ...]
    systems: tuple[str, ...] = ()
    earlier: tuple[str, ...] = ()
    n_before: int = 0
    depth: int | None = None
    seed: int | None = None
    model: str = ""
    text_files: TextFiles = field(default_factory=dict)
    truth_of_machines: tuple[tuple[str, int], ...] = ()
    judges: tuple[str, ...] = ()
    files: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        if not self.systems:
            n_lists = len(lists_of(self.campaign.design))
            object.__setattr__(self, "systems", tuple(f"run {k + 1}" for k in range(n_lists)))

    @property
    def is_contest(self) -> bool:
        """Whether it is of more than two systems."""
        return len(self.systems) > 2

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The query and the document of each row of the sheet of what is new."""
        return [(u.query_id, doc) for u in self.campaign.planned[self.n_before :] for doc in u.item_ids]

    def write(self, path: str, sheet: str | SheetPlan, texts: Mapping[str, Sequence[str]] | None = None) -> str:
        """Write the sample and the sheet of what is new, or one for each of several judges; return its id.

        All files or none: all are whole on the disk before the sample takes its name, and then the sheets.

        Parameters
        ----------
        sheet : str or SheetPlan
            Where it goes, and who judges it.
        texts : mapping of str to sequence of str, optional
            What the judges are to read, a text for each of `pairs`; it stands on the sheet alone.
        """
        named = replace(self, judges=sheet.judges if isinstance(sheet, SheetPlan) and len(sheet.judges) > 1 else ())
        arrays = named._arrays()
        with Together() as files:
            write_arrays(path, arrays, files)
            self._write_sheet(sheet, id_of(arrays), texts, files)
        return id_of(arrays)

    def write_alone(self, path: str) -> str:
        """Write the sample in the place of itself, whose sheets are there; return its id."""
        arrays = self._arrays()
        with Together() as files:
            write_arrays(path, arrays, files)
        return id_of(arrays)

    def write_sheet(
        self, sheet: str | SheetPlan, sample_id: str, texts: Mapping[str, Sequence[str]] | None = None
    ) -> None:
        """Write the sheet of what is new, the same bytes whenever it is written; it names the sample by its id."""
        with Together() as files:
            self._write_sheet(sheet, sample_id, texts, files)

    def _write_sheet(
        self, sheet: str | SheetPlan, sample_id: str, texts: Mapping[str, Sequence[str]] | None, files: Together
    ) -> None:
        plan = SheetPlan(path=sheet) if isinstance(sheet, str) else sheet
        is_graded = self.campaign.judging.has_grades
        plan = plan.checked(grades=is_graded).guided(self.campaign.design.max_grade if is_graded else None)
        write_sheets(sheet_of(self.campaign, sample_id, self.n_before), plan, files, texts)

    def packed(self, base: Arrays | None = None) -> tuple[str, bytes]:
        """Return the id of the sample and the bytes that `unpacked_sample` makes it of again.

        Parameters
        ----------
        base : mapping of str to ndarray, optional
            What a sample that it goes on with was packed of: only what is different is packed.
        """
        arrays, content = self._arrays(), BytesIO()
        pack(arrays if base is None else beyond(arrays, base), content)
        return id_of(arrays), content.getvalue()

    def _arrays(self) -> dict[str, NDArray[Any]]:
        beside = {"questions": np.array(self.questions), "earlier": np.array([self.n_before, *self.earlier], np.str_)}
        numbers = {"depth": self.depth, "seed": self.seed}
        if self.text_files:
            beside[TEXTS] = np.array([(what, file.path, file.digest) for what, file in self.text_files.items()])
        if self.files is not None:
            beside[FILES] = np.array([json.dumps(self.files)])
        if self.judges:
            beside[JUDGES] = np.array(self.judges)
        beside |= {"systems": np.array(self.systems), "model": np.array([self.model])}
        if self.truth_of_machines:
            beside[MACHINES] = np.array([(source, str(n)) for source, n in self.truth_of_machines])
        beside |= {name: np.array([number]) for name, number in numbers.items() if number is not None}
        return to_arrays(self.campaign, beside)

    def topped_up(self, budget: Budget, sample_id: str) -> Sample:
        """Return the sample with a budget added to its own; ``sample_id`` is that of this one.

        Raises
        ------
        InputError
            Where its draws have one planned end, or what is added pays for nothing.
        StateError
            Where what comes next follows from what waits.
        """
        design = self.campaign.drawn_design
        campaign = self.campaign.topped_up(budget.of(*design.targets, known=design.known))
        if campaign.paths is not None:
            campaign.go_on()
        waiting = campaign.progress.waiting if campaign.paths is not None else 0
        if waiting and len(campaign.planned) == len(self.campaign.planned):
            problem = (
                f"{counted(waiting, 'item')} {agreeing(waiting, 'waits', 'wait')}, from which follows what comes next"
            )
            raise StateError(f"{problem}: add to the budget once they are judged")
        if len(campaign.planned) == len(self.campaign.planned):
            raise InputError(f"a budget of {budget} more adds nothing to judge: {campaign.planned_end}")
        return self.grown(campaign, sample_id)

    def grown(self, campaign: Campaign, sample_id: str) -> Sample:
        """Return the sample with a campaign that goes on with its own; ``sample_id`` is that of this one."""
        return replace(self, campaign=campaign, earlier=(*self.earlier, sample_id), n_before=len(self.campaign.planned))

    def following(self, sample_id: str) -> tuple[Sample, bool]:
        """Return the sample with its next instalment, where depths follow labels, and whether there is one.

        Where there is none, the sample with what labels have led to, which no correction of them changes.

        Parameters
        ----------
        sample_id : str
            That of this one.

        Raises
        ------
        InputError
            Where depths were planned before any label.
        StateError
            Where an item waits.
        """
        if self.campaign.paths is None:
            raise InputError("all of this sample was drawn at once: its sheet is whole")
        if waiting := self.campaign.progress.waiting:
            number = self.campaign.planned[-1].block
            problem = (
                f"{counted(waiting, 'item')} of instalment {number} {agreeing(waiting, 'waits', 'wait')} for a grade"
            )
            problem += ": the next follows from all its labels"
            raise StateError(problem)
        campaign, is_new = self.campaign.following()
        if is_new:
            return self.grown(campaign, sample_id), True
        return replace(self, campaign=campaign, earlier=(*self.earlier, sample_id)), False

    def estimate(self, target: Target, scope: str = "pool") -> Estimate:
        """Return what the judgments say of a target, with what is to be said of the labels that it rests on."""
        return with_machines([self], self.campaign.estimate(target, scope=scope))

    @property
    def machine_cautions(self) -> list[Caution]:
        """What is to be said of machines' grades that it takes for people's, file by file."""
        return [truth_of_machines(source, n) for source, n in self.truth_of_machines]

    def judged_by_machines(self, taken: Mapping[str, int]) -> Sample:
        """Return the sample with how many judgments of machines, by file, are taken for people's beside its own."""
        merged = {**dict(self.truth_of_machines), **taken}
        return replace(self, truth_of_machines=tuple(merged.items())) if taken else self

    @property
    def made_for(self) -> list[Asked]:
        """The questions that it was made for, with their targets."""
        names = dict(zip(map(id, lists_of(self.campaign.design)), self.systems, strict=True))
        return [
            Asked(question, target, names[id(target.ranking)], names.get(id(target.versus), ""))
            for question, target in zip(self.questions, self.campaign.design.targets, strict=True)
        ]

    def asked(self, measures: Sequence[str], questions: Sequence[str], contrasts: str | None = None) -> list[Asked]:
        """Return each question that is asked with its target; without any those it was made for.

        Raises
        ------
        InputError
            Where a ranking is asked of that the sample was not made for.
        """
        design, top = self.campaign.design, self.campaign.design.max_grade
        if contrasts is not None and not self.is_contest:
            problem = "`contrasts` is of several systems: the sample was made for one, or for two"
            raise InputError(problem, field="contrasts")
        if not measures and not questions and contrasts is None:
            return self.made_for
        chosen = [sampled_measure(text) for text in measures]
        judging_of([*(target.measure for target in design.targets), *chosen])  # raises where one is of the other
        if top is not None:
            chosen = [on_scale(measure, top) for measure in chosen]
        chosen = [ending_at(measure, self.depth) for measure in chosen]
        made = list({str(target.measure): target.measure for target in design.targets}.values())
        wanted = list(dict.fromkeys(questions or self.questions))
        named = list({str(measure): measure for measure in chosen or made}.values())
        return [each for measure in named for question in wanted for each in self._asked(measure, question, contrasts)]

    def _asked(self, measure: SampledMeasure, question: str, contrasts: str | None) -> list[Asked]:
        """Return what a measure and a question ask of the rankings that the sample was made for."""
        if not self.is_contest:
            return [self._of_two(measure, question)]
        lists, names = lists_of(self.campaign.design), list(self.systems)
        pairs = asked_of(question, len(names), contrasts)
        made = {(names.index(each.system), names.index(each.versus)) for each in self.made_for if each.versus}
        if question == "difference" and contrasts is None and made:
            pairs = [pair for pair in pairs if pair in made]
        return [asked_among(measure, question, pair, lists, names) for pair in pairs]

    def _of_two(self, measure: SampledMeasure, question: str) -> Asked:
        """Return what a measure and a question ask of one ranking or two."""
        runs: dict[str, tuple[Rankings, str]] = {}
        for made in self.made_for:
            runs["versus" if made.question == "versus" else "run"] = made.target.ranking, made.system
            if made.target.versus is not None:
                runs["versus"] = made.target.versus, made.versus
        first, *others = ("run", "versus") if question == "difference" else (question,)
        for name in (first, *others):
            if name not in runs:
                which = "second" if name == "versus" else "first"
                raise InputError(
                    f"the sample was not made for the {which} ranking: there is no question {question!r} to it; "
                    "name it when the sample is drawn"
                )
        (ranking, system), (versus, other) = runs[first], runs[others[0]] if others else (None, "")
        return Asked(question, Target(measure, ranking, versus), system, other)

    def notes(self) -> list[Note | Caution]:
        """Return what whoever has drawn it should know: first what is to be judged."""
        design = self.campaign.design
        notes: list[Note | Caution] = [*self._extent()]
        names = tuple(dict.fromkeys(target.name for target in design.targets))
        n_ideal = design.pool.n_items if any(target.measure.needs_all_items for target in design.targets) else 0
        return [*notes, *self.campaign.judging.notes(names, design.max_grade, n_ideal), *design.cautions]

    def _extent(self) -> list[Note]:
        """Return how much is to be judged, and how far that goes."""
        design, units = self.campaign.design, self.campaign.planned[self.n_before :]
        n_items, n_queries = sum(len(u.items) for u in units), len({u.query for u in units})
        everything = n_items == int((self.campaign.drawn_design.order.place_rates > 0).sum())
        follows = self.campaign.paths is not None
        sizes = [sum(len(u.items) for u in units if u.block == k + 1) for k in range(len(design.blocks))]
        sizes = [] if follows else [size for size in sizes if size]
        if not units and not self.n_before:
            return [Note("nothing to judge")]
        extent: dict[str, Told] = {
            "n_items": n_items,
            "n_queries": n_queries,
            "n_before": self.n_before,
            "everything": int(everything),
            "spent": float(sum(u.cost for u in self.campaign.planned)),
            "budget": design.budget,
            "expected": int(design.expected),
            "unit": design.pool.cost_unit,
        }
        notes = [Note("to judge", extent)]
        if len(sizes) > 1:
            notes.append(Note("blocks", {"n": len(sizes), "n_items": tuple(sizes)}))
        if follows and units:
            about: dict[str, Told] = {"number": units[-1].block, "budget": design.budget or 0.0, "looks": design.looks}
            notes.append(Note("instalment", about))
        if not everything and not follows and n_queries < min(_FEW, design.pool.n_queries) and not self.n_before:
            notes.append(Note("few queries", {"n_queries": n_queries, "enough": _FEW}))
        return notes


def draw(
    case: Case,
    measures: Sequence[str],
    questions: Sequence[str],
    budget: Budget,
    *,
    method: str | None = None,
    expected: bool = False,
    surely: bool = False,
    beside: Sequence[Target] = (),
    **how: Unpack[DrawOptions],
) -> Sample:
    """Draw a sample for every measure and question, which it can then be asked.

    Parameters
    ----------
    questions : sequence of {"difference", "run", "versus"}
        None given: the differences of several rankings, or the one there is.
    method : str, optional
        By default the best for the measures that a bad model cannot spoil.
    expected : bool
        Of draws with replacement: the budget is met on average.
    surely : bool
        Where depths follow labels: more, smaller instalments, with which it is completed whatever waits.
    beside : sequence of Target
        Questions that count in whom to judge, by ``weights`` behind those of the others: of segments.
    how
        `activeeval.sampling.adaptive_depth.DrawOptions`.

    Raises
    ------
    InputError
        Where no label can change one of the targets, or a method has no depths that could follow labels.
    BudgetError
        Where the budget does not pay for what must be possible.
    """
    asked = case.asked(list(dict.fromkeys(measures)), list(dict.fromkeys(questions)))
    targets = [question.target for question in asked]
    if case.known is not None and not find_method(method or "items").scheme.takes_known:
        raise InputError(f"method {method!r} draws with replacement: it takes no known grades")
    check_differ(asked)
    check_open(*targets)
    chosen = method or default_method(*(target.measure for target in targets)).name
    try:
        paid, weights = case.for_people(budget, *targets), how.get("weights", "equal")
        looks = looks_in(case, find_method(chosen), targets, how.get("looks"), how.get("usual", OF_SHEETS))
        about: dict[str, Any] = {"weights": weights, "looks": looks, "beside": beside}
        design = case.design(chosen, targets, how.get("defensive_share"), budget=paid, expected=expected, **about)
    except BudgetError as problem:
        raise case.refused(budget, problem, *targets) from None
    called = dict(zip(map(id, case.inputs.rankings), case.systems, strict=True))
    return Sample(
        campaign=Campaign(design, rng=case.seed, by_instalments=True, surely=surely),
        questions=tuple(question.question for question in asked),
        systems=tuple(called[id(ranking)] for ranking in lists_of(design)),
        depth=case.depth,
        seed=case.seed_number,
        model=case.model,
        truth_of_machines=_truth_of_machines(case),
    )


def with_machines(samples: Sequence[Sample], estimate: Estimate) -> Estimate:
    """Return an estimate of samples that says which machines' grades they take for people's."""
    by_source = {source: n for sample in samples for source, n in sample.truth_of_machines}
    taken = [truth_of_machines(*held) for held in by_source.items()]
    return replace(estimate, concerns=(*estimate.concerns, *taken)) if taken else estimate


def _truth_of_machines(case: Case) -> tuple[tuple[str, int], ...]:
    """Return the files of a case whose machines' grades were taken for people's."""
    taken = [note.numbers for note in case.notes if note.code == "machine is truth"]
    return tuple((str(numbers["source"]), int(str(numbers["n"]))) for numbers in taken)


def design_of(
    case: Case, measure: str, method: str | None, budget: Budget, defensive_share: float | None = None
) -> Design:
    """Return the design of a sample for one question, at a budget where samples of its scheme have one."""
    target = case.target(measure)
    design = case.design(method or default_method(target.measure).name, target, defensive_share)
    if not design.scheme.can_be_topped_up:
        return design
    try:
        return design.with_budget(case.for_people(budget, target))
    except BudgetError as problem:
        raise case.refused(budget, problem, target) from None


def read_sample(path: str) -> tuple[Sample, str]:
    """Return a sample that `Sample.write` wrote, not yet judged, and its id.

    Raises
    ------
    InputError
        Where it was changed, damaged or never one.
    """
    return _sample_of(*read_campaign(path))


def unpacked_sample(content: bytes, name: str, base: bytes | None = None) -> tuple[Sample, str]:
    """Return a sample that `Sample.packed` made bytes of, not yet judged, and its id; else as `read_sample`.

    Parameters
    ----------
    base : bytes, optional
        Of the sample that it was packed beside.
    """
    return _sample_of(*unpacked_campaign(content, name, base))


def _sample_of(campaign: Campaign, arrays: Arrays) -> tuple[Sample, str]:
    kinds = tuple("run" if target.versus is None else "difference" for target in campaign.design.targets)
    questions = tuple(arrays["questions"].tolist()) if "questions" in arrays else kinds
    n_before, *earlier = arrays["earlier"].tolist() if "earlier" in arrays else ["0"]
    numbers = {name: int(arrays[name][0]) for name in ("depth", "seed") if name in arrays}
    kept = arrays[TEXTS].reshape(-1, 3).tolist() if TEXTS in arrays else []
    sample = Sample(
        campaign=campaign,
        text_files={what: TextFile(path=path, digest=digest) for what, path, digest in kept},
        questions=questions,
        systems=tuple(arrays["systems"].tolist()) if "systems" in arrays else (),
        earlier=tuple(earlier),
        n_before=int(n_before),
        model=str(arrays["model"][0]) if "model" in arrays else "",
        truth_of_machines=tuple((source, int(n)) for source, n in arrays.get(MACHINES, ())),
        judges=tuple(arrays[JUDGES].tolist()) if JUDGES in arrays else (),
        files=json.loads(str(arrays[FILES][0])) if FILES in arrays else None,
        **numbers,
    )
    return sample, id_of(arrays)
