"""Samples: drawn of a case, written beside a sheet for the judges, read again, estimated and topped up."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from activeeval.core.campaign import Campaign
from activeeval.core.errors import InputError, StateError
from activeeval.core.judgments.judging import judging_of
from activeeval.core.judgments.policies import truth_of_machines
from activeeval.core.measures import SampledMeasure, Target
from activeeval.core.pool import Rankings
from activeeval.core.results import Caution, Estimate, Note, Told
from activeeval.formats.arrays import pack, write_arrays
from activeeval.formats.sample_file import FILES, JUDGES, MACHINES, TEXTS, Arrays, beyond, id_of, lists_of, to_arrays
from activeeval.formats.sample_sheet import sheet_of
from activeeval.formats.tables.draws import Draws
from activeeval.formats.writing import AtomicFiles
from activeeval.inputs.budgets import Budget
from activeeval.inputs.loading import ending_at, on_scale, sampled_measure
from activeeval.inputs.systems import QuestionTarget, asked_among, asked_of
from activeeval.inputs.texts import TextFiles
from activeeval.report.numbers import agreeing, counted
from activeeval.sampling.sheets import SheetPlan, write_sheets

_FEW = 30
"""Number of judged queries below which a note warns: there, biases of fitted estimates up to .4 RMSE were measured."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DrawnSample:
    """A drawn sample whose items to judge are listed on sheets (tables that judges fill in).

    Attributes
    ----------
    campaign : Campaign
        The sample with its judgments so far.
    questions : tuple of str
        Question of each target: difference, run (value of the first) or versus (value of the other).
    systems : tuple of str
        Names of the systems, in the order of the targets; by default run 1, run 2, ….
    earlier : tuple of str
        Ids of the samples that this one was topped up from.
    n_before : int
        Number of units (items or queries judged at once) on the sheets of these.
    depth : int or None
        Rank at which the lists were cut; None if they were not.
    seed : int or None
        Seed of the draw.
    model : str
        Name of the grade model.
    text_files : mapping of str to TextFile
        Tables of the texts shown to judges.
    truth_of_machines : sequence of (str, int)
        Files in which grades of graders (LLMs or other models) count as labels, with their number; estimates report it.
    read_notes : tuple of Note
        Notes on how the judged files were read.
    judges : tuple of str
        Names of the judges, if several sheets were written.
    files : dict or None
        For a pool in files, the request: `activeeval.sampling.draw_pool_files.FilesRequest.again`.
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
    read_notes: tuple[Note, ...] = ()
    judges: tuple[str, ...] = ()
    files: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        """Name systems without a name run 1, run 2, …."""
        if not self.systems:
            n_lists = len(lists_of(self.campaign.design))
            object.__setattr__(self, "systems", tuple(f"run {k + 1}" for k in range(n_lists)))

    @property
    def is_contest(self) -> bool:
        """True if there are more than two systems."""
        return len(self.systems) > 2

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Query id and document id of each row of the newest sheet."""
        return [(u.query_id, doc) for u in self.campaign.planned[self.n_before :] for doc in u.item_ids]

    def write(self, path: str, sheet: str | SheetPlan, texts: Mapping[str, Sequence[str]] | None = None) -> str:
        """Write the sample and the sheet of new items, or one for each of several judges; return the sample's id.

        Either all files are written or none: they are complete on disk before the sample, then the sheets, are renamed.

        Parameters
        ----------
        sheet : str or SheetPlan
            Path of the sheet, and its judges.
        texts : mapping of str to sequence of str, optional
            Texts for the judges, one for each of `pairs`; they are written to the sheet only.
        """
        named = replace(self, judges=sheet.judges if isinstance(sheet, SheetPlan) and len(sheet.judges) > 1 else ())
        arrays = named._arrays()
        with AtomicFiles() as files:
            write_arrays(path, arrays, files)
            self._write_sheet(sheet, id_of(arrays), texts, files)
        return id_of(arrays)

    def write_alone(self, path: str) -> str:
        """Write the sample to the file ``path``, which may exist, without its sheets; return the sample's id."""
        arrays = self._arrays()
        with AtomicFiles() as files:
            write_arrays(path, arrays, files)
        return id_of(arrays)

    def write_sheet(
        self, sheet: str | SheetPlan, sample_id: str, texts: Mapping[str, Sequence[str]] | None = None
    ) -> None:
        """Write the sheet (path, or plan for judges) of new items, with ``texts`` (columns with a text for each row).

        ``sample_id`` is in every row. Repeated calls write the same bytes.
        """
        with AtomicFiles() as files:
            self._write_sheet(sheet, sample_id, texts, files)

    def _write_sheet(
        self, sheet: str | SheetPlan, sample_id: str, texts: Mapping[str, Sequence[str]] | None, files: AtomicFiles
    ) -> None:
        """Write the sheet of new items, with a guide to grades, among files that are renamed together."""
        plan = SheetPlan(path=sheet) if isinstance(sheet, str) else sheet
        is_graded = self.campaign.judging.has_grades
        plan = plan.checked(grades=is_graded).guided(self.campaign.design.max_grade if is_graded else None)
        write_sheets(sheet_of(self.campaign, sample_id, self.n_before), plan, files, texts)

    def packed(self, base: Arrays | None = None) -> tuple[str, bytes]:
        """Serialize the sample for `unpacked_sample`; return its id and the bytes.

        Parameters
        ----------
        base : mapping of str to ndarray, optional
            Arrays of a sample that this one continues: only the differences are packed.
        """
        arrays, content = self._arrays(), BytesIO()
        pack(arrays if base is None else beyond(arrays, base), content)
        return id_of(arrays), content.getvalue()

    def _arrays(self) -> dict[str, NDArray[Any]]:
        """Convert the sample to the named arrays of its file; ``earlier`` has `n_before` before the ids."""
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

    def topped_up(self, budget: Budget, sample_id: str) -> DrawnSample:
        """Add a budget to the sample, which is then extended by new items; ``sample_id`` is the id before.

        Raises
        ------
        InputError
            If the number of draws was fixed in advance, or the added budget is too small for an item.
        StateError
            If the next items depend on labels that are missing.
        """
        design = self.campaign.drawn_design
        campaign = self.campaign.topped_up(budget.of(*design.targets, known=design.known))
        if campaign.paths is not None:  # adaptive depth: labels decide what is judged next
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

    def grown(self, campaign: Campaign, sample_id: str) -> DrawnSample:
        """Return the sample with a campaign that extends its own (more units); ``sample_id`` is the id before."""
        return replace(self, campaign=campaign, earlier=(*self.earlier, sample_id), n_before=len(self.campaign.planned))

    def following(self, sample_id: str) -> tuple[DrawnSample, bool]:
        """Draw the next batch (sheet) of a sample whose labels decide how deep it is judged; True if there is one.

        If there is none, the sample records the depths reached, which later corrections of labels do not change.

        ``sample_id`` is the id before.

        Raises
        ------
        InputError
            If the sample has no adaptive depth.
        StateError
            If an item still waits for a grade.
        """
        if self.campaign.paths is None:  # no adaptive depth
            raise InputError("all of this sample was drawn at once: its sheet is whole")
        if waiting := self.campaign.progress.waiting:
            number = self.campaign.planned[-1].block
            problem = f"{counted(waiting, 'item')} of batch {number} {agreeing(waiting, 'waits', 'wait')} for a grade"
            problem += ": the next follows from all its labels"
            raise StateError(problem)
        campaign, is_new = self.campaign.following()
        if is_new:
            return self.grown(campaign, sample_id), True
        return replace(self, campaign=campaign, earlier=(*self.earlier, sample_id)), False

    def estimate(self, target: Target, scope: str = "pool") -> Estimate:
        """Estimate a target from the judgments; a caution reports grades of LLMs or other models that count as labels.

        ``scope`` is "pool", or "population" for all queries that these are a sample of. Raise StateError if no block
        (part of the budget) is judged, InputError if an item that the target needs could not be drawn.
        """
        return with_machines([self], self.campaign.estimate(target, scope=scope))

    @property
    def machine_cautions(self) -> list[Caution]:
        """Cautions on grades of graders (LLMs or other models) that count as labels, one for each file."""
        return [truth_of_machines(source, n) for source, n in self.truth_of_machines]

    def judged_by_machines(self, n_by_file: Mapping[str, int]) -> DrawnSample:
        """Return the sample with numbers, by file, of graders' (LLMs', models') judgments that count as labels."""
        merged = {**dict(self.truth_of_machines), **n_by_file}
        return replace(self, truth_of_machines=tuple(merged.items())) if n_by_file else self

    def judged_from(self, sheets: Mapping[str, Draws]) -> DrawnSample:
        """Add the notes of judged sheets (rows by file name), and the numbers of graders' grades that are labels."""
        notes = (*self.read_notes, *(note for sheet in sheets.values() for note in sheet.notes))
        by_machines = {path: sheet.n_of_machines for path, sheet in sheets.items() if sheet.n_of_machines}
        return replace(self, read_notes=notes).judged_by_machines(by_machines)

    @property
    def made_for(self) -> list[QuestionTarget]:
        """Questions that the sample was drawn for, with their targets and the names of their systems."""
        names = dict(zip(map(id, lists_of(self.campaign.design)), self.systems, strict=True))
        return [
            QuestionTarget(question, target, names[id(target.ranking)], names.get(id(target.versus), ""))
            for question, target in zip(self.questions, self.campaign.design.targets, strict=True)
        ]

    def asked(
        self, measures: Sequence[str], questions: Sequence[str], contrasts: str | None = None
    ) -> list[QuestionTarget]:
        """Combine measures and questions with their targets; without any, return those of the design.

        ``contrasts`` are the pairs of more than two systems to compare: "all", or "first" with all others.

        Raises
        ------
        InputError
            If a question needs a ranking that is not in the sample, or a measure is unknown or needs other judgments.
        """
        design, top = self.campaign.design, self.campaign.design.max_grade
        if contrasts is not None and not self.is_contest:
            problem = "`contrasts` needs more than two systems: the sample was made for one, or for two"
            raise InputError(problem, field="contrasts")
        if not measures and not questions and contrasts is None:
            return self.made_for
        chosen = [sampled_measure(text) for text in measures]
        judging_of([*(target.measure for target in design.targets), *chosen])  # raises for grades beside comparisons
        if top is not None:
            chosen = [on_scale(measure, top) for measure in chosen]
        chosen = [ending_at(measure, self.depth) for measure in chosen]
        of_design = list({str(target.measure): target.measure for target in design.targets}.values())
        wanted = list(dict.fromkeys(questions or self.questions))
        named = list({str(measure): measure for measure in chosen or of_design}.values())
        return [
            target for measure in named for question in wanted for target in self._asked(measure, question, contrasts)
        ]

    def _asked(self, measure: SampledMeasure, question: str, contrasts: str | None) -> list[QuestionTarget]:
        """Build the targets of a measure and a question (difference, run or versus), one for each ranking or pair.

        ``contrasts`` ("all" or "first" with all others) chooses the pairs; by default those the sample was made for.
        """
        if not self.is_contest:
            return [self._of_two(measure, question)]
        lists, names = lists_of(self.campaign.design), list(self.systems)
        pairs = asked_of(question, len(names), contrasts)
        of_design = {(names.index(asked.system), names.index(asked.versus)) for asked in self.made_for if asked.versus}
        if question == "difference" and contrasts is None and of_design:
            pairs = [pair for pair in pairs if pair in of_design]
        return [asked_among(measure, question, pair, lists, names) for pair in pairs]

    def _of_two(self, measure: SampledMeasure, question: str) -> QuestionTarget:
        """Build the target of a measure and a kind of question; InputError if the sample lacks its ranking."""
        runs: dict[str, tuple[Rankings, str]] = {}  # ranking and name of the first run, and of the other (versus)
        for designed in self.made_for:
            runs["versus" if designed.question == "versus" else "run"] = designed.target.ranking, designed.system
            if designed.target.versus is not None:
                runs["versus"] = designed.target.versus, designed.versus
        first, *others = ("run", "versus") if question == "difference" else (question,)
        for name in (first, *others):
            if name not in runs:
                which = "second" if name == "versus" else "first"
                raise InputError(
                    f"the sample was not made for the {which} ranking: there is no question {question!r} to it; "
                    "name it when the sample is drawn"
                )
        (ranking, system), (versus, versus_name) = runs[first], runs[others[0]] if others else (None, "")
        return QuestionTarget(question, Target(measure, ranking, versus), system, versus_name)

    def notes(self) -> list[Note | Caution]:
        """List notes and warnings for the user who draws the sample, first the number of items to judge."""
        design = self.campaign.design
        notes: list[Note | Caution] = [*self._extent()]
        names = tuple(dict.fromkeys(target.name for target in design.targets))
        n_ideal = design.pool.n_items if any(target.measure.needs_all_items for target in design.targets) else 0
        return [*notes, *self.campaign.judging.notes(names, design.max_grade, n_ideal), *design.cautions]

    def _extent(self) -> list[Note]:
        """Build notes on the numbers of items and queries to judge, on blocks (parts to read) and batches (sheets)."""
        design, units = self.campaign.design, self.campaign.planned[self.n_before :]
        n_items, n_queries = sum(len(u.items) for u in units), len({u.query for u in units})
        everything = n_items == int((self.campaign.drawn_design.order.place_rates > 0).sum())  # all that can be drawn
        follows = self.campaign.paths is not None  # adaptive depth: batches follow from labels
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
            about: dict[str, Told] = {
                "number": units[-1].block,
                "budget": design.budget or 0.0,
                "adaptive_depth": design.looks,
            }
            notes.append(Note("batch", about))
        if not everything and not follows and n_queries < min(_FEW, design.pool.n_queries) and not self.n_before:
            notes.append(Note("few queries", {"n_queries": n_queries, "enough": _FEW}))
        return notes


def with_machines(samples: Sequence[DrawnSample], estimate: Estimate) -> Estimate:
    """Add to an estimate a caution for each file in which grades of LLMs or other models count as labels."""
    by_source = {source: n for sample in samples for source, n in sample.truth_of_machines}
    cautions = [truth_of_machines(source, n) for source, n in by_source.items()]
    return replace(estimate, concerns=(*estimate.concerns, *cautions)) if cautions else estimate
