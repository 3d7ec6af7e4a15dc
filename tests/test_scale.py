from __future__ import annotations

import gc
import itertools
import json
import subprocess
import sys
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from naive import pool_of, random_lists, random_probs, rankings_of

from activeeval import DCG, ERR, METHODS, RBP, Campaign, Chunk, InputError, QueryPool, Rankings, Target, chunked_design
from activeeval.errors import BudgetError, StateError
from activeeval.record import from_arrays, record_of, to_arrays

N_QUERIES = 23
MEASURES = (DCG(), DCG(cutoff=3), RBP(0.7), ERR(4), ERR(4, cutoff=4))
ONE_BY_ONE = ("active", "active_uniC", "active_uniD", "passive", "difference", "regression")


def whole(compare=True, seed=0, measure=None):
    """Return a target with costs, overheads and traffic, lists of any length, and a grade model."""
    random = np.random.default_rng(seed)
    lengths = random.integers(1, 9, N_QUERIES).tolist()
    pool = pool_of(
        lengths,
        item_costs=random.uniform(0.5, 2, sum(lengths)),
        query_costs=random.uniform(0, 3, N_QUERIES),
        query_probs=random.dirichlet(np.full(N_QUERIES, 3.0)),
    )
    lists = [rankings_of(pool, random_lists(random, lengths)) for _ in range(2)]
    target = Target(measure or ERR(4), lists[0], lists[1] if compare else None)
    return target, random_probs(random, pool.n_items, 5)


def cut(target, probs, edges):
    """Return the chunks of a pool between its first query, the edges, and its end."""
    chunks = []
    for first, last in itertools.pairwise([0, *edges, target.pool.n_queries]):
        pool, items = target.pool.subset(np.arange(first, last))
        versus = None if target.versus is None else target.versus.restricted_to(pool, items)
        traffic = 1000 * target.pool.query_probs[first:last].sum()
        own = None if probs is None else probs[..., items, :]
        chunks.append(Chunk(target.ranking.restricted_to(pool, items), own, versus, traffic=traffic))
    return chunks


def by_size(target, probs, size):
    return cut(target, probs, range(size, target.pool.n_queries, size))


def assert_is_the_design(chunked, design):
    assert chunked.n_queries == design.pool.n_queries
    np.testing.assert_allclose(chunked.query_probs, design.query_probs, rtol=1e-12)
    np.testing.assert_allclose(chunked.predictions, design.predictions, rtol=1e-12)
    np.testing.assert_allclose(chunked.variances, design.variances, rtol=1e-12)
    np.testing.assert_allclose(chunked.costs, design.costs, rtol=1e-12)
    np.testing.assert_allclose(chunked.sampling_probs, design.sampling_probs, rtol=1e-12)
    assert chunked.sampling_probs.sum() == pytest.approx(1, rel=1e-12)
    assert chunked.expected_cost == pytest.approx(design.expected_cost, rel=1e-12)
    assert chunked.n_draws(70) == design.n_draws(70)


# The design of the whole pool


@pytest.mark.kernel
@pytest.mark.parametrize("share", [0.0, 0.2])
@pytest.mark.parametrize("compare", [False, True])
@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_chunks_give_the_design_of_the_whole_pool(measure, compare, share):
    target, probs = whole(compare, measure=measure)
    design = METHODS["active"].design(target, probs, defensive_share=share)
    chunked = chunked_design(cut(target, probs, [1, 9, 10, 17]), measure, defensive_share=share)
    assert_is_the_design(chunked, design)
    assert chunked.chunk_offsets.tolist() == [0, 1, 9, 10, 17, N_QUERIES]
    assert chunked.performance == pytest.approx(design.query_probs @ design.predictions, rel=1e-12)


@pytest.mark.parametrize("size", range(1, N_QUERIES + 1))
def test_the_design_does_not_depend_on_the_size_of_chunks(size):
    target, probs = whole()
    assert_is_the_design(chunked_design(by_size(target, probs, size), ERR(4)), METHODS["active"].design(target, probs))


