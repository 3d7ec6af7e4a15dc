"""Message texts of cautions about learned gains and their intervals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from activeeval.report.message_lookup import MessageWords


def _places(numbers: Mapping[str, Any]) -> str:
    """List ranks and grades as text: "rank 1, rank 2, grade 3"."""
    return ", ".join([*(f"rank {rank}" for rank in numbers["ranks"]), *(f"grade {y}" for y in numbers["grades"])])


WORDS: dict[str, MessageWords] = {
    # of gains and discounts
    "none explainable": "none of the {pairs:preference} is for a list that some DCG with falling discounts prefers",
    "silent preferences": "{n:,} of {pairs:preference} {n:is|are} between lists of the same grades or for a list "
    "that every "
    "DCG prefers, such as the best order of its items: they say next to nothing of gains and discounts",
    "nothing read out": "{why}",
    "rising discounts": "the discounts do not fall from rank to rank, or are not positive",
    "weights are no product": "gains and discounts hold {share:.0%} of the weights: what a grade is worth depends on "
    "its rank, or there are too few pairs to tell",
    "hardly better than chance": "{share:.0%} of the {n:held-out preference} between lists of different grades are "
    "ordered rightly, hardly more than by chance: too few pairs, answers that no grades explain, or preferred and "
    "other exchanged",
    "grade not weighed": "no pair that tells anything weighs grade {grade}: its gain is what the shape and the penalty "
    "say",
    "grades not told apart": "no pair tells grade {grade} from grade {below}: the shape and the penalty say what is "
    "between them",
    "ranks without difference": "no pair differs at rank {ranks}: what is found there is what the shape and the "
    "penalty say",
    "discounts up to a constant": "both lists of every pair that tells anything hold the same grades, so the discounts "
    "are known only up to a constant that is added to all: compare (c_k − c_K) / (c_1 − c_K)",
    "few tell the constant": "{n:,} of the {pairs:pair} that tell anything {n:holds|hold} other grades in one list "
    "than in the "
    "other: a constant that is added to all discounts rests on these few",
    "hidden directions": "{n:more way} to change gains and discounts together {n:leaves|leave} all pairs as they are",
    # of their intervals
    "rough intervals": lambda numbers: f"{{n:{numbers['unit'][:-1]}}} {{n:makes|make}} rough intervals",
    "wide intervals": lambda numbers: (
        f"{{confidence:.0%}} intervals wider than {{width:g}}, too few preferences tell of {_places(numbers)}"
    ),
    "pulled by the penalty": lambda numbers: (
        f"the penalty puts what was learned of {_places(numbers)} where the preferences alone would not: the intervals "
        "are stretched to hold it"
    ),
    "no intervals": "{why}",
}
