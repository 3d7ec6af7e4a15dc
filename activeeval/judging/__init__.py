"""Judging by comparison: the k best items of a query out of answers on pairs, and how far judges agree."""

from activeeval.judging.outlook import Expected, Remaining, expected_comparisons
from activeeval.judging.topk import Answer, Discard, TopKLabelling

__all__ = ["Answer", "Discard", "Expected", "Remaining", "TopKLabelling", "expected_comparisons"]
