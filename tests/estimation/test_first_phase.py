"""Queries drawn from a log, judged in part: both draws enumerated, and coverage where all is fitted."""

from itertools import product

import numpy as np
import pytest
from naive_traffic import samples

from activeeval.estimation import Evidence, evaluate
from activeeval.estimation.first_phase import DrawnValues
from activeeval.pool import QueryLog

COUNTS = (np.array([6.0, 3.0, 1.0]), np.array([4.0, 2.0, 2.0]))
"""Of a log with two strata, of each of which two queries are drawn."""
VALUES = (np.array([0.9, 0.2, 0.6]), np.array([0.1, 0.8, 0.5]))
PREDICTED = (np.array([0.7, 0.3, 0.4]), np.array([0.2, 0.4, 0.5]))
CHANCES = (np.array([1.0, 0.6, 0.5]), np.array([0.7, 0.4, 0.9]))
"""Of being judged, once drawn."""
NOISE = 0.15
"""By which what is seen of a query that is not certain errs, either way."""
LOG = QueryLog(name="log", digest="", n_events=18.0, n_queries=6)


def first_phases():
    """Yield P = p / π, π, values, predictions, chances and strata of each pair of samples, and their weight."""
    total = sum(counts.sum() for counts in COUNTS)
    for draws in product(*(list(samples(counts, 2)) for counts in COUNTS)):
        parts = []
        for h, (chosen, threshold, _) in enumerate(draws):
            probs = np.minimum(1.0, COUNTS[h][chosen] * threshold)
            columns = (COUNTS[h][chosen] / total / probs, probs, VALUES[h][chosen], PREDICTED[h][chosen])
            parts.append((*columns, CHANCES[h][chosen], np.full(2, h)))
        yield [np.concatenate(column) for column in zip(*parts, strict=True)], draws[0][2] * draws[1][2]


def second_phases(chances):
    """Yield which queries are judged, what noise is in each, and with which probability."""
    for judged in product([False, True], repeat=chances.size):
        p_judged = np.prod(np.where(judged, chances, 1 - chances))
        if p_judged == 0:
            continue
        noisy = np.flatnonzero(np.array(judged) & (chances < 1))
        for signs in product([-NOISE, NOISE], repeat=noisy.size):
            noise = np.zeros(chances.size)
            noise[noisy] = signs
            yield np.array(judged), noise, p_judged / 2**noisy.size


def estimates(columns, judged, noise):
    """Return R̂ and V̂ of both phases, in the linear form: nothing fitted, no mean taken off."""
    weights, probs, values, predicted, chances, strata = columns
    open_rows = judged & (chances < 1)
    seen = values + noise
    within = np.where(open_rows, NOISE**2, 0.0)
    left = chances < 1
    regressors = np.column_stack((np.ones_like(predicted), predicted))
    evidence = Evidence(
        is_fitted=False,
        query_probs=weights[open_rows],
        inclusion_probs=chances[open_rows],
        totals=np.column_stack((seen, regressors))[open_rows],
        within=np.column_stack((within, np.zeros((within.size, 5))))[open_rows],
        values=seen[open_rows],
        population=weights[left] @ regressors[left],
        base=float(weights[~left] @ values[~left]),
        certain_squares=0.0,
        open_share=float(weights[left].sum()),
        pool_size=4.0,
        n_draws=4,
        n_queries=4,
        n_items=4,
        cost=4.0,
    )
    result = evaluate(evidence)
    rows = np.flatnonzero(judged)
    drawn = DrawnValues(
        query_probs=weights,
        inclusion_probs=probs,
        strata=strata,
        are_whole=np.ones(2, bool),
        known=np.where(left, predicted, 0.0) * 0.3,  # whatever is known, each draw of items shows the rest
        queries=rows,
        values=seen[rows],
        within=within[rows],
        chances=chances[rows],
        are_certain=~left[rows],
        by_items=True,
        log="log",
    )
    added, _ = drawn.variance(np.zeros(2), np.zeros(rows.size))
    return result.value, result.plain_variance + added


def test_both_phases_enumerated():
    mass = mean = square = estimated = 0.0
    for columns, weight in first_phases():
        for judged, noise, chance in second_phases(columns[4]):
            value, variance = estimates(columns, judged, noise)
            mass += weight * chance
            mean += weight * chance * value
            square += weight * chance * value**2
            estimated += weight * chance * variance
    total = sum(counts.sum() for counts in COUNTS)
    truth = sum(float(counts @ values) for counts, values in zip(COUNTS, VALUES, strict=True)) / total
    assert mass == pytest.approx(1.0, abs=1e-10)
    assert mean == pytest.approx(truth, abs=1e-10)
    assert estimated == pytest.approx(square - mean**2, abs=1e-10)
    assert square - mean**2 > 1e-3
