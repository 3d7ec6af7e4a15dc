"""Is it worth asking a machine about every item? What that costs, and what is left for people then.

With a budget B and a machine at c of a person's price an item, people get B without it and B − c n with it, n the items
whose labels can matter. Both are planned with one model, the machine's: without it every item has the shares that its
items have on the mean.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from activeeval.cases.case import Case
from activeeval.design.methods import find_method
from activeeval.planning import SamplePlan
from activeeval.results import Note, Told
from activeeval.tasks.plan import planner_of
from activeeval.types import Bools

PERSON = 1.0
"""The price of a person's judgment of a mean item."""


def asking_notes(
    case: Case, plan: SamplePlan, *, weights: str = "equal", scope: str = "pool", confidence: float = 0.95
) -> list[Note]:
    """Return, where graders have a price, whether to ask them: what is planned at each budget with them and without.

    Parameters
    ----------
    plan : SamplePlan
        Of the same case, with the graders.
    """
    prices = [grader.cost for grader in case.graders if grader.cost is not None]
    if not prices:
        return []
    price, targets = sum(prices), [each.target for each in plan.questions]
    matters = np.any([target.matters for target in targets], axis=0)
    if case.known is not None:
        matters &= case.known < 0
    numbers: dict[str, Told] = {
        "names": tuple(grader.name for grader in case.graders if grader.cost is not None),
        "price": price,
        "n_items": int(matters.sum()),
        "cost": price * int(matters.sum()),
        "unit": case.inputs.pool.cost_unit,
        "money": _money(case, matters),
    }
    if price >= PERSON:
        return [Note("asking as dear as people", numbers)]
    if price == 0:
        return [Note("asking costs nothing", numbers)]
    method = find_method(plan.best)
    without = planner_of(_unasked(case), targets, weights=weights).rehearsed(method)
    notes = []
    for which in range(len(plan.questions[0].chosen)):
        budget = plan.questions[0].chosen[which].prospect.budget
        left = budget - float(numbers["cost"])  # type: ignore[arg-type]
        with_it = [each.forecasts[plan.best] for each in plan.questions]
        if not all(forecast.works(left) for forecast in with_it):
            notes.append(Note("asking takes the budget", {**numbers, "budget": budget}))
            continue
        never, ever = (
            max(forecast.at(amount).half_width(scope, confidence) for forecast in forecasts)
            for forecasts, amount in ((without, budget), (with_it, left))
        )
        pays: dict[str, Told] = {"budget": budget, "left": left, "never": never, "all": ever, "pays": int(ever < never)}
        notes.append(Note("asking", {**numbers, **pays}))
    return notes


def _unasked(case: Case) -> Case:
    """Return the case as it is believed to be where no grader says anything."""
    probs = case.beliefs.probs
    shares = np.broadcast_to(probs.mean(axis=0), probs.shape)
    return replace(case, beliefs=replace(case.beliefs, probs=np.ascontiguousarray(shares), extra_probs=()))


def _money(case: Case, matters: Bools) -> float | None:
    """Return what replies about so many items have cost in money; None where no file says."""
    means = [float(grader.costs[~np.isnan(grader.costs)].mean()) for grader in case.graders if grader.costs is not None]
    return sum(means) * int(matters.sum()) if means else None
