"""A pool in chunks gives the sample of the whole pool, unit by unit, and its estimates."""

import gc
import itertools
import json
import math
import os
import subprocess
import sys
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from naive import pool_of, random_lists, random_probs, rankings_of

from activeeval import (
    DCG,
    ERR,
    METHODS,
    NDCG,
    BudgetError,
    Campaign,
    Chunk,
    InputError,
    QueryFactor,
    QueryPool,
    Rankings,
    Recall,
    StateError,
    Target,
    chunked_design,
    replicate,
)
from activeeval.formats.sample_file import from_arrays, to_arrays
from activeeval.report.message_lookup import line_of

N_QUERIES = 60
EDGES = [1, 3, 9, 10, 31, 33]
LEVELLED = ("random", "whole", "depth_plain", "depth", "items_plain", "items")
PAPER = ("passive", "active", "active_uniC", "active_uniD")
SCOPES = ("pool", "population")


def whole(compare=True, seed=0, measure=None, overhead=3.0):
    """Return a target with costs, overheads and traffic, a grade model, and labels.

    Lists are of any length: a tenth of them are empty, and in a comparison a fifth are equal.
    """
    random = np.random.default_rng(seed)
    lengths = random.integers(1, 9, N_QUERIES).tolist()
    pool = pool_of(
        lengths,
        item_costs=random.uniform(0.5, 2, sum(lengths)),
        query_costs=random.uniform(0, overhead, N_QUERIES),
        query_probs=random.dirichlet(np.full(N_QUERIES, 3.0)),
    )
    first, second = (random_lists(random, lengths) for _ in range(2))
    for q in range(0, N_QUERIES, 10):
        first[q] = second[q] = []
    for q in range(3, N_QUERIES, 5):
        second[q] = first[q]
    lists = [rankings_of(pool, one) for one in (first, second)]
    target = Target(measure or DCG(), lists[0], lists[1] if compare else None)
    return target, random_probs(random, pool.n_items, 5), random.integers(0, 5, pool.n_items)


def cut(target, probs, edges=EDGES, judged=None):
    """Return the chunks of a pool between its first query, the edges, and its end."""
    chunks = []
    for first, last in itertools.pairwise([0, *edges, target.pool.n_queries]):
        pool, items = target.pool.subset(np.arange(first, last))
        versus = None if target.versus is None else target.versus.restricted_to(pool, items)
        chunk = Chunk(
            target.ranking.restricted_to(pool, items),
            None if probs is None else probs[..., items, :],
            versus,
            judged=None if judged is None else judged[items],
            traffic=1000 * target.pool.query_probs[first:last].sum(),
        )
        chunks.append(chunk)
    return chunks


def by_size(target, probs, size):
    return cut(target, probs, range(size, target.pool.n_queries, size))


def budgets_of(design):
    """Return budgets that pay for little, for some, and for nearly everything."""
    least = float(design.order.dearest_units.max()) * 1.001
    return [least, max(least, 0.4 * design.cost), 0.99 * design.cost]


def judged_by_ids(campaign, pool, labels):
    """Judge all units of a campaign by the ids of their items."""
    positions, query_ids = pool.item_positions(), pool.query_ids.tolist()
    while (unit := campaign.ask()) is not None:
        query = query_ids.index(unit.query_id)
        campaign.tell(unit, [int(labels[positions[query, item]]) for item in unit.item_ids])
    return campaign


def read(campaign, target, scope):
    """Return the estimate of a target, or why there is none."""
    try:
        return campaign.estimate(target, scope=scope)
    except StateError as problem:
        return str(problem)


