"""Learning from preferences: the gains and discounts of the measure that a campaign is to estimate.

A pair of ranked lists of which one is preferred says something of what a grade is worth at a rank. From many such
pairs `GainDiscountLearner` finds the weights, and reads gains and discounts out of them: an `Additive` measure, which
everything else here samples for and estimates. Nothing in this room knows of sampling.
"""

from activeeval.learning.active import SimpleMargin
from activeeval.learning.cautions import UndeterminedWarning
from activeeval.learning.census import Census, open_pairs, take_census
from activeeval.learning.coherence import CoherenceReport, coherence, random_judged_pairs, random_list_pairs
from activeeval.learning.fields import gains_fields
from activeeval.learning.gains import GainDiscountLearner
from activeeval.learning.preferences import PreferenceData
from activeeval.learning.reading import ListSource, load_pairs, load_preferences
from activeeval.learning.readout import ReadOut, read_out, similarity
from activeeval.learning.stability import Stability, bootstrap_gains

__all__ = [
    "Census",
    "CoherenceReport",
    "GainDiscountLearner",
    "ListSource",
    "PreferenceData",
    "ReadOut",
    "SimpleMargin",
    "Stability",
    "UndeterminedWarning",
    "bootstrap_gains",
    "coherence",
    "gains_fields",
    "load_pairs",
    "load_preferences",
    "open_pairs",
    "random_judged_pairs",
    "random_list_pairs",
    "read_out",
    "similarity",
    "take_census",
]
