"""Campaigns drawn for choices and a request: a new one, and a further round with what one has taught."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from activeeval.campaigns.making import Made, check_judged, check_rules, create, redraw, top_up
from activeeval.campaigns.seconds import clocked, is_timed
from activeeval.campaigns.state import check_next_round, labels_of, state_of
from activeeval.campaigns.store import Store
from activeeval.campaigns.store.rows import LOOKS
from activeeval.core.campaign import Rules
from activeeval.core.design.methods import Method, default_method, find_method
from activeeval.core.results import Caution, Note
from activeeval.inputs.budgets import Budget
from activeeval.inputs.choices import Choices
from activeeval.inputs.known_grades import KnownGrades
from activeeval.inputs.loading import sampled_measure
from activeeval.inputs.texts import SheetTexts, TextFile, TextFiles
from activeeval.inputs.traffic import drawn_among
from activeeval.sampling.adaptive_depth import OF_CAMPAIGNS, looks_in
from activeeval.sampling.draw import Drawn, GoalBudget, SampleRequest, draw_for, with_texts
from activeeval.sampling.samples import Sample

Opener = Callable[[], AbstractContextManager[Store]]
"""Opens the store of a campaign, which is closed again while a sample is drawn."""
Say = Callable[[Note | Caution | GoalBudget], object]


def known_of(store: Store, name: str, source: str) -> KnownGrades:
    """Return what a campaign has judged and knew, of nobody's name; ``source`` is what messages call it."""
    state = state_of(store, name)
    rows = [(*pair, grade, "") for pair, grade in labels_of(state).items()]
    return KnownGrades(source, rows, tuple(state.machine_cautions))


def kept_texts(config: Mapping[str, Any]) -> TextFiles:
    """Return where the texts of a campaign came from, by its configuration."""
    return {what: TextFile(**file) for what, file in config.get("texts", {}).items()}


def topped_up(
    store: Store,
    name: str,
    budget: Budget,
    *,
    documents: str | None = None,
    queries: str | None = None,
    say: Say = lambda note: None,
) -> tuple[Sample, int]:
    """Add a budget to a campaign, with the texts of what is new; return its sample and the last event.

    Parameters
    ----------
    documents, queries : str, optional
        Tables of texts, by default those that it was made with.
    """
    kept = kept_texts(store.campaign(name).config)

    def texts_of(grown: Sample) -> SheetTexts:
        return with_texts(replace(grown, text_files=kept), name, documents, queries, say)[1]

    return top_up(store, name, budget, texts_of)


def _method_of(request: SampleRequest) -> Method:
    """Return the method that a sample is drawn by."""
    return find_method(request.method or default_method(*map(sampled_measure, request.measures)).name)


def _would_follow(request: SampleRequest, drawn: Drawn) -> bool:
    """Whether depths of what was drawn would follow labels, as nobody says otherwise."""
    if drawn.case is None:
        return False
    targets = drawn.sample.campaign.design.targets
    return request.looks is None and looks_in(drawn.case, _method_of(request), targets, None) != "none"


def _looks_before(request: SampleRequest, config: Mapping[str, Any]) -> str:
    """Return when a campaign looks at labels, of a method that has depths."""
    return str(config.get(LOOKS, "none")) if _method_of(request).has_depths else "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignDrawing:
    """Where samples of a campaign go, what its judges read, and who is told of the way.

    Attributes
    ----------
    opened : callable
        Opens the store, or makes it; called again once a sample is drawn.
    name : str
        Of the campaign.
    place : str
        Where it is stored, as anybody may read it.
    documents, queries : str or None
        Tables of what the judges read.
    kept : mapping of str to TextFile
        Tables of a campaign before, for what is not named.
    progress, say : callable
        As of `activeeval.sampling.draw.draw_for`.
    """

    opened: Opener
    name: str
    place: str
    documents: str | None = None
    queries: str | None = None
    kept: TextFiles = field(default_factory=dict)
    progress: Callable[[str], object] = lambda what: None
    say: Say = lambda note: None

    def new(self, choices: Choices, request: SampleRequest, rules: Rules) -> tuple[Sample, Made]:
        """Draw a sample and put it into the store, ready for judges; return it and the row of the campaign.

        Parameters
        ----------
        choices : Choices
            ``judged`` also takes what other campaigns have judged (`known_of`).

        Raises
        ------
        ActiveEvalError
            As `draw_for`; InputError also where the name is taken, or a sample cannot be judged by the rules.
        """
        request = replace(request, surely=True, usual="none" if rules.strict_order else OF_CAMPAIGNS)
        drawn = draw_for(choices, request, progress=self.progress, say=self.say)
        if rules.strict_order and _would_follow(request, drawn):
            self.say(Note("strict without looks", {}))
        sample = drawn.sample
        check_rules(sample, rules)
        files, texts = self._texts(sample, self.kept)
        beside: dict[str, Any] = {"seed": sample.seed, "half_width": request.half_width}
        beside |= {"texts": {what: asdict(file) for what, file in files.items()}} if files else {}
        with self.opened() as store:
            seq = create(store, self.name, sample, rules, texts=texts, beside=beside)
            return sample, Made.of(store, self.name, self.place, sample, seq)

    def further_round(self, choices: Choices, request: SampleRequest, *, by_clock: bool = True) -> tuple[Sample, Made]:
        """Draw a further round, to which all that is judged is known; return its sample and the campaign's row.

        Parameters
        ----------
        by_clock : bool
            Let items and queries cost what the judges' clocks say, where a time was taken.

        Raises
        ------
        ActiveEvalError
            As `draw_for`; StateError also where an item waits, InputError where the round asks other questions.
        """
        with self.opened() as store:
            check_judged(store, self.name)
            config = store.campaign(self.name).config
            kept = {**self.kept, **kept_texts(config)}
            if by_clock and is_timed(store.events(self.name)):
                taken = clocked(store, self.name, self.documents)
                self.say(taken.note)
                choices = replace(choices, cost=taken.costs, overhead=taken.overhead)
            known = known_of(store, self.name, f"campaign {self.name}")
        if choices.queries is None and choices.traffic is None and "queries" in kept:
            choices = replace(choices, queries=drawn_among(kept["queries"].path))
        choices = replace(choices, judged=(*choices.judged, known))
        request = replace(request, surely=True, looks=request.looks or _looks_before(request, config))
        sample = draw_for(choices, request, progress=self.progress, say=self.say).sample
        _, texts = self._texts(sample, kept)
        with self.opened() as store:
            check_next_round(state_of(store, self.name), sample)
            seq = redraw(store, self.name, sample, texts)
            return sample, Made.of(store, self.name, self.place, sample, seq)

    def _texts(self, sample: Sample, kept: TextFiles) -> tuple[TextFiles, SheetTexts]:
        """Return the tables of texts, by name or else as they were kept, and the texts."""
        sample = replace(sample, text_files=kept)
        sample, texts = with_texts(sample, self.name, self.documents, self.queries, self.say)
        return sample.text_files, texts
