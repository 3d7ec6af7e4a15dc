"""Campaigns in a store: items claimed and judged, estimates and reports, the same as the command line's."""

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
    """What else `StoredCampaign.submit` may be told.

    Attributes
    ----------
    cannot : str
        Why it cannot be judged.
    later : bool
        For another judge, or for later.
    preferred : str
        Of two documents the better one.
    tie : bool
        Of two documents: they are alike.
    discard : str
        Of two documents: throw this one out of its query.
    key : str
        The same key again is answered as it was the first time. Default: that of the token.
    active_ms : int
        How long the judge looked at it.
    """

    cannot: str | None
    later: bool
    preferred: str | None
    tie: bool
    discard: str | None
    key: str | None
    active_ms: int | None


class RuleOptions(TypedDict, total=False):
    """How else a campaign is judged.

    Attributes
    ----------
    judges_per_item : int
        By default 1.
    adjudicate : bool
        An item has two judges, and a third one where they differ.
    strict_order : bool
        Items are claimed in their order and none is put off.
    """

    judges_per_item: int
    adjudicate: bool
    strict_order: bool


@dataclass(slots=True, eq=False)
class StoredCampaign(CampaignWork):
    """A campaign in a store; `open_campaign` opens it, and `close`, or the end of a ``with``, closes the store.

    Attributes
    ----------
    store : Store
    name : str

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
        """Return the next item for a judge, with its texts and its token; None where nothing is left for this judge."""
        return desk_of(self.store, self.name).claim(judge_of(judge))

    @checked
    def submit(self, claimed: ItemClaim | str, grade: int | None = None, **answer: Unpack[AnswerOptions]) -> Event:
        """Store the answer to an item, and return it as it is stored; of kind ``late`` where it does not count.

        Parameters
        ----------
        claimed : Claimed or str
            What `claim` returned, or its token.
        grade : int, optional
            The grade; or one of ``cannot``, ``later``, and of two documents ``preferred``, ``tie``, ``discard``.
        answer
            `AnswerOptions`: cannot, later, preferred, tie, discard, key and active_ms.
        """
        key, judgment = answer.get("key"), _judgment(grade, answer)
        if not isinstance(claimed, (str, ItemClaim)):
            raise InputError(f"`claimed` is what `claim` returned, or its token, got {brief(claimed)}", field="claimed")
        token = claimed if isinstance(claimed, str) else claimed.token
        return desk_of(self.store, self.name).submit(token, judgment, key).event

    @checked
    def status(self, as_of: int | None = None) -> CampaignStatus:
        """Return how far the campaign is: spent and left, judged and waiting."""
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
        """Return what the campaign answers: one result where one question was asked, else a list.

        Parameters
        ----------
        as_of : int, optional
            An event of the log; by default the last. All others are as of `Sample.estimate`.

        Raises
        ------
        StateError
            Where no block is complete.
        """
        measures = [] if measure is None else measures_of(measure)[0]
        state, asked = self._at(as_of), tuple(questions or ())
        how: dict[str, Any] = {"scope": check_scope(scope), "kind": interval, "confidence": confidence}
        estimates = estimates_of(state, measures, asked, contrasts, **how)
        warn_of([(answer.title, answer.estimate.cautions) for answer in estimates.answers])
        is_as_made = not measures and not asked and contrasts is None
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
        """Return what the campaign says of machines' grades: arguments as of `Sample.audit`.

        Raises
        ------
        StateError
            Where no block is complete.
        """
        measures = [] if measure is None else measures_of(measure)[0]
        how: dict[str, Any] = {"scope": check_scope(scope), "confidence": confidence}
        return audited_of(audit_of(self._at(as_of), graders_of(graders), measures, tuple(questions or ()), **how))

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
        """Write what a team reads of its campaign, .html, .md or .json, and return the name of the file.

        Parameters
        ----------
        graders : path, data frame, Judgments or Grades, a list of them, or a dict of names to them, optional
            Machines whose grades are audited in a section of it.
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
        """Return every event as a data frame; ``kind`` as of `Sample.sheet`."""
        names = ("seq", "kind", "judge", "query_id", "doc_id", "unit", "grade", "reason", "at")
        events = self.store.events(self.name)
        return frame_of([{name: getattr(event, name) for name in names} for event in events], kind, names)

    def _at(self, as_of: int | None) -> CampaignState:
        return state_of(self.store, self.name, as_of)


@checked
def open_campaign(url: Any, name: str) -> StoredCampaign:
    """Open a campaign where it is stored.

    Parameters
    ----------
    url : path or str
        A file, or sqlite:///FILE or postgresql://USER@HOST/DATABASE.
    name : str

    Raises
    ------
    InputError
        Where there is no such store, or no such campaign in it.

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
    """Return what an answer says; raises InputError where it says nothing, or several things."""
    check_names(answer, AnswerOptions)
    said: dict[str, Any] = {"grade": grade} | {name: value for name, value in answer.items() if name != "key"}
    n_values = sum(said.get(name) is not None for name in ("grade", "preferred", "discard", "cannot"))
    if n_values + said.get("tie", False) + said.get("later", False) != 1:
        raise InputError("give one of `grade`, `cannot` and `later`, or of two documents `preferred`, `tie`, `discard`")
    if "cannot" in said and not said["cannot"].strip():
        raise InputError("`cannot` says why it cannot be judged, got nothing", field="cannot")
    return JudgeAnswer.of(**said)


def _moments(state: CampaignState, scope: str, confidence: float, answer: SampleAnswer) -> list[EarlyReading]:
    """Return what the campaign said over time, of the questions that it was made for."""
    asked = [(each.title, str(each.target.measure)) for each in state.sample.made_for]
    place = asked.index((direction(answer.system, answer.versus), str(answer.target.measure)))
    moments = []
    for moment in readings_of(state, scope, confidence):
        ends = moment.answers[place]
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
    """Put a sample into a store, made where there is none, and return the campaign, ready for judges.

    Parameters
    ----------
    sample : Sample
    url : path or str
        A file, or sqlite:///FILE or postgresql://USER@HOST/DATABASE.
    policy : {"majority", "median", "mean-gain"}, optional
        What counts where several judges grade an item: majority; of an even number of judges mean-gain, with
        ``adjudicate`` median.
    lease_s : int
        Seconds for which an item belongs to the judge who has claimed it.
    documents, queries : str, optional
        As of `Sample.save`.
    rules
        `RuleOptions`: judges_per_item, adjudicate and strict_order.

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
    how: dict[str, Any] = {"judges_per_item": None, "adjudicate": False, "strict_order": False, **rules}
    measures = [str(target.measure) for target in sample.drawn.campaign.design.targets]
    held = rules_for(measures, policy=policy, lease_s=lease_s, **how)
    check_rules(sample.drawn, held)
    words, _ = words_of(sample.drawn.pairs, name, documents, file_of(queries))
    beside = {"seed": sample.seed, "half_width": None}
    made = opened_with(
        url, lambda store: create(store, name, sample.drawn, held, texts=words, beside=beside), create=True
    )
    return StoredCampaign(made, name)
