"""The nouns of the ground: a pool of queries with their items, rankings of them, judgments.

Each is frozen and validated once, here; everything above relies on it and checks no more.
The item axis is flat: query ``q`` owns the items ``query_offsets[q] … query_offsets[q+1] − 1``.
"""

from activeeval.core.lazily import attached, homes_of

__getattr__, __dir__ = attached(__name__, homes_of(__file__))
__all__ = __dir__()
