"""The test of items is Fisher's, as scipy.stats has it."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import fisher_exact

from activeeval.core.judgments.skip_tests import _by_items, skipping_of

COUNTS = st.integers(0, 40)


@given(COUNTS, COUNTS, COUNTS, COUNTS)
def test_without_queries_it_is_fishers_exact_test(both, relevant, skipped, neither):
    """Of a single query the other test says nothing."""
    counts = (both, relevant, skipped, neither)
    is_relevant, is_skipped = np.repeat([1, 1, 0, 0], counts), np.repeat([1, 0, 1, 0], counts)
    n = is_relevant.size
    exact = fisher_exact([[both, relevant], [skipped, neither]], alternative="greater").pvalue
    assert _by_items(n, both + relevant, both + skipped, both) == pytest.approx(exact, rel=1e-9, abs=1e-300)
    skipping = skipping_of(np.zeros(n, dtype=int), is_relevant, is_skipped)
    assert (skipping.n_relevant, skipping.skipped_relevant) == (both + relevant, both)
