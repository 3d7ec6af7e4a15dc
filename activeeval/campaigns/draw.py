"""Draw samples for campaigns: a new sample, a further round with all labels known, or the next batch."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from activeeval.campaigns.create_and_grow import NewCampaign, check_judged, check_rules, create, grow, redraw, top_up
from activeeval.campaigns.known_labels import labels_of
from activeeval.campaigns.seconds import clocked, is_timed
from activeeval.campaigns.state import CampaignState, Pair, check_next_round, state_of
from activeeval.campaigns.store import Store
from activeeval.campaigns.store.rows import LOOKS
from activeeval.campaigns.versions import BATCH
from activeeval.core.campaign import Campaign, Rules
from activeeval.core.design import Design
from activeeval.core.design.methods import Method, default_method, find_method
from activeeval.core.errors import ChoiceError, InputError, StateError
from activeeval.core.results import Caution, Note
from activeeval.inputs.budgets import Budget
from activeeval.inputs.choices import Choices
from activeeval.inputs.known_grades import KnownGrades
from activeeval.inputs.loading import sampled_measure
from activeeval.inputs.texts import SheetTexts, TextFile, TextFiles, texts_of
from activeeval.inputs.traffic import drawn_among
from activeeval.sampling.adaptive_depth import OF_CAMPAIGNS, adaptive_depth_in
from activeeval.sampling.draw import DrawnCase, SampleRequest, draw_for, fresh_seed, with_texts
from activeeval.sampling.drawn_sample import DrawnSample
from activeeval.sampling.policies import policy_for

Opener = Callable[[], AbstractContextManager[Store]]
"""Opens the store of a campaign; it is closed while a sample is drawn."""
Say = Callable[[Note | Caution], object]


def known_of(store: Store, name: str, source: str) -> KnownGrades:
    """Collect all grades that a campaign has judged or knew, without judges' names; messages call them ``source``."""
    state = state_of(store, name)
    rows = [(*pair, grade, "") for pair, grade in labels_of(state).items()]  # query, document, grade, no judge
    return KnownGrades(source, rows, tuple(state.machine_cautions))


def kept_texts(config: Mapping[str, Any]) -> TextFiles:
    """Read from a campaign's configuration the files that its texts came from, by "documents" and "queries"."""
    return {name: TextFile(**file) for name, file in config.get("texts", {}).items()}


def rules_for(
    measures: Sequence[str],
    *,
    policy: str | None,
    judges_per_item: int | None,
    adjudicate: bool,
    strict_order: bool,
    lease_s: int,
) -> Rules:
    """Build the rules of a new campaign.

    Parameters
    ----------
    policy : str or None
        How several judges' grades of an item are combined; None chooses a policy that fits the measures.
    judges_per_item : int or None
        None means one judge, or two with ``adjudicate`` (a third judge where two differ).
    strict_order : bool
        True to give items out in order, without deferring.
    lease_s : int
        Seconds for which a claimed item is reserved for its judge.

    Raises InputError if no default policy fits, or the policy does not fit the rules or measures.
    """
    n_judges = judges_per_item or (2 if adjudicate else 1)
    return Rules(
        lease_s=lease_s,
        judges_per_item=n_judges,
        policy=policy_for(policy, n_judges, adjudicate, measures),
        strict_order=strict_order,
        adjudicate=adjudicate,
    )


def topped_up(
    store: Store,
    name: str,
    budget: Budget,
    *,
    documents: str | None = None,
    queries: str | None = None,
    say: Say = lambda note: None,
) -> tuple[DrawnSample, int]:
    """Add a budget to a campaign, with the texts of the new items; return its sample and the last event's number.

    The ``budget`` is a number of mean items (1 is the cost of an average item) or a share of the pool. Raises
    StateError if the campaign has several rounds (samples drawn one after another).

    Parameters
    ----------
    documents, queries : str, optional
        Tables of texts; by default those given when the campaign was created.
    say : callable
        Called with each note and warning.
    """
    text_files = kept_texts(store.campaign(name).config)

    def texts_for(grown: DrawnSample) -> SheetTexts:
        """Load the texts of the new items of the extended sample."""
        return with_texts(replace(grown, text_files=text_files), name, documents, queries, say)[1]

    return top_up(store, name, budget, texts_for)


