"""Graders that are machines: what they say of items, cheap, everywhere, and wrong.

Their grades say what to expect of an item and where a person's judgment is worth most. They are never labels.
"""

from activeeval.core.lazily import attached, homes_of

__getattr__, __dir__ = attached(__name__, homes_of(__file__))
__all__ = __dir__()
