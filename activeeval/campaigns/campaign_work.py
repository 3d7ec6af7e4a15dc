"""What is done with a campaign beside judging item by item: sheets, imports, more budget, exports, checks."""

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
    """Methods of `activeeval.StoredCampaign` that commands of ``campaign`` have."""

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
        """Write the sheet of what waits in the lowest open block, of several judges one each; it is lent to its judge.

        Parameters
        ----------
        path : path
            Of several judges each has a sheet of his own beside it, named after both.
        items : int, optional
            The most items for each judge.
        lease_s : int
            Seconds for which what is written is the judge's.
        ahead : bool
            Of all blocks, not of the lowest one alone that is not complete.
        people
            `SheetOptions`: judges, grade_names and guidelines.
        """
        plan = sheet_plan(path, **people)
        check_free(plan.paths, force=force)
        return write_batches(self.store, self.name, plan, Lease(seconds=lease_s, most=items, ahead=ahead))

    @checked
    def import_judgments(
        self, judged: Any, judge: str | None = None, *, keep_foreign: bool = False, machine_is_truth: bool = False
    ) -> ImportResult:
        """Store judgments, all of them or none, and return what became of each source.

        Parameters
        ----------
        judged : path, dict of dicts, data frame or Judgments, or a list of them
            Sheets of the campaign, judgments of any form, logs of campaigns.
        judge : str, optional
            Whose they are, where a source names no judge.
        keep_foreign : bool
            Keep judgments of items that were never drawn, an event each; they do not count.
        """
        named = enumerate(sources_of(judged), 1)
        sources = {str(each) if is_path(each) else f"judged {k}": columns_of(each, f"judged {k}") for k, each in named}
        who = None if judge is None else judge_of(judge)
        how = {"keep_foreign": keep_foreign, "machine_is_truth": machine_is_truth}
        return ImportResult(files=tuple(take_files(self.store, self.name, sources, who, **how)))

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
        """Claim and submit one item after another by judgments that there are; return how many.

        Parameters
        ----------
        judgments : path, dict of dicts, data frame or Judgments
            Where the grades are looked up.
        limit : int, optional
            The most items to judge.
        unjudged : {"error", "irrelevant"}
            What an item is that is asked for and has no grade there.
        """
        script = script_of(columns_of(judgments, "the judgments"), machine_is_truth=machine_is_truth)
        how: dict[str, Any] = {"limit": limit, "unjudged": unjudged, "machine": script.machine}
        return sum(1 for _ in judge_all(self.store, self.name, judge_of(judge), script.grades, **how))

    @checked
    def retract(self, seq: int, judge: str, reason: str = "") -> Event:
        """Take a judgment back: its item waits again.

        Parameters
        ----------
        seq : int
            The event of the judgment.
        judge : str
            Whose it is.
        """
        return self.store.retract(self.name, seq, judge_of(judge), reason).event

    @checked
    def top_up(self, budget: Any, *, documents: str | None = None, queries: str | None = None) -> NewCampaign:
        """Add to the budget: the same sample, and one more block of it; return what was drawn.

        Parameters
        ----------
        documents, queries : str, optional
            Tables of what judges read; by default those that the campaign was made with.
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
        """Draw a further round, with a grade model that has learned from all that is judged; return what was drawn.

        Parameters
        ----------
        runs, measure, asked
            As of `activeeval.sample`, for the same pool; by default for the measures and questions that the campaign
            was made for. ``documents`` and ``queries`` as of
            `top_up`.
        by_clock : bool
            Items and queries cost what the judges' clocks say, where a time was taken; by default unless ``cost`` or
            ``overhead`` say what they cost.

        Raises
        ------
        StateError
            Where an item waits.
        """
        options: dict[str, Any] = {**asked}
        texts = {name: options.pop(name, None) for name in ("documents", "queries")}
        choices, request = requested(runs, measure or "DCG", **options)
        request = request if measure else replace(request, measures=())
        draws = CampaignDrawing(opened=lambda: nullcontext(self.store), name=self.name, place=self.store.place, **texts)
        if by_clock is None:
            by_clock = not asked.keys() & {"cost", "overhead"}
        return draws.further_round(choices, request, by_clock=by_clock)[1]

    @checked
    def export(self, kind: str, path: Any = None, *, as_of: int | None = None, force: bool = False) -> ExportResult:
        """Write judgments, weights or the log for other tools; without a path the result holds the text.

        Parameters
        ----------
        kind : {"qrels", "prels", "jsonl", "csv", "weights", "quepid", "rank-eval"}
            ``to_frame`` of csv, weights and quepid has their rows.
        as_of : int, optional
            An event of the log; by default the last.
        """
        one_of(kind, FORMATS, "`kind`")
        check_free([] if path is None else [path], force=force)
        return exported(self.store, self.name, kind, path, as_of)

    @checked
    def verify(self, head: str | None = None) -> VerificationResult:
        """Check that the log is whole, and that the sample, drawn again, is the one that was judged.

        Parameters
        ----------
        head : str, optional
            The ``head`` of an earlier check: the log of then must be where this one began.
        """
        return verified(self.store, self.name, head)

    @checked
    def cost(self, documents: str | None = None) -> MeasuredCosts:
        """Fit what judging takes by the judges' clocks: seconds for an item, its length, its grade, a new query.

        Parameters
        ----------
        documents : str, optional
            A table of texts: how long documents are that were not drawn.
        """
        return clocked(self.store, self.name, documents)

    def stop(self) -> int:
        """Give out nothing more, and return how many judgments are held back; what is in hand may be answered."""
        return close_and_reopen.close(self.store, self.name)

    def reopen(self) -> int:
        """Give out again what was open when the campaign was stopped, and return how many judgments that are."""
        return close_and_reopen.reopen(self.store, self.name)


class RoundOptions(SampleOptions, total=False):
    """What else `StoredCampaign.redraw` may be told.

    Attributes
    ----------
    budget : int, float or str
    max_grade : int
    names : sequence of str
    seed : int
    documents : str
    """

    budget: Any
    max_grade: int
    names: Sequence[str]
    seed: int
    documents: str


def judge_of(name: str) -> str:
    """Return a judge's name as it is kept; blanks and capitals tell nobody apart."""
    held = judge_name(name)
    if not held:
        raise InputError("a judge must have a name, got an empty one", field="judge")
    return held


@checked
def list_campaigns(url: Any) -> list[str]:
    """Return the names of the campaigns of a store, sorted.

    Parameters
    ----------
    url : path or str
        As of `open_campaign`.

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
