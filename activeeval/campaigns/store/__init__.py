"""The durable store of campaigns: rows in SQLite or PostgreSQL. All SQL is in here; it knows rows, not estimates."""

from activeeval.core.lazily import attached, homes_of

__getattr__, __dir__ = attached(__name__, homes_of(__file__))
__all__ = __dir__()
