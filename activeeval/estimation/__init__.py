"""What a judged sample says about the pool: estimates and their intervals."""

from activeeval.estimation.estimators import ESTIMATORS, TARGETS, Evaluated, estimate, evaluate, population_variance
from activeeval.estimation.samples import JudgedSample, census, judged_sample

__all__ = [
    "ESTIMATORS",
    "TARGETS",
    "Evaluated",
    "JudgedSample",
    "census",
    "estimate",
    "evaluate",
    "judged_sample",
    "population_variance",
]
