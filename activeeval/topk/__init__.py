"""Judging by comparison: the k best items of a query out of answers on pairs, and how many of these it takes."""

from activeeval.topk.expected import ExpectedComparisons, Remaining, expected_comparisons
from activeeval.topk.labelling import Discard, PairAnswer, TopKLabelling

__all__ = ["Discard", "ExpectedComparisons", "PairAnswer", "Remaining", "TopKLabelling", "expected_comparisons"]
