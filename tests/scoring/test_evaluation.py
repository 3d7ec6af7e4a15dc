"""`evaluate` and `compare`: whatever judgments and runs come as, and what a budget makes of them."""

from __future__ import annotations

from functools import partial
from itertools import product

import numpy as np
import pytest

from activeeval import DCG, ERR, BudgetError, Campaign, InputError, QueryFactor, Target, parse_measure
from activeeval.core.design.methods import find_method
from activeeval.formats.loading import load_qrels, load_run
from activeeval.inputs.loading import from_tables
from activeeval.scoring import active_evaluation as evaluation
from activeeval.scoring.run_scores import compare_runs, score_run

# The judgments of the folder leave out documents of the runs.


def evaluate(judgments, run, *, unjudged="irrelevant", **options):
    """Return what is said of these queries."""
    return evaluation.evaluate(run, judgments=judgments, unjudged=unjudged, **options).pool


def compare(judgments, new, old, *, unjudged="irrelevant", **options):
    """Return what is said of these queries."""
    return evaluation.compare(old, new, judgments=judgments, unjudged=unjudged, **options).pool


MEASURES = ["DCG@10", "ERR(max_rel=4)", "RBP(p=0.6)", "AP"]


def dicts(folder):
    """Return the judgments and the two runs of the folder as dicts of dicts."""
    found = []
    for name, value in (("q.qrels", 3), ("a.run", 4), ("b.run", 4)):
        table = {}
        for cells in map(str.split, (folder / name).read_text().splitlines()):
            table.setdefault(cells[0], {})[cells[2]] = int(cells[value]) if value == 3 else float(cells[value])
        found.append(table)
    return found


def all_judged(folder):
    """Return the same with judgments of every document that the runs rank, of grade 0 where there was none."""
    qrels, first, second = dicts(folder)
    ranked = {query: dict.fromkeys([*first.get(query, {}), *second.get(query, {})], 0) for query in qrels}
    graded = {query: {item: max(grade, 0) for item, grade in items.items()} for query, items in qrels.items()}
    return {query: ranked[query] | graded[query] for query in qrels}, first, second


def scored(folder, measure):
    """Return the mean of the first run and the mean difference, scored by every judgment."""
    from activeeval.formats.loading import pool_from_tables

    qrels, first, second = dicts(folder)
    tables = pool_from_tables(load_qrels(qrels), [load_run(first), load_run(second)], evaluated=2)
    bound = parse_measure(measure).bound_to(3)
    scores = [score_run(tables, run, bound) for run in (0, 1)]
    return scores[0].summary.mean, compare_runs(*scores, tables.pool).difference


def test_dicts_and_files_say_the_same(folder):
    of_dicts, of_files = dicts(folder), [folder / name for name in ("q.qrels", "a.run", "b.run")]
    for ask, n in ((evaluate, 2), (compare, 3)):
        assert ask(*of_files[:n], share=0.3, rng=4) == ask(*of_dicts[:n], share=0.3, rng=4)


@pytest.mark.parametrize("measure", MEASURES)
def test_without_a_budget_the_answer_is_the_score(folder, measure):
    mean, difference = scored(folder, measure)
    qrels, first, second = dicts(folder)
    one, two = evaluate(qrels, first, measure=measure), compare(qrels, first, second, measure=measure)
    assert (one.value, one.std_error) == (pytest.approx(mean, rel=1e-12), 0)
    assert (two.value, two.std_error) == (pytest.approx(difference, rel=1e-12), 0)
    assert one.interval().low == one.interval().high == one.value
    assert (one.n_queries, two.n_queries) == (30, 30)  # a query that the run lacks counts as 0


def test_a_measure_may_be_an_object(folder):
    qrels, first, _ = dicts(folder)
    for measure, text in ((DCG(cutoff=10), "DCG@10"), (ERR(cutoff=5), "ERR(max_rel=3)@5")):
        assert evaluate(qrels, first, measure=measure).value == evaluate(qrels, first, measure=text).value


def test_a_judge_is_asked_for_drawn_items_and_no_others(folder):
    qrels, first, second = all_judged(folder)
    asked = {}

    def judge(query_id, item_ids):
        assert query_id not in asked
        asked[query_id] = item_ids
        return [qrels[query_id].get(item, -1) if query_id in qrels else 0 for item in item_ids]

    estimate = compare(judge, first, second, measure="DCG@3", max_grade=3, share=0.27, method="active_uniD", rng=2)
    assert len(asked) == estimate.n_queries < 30
    assert sum(map(len, asked.values())) == estimate.n_items
    assert all(
        3 <= len(items) == len(set(items)) <= 6 for query, items in asked.items() if query not in ("q5", "q7", "qX")
    )


