"""Queries drawn from a log, judged in part: both draws enumerated, and coverage where all is fitted."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from core_cases import sample_of
from naive_traffic import samples

from activeeval.core.design.priority import allocated, priority_sample
from activeeval.core.estimation import estimate, evaluate
from activeeval.core.estimation.first_phase import FirstPhaseValues, JudgedValues, all_values, compare_drawn, values_of
from activeeval.core.estimation.significance import mean_interval
from activeeval.core.pool import QueryDraw, QueryLog, QueryPool

COUNTS = (np.array([6.0, 3.0, 1.0]), np.array([4.0, 2.0, 2.0]))
"""Of a log with two strata, of each of which two queries are drawn."""
VALUES = (np.array([0.9, 0.2, 0.6]), np.array([0.1, 0.8, 0.5]))
PREDICTED = (np.array([0.7, 0.3, 0.4]), np.array([0.2, 0.4, 0.5]))
CHANCES = (np.array([1.0, 0.6, 0.5]), np.array([1.0, 0.4, 1.0]))
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
    spread = np.column_stack((within, np.zeros((within.size, 5))))[open_rows]
    known = {"p": weights, "values": seen, "means": predicted, "certain": np.flatnonzero(~left)}
    opened = np.flatnonzero(open_rows)
    result = evaluate(sample_of(opened, chances[opened], **known, is_fitted=False, within=spread, n_queries=4))
    rows = np.flatnonzero(judged)
    drawn = FirstPhaseValues(
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


N_LOGS = 1000
LOWEST, HIGHEST = 0.92, 0.98
"""Where intervals of 95 % cover 95 % of 1,000 truths lie outside in 2 of 100,000 runs (4.3 standard errors)."""


def month(random):
    """Return counts, strata and values of the queries of a log: frequent queries are the easier ones."""
    counts = np.ceil(3000 / np.arange(1, 2001) ** 1.1)
    strata = np.digitize(np.arange(2000), [8, 150])
    easy = np.array([0.8, 0.6, 0.4])[strata]
    return counts, strata, np.clip(random.normal(easy, 0.25), 0, 1)


def drawn_pool(random, counts, strata, n):
    """Return places, P and the draw of n queries, in proportion to traffic."""
    traffic = np.bincount(strata, counts)
    n_each = allocated(n, traffic, np.bincount(strata))
    parts = []
    for h, size in enumerate(n_each):
        places = np.flatnonzero(strata == h)
        sample = priority_sample(counts[places], random.random(places.size), int(size))
        weights = traffic[h] / traffic.sum() * sample.weights / sample.weights.sum()
        parts.append((places[sample.places], weights, sample.probs))
    places, weights, probs = (np.concatenate(column) for column in zip(*parts, strict=True))
    draw = QueryDraw(inclusion_probs=probs, strata=strata[places], sizes=n_each, log=LOG)
    return places, weights, draw


def judged_whole(random, weights, draw, values, predicted):
    """Return the evidence of some of the queries judged whole, by chance: with regressors, as a sample has it."""
    chances = np.minimum(1.0, 60 * weights / weights.sum() + 0.1)
    rows = np.flatnonzero(random.random(values.size) < chances)
    left = chances < 1
    shown = JudgedValues(
        queries=rows, values=values[rows], within=np.zeros(rows.size), chances=chances[rows], are_certain=~left[rows]
    )
    opened, known = rows[left[rows]], {"p": weights, "values": values, "means": predicted, "certain_squares": 0.0}
    drawn = values_of(draw, weights, np.zeros(values.size), shown, by_items=False)
    return sample_of(opened, chances[opened], certain=np.flatnonzero(~left), **known, drawn=drawn)


@pytest.mark.slow
@pytest.mark.statistical
def test_intervals_cover_the_traffic_of_the_log():
    """Of all judged, and of some: 1,000 draws of queries each, of a log and of its judged part."""
    n = 60
    random = np.random.default_rng(n)
    counts, strata, values = month(random)
    predicted = np.clip(values + random.normal(0, 0.2, values.size), 0, 1)
    truth = float(counts @ values / counts.sum())
    covered, errors = np.zeros((N_LOGS, 2), bool), np.empty((N_LOGS, 2))
    for k in range(N_LOGS):
        places, weights, draw = drawn_pool(random, counts, strata, n)
        pool = QueryPool(places, np.arange(n + 1), query_probs=weights / weights.sum(), draw=draw)
        summary = all_values(pool, values[places]).interval(0.95)
        covered[k, 0] = summary.low <= truth <= summary.high
        part = estimate(judged_whole(random, weights, draw, values[places], predicted[places]), "", "population")
        low, high = part.interval(0.95)
        covered[k, 1] = low <= truth <= high
        errors[k] = summary.mean - truth, part.value - truth
    assert (covered.mean(axis=0) >= LOWEST).all()
    assert (covered.mean(axis=0) <= HIGHEST).all()
    # five standard errors of a mean over the draws: of ratios a bias of less than a seventh of their spread is left
    assert (np.abs(errors.mean(axis=0)) < 0.16 * errors.std(axis=0)).all()


def drawn(values, probs, strata, weights=None, sizes=None):
    """Return what all values of a pool show."""
    n = len(values)
    weights = np.full(n, 1 / n) if weights is None else np.array(weights)
    strata = np.array(strata)
    draw = QueryDraw(
        inclusion_probs=probs, strata=strata, sizes=np.bincount(strata) if sizes is None else sizes, log=LOG
    )
    return all_values(QueryPool(np.arange(n), np.arange(n + 1), query_probs=weights, draw=draw), np.array(values))


def test_rare_queries_of_one_weight_are_a_plain_random_sample():
    values = [0.1, 0.7, 0.4, 0.9, 0.2]
    ours, plain = drawn(values, np.full(5, 1e-12), [0] * 5).interval(0.9), mean_interval(values, 0.9)
    assert (ours.mean, ours.std_error, ours.low, ours.n) == pytest.approx(
        (plain.mean, plain.std_error, plain.low, 5), rel=1e-9
    )


def test_certain_queries_add_nothing():
    everything = drawn([0.1, 0.7, 0.4], [1.0, 1.0, 1.0], [0, 0, 0])
    assert everything.choice(0.4) == (0.0, np.inf)
    assert everything.interval(0.95).std_error == 0.0
    head = [0.9, 0.1, 0.5]
    rest = drawn([0.1, 0.7, 0.4], np.full(3, 0.25), [0, 0, 0], sizes=[3])
    both = drawn([*head, 0.1, 0.7, 0.4], [1, 1, 1, 0.25, 0.25, 0.25], [0, 0, 0, 1, 1, 1])
    assert both.choice(0.5)[0] == pytest.approx(rest.choice(0.4)[0] / 4)  # half the weight each


def test_strata_stand_about_their_own_means_where_they_are_whole():
    values, probs, strata = [0.9, 0.8, 0.2, 0.1], np.full(4, 0.5), [0, 0, 1, 1]
    inside = drawn(values, probs, strata).choice(0.5)[0]
    assert inside == pytest.approx(4 * 0.5 / 16 * 0.05**2 / 0.5)
    in_part = drawn(values, probs, strata, sizes=[3, 3]).choice(0.5)[0]
    assert in_part == pytest.approx(2 * 0.5 / 16 * (0.4**2 + 0.3**2) / 0.75)


def test_too_little_tells_nothing():
    assert drawn([0.4, 0.9], [1.0, 0.5], [0, 0]).choice(0.5)[0] == np.inf
    assert drawn([0.4, 0.4, 0.4], [0.5, 0.5, 0.5], [0, 0, 0]).choice(0.4)[0] == np.inf
    assert drawn([0.0, 0.0, 0.0], [0.5, 0.5, 0.5], [0, 0, 0]).choice(0.0)[0] == 0.0


def test_a_stratum_of_which_nothing_is_judged_goes_by_the_others():
    whole = drawn([0.9, 0.1, 0.5, 0.5], np.full(4, 0.5), [0, 0, 1, 1])
    seen = np.array([True, True, False, False])
    rows = {name: getattr(whole, name)[seen] for name in ("queries", "values", "within", "chances")}
    part = replace(whole, **rows, are_certain=np.zeros(2, bool))
    assert part.choice(0.5)[0] == pytest.approx(4 * 0.5 / 16 * 0.4**2 / 0.5)


@pytest.mark.parametrize("same", [0.0, -1.0])
def test_drawn_queries_that_all_change_alike_leave_room_for_others(same):
    """40 ties are no proof that no query of the log differs, and 40 losses are worse: Wilson's limit of 40."""
    values = drawn(np.full(40, same), np.full(40, 0.01), np.zeros(40, int))
    summary, share = values.interval(0.95, (-1.0, 1.0)), 1.96**2 / (40 + 1.96**2)
    low, high = (-share, share) if same == 0 else (-1.0, 2 * share - 1)
    assert (summary.low, summary.high) == pytest.approx((low, high), abs=1e-4)
    certain = drawn(np.full(40, same), np.ones(40), np.zeros(40, int)).interval(0.95, (-1.0, 1.0))
    assert certain.low == pytest.approx(same)
    assert certain.high == pytest.approx(same)


def test_a_comparison_on_drawn_queries_is_about_the_log():
    draw = QueryDraw(inclusion_probs=np.full(3, 0.5), strata=np.zeros(3, int), sizes=[3], log=LOG)
    pool = QueryPool(["a", "b", "c"], np.arange(4), query_probs=[0.5, 0.25, 0.25], draw=draw)
    pair = compare_drawn(np.array([0.9, 0.3, 0.5]), np.array([0.5, 0.4, 0.5]), pool)
    assert pair.difference == pytest.approx(0.5 * 0.4 - 0.25 * 0.1)
    assert (pair.wins, pair.ties, pair.losses, np.isnan(pair.p_wilcoxon)) == (1, 1, 1, True)
    assert (pair.low < 0) == (pair.p_t > 0.05)
    assert compare_drawn(np.ones(2), np.zeros(2), QueryPool(["a", "b"], [0, 1, 2])) is None
