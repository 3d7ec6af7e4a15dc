"""What a judged sample says about the pool: estimates, their intervals, and when to stop."""

from activeeval.estimation.estimators import ESTIMATORS, TARGETS, Evaluated, estimate, evaluate, population_variance
from activeeval.estimation.intervals import Bootstrap, IntervalKind, Skewed, Student
from activeeval.estimation.samples import JudgedSample, census, judged_sample
from activeeval.estimation.stopping import (
    INTERVALS,
    AsymptoticSequence,
    Betting,
    Decision,
    GroupSequential,
    StoppingRule,
    crossing_probs,
    find_interval,
    spending_boundaries,
)

__all__ = [
    "ESTIMATORS",
    "INTERVALS",
    "TARGETS",
    "AsymptoticSequence",
    "Betting",
    "Bootstrap",
    "Decision",
    "Evaluated",
    "GroupSequential",
    "IntervalKind",
    "JudgedSample",
    "Skewed",
    "StoppingRule",
    "Student",
    "census",
    "crossing_probs",
    "estimate",
    "evaluate",
    "find_interval",
    "judged_sample",
    "population_variance",
    "spending_boundaries",
]