def assert_same_sample(found, wanted, labels):
    """Check units, levels, costs, thresholds, cautions and all estimates of two campaigns, these to 1e-12."""
    for name in ("number", "block", "query_id", "item_ids"):
        assert [getattr(u, name) for u in found.planned] == [getattr(u, name) for u in wanted.planned], name
    for name in ("level", "cost"):
        pairs = ([getattr(u, name) for u in campaign.planned] for campaign in (found, wanted))
        np.testing.assert_allclose(*pairs, rtol=1e-12, err_msg=name)
    np.testing.assert_allclose(found.design.blocks, wanted.design.blocks, rtol=1e-12)
    assert list(map(line_of, found.design.cautions)) == list(map(line_of, wanted.design.cautions))
    for campaign in (found, wanted):
        judged_by_ids(campaign, wanted.design.pool, labels)
    assert found.ended == wanted.ended
    assert found.spent == pytest.approx(wanted.spent, rel=1e-12)
    for (own, other), scope in itertools.product(zip(found.design.targets, wanted.design.targets, strict=True), SCOPES):
        one, two = read(found, own, scope), read(wanted, other, scope)
        if isinstance(two, str):  # nothing but certain queries below the threshold
            assert one == two
            continue
        for name in ("value", "degrees_of_freedom", "cost", "share"):
            assert getattr(one, name) == pytest.approx(getattr(two, name), rel=1e-12, abs=1e-12), (name, scope)
        # what is planned adds up chunk by chunk
        assert one.std_error == pytest.approx(two.std_error, rel=1e-9)
        assert (one.planned_error or 0.0) == pytest.approx(two.planned_error or 0.0, rel=1e-9)
        for name in ("n_open", "n_draws", "n_queries", "n_items"):
            assert getattr(one, name) == getattr(two, name), name
        told, expected = (replace(each, size_unknown="").cautions for each in (one, two))
        assert list(map(line_of, told)) == [line_of(each) for each in expected if each.code != "one query"]
        if wanted.design.stage.name == "items":  # what is predicted of all queries is not at hand
            assert one.effective_sample_size is None
        else:
            assert one.size_unknown == two.size_unknown
            assert (one.effective_sample_size or 0) == pytest.approx(two.effective_sample_size or 0, rel=1e-9)
        # of which queries chance leaves out most is not known of a part of the pool
        assert not any("of the expected variance" in line_of(caution) for caution in one.cautions)


def measure_of(method):
    return DCG() if METHODS[method].fits(DCG()) and "depth" not in method else ERR(4, cutoff=4)


# The sample of the whole pool


@pytest.mark.parametrize(
    ("method", "compare"),
    [*((name, True) for name in (*LEVELLED, *PAPER)), ("items", False), ("depth", False), ("active", False)],
)
def test_a_sample_of_chunks_is_that_of_the_whole_pool(method, compare):
    target, probs, labels = whole(compare, measure=measure_of(method), overhead=3.0 if compare else 0.0)
    design = METHODS[method].design(target, probs, max_grade=4)
    chunks = cut(target, probs)
    chunked = chunked_design(chunks, target.measure, method, max_grade=4)
    assert (chunked.n_queries, chunked.name) == (N_QUERIES, method)
    assert chunked.cost == pytest.approx(design.cost, rel=1e-12)
    for seed, budget in enumerate(budgets_of(design)):
        found = chunked.campaign(budget, chunks, rng=seed)
        assert_same_sample(found, Campaign(design, budget, rng=seed), labels)


