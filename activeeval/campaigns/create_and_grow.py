"""Create a campaign in the store from a drawn sample, and store further versions of the sample."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from activeeval.campaigns.state import state_of
from activeeval.campaigns.store import LOOKS, CampaignRow, PlaceRow, SampleRow, Store, UnitRow, checked_name
from activeeval.campaigns.versions import BATCH, REDRAWN, rounds_of
from activeeval.core.campaign import Rules
from activeeval.core.campaign.probabilities import item_probabilities
from activeeval.core.errors import InputError, StateError
from activeeval.core.judgments.judging import DocumentToJudge
from activeeval.formats.arrays import unpacked
from activeeval.inputs.budgets import Budget
from activeeval.report.numbers import agreeing, counted
from activeeval.sampling.drawn_sample import DrawnSample
from activeeval.sampling.policies import check_mean_gain

Texts = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewCampaign:
    """Summary of what was drawn for a campaign: the fields of its output row.

    Attributes
    ----------
    campaign, db : str
        Name of the campaign and address of its store.
    as_of, version : int
        Number of the log's last event, and version of the sample, from 1.
    seed : int or None
        Seed of the draw; None if unknown.
    items, queries : int
        Number of newly drawn items and of their queries.
    budget : float or None
        Planned cost of the sample in mean items (1 is the cost of an average item).
    blocks : int
        Number of blocks (parts of the sample, each of which ends with a possible estimate).
    """

    campaign: str
    db: str
    as_of: int
    version: int
    seed: int | None
    items: int
    queries: int
    budget: float | None
    blocks: int

    @classmethod
    def of(cls, store: Store, name: str, place: str, sample: DrawnSample, seq: int) -> Self:
        """Summarize the units (items judged together) that were drawn last.

        Parameters
        ----------
        place : str
            Address of the store, as shown in messages.
        sample : DrawnSample
            Sample of the campaign; its first ``n_before`` units were stored earlier.
        seq : int
            Number of the log's last event.
        """
        units, design = sample.campaign.planned[sample.n_before :], sample.campaign.design
        return cls(
            campaign=name,
            db=place,
            as_of=seq,
            version=store.samples(name)[-1].version,
            seed=sample.seed,
            items=sum(len(unit.items) for unit in units),
            queries=len({unit.query for unit in units}),
            budget=design.budget,
            blocks=len(design.blocks),
        )


def create(
    store: Store,
    name: str,
    sample: DrawnSample,
    rules: Rules,
    *,
    texts: Texts | None = None,
    beside: Mapping[str, Any] | None = None,
    put: Callable[[CampaignRow, SampleRow, Sequence[UnitRow], str], int] | None = None,
) -> int:
    """Store a sample without judgments as a new campaign; return the number of the last event.

    Parameters
    ----------
    store, name : Store, str
        The open store, and the campaign's name.
    sample : DrawnSample
        The sample, of which no item is judged.
    rules : Rules
        Number of judges for each item, lease, and how grades of several judges are combined.
    texts : mapping of str to sequence of str, optional
        Texts that the judges read, one for each of ``sample.pairs``, by column name.
    beside : mapping, optional
        Further values to keep in the campaign's configuration, by name.
    put : callable, optional
        Stores the campaign's rows, possibly with others, and returns the last event's number; by default
        `Store.create`.

    Raises
    ------
    InputError
        If the name is taken or not valid, or the sample cannot be judged by the rules (`check_rules`).
    """
    check_rules(sample, rules)
    design, judging = sample.campaign.design, sample.campaign.judging
    digest, payload = sample.packed()
    config = {"policy": rules.policy, "cost_unit": design.pool.cost_unit} | judging.config | dict(beside or {})
    # only a sample with adaptive depth (labels decide which items come next) has paths
    config |= {LOOKS: design.looks} if sample.campaign.paths is not None else {}
    row = CampaignRow(
        name=checked_name(name),
        config=config,
        judges_per_item=rules.judges_per_item,
        lease_s=rules.lease_s,
        max_grade=design.max_grade,
        strict_order=rules.strict_order,
        adjudicate=rules.adjudicate,
    )
    units = _units(sample, version=1, texts=texts or {})
    drawn = SampleRow(version=1, digest=digest, payload=payload)
    return (put or store.create)(row, drawn, units, _ended(sample, units))


def check_rules(sample: DrawnSample, rules: Rules) -> None:
    """Raise InputError if a sample cannot be judged by these rules.

    That is so for a policy that cannot combine the grades, for strict order (items given out in the order of drawing)
    where draws have no order, and for adaptive depth (labels decide what comes next) with strict order or comparisons.
    """
    design = sample.campaign.design
    if rules.policy == "refuse":
        raise InputError("several judges of a campaign may differ: the policy must combine their grades, got 'refuse'")
    if rules.policy == "mean-gain" and rules.judges_per_item > 1:
        check_mean_gain([target.measure for target in design.targets])
    sample.campaign.judging.check_rules(rules.judges_per_item)
    if rules.strict_order and not design.scheme.can_be_topped_up:
        raise InputError(
            f"method {design.name!r} draws with replacement, so that items have no order: use another method"
        )
    if sample.campaign.paths is None:  # no adaptive depth
        return
    if rules.strict_order:
        problem = "`strict_order` uses items below the lowest waiting one, but `adaptive_depth` may still draw a "
        raise InputError(problem + "lower one; estimates are possible at the ends of blocks", field="strict_order")
    if sample.campaign.judging.is_whole:
        problem = "`adaptive_depth` is for graded items: in top-k judging a query is judged as a whole"
        raise InputError(problem, field="adaptive_depth")


def top_up(
    store: Store, name: str, budget: Budget, texts_of: Callable[[DrawnSample], Texts] | None = None
) -> tuple[DrawnSample, int]:
    """Add a budget to a campaign's sample; return the extended sample and the number of the last event.

    Parameters
    ----------
    store, name : Store, str
        The open store, and the campaign's name.
    budget : Budget
        Amount to add: a number of mean items (1 is the cost of an average item), or a share of the pool.
    texts_of : callable, optional
        Returns the texts of the extended sample's new items, in their order, by column name ("query", "title", "text"
        …); by default none.

    Raises
    ------
    StateError
        If the campaign has several rounds (samples drawn one after another), or another process extended it meanwhile.
    """
    state = state_of(store, name)
    if len(state.rounds) > 1:
        raise StateError(f"campaign {name}: several rounds cannot be topped up: draw a further round")
    # not `state.sample`: grades that were known when the sample was drawn must stay as they were
    topped_up = state.as_drawn.topped_up(budget, state.sample_id)
    texts = {} if texts_of is None else texts_of(topped_up)
    return topped_up, grow(store, name, topped_up, "topped up", texts, version=state.version + 1)


def redraw(store: Store, name: str, sample: DrawnSample, texts: Texts | None = None) -> int:
    """Add a further sample (round) to a campaign; return the number of the last event.

    Parameters
    ----------
    sample : DrawnSample
        Drawn from the same pool with all labels of the campaign as known grades (`known_labels.labels_of`).
    texts : mapping of str to sequence of str, optional
        Texts of the newly drawn items, in their order, by column name ("query", "title", "text" …).

    Raises
    ------
    StateError
        If the previous round is not completely judged.
    InputError
        If the round has adaptive depth (labels decide what comes next) and the campaign has not.
    """
    check_judged(store, name)
    check_same_depths(store.campaign(name), sample)
    return grow(store, name, sample, REDRAWN, texts or {}, version=store.samples(name)[-1].version + 1)


def check_judged(store: Store, name: str) -> None:
    """Raise StateError unless all items of a campaign are judged and labels cannot lead to further items."""
    waiting = store.waiting(name)
    n = waiting["free"] + waiting["leased"]
    if n:
        raise StateError(
            f"campaign {name}: {counted(n, 'item')} {agreeing(n, 'waits', 'wait')}: a round is drawn "
            "once the previous rounds are completely judged"
        )
    if store.campaign(name).follows_labels and state_of(store, name).sample.campaign.goes_on:
        problem = "labels may still lead to further items: a round is drawn once the previous rounds are completely"
        raise StateError(f"campaign {name}: {problem} judged")


def check_same_depths(campaign: CampaignRow, sample: DrawnSample) -> None:
    """Raise InputError if a further sample has adaptive depth (labels decide what comes next) and its campaign has not.

    Such a campaign would draw nothing when judges claim items.
    """
    if sample.campaign.paths is not None and not campaign.follows_labels:
        problem = "was made without `adaptive_depth`: its further rounds have none either; create one with it"
        raise InputError(f"campaign {campaign.name}: {problem}", field="adaptive_depth")


def grow(store: Store, name: str, sample: DrawnSample, reason: str, texts: Texts, *, version: int) -> int:
    """Store the next version of a campaign's sample; return the number of the last event.

    Parameters
    ----------
    sample : DrawnSample
        The sample, extended by new units (items judged together) or drawn anew.
    reason : str
        "topped up", or `REDRAWN` for a further round (sample), or `BATCH` for items that follow from labels.
    texts : mapping of str to sequence of str
        Texts of the newly drawn items, in their order, by column name ("query", "title", "text" …).
    version : int
        Number of the new version: one more than that of the sample it extends.

    Raises
    ------
    StateError
        If another process has stored this version already.
    """
    # a further round has no earlier versions; a batch stores only its differences from the round's first version
    of_round = [] if reason == REDRAWN else rounds_of(store.samples(name))[-1]
    base = unpacked(of_round[0].payload, f"campaign {name}") if reason == BATCH else None
    digest, payload = sample.packed(base)
    row, units = SampleRow(version=version, digest=digest, payload=payload, reason=reason), store.units(name)
    # numbers of units and blocks continue those of earlier rounds
    before = [unit for unit in units if not of_round or unit.version < of_round[0].version]
    n_units, n_blocks = (before[-1].number, before[-1].block) if before else (0, 0)
    new = _with_texts(_units(sample, version, texts, n_units, n_blocks), units)
    return store.grow(name, row, new, _ended(sample, new))


def _ended(sample: DrawnSample, new: Sequence[UnitRow]) -> str:
    """State why no further units follow the ``new`` ones; empty if labels may lead to more (adaptive depth).

    A unit is a group of items that are judged together. Without new units, adaptive depth (``paths`` is not None) has
    ended, too.
    """
    return "" if sample.campaign.paths is not None and new else sample.campaign.planned_end


def _with_texts(new: Sequence[UnitRow], before: Sequence[UnitRow]) -> list[UnitRow]:
    """Add texts that the store already has to new units (items judged together).

    A stored query text replaces the new one; a stored document text is used only if the new document has none.

    ``before`` are the stored units.
    """
    queries = {unit.query_id: unit.query_text for unit in before if unit.query_text}
    docs = {place.doc_id: place.text for unit in before for place in unit.places if place.text}
    return [
        replace(
            unit,
            query_text=queries.get(unit.query_id, unit.query_text),
            places=tuple(replace(place, text=place.text or docs.get(place.doc_id, {})) for place in unit.places),
        )
        for unit in new
    ]


def _units(sample: DrawnSample, version: int, texts: Texts, n_units: int = 0, n_blocks: int = 0) -> list[UnitRow]:
    """Build store rows for a sample's new units (items of a query that are judged together).

    Parameters
    ----------
    version : int
        Version of the sample with which they are drawn.
    texts : mapping of str to sequence of str
        Texts of the new items in order, by column name.
    n_units, n_blocks : int
        Units and blocks (parts of a sample) of earlier samples, after which the numbers continue.
    """
    campaign, units, at = sample.campaign, [], 0  # at: index of the item in the columns of texts
    # with adaptive depth: only probabilities that are fixed before any label, so that the version alone verifies them
    probabilities = item_probabilities(campaign if campaign.paths is None else campaign.unjudged())
    for unit in campaign.planned[sample.n_before :]:
        items, query_text = [], ""
        for item, doc in zip(unit.items, unit.item_ids, strict=True):
            words_of_item = {name: words[at] for name, words in texts.items() if words[at]}
            query_text = words_of_item.pop("query", "")  # the same for all items of a unit, which is of one query
            items.append(DocumentToJudge(doc, float(probabilities[item]), words_of_item))
            at += 1
        # `shown`: a place for each item; in top-k judging one place with all documents of the query
        units.append(
            UnitRow(
                number=n_units + unit.number,
                block=n_blocks + unit.block,
                query_id=unit.query_id,
                level=None if np.isnan(unit.level) else unit.level,
                cost=unit.cost,
                places=tuple(PlaceRow(**row._asdict()) for row in campaign.judging.shown(unit.query_id, items)),
                query_text=query_text,
                version=version,
            )
        )
    return units
