"""Basic data types: a pool of queries with their items, rankings of the items, and judgments.

Each type is immutable and checks its input once, on construction; code elsewhere relies on that.
All items lie on one flat axis: query ``q`` owns the items ``query_offsets[q] … query_offsets[q+1] − 1``.
"""

from activeeval.core.lazily import attached, homes_of

__getattr__, __dir__ = attached(__name__, homes_of(__file__))
__all__ = __dir__()
