"""Rankers adapted to users: what clicks prefer, boosted trees as weights of leaves, how far to follow the preferences.

`HyperLinearRanker` is boosted trees that were learned elsewhere, adapted to preferences between items (Chen, Zhang,
Zheng, Zha and Sun 2008). It has no ``fit`` but `adapt`; `choose_regularization` says how far to go, and
`write_ranker` and `read_ranker` keep it in a file. The preferences
come out of click logs (`preferences_from_clicks`); `simulate_clicks` makes logs of simulated users.
"""

from activeeval.core.lazily import attached, homes_of

__getattr__, __dir__ = attached(__name__, homes_of(__file__))
__all__ = __dir__()
