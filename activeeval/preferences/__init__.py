"""Preferences: between ranked lists of grades, and between documents, out of click logs.

Of lists it holds pairs of which one is preferred, what such pairs are like and who agrees with them; what can be
learned from them is `gains`. Of documents it finds what users prefer by their clicks, and simulates such users.
"""

from activeeval.preferences.census import Census, open_pairs, take_census
from activeeval.preferences.cleaning import CleaningRules, RowFate
from activeeval.preferences.clicks import ClickPreferences, ClickReport, PairFate, preferences_from_clicks
from activeeval.preferences.coherence import CoherenceReport, coherence, random_judged_pairs, random_list_pairs
from activeeval.preferences.documents import item_pairs
from activeeval.preferences.pairs import PreferenceData
from activeeval.preferences.reading import ListSource, load_pairs, load_preferences
from activeeval.preferences.users import (
    CascadeModel,
    ClickModel,
    PositionBased,
    UserPopulation,
    Visits,
    simulate_clicks,
)

__all__ = [
    "CascadeModel",
    "Census",
    "CleaningRules",
    "ClickModel",
    "ClickPreferences",
    "ClickReport",
    "CoherenceReport",
    "ListSource",
    "PairFate",
    "PositionBased",
    "PreferenceData",
    "RowFate",
    "UserPopulation",
    "Visits",
    "coherence",
    "item_pairs",
    "load_pairs",
    "load_preferences",
    "open_pairs",
    "preferences_from_clicks",
    "random_judged_pairs",
    "random_list_pairs",
    "simulate_clicks",
    "take_census",
]
