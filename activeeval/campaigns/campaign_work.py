"""Methods of a stored campaign besides judging item by item: sheets, imports, budget, exports, checks."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, Unpack

from activeeval.campaigns import close_and_reopen
from activeeval.campaigns.batches import Lease, WrittenSheet, write_batches
from activeeval.campaigns.create_and_grow import NewCampaign
from activeeval.campaigns.draw import CampaignDrawing, topped_up
from activeeval.campaigns.exporting import FORMATS, ExportResult, exported
from activeeval.campaigns.import_judgments import ImportResult, take_files
from activeeval.campaigns.in_store import StoreHandle, store_url
from activeeval.campaigns.scripted_judge import judge_all, script_of
from activeeval.campaigns.seconds import MeasuredCosts, clocked
from activeeval.campaigns.store import open_store
from activeeval.campaigns.verifying import VerificationResult, verified
from activeeval.core.checks import one_of
from activeeval.core.errors import InputError
from activeeval.core.judgments.judge_names import judge_name
from activeeval.core.judgments.log import Event
from activeeval.inputs.arguments import budget_of, checked, columns_of, is_path, sources_of
from activeeval.sampling.sample import SampleOptions, requested
from activeeval.sampling.sheets import SheetOptions, check_free, sheet_plan

_LENT_S = 3 * 86_400


class CampaignWork(StoreHandle):
    """Methods of `activeeval.StoredCampaign` that correspond to ``activeeval campaign`` commands.

    `StoreHandle` holds the open store and the campaign's name.
    """

    __slots__ = ()

    @checked
    def next_batch(
        self,
        path: Any,
        *,
        items: int | None = None,
        lease_s: int = _LENT_S,
        ahead: bool = False,
        force: bool = False,
        **people: Unpack[SheetOptions],
    ) -> list[WrittenSheet]:
        """Write the waiting items of the lowest incomplete block to a sheet for each judge, and reserve them.

        A block is a part of the sample; at its end estimates are possible. Return one entry for each sheet.

        Parameters
        ----------
        path : path
            Sheet to write. With several judges, each gets a sheet next to it, named after the path and the judge.
        items : int, optional
            Maximum number of items for each judge.
        lease_s : int
            Seconds for which the items are reserved for their judge.
        ahead : bool
            True to take items of all blocks, False to take only items of the lowest incomplete block.
        force : bool
            True to overwrite existing files.
        people
            `SheetOptions`: judges, grade_names and guidelines.

        Raises
        ------
        InputError
            If no waiting item is free, the campaign does not support sheets, or a file exists.
        """
        plan = sheet_plan(path, **people)
        check_free(plan.paths, force=force)
        return write_batches(self.store, self.name, plan, Lease(seconds=lease_s, most=items, ahead=ahead))

    @checked
    def import_judgments(
        self, judged: Any, judge: str | None = None, *, keep_foreign: bool = False, machine_is_truth: bool = False
    ) -> ImportResult:
        """Store judgments of one or more sources, all of them or none; return a summary for each source.

        Parameters
        ----------
        judged : path, dict of dicts, data frame or Judgments, or a list of them
            Sheets of the campaign, judgments of any form, logs of campaigns.
        judge : str, optional
            The judge of sources that name none.
        keep_foreign : bool
            Store judgments of items that were never drawn, one event each; they do not count.
        machine_is_truth : bool
            True to accept grades of a grader (an LLM or other model) as judgments.

        Raises
        ------
        InputError
            If a source cannot be read, is the sheet of another sample, names no judge and none is given, or grades an
            item twice.
        """
        # data in memory is called "judged 1", "judged 2" … in messages
        named = enumerate(sources_of(judged), 1)
        sources = {str(item) if is_path(item) else f"judged {k}": columns_of(item, f"judged {k}") for k, item in named}
        named_by = None if judge is None else judge_of(judge)
        options = {"keep_foreign": keep_foreign, "machine_is_truth": machine_is_truth}
        return ImportResult(files=tuple(take_files(self.store, self.name, sources, named_by, **options)))

    @checked
    def judge(
        self,
        judge: str,
        judgments: Any,
        *,
        limit: int | None = None,
        unjudged: str = "error",
        machine_is_truth: bool = False,
    ) -> int:
        """Judge items with known grades: claim and submit one item after another; return the number of items.

        In top-k judging, comparisons of two documents are answered by their grades and counted.

        Parameters
        ----------
        judge : str
            Name under which the answers are stored.
        judgments : path, dict of dicts, data frame or Judgments
            Source of the grades.
        limit : int, optional
            Maximum number of items to judge.
        unjudged : {"error", "irrelevant"}
            What to do with a claimed item that has no grade in ``judgments``: raise InputError, or give grade 0.
        machine_is_truth : bool
            True to accept a grader's (an LLM's or other model's) grades as judgments.
        """
        script = script_of(columns_of(judgments, "the judgments"), machine_is_truth=machine_is_truth)
        options: dict[str, Any] = {"limit": limit, "unjudged": unjudged, "machine": script.machine}
        return sum(1 for _ in judge_all(self.store, self.name, judge_of(judge), script.grades, **options))

    @checked
    def retract(self, seq: int, judge: str, reason: str = "") -> Event:
        """Retract a judgment: its item waits for a judge again.

        Return the stored event.

        Parameters
        ----------
        seq : int
            Number of the judgment's event.
        judge : str
            Who retracts it.
        reason : str
            Required to retract another judge's judgment.

        Raises
        ------
        StateError
            If the event is not a valid answer.
        InputError
            If it is another judge's judgment and no reason is given.
        """
        return self.store.retract(self.name, seq, judge_of(judge), reason).event

    @checked
    def top_up(self, budget: Any, *, documents: str | None = None, queries: str | None = None) -> NewCampaign:
        """Add to the budget: extend the same sample by one block (part); return a summary of what was drawn.

        Parameters
        ----------
        budget : int, float or str
            Amount to add: a number of items, or a share of the pool as "10%".
        documents, queries : str, optional
            Tables of the texts that judges read; by default those given when the campaign was created.

        Raises
        ------
        InputError
            If the budget is missing or not valid.
        StateError
            If the campaign has several rounds (samples drawn one after another).
        """
        added = budget_of(budget)
        if added is None:
            raise InputError("expected a budget to add, got none", field="budget")
        sample, seq = topped_up(self.store, self.name, added, documents=documents, queries=queries)
        return NewCampaign.of(self.store, self.name, self.store.place, sample, seq)

    @checked
    def redraw(
        self, runs: Any, measure: Any = (), *, by_clock: bool | None = None, **asked: Unpack[RoundOptions]
    ) -> NewCampaign:
        """Draw a further sample (round) with a grade model fitted to all judgments so far; return what was drawn.

        Parameters
        ----------
        runs, measure, asked
            Runs to compare (paths, dicts or frames), measures, and further options of `activeeval.sample`, for the same
            pool; by default the campaign's measures and questions. ``documents`` and ``queries`` are tables of the
            texts that judges read.
        by_clock : bool, optional
            True to use the measured judging times as costs of items and queries, where they exist; by default True
            unless ``cost`` or ``overhead`` is given.

        Raises
        ------
        StateError
            If an item is still waiting for a judge.
        InputError
            If the round has other questions or another pool, or no budget.
        """
        options: dict[str, Any] = {**asked}
        texts = {name: options.pop(name, None) for name in ("documents", "queries")}
        # `requested` needs a measure: without any, "DCG" stands in and is removed again
        is_asked = not (measure is None or (isinstance(measure, (str, tuple, list)) and not measure))
        choices, request = requested(runs, measure if is_asked else "DCG", **options)
        request = request if is_asked else replace(request, measures=())
        draws = CampaignDrawing(opened=lambda: nullcontext(self.store), name=self.name, place=self.store.place, **texts)
        if by_clock is None:  # costs that are passed take the place of measured times
            by_clock = not asked.keys() & {"cost", "overhead"}
        _, summary = draws.further_round(choices, request, by_clock=by_clock)
        return summary

    @checked
    def export(self, kind: str, path: Any = None, *, as_of: int | None = None, force: bool = False) -> ExportResult:
        """Write judgments, weights or the log for other tools; without a path, the result holds the text.

        Parameters
        ----------
        kind : {"qrels", "prels", "jsonl", "csv", "weights", "quepid", "rank-eval"}
            Grades; grades of complete blocks (parts of the sample) with inclusion probabilities; all events; a row for
            each judge's grade; probability and weight of each item; ratings for Quepid; a request for Elasticsearch and
            OpenSearch. ``to_frame`` of the result returns the rows of csv, weights and quepid.
        as_of : int, optional
            Number of an event in the log; by default the last.
        force : bool
            True to overwrite an existing file.

        Raises
        ------
        InputError
            If the kind is unknown, there is no such event, or the file exists or cannot be written.
        StateError
            If the sample does not support the kind yet, for example before the first complete block.
        """
        one_of(kind, FORMATS, "`kind`")
        check_free([] if path is None else [path], force=force)
        return exported(self.store, self.name, kind, path, as_of)

    @checked
    def verify(self, head: str | None = None) -> VerificationResult:
        """Check that the log is intact and that drawing the sample again yields the one that was judged.

        Parameters
        ----------
        head : str, optional
            The ``head`` of an earlier check: also check that the log then is the beginning of the log now.
        """
        return verified(self.store, self.name, head)

    @checked
    def cost(self, documents: str | None = None) -> MeasuredCosts:
        """Fit judging time from the judges' clocks: seconds for an item, by length and grade, and for opening a query.

        Parameters
        ----------
        documents : str, optional
            A table of texts, for the lengths of documents that were not drawn; by default they have the mean length.

        Raises
        ------
        InputError
            If no judgment has a time.
        """
        return clocked(self.store, self.name, documents)

    def stop(self) -> int:
        """Stop giving out items; return the number of judgments held back.

        Items already given out may still be answered. Raises StateError if no item is free.
        """
        return close_and_reopen.close(self.store, self.name)

    def reopen(self) -> int:
        """Give out again the items that `stop` held back; return the number of judgments.

        Raises StateError if the campaign is not closed.
        """
        return close_and_reopen.reopen(self.store, self.name)


class RoundOptions(SampleOptions, total=False):
    """Further options of `StoredCampaign.redraw`, besides those of `activeeval.sample`.

    Attributes
    ----------
    budget : int, float or str
        Amount to judge: a number of items, or a share of the pool as "10%".
    max_grade : int
        Largest grade of the scale.
    names : sequence of str
        Names of the runs.
    seed : int
    documents : str
        Table of the documents' texts.
    """

    budget: Any
    max_grade: int
    names: Sequence[str]
    seed: int
    documents: str


def judge_of(name: str) -> str:
    """Normalize a judge's name for storage: blanks and capitals do not distinguish judges.

    Raises InputError if the name is empty.
    """
    normalized = judge_name(name)
    if not normalized:
        raise InputError("a judge must have a name, got an empty one", field="judge")
    return normalized


@checked
def list_campaigns(url: Any) -> list[str]:
    """List the names of the campaigns in a store, sorted.

    Parameters
    ----------
    url : path or str
        A file, or sqlite:///FILE or postgresql://USER@HOST/DATABASE.

    Raises
    ------
    InputError
        If the store does not exist or is not a store of activeeval.

    Examples
    --------
    >>> import tempfile
    >>> from activeeval import create_campaign, sample
    >>> run = {f"q{q}": {f"d{d}": float(d) for d in range(5)} for q in range(10)}
    >>> drawn = sample(run, measure="P@3", budget=20, max_grade=1, seed=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     create_campaign(drawn, f"{folder}/week1.activeeval", "week1").close()
    ...     list_campaigns(f"{folder}/week1.activeeval")
    ['week1']
    """
    with open_store(store_url(url)) as store:
        return store.campaigns()
