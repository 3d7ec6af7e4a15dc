"""Graders that are machines: what they say of items, cheap, everywhere, and wrong.

Their grades say what to expect of an item and where a person's judgment is worth most. They are never labels.
"""

from typing import TYPE_CHECKING

from activeeval.core.lazily import attached

_HOMES = {"activeeval.graders.prompts": ("Prompt",)}
__all__ = ["Prompt"]

if TYPE_CHECKING:
    from activeeval.graders.prompts import Prompt

__getattr__, __dir__ = attached(__name__, _HOMES)