def _method_of(request: SampleRequest) -> Method:
    """Find the sampling method that a request names, or the default method of its measures."""
    return find_method(request.method or default_method(*map(sampled_measure, request.measures)).name)


def _would_follow(request: SampleRequest, drawn: DrawnCase) -> bool:
    """Check whether the sample has adaptive depth (labels decide what comes next) by default, not by the request."""
    if drawn.case is None:  # a pool in files never has it
        return False
    targets = drawn.sample.campaign.design.targets
    return request.adaptive_depth is None and adaptive_depth_in(drawn.case, _method_of(request), targets, None) != "off"


def _looks_before(request: SampleRequest, config: Mapping[str, Any]) -> str:
    """Read a campaign's setting of adaptive depth (when labels decide what comes next); "off" if there is none."""
    return str(config.get(LOOKS, "off")) if _method_of(request).has_depths else "off"


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignDrawing:
    """Destination of a campaign's samples, the texts of its judges, and callbacks for progress and notes.

    Attributes
    ----------
    opened : callable
        Opens or creates the store; called again after a sample is drawn.
    name, place : str
        Name of the campaign, and address of the store without secrets.
    documents, queries : str or None
        Tables of the texts that judges read.
    kept : mapping of str to TextFile
        Tables of an earlier campaign, used where no table is named.
    progress, say : callable
        Called with a few words at each step of drawing, and with each note and warning.
    """

    opened: Opener
    name: str
    place: str
    documents: str | None = None
    queries: str | None = None
    kept: TextFiles = field(default_factory=dict)
    progress: Callable[[str], object] = lambda what: None
    say: Say = lambda note: None

    def new(self, choices: Choices, request: SampleRequest, rules: Rules) -> tuple[DrawnSample, NewCampaign]:
        """Draw a sample and store it as a new campaign, ready for judges; return the sample and a summary.

        Parameters
        ----------
        choices : Choices
            Runs, scale and known grades (``judged``), which may include those of other campaigns (`known_of`).
        request : SampleRequest
            What to estimate, the method and the budget.
        rules : Rules
            Number of judges for each item, lease, and how grades of several judges are combined.

        Raises
        ------
        ActiveEvalError
            If a file or a choice is not valid, the name is taken, or the sample cannot be judged by the rules.
        """
        # surely: batches small enough that the budget completes the sample; usual: default adaptive depth
        request = replace(request, surely=True, usual="off" if rules.strict_order else OF_CAMPAIGNS)
        drawn = draw_for(choices, request, progress=self.progress, say=self.say)
        if rules.strict_order and _would_follow(request, drawn):
            self.say(Note("strict without looks", {}))  # a note that strict order rules out adaptive depth
        sample = drawn.sample
        check_rules(sample, rules)
        files, texts = self._texts(sample, self.kept)
        settings: dict[str, Any] = {"seed": sample.seed, "half_width": request.whole_half_width}
        settings |= {"texts": {name: asdict(file) for name, file in files.items()}} if files else {}
        with self.opened() as store:
            seq = create(store, self.name, sample, rules, texts=texts, beside=settings)
            return sample, NewCampaign.of(store, self.name, self.place, sample, seq)

    def further_round(
        self, choices: Choices, request: SampleRequest, *, by_clock: bool = True
    ) -> tuple[DrawnSample, NewCampaign]:
        """Draw and store a further sample (round) in which all judged items are known; return it with a summary.

        Parameters
        ----------
        choices, request : Choices, SampleRequest
            Runs, scale and known grades; measures (by default those of the first round), method and a budget.
        by_clock : bool
            True to use measured judging times as costs of items and queries, if there are any.

        Raises
        ------
        ActiveEvalError
            If a file or a choice is not valid. StateError if an item waits. InputError if the round has other
            questions, another scale or a goal in place of a budget.
        """
        for goal in ("half_width", "difference", "segments"):
            if getattr(request, goal) not in (None, ()):
                raise ChoiceError(f"`{goal}`: a further round has a `budget`", field=goal)
        if request.budget is None:
            raise ChoiceError("a further round needs a `budget`", field="budget")
        with self.opened() as store:
            check_judged(store, self.name)
            if not request.measures:
                request = _asked_before(request, state_of(store, self.name).rounds[0])
            row = store.campaign(self.name)
            config = row.config
            # a campaign of graded items, not of comparisons (top_k), keeps its scale
            if row.max_grade is not None and config.get("top_k") is None:
                if choices.max_grade not in (None, row.max_grade):
                    problem = f"`max_grade`: the scale of campaign {self.name} goes up to {row.max_grade}"
                    raise InputError(f"{problem}, got {choices.max_grade}", field="max_grade")
                choices = replace(choices, max_grade=row.max_grade)
            text_files = {**self.kept, **kept_texts(config)}  # tables of texts used so far
            if by_clock and is_timed(store.events(self.name)):
                measured = clocked(store, self.name, self.documents)
                self.say(measured.note)
                choices = replace(choices, cost=measured.costs, overhead=measured.overhead)
            known = known_of(store, self.name, f"campaign {self.name}")
        if choices.queries is None and choices.traffic is None and "queries" in text_files:
            # the table may also say how its queries were drawn from a log
            choices = replace(choices, queries=drawn_among(text_files["queries"].path))
        choices = replace(choices, judged=(*choices.judged, known))
        request = replace(request, surely=True, adaptive_depth=request.adaptive_depth or _looks_before(request, config))
        sample = draw_for(choices, request, progress=self.progress, say=self.say).sample
        _, texts = self._texts(sample, text_files)
        with self.opened() as store:
            check_next_round(state_of(store, self.name), sample)
            seq = redraw(store, self.name, sample, texts)
            return sample, NewCampaign.of(store, self.name, self.place, sample, seq)

    def _texts(self, sample: DrawnSample, kept: TextFiles) -> tuple[TextFiles, SheetTexts]:
        """Load the texts of a sample's new items, from the named tables or else ``kept``; return tables and texts."""
        sample = replace(sample, text_files=kept)
        sample, texts = with_texts(sample, self.name, self.documents, self.queries, self.say)
        return sample.text_files, texts


