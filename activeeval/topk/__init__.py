"""Top-k labels by pairwise comparison: the k best items of a query in order, and the number of comparisons needed."""

from activeeval.topk.expected_comparisons import RemainingComparisons, expected_comparisons
from activeeval.topk.labelling import TopKLabelling

__all__ = ["RemainingComparisons", "TopKLabelling", "expected_comparisons"]
