"""Decide whether to pay graders for grades, and of which items, given the budget that remains for human judges.

With a budget B and a grader at price c an item, relative to a human judgment, the human budget is B without it and
B − c n with it, n the number of items it is asked about: all whose labels can matter, those at the first places of a
list, or none. All three are planned with the grader's model: an item that it is not asked about has the prediction
without it. An offer is a set of graders; a way is a selection of the items to ask them about.

Several graders are compared in every combination, each asked about all items. For the best combination the first
places are compared too.
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
"""Price of a human judgment of a mean item."""
_MOST_COMBINED = 3
"""Largest number of graders compared in every combination (a fraction of a second each); beyond, singly and jointly."""
_FIRST_PLACES = 10
"""Number of first places of each list to consider (and half of it) if no measure has a cutoff."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _GraderOffer:
    """A set of graders that may be asked: their prices and their predictions."""

    names: tuple[str, ...]
    prices: tuple[float, ...]
    asked_of: tuple[Bools, ...]
    """For each grader, the items it would be asked about, shape (n_items,): they can matter and are not known."""
    without: GradeBeliefs
    """The grade model if these graders are not asked."""
    with_it: GradeBeliefs
    """The grade model if they are asked about all items."""
    money: float | None = None
    """Price of an item in money; None if unknown."""
    skill: float | None = None
    """Assumed correlation with human grades if no labels estimate it; None if estimated."""

    @property
    def price(self) -> float:
        """Price of an item if all graders of the offer grade it, relative to a human judgment."""
        return sum(self.prices)

    @property
    def asked(self) -> Bools:
        """Flags of the items that any grader would be asked about, shape (n_items,)."""
        return np.asarray(np.logical_or.reduce(self.asked_of))

    def cost(self, is_asked: Bools) -> float:
        """Compute the price of asking about the items ``is_asked`` (n_items,), in human judgments.

        Each grader is only asked about those that are also among its own ``asked_of``.
        """
        graders = zip(self.prices, self.asked_of, strict=True)
        return sum(price * int((of_machine & is_asked).sum()) for price, of_machine in graders)

    def beliefs(self, is_asked: Bools) -> GradeBeliefs:
        """Build the grade model if the graders are asked only about the items ``is_asked``, flags (n_items,)."""
        # `extra_probs` (models that adjust estimates) would predict as if all items were asked: left out
        probs = np.where(is_asked[:, None], self.with_it.probs, self.without.probs)
        return replace(self.with_it, probs=probs, extra_probs=())


@dataclass(frozen=True, slots=True)
class _ItemShare:
    """A subset of the items that graders may be asked about, with the forecasts of a plan."""

    places: int | None
    """Number of first places of each list; 0 for no items, None for all."""
    n_items: int
    cost: float
    """Price of asking about these items, in human judgments."""
    forecasts: tuple[Forecast, ...]
    """Expected precision by budget for human judges, for each question."""

    def half_width(self, budget: float, scope: str, confidence: float) -> float:
        """Predict the largest half-width over all questions, if ``budget`` pays for graders and human judges.

        It is infinite if too little is left for human judges.
        """
        remaining = budget - self.cost
        if remaining <= 0 or not all(forecast.works(remaining) for forecast in self.forecasts):
            return math.inf
        return max(forecast.at(remaining).half_width(scope, confidence) for forecast in self.forecasts)


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
    """Recommend, for each budget of a plan, whether to pay graders (LLMs or other models); [] if none has a price.

    Parameters
    ----------
    plan : SamplePlan
        Plan of the same case with its graders; for a hypothetical grader, of the case by `about_to_ask`.
    ask_price : float, optional
        Price of an item for a hypothetical grader, relative to a human judgment.
    ask_skill : float
        Assumed correlation of a grader's values with human grades, if no labels estimate it.
    weights, scope, confidence
        Balance of the questions, and the intervals, of the plan.

    Raises
    ------
    ChoiceError
        If there are both graders with a price and a hypothetical one.
    """
    targets = [question.target for question in plan.questions]
    paid = case.asking_cost(*targets)
    if ask_price is not None and priced_names(case):
        raise ChoiceError(
            "`ask_price` is for a grader not asked yet: those of `graders` have a price of their own", field="ask_price"
        )
    offers = (
        _offers(case, targets, ask_skill) if ask_price is None else [_imagined(case, targets, ask_price, ask_skill)]
    )
    if not offers:
        return []
    whole, *parts = offers  # all graders, then smaller sets of them
    if min(whole.prices) >= PERSON:
        return [Note("asking as dear as people", _numbers(case, whole))]
    if whole.price == 0:
        return [Note("asking costs nothing", _numbers(case, whole))]
    # index of the selection that the plan assumes: no item for a hypothetical grader, else all
    at_hand = 0 if ask_price is not None else -1
    ways_of = {0: _ways(case, plan, whole, weights)}  # selections of items, none to all, by index of the offer
    in_full = [ways_of[0][-1], *(_way(case, plan, part, weights, None, part.asked) for part in parts)]
    notes = []
    for which, row in enumerate(plan.questions[0].chosen):
        budget = row.prospect.budget + paid
        # the plan's table includes the model's own uncertainty: scale all half-widths by the same ratio
        planned = max(question.chosen[which].prospect.half_width(scope, confidence) for question in plan.questions)
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
    """Return the case for plans with a hypothetical grader: equally likely grades get the default shares of grades.

    A grader's model assumes these shares, so plans without and with it are comparable.
    """
    if not case.beliefs.is_uniform:
        return case
    probs = np.tile(default_shares(case.max_grade + 1), (case.inputs.pool.n_items, 1))
    return replace(case, beliefs=replace(case.beliefs, probs=probs, is_uniform=False))


