"""Preferences between ranked lists: pairs of which one is preferred, what such pairs are like, who agrees with them.

This room knows lists of grades and the doors that they come through. What can be learned from them is `gains`.
"""

from activeeval.preferences.census import Census, open_pairs, take_census
from activeeval.preferences.coherence import CoherenceReport, coherence, random_judged_pairs, random_list_pairs
from activeeval.preferences.pairs import PreferenceData
from activeeval.preferences.reading import ListSource, load_pairs, load_preferences

__all__ = [
    "Census",
    "CoherenceReport",
    "ListSource",
    "PreferenceData",
    "coherence",
    "load_pairs",
    "load_preferences",
    "open_pairs",
    "random_judged_pairs",
    "random_list_pairs",
    "take_census",
]
