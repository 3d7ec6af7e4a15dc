"""Rankers adapted to users: what clicks prefer, boosted trees as weights of leaves, how far to follow the preferences.

`HyperLinearRanker` is boosted trees that were learned elsewhere, adapted to preferences between items (Chen, Zhang,
Zheng, Zha and Sun 2008). It has no ``fit`` but `adapt`; `choose_regularization` says how far to go, and
`write_ranker` and `read_ranker` keep it in a file. The preferences
come out of click logs (`preferences_from_clicks`); `simulate_clicks` makes logs of simulated users.
"""

from typing import TYPE_CHECKING

from activeeval.core.lazily import attached

_HOMES = {
    "activeeval.adaptation.choice": ("b_measure", "choose_regularization", "pair_precision"),
    "activeeval.adaptation.clicks": ("ClickReport", "preferences_from_clicks"),
    "activeeval.adaptation.documents": ("item_pairs",),
    "activeeval.adaptation.hyper_linear": ("HyperLinearRanker",),
    "activeeval.adaptation.ranker_files": ("read_ranker", "write_ranker"),
    "activeeval.adaptation.users": ("CascadeModel", "PositionBased", "UserPopulation", "Visits", "simulate_clicks"),
}
__all__ = [
    "CascadeModel",
    "ClickReport",
    "HyperLinearRanker",
    "PositionBased",
    "UserPopulation",
    "Visits",
    "b_measure",
    "choose_regularization",
    "item_pairs",
    "pair_precision",
    "preferences_from_clicks",
    "read_ranker",
    "simulate_clicks",
    "write_ranker",
]

if TYPE_CHECKING:
    from activeeval.adaptation.choice import b_measure, choose_regularization, pair_precision
    from activeeval.adaptation.clicks import ClickReport, preferences_from_clicks
    from activeeval.adaptation.documents import item_pairs
    from activeeval.adaptation.hyper_linear import HyperLinearRanker
    from activeeval.adaptation.ranker_files import read_ranker, write_ranker
    from activeeval.adaptation.users import CascadeModel, PositionBased, UserPopulation, Visits, simulate_clicks

__getattr__, __dir__ = attached(__name__, _HOMES)
