"""Evaluation measures: the value of a ranking for known grades, and its moments under a grade model."""

from activeeval.core.lazily import attached, homes_of

__getattr__, __dir__ = attached(__name__, homes_of(__file__))
__all__ = __dir__()