@pytest.mark.parametrize("method", ONE_BY_ONE)
def test_every_method_that_draws_whole_queries_one_by_one_comes_in_chunks(method):
    target, probs = whole()
    chunks = by_size(target, None if method == "passive" else probs, 5)
    chunked = chunked_design(chunks, ERR(4), method, bias=0.1)
    assert_is_the_design(chunked, METHODS[method].design(target, probs, bias=0.1))
    assert chunked.method is METHODS[method]


def test_chunks_with_a_query_factor():
    target, probs = whole()
    nodes, weights = np.stack((probs, probs[:, ::-1])), np.array([0.3, 0.7])
    chunks = [replace(chunk, node_weights=weights) for chunk in by_size(target, nodes, 4)]
    design = METHODS["active"].design(target, nodes, node_weights=weights)
    assert_is_the_design(chunked_design(chunks, ERR(4)), design)


def test_without_traffic_every_query_counts_alike():
    random = np.random.default_rng(1)
    pool = pool_of([3] * 10)
    probs = random_probs(random, 30, 5)
    target = Target(DCG(), rankings_of(pool, random_lists(random, [3] * 10)))
    chunks = [replace(chunk, traffic=None) for chunk in cut(target, probs, [1, 7])]
    assert_is_the_design(chunked_design(chunks, DCG()), METHODS["active"].design(target, probs))


def test_a_query_without_cost_counts_as_the_cheapest_item_of_the_whole_pool():
    pool = pool_of([2, 2, 2], item_costs=[3, 2, 0.25, 5, 4, 4])
    target = Target(DCG(), rankings_of(pool, [[0, 1], [], [1]]))
    probs = random_probs(np.random.default_rng(2), 6, 3)
    design = METHODS["active"].design(target, probs)
    assert_is_the_design(chunked_design(by_size(target, probs, 1), DCG()), design)


def test_a_function_and_a_generator_may_bring_the_chunks():
    target, probs = whole()
    chunks = by_size(target, probs, 5)
    for bring in (lambda: iter(chunks), iter(chunks), tuple(chunks)):
        assert_is_the_design(chunked_design(bring, ERR(4)), METHODS["active"].design(target, probs))


@pytest.mark.parametrize("measure", [DCG(), ERR(4)], ids=str)
@pytest.mark.parametrize("size", [1, 4, N_QUERIES])
@pytest.mark.parametrize("n_jobs", [2, 3, -1])
def test_threads_change_no_bit(measure, size, n_jobs):
    target, probs = whole(measure=measure)
    chunks = by_size(target, probs, size)
    one, several = (chunked_design(chunks, measure, n_jobs=n) for n in (1, n_jobs))
    for name in ("chunk_offsets", "query_probs", "predictions", "variances", "costs", "sampling_probs"):
        np.testing.assert_array_equal(getattr(one, name), getattr(several, name), err_msg=name)


# Draws, and the record of what was drawn


@pytest.mark.parametrize("expected", [False, True])
@pytest.mark.parametrize("method", ONE_BY_ONE)
def test_draws_are_those_of_a_campaign_on_the_whole_pool_and_so_is_their_estimate(method, expected):
    target, probs = whole()
    labels = np.random.default_rng(3).integers(0, 5, target.pool.n_items)
    chunks = by_size(target, probs, 5)
    chunked = chunked_design(chunks, ERR(4), method)
    design = METHODS[method].design(target, probs)
    for seed, budget in itertools.product(range(5), (15, 60, 110)):
        campaign = Campaign(design, budget, rng=seed, expected=expected)
        live = campaign.run(
            lambda query, items: [labels[target.pool.query_offsets[int(query[1:])] + int(z) - 1] for z in items]
        )
        draws = chunked.draw(budget, seed, expected=expected)
        assert draws.tolist() == [draw.query for draw in campaign.draws]
        record = chunked.record(draws, chunks)
        _, items = target.pool.subset(np.unique(draws))
        found = record.estimate(labels[items])
        for name in ("value", "std_error", "cost", "degrees_of_freedom"):
            assert getattr(found, name) == pytest.approx(getattr(live, name), rel=1e-9), name
        assert (found.n_draws, found.n_queries, found.n_items) == (live.n_draws, live.n_queries, live.n_items)
        for name, array in to_arrays(record_of(campaign, 4)).items():
            if array.dtype.kind == "U":
                assert array.tolist() == to_arrays(record)[name].tolist()
            else:
                np.testing.assert_allclose(to_arrays(record)[name], array, rtol=1e-11, err_msg=name)


