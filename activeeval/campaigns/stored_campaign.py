"""Python interface to campaigns in a store: claims, answers, estimates and reports, equal to the command line's."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypedDict, Unpack

from activeeval.campaigns.assignments import desk_of
from activeeval.campaigns.campaign_work import CampaignWork, judge_of
from activeeval.campaigns.create_and_grow import check_rules, create
from activeeval.campaigns.draw import rules_for
from activeeval.campaigns.estimates_over_time import readings_of
from activeeval.campaigns.grader_audit import audit_of
from activeeval.campaigns.in_store import opened_with
from activeeval.campaigns.report.collect import summary
from activeeval.campaigns.report.page import SUFFIXES, campaign_text
from activeeval.campaigns.state import CampaignState, state_of
from activeeval.campaigns.status import CampaignStatus, estimates_of, reached, status
from activeeval.campaigns.store import ItemClaim, JudgeAnswer, checked_name
from activeeval.core.checks import brief, check_names
from activeeval.core.errors import InputError
from activeeval.core.estimation import check_scope
from activeeval.core.judgments.log import Event
from activeeval.formats.tables.frames import frame_of
from activeeval.formats.writing import write_atomically
from activeeval.graders.audit_result import AuditResult, audited_of
from activeeval.inputs.arguments import checked, graders_of, measures_of, warn_of
from activeeval.inputs.systems import direction
from activeeval.inputs.texts import texts_of as words_of
from activeeval.report.message_lookup import text_of
from activeeval.report.result_pictures import EarlyReading
from activeeval.sampling.answers import SampleAnswer
from activeeval.sampling.results import Result, Results, results_of
from activeeval.sampling.sample_result import Sample, check_sample, file_of


class AnswerOptions(TypedDict, total=False):
    """Further options of `StoredCampaign.submit`.

    Attributes
    ----------
    cannot : str
        Why the item cannot be judged.
    later, tie : bool
        True to defer the item, and True if two documents are equally good.
    preferred, discard : str
        The better one of two documents, and one of them to remove from its query.
    key : str
        Sending the same key again returns the stored answer. By default derived from the token.
    active_ms : int
        Milliseconds of the judge's activity.
    """

    cannot: str | None
    later: bool
    preferred: str | None
    tie: bool
    discard: str | None
    key: str | None
    active_ms: int | None


class RuleOptions(TypedDict, total=False):
    """Further rules of how a campaign is judged.

    Attributes
    ----------
    judges_per_item : int
        Number of judges for each item; by default 1, or 2 with ``adjudicate``.
    adjudicate : bool
        True for two judges for each item, and a third where they differ.
    strict_order : bool
        True to give items out in order, without deferring; estimates are then possible at any time.
    """

    judges_per_item: int
    adjudicate: bool
    strict_order: bool


@dataclass(slots=True, eq=False)
class StoredCampaign(CampaignWork):
    """A campaign in a store, opened by `open_campaign`; `close`, or the end of a ``with`` block, closes the store.

    Attributes
    ----------
    store : Store
        The open store.
    name : str
        Name of the campaign.

    Examples
    --------
    >>> import tempfile
    >>> from activeeval import create_campaign, sample
    >>> run = {f"q{q}": {f"d{d}": float(d) for d in range(5)} for q in range(10)}
    >>> drawn = sample(run, measure="P@3", budget=20, max_grade=1, seed=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with create_campaign(drawn, f"{folder}/week1.activeeval", "week1") as campaign:
    ...         while (item := campaign.claim("ann")) is not None:
    ...             _ = campaign.submit(item, int(item.query_id[1:]) % 2)
    ...         print(campaign.status()["judged"], campaign.estimate().measure)
    20 P@3
    """

    @checked
    def claim(self, judge: str) -> ItemClaim | None:
        """Claim the next item for a judge, with its texts and token; None if nothing is left for this judge."""
        return desk_of(self.store, self.name).claim(judge_of(judge))

    @checked
    def submit(self, claimed: ItemClaim | str, grade: int | None = None, **answer: Unpack[AnswerOptions]) -> Event:
        """Store the answer to an item; return the stored event, of kind ``late`` if the answer does not count.

        Parameters
        ----------
        claimed : ItemClaim or str
            The result of `claim`, or its token.
        grade : int, optional
            The grade; otherwise give ``cannot`` or ``later``, or for a pair ``preferred``, ``tie`` or ``discard``.
        answer
            `AnswerOptions`: cannot, later, preferred, tie, discard, key and active_ms.

        Raises
        ------
        InputError, StateError
            If the answer or the token is not valid; if another answer is stored under the same key.
        """
        key, judgment = answer.get("key"), _judgment(grade, answer)
        if not isinstance(claimed, (str, ItemClaim)):
            raise InputError(f"`claimed` is what `claim` returned, or its token, got {brief(claimed)}", field="claimed")
        token = claimed if isinstance(claimed, str) else claimed.token
        return desk_of(self.store, self.name).submit(token, judgment, key).event

    @checked
    def status(self, as_of: int | None = None) -> CampaignStatus:
        """Compute the progress as of an event, by default the last: budget spent and left, items judged and waiting."""
        state = self._at(as_of)
        goal = reached(state)
        return CampaignStatus(status=status(state, self.store), goal="" if goal is None else text_of(goal))

    @checked
    def estimate(
        self,
        *,
        measure: Any = None,
        questions: Any = (),
        contrasts: str | None = None,
        scope: str = "pool",
        interval: str = "t",
        confidence: float = 0.95,
        as_of: int | None = None,
    ) -> Result | Results:
        """Estimate the campaign's questions from its complete blocks: one result for one question, else a list.

        A block is a part of the sample. By default the questions are those that the sample was drawn for.

        Parameters
        ----------
        measure, questions, contrasts
            Measures, as "P@5"; kinds of question: "difference", "run", "versus"; pairs of systems: "all", "first".
        scope : {"pool", "population"}
            Estimate for the pool's queries, or for all queries that these are a sample of.
        interval : {"t", "group-sequential"}
            Valid for one analysis, or for an analysis at the end of each block.
        as_of : int, optional
            Number of an event in the log; by default the last.

        Raises
        ------
        StateError
            If no block is complete.
        """
        measures = [] if measure is None else measures_of(measure)[0]
        state, question_names = self._at(as_of), tuple(questions or ())
        options: dict[str, Any] = {"scope": check_scope(scope), "kind": interval, "confidence": confidence}
        estimates = estimates_of(state, measures, question_names, contrasts, **options)
        warn_of([(answer.title, answer.estimate.cautions) for answer in estimates.answers])
        is_as_made = not measures and not question_names and contrasts is None  # only these have values over time
        return results_of(estimates, partial(_moments, state, scope, confidence) if is_as_made else None)

    @checked
    def audit(
        self,
        graders: Any,
        *,
        measure: Any = None,
        questions: Any = (),
        scope: str = "pool",
        confidence: float = 0.95,
        as_of: int | None = None,
    ) -> AuditResult:
        """Audit graders (LLMs or other models) against the campaign's judgments.

        `measure` and `questions` are by default those of the sample; the intervals of `scope` pool are about these
        queries, else about those like them; `as_of` is the number of the last event that counts, by default all count.
        Raise StateError if no block (part of the sample) is complete.
        """
        measures = [] if measure is None else measures_of(measure)[0]
        options: dict[str, Any] = {"scope": check_scope(scope), "confidence": confidence}
        return audited_of(audit_of(self._at(as_of), graders_of(graders), measures, tuple(questions or ()), **options))

    @checked
    def report(
        self,
        path: Any,
        *,
        graders: Any = None,
        scope: str = "pool",
        confidence: float = 0.95,
        as_of: int | None = None,
        force: bool = False,
    ) -> str:
        """Write a report of the campaign as .html, .md or .json; return the name of the file.

        Parameters
        ----------
        graders : path, data frame, Judgments or Grades, a list of them, or a dict of names to them, optional
            Graders (LLMs or other models) to audit in a section of the report.
        scope, confidence, as_of
            Queries that the estimates are about ("pool" or "population"), confidence, last event; as for `estimate`.
        force : bool
            True to overwrite an existing file; without it, that raises InputError.
        """
        name = str(os.fspath(path))
        suffix = Path(name.lower().removesuffix(".gz")).suffix
        if suffix not in SUFFIXES:
            raise InputError(f"{name}: expected a name that ends in {', '.join(SUFFIXES)}")
        if os.path.exists(name) and not force:
            raise InputError(f"{name} is there already: give another name, or `force`", field="force")
        summed = summary(
            self.store, self.name, as_of, scope=check_scope(scope), confidence=confidence, graders=graders_of(graders)
        )
        with write_atomically(name) as handle:
            handle.write(campaign_text(summed, suffix))
        return name

    @checked
    def log(self, kind: str = "") -> Any:
        """Return all events as a data frame; ``kind`` is its library ("pandas", "polars" or "pyarrow", "" for any)."""
        names = ("seq", "kind", "judge", "query_id", "doc_id", "unit", "grade", "reason", "at")
        events = self.store.events(self.name)
        return frame_of([{name: getattr(event, name) for name in names} for event in events], kind, names)

    def _at(self, as_of: int | None) -> CampaignState:
        """Load the campaign's state as of event ``as_of``, by default the last."""
        return state_of(self.store, self.name, as_of)


@checked
def open_campaign(url: Any, name: str) -> StoredCampaign:
    """Open a campaign in an existing store.

    Parameters
    ----------
    url : path or str
        A file, or sqlite:///FILE or postgresql://USER@HOST/DATABASE.
    name : str

    Raises
    ------
    InputError
        If the store does not exist, or has no such campaign.

    Examples
    --------
    >>> import tempfile
    >>> from activeeval import create_campaign, sample
    >>> run = {f"q{q}": {f"d{d}": float(d) for d in range(5)} for q in range(10)}
    >>> drawn = sample(run, measure="P@3", budget=20, max_grade=1, seed=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with create_campaign(drawn, f"{folder}/week1.activeeval", "week1") as campaign:
    ...         item = campaign.claim("ann")
    ...         event = campaign.submit(item, 1)
    ...     with open_campaign(f"{folder}/week1.activeeval", "week1") as campaign:
    ...         print(campaign.status()["judged"], event.grade)
    1 1
    """
    return StoredCampaign(opened_with(url, lambda store: store.campaign(checked_name(name))), name)


def _judgment(grade: int | None, answer: AnswerOptions) -> JudgeAnswer:
    """Build an answer from its options; raise InputError unless exactly one kind of answer is given."""
    check_names(answer, AnswerOptions)
    values: dict[str, Any] = {"grade": grade} | {name: value for name, value in answer.items() if name != "key"}
    n_values = sum(values.get(name) is not None for name in ("grade", "preferred", "discard", "cannot"))
    if n_values + values.get("tie", False) + values.get("later", False) != 1:
        raise InputError("give one of `grade`, `cannot` and `later`, or of two documents `preferred`, `tie`, `discard`")
    if "cannot" in values and not values["cannot"].strip():
        raise InputError("`cannot` needs the reason why the item cannot be judged, got an empty one", field="cannot")
    return JudgeAnswer.of(**values)


def _moments(state: CampaignState, scope: str, confidence: float, answer: SampleAnswer) -> list[EarlyReading]:
    """List the estimates over time of the question of ``answer``, one of the campaign's own, with finite intervals."""
    questions = [(question.title, str(question.target.measure)) for question in state.sample.made_for]
    index = questions.index((direction(answer.system, answer.versus), str(answer.target.measure)))
    moments = []
    for moment in readings_of(state, scope, confidence):
        ends = moment.answers[index]  # the question's value and interval; `spent` is in mean items
        if math.isfinite(ends.value) and math.isfinite(ends.low) and math.isfinite(ends.high):
            moments.append(EarlyReading(n_items=round(moment.spent), value=ends.value, low=ends.low, high=ends.high))
    return moments


@checked
def create_campaign(
    sample: Sample,
    url: Any,
    name: str,
    *,
    policy: str | None = None,
    lease_s: int = 900,
    documents: str | None = None,
    queries: str | None = None,
    **rules: Unpack[RuleOptions],
) -> StoredCampaign:
    """Store a sample as a new campaign, ready for judges; the store is created if it does not exist.

    Parameters
    ----------
    sample : Sample
        Drawn by `activeeval.sample`, without judgments.
    url : path or str
        A file, or sqlite:///FILE or postgresql://USER@HOST/DATABASE.
    name : str
        Name of the campaign.
    policy : {"majority", "median", "mean-gain"}, optional
        How several judges' grades of an item are combined. By default majority; with an even number of judges
        mean-gain, with ``adjudicate`` median.
    lease_s : int
        Seconds for which a claimed item is reserved for its judge.
    documents, queries : str, optional
        Files with the texts that judges read, by document id and by query id.
    rules
        `RuleOptions`: judges_per_item, adjudicate and strict_order.

    Raises
    ------
    InputError
        If the name is taken or not valid, or the sample cannot be judged by these rules.

    Examples
    --------
    >>> import tempfile
    >>> from activeeval import sample
    >>> run = {f"q{q}": {f"d{d}": float(d) for d in range(5)} for q in range(10)}
    >>> drawn = sample(run, measure="P@3", budget=20, max_grade=1, seed=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with create_campaign(drawn, f"{folder}/week1.activeeval", "week1") as campaign:
    ...         print(campaign.status()["free"])
    20
    """
    check_sample(sample)
    check_names(rules, RuleOptions)
    rule_options: dict[str, Any] = {"judges_per_item": None, "adjudicate": False, "strict_order": False, **rules}
    measures = [str(target.measure) for target in sample.drawn.campaign.design.targets]
    judging_rules = rules_for(measures, policy=policy, lease_s=lease_s, **rule_options)
    check_rules(sample.drawn, judging_rules)
    words, _ = words_of(sample.drawn.pairs, name, documents, file_of(queries))
    beside = {"seed": sample.seed, "half_width": None}
    opened_store = opened_with(
        url, lambda store: create(store, name, sample.drawn, judging_rules, texts=words, beside=beside), create=True
    )
    return StoredCampaign(opened_store, name)
