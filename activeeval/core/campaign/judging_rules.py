"""Rules: how the items of a campaign are judged, and what several judgments of one come to."""

from __future__ import annotations

from dataclasses import dataclass

from activeeval.core.checks import one_of, whole_number
from activeeval.core.errors import InputError
from activeeval.core.judgments.policies import POLICIES


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How a campaign is judged.

    Attributes
    ----------
    judges_per_item : int
        An item waits until so many have judged it.
    policy : {"refuse", "majority", "median", "mean-gain"}
        What their grades count as; see `activeeval.core.judgments.policies`.
    lease_s : int
        Seconds for which an item belongs to the judge who has it.
    strict_order : bool
        Items go out strictly in their order and nobody passes one over, so that the sample may be read at any time,
        below the lowest that waits; otherwise in any order within a block, and it is read at the ends of blocks.
    adjudicate : bool
        An item on which its two judges differ waits for a third.
    """

    judges_per_item: int = 1
    policy: str = "majority"
    lease_s: int = 900
    strict_order: bool = False
    adjudicate: bool = False

    def __post_init__(self) -> None:
        one_of(self.policy, POLICIES, "policy")
        for name in ("judges_per_item", "lease_s"):
            whole_number(getattr(self, name), name, 1)
        if self.adjudicate and self.judges_per_item != 2:
            n = self.judges_per_item
            raise InputError(f"`adjudicate` is for two judges an item, got {n}", field="judges_per_item")
