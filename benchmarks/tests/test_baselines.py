"""The field's baselines against slow forms, trec_eval, sample_eval.pl and enumeration; and their benchmark."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from activeeval import Target, parse_measure
from benchmarks import baselines, document_samples, inferred
from benchmarks.baselines_report import GROUPS, behind, by_question, group_of, markdown
from benchmarks.frame.experiment import Options
from benchmarks.inferred import Documents, Lists
from benchmarks.pools import generated
from tests import naive, naive_baselines

POOL = generated(n_queries=44)
GRADES = POOL.inputs.grades


# Estimators


def random_case(seed, n_strata=3):
    """Queries as `tests.naive_baselines` has them, lists of document numbers, and the same as arrays."""
    random = np.random.default_rng(seed)
    sizes = random.integers(3, 15, 6)
    owners = np.repeat(np.arange(sizes.size), sizes)
    strata = random.integers(0, n_strata, owners.size)
    documents = Documents(owners, strata, sizes.size, n_strata)
    grades, judged = random.integers(0, 3, owners.size), random.random(owners.size) < 0.6
    grades[owners == 1] = 0
    rankings, queries = [], []
    for q in range(sizes.size):
        own = np.flatnonzero(owners == q)
        rankings.append([int(one) for one in random.permutation(own)[: random.integers(1, own.size + 1)]])
        queries.append({int(one): (int(strata[one]), int(grades[one]) if judged[one] else None) for one in own})
    places = np.concatenate(rankings)
    ranks = np.concatenate([np.arange(1, len(one) + 1) for one in rankings])
    return queries, rankings, documents, Lists(documents, places, ranks), grades, judged


@pytest.mark.parametrize("seed", range(20))
def test_inferred_measures_are_those_of_plain_loops(seed):
    queries, rankings, documents, lists, grades, judged = random_case(seed)
    pairs, cutoff = list(zip(queries, rankings, strict=True)), 4
    discounts, gains = 1 / np.log2(np.arange(2, cutoff + 2)), np.arange(3.0)
    cumulative = np.concatenate(([0.0], np.cumsum(discounts)))
    expected = [naive_baselines.inf_ap(*pair) for pair in pairs]
    assert inferred.inferred_ap(lists, judged, grades > 0) == pytest.approx(expected, abs=1e-12)
    expected = [naive_baselines.xinf_ap(*pair) for pair in pairs]
    assert inferred.extended_inferred_ap(lists, judged, grades > 0) == pytest.approx(expected, abs=1e-12)
    expected = [naive_baselines.inf_dcg(*pair, cutoff) for pair in pairs]
    assert inferred.inferred_dcg(lists, judged, gains[grades], discounts) == pytest.approx(expected, abs=1e-12)
    expected = [naive_baselines.inf_ideal(query, cutoff) for query in queries]
    found = inferred.inferred_ideal(documents, judged, grades, gains, cumulative)
    assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_stat_ap_is_that_of_plain_loops(seed):
    queries, rankings, _, lists, grades, judged = random_case(seed)
    probs = np.random.default_rng(seed).uniform(0.1, 1, grades.size)
    by_name = dict(enumerate(probs.tolist()))
    expected = [naive_baselines.stat_ap(*pair, by_name) for pair in zip(queries, rankings, strict=True)]
    assert inferred.stat_ap(lists, judged, grades > 0, probs) == pytest.approx(expected)
    discounts = 1 / np.log2(np.arange(2, 7))
    expected = [
        sum(discounts[k] * (query[one][1] or 0) / by_name[one] for k, one in enumerate(ranking[:5]))
        for query, ranking in zip(queries, rankings, strict=True)
    ]
    found = inferred.weighted_dcg(lists, judged, grades.astype(float), probs, discounts)
    assert found == pytest.approx(expected)


def test_inferred_ap_is_trec_eval_s():
    peer = pytest.importorskip("pytrec_eval")
    for seed in range(20):
        queries, rankings, _, lists, grades, judged = random_case(seed, n_strata=1)
        qrels = {
            f"q{q}": {f"d{one}": -1 if grade is None else grade for one, (_, grade) in own.items()}
            for q, own in enumerate(queries)
        }
        run = {f"q{q}": {f"d{one}": float(-k) for k, one in enumerate(own)} for q, own in enumerate(rankings)}
        theirs = peer.RelevanceEvaluator(qrels, {"infAP"}).evaluate(run)
        expected = [theirs[f"q{q}"]["infAP"] for q in range(len(queries))]
        # it looks at no query without a judged relevant document
        expected = [0.0 if np.isnan(one) else one for one in expected]
        assert inferred.inferred_ap(lists, judged, grades > 0) == pytest.approx(expected, abs=1e-6)


SAMPLED = (
    "cbaefijdghk",
    {"a": (0, 2), "b": (0, 0), "c": (0, 1), "d": (0, 0), "e": (1, None), "f": (1, 1), "g": (1, 0), "h": (1, None)}
    | {"i": (2, None), "j": (2, 2), "k": (2, None), "l": (2, 0)},
    0.7539649286,
    0.8782303840,
)
UNRETRIEVED = (
    "dcbafg",
    {"a": (0, 0), "b": (0, 1), "c": (1, None), "d": (1, 1), "e": (1, None), "f": (1, 0), "g": (1, None)},
    0.9999961906,
    0.9759501250,
)


@pytest.mark.parametrize(("ranking", "query", "ap", "ndcg"), [SAMPLED, UNRETRIEVED])
def test_figures_are_those_that_sample_eval_prints(ranking, query, ap, ndcg):
    """infAP and infNDCG of NIST's sample_eval.pl for these qrels and lists, its core typed anew and run: ten places."""
    names = list(query)
    strata, judged = np.array([s for s, _ in query.values()]), np.array([g is not None for _, g in query.values()])
    grades = np.array([g or 0 for _, g in query.values()])
    documents = Documents(np.zeros(len(names), dtype=np.int64), strata, 1, 3)
    lists = Lists(documents, np.array([names.index(one) for one in ranking]), np.arange(1, len(ranking) + 1))
    discounts = 1 / np.log2(np.arange(2, 40))
    cumulative = np.concatenate(([0.0], np.cumsum(discounts)))
    assert inferred.extended_inferred_ap(lists, judged, grades > 0) == pytest.approx([ap], abs=1e-9)
    found = inferred.inferred_dcg(lists, judged, grades.astype(float), discounts)
    ideal = inferred.inferred_ideal(documents, judged, grades, np.arange(3.0), cumulative)
    assert found / ideal == pytest.approx([ndcg], abs=1e-9)


