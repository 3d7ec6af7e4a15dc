"""Whom to judge, how much of it, in which order; and what that tells of any question.

`beliefs` hold the grade model, `stages` say what is judged of a query and turn model and targets into `orders` (places
with the rates at which they come, by `rates`) and `readings` (targets on an order), `inputs` do so for any part of a
pool; `schemes` say how an order is gone through, by `levels` or with `replacement`, `selections` are what has been
taken, `designs` put it together; `label_values` say what an item tells where values are divided by an ideal, `limits`
how near a design comes to the best that its model and costs allow, `bounds` what the least cost of several bounds is.
"""

from activeeval.core.design.beliefs import GradeProbs, known_grades
from activeeval.core.design.bounds import LeastCost, least_cost
from activeeval.core.design.designs import Design
from activeeval.core.design.inputs import DesignInput, equal_loss_weights
from activeeval.core.design.levels import Levels, Queue
from activeeval.core.design.limits import RatePlan
from activeeval.core.design.orders import LargerPool, Order, Places
from activeeval.core.design.planned import Planned
from activeeval.core.design.rates import RateSums, RelativeRates, optimal_sampling_probs
from activeeval.core.design.readings import Reading, ReadingJudge
from activeeval.core.design.replacement import Replacement, ReplacementDraws
from activeeval.core.design.schemes import DrawnUnits, Scheme, ascending, check_budget
from activeeval.core.design.selections import Selection, Selections, whole
from activeeval.core.design.stages import WHOLE
from activeeval.core.design.value_sums import JudgedTotals, PoolSums

__all__ = [
    "WHOLE",
    "Design",
    "DesignInput",
    "DrawnUnits",
    "GradeProbs",
    "JudgedTotals",
    "LargerPool",
    "LeastCost",
    "Levels",
    "Order",
    "Places",
    "Planned",
    "PoolSums",
    "Queue",
    "RatePlan",
    "RateSums",
    "Reading",
    "ReadingJudge",
    "RelativeRates",
    "Replacement",
    "ReplacementDraws",
    "Scheme",
    "Selection",
    "Selections",
    "ascending",
    "check_budget",
    "equal_loss_weights",
    "known_grades",
    "least_cost",
    "optimal_sampling_probs",
    "whole",
]
