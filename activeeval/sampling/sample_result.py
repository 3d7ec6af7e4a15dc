"""Result of `sample`: its sheet as a frame, estimates once it is judged, saving, topping up, and the next batch."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypedDict, Unpack

from activeeval.core.checks import brief, check_names, file_name
from activeeval.core.errors import InputError
from activeeval.core.estimation import check_scope
from activeeval.core.results import Caution, Note
from activeeval.formats.sample_sheet import sheet_of
from activeeval.formats.tables.draws import COLUMNS, Draws
from activeeval.formats.tables.frames import frame_of, kind_of_frame
from activeeval.formats.writing import write_atomically
from activeeval.inputs.arguments import budget_of, checked, in_python, measures_of, sources_of, warn_of
from activeeval.inputs.texts import SheetTexts, texts_of as words_of
from activeeval.report.message_lookup import text_of
from activeeval.report.printable import PrintableResult
from activeeval.report.rendering import Cell
from activeeval.report.result_pictures import EarlyReading
from activeeval.sampling.answers import SampleAnswer
from activeeval.sampling.drawn_sample import DrawnSample
from activeeval.sampling.estimate import EstimateRequest, estimate_judged
from activeeval.sampling.results import Result, Results, results_of
from activeeval.sampling.sample_judgments import judged_by, moments_of
from activeeval.sampling.sheets import SheetOptions, check_free, sheet_plan


class EstimateOptions(TypedDict, total=False):
    """Further options of `Sample.estimate`.

    Attributes
    ----------
    questions : {"difference", "run", "versus"} or a list of them
        By default those of the design.
    contrasts : {"all", "first"}
        Pairs of systems to compare, if there are several runs.
    interval : {"t", "group-sequential"}
        By default t.
    segments : path, data frame or dict
        A table of query_id and segment, or a dict of queries to segments: one result for each segment of each question.
    """

    questions: Any
    contrasts: str
    interval: str
    segments: Any


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Sample(PrintableResult):
    """A sample of items to judge; `sample` draws it, `load_sample` reads it again.

    Attributes
    ----------
    drawn : activeeval.sampling.drawn_sample.DrawnSample
        The sample in the form of its file.
    notes : tuple of str
        Sentences for the user who drew it.
    frame_kind : str
        Library of the input frames, "" if there were none.

    Examples
    --------
    >>> from activeeval import sample
    >>> run = {f"q{q}": {f"d{d}": float(d) for d in range(5)} for q in range(10)}
    >>> drawn = sample(run, measure="P@3", budget=20, max_grade=1, seed=1)
    >>> drawn.n_items, drawn.seed, len(drawn.sheet("pandas"))
    (20, 1, 20)
    >>> drawn.top_up(5).n_items
    5
    """

    drawn: DrawnSample
    notes: tuple[str, ...] = ()
    frame_kind: str = ""

    @property
    def id(self) -> str:
        """Id of the sample, part of every row of its sheet."""
        return self.drawn.packed()[0]

    @property
    def seed(self) -> int | None:
        """Seed of the draw; equal seeds and choices give equal samples. None if unknown."""
        return self.drawn.seed

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the runs."""
        return self.drawn.systems

    @property
    def n_items(self) -> int:
        """Number of items on its sheet."""
        return len(self.drawn.pairs)

    @property
    def sentences(self) -> list[str]:
        """One sentence on the number of items to judge and the questions."""
        questions = list(dict.fromkeys(f"{question.target.name}, {question.title}" for question in self.drawn.made_for))
        extent = next(text_of(note, in_python) for note in self.drawn.notes() if isinstance(note, Note))
        first_questions = "; ".join(questions[:3]) + (f"; and {len(questions) - 3} more" if len(questions) > 3 else "")
        return [f"{extent}: {first_questions}."]

    @property
    def table(self) -> list[dict[str, Cell]]:
        """Numbers of items and queries of each block; the sample can be read once a block is complete."""
        blocks: dict[int, dict[str, Any]] = {}
        for unit in self.drawn.campaign.planned[self.drawn.n_before :]:
            of_block = blocks.setdefault(unit.block, {"items": 0, "queries": set()})
            of_block["items"] += len(unit.items)
            of_block["queries"].add(unit.query)
        return [
            {"block": block, "items": sizes["items"], "queries": len(sizes["queries"])}
            for block, sizes in blocks.items()
        ]

    @property
    def footnotes(self) -> list[str]:
        """Notes for the user who drew the sample."""
        return [f"{note[:1].upper()}{note[1:]}." for note in self.notes]

    def rows(self) -> list[dict[str, Cell]]:
        """List the rows of its sheet, from which `to_frame` builds a data frame."""
        return _sheet_rows(sheet_of(self.drawn.campaign, self.id, self.drawn.n_before))

    @checked
    def sheet(self, kind: str = "", *, judges: str | Sequence[str] = (), overlap: int = 0) -> Any:
        """Build the sheet for judges as a data frame: one row for each item, ordered by block, without grades.

        Judges fill in ``grade``: a grade, or ``cannot`` if the item cannot be judged; empty items wait. For a topped-up
        sample the sheet lists only the new items.

        Parameters
        ----------
        kind : {"", "pandas", "polars", "pyarrow"}
            By default that of the input frames, else pandas if installed, else polars.
        judges : str or sequence of str
            With one judge the name is on the sheet; with several, who share the items, a dict of names to frames is
            returned.
        overlap : int
            Number of items that all of several judges grade.
        """
        plan = sheet_plan("sheet.csv", judges=judges, overlap=overlap)
        if not plan.judges:
            return frame_of(self.rows(), kind or self.frame_kind, COLUMNS)
        draws = sheet_of(self.drawn.campaign, self.id, self.drawn.n_before)
        rows = {judge: _sheet_rows(draws.at(k), judge) for judge, k in zip(plan.judges, plan.rows(draws), strict=True)}
        frames = {judge: frame_of(of_judge, kind or self.frame_kind, COLUMNS) for judge, of_judge in rows.items()}
        return frames if len(frames) > 1 else frames[plan.judges[0]]

    @checked
    def save(
        self,
        path: Any,
        sheet: Any = None,
        *,
        documents: str | None = None,
        queries: str | None = None,
        force: bool = False,
        **people: Unpack[SheetOptions],
    ) -> Sample:
        """Write the sample, and its sheet if a path is given; return the sample.

        Parameters
        ----------
        path, sheet : path
            For example week1.sample and week1.csv; a sheet is .csv, .tsv, .jsonl, .parquet or .xlsx. Several judges
            have one each, as week1-ann.csv.
        documents, queries : str, optional
            Tables of the texts for judges: id and title, text or url; id and text.
        force : bool
            Overwrite files with other content: a sheet may be judged already, and a sample be needed to read one.
        people
            `SheetOptions`: judges, overlap, grade_names and guidelines.
        """
        place, plan = os.fspath(path), None if sheet is None else sheet_plan(sheet, **people)
        is_other = os.path.exists(place) and Path(place).read_bytes() != self.drawn.packed()[1]
        check_free([*([place] if is_other else []), *(plan.paths if plan else [])], force=force)
        if plan is not None:
            self.drawn.write(place, plan, self._words(plan.path, documents, queries))
            return self
        with write_atomically(place, binary=True) as handle:
            handle.write(self.drawn.packed()[1])
        return self

    @checked
    def write_sheet(
        self,
        path: Any,
        *,
        documents: str | None = None,
        queries: str | None = None,
        force: bool = False,
        **people: Unpack[SheetOptions],
    ) -> list[str]:
        """Write the sheet alone, with the same bytes as `save`; return its files, one for each of several judges.

        Parameters
        ----------
        path : path
            Sheet to write: .csv, .tsv, .jsonl, .parquet or .xlsx.
        documents, queries : str, optional
            Tables of the texts for judges: id and title, text or url; id and text.
        force : bool
            Overwrite files with other content.
        people
            `SheetOptions`: judges, overlap, grade_names and guidelines.
        """
        plan = sheet_plan(path, **people)
        check_free(plan.paths, force=force)
        self.drawn.write_sheet(plan, self.id, self._words(plan.path, documents, queries))
        return plan.paths

    def _words(self, path: str, documents: str | None, queries: str | None) -> SheetTexts:
        """Look up texts for judges in two tables (files or frames); ``path`` is the sheet's, for messages."""
        return words_of(self.drawn.pairs, path, documents, file_of(queries))[0]

    @checked
    def estimate(
        self,
        judged: Any,
        *,
        measure: Any = None,
        policy: str = "refuse",
        scope: str = "pool",
        confidence: float = 0.95,
        **options: Unpack[EstimateOptions],
    ) -> Result | Results:
        """Estimate the questions from the judged sample: a Result for one question, else Results.

        Parameters
        ----------
        judged : data frame, path or Judgments, or a list of them
            Sheets of the sample, complete or partly judged: estimates use it up to the last complete block. In
            judgments without a sample id the sample's items are looked up.
        measure : str or measure, or a list of them
            Any that the sample supports; by default those of the design.
        policy : {"refuse", "majority", "median", "mean-gain"}
            Rule for items with different grades by several judges.
        scope : {"pool", "population"}
            The queries that intervals are for: these, or all that they are a sample of.
        confidence : float
            Confidence of the intervals.
        options
            `EstimateOptions`: questions, contrasts, interval and segments.

        Raises
        ------
        StateError
            If no block is complete.
        InputError
            If the judgments are not of this sample, or it does not support a question.
        """
        check_scope(scope)
        check_names(options, EstimateOptions)
        sources = sources_of(judged)
        if not sources:
            raise InputError("expected a judged sheet, got none", field="judged")
        sample, progress, agreement = judged_by(self.drawn, sources, policy)
        request = EstimateRequest(
            measures=[] if measure is None else measures_of(measure)[0],
            questions=tuple(options.get("questions") or ()),
            contrasts=options.get("contrasts"),
            policy=policy,
            scope=scope,
            kind=options.get("interval", "t"),
            confidence=confidence,
            segments=options.get("segments"),
        )
        estimates = estimate_judged([sample], progress, agreement, request)
        warn_of([(answer.title, answer.estimate.cautions) for answer in estimates.answers])
        kind = self.frame_kind or kind_of_frame(*sources)
        return results_of(estimates, partial(_moments, sample, scope, confidence), kind)

    @checked
    def top_up(self, budget: Any) -> Sample:
        """Add a budget (20, "5%") to the sample: it keeps its items, and its sheet lists the new ones.

        Examples
        --------
        >>> from activeeval import sample
        >>> run = {f"q{q}": {f"d{d}": float((d + q) % 7) for d in range(6)} for q in range(20)}
        >>> first = sample(run, measure="DCG@5", budget=40, max_grade=3, seed=1)
        >>> first.n_items, first.top_up(20).n_items
        (40, 20)
        """
        added = budget_of(budget)
        if added is None:
            raise InputError("expected a budget to add, got none", field="budget")
        drawn = self.drawn.topped_up(added, self.id)
        return Sample(drawn=drawn, notes=sentences_of(drawn.notes()), frame_kind=self.frame_kind)

    @checked
    def next(self, judged: Any, *, policy: str = "refuse") -> Sample | None:
        """Draw the next batch of a sample with ``adaptive_depth``; None if the sample is complete.

        The labels of a query decide how deep it is judged. `sheet` then lists the new items; `estimate` needs all
        sheets so far. Raise StateError if an item still waits for a grade.

        Parameters
        ----------
        judged : data frame, path or Judgments, or a list of them
            All sheets so far, judged completely.
        policy : {"refuse", "majority", "median", "mean-gain"}
            Rule for items with different grades by several judges.

        Examples
        --------
        >>> from activeeval import sample
        >>> import polars as pl
        >>> runs = {name: {f"q{q}": {f"d{d}": float((d * k + q) % 7) for d in range(6)} for q in range(12)}
        ...         for k, name in enumerate(["new", "old"], 1)}
        >>> drawn, sheets = sample(runs, measure="nDCG@3", budget=45, max_grade=3, seed=1, adaptive_depth="1"), []
        >>> while drawn is not None:
        ...     grades = pl.col("doc_id").str.slice(1).cast(pl.Int64) % 4
        ...     last, sheets = drawn, [*sheets, drawn.sheet("polars").with_columns(grade=grades)]
        ...     drawn = last.next(sheets)
        >>> result = last.estimate(sheets)
        >>> result.low <= result.value <= result.high
        True
        """
        sample, *_ = judged_by(self.drawn, sources_of(judged), policy)
        following, is_new = sample.following(self.id)
        if not is_new:
            return None
        return Sample(drawn=following, notes=sentences_of(following.notes()), frame_kind=self.frame_kind)


