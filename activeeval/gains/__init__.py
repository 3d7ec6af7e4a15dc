"""Gains and discounts learned from preferences: the measure that a campaign is to estimate.

A pair of ranked lists of which one is preferred says something of what a grade is worth at a rank. From many such
pairs `GainDiscountLearner` finds the weights, and reads gains and discounts out of them: an `Additive` measure, which
everything else here samples for and estimates. Nothing in this room knows of sampling. `coherence` says how often two
measures prefer the same of two lists, `summarize_pairs` what pairs can teach.
"""

from activeeval.core.lazily import attached, homes_of

__getattr__, __dir__ = attached(__name__, homes_of(__file__))
__all__ = __dir__()
