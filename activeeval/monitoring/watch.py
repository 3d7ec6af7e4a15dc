"""A watch in a store: nights drawn, judgments taken in, what they say, the same as the command line's."""

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
    written_page,
)
from activeeval.monitoring.night_rows import change_row, rows_of
from activeeval.monitoring.series import NightContent, last_says, nights_say
from activeeval.monitoring.settings import Settings, set_up
from activeeval.monitoring.spans import change_between
from activeeval.monitoring.watch_steps import WatchStep, take_judgments, take_night
from activeeval.report.printable import PrintableResult
from activeeval.report.rendering import Cell


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Night(PrintableResult):
    """What a night of a watch says.

    Attributes
    ----------
    says : activeeval.monitoring.series.NightSays
        Its values, its changes with their verdicts, what waits.
    step : WatchStep
        What was drawn and taken in before that.
    """

    says: NightContent
    step: WatchStep

    @property
    def exit_code(self) -> int:
        """0 fine, 10 worse: an alarm, 11 undecided, or items wait."""
        return self.says.exit_code

    @property
    def sentences(self) -> list[str]:
        """What the night says, its alarms first."""
        return [*night_sentences(self.says), *([] if self.says.findings else [waiting_sentence(self.says)])]

    @property
    def table(self) -> Sequence[Mapping[str, Cell]]:
        """Its values and changes."""
        return night_table(self.says) if self.says.findings else []

    @property
    def footnotes(self) -> list[str]:
        """What the measures, intervals and verdicts are."""
        return [meaning(self.says)] if self.says.findings else []

    def rows(self) -> list[dict[str, Cell]]:
        """Return its values, its changes, its values by segment, as the command line has them."""
        return rows_of(self.says)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Nights(PrintableResult):
    """What the nights of a watch say, one after the other.

    Attributes
    ----------
    nights : list of NightSays
    spans : list of Answer
        The change from the first date that was asked for to the last, by measure.
    """

    nights: Sequence[NightContent]
    spans: Sequence[Answer] = ()

    @property
    def sentences(self) -> list[str]:
        """The change between the dates that were asked for."""
        return span_sentences(self.spans)

    @property
    def table(self) -> Sequence[Mapping[str, Cell]]:
        """A row for each measure of each night."""
        return series_table(self.nights)

    @property
    def footnotes(self) -> list[str]:
        """What the measures, intervals and verdicts are."""
        return [meaning(night) for night in self.nights[-1:]]

    def rows(self) -> list[dict[str, Cell]]:
        """Return the rows of all nights, as the command line has them."""
        rows = [row for night in self.nights for row in rows_of(night)]
        return rows + [change_row(change, self.nights[-1].settings) for change in self.spans]


class NightOptions(TypedDict, total=False):
    """What else `Watch.night` may be told.

    Attributes
    ----------
    judged : path, dict of dicts, data frame or Judgments, or a list of them
        Judgments that are known from elsewhere: they cost nothing.
    oracle : path, dict of dicts, data frame or Judgments
        Judge what is drawn at once by these.
    replace : bool
        Draw the last night anew; what was judged for it goes on counting.
    documents, queries : str
        Tables of texts: a document whose text has changed loses its grade.
    machine_is_truth : bool
        Take what machines say in files of judgments for labels.
    """

    judged: Any
    oracle: Any
    replace: bool
    documents: str
    queries: str
    machine_is_truth: bool


class WatchOptions(TypedDict, total=False):
    """What else `create_watch` may be told: see `activeeval.monitoring.settings.Settings`."""

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
    """A watch in a store; `open_watch` opens it, and `close`, or the end of a ``with``, closes the store.

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
        """The campaign in which the last night is judged: sheets are written of it, and items claimed."""
        return StoredCampaign(self.store, last_says(self.store, self.name).campaign)

    @checked
    def night(self, run: Any, date: str | None = None, **options: Unpack[NightOptions]) -> Night:
        """Take tonight's run, draw what is new, and return what the night says already.

        Parameters
        ----------
        run : path, dict of dicts or data frame
        date : str, optional
            As 2026-11-25; by default today.
        options
            `NightOptions`: judged, oracle, replace, documents, queries, machine_is_truth.
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
        """Take judgments in, and return what the last night says; labels on suspicion are drawn where it looks bad.

        Parameters
        ----------
        judged : path, dict of dicts, data frame or Judgments, or a list of them
            Judged sheets, of the last night or earlier ones; by default what a page has taken.
        judge : str, optional
            Whose they are, where a source names no judge.
        """
        named = enumerate(sources_of(judged), 1)
        sources = {str(each) if is_path(each) else f"judged {k}": columns_of(each, f"judged {k}") for k, each in named}
        who = None if judge is None else judge_of(judge)
        return self._last(take_judgments(self.store, self.name, sources, who, machine_is_truth=machine_is_truth))

    def status(self) -> Night:
        """Read the last night, once judgments that came late count for all nights."""
        return self._last(WatchStep(shared=share_labels(self.store, self.name)))

    @checked
    def estimate(self, begin: str = "", end: str = "") -> Nights:
        """Read each night; of two dates also the change from the one to the other, by all labels so far.

        Parameters
        ----------
        begin, end : str
            Dates of nights; by default the first and the last.
        """
        share_labels(self.store, self.name)
        return nights_of(self.store, self.name, begin, end)

    @checked
    def report(self, path: Any, *, force: bool = False) -> str:
        """Write what a team reads of a month, .md with a picture beside it, and return the name of the file."""
        share_labels(self.store, self.name)
        name = str(os.fspath(path))
        if not name.endswith(".md"):
            raise InputError(f"{name}: expected a name that ends in .md", field="path")
        if os.path.exists(name) and not force:
            raise InputError(f"{name} is there already: give another name, or `force`", field="force")
        written_page(self.name, nights_say(self.store, self.name), name)
        return name

    def _last(self, step: WatchStep) -> Night:
        says = last_says(self.store, self.name)
        warn_of([("", says.cautions)])
        return Night(says=says, step=step)


def nights_of(store: Store, name: str, begin: str = "", end: str = "") -> Nights:
    """Read the nights of a watch, and between two dates the change."""
    nights = nights_say(store, name, begin, end)
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
    """Set up a watch of an index, night after night, in a store that is made where there is none.

    Parameters
    ----------
    url : path or str
        A file, or sqlite:///FILE or postgresql://USER@HOST/DATABASE.
    measure : str or measure, or a list of them
    budget : float
        New labels a night, on average; at most, with half-widths.
    max_grade : int, optional
        The largest grade of the scale; by default that of the first night's judgments.
    margin : float
        The largest loss that does not matter.
    seed : int, optional
        Of the numbers that all nights share; by default a new one.
    options
        `WatchOptions`: segments, half_width, scope, false_alarms, reference, ….

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
        file_name(options["segments"], "`segments`")  # the watch keeps its name
    asked: dict[str, Any] = {"judges_per_item": 1, **options}
    asked |= {"measures": tuple(map(str, measures_of(measure)[0])), "models": tuple(asked.pop("model", ()))}
    asked |= {"budget": number(budget, "`budget`"), "max_grade": max_grade, "margin": margin}
    settings = Settings.chosen(seed, asked.pop("policy", None), **asked)
    return Watch(opened_with(url, lambda store: set_up(store, name, settings), create=True), name)


@checked
def open_watch(url: Any, name: str) -> Watch:
    """Open a watch where it is stored.

    Raises
    ------
    InputError
        Where there is no such store, or no such watch in it.

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
