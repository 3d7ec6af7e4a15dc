"""What judges say of items: judgments of any form, what several of them count as, how far judges agree."""

from activeeval.core.lazily import attached, homes_of

__getattr__, __dir__ = attached(__name__, homes_of(__file__))
__all__ = __dir__()
