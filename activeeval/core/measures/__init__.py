"""Measures as values: what a ranking is worth once its items are graded, or how that is distributed before."""

from activeeval.core.lazily import attached, homes_of

__getattr__, __dir__ = attached(__name__, homes_of(__file__))
__all__ = __dir__()
