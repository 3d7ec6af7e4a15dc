"""Grades of items by graders (LLMs or other models): cheap, available for all items, and error-prone.

They predict grades and show where a human judgment helps most. They are never used as labels.
"""

from activeeval.core.lazily import attached, homes_of

__getattr__, __dir__ = attached(__name__, homes_of(__file__))
__all__ = __dir__()
