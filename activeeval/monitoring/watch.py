"""Python interface of a watch in a store: draw nights, import judgments, read results, as on the command line."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date as day
from typing import Any, TypedDict, Unpack

from activeeval.campaigns.campaign_work import judge_of
from activeeval.campaigns.in_store import StoreHandle, opened_with
from activeeval.campaigns.scripted_judge import script_of
from activeeval.campaigns.store import Store
from activeeval.campaigns.stored_campaign import StoredCampaign
from activeeval.core.answers import Answer
from activeeval.core.checks import check_names, file_name, number
from activeeval.core.errors import InputError
from activeeval.inputs.arguments import checked, columns_of, is_path, measures_of, sources_of, warn_of
from activeeval.monitoring.late_sheets import share_labels
from activeeval.monitoring.night_inputs import NightInputs
from activeeval.monitoring.night_pages import (
    meaning,
    night_sentences,
    night_table,
    series_table,
    span_sentences,
    waiting_sentence,
    write_page,
)
from activeeval.monitoring.night_rows import change_row, rows_of
from activeeval.monitoring.series import NightContent, estimate_last_night, estimate_nights
from activeeval.monitoring.settings import Settings, set_up
from activeeval.monitoring.spans import change_between
from activeeval.monitoring.watch_steps import WatchStep, take_judgments, take_night
from activeeval.report.printable import PrintableResult
from activeeval.report.rendering import Cell


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Night(PrintableResult):
    """Result of a night (a dated run) of a watch.

    Attributes
    ----------
    says : activeeval.monitoring.series.NightContent
        Its values, its changes with verdicts, the number of unjudged items.
    step : WatchStep
        What this call drew and imported.
    """

    says: NightContent
    step: WatchStep

    @property
    def exit_code(self) -> int:
        """Exit code of the command line: 0 fine, 10 worse (an alarm), 11 undecided or items are unjudged."""
        return self.says.exit_code

    @property
    def sentences(self) -> list[str]:
        """Sentences about the night (a dated run), alarms first."""
        return [*night_sentences(self.says), *([] if self.says.findings else [waiting_sentence(self.says)])]

    @property
    def table(self) -> Sequence[Mapping[str, Cell]]:
        """Values and changes of the night (a dated run)."""
        return night_table(self.says) if self.says.findings else []

    @property
    def footnotes(self) -> list[str]:
        """Definitions of measures, intervals and verdicts."""
        return [meaning(self.says)] if self.says.findings else []

    def rows(self) -> list[dict[str, Cell]]:
        """Return values, changes, and values by segment, as the command line prints them."""
        return rows_of(self.says)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Nights(PrintableResult):
    """Results of the nights (dated runs) of a watch in order.

    Attributes
    ----------
    nights : list of NightContent
    spans : list of Answer
        The change from the first requested date to the last, by measure.
    """

    nights: Sequence[NightContent]
    spans: Sequence[Answer] = ()

    @property
    def sentences(self) -> list[str]:
        """Sentences about the change between the requested dates."""
        return span_sentences(self.spans)

    @property
    def table(self) -> Sequence[Mapping[str, Cell]]:
        """A row for each night (a dated run) and measure."""
        return series_table(self.nights)

    @property
    def footnotes(self) -> list[str]:
        """Definitions of measures, intervals and verdicts."""
        return [meaning(night) for night in self.nights[-1:]]

    def rows(self) -> list[dict[str, Cell]]:
        """Return the rows of all nights (dated runs), as the command line prints them."""
        rows = [row for night in self.nights for row in rows_of(night)]
        return rows + [change_row(change, self.nights[-1].settings) for change in self.spans]


class NightOptions(TypedDict, total=False):
    """Further options of `Watch.night`, which draws a night (a dated run).

    Attributes
    ----------
    judged : path, dict of dicts, data frame or Judgments, or a list of them
        Judgments known from other sources: they cost nothing.
    oracle : path, dict of dicts, data frame or Judgments
        Judge the drawn items at once by these grades.
    replace : bool
        Redraw the last night; its labels still count.
    documents, queries : str
        Tables of texts: a document whose text has changed loses its grade.
    machine_is_truth : bool
        Accept graders' grades in files of judgments as labels.
    """

    judged: Any
    oracle: Any
    replace: bool
    documents: str
    queries: str
    machine_is_truth: bool


class WatchOptions(TypedDict, total=False):
    """Further options of `create_watch`, fields of `Settings`; `half_width`: number, or segments mapped to numbers."""

    scope: str
    false_alarms: float
    budget_on_suspicion: float
    reference: str
    judges_per_item: int
    policy: str
    pool_depth: int
    model: str | Sequence[str]
    segments: str
    half_width: Any


@dataclass(slots=True, eq=False)
class Watch(StoreHandle):
    """A watch (an index followed from night to night) in a store, opened by `open_watch`.

    `close`, or the end of a ``with``, closes the store.

    Attributes
    ----------
    store : Store
    name : str

    Examples
    --------
    >>> import tempfile
    >>> from activeeval import create_watch
    >>> grades = {f"q{q}": {f"d{d}": (q + d) % 3 for d in range(6)} for q in range(20)}
    >>> old = {query: {doc: grade + 0.1 * int(doc[1:]) for doc, grade in of.items()} for query, of in grades.items()}
    >>> new = {query: {doc: -score for doc, score in docs.items()} for query, docs in old.items()}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with create_watch(f"{folder}/w.activeeval", "w", measure="DCG@3", budget=40, max_grade=2, seed=1) as watch:
    ...         first = watch.night(old, "2026-01-01", oracle=grades)
    ...         second = watch.night(new, "2026-01-02", oracle=grades)
    >>> first.exit_code, second.exit_code
    (0, 10)
    """

    @property
    def campaign(self) -> StoredCampaign:
        """The campaign in which the last night (a dated run) is judged, for writing sheets and claiming items."""
        return StoredCampaign(self.store, estimate_last_night(self.store, self.name).campaign)

    @checked
    def night(self, run: Any, date: str | None = None, **options: Unpack[NightOptions]) -> Night:
        """Draw a night (a dated run of the watch) for a run, and return its results so far.

        Parameters
        ----------
        run : path, dict of dicts or data frame
        date : str, optional
            For example 2026-11-25; by default today.
        options
            `NightOptions`: judged, oracle, replace, documents, queries, machine_is_truth.

        Raises
        ------
        InputError
            If an input cannot be read, the date has a night already or precedes the last, or the oracle lacks a grade.
        """
        check_names(options, NightOptions)
        truth, oracle = options.get("machine_is_truth", False), options.get("oracle")
        script = None if oracle is None else script_of(columns_of(oracle, "the oracle"), machine_is_truth=truth)
        tonight = NightInputs(
            run=os.fspath(run) if is_path(run) else run,
            date=date or day.today().isoformat(),
            judged=[columns_of(each, f"judged {k}") for k, each in enumerate(sources_of(options.get("judged")), 1)],
            documents=options.get("documents"),
            queries=options.get("queries"),
            machine_is_truth=truth,
            replaces=options.get("replace", False),
        )
        return self._last(take_night(self.store, self.name, tonight, script))

    @checked
    def submit(self, judged: Any = None, judge: str | None = None, *, machine_is_truth: bool = False) -> Night:
        """Import judgments, draw labels on suspicion if the last night (a dated run) looks bad, and return its results.

        Parameters
        ----------
        judged : path, dict of dicts, data frame or Judgments, or a list of them
            Judged sheets, of the last night or earlier ones; by default the judgments already in the store.
        judge : str, optional
            Name of the judge, for sources that name none.
        machine_is_truth : bool
            Accept graders' (LLMs', models') grades as labels.

        Raises
        ------
        InputError
            If the watch has no night, a source cannot be read, or a sheet is of no night of the watch.
        """
        numbered = enumerate(sources_of(judged), 1)
        sources = {
            str(each) if is_path(each) else f"judged {k}": columns_of(each, f"judged {k}") for k, each in numbered
        }
        name = None if judge is None else judge_of(judge)
        return self._last(take_judgments(self.store, self.name, sources, name, machine_is_truth=machine_is_truth))

    def status(self) -> Night:
        """Copy late judgments to other nights (dated runs) with the same items; return the last night's results."""
        return self._last(WatchStep(shared=share_labels(self.store, self.name)))

    @checked
    def estimate(self, begin: str = "", end: str = "") -> Nights:
        """Return the results of each night (a dated run); for two dates, also the change between them by all labels.

        Parameters
        ----------
        begin, end : str
            Dates of nights; by default the first and the last.

        Raises
        ------
        InputError
            If the watch has no night of one of these dates.
        """
        share_labels(self.store, self.name)
        return nights_of(self.store, self.name, begin, end)

    @checked
    def report(self, path: Any, *, force: bool = False) -> str:
        """Write a report of the nights (dated runs), .md with a chart beside it, and return the name of the file.

        Raises
        ------
        InputError
            If the name does not end in .md, or the file exists and `force` is not set.
        """
        share_labels(self.store, self.name)
        name = str(os.fspath(path))
        if not name.endswith(".md"):
            raise InputError(f"{name}: expected a name that ends in .md", field="path")
        if os.path.exists(name) and not force:
            raise InputError(f"{name} is there already: give another name, or `force`", field="force")
        write_page(self.name, estimate_nights(self.store, self.name), name)
        return name

    def _last(self, step: WatchStep) -> Night:
        """Build the result of the last night (a dated run), and issue its warnings; `step` is what a call did."""
        says = estimate_last_night(self.store, self.name)
        warn_of([("", says.cautions)])
        return Night(says=says, step=step)