@pytest.mark.parametrize(
    ("measure", "looks", "share", "by_batches"),
    [(NDCG("exp", cutoff=3), "each", 0.2, True), (ERR(4, cutoff=4), "3", 0.5, False)],
)
def test_depths_that_follow_labels_are_those_of_the_whole_pool(measure, looks, share, by_batches):
    target, probs, labels = whole(measure=measure)
    chunks, method = cut(target, probs), METHODS["depth"].looking(looks)
    of_chunks = chunked_design(chunks, measure, "depth", max_grade=4, adaptive_depth=looks)
    of_whole = method.design(target, probs, max_grade=4)
    budget = max(float(of_whole.order.dearest_units.max()) * 1.2, share * of_whole.cost)
    found = of_chunks.campaign(budget, chunks, rng=3, by_batches=by_batches)
    wanted = Campaign(of_whole.with_budget(budget), rng=3, by_batches=by_batches)
    assert found.design.pool.n_queries < wanted.design.pool.n_queries
    again = [from_arrays(to_arrays(found))] if by_batches else []  # what is on file goes by batches
    for campaign in (found, wanted, *again):
        judged_by_ids(campaign, target.pool, labels)
    for campaign in (found, *again):
        for name in ("query_id", "item_ids"):
            assert [getattr(u, name) for u in campaign.units] == [getattr(u, name) for u in wanted.units], name
        assert campaign.n_complete_blocks == wanted.n_complete_blocks
        assert campaign.ended == wanted.ended
        for scope in SCOPES:
            ours, theirs = campaign.estimate(scope=scope), wanted.estimate(scope=scope)
            assert ours.value == pytest.approx(theirs.value, rel=1e-12)
            assert ours.std_error == pytest.approx(theirs.std_error, rel=1e-9)
            assert ours.planned_error == pytest.approx(theirs.planned_error, rel=1e-9)
            assert (ours.n_items, ours.n_queries) == (theirs.n_items, theirs.n_queries)


def test_a_top_up_of_depths_that_follow_labels_stays_within_what_was_gathered():
    target, probs, labels = whole(measure=NDCG("exp", cutoff=3))
    chunks = cut(target, probs)
    design = chunked_design(chunks, target.measure, "depth", max_grade=4, adaptive_depth="each")
    of_whole = METHODS["depth"].looking("each").design(target, probs, max_grade=4)
    budget = 0.3 * design.cost
    found = judged_by_ids(design.campaign(budget, chunks, rng=1, up_to=2 * budget), target.pool, labels)
    wanted = judged_by_ids(Campaign(of_whole.with_budget(budget), rng=1), target.pool, labels)
    assert found.estimate().value == pytest.approx(wanted.estimate().value, rel=1e-12)
    more, other = (judged_by_ids(each.topped_up(budget), target.pool, labels) for each in (found, wanted))
    assert more.estimate().value == pytest.approx(other.estimate().value, rel=1e-12)
    assert more.progress.judged == other.progress.judged > found.progress.judged
    narrow = design.campaign(budget, chunks, rng=1).topped_up(0.6 * design.cost)
    with pytest.raises(StateError, match="for a budget below"):
        judged_by_ids(narrow, target.pool, labels)


@pytest.mark.parametrize(
    ("measure", "size"), [(DCG(cutoff=3), 1), (NDCG(cutoff=5), 29), (ERR(4), 7), (Recall(4), N_QUERIES)]
)
def test_the_sample_does_not_depend_on_the_size_of_chunks(size, measure):
    target, probs, labels = whole(measure=measure, seed=size)
    chunks = by_size(target, probs, size)
    chunked = chunked_design(chunks, measure)
    design = METHODS[chunked.name].design(target, probs)
    assert chunked.name == ("items" if measure.is_additive else "depth")
    assert_same_sample(chunked.campaign(60, chunks, rng=7), Campaign(design, 60, rng=7), labels)


@pytest.mark.parametrize("method", ["items", "whole", "active", "passive"])
def test_a_budget_that_pays_for_everything_is_a_census(method):
    target, probs, labels = whole(measure=measure_of(method))
    chunks = cut(target, probs)
    chunked = chunked_design(chunks, target.measure, method)
    budget = METHODS[method].design(target, probs).cost
    campaign = judged_by_ids(chunked.campaign(budget, chunks), target.pool, labels)
    estimate = campaign.estimate()
    assert estimate.std_error == 0
    assert estimate.value == pytest.approx(target.pool.query_probs @ target.values(labels), rel=1e-12)
    wanted = Campaign(METHODS[method].design(target, probs), budget)
    assert_same_sample(chunked.campaign(budget, chunks), wanted, labels)


