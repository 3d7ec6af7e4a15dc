"""Rules of judging: number of judges per item, aggregation of their grades, leases and order."""

from __future__ import annotations

from dataclasses import dataclass

from activeeval.core.checks import one_of, whole_number
from activeeval.core.errors import InputError
from activeeval.core.judgments.policies import POLICIES


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Rules by which a campaign is judged.

    Attributes
    ----------
    judges_per_item : int
        Number of judgments that complete an item.
    policy : {"refuse", "majority", "median", "mean-gain"}
        Aggregation of several grades; see `activeeval.core.judgments.policies`.
    lease_s : int
        Seconds for which an item is leased to a judge.
    strict_order : bool
        True: items are assigned strictly in order and cannot be skipped, so the sample may be read at any time,
        below the lowest waiting item. False: any order within a block, and the sample is read at the ends of blocks.
    adjudicate : bool
        True if an item on which its two judges disagree waits for a third.

    Raises
    ------
    InputError
        If a value is out of range, or `adjudicate` is set without two judges per item.
    """

    judges_per_item: int = 1
    policy: str = "majority"
    lease_s: int = 900
    strict_order: bool = False
    adjudicate: bool = False

    def __post_init__(self) -> None:
        """Raise InputError unless all values are in range and fit together."""
        one_of(self.policy, POLICIES, "policy")
        for name in ("judges_per_item", "lease_s"):
            whole_number(getattr(self, name), name, 1)
        if self.adjudicate and self.judges_per_item != 2:
            n = self.judges_per_item
            raise InputError(f"`adjudicate` requires two judges per item, got {n}", field="judges_per_item")
