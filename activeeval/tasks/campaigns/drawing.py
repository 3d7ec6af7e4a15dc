"""Campaigns drawn for choices and a request: a new one, and a further round with what one has taught."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, replace
from typing import Any

from activeeval.campaign import Rules
from activeeval.cases.choices import Choices
from activeeval.cases.known import KnownGrades
from activeeval.cases.texts import TextFile, TextFiles
from activeeval.results import Caution, Note
from activeeval.store import Store
from activeeval.tasks.campaigns.making import Made, check_judged, check_rules, create, redraw
from activeeval.tasks.campaigns.seconds import Clocked, clocked, is_timed
from activeeval.tasks.campaigns.state import check_next_round, labels_of, state_of
from activeeval.tasks.drawing import GoalBudget, SampleRequest, draw_for, with_texts
from activeeval.tasks.samples import Sample

Opener = Callable[[], AbstractContextManager[Store]]
"""Opens the store of a campaign, which is closed again while a sample is drawn."""
Say = Callable[[Note | Caution | GoalBudget | Clocked], object]


def known_of(store: Store, name: str, source: str) -> KnownGrades:
    """Return what a campaign has judged and knew, of nobody's name; ``source`` is what messages call it."""
    labels = labels_of(state_of(store, name))
    return KnownGrades(source, [(*pair, grade, "") for pair, grade in labels.items()])


def kept_texts(config: Mapping[str, Any]) -> TextFiles:
    """Return where the texts of a campaign came from, by its configuration."""
    return {what: TextFile(**file) for what, file in config.get("texts", {}).items()}


def draw_campaign(
    opened: Opener,
    name: str,
    place: str,
    choices: Choices,
    request: SampleRequest,
    rules: Rules,
    *,
    documents: str | None = None,
    queries: str | None = None,
    kept: TextFiles | None = None,
    progress: Callable[[str], object] = lambda what: None,
    say: Say = lambda note: None,
) -> tuple[Sample, Made]:
    """Draw a sample and put it into a store, ready for judges; return it and the row of the campaign.

    Parameters
    ----------
    opened : callable
        Opens the store, or makes it; called once the sample is drawn.
    place : str
        Where it is stored, as anybody may read it.
    choices : Choices
        ``judged`` also takes what other campaigns have judged (`known_of`).
    documents, queries : str, optional
        Tables of what the judges read.
    kept : mapping of str to TextFile, optional
        Tables of a campaign before, for what is not named.
    progress, say : callable
        As of `activeeval.tasks.drawing.draw_for`.

    Raises
    ------
    ActiveEvalError
        As `draw_for`; InputError also where the name is taken, or a sample cannot be judged by the rules.
    """
    sample = draw_for(choices, request, progress=progress, say=say).sample
    check_rules(sample, rules)
    sample, texts = with_texts(replace(sample, text_files=kept or {}), name, documents, queries, say)
    beside: dict[str, Any] = {"seed": sample.seed, "half_width": request.half_width}
    beside |= {"texts": {what: asdict(file) for what, file in sample.text_files.items()}} if sample.text_files else {}
    sample = replace(sample, text_files={})
    with opened() as store:
        seq = create(store, name, sample, rules, texts=texts, beside=beside)
        return sample, Made.of(store, name, place, sample, seq)


def draw_round(
    opened: Opener,
    name: str,
    place: str,
    choices: Choices,
    request: SampleRequest,
    *,
    by_clock: bool = True,
    documents: str | None = None,
    queries: str | None = None,
    progress: Callable[[str], object] = lambda what: None,
    say: Say = lambda note: None,
) -> tuple[Sample, Made]:
    """Draw a further round of a campaign, to which all that is judged is known; return its sample and its row.

    Parameters
    ----------
    by_clock : bool
        Let items and queries cost what the judges' clocks say, where a time was taken.
    opened, place, documents, queries, progress, say
        As of `draw_campaign`.

    Raises
    ------
    ActiveEvalError
        As `draw_for`; StateError also where an item waits, InputError where the round asks other questions.
    """
    with opened() as store:
        check_judged(store, name)
        kept = kept_texts(store.campaign(name).config)
        if by_clock and is_timed(store.events(name)):
            taken = clocked(store, name, documents)
            say(taken)
            choices = replace(choices, cost=taken.costs, overhead=taken.overhead)
        known = known_of(store, name, f"campaign {name}")
    choices = replace(choices, judged=(*choices.judged, known))
    sample = draw_for(choices, request, progress=progress, say=say).sample
    _, texts = with_texts(replace(sample, text_files=kept), name, documents, queries, say)
    with opened() as store:
        check_next_round(state_of(store, name), sample)
        seq = redraw(store, name, sample, texts)
        return sample, Made.of(store, name, place, sample, seq)