def test_a_record_of_drawn_queries_is_stored_and_read_like_any_other():
    target, probs = whole(compare=False, measure=DCG())
    chunks = by_size(target, probs, 6)
    chunked = chunked_design(chunks, DCG(), "regression")
    record = chunked.record(chunked.draw(60, 0), (replace(chunk, grade_probs=None) for chunk in chunks))
    assert record.max_grade == 4
    grades = np.random.default_rng(4).integers(0, 5, record.stage.target.pool.n_items)
    assert from_arrays(to_arrays(record)).estimate(grades) == record.estimate(grades)


def test_a_budget_that_pays_for_every_query_takes_every_query():
    target, probs = whole()
    chunks = by_size(target, probs, 6)
    chunked = chunked_design(chunks, ERR(4))
    record = chunked.record(chunked.draw(chunked.costs.sum(), 0), chunks)
    labels = np.random.default_rng(5).integers(0, 5, target.pool.n_items)
    found = record.estimate(labels)
    assert found.value == pytest.approx(target.pool.query_probs @ target.values(labels), rel=1e-12)
    assert found.std_error == 0


# What is refused


def refusals():
    target, probs = whole()
    chunks = by_size(target, probs, 6)

    def with_third(**changes):
        return [*chunks[:2], replace(chunks[2], **changes), *chunks[3:]]

    third = chunks[2].grade_probs
    fewer = np.full((len(third), 4), 0.25)
    unknown = third.copy()
    unknown[3, 1] = np.nan
    name = r"item '\d' of query 'q1\d'"
    yield "no chunk", [], "there is no chunk, so the pool is empty"
    yield "no chunk from a function", list, "there is no chunk, so the pool is empty"
    yield "another thing", [*chunks, (1, 2)], r"chunks\[4\] must be a Chunk, got tuple"
    yield "NaN", with_third(grade_probs=unknown), rf"chunks\[2\]: grade_probs of {name} must be .* nan, .*"
    yield "rows", with_third(grade_probs=third[1:]), r"chunks\[2\]: grade_probs must have shape .*"
    yield "columns", with_third(grade_probs=fewer), r"chunks\[2\]: grade_probs must have 5 columns.*"
    yield "no model", with_third(grade_probs=None), r"chunks\[2\]: method 'active' needs a grade model.*"
    yield "traffic", with_third(traffic=np.nan), r"chunks\[2\]: traffic must be a positive number, got nan"
    yield "no traffic", with_third(traffic=0), r"chunks\[2\]: traffic must be a positive number, got 0"
    yield "rankings", with_third(versus=None), r"chunks\[2\] has one ranking, chunks\[0\] two rankings"
    yield "a foreign ranking", with_third(versus=chunks[3].versus), r"chunks\[2\]: the ranking belongs to another pool"


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize(("chunks", "text"), [pytest.param(*rest, id=name) for name, *rest in refusals()])
def test_what_is_wrong_is_said_in_a_line_that_names_the_chunk(chunks, text, n_jobs):
    with pytest.raises(InputError, match=f"^{text}$") as caught:
        chunked_design(chunks, ERR(4), n_jobs=n_jobs)
    assert "\n" not in str(caught.value)


def test_chunks_of_an_open_scale_must_agree_on_it():
    target, probs = whole(measure=DCG())
    chunks = by_size(target, probs, 6)
    short = random_probs(np.random.default_rng(0), len(chunks[1].grade_probs), 3)
    with pytest.raises(InputError, match=r"^chunks\[1\] has probabilities of 3 grades, chunks\[0\] of 5$"):
        chunked_design([chunks[0], replace(chunks[1], grade_probs=short)], DCG())
    with pytest.raises(InputError, match=r"^chunks\[1\] has probabilities of no grades, chunks\[0\] of 5$"):
        chunked_design([chunks[0], replace(chunks[1], grade_probs=None)], DCG(), "passive")


