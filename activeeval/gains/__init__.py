"""Gains and discounts learned from preferences: the measure that a campaign is to estimate.

A pair of ranked lists of which one is preferred says something of what a grade is worth at a rank. From many such
pairs `GainDiscountLearner` finds the weights, and reads gains and discounts out of them: an `Additive` measure, which
everything else here samples for and estimates. Nothing in this room knows of sampling.
"""

from activeeval.gains.asking import SimpleMargin
from activeeval.gains.cautions import UndeterminedWarning
from activeeval.gains.fields import gains_fields
from activeeval.gains.intervals import GainIntervals, gain_intervals
from activeeval.gains.learner import GainDiscountLearner
from activeeval.gains.readout import ReadOut, read_out, similarity
from activeeval.gains.stability import Stability, bootstrap_gains

__all__ = [
    "GainDiscountLearner",
    "GainIntervals",
    "ReadOut",
    "SimpleMargin",
    "Stability",
    "UndeterminedWarning",
    "bootstrap_gains",
    "gain_intervals",
    "gains_fields",
    "read_out",
    "similarity",
]