@pytest.mark.parametrize(("method", "share"), [("active", 0.2), ("depth", 0.0), ("items", 0.2)])
def test_choices_of_a_design_are_those_of_chunks(method, share):
    target, probs, labels = whole(measure=measure_of(method))
    choices = {"defensive_share": share, "bias": 0.1}
    chunks = cut(target, probs)
    chunked = chunked_design(chunks, target.measure, method, **choices)
    design = METHODS[method].design(target, probs, **choices)
    blocks = None if method == "active" else (50, 60)
    found = chunked.campaign(70, chunks, blocks=blocks, rng=3)
    assert_same_sample(found, Campaign(design, 70, rng=3, blocks=blocks), labels)
    if method == "active":
        with pytest.raises(InputError, match=r"^'active' draws with replacement to one planned end: it has no blocks"):
            chunked.campaign(70, chunks, blocks=(50, 60))


@pytest.mark.parametrize(("method", "as_factor"), [("items", False), ("depth", True)])
def test_nodes_of_a_query_factor_and_known_grades(method, as_factor):
    target, probs, labels = whole(measure=measure_of(method))
    judged = np.where(np.random.default_rng(5).random(labels.size) < 0.3, labels, -1)
    if as_factor:
        model, of_chunk, of_design = probs, {}, {"factor": QueryFactor(sigma=1.2)}
    else:
        model, weights = np.stack((probs, probs[:, ::-1])), np.array([0.3, 0.7])
        of_chunk, of_design = {"node_weights": weights}, {"node_weights": weights}
    chunks = [replace(chunk, **of_chunk) for chunk in cut(target, model, judged=judged)]
    if as_factor:
        chunks[0] = replace(chunks[0], judged=None) if (chunks[0].judged < 0).all() else chunks[0]
    chunked = chunked_design(chunks, target.measure, method, factor=of_design.get("factor"))
    design = METHODS[method].design(target, model, judged=judged, **of_design)
    for seed in range(2):
        assert_same_sample(chunked.campaign(60, chunks, rng=seed), Campaign(design, 60, rng=seed), labels)


@pytest.mark.parametrize(("method", "weights"), [("items", (1.0, 0.0, 4.0)), ("depth", None)])
def test_several_questions_of_one_sample(method, weights):
    target, probs, labels = whole(measure=measure_of(method))

    def questions(pair):
        one, other = pair.ranking, pair.versus
        return [Target(target.measure, one, other), Target(target.measure, one), Target(DCG(cutoff=2), other)]

    chunks = cut(target, probs)
    chunked = chunked_design(chunks, questions, method, weights=weights)
    design = METHODS[method].design(questions(target), probs, weights=weights)
    for seed in range(2):
        assert_same_sample(chunked.campaign(90, chunks, rng=seed), Campaign(design, 90, rng=seed), labels)


def test_a_query_without_cost_counts_as_the_cheapest_item_of_the_whole_pool():
    pool = pool_of([2, 2, 2], item_costs=[3, 2, 0.25, 5, 4, 4])
    target = Target(DCG(), rankings_of(pool, [[0, 1], [], [1]]))
    probs = random_probs(np.random.default_rng(2), 6, 3)
    chunked = chunked_design(by_size(target, probs, 1), DCG(), "active")
    wanted = METHODS["active"].design(target, probs).scheme.sampling_probs
    np.testing.assert_allclose(chunked.drawable.sampling_probs, wanted, rtol=1e-12)


def test_a_function_and_a_generator_may_bring_the_chunks():
    target, probs, _ = whole()
    chunks = cut(target, probs)
    wanted = chunked_design(chunks, DCG()).campaign(60, chunks).planned
    for bring in (lambda: iter(chunks), tuple(chunks)):
        assert chunked_design(bring, DCG()).campaign(60, bring).planned == wanted
    assert chunked_design(iter(chunks), DCG()).campaign(60, iter(chunks)).planned == wanted


# What a gathered sample can, and what it cannot, tell


