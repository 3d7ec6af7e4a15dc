"""Judgments of all forms, the combination of several judgments of an item, and agreement between judges."""

from activeeval.core.lazily import attached, homes_of

__getattr__, __dir__ = attached(__name__, homes_of(__file__))
__all__ = __dir__()