def _asked_before(request: SampleRequest, sample: DrawnSample) -> SampleRequest:
    """Set a request's measures and questions to those of an earlier sample."""
    measures = dict.fromkeys(str(question.target.measure) for question in sample.made_for)
    questions = dict.fromkeys(question.question for question in sample.made_for)
    return replace(request, measures=tuple(measures), questions=tuple(questions))


def drawn_again(store: Store, name: str, budget: Budget, seed: int | None = None) -> int:
    """Draw and store a further sample (round) from the data in the store; return the number of the last event.

    Pool, questions and grade model are those of the previous round, and all judged items are known. `activeeval
    campaign create --redraw` also refits the model to the judgments; for that it needs the files of the runs.

    Parameters
    ----------
    budget : Budget
        In mean items (1 is the cost of an average item); not a share.
    seed : int, optional
        By default drawn from the system's entropy.

    Raises
    ------
    StateError, InputError, BudgetError
        If the previous round is not completely judged; if the judgments are not grades, or the budget is a share; if
        the budget does not cover the minimum of the design.
    """
    if budget.is_share:
        raise InputError("the budget of a further round is a number of judgments, as 100, not a share", field="budget")
    check_judged(store, name)
    state = state_of(store, name)
    before, number = state.sample, fresh_seed() if seed is None else seed
    design = _design_again(before.campaign.design, labels_of(state), budget.amount)
    sample = DrawnSample(
        campaign=Campaign(design, rng=number, by_batches=True, surely=True),
        questions=before.questions,
        systems=before.systems,
        depth=before.depth,
        seed=number,
        model=before.model,
        text_files=kept_texts(store.campaign(name).config),
        truth_of_machines=before.truth_of_machines,
    )
    sample, texts = with_texts(sample, name, None, None, lambda note: None)
    check_next_round(state, sample)
    return redraw(store, name, sample, texts)