def test_a_judge_and_the_same_judgments_agree(folder):
    qrels, first, second = dicts(folder)
    # the pool of a judge is what the runs hold, in their order
    first = {query: first.get(query, second.get(query)) for query in qrels}
    looked_up = evaluate(qrels, first, share=0.27, rng=3, max_grade=3)
    judged = evaluate(lambda q, items: [qrels[q].get(d, -1) for d in items], first, share=0.27, rng=3, max_grade=3)
    assert looked_up.value == pytest.approx(judged.value, rel=1e-12)
    assert looked_up.n_queries == judged.n_queries


@pytest.mark.usefixtures("grown_anew")
def test_one_seed_one_answer(folder):
    qrels, first, second = dicts(folder)
    for rng in (int, np.random.default_rng):
        answers = [compare(qrels, first, second, share=0.27, rng=rng(seed)) for seed in (1, 1, 2)]
        assert answers[0] == answers[1] != answers[2]


def test_the_grade_model_is_an_array_or_a_callable_of_the_pool(folder):
    qrels, first, _ = dicts(folder)
    seen, active = [], {"share": 0.27, "method": "active", "rng": 1}

    def model(pool):
        seen.append(pool)
        return np.random.default_rng(0).dirichlet(np.ones(4), pool.n_items)

    called = evaluate(qrels, first, **active, grade_probs=model)
    (pool,) = seen
    assert called == evaluate(qrels, first, **active, grade_probs=model(pool))
    assert evaluate(qrels, first, share=0.27, grade_probs=model, rng=1).method == "items"
    without = evaluate(qrels, first, **active | {"method": "active_uniD"})
    assert (without.method, without.value == called.value) == ("active_uniD", False)
    uniform = evaluate(qrels, first, **active, grade_probs=lambda pool: np.full((pool.n_items, 4), 0.25))
    assert uniform.value == without.value


@pytest.mark.parametrize(("measure", "method"), [("DCG@5", "items"), ("ERR@5", "depth"), ("AP", "depth")])
def test_without_a_model_grades_are_uniform_and_those_of_a_query_alike(folder, measure, method):
    qrels, first, second = all_judged(folder)
    model = {"grade_probs": np.full(4, 0.25), "factor": QueryFactor(sigma=1.2)}
    expected, uniform = campaign_of(folder, measure, method, 5, **model)
    options = {"measure": measure, "budget": 80, "overhead": 5, "rng": 6}
    assert compare(qrels, first, second, **options) == expected
    assert compare(qrels, first, second, **options, grade_probs=uniform).value != expected.value


def campaign_of(folder, measure, method, overhead, grade_probs=None, **model):
    """Return the estimate of a campaign for the two runs, and its grade model."""
    qrels, first, second = all_judged(folder)
    tables = load_qrels(qrels), [load_run(first), load_run(second)]
    inputs = from_tables(*tables, evaluated=2, unjudged="irrelevant").with_costs(None, overhead)
    target = Target(parse_measure(measure).bound_to(3), inputs.ranking, inputs.versus)
    probs = np.random.default_rng(0).dirichlet(np.ones(4), inputs.pool.n_items)
    if grade_probs is not None:
        probs = np.tile(grade_probs, (inputs.pool.n_items, 1))
    design = find_method(method).design(target, probs, budget=80.0, defensive_share=0.1, **model)
    places, index = inputs.pool.item_positions(), {q: i for i, q in enumerate(inputs.pool.query_ids.tolist())}
    judge = lambda q, items: [int(inputs.grades[places[index[q], d]]) for d in items]  # noqa: E731
    return Campaign(design, rng=6).run(judge), probs


def test_compare_is_antisymmetric_and_a_run_does_not_differ_from_itself(folder):
    qrels, first, second = dicts(folder)
    one, other = (compare(qrels, *runs) for runs in ((first, second), (second, first)))
    assert one.value == pytest.approx(-other.value, rel=1e-12)
    assert compare(qrels, first, first, share=0.27, rng=0).value == 0


@pytest.mark.parametrize("method", ["passive", "depth", "items"])
def test_the_smallest_budget_that_an_error_names_works(folder, method):
    qrels, first, second = dicts(folder)
    for overhead in (0, 0.3, 7):
        options = {"method": method, "overhead": overhead, "rng": 0}
        with pytest.raises(BudgetError, match="does not pay for ") as caught:
            compare(qrels, first, second, budget=0.01, **options)
        named = float(str(caught.value).rpartition("`budget` ")[2])
        assert named == pytest.approx(caught.value.needed, rel=2e-3)
        assert caught.value.budget == pytest.approx(0.01)
        assert compare(qrels, first, second, budget=named, **options).n_draws >= 1
        with pytest.raises(BudgetError):
            compare(qrels, first, second, budget=0.997 * named, **options)


