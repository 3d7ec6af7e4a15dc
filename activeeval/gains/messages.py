"""Message texts of cautions about learned gains and their intervals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from activeeval.report.message_lookup import MessageWords


def _places(numbers: Mapping[str, Any]) -> str:
    """List the ranks and grades of a caution as text: "rank 1, rank 2, grade 3"."""
    return ", ".join([*(f"rank {rank}" for rank in numbers["ranks"]), *(f"grade {y}" for y in numbers["grades"])])


WORDS: dict[str, MessageWords] = {
    # of gains and discounts
    "none explainable": "no DCG with falling discounts agrees with any of the {pairs:preference}",
    "silent preferences": "{n:,} of {pairs:preference} {n:is|are} between lists of the same grades or for a list "
    "that every "
    "DCG prefers, such as the best order of its items: they determine hardly anything of gains and discounts",
    "nothing read out": "{why}",
    "rising discounts": "the discounts do not fall from rank to rank, or are not positive",
    "weights are no product": "gains and discounts hold {share:.0%} of the weights: the gain of a grade depends on its "
    "rank, or there are too few pairs",
    "hardly better than chance": "{share:.0%} of the {n:held-out preference} between lists of different grades are "
    "ordered rightly, hardly more than by chance: too few pairs, answers that no grades explain, or preferred and "
    "other exchanged",
    "grade not weighed": "no informative pair involves grade {grade}: its gain comes from the shape and the penalty "
    "alone",
    "grades not told apart": "no pair tells grade {grade} from grade {below}: their difference comes from the shape "
    "and the penalty alone",
    "ranks without difference": "no pair differs at rank {ranks}: the discount there comes from the shape and the "
    "penalty alone",
    "discounts up to a constant": "no informative pair has lists of different grades, so the discounts are "
    "known only up to a constant that is added to all: compare (c_k − c_K) / (c_1 − c_K)",
    "few tell the constant": "{n:,} of {pairs:informative pair} {n:has|have} lists of different grades: only these "
    "determine the constant that is added to all discounts",
    "hidden directions": "{n:more combination} of gains and discounts {n:is|are} not determined by the pairs",
    # of their intervals
    "rough intervals": lambda numbers: f"{{n:{numbers['unit'][:-1]}}} {{n:makes|make}} rough intervals",
    "wide intervals": lambda numbers: (
        f"{{confidence:.0%}} intervals wider than {{width:g}}: too few preferences for {_places(numbers)}"
    ),
    "pulled by the penalty": lambda numbers: (
        f"the penalty moves what was learned for {_places(numbers)} out of the intervals: they are extended to hold it"
    ),
    "no intervals": "{why}",
}