def _sheet_rows(draws: Draws, judge: str | None = None) -> list[dict[str, Cell]]:
    """List the rows of a sheet from its items; grades are empty, ``judge`` is None for a sheet without a name."""
    columns = (draws.block.tolist(), draws.query_id.tolist(), draws.doc_id.tolist())
    beside: dict[str, Cell] = {"judge": judge, "grade": None, "note": None}
    return [
        {"sample": draws.sample, "block": block, "query_id": query, "doc_id": doc} | beside
        for block, query, doc in zip(*columns, strict=True)
    ]


def check_sample(sample: Any) -> None:
    """Raise InputError unless `sample` is a `Sample`."""
    if not isinstance(sample, Sample):
        raise InputError(
            f"`sample` must be what `sample` or `load_sample` returns, got {brief(sample)}", field="sample"
        )


def file_of(queries: Any) -> str | None:
    """Return the path of a file of query texts, or None; raise InputError for an object of drawn queries."""
    return None if queries is None else file_name(queries, "`queries`")


def _moments(sample: DrawnSample, scope: str, confidence: float, answer: SampleAnswer) -> list[EarlyReading]:
    """Estimate the target of an answer at the end of each complete block of a sample."""
    return moments_of(sample, answer.target, scope, confidence)


def sentences_of(notes: Sequence[Note | Caution]) -> tuple[str, ...]:
    """Convert notes to sentences, without those that the first line and the table show."""
    lines = (text_of(note, in_python) for note in notes if note.code not in ("to judge", "blocks"))
    return tuple(dict.fromkeys(lines))