@pytest.mark.parametrize("method", ["items", "depth_draws", "poisson", "random"])
def test_methods_that_need_the_whole_pool_are_refused(method):
    target, probs = whole()
    with pytest.raises(InputError, match=f"method '{method}' needs the whole pool at once; .* active_uniD, difference"):
        chunked_design(by_size(target, probs, 6), ERR(4), method)


def test_budgets_that_pay_for_too_little_are_refused():
    target, probs = whole()
    chunked = chunked_design(by_size(target, probs, 6), ERR(4))
    dearest = int(np.argmax(chunked.costs))
    with pytest.raises(BudgetError, match=rf"dearest query, .* for query {dearest % 6} of chunks\[{dearest // 6}\]$"):
        chunked.draw(chunked.costs.max() * 0.99, 0)
    with pytest.raises(BudgetError, match="does not pay for one draw"):
        chunked.draw(chunked.expected_cost * 0.99, 0, expected=True)


def test_a_record_is_made_of_the_designs_own_chunks():
    target, probs = whole()
    chunks = by_size(target, probs, 6)
    chunked = chunked_design(chunks, ERR(4))
    for other, text in (
        ([], "the design was made of 4 chunks, fewer came"),
        (chunks[:3], "the design was made of 4 chunks, fewer came"),
        (by_size(target, probs, 5), r"chunks\[0\] holds 5 queries, it held 6 for the design"),
        ([*chunks, chunks[0]], r"chunks\[4\] holds 6 queries, it held 0 for the design"),
    ):
        with pytest.raises(InputError, match=text):
            chunked.record([0, 22], other)
    with pytest.raises(StateError, match="no query has been drawn"):
        chunked.record([], chunks)
    for draws in ([-1], [0, N_QUERIES]):
        with pytest.raises(InputError, match=rf"draws must be numbers from 0 to 22, got {draws[-1]}"):
            chunked.record(draws, chunks)
    with pytest.raises(InputError, match="draws must be a vector of query numbers"):
        chunked.record([0.5], chunks)


def test_drawn_queries_of_one_name_are_refused():
    target, probs = whole()
    chunks = by_size(target, probs, 6)
    chunked = chunked_design([chunks[0], chunks[0]], ERR(4))
    with pytest.raises(InputError, match="query_ids holds 'q0' twice"):
        chunked.record([0, 6], [chunks[0], chunks[0]])


# Memory


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_memory_grows_by_the_numbers_of_queries_alone(n_jobs):
    n_queries, n_items = 50, 400
    offsets = np.arange(n_queries + 1) * n_items

    def chunks(n_chunks):
        for k in range(n_chunks):
            pool = QueryPool(np.arange(n_queries) + k * n_queries, offsets)
            yield Chunk(Rankings(pool, offsets, np.arange(offsets[-1])), np.full((offsets[-1], 5), 0.2))

    def peak(n_chunks):
        gc.collect()
        tracemalloc.start()
        try:
            design = chunked_design(chunks(n_chunks), DCG(), n_jobs=n_jobs)
            return tracemalloc.get_traced_memory()[1], design
        finally:
            tracemalloc.stop()

    peak(2)
    few, _ = peak(8)
    many, design = peak(80)
    chunk = 8 * 5 * offsets[-1]
    in_flight = 0 if n_jobs == 1 else 3 * chunk  # how many chunks meet at the peak is up to the threads
    assert many - few < 12 * 8 * (design.n_queries - 400) + in_flight < 4 * chunk  # 72 chunks more than before
    assert many < (n_jobs + 2) * 3 * chunk


# The benchmark


@pytest.mark.slow
def test_the_benchmark_runs(tmp_path):
    command = [sys.executable, "-m", "benchmarks.scaling", "--largest", "40", "--out", str(tmp_path / "out.json")]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True, check=True)
    result = json.loads((tmp_path / "out.json").read_text())
    assert {row["n_queries"] for row in result["rows"]} == {40}
    assert len(result["rows"]) == len(result["threads"]) == 4
    assert all(row["identical"] for row in result["threads"])
    assert all(row["microseconds_per_item"]["design"] > 0 and row["peak_mb"] > 0 for row in result["rows"])
    assert "Pools in chunks" in done.stdout
    assert "<svg" in (tmp_path / "out.svg").read_text()
    assert (tmp_path / "out.png").stat().st_size > 1000