@pytest.mark.parametrize("overhead", [0.1, 0.7])
def test_a_budget_of_queries_that_cost_the_same(overhead):
    run = {f"q{q}": {f"d{j}": -j for j in range(3)} for q in range(17)}
    qrels = {query: dict.fromkeys(documents, 1) for query, documents in run.items()}
    for budget, method in product((1, 3, 16), ("passive", "random")):
        options = {"method": method, "overhead": overhead, "budget": budget * (3 + overhead)}
        assert evaluate(qrels, run, **options, rng=0).n_queries == budget


@pytest.mark.parametrize(
    ("measure", "method"),
    [(measure, "items" if measure.startswith(("DCG", "dcg", "P", "RBP")) else "depth") for measure in MEASURES],
)
def test_the_default_is_the_best_for_the_measure_where_the_scale_is_known(folder, measure, method):
    qrels, first, second = dicts(folder)
    default = compare(qrels, first, second, measure=measure, share=0.27, rng=5)
    assert default == compare(qrels, first, second, measure=measure, share=0.27, method=method, rng=5)
    assert default.method == method

    def judge(query_id, item_ids):
        return [qrels.get(query_id, {}).get(item, -1) for item in item_ids]

    of_judge = {"measure": measure, "budget": 80, "rng": 5}
    assert compare(judge, first, second, **of_judge, max_grade=3).method == method
    if "max_rel" not in measure:
        with pytest.raises(InputError, match=r"give max_grade\b"):
            compare(judge, first, second, **of_judge)


@pytest.mark.parametrize(
    ("measure", "method"),
    [
        *(("DCG@5", method) for method in ("items_plain", "whole")),
        *(("ERR@5", method) for method in ("depth_plain", "passive")),
        *(("nDCG@5", method) for method in ("depth", "random", "active")),
    ],
)
def test_every_method_is_its_campaign(folder, measure, method):
    expected, probs = campaign_of(folder, measure, method, 0.5)
    options = {"measure": measure, "method": method, "budget": 80, "overhead": 0.5, "grade_probs": probs}
    assert compare(*all_judged(folder), **options, rng=6) == expected
    assert expected.method == method


@pytest.mark.parametrize(("method", "budget"), [("items", 1.0), ("depth", 1e6), ("random", 1e6), ("passive", 1.0)])
def test_a_budget_beyond_the_pool_is_exact(folder, method, budget):
    mean, _ = scored(folder, "DCG@5")
    qrels, first, _ = dicts(folder)
    estimate = evaluate(qrels, first, measure="DCG@5", method=method, budget=1000 * budget, rng=0)
    assert (estimate.value, estimate.std_error) == (pytest.approx(mean, rel=1e-12), 0)
    assert estimate.n_queries == (30 if method == "passive" else 29)


@pytest.mark.parametrize("method", [None, "passive", "items"])
def test_two_equal_rankings_differ_by_nothing(method):
    def never(query_id, item_ids):
        raise AssertionError("there is nothing to judge")

    run = {f"q{q}": {"a": 2.0, "b": 1.0} for q in range(20)}
    options = {"method": method, "grade_probs": np.full((40, 3), 1 / 3), "max_grade": 2}
    for measure in ("DCG@1", "DCG") if method == "items" else ("DCG", "ERR"):
        for budget in (5, None):
            answer = compare(never, run, run, measure=measure, budget=budget, **options)
            assert (answer.value, answer.std_error, answer.n_items, answer.cost) == (0, 0, 0, 0)
            assert (answer.interval().low, answer.interval().high) == (0, 0)


# Items without a judgment

PARTIAL = {"q1": {"a": 2, "b": 0}, "q2": {"a": 1}, "q3": {"b": -1, "a": 0}, "q4": {"a": 1, "b": 2}}
BOTH = {query: {"a": 2.0, "b": 1.0} for query in PARTIAL}
TURNED = {query: {"a": 1.0, "b": 2.0} for query in PARTIAL}
REFUSAL = (
    r"2 of 8 items asked for are not judged, in 2 queries, the first is item 'b' of query 'q[23]': judge them, or have "
    r"them count as grade 0 \(`unjudged` irrelevant\)"
)


def looked_up(query_id, item_ids):
    return [PARTIAL[query_id].get(item, -1) for item in item_ids]