def priced_names(case: PreparedCase) -> tuple[str, ...]:
    """List the names of the graders (LLMs or other models) of a prepared pool that have a price."""
    return tuple(grader.name for grader in case.graders if grader.cost is not None)


def _offers(case: PreparedCase, targets: Sequence[Target], skill: float) -> list[_GraderOffer]:
    """List the sets of graders (LLMs or other models) with a price to compare, all first; [] if none has a price.

    If labels trained the model, the graders' skill is estimated; otherwise it is assumed to be ``skill``.
    """
    of_graders = asked_about(case.inputs, case.graders, targets, case.known)
    if not of_graders:
        return []
    # only a model of graders alone (`learns`) without training data has no labels that estimate the skill
    is_taught = case.inputs.training is not None or not case.beliefs.learns
    probs_of = partial(_probs_by, case, None if is_taught else skill)
    free = [grader for grader in case.graders if grader.cost is None]
    probs_of_free = probs_of(free) if free else None
    offers = []
    for chosen in _combinations(len(of_graders)):
        selected = [of_graders[k] for k in chosen]
        probs = probs_of([*free, *(grader for grader, _ in selected)])
        # without any grader, each item has the mean shares of grades that the model with them predicts
        shares = np.broadcast_to(probs.mean(axis=0), probs.shape) if probs_of_free is None else probs_of_free
        costs = [grader.costs for grader, _ in selected if grader.costs is not None]
        offers.append(
            _GraderOffer(
                names=tuple(grader.name for grader, _ in selected),
                prices=tuple(grader.cost or 0.0 for grader, _ in selected),
                asked_of=tuple(is_asked for _, is_asked in selected),
                without=replace(case.beliefs, probs=np.ascontiguousarray(shares), extra_probs=()),
                with_it=replace(case.beliefs, probs=probs),
                skill=None if is_taught else skill,
                money=sum(float(np.nanmean(prices)) for prices in costs) if costs else None,
            )
        )
    return offers


def _combinations(n: int) -> list[tuple[int, ...]]:
    """List the subsets of n graders to compare, as indices: all of them first, then smaller ones."""
    sizes = range(n - 1, 0, -1) if n <= _MOST_COMBINED else (1,) if n > 1 else ()
    return [tuple(range(n)), *(subset for size in sizes for subset in combinations(range(n), size))]


