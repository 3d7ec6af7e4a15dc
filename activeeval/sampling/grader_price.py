"""Is it worth asking a machine about items, and about which? What that costs, and what is left for people then.

With a budget B and a machine at c of a person's price an item, people get B without it and B − c n with it, n the items
that it is asked about: all whose labels can matter, those at the first places of a list, or none. The three are planned
with one model, the machine's: an item that it is not asked about has what is believed without it.

Several machines are weighed in every combination, each asked about all: which to ask, and which not. Of the best one
the first places are weighed too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations

import numpy as np

from activeeval.core.design.methods import find_method
from activeeval.core.errors import ChoiceError
from activeeval.core.grade_models.values import PLANNED_RHO, default_shares, imagined_probs
from activeeval.core.measures import Target
from activeeval.core.planning import Forecast, SamplePlan
from activeeval.core.results import Note, Told
from activeeval.core.types import Bools, Floats
from activeeval.formats.graders.grader_grades import Grades
from activeeval.inputs.grader_values import asked_about, model_names, probs_at
from activeeval.inputs.modelling import GradeBeliefs, believe
from activeeval.inputs.prepared_case import PreparedCase
from activeeval.sampling.plan_case import planner_of

PERSON = 1.0
"""The price of a person's judgment of a mean item."""
_MOST_COMBINED = 3
"""Machines of which every combination is weighed, each in a part of a second; of more each one, and all together."""
_FIRST_PLACES = 10
"""Where no measure has a cutoff: of how many places of each list a machine may be asked alone, and of half as many."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _GraderOffer:
    """Machines that may be asked: at what price of each item that they are asked about, and what they should tell."""

    names: tuple[str, ...]
    prices: tuple[float, ...]
    asked_of: tuple[Bools, ...]
    """Of each machine whether it would be asked about an item, shape (n_items,): it can matter, and is not known."""
    without: GradeBeliefs
    with_it: GradeBeliefs
    money: float | None = None
    """What an item costs in money."""
    skill: float | None = None
    """The correlation that is supposed of machines which no label has told anything of."""

    @property
    def price(self) -> float:
        return sum(self.prices)

    @property
    def asked(self) -> Bools:
        """Whether any machine would be asked about an item, shape (n_items,)."""
        return np.asarray(np.logical_or.reduce(self.asked_of))

    def cost(self, is_asked: Bools) -> float:
        """Return what asking about these items costs, each machine about those that it is asked about at all."""
        asked = zip(self.prices, self.asked_of, strict=True)
        return sum(price * int((of_machine & is_asked).sum()) for price, of_machine in asked)

    def beliefs(self, is_asked: Bools) -> GradeBeliefs:
        """Return what is believed where a machine is asked about some items alone."""
        probs = np.where(is_asked[:, None], self.with_it.probs, self.without.probs)
        return replace(self.with_it, probs=probs, extra_probs=())


@dataclass(frozen=True, slots=True)
class _ItemShare:
    """A part of the items that a machine may be asked about."""

    places: int | None
    """The first places of each list; 0 is nothing, None all."""
    n_items: int
    cost: float
    forecasts: tuple[Forecast, ...]

    def half_width(self, budget: float, scope: str, confidence: float) -> float:
        """Return the half-width of the widest question, infinite where people's part does not do."""
        left = budget - self.cost
        if left <= 0 or not all(forecast.works(left) for forecast in self.forecasts):
            return math.inf
        return max(forecast.at(left).half_width(scope, confidence) for forecast in self.forecasts)


