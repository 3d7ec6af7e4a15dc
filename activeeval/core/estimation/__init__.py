"""Estimates of a pool's or population's performance from a judged sample, with intervals and tests."""

from activeeval.core.lazily import attached, homes_of

__getattr__, __dir__ = attached(__name__, homes_of(__file__))
__all__ = __dir__()
