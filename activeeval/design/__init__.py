"""Whom to judge, how much of it, in which order; and what that tells of any question.

`beliefs` hold the grade model, `stages` say what is judged of a query and turn model and targets into `orders` (places with
the rates at which they come, by `rates`) and `readings` (targets on an order); `schemes` go through an order unit by
unit, `selections` are what has been taken, `designs` put it together.
"""

from activeeval.design.beliefs import Beliefs, known_grades
from activeeval.design.designs import Design
from activeeval.design.orders import Order, Places
from activeeval.design.rates import checked_share, defended, optimal_sampling_probs, order_of, weighed
from activeeval.design.readings import Judge, Reading, Totals
from activeeval.design.schemes import Levels, Queue, Replacement, Scheme, ascending, check_budget, whole
from activeeval.design.selections import Selection
from activeeval.design.stages import DEPTH, ITEMS, WHOLE, Items, Stage

__all__ = [
    "DEPTH",
    "ITEMS",
    "WHOLE",
    "Beliefs",
    "Design",
    "Items",
    "Judge",
    "Levels",
    "Order",
    "Places",
    "Queue",
    "Reading",
    "Replacement",
    "Scheme",
    "Selection",
    "Stage",
    "Totals",
    "ascending",
    "check_budget",
    "checked_share",
    "defended",
    "known_grades",
    "optimal_sampling_probs",
    "order_of",
    "weighed",
    "whole",
]