def asking_notes(
    case: PreparedCase,
    plan: SamplePlan,
    ask_price: float | None = None,
    ask_skill: float = PLANNED_RHO,
    *,
    weights: str = "equal",
    scope: str = "pool",
    confidence: float = 0.95,
) -> list[Note]:
    """Return, where graders have a price, whether to ask them: what is planned at each budget with them and without.

    Parameters
    ----------
    plan : SamplePlan
        Of the same case, with the graders that it has; before one is asked, of `about_to_ask`.
    ask_price, ask_skill : float
        The price of a machine that nobody has asked yet, and the correlation of a machine's values with people's grades
        where no label tells it.

    Raises
    ------
    ChoiceError
        Where there are graders with a price and one that nobody has asked yet.
    """
    targets = [each.target for each in plan.questions]
    paid = case.asking_cost(*targets)
    if ask_price is not None and priced_names(case):
        raise ChoiceError(
            "`ask_price` is for a machine that nobody has asked: the graders have theirs", field="ask_price"
        )
    offers = _held(case, targets, ask_skill) if ask_price is None else [_imagined(case, targets, ask_price, ask_skill)]
    if not offers:
        return []
    whole, *parts = offers
    if min(whole.prices) >= PERSON:
        return [Note("asking as dear as people", _numbers(case, whole))]
    if whole.price == 0:
        return [Note("asking costs nothing", _numbers(case, whole))]
    at_hand, ways_of = 0 if ask_price is not None else -1, {0: _ways(case, plan, whole, weights)}
    in_full = [ways_of[0][-1], *(_way(case, plan, part, weights, None, part.asked) for part in parts)]
    notes = []
    for which, row in enumerate(plan.questions[0].chosen):
        budget = row.prospect.budget + paid
        # the table beside it has one of the ways, with what the model cannot know of itself: the others by the ratio
        planned = max(each.chosen[which].prospect.half_width(scope, confidence) for each in plan.questions)
        scale = planned / ways_of[0][at_hand].half_width(budget, scope, confidence)
        all_widths = [scale * way.half_width(budget, scope, confidence) for way in in_full]
        best = int(np.argmin(all_widths))
        if best not in ways_of:
            ways_of[best] = _ways(case, plan, offers[best], weights)
        ways = ways_of[best]
        widths = [scale * way.half_width(budget, scope, confidence) for way in ways]
        others = [
            (offer.names, width) for k, (offer, width) in enumerate(zip(offers, all_widths, strict=True)) if k != best
        ]
        notes.append(_note(_numbers(case, offers[best]), ways, budget, widths, others))
    return notes


def about_to_ask(case: PreparedCase) -> PreparedCase:
    """Return a case in which people's grades have the shares that a machine's model takes, where nothing tells them.

    A plan then says of people alone what it will say of them beside the machine.
    """
    if not case.beliefs.is_uniform:
        return case
    probs = np.tile(default_shares(case.max_grade + 1), (case.inputs.pool.n_items, 1))
    return replace(case, beliefs=replace(case.beliefs, probs=probs, is_uniform=False))


def priced_names(case: PreparedCase) -> tuple[str, ...]:
    """Return what the graders of a case that have a price are called."""
    return tuple(grader.name for grader in case.graders if grader.cost is not None)


def _held(case: PreparedCase, targets: Sequence[Target], skill: float) -> list[_GraderOffer]:
    """Return the graders of a case that have a price, all of them first, then their combinations; none without any.

    Where labels have taught what they are worth, that is known, else it is supposed.
    """
    of_graders = asked_about(case.inputs, case.graders, targets, case.known)
    if not of_graders:
        return []
    is_taught = case.inputs.training is not None or not case.beliefs.learns
    probs_of = partial(_probs_by, case, None if is_taught else skill)
    paid = [grader for grader in case.graders if grader.cost is None]
    nothing = probs_of(paid) if paid else None
    offers = []
    for chosen in _combinations(len(of_graders)):
        asked = [of_graders[k] for k in chosen]
        probs = probs_of([*paid, *(grader for grader, _ in asked)])
        shares = np.broadcast_to(probs.mean(axis=0), probs.shape) if nothing is None else nothing
        costs = [grader.costs for grader, _ in asked if grader.costs is not None]
        offers.append(
            _GraderOffer(
                names=tuple(grader.name for grader, _ in asked),
                prices=tuple(grader.cost or 0.0 for grader, _ in asked),
                asked_of=tuple(is_asked for _, is_asked in asked),
                without=replace(case.beliefs, probs=np.ascontiguousarray(shares), extra_probs=()),
                with_it=replace(case.beliefs, probs=probs),
                skill=None if is_taught else skill,
                money=sum(float(np.nanmean(each)) for each in costs) if costs else None,
            )
        )
    return offers


def _combinations(n: int) -> list[tuple[int, ...]]:
    """Return which of n machines are asked, in each way that is weighed: all first."""
    sizes = range(n - 1, 0, -1) if n <= _MOST_COMBINED else (1,) if n > 1 else ()
    return [tuple(range(n)), *(each for size in sizes for each in combinations(range(n), size))]