def test_of_what_is_judged_whole_estimates_are_the_measures():
    everything = np.ones(GRADES.size, dtype=bool)
    for text, tolerance in (("AP", 1e-4), ("nDCG@10", 1e-9), ("DCG@10", 1e-9)):
        target = Target(parse_measure(text), POOL.inputs.ranking, POOL.second)
        values = target.values(GRADES)
        ways = list(document_samples.ways(target, GRADES, POOL.max_grade))
        case = document_samples.Case.of(target, GRADES, POOL.max_grade)
        (whole,) = [way for way in ways if way.configuration.endswith("from the top: 1")]
        assert whole.once(np.random.default_rng(0)) == pytest.approx(values[case.open_queries], abs=tolerance)
        assert whole.costs.sum() == pytest.approx(case.costs.sum())
        judged = everything[: case.grades.size]
        if text == "AP":
            probs = np.ones(judged.size)
            found = case.value(lambda lists: inferred.stat_ap(lists, judged, case.gains > 0, probs))  # noqa: B023
            assert found == pytest.approx(values[case.open_queries])


def test_the_sums_that_stat_ap_divides_are_unbiased():
    """Over all samples of independent documents: E[Σ prec/π] = R · AP, E[Σ 1/π] = R."""
    random, n = np.random.default_rng(3), 7
    grades, probs = np.array([1, 0, 2, 1, 0, 1, 0]), random.uniform(0.2, 1.0, n)
    documents = Documents(np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64), 1, 1)
    order = random.permutation(n)[:5]
    lists, numerator, number = Lists(documents, order, np.arange(1, 6)), 0.0, 0.0
    for judged in itertools.product((False, True), repeat=n):
        chosen = np.array(judged)
        chance = np.prod(np.where(chosen, probs, 1 - probs))
        found = (chosen * (grades > 0) / probs).sum()
        number += chance * found
        numerator += chance * found * inferred.stat_ap(lists, chosen, grades > 0, probs)[0]
    relevant = int((grades > 0).sum())
    assert number == pytest.approx(relevant)
    assert numerator == pytest.approx(relevant * naive.average_precision(grades.tolist(), order.tolist()))


# Samples of documents


def test_a_stratum_gives_its_number_of_documents_all_equally_likely():
    """Five standard errors of 400 samples in each of some 60 documents: a false alarm in 30,000 runs."""
    _, _, documents, *_ = random_case(1)
    taken, rng = document_samples.numbers(documents, (1.0, 0.5, 0.1)), np.random.default_rng(0)
    held = documents.count().ravel()
    assert (taken == np.minimum(np.maximum(np.floor(held * ([1.0, 0.5, 0.1] * 6) + 0.5), 1), held)).all()
    drawn = np.array([document_samples.stratified(documents, taken, rng) for _ in range(400)])
    for judged in drawn[:10]:
        assert (documents.count(judged).ravel() == taken).all()
    probs = taken[documents.cells] / held[documents.cells]
    assert (np.abs(drawn.mean(axis=0) - probs) <= 5 * np.sqrt(probs * (1 - probs) / 400) + 1e-12).all()


def test_a_prior_s_sample_has_its_size_and_its_probabilities():
    """Five standard errors, as above."""
    _, _, documents, lists, *_ = random_case(2)
    probs, rng = document_samples.prior_probs(documents, [lists], 0.5), np.random.default_rng(0)
    held = np.bincount(documents.owners)
    wanted = np.maximum(np.floor(0.5 * held + 0.5), 1)
    assert np.bincount(documents.owners, probs) == pytest.approx(wanted)
    assert (probs <= 1).all()
    drawn = np.array([document_samples.systematic(documents, probs, rng) for _ in range(400)])
    assert all((np.bincount(documents.owners, judged) == wanted).all() for judged in drawn)
    assert (np.abs(drawn.mean(axis=0) - probs) <= 5 * np.sqrt(probs * (1 - probs) / 400) + 1e-12).all()