def _probs_by(case: PreparedCase, skill: float | None, graders: Sequence[Grades]) -> Floats:
    """Predict the grades of a pool with some of its graders (LLMs or other models).

    ``skill`` is their assumed correlation with human grades; None uses the one estimated from labels. The prediction
    of the case is kept if its model uses just these graders, or only others.

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
    """Build the offer of a hypothetical grader whose values correlate with human grades by ``skill``.

    ``price`` is that of an item, relative to a human judgment. Its values are simulated.
    """
    askable = np.logical_or.reduce([target.matters for target in targets])
    if case.known is not None:
        askable &= case.known < 0
    without = replace(case.beliefs, extra_probs=())
    scores = np.random.default_rng(case.seed_number).random(case.inputs.pool.n_items)
    with_it = replace(without, probs=imagined_probs(without.probs, scores, skill))
    return _GraderOffer(
        names=("a machine",), prices=(price,), asked_of=(askable,), without=without, with_it=with_it, skill=skill
    )


def _numbers(case: PreparedCase, offer: _GraderOffer) -> dict[str, Told]:
    """Collect the numbers of an offer (a set of graders with prices), if asked about all items, that notes report."""
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


def _parts(targets: Sequence[Target], askable: Bools) -> Iterator[tuple[int | None, Bools]]:
    """Yield selections of the items ``askable``, to ask about: none, those at the first places of any list, and all.

    Each is the number of places (0 for none, None for all) and flags of the items, shape (n_items,).
    """
    yield 0, np.zeros_like(askable)
    cutoff = max((target.measure.cutoff or _FIRST_PLACES) for target in targets)
    lists = {
        id(ranking): ranking for target in targets for ranking in (target.ranking, target.versus) if ranking is not None
    }
    n_before = 0
    for places in (math.ceil(cutoff / 2), cutoff):
        is_asked = np.zeros_like(askable)
        for ranking in lists.values():
            is_asked[ranking.items[ranking.ranks <= places]] = True
        is_asked &= askable
        if n_before < is_asked.sum() < askable.sum():
            yield places, is_asked
        n_before = int(is_asked.sum())
    yield None, askable


def _ways(case: PreparedCase, plan: SamplePlan, offer: _GraderOffer, weights: str) -> list[_ItemShare]:
    """Forecast the precision for each selection of items to ask a set of graders about, from none to all.

    ``offer`` is the set of graders; ``plan`` has the questions and the method, ``weights`` balances the questions.
    """
    parts = _parts([question.target for question in plan.questions], offer.asked)
    return [_way(case, plan, offer, weights, places, is_asked) for places, is_asked in parts]


def _way(
    case: PreparedCase, plan: SamplePlan, offer: _GraderOffer, weights: str, places: int | None, is_asked: Bools
) -> _ItemShare:
    """Forecast the precision if the graders are asked about the items ``is_asked``, flags (n_items,).

    These are the first ``places`` items of each list (None: all); ``weights`` names how to balance the questions.
    """
    targets, method = [question.target for question in plan.questions], find_method(plan.best)
    partly = replace(case, beliefs=offer.beliefs(is_asked))
    # by the model alone: the random error of a simulation is as large as the differences to compare
    forecasts = planner_of(partly, targets, weights=weights).forecasts(method)
    return _ItemShare(places, int(is_asked.sum()), offer.cost(is_asked), forecasts)


def _note(
    numbers: dict[str, Told],
    ways: Sequence[_ItemShare],
    budget: float,
    widths: Sequence[float],
    others: Sequence[tuple[tuple[str, ...], float]],
) -> Note:
    """Build the note that recommends the best of some selections of items at a budget.

    Parameters
    ----------
    numbers : dict
        What `_numbers` says of the best set of graders.
    ways : sequence of _ItemShare
        The selections, none first.
    widths : sequence of float
        Predicted half-width of each.
    others : sequence of (names, float)
        Names of the graders and predicted half-width of each other set, asked about all items.
    """
    if not any(math.isfinite(width) for width in widths[1:]):
        return Note("asking takes the budget", {**numbers, "budget": budget})
    best = 0
    for which in range(1, len(ways)):
        best = which if widths[which] < widths[best] else best
    chosen_way = ways[best]
    kinds = tuple("none" if way.places == 0 else "all" if way.places is None else str(way.places) for way in ways)
    chosen: dict[str, Told] = {
        "budget": budget,
        "places": kinds[best],
        "n_asked": chosen_way.n_items,
        "asking": chosen_way.cost,
        "left": budget - chosen_way.cost,
        "half_width": widths[best],
        "ways": kinds,
        "half_widths": tuple(widths),
        "asked_of": tuple(way.n_items for way in ways),
        "others": tuple(" and ".join(names) for names, _ in others),
        "half_widths_of_others": tuple(width for _, width in others),
    }
    return Note("asking", {**numbers, **chosen})