def _probs_by(case: PreparedCase, skill: float | None, graders: Sequence[Grades]) -> Floats:
    """Return what is believed of a case with some of its graders; ``skill`` is supposed of them, None: it is known.

    Returns
    -------
    ndarray, shape (n_items, max_grade + 1)
    """
    if skill is not None:
        return probs_at(case.inputs, graders, case.known, case.max_grade, skill)
    left_out = {*model_names(case.graders)} - {*model_names(graders)}
    names = [name for name in case.model.split(", ") if name not in left_out]
    if not left_out or not names or len(names) == len(case.model.split(", ")):
        return case.beliefs.probs
    rng, has_factor = np.random.default_rng(case.seed_number), case.beliefs.factor is not None
    return believe(case.inputs, names, case.max_grade, rng, known=case.known, with_factor=has_factor).probs


def _imagined(case: PreparedCase, targets: Sequence[Target], price: float, skill: float) -> _GraderOffer:
    """Return a machine that nobody has asked yet, whose values would follow people's grades with a correlation."""
    asked = np.logical_or.reduce([target.matters for target in targets])
    if case.known is not None:
        asked &= case.known < 0
    without = replace(case.beliefs, extra_probs=())
    scores = np.random.default_rng(case.seed_number).random(case.inputs.pool.n_items)
    with_it = replace(without, probs=imagined_probs(without.probs, scores, skill))
    return _GraderOffer(
        names=("a machine",), prices=(price,), asked_of=(asked,), without=without, with_it=with_it, skill=skill
    )


def _numbers(case: PreparedCase, offer: _GraderOffer) -> dict[str, Told]:
    n_items = int(offer.asked.sum())
    return {
        "names": offer.names,
        "price": offer.price,
        "n_items": n_items,
        "cost": offer.cost(offer.asked),
        "unit": case.inputs.pool.cost_unit,
        "money": None if offer.money is None else offer.money * n_items,
        "skill": offer.skill,
    }


def _parts(targets: Sequence[Target], asked: Bools) -> Iterator[tuple[int | None, Bools]]:
    """Yield no item, those at the first places of any list, and all, each with the number of places."""
    yield 0, np.zeros_like(asked)
    cutoff = max((target.measure.cutoff or _FIRST_PLACES) for target in targets)
    lists = {id(each): each for target in targets for each in (target.ranking, target.versus) if each is not None}
    n_before = 0
    for places in (math.ceil(cutoff / 2), cutoff):
        is_asked = np.zeros_like(asked)
        for ranking in lists.values():
            is_asked[ranking.items[ranking.ranks <= places]] = True
        is_asked &= asked
        if n_before < is_asked.sum() < asked.sum():
            yield places, is_asked
        n_before = int(is_asked.sum())
    yield None, asked


def _ways(case: PreparedCase, plan: SamplePlan, offer: _GraderOffer, weights: str) -> list[_ItemShare]:
    """Return the ways to ask, by how many items that is about."""
    parts = _parts([each.target for each in plan.questions], offer.asked)
    return [_way(case, plan, offer, weights, places, is_asked) for places, is_asked in parts]


def _way(
    case: PreparedCase, plan: SamplePlan, offer: _GraderOffer, weights: str, places: int | None, is_asked: Bools
) -> _ItemShare:
    """Return the way to ask about some items."""
    targets, method = [each.target for each in plan.questions], find_method(plan.best)
    partly = replace(case, beliefs=offer.beliefs(is_asked))
    # by the model alone: a rehearsal's own chance is as large as what is to be told apart
    forecasts = planner_of(partly, targets, weights=weights).forecasts(method)
    return _ItemShare(places, int(is_asked.sum()), offer.cost(is_asked), forecasts)


def _note(
    numbers: dict[str, Told],
    ways: Sequence[_ItemShare],
    budget: float,
    widths: Sequence[float],
    others: Sequence[tuple[tuple[str, ...], float]],
) -> Note:
    """Return which way to take with a budget, beside the others; ``others`` are those of other machines."""
    if not any(math.isfinite(width) for width in widths[1:]):
        return Note("asking takes the budget", {**numbers, "budget": budget})
    best = 0
    for which in range(1, len(ways)):
        best = which if widths[which] < widths[best] else best
    taken = ways[best]
    kinds = tuple("none" if way.places == 0 else "all" if way.places is None else str(way.places) for way in ways)
    chosen: dict[str, Told] = {
        "budget": budget,
        "places": kinds[best],
        "n_asked": taken.n_items,
        "asking": taken.cost,
        "left": budget - taken.cost,
        "half_width": widths[best],
        "ways": kinds,
        "half_widths": tuple(widths),
        "asked_of": tuple(way.n_items for way in ways),
        "others": tuple(" and ".join(names) for names, _ in others),
        "half_widths_of_others": tuple(width for _, width in others),
    }
    return Note("asking", {**numbers, **chosen})
