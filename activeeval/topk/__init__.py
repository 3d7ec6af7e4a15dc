"""Judging by comparison: the k best items of a query out of answers on pairs, and how many of these it takes."""

from activeeval.topk.expected import Remaining, expected_comparisons
from activeeval.topk.labelling import TopKLabelling

__all__ = ["Remaining", "TopKLabelling", "expected_comparisons"]