def gathered(method="items", budget=60, **options):
    target, probs, labels = whole(measure=measure_of(method))
    chunks = cut(target, probs)
    campaign = chunked_design(chunks, target.measure, method).campaign(budget, chunks, rng=4, **options)
    return campaign, METHODS[method].design(target, probs), labels


@pytest.mark.parametrize("method", ["items", "depth", "whole"])
def test_what_is_gathered_is_what_the_sample_needs(method):
    campaign, design, _ = gathered(method)
    needed = {unit.query_id for unit in Campaign(design, 60, rng=4).planned}
    held = set(campaign.design.pool.query_ids.tolist())
    assert needed <= held
    assert len(held) <= len(needed) + 3  # the one that the budget does not pay for, and the two dearest


def test_a_top_up_within_what_was_gathered_is_the_top_up_of_the_whole_pool():
    campaign, design, labels = gathered(up_to=90)
    judged_by_ids(campaign, design.pool, labels)
    wanted = judged_by_ids(Campaign(design, 60, rng=4), design.pool, labels)
    assert_same_sample(campaign.topped_up(30), wanted.topped_up(30), labels)
    with pytest.raises(StateError, match=r"^these queries were gathered for a budget below 120: gather them again$"):
        campaign.topped_up(60)


@pytest.mark.parametrize("method", ["items", "depth", "whole", "active"])
def test_a_gathered_sample_is_stored_and_read_like_any_other(method):
    campaign, design, labels = gathered(method)
    arrays = to_arrays(campaign)
    again = from_arrays(arrays)
    assert to_arrays(again)["digest"] == arrays["digest"]
    assert_same_sample(again, Campaign(design, 60, rng=4), labels)
    with pytest.raises(InputError, match="gathered for the key"):
        Campaign(again.design, rng=5)
    totals = arrays["gathered.sums"] + 1e-3
    with pytest.raises(InputError, match="changed or damaged since it was written"):
        from_arrays(arrays | {"gathered.sums": totals})


@pytest.mark.parametrize("method", ["items", "active"])
def test_another_key_is_refused(method):
    campaign, _, labels = gathered(method)
    with pytest.raises(InputError, match=r"gathered for the key \d+: another key needs further queries"):
        Campaign(campaign.design, rng=5)
    with pytest.raises(InputError, match="was gathered for one sample of a larger pool"):
        replicate(campaign.design, labels[: campaign.design.pool.n_items], [60], 3)


@pytest.mark.parametrize("method", ["items", "active"])
def test_a_question_that_the_chunks_were_not_asked_is_refused(method):
    campaign, design, labels = gathered(method)
    judged_by_ids(campaign, design.pool, labels)
    other = Target(DCG(cutoff=2), campaign.design.target.ranking)
    with pytest.raises(InputError, match=r"@2 was no target when these queries were gathered from a larger pool"):
        campaign.estimate(other)


def test_levels_of_other_budgets_are_refused():
    order = gathered()[0].design.order
    for what in (order.expected_cost, order.level_for):
        with pytest.raises(InputError, match="other levels cannot be computed"):
            what(3.0)


def test_budgets_that_pay_for_too_little_are_refused_as_by_the_whole_pool():
    target, probs, _ = whole(measure=ERR(4))
    chunks = cut(target, probs)
    for method in ("depth", "active"):
        design, chunked = METHODS[method].design(target, probs), chunked_design(chunks, ERR(4), method)
        least = float(design.order.dearest_units.max())
        texts = []
        for attempt in (lambda b: chunked.campaign(b, chunks), lambda b: design.with_budget(b)):  # noqa: B023
            with pytest.raises(BudgetError) as caught:
                attempt(0.99 * least)
            texts.append(str(caught.value))
        assert texts[0] == texts[1]
        with pytest.raises(InputError, match="the budget must be a positive number, got nan"):
            chunked.campaign(math.nan, chunks)


# What is refused


