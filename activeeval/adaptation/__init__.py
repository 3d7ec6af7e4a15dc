"""Adapt rankers to user preferences: preferences from clicks, boosted trees as leaf weights, choice of regularization.

`HyperLinearRanker` wraps boosted trees fitted elsewhere, and adapts them to preferences between items (Chen, Zhang,
Zheng, Zha and Sun 2008). It has `adapt` instead of ``fit``; `choose_regularization` chooses how far to adapt;
`write_ranker` and `read_ranker` save and load it. `preferences_from_clicks` extracts preferences from click logs;
`simulate_clicks` generates logs of simulated users.
"""

from activeeval.core.lazily import attached, homes_of

__getattr__, __dir__ = attached(__name__, homes_of(__file__))
__all__ = __dir__()