@pytest.mark.parametrize(
    ("source", "method", "runs"),
    [(PARTIAL, None, (BOTH,)), (PARTIAL, "passive", (BOTH, TURNED)), (looked_up, "depth", (BOTH, TURNED))],
    ids=["judgments", "judgments of two", "function of two"],
)
def test_an_item_that_is_asked_for_and_not_judged_is_an_error_that_counts(source, method, runs):
    ask = partial(compare if len(runs) == 2 else evaluate, measure="DCG", method=method, max_grade=2, rng=0)
    with pytest.raises(InputError, match=f"^{REFUSAL}$"):
        ask(source, *runs, unjudged="error")
    filled = {query: {item: max(grades.get(item, 0), 0) for item in "ab"} for query, grades in PARTIAL.items()}
    found, expected = ask(source, *runs), ask(filled, *runs, unjudged="error")
    assert found.value == pytest.approx(expected.value, rel=1e-12)
    assert (found.std_error, found.n_items) == (expected.std_error, expected.n_items - 2)
    (note,) = [note for note in found.notes if note.code == "unjudged items"]
    assert note.numbers == {"n": 2, "of": 8, "which": "asked for"}
    assert "unjudged items" not in [note.code for note in expected.notes]


def test_what_is_not_asked_for_need_not_be_judged(folder):
    qrels, first, _ = dicts(folder)
    asked, known = {}, {query: documents for query, documents in first.items() if query in qrels}
    ask = partial(evaluate, measure="DCG@5", budget=6, max_grade=3, rng=0)

    def judge(query_id, item_ids):
        asked.setdefault(query_id, {}).update(dict.fromkeys(item_ids, 1))
        return [1] * len(item_ids)

    estimate = ask(judge, known)
    assert estimate.n_items < sum(map(len, known.values())) / 2
    # judgments of every query, of which those asked for are graded and the others pooled
    sheet = {query: dict.fromkeys(documents, -1) | asked.get(query, {}) for query, documents in known.items()}
    assert ask(sheet, known, unjudged="error").value == pytest.approx(estimate.value, rel=1e-12)
    query = next(iter(asked))
    with pytest.raises(InputError, match=f"^{len(asked[query])} of {estimate.n_items} items asked for .* in 1 queries"):
        ask(sheet | {query: dict.fromkeys(known[query], -1)}, known, unjudged="error")
    with pytest.raises(InputError, match=r"^unjudged must be one of error, irrelevant, got '0'$"):
        ask(sheet, known, unjudged="0")


def test_queries_that_were_left_out_are_told_of():
    run = {"q1": {"a": 2.0, "b": 1.0}, "q2": {"a": 2.0, "b": 1.0}}
    qrels = {"q1": {"a": 2, "b": 0}, "q3": {"a": 1}}
    alone = evaluate(qrels, run, measure="DCG", unjudged="error")
    assert [(note.code, note.numbers["n"]) for note in alone.notes] == [("missing queries", 1), ("unjudged queries", 1)]
    both = compare(qrels, run, run | {"q1": {"a": 1.0, "b": 2.0}}, measure="DCG", unjudged="error")
    assert ("unjudged queries", ("new", "old")) in [(note.code, note.numbers.get("names")) for note in both.notes]
    equal = compare(qrels, run, run, measure="DCG", unjudged="error")
    assert (equal.value, equal.notes) == (0, both.notes)


@pytest.mark.parametrize("method", ["passive", "active_uniC", "random", "whole"])
def test_without_a_budget_every_method_is_exact(method):
    """Methods that judge whole queries also judge what cannot matter; nothing is left to chance all the same."""
    rng = np.random.default_rng(3)
    docs = [f"d{k}" for k in range(6)]
    qrels = {f"q{q}": {d: int(rng.integers(0, 3)) for d in docs} for q in range(12)}
    first = {q: {d: float(-k) for k, d in enumerate(rng.permutation(docs).tolist())} for q in qrels}
    second = {q: dict(first[q]) if n else {d: float(k) for k, d in enumerate(docs)} for n, q in enumerate(first)}
    probs = (lambda pool: np.full((pool.n_items, 3), 1 / 3)) if method in ("active_uniC", "whole") else None
    found = compare(qrels, first, second, measure="DCG@3", method=method, grade_probs=probs, unjudged="error")
    exact = compare(qrels, first, second, measure="DCG@3", unjudged="error")
    assert (found.value, found.std_error) == (pytest.approx(exact.value, rel=1e-12), 0)
    with pytest.raises(BudgetError, match=r": `budget` \d+(\.\d+)?$"):
        compare(qrels, first, second, measure="DCG@3", method="passive", share=0.5, unjudged="error")