def refusals():
    target, probs, _ = whole(measure=ERR(4))
    chunks = cut(target, probs, [13, 26, 39])

    def with_third(**changes):
        return [*chunks[:2], replace(chunks[2], **changes), *chunks[3:]]

    third = chunks[2].grade_probs
    fewer = np.full((len(third), 4), 0.25)
    unknown = third.copy()
    unknown[3, 1] = np.nan
    name = r"item '\d' of query 'q\d\d'"
    repeated = r"query ids must be unique over all chunks: query 0 of chunks\[4\] has the id of query 0 of chunks\[1\]"
    yield "no chunk", [], "there is no chunk, so the pool is empty"
    yield "no chunk from a function", list, "there is no chunk, so the pool is empty"
    yield "another thing", [*chunks, (1, 2)], r"chunks\[4\] must be a Chunk, got tuple"
    yield "NaN", with_third(grade_probs=unknown), rf"chunks\[2\]: grade_probs of {name} must be .* nan, .*"
    yield "rows", with_third(grade_probs=third[1:]), r"chunks\[2\]: grade_probs must have shape .*"
    yield "columns", with_third(grade_probs=fewer), r"chunks\[2\]: grade_probs must have 5 columns.*"
    yield "no model", with_third(grade_probs=None), r"chunks\[2\]: method 'depth' needs a grade model.*"
    yield "traffic", with_third(traffic=np.nan), r"chunks\[2\]: traffic must be a positive number, got nan"
    yield "no traffic", with_third(traffic=0), r"chunks\[2\]: traffic must be a positive number, got 0"
    yield "rankings", with_third(versus=None), r"chunks\[2\] has one ranking, chunks\[0\] two rankings"
    yield "a foreign ranking", with_third(versus=chunks[3].versus), r"chunks\[2\]: the ranking belongs to another pool"
    yield "a query twice", [*chunks, chunks[1]], repeated
    nodes = {"grade_probs": third[None], "node_weights": [1.0]}
    yield "nodes", with_third(**nodes), r"chunks\[2\] has other node_weights than chunks\[0\]"
    yield "known grades", with_third(judged=np.full(len(third), 7)), r"chunks\[2\]: .* 7 .*"


@pytest.mark.parametrize(("chunks", "text"), [pytest.param(*rest, id=name) for name, *rest in refusals()])
def test_what_is_wrong_is_said_in_a_line_that_names_the_chunk(chunks, text):
    with pytest.raises(InputError, match=f"^{text}$") as caught:
        chunked_design(chunks, ERR(4), "depth", n_jobs=2)
    assert "\n" not in str(caught.value)


def test_chunks_of_an_open_scale_must_agree_on_it():
    target, probs, _ = whole()
    chunks = cut(target, probs)
    short = random_probs(np.random.default_rng(0), len(chunks[1].grade_probs), 3)
    with pytest.raises(InputError, match=r"^chunks\[1\] has probabilities of 3 grades, chunks\[0\] of 5$"):
        chunked_design([chunks[0], replace(chunks[1], grade_probs=short)], DCG())
    with pytest.raises(InputError, match=r"^chunks\[1\] has probabilities of no grades, chunks\[0\] of 5$"):
        chunked_design([chunks[0], replace(chunks[1], grade_probs=None)], DCG(), "passive")


def test_with_a_query_factor_chunks_must_agree_on_the_grades_that_the_model_has_seen():
    target, probs, _ = whole()
    chunks = cut(target, probs)
    seen = chunks[1].grade_probs.copy()
    seen[:, :1] += seen[:, 4:]
    seen[:, 4] = 0
    unlike = [chunks[0], replace(chunks[1], grade_probs=seen)]
    assert chunked_design(unlike, DCG()).n_queries == 3
    with pytest.raises(InputError, match=r"^chunks\[1\] gives a chance to 4 grades, chunks\[0\] to 5: with a query"):
        chunked_design(unlike, DCG(), factor=QueryFactor(sigma=1.0))


