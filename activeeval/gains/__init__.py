"""Gains and discounts learned from preferences between ranked lists.

A preference between two graded lists is evidence of the value of a grade at a rank. `GainDiscountLearner` fits weights
to many such pairs and factors them into gains and discounts: an `Additive` measure, which all sampling methods can
estimate. This package does not import sampling code. `coherence` computes how often two measures prefer the same of two
lists, `summarize_pairs` counts the informative pairs.
"""

from activeeval.core.lazily import attached, homes_of

__getattr__, __dir__ = attached(__name__, homes_of(__file__))
__all__ = __dir__()
