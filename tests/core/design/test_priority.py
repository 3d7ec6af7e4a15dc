"""Priority sampling is unbiased exactly, and keeps what it drew."""

import numpy as np
import pytest
from naive_traffic import samples

from activeeval.core.design.priority import allocated, priority_sample

SIZES = np.array([7.0, 3.0, 2.0, 2.0, 1.0])
VALUES = np.array([0.9, 0.2, 0.5, 0.0, 0.7])


def drawn_at(sizes, chosen, threshold):
    """Return what the code makes of a sample at a threshold: it is given numbers that lead to them."""
    numbers = np.full(sizes.size, np.nan)
    numbers[chosen] = np.minimum(1.0, sizes[chosen] * threshold) * 0.5
    others = np.setdiff1d(np.arange(sizes.size), chosen)
    first = others[np.argmax(sizes[others] * threshold < 1)]
    numbers[others] = sizes[others] * threshold * 2  # whatever lies above
    numbers[first] = sizes[first] * threshold
    sample = priority_sample(sizes, numbers, chosen.size)
    assert set(sample.places.tolist()) == set(chosen.tolist())
    assert sample.threshold == pytest.approx(threshold, rel=1e-12)
    return sample


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_frequencies_and_totals_are_unbiased(n):
    mass, counts, total = 0.0, np.zeros(SIZES.size), 0.0
    for chosen, threshold, weight in samples(SIZES, n):
        sample = drawn_at(SIZES, chosen, threshold)
        mass += weight
        counts[sample.places] += weight * sample.weights
        total += weight * float(sample.weights @ VALUES[sample.places])
        assert sample.weights == pytest.approx(SIZES[sample.places] / sample.probs, rel=1e-12)
    assert mass == pytest.approx(1.0, abs=1e-10)
    assert counts == pytest.approx(SIZES, abs=1e-10)
    assert total == pytest.approx(float(SIZES @ VALUES), abs=1e-10)


@pytest.mark.parametrize("n", [2, 3])
def test_the_variance_of_a_total_is_estimated_without_bias(n):
    mean, square, estimated = 0.0, 0.0, 0.0
    for chosen, threshold, weight in samples(SIZES, n):
        sample = drawn_at(SIZES, chosen, threshold)
        y = sample.weights * VALUES[sample.places]
        mean, square = mean + weight * y.sum(), square + weight * y.sum() ** 2
        estimated += weight * float((1 - sample.probs) @ y**2)
    assert estimated == pytest.approx(square - mean**2, abs=1e-9)


def test_all_are_drawn_where_there_are_no_more():
    sample = priority_sample(SIZES, np.linspace(0.1, 0.9, 5), 9)
    assert sample.probs.tolist() == [1.0] * 5
    assert sample.weights.tolist() == SIZES[sample.places].tolist()


def test_what_is_drawn_stays_where_other_things_leave():
    """Numbers stay: a thing out of the sample does not change it, one in it makes room for one."""
    random = np.random.default_rng(0)
    sizes, numbers = random.pareto(1.0, 500) + 1, random.random(500)
    before = priority_sample(sizes, numbers, 60).places
    outside = np.setdiff1d(np.arange(500), before)
    kept = np.setdiff1d(np.arange(500), outside[::2])
    assert set(kept[priority_sample(sizes[kept], numbers[kept], 60).places]) == set(before)
    rest = np.setdiff1d(np.arange(500), before[:1])
    after = set(rest[priority_sample(sizes[rest], numbers[rest], 60).places])
    assert len(after & set(before)) == 59


@pytest.mark.parametrize(
    ("n", "shares", "counts", "expected"),
    [
        (100, [1, 1, 2], [1000, 1000, 1000], [25, 25, 50]),
        (100, [1, 1, 2], [10, 1000, 1000], [10, 30, 60]),
        (10, [1, 1, 1], [90, 90, 90], [4, 3, 3]),
        (100, [98, 1, 1], [900, 900, 900], [96, 2, 2]),
        (100, [0, 1, 1], [900, 900, 900], [2, 49, 49]),
        (9999, [1, 1, 1], [4, 5, 6], [4, 5, 6]),
        (3, [1, 3, 2], [9, 9, 9], [0, 2, 1]),
        (20, [1, 0, 0], [3, 50, 150], [3, 4, 13]),
    ],
)  # fmt: skip
def test_strata_share_what_is_drawn(n, shares, counts, expected):
    assert allocated(n, np.array(shares, float), np.array(counts)).tolist() == expected
