"""Judging by comparison: the k best items of a query out of answers on pairs, and how many of these it takes."""

from activeeval.topk.expected_comparisons import RemainingComparisons, expected_comparisons
from activeeval.topk.labelling import TopKLabelling

__all__ = ["RemainingComparisons", "TopKLabelling", "expected_comparisons"]
