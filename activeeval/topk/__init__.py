"""Judging by comparison: the k best items of a query out of answers on pairs, and how many of these it takes."""

from activeeval.topk.expected import Expected, Remaining, expected_comparisons
from activeeval.topk.labelling import Answer, Discard, TopKLabelling

__all__ = ["Answer", "Discard", "Expected", "Remaining", "TopKLabelling", "expected_comparisons"]
