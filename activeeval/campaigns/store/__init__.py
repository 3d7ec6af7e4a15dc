"""Durable store of campaigns in SQLite or PostgreSQL: all SQL is here; it handles rows, not estimates."""

from activeeval.core.lazily import attached, homes_of

__getattr__, __dir__ = attached(__name__, homes_of(__file__))
__all__ = __dir__()