def nights_of(store: Store, name: str, begin: str = "", end: str = "") -> Nights:
    """Estimate the nights (dated runs) of watch `name` from date `begin` to `end`; for two dates also their change."""
    nights = estimate_nights(store, name, begin, end)
    spans = change_between(store, name, begin, end) if begin and end and begin < end else []
    return Nights(nights=nights, spans=spans)


@checked
def create_watch(
    url: Any,
    name: str,
    *,
    measure: Any,
    budget: float,
    max_grade: int | None = None,
    margin: float = 0.0,
    seed: int | None = None,
    **options: Unpack[WatchOptions],
) -> Watch:
    """Set up a watch (an index followed from night to night) in a store, created if it does not exist.

    Parameters
    ----------
    url : path or str
        A file, or sqlite:///FILE or postgresql://USER@HOST/DATABASE.
    measure : str or measure, or a list of them
    budget : float
        New labels a night, on average; with half-widths, the upper limit.
    max_grade : int, optional
        The largest grade of the scale; by default the largest of the first night's judgments.
    margin : float
        The largest loss that does not matter, in the unit of the measure.
    seed : int, optional
        Seed of the random numbers that all nights share; by default a new one.
    options
        `WatchOptions`: segments, half_width, scope, false_alarms, reference, ….

    Raises
    ------
    InputError
        If the name is taken, or a setting is not valid.

    Examples
    --------
    >>> import tempfile
    >>> from activeeval import open_watch
    >>> run = {f"q{q}": {f"d{d}": float(d) for d in range(5)} for q in range(20)}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with create_watch(f"{folder}/w.activeeval", "w", measure="P@3", budget=30, max_grade=1, seed=1) as watch:
    ...         drawn = watch.night(run, "2026-01-01").says.waiting
    ...     with open_watch(f"{folder}/w.activeeval", "w") as watch:
    ...         print(drawn > 0, watch.status().says.waiting == drawn)
    True True
    """
    check_names(options, WatchOptions)
    if options.get("segments") is not None:
        file_name(options["segments"], "`segments`")  # the watch stores the file's name
    fields: dict[str, Any] = {"judges_per_item": 1, **options}
    fields |= {"measures": tuple(map(str, measures_of(measure)[0])), "models": tuple(fields.pop("model", ()))}
    fields |= {"budget": number(budget, "`budget`"), "max_grade": max_grade, "margin": margin}
    settings = Settings.chosen(seed, fields.pop("policy", None), **fields)
    return Watch(opened_with(url, lambda store: set_up(store, name, settings), create=True), name)


@checked
def open_watch(url: Any, name: str) -> Watch:
    """Open an existing watch (an index followed from night to night); `url` is a file or a database address.

    Raise InputError if the store or the watch does not exist.

    Examples
    --------
    >>> import tempfile
    >>> run = {f"q{q}": {f"d{d}": float(d) for d in range(5)} for q in range(20)}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     create_watch(f"{folder}/w.activeeval", "w", measure="P@3", budget=30, max_grade=1, seed=1).close()
    ...     with open_watch(f"{folder}/w.activeeval", "w") as watch:
    ...         watch.night(run, "2026-01-01").exit_code
    11
    """
    return Watch(opened_with(url, lambda store: store.watches.get(name)), name)