def test_dcg_of_a_prior_s_sample_is_unbiased():
    """The mean over 400 samples lies within five standard errors: a false alarm in a million."""
    target = POOL.target("DCG@10", "two rankers", 0.0)
    truth = target.values(GRADES).sum()
    ways = [way for way in document_samples.ways(target, GRADES, POOL.max_grade) if "statAP" in way.baseline]
    rng = np.random.default_rng(0)
    for way in ways[:2]:
        found = np.array([way.once(rng).sum() for _ in range(400)])
        assert abs(found.mean() - truth) < 5 * found.std(ddof=1) / 20


# The benchmark


@pytest.fixture(scope="module")
def rows():
    options = Options(overhead=[1.0], model=["forest"], share=0.25, repetitions=30, seed=1)
    return [row for measure in baselines.MEASURES for row in baselines.rows_of(POOL, measure, "two rankers", options)]


def test_every_baseline_is_run_where_it_applies(rows):
    found = {key[3]: set(own) for key, own in by_question(rows).items()}
    everywhere = {"ours", "fixed-depth pooling"}
    regressed = {measure: {name for name in names if name.endswith("regression")} for measure, names in found.items()}
    alone = {measure: names - everywhere - regressed[measure] for measure, names in found.items()}
    assert all(everywhere <= names for names in found.values())
    assert alone["ERR@10"] == set()
    assert alone["AP"] == {"infAP", "xinfAP", "statAP"}
    assert alone["nDCG@10"] == {"infNDCG", "infNDCG, no strata"}
    assert alone["DCG@10"] == {"DCG, no strata", "DCG, strata", "DCG, statAP's sample"}
    assert all({f"{name}, regression" for name in alone[measure]} == regressed[measure] for measure in found)


def test_what_is_unbiased_shows_no_bias_and_spends_the_budget(rows):
    """Five standard errors of 30 samples in some ten rows, the best of several: a false alarm in thousands."""
    for row in rows:
        if row["baseline"] != "ours":
            assert row["spent"] <= row["budget"] * (1 + 1e-9)
            assert row["efficiency"] > 0
        if row["baseline"].startswith("DCG, "):
            assert abs(row["bias"]) < 5 * row["bias_se"]


def test_pooling_errs_by_its_bias_however_many_queries_are_judged():
    target = POOL.target("DCG@10", "one ranking", 0.0)
    drawn = {row[1]: row for row in baselines.drawn_documents(target, POOL, 1, 0) if row[0] == "fixed-depth pooling"}
    truth = target.values(GRADES)
    _, _, costs, values = drawn["depth 3"]
    first = Target(parse_measure("DCG@3"), POOL.inputs.ranking).values(GRADES)
    assert values[0] == pytest.approx(first)
    ranking, prices = POOL.inputs.ranking, target.pool.item_costs / target.pool.item_costs.mean()
    paid = [sum(prices[own]) for own in np.split(ranking.items, ranking.offsets[1:-1])]
    assert (costs < paid).all()
    assert costs == pytest.approx([sum(prices[own[:3]]) for own in np.split(ranking.items, ranking.offsets[1:-1])])
    assert drawn["depth 10"][3][0] == pytest.approx(truth)


def test_the_table_puts_the_best_of_each_group_beside_ours(rows):
    result = {"command": "python -m x", "git_commit": "12", "date": "2026-01-01T", "repetitions": 30, "rows": rows}
    text = markdown(result)
    assert len([line for line in text.splitlines() if line.startswith(("| DCG", "| ERR", "| nDCG", "| AP"))]) == 4
    assert {group_of(row["baseline"]) for row in rows} == {None, *GROUPS}
    own = [row for row in rows if row["measure"] == "DCG@10"]
    ours = next(row for row in own if row["baseline"] == "ours")
    better = [
        ours | {"baseline": "statAP", "efficiency": ours["efficiency"] + 1},
        ours | {"baseline": "infAP", "efficiency": ours["efficiency"] - 1},
    ]
    assert [pair[1]["baseline"] for pair in behind([ours, *better], GROUPS[:1])] == ["statAP"]
    assert behind([ours, better[1]], GROUPS[:1]) == []
    assert behind([ours, better[0]], GROUPS[:1], "AP") == []


def test_errors_are_told_against_passive_s():
    own = {"passive_rmse": 2.0, "passive_rmse_se": 0.1}
    found = baselines.figures(np.array([1.0, -1.0, 1.0, -1.0]), own)
    assert (found["efficiency"], found["bias"]) == (4.0, 0.0)
    assert found["efficiency_se"] == pytest.approx(4 * 0.1)
    assert baselines.figures(np.zeros(4), own)["efficiency"] is None
