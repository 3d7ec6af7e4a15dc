"""Drawn queries stay, in logs small enough for a test."""

import numpy as np
import pytest

from benchmarks.traffic import CHANGES, SHARED, counts_of_month, in_common, kept


@pytest.mark.parametrize("change", CHANGES)
def test_most_queries_stay_where_most_of_the_traffic_does(change):
    shares = kept(CHANGES[change], "thirds", n_pairs=4, n=500, n_queries=20_000)
    assert shares[:, 1] == pytest.approx(np.full(4, SHARED), abs=0.01)
    assert shares[:, 0].mean() >= 0.85


def test_what_two_logs_share():
    counts = counts_of_month(100)
    assert in_common(counts, 3 * counts) == pytest.approx(1.0)
    assert in_common(np.array([1.0, 0.0]), np.array([1.0, 3.0])) == pytest.approx(0.25)