def _design_again(design: Design, labels: dict[Pair, int], budget: float) -> Design:
    """Design a further sample with the method, targets and grade model of an earlier design, with all labels known.

    ``labels`` are grades by (query, document); the budget is in mean items (1 is the cost of an average item).
    """
    method, beliefs = find_method(design.name), design.beliefs
    model = {} if beliefs is None else beliefs.made_of  # arguments of `Method.design` that describe the grade model
    chosen = method.looking(design.looks) if method.has_depths else method  # `looks`: setting of adaptive depth
    known = _grades_of_items(design, labels)
    return chosen.design(list(design.targets), **model, max_grade=design.max_grade, budget=budget, judged=known)


def _grades_of_items(design: Design, labels: dict[Pair, int]) -> NDArray[np.int64]:
    """Convert labels by (query, document) to grades of a pool's items, shape (n_items,).

    −1 for items without a label.
    """
    pool = design.pool
    pairs = zip(pool.query_texts[pool.item_queries].tolist(), pool.item_texts.tolist(), strict=True)
    return np.array([labels.get(pair, -1) for pair in pairs], dtype=np.int64)


def draw_next(store: Store, name: str) -> bool:
    """Draw and store the next items that a campaign's labels lead to (a batch); return True if items were added.

    This is adaptive depth. If no batch follows and no item waits, the sample ends, and the sampling rates that follow
    from the last labels are stored. If two processes do this at once, the store accepts only one version with a number,
    and the other process returns True. If a process ends before it has drawn, the next claim draws instead. Raises
    InputError if the tables of the texts are no longer where they were.
    """
    state = state_of(store, name)
    sample = next_of(state)
    if sample is None:
        return False
    try:
        grow(store, name, sample, BATCH, _texts_of_new(state, sample), version=state.version + 1)
    except StateError:
        if store.samples(name)[-1].version == state.version:
            raise
        return True  # another process has stored this version
    return bool(sample.pairs)


def next_of(state: CampaignState) -> DrawnSample | None:
    """Extend a campaign's sample by the next items that its labels lead to (a batch), or mark its end.

    Return None without adaptive depth (the labels do not matter then), if the next batch depends on waiting items, or
    if the end is stored already.
    """
    sample = state.as_drawn
    if sample.campaign.paths is None:  # no adaptive depth
        return None
    campaign, is_new = sample.campaign.following()  # is_new: it has a further batch
    # no item waits (`is_open`), and the log does not say yet that the sample has ended
    has_ended = not is_new and not sample.campaign.is_open and not state.state.ended
    return sample.grown(campaign, state.sample_id) if is_new or has_ended else None


def _texts_of_new(state: CampaignState, sample: DrawnSample) -> SheetTexts:
    """Read the texts of newly drawn items, by column, from the campaign's tables; raise InputError if one is gone."""
    files = kept_texts(state.campaign.config)
    for name, file in files.items():
        if not os.path.isfile(file.path):
            problem = (
                f"the texts of the {name} are no longer in {file.path} but needed for the next items: put the file back"
            )
            raise InputError(f"campaign {state.campaign.name}: {problem}")
    paths = {name: file.path for name, file in files.items()}
    return texts_of(sample.pairs, "", **paths)[0]
