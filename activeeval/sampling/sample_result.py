"""A drawn sample: its sheet as a frame, what it says once it is judged, saved, topped up, handed to a store."""

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
    """What else `Sample.estimate` may be told.

    Attributes
    ----------
    questions : {"difference", "run", "versus"} or a list of them
        By default those that the sample was made for.
    contrasts : {"all", "first"}
        Of several runs: which are compared.
    interval : {"t", "group-sequential"}
        By default t.
    segments : path, data frame or dict
        A table of query_id and segment, or a dict of queries to segments: a result for each segment of each question.
    """

    questions: Any
    contrasts: str
    interval: str
    segments: Any


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Sample(PrintableResult):
    """What is to be judged: `sample` draws it, `load_sample` reads it again.

    Attributes
    ----------
    drawn : activeeval.sampling.drawn_sample.DrawnSample
    notes : tuple of str
        What whoever has drawn it should know, in sentences.
    frame_kind : str
        The library whose frames came in, "" where none did.

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
        """Its id, which stands in every row of its sheet."""
        return self.drawn.packed()[0]

    @property
    def seed(self) -> int | None:
        """What it was drawn with; the same seed and choices draw the same sample."""
        return self.drawn.seed

    @property
    def names(self) -> tuple[str, ...]:
        """What the runs are called."""
        return self.drawn.systems

    @property
    def n_items(self) -> int:
        """How many items its sheet has."""
        return len(self.drawn.pairs)

    @property
    def sentences(self) -> list[str]:
        """What is to be judged, and for which questions."""
        asked = list(dict.fromkeys(f"{each.target.name}, {each.title}" for each in self.drawn.made_for))
        extent = next(text_of(note, in_python) for note in self.drawn.notes() if isinstance(note, Note))
        shown = "; ".join(asked[:3]) + (f"; and {len(asked) - 3} more" if len(asked) > 3 else "")
        return [f"{extent}: {shown}."]

    @property
    def table(self) -> list[dict[str, Cell]]:
        """How much each block asks for: the sample may be read once one is complete."""
        blocks: dict[int, dict[str, Any]] = {}
        for unit in self.drawn.campaign.planned[self.drawn.n_before :]:
            of_block = blocks.setdefault(unit.block, {"items": 0, "queries": set()})
            of_block["items"] += len(unit.items)
            of_block["queries"].add(unit.query)
        return [
            {"block": block, "items": held["items"], "queries": len(held["queries"])} for block, held in blocks.items()
        ]

    @property
    def footnotes(self) -> list[str]:
        """What whoever has drawn it should know."""
        return [f"{note[:1].upper()}{note[1:]}." for note in self.notes]

    def rows(self) -> list[dict[str, Cell]]:
        """Return the rows of its sheet: what `to_frame` makes a frame of."""
        return _sheet_rows(sheet_of(self.drawn.campaign, self.id, self.drawn.n_before))

    @checked
    def sheet(self, kind: str = "", *, judges: str | Sequence[str] = (), overlap: int = 0) -> Any:
        """Return the sheet for the judges as a data frame: a row an item, block by block, none of them judged.

        Judges fill in ``grade``: a grade, ``cannot`` where it cannot be judged, nothing while it waits. Of a sample
        that was topped up the sheet has what is new.

        Parameters
        ----------
        kind : {"", "pandas", "polars", "pyarrow"}
            By default that of the frames that came in; else pandas where it is installed, else polars.
        judges, overlap
            As of `save`: of one judge the name stands on the sheet, of several a dict of names to frames is returned.
        """
        plan = sheet_plan("sheet.csv", judges=judges, overlap=overlap)
        if not plan.judges:
            return frame_of(self.rows(), kind or self.frame_kind, COLUMNS)
        draws = sheet_of(self.drawn.campaign, self.id, self.drawn.n_before)
        rows = {who: _sheet_rows(draws.at(k), who) for who, k in zip(plan.judges, plan.rows(draws), strict=True)}
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
        """Write the sample, and its sheet where that has a name too; return the sample.

        Parameters
        ----------
        path, sheet : path
            As week1.sample and week1.csv; a sheet is .csv, .tsv, .jsonl, .parquet or .xlsx. Of several judges each has
            one, as week1-ann.csv.
        documents, queries : str, optional
            Files of what the judges are to read on the sheet: a table of id and title, text or url, and of id and text.
        force : bool
            Write over files of other content: a sheet may have been judged, and a sample be needed to read one.
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
        """Write the sheet alone, the same bytes as `save` wrote it, and return its files: of several judges one each.

        Parameters
        ----------
        path, documents, queries, force, people
            As of `save`.
        """
        plan = sheet_plan(path, **people)
        check_free(plan.paths, force=force)
        self.drawn.write_sheet(plan, self.id, self._words(plan.path, documents, queries))
        return plan.paths

    def _words(self, path: str, documents: str | None, queries: str | None) -> SheetTexts:
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
        """Return what the judged sample says: one result where one question was asked, else a list.

        Parameters
        ----------
        judged : data frame, path or Judgments, or a list of them
            Sheets of the sample, also those that are judged in part: what is read is the highest block of which nothing
            waits. Of judgments that name no sample the items of this one are looked up.
        measure : str or measure, or a list of them
            Any that the sample reaches; by default what it was made for.
        policy : {"refuse", "majority", "median", "mean-gain"}
            What becomes of an item that several judges grade differently.
        scope : {"pool", "population"}
            What the interval is about: these queries, or all that they are a sample of.
        confidence : float
        options
            `EstimateOptions`: questions, contrasts, interval and segments.

        Raises
        ------
        StateError
            Where no block is complete.
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
        """Return the sample with a budget added: the same one, and more of it; its sheet has what is new.

        Examples
        --------
        >>> from activeeval import sample
        >>> runs = {name: {f"q{q}": {f"d{d}": float((d * k + q) % 7) for d in range(6)} for q in range(20)}
        ...         for k, name in enumerate(["new", "old"], 1)}
        >>> first = sample(runs, measure="DCG@5", budget=40, max_grade=3, seed=1)
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
        """Return the sample with its next batch, drawn with ``adaptive_depth``; None where nothing comes next.

        How far a query is worth judging follows from its own labels: `sheet` has then what is new, and `estimate` takes
        all sheets so far.

        Parameters
        ----------
        judged : data frame, path or Judgments, or a list of them
            As of `estimate`: all sheets so far, judged to their ends.

        Raises
        ------
        StateError
            Where an item waits.

        Examples
        --------
        >>> from activeeval import sample
        >>> import polars as pl
        >>> runs = {name: {f"q{q}": {f"d{d}": float((d * k + q) % 7) for d in range(6)} for q in range(20)}
        ...         for k, name in enumerate(["new", "old"], 1)}
        >>> drawn, sheets = sample(runs, measure="nDCG@3", budget=60, max_grade=3, seed=1, adaptive_depth="1"), []
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
    """Return the rows of a sheet of nobody's name, or of a judge's."""
    columns = (draws.block.tolist(), draws.query_id.tolist(), draws.doc_id.tolist())
    beside: dict[str, Cell] = {"judge": judge, "grade": None, "note": None}
    return [
        {"sample": draws.sample, "block": block, "query_id": query, "doc_id": doc} | beside
        for block, query, doc in zip(*columns, strict=True)
    ]


def check_sample(sample: Any) -> None:
    """Raise InputError where a caller hands over something else than a `Sample`."""
    if not isinstance(sample, Sample):
        raise InputError(
            f"`sample` must be what `sample` or `load_sample` returns, got {brief(sample)}", field="sample"
        )


def file_of(queries: Any) -> str | None:
    """Return the file of the texts of queries; elsewhere an argument of this name may be what was drawn from a log."""
    return None if queries is None else file_name(queries, "`queries`")


def _moments(sample: DrawnSample, scope: str, confidence: float, answer: SampleAnswer) -> list[EarlyReading]:
    return moments_of(sample, answer.target, scope, confidence)


def sentences_of(notes: Sequence[Note | Caution]) -> tuple[str, ...]:
    """Return notes as sentences, but for those that the first line and the table say."""
    shown = (text_of(note, in_python) for note in notes if note.code not in ("to judge", "blocks"))
    return tuple(dict.fromkeys(shown))
