"""Whom to judge, how much of it, and with what probability.

`stages` says what is judged of a query and what that tells, `building` makes a stage of a target and a grade
model, `rates` turns variances and costs into probabilities, `designs` holds the result, `schemes` draws from it.
"""

from activeeval.design.building import random_prefixes, single_items, whole_queries
from activeeval.design.defence import defended_nodes
from activeeval.design.designs import DRAWS_PER_QUERY, SCHEMES, Design, Spending, check_budget
from activeeval.design.rates import defended, inclusion_probs, optimal_sampling_probs, roots
from activeeval.design.schemes import Pick, Sample, balancing, draw_sample, picks, places
from activeeval.design.stages import STAGES, Items, Prefix, Stage

__all__ = [
    "DRAWS_PER_QUERY",
    "SCHEMES",
    "STAGES",
    "Design",
    "Items",
    "Pick",
    "Prefix",
    "Sample",
    "Spending",
    "Stage",
    "balancing",
    "check_budget",
    "defended",
    "defended_nodes",
    "draw_sample",
    "inclusion_probs",
    "optimal_sampling_probs",
    "picks",
    "places",
    "random_prefixes",
    "roots",
    "single_items",
    "whole_queries",
]
