"""Gains and discounts learned from preferences: the measure that a campaign is to estimate.

A pair of ranked lists of which one is preferred says something of what a grade is worth at a rank. From many such
pairs `GainDiscountLearner` finds the weights, and reads gains and discounts out of them: an `Additive` measure, which
everything else here samples for and estimates. Nothing in this room knows of sampling. `coherence` says how often two
measures prefer the same of two lists, `summarize_pairs` what pairs can teach.
"""

from typing import TYPE_CHECKING

from activeeval.core.lazily import attached

_HOMES = {
    "activeeval.gains.asking": ("SimpleMargin",),
    "activeeval.gains.cautions": ("UndeterminedWarning",),
    "activeeval.gains.measure_agreement": ("coherence", "random_judged_pairs", "random_list_pairs"),
    "activeeval.gains.profile_intervals": ("gain_intervals",),
    "activeeval.gains.learned": ("LearnedGains",),
    "activeeval.gains.learner": ("GainDiscountLearner",),
    "activeeval.gains.pair_summary": ("open_pairs", "summarize_pairs"),
    "activeeval.gains.pairs": ("PreferenceData",),
    "activeeval.gains.preference_files": ("ListSource", "load_pairs", "load_preferences"),
    "activeeval.gains.rank_one": ("RankOneTest", "rank_one_test"),
    "activeeval.gains.readout": ("read_out", "similarity"),
    "activeeval.gains.stability": ("bootstrap_gains",),
}
__all__ = [
    "GainDiscountLearner",
    "LearnedGains",
    "ListSource",
    "PreferenceData",
    "RankOneTest",
    "SimpleMargin",
    "UndeterminedWarning",
    "bootstrap_gains",
    "coherence",
    "gain_intervals",
    "load_pairs",
    "load_preferences",
    "open_pairs",
    "random_judged_pairs",
    "random_list_pairs",
    "rank_one_test",
    "read_out",
    "similarity",
    "summarize_pairs",
]

if TYPE_CHECKING:
    from activeeval.gains.asking import SimpleMargin
    from activeeval.gains.cautions import UndeterminedWarning
    from activeeval.gains.learned import LearnedGains
    from activeeval.gains.learner import GainDiscountLearner
    from activeeval.gains.measure_agreement import coherence, random_judged_pairs, random_list_pairs
    from activeeval.gains.pair_summary import open_pairs, summarize_pairs
    from activeeval.gains.pairs import PreferenceData
    from activeeval.gains.preference_files import ListSource, load_pairs, load_preferences
    from activeeval.gains.profile_intervals import gain_intervals
    from activeeval.gains.rank_one import RankOneTest, rank_one_test
    from activeeval.gains.readout import read_out, similarity
    from activeeval.gains.stability import bootstrap_gains

__getattr__, __dir__ = attached(__name__, _HOMES)
