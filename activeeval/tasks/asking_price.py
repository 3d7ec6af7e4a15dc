"""Is it worth asking a machine about items, and about which? What that costs, and what is left for people then.

With a budget B and a machine at c of a person's price an item, people get B without it and B − c n with it, n the items
that it is asked about: all whose labels can matter, those at the first places of a list, or none. The three are planned
with one model, the machine's: an item that it is not asked about has what is believed without it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from activeeval.cases.case import Case
from activeeval.cases.grading import asked_about, probs_at
from activeeval.cases.modelling import GradeBeliefs
from activeeval.design.methods import find_method
from activeeval.errors import ChoiceError
from activeeval.grade_models.values import PLANNED_RHO, default_shares, imagined_probs
from activeeval.measures import Target
from activeeval.planning import Forecast, SamplePlan
from activeeval.results import Note, Told
from activeeval.tasks.plan import planner_of
from activeeval.types import Bools

PERSON = 1.0
"""The price of a person's judgment of a mean item."""
_FIRST_PLACES = 10
"""Where no measure has a cutoff: of how many places of each list a machine may be asked alone, and of half as many."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Offer:
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
class _Way:
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
    case: Case,
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
    offer = _held(case, targets, ask_skill) if ask_price is None else _imagined(case, targets, ask_price, ask_skill)
    if offer is None:
        return []
    numbers = _numbers(case, offer)
    if offer.price >= PERSON:
        return [Note("asking as dear as people", numbers)]
    if offer.price == 0:
        return [Note("asking costs nothing", numbers)]
    ways, at_hand = _ways(case, plan, offer, weights), 0 if ask_price is not None else -1
    notes = []
    for which, row in enumerate(plan.questions[0].chosen):
        budget = row.prospect.budget + paid
        widths = [way.half_width(budget, scope, confidence) for way in ways]
        # the table beside it has one of the ways, with what the model cannot know of itself: the others by the ratio
        planned = max(each.chosen[which].prospect.half_width(scope, confidence) for each in plan.questions)
        notes.append(_note(numbers, ways, budget, [width * planned / widths[at_hand] for width in widths]))
    return notes


def about_to_ask(case: Case) -> Case:
    """Return a case in which people's grades have the shares that a machine's model takes, where nothing tells them.

    A plan then says of people alone what it will say of them beside the machine.
    """
    if not case.beliefs.is_uniform:
        return case
    probs = np.tile(default_shares(case.max_grade + 1), (case.inputs.pool.n_items, 1))
    return replace(case, beliefs=replace(case.beliefs, probs=probs, is_uniform=False))


def priced_names(case: Case) -> tuple[str, ...]:
    """Return what the graders of a case that have a price are called."""
    return tuple(grader.name for grader in case.graders if grader.cost is not None)


def _held(case: Case, targets: Sequence[Target], skill: float) -> _Offer | None:
    """Return the graders of a case that have a price; None where there is none.

    Where labels have taught what they are worth, that is known, else it is supposed.
    """
    of_graders = asked_about(case.inputs, case.graders, targets, case.known)
    if not of_graders:
        return None
    means = [
        float(grader.costs[~np.isnan(grader.costs)].mean()) for grader, _ in of_graders if grader.costs is not None
    ]
    is_taught = case.inputs.training is not None or not case.beliefs.learns
    probs = case.beliefs.probs
    if not is_taught:
        probs = probs_at(case.inputs, case.graders, case.known, case.max_grade, skill)
    shares = np.broadcast_to(probs.mean(axis=0), probs.shape)
    return _Offer(
        names=priced_names(case),
        prices=tuple(grader.cost or 0.0 for grader, _ in of_graders),
        asked_of=tuple(is_asked for _, is_asked in of_graders),
        without=replace(case.beliefs, probs=np.ascontiguousarray(shares), extra_probs=()),
        with_it=replace(case.beliefs, probs=probs),
        skill=None if is_taught else skill,
        money=sum(means) if means else None,
    )


def _imagined(case: Case, targets: Sequence[Target], price: float, skill: float) -> _Offer:
    """Return a machine that nobody has asked yet, whose values would follow people's grades with a correlation."""
    asked = np.logical_or.reduce([target.matters for target in targets])
    if case.known is not None:
        asked &= case.known < 0
    without = replace(case.beliefs, extra_probs=())
    scores = np.random.default_rng(case.seed_number).random(case.inputs.pool.n_items)
    with_it = replace(without, probs=imagined_probs(without.probs, scores, skill))
    return _Offer(
        names=("a machine",), prices=(price,), asked_of=(asked,), without=without, with_it=with_it, skill=skill
    )


def _numbers(case: Case, offer: _Offer) -> dict[str, Told]:
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


def _ways(case: Case, plan: SamplePlan, offer: _Offer, weights: str) -> list[_Way]:
    """Return the ways to ask, by how many items that is about."""
    targets, method = [each.target for each in plan.questions], find_method(plan.best)
    ways = []
    for places, is_asked in _parts(targets, offer.asked):
        partly = replace(case, beliefs=offer.beliefs(is_asked))
        n_items = int(is_asked.sum())
        # by the model alone: a rehearsal's own chance is as large as what is to be told apart
        forecasts = planner_of(partly, targets, weights=weights).forecasts(method)
        ways.append(_Way(places, n_items, offer.cost(is_asked), forecasts))
    return ways


def _note(numbers: dict[str, Told], ways: Sequence[_Way], budget: float, widths: Sequence[float]) -> Note:
    """Return which way to take with a budget, beside the others."""
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
    }
    return Note("asking", {**numbers, **chosen})