def test_questions_must_be_the_same_of_all_chunks_and_need_a_method():
    target, probs, _ = whole()
    chunks = cut(target, probs)
    unlike = [lambda chunk, n=n: Target(DCG(cutoff=n), chunk.ranking) for n in (1, 2)]

    def questions(chunk):
        return unlike[chunk.pool.n_queries > 1](chunk)

    with pytest.raises(InputError, match=r"^name the method: questions that are a function have no default$"):
        chunked_design(chunks, questions)
    with pytest.raises(InputError, match=r"^chunks\[1\] is asked for .*@2 of 1.*, chunks\[0\] for .*@1 of 1"):
        chunked_design(chunks, questions, "items", weights=())


@pytest.mark.parametrize("method", ["items", "active"])
def test_a_sample_is_gathered_from_the_designs_own_chunks(method):
    target, probs, _ = whole()
    chunks = cut(target, probs, [13, 26, 39])
    chunked = chunked_design(chunks, DCG(), method)
    swapped = r"chunks\[0\]: its queries, or their traffic, are not those that the design was made of"
    for other, text in (
        ([], "the design was made of 4 chunks, 0 came"),
        (chunks[:3], "the design was made of 4 chunks, 3 came"),
        (cut(target, probs, [5]), swapped),
        ([chunks[1], chunks[0], *chunks[2:]], swapped),
        ([replace(chunks[0], traffic=7), *chunks[1:]], swapped),
        ([*chunks, chunks[0]], r"chunks\[4\]: the design was made of 4 chunks, more came"),
    ):
        with pytest.raises(InputError, match=f"^{text}$"):
            chunked.campaign(60, other)


# Memory


N_CHUNK, N_LONG = 50, 100


def chunks_of(n_chunks):
    """Yield chunks of 50 queries with 100 items each."""
    offsets = np.arange(N_CHUNK + 1) * N_LONG
    for k in range(n_chunks):
        pool = QueryPool(np.arange(N_CHUNK) + k * N_CHUNK, offsets, query_costs=np.full(N_CHUNK, 50.0))
        yield Chunk(Rankings(pool, offsets, np.arange(offsets[-1])), np.full((offsets[-1], 5), 0.2))


def peaks(n_jobs, method):
    """Return what a design takes at most, and what stays once a campaign is drawn, of 8 chunks and of 80, in bytes."""
    taken = []
    for n_chunks in (2, 8, 80):
        gc.collect()
        tracemalloc.start()
        design = chunked_design(chunks_of(n_chunks), DCG(), method, n_jobs=n_jobs)
        most = tracemalloc.get_traced_memory()[1]
        campaign = design.campaign(2000, chunks_of(n_chunks))
        taken.append((most, tracemalloc.get_traced_memory()[0], len(campaign.planned)))
        tracemalloc.stop()
    return taken[1:]


@pytest.mark.parametrize(("method", "n_bytes"), [("items", 16), ("active", 80)])
@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_memory_grows_by_the_numbers_of_queries_alone(n_jobs, method, n_bytes):
    # in a process of its own: what other tests have left running takes memory too
    code = f"import json, test_scale; print(json.dumps(test_scale.peaks({n_jobs}, {method!r})))"
    here = Path(__file__)
    paths = os.pathsep.join(str(path) for path in (here.parents[2], here.parents[1], here.parent))
    command, environment = [sys.executable, "-c", code], os.environ | {"PYTHONPATH": paths}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    (few, held_of_few, _), (many, held_of_many, _) = json.loads(done.stdout)
    n_more, chunk = 72 * N_CHUNK, 8 * 5 * N_CHUNK * N_LONG
    in_flight = 0 if n_jobs == 1 else 6 * chunk  # how many chunks meet at the peak is up to the threads
    assert many - few < 20 * 8 * n_more + in_flight + chunk
    assert held_of_many - held_of_few < n_bytes * n_more + 2 * chunk
