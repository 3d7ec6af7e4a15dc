"""Arguments that are wrong, one or two at a time: an error of one line that names the argument and its value.

``wrong-arguments.jsonl`` has what is called, the arguments that are wrong, and all of the line.
"""

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from core.simulation.simulated_cases import labelled
from core_cases import judge_all, labelled_design
from naive import pool_of, rankings_of
from naive_learning import random_pairs
from naive_rankers import top_k_items
from sklearn.ensemble import GradientBoostingRegressor
from watch_cases import Watch

import activeeval as ae
from activeeval import METHODS, Campaign, PoolGrades, QueryPool, Rankings, rankers
from activeeval.adaptation import HyperLinearRanker, b_measure, preferences_from_clicks, users
from activeeval.adaptation.cleaning import CleaningRules
from activeeval.core import grade_models, measures
from activeeval.core.checks import one_of
from activeeval.core.errors import ActiveEvalError, InputError
from activeeval.core.estimation.significance import compare_scores, holm, mean_interval
from activeeval.core.grade_models import ForestGradeModel, QueryFactor
from activeeval.core.judgments.agreement import grade_agreement, preference_agreement
from activeeval.core.judgments.coded_grades import CodedGrades, Relations
from activeeval.core.judgments.coefficients import chi_squared, cohen_kappa, krippendorff_alpha
from activeeval.core.planning.goals import Goal
from activeeval.core.planning.prices import Price
from activeeval.core.pool.draws import QueryDraw, QueryLog
from activeeval.core.simulation import replicate
from activeeval.formats.graders.grader_grades import Grades
from activeeval.formats.loading import load_qrels
from activeeval.formats.tables.clicks import ClickLog
from activeeval.formats.text.trec import Run
from activeeval.gains import (
    GainDiscountLearner,
    PreferenceData,
    SimpleMargin,
    coherence,
    random_list_pairs,
    rank_one_test,
    read_out,
)
from activeeval.scoring import active_evaluation
from activeeval.topk import TopKLabelling
from activeeval.topk.assessors import Assessors

RANDOM = np.random.default_rng(0)
GRADES = {f"q{q}": {f"d{d}": int(RANDOM.integers(0, 3)) for d in range(8)} for q in range(30)}
NEW, OLD = ({query: {doc: float(RANDOM.random()) for doc in row} for query, row in GRADES.items()} for _ in range(2))
ASKED = {"measure": "DCG@5", "max_grade": 2, "budget": 60}
SMALL = {
    "qrels": {"q1": {"a": 2, "b": 0}, "q2": {"a": 0, "b": 1}},
    "run": {"q1": {"a": 2.0, "b": 1.0}, "q2": {"a": 2.0, "b": 1.0}},
    "never": lambda query, docs: pytest.fail("nothing may be judged"),
    "too few": lambda query, docs: [1] * (len(docs) - 1),
    "halves": lambda query, docs: [0.5] * len(docs),
    "threes": lambda query, docs: [3] * len(docs),
}
"""What words stand for, where a run, judgments or a judge is an argument."""
LISTS = {"preferred": [[0, 1], [2, 1]], "other": [[1, 1], [0, 1]]}
RUN = {"query_ids": ["q", "q"], "doc_ids": ["a", "b"], "scores": [1, 2], "ranks": [1, 2]}
POOL, PAIR = QueryPool(["q1", "q2"], [0, 2, 5], list("ababc")), pool_of([2])
BOTH, FACTOR = rankings_of(PAIR, [[0, 1]]), {"probs": [[0.5, 0.5]] * 4, "grades": [0, 1, 0, 1], "queries": [1, 1, 2, 2]}
QUERIES = {"query_ids": ["q1", "q2"], "query_offsets": [0, 2, 5], "item_ids": list("ababc")}
DRAWN = {"inclusion_probs": [0.5, 1.0], "strata": [0, 0], "sizes": [2]}
DRAWN_FROM = QueryLog(name="log", digest="", n_events=2.0, n_queries=2)
LOG = {
    "query_ids": ["q1", "q1", "007", "q 3"],
    "doc_ids": ["a", "a", "é", "b"],
    "positions": [1, 2, 1, 30],
    "impressions": [100, 3, 10**12, 1],
    "clicks": [100, 0, 5, 1],
}


@cache
def boosted():
    X = np.random.default_rng(0).normal(size=(300, 5))
    return HyperLinearRanker.from_gradient_boosting(GradientBoostingRegressor(n_estimators=2).fit(X, X[:, 0])), X


def adapted(pairs, **given):
    base, X = boosted()
    return base.adapt(X, pairs, **given)


@cache
def paper_designs():
    designs, labels = labelled()
    return designs | {"random": METHODS["random"].design(designs["passive"].target)}, labels


def replicated(method, **given):
    designs, labels = paper_designs()
    return replicate(designs[method], labels, **{"repetitions": 10} | given)


@cache
def judged_campaign():
    design, labels = labelled_design(3)
    return judge_all(Campaign(design, 2 * design.cost), labels)


def designed(method, has_model=False, **given):
    design = judged_campaign().design
    given |= {"grade_probs": design.beliefs.nodes[0]} if has_model else {}
    return METHODS[method].design(**{"targets": design.target} | given)


def small(given):
    return {name: SMALL.get(value, value) if isinstance(value, str) else value for name, value in given.items()}


CALLS = {
    "sample": lambda **given: ae.sample([NEW, OLD], **ASKED | given),
    "plan": lambda **given: ae.plan([NEW, OLD], **ASKED | given),
    "compare": lambda **given: ae.compare(OLD, NEW, judgments=GRADES, **{"measure": "DCG@5"} | given),
    "score": lambda **given: ae.score(GRADES, NEW, "DCG@5", **given),
    "evaluate": lambda **given: active_evaluation.evaluate(**small({"run": "run", "judgments": "qrels"} | given)),
    "compare by samples": lambda **given: active_evaluation.compare(**small(given)),
    "learner": lambda **given: GainDiscountLearner(**{"C": 1.0} | given).fit(random_pairs(1, 20)),
    "SimpleMargin": lambda n_start: SimpleMargin(random_pairs(1, 6), GainDiscountLearner(C=1.0), n_start=n_start),
    "PreferenceData": lambda **given: PreferenceData(**LISTS | given),
    "PreferenceData.from_documents": PreferenceData.from_documents,
    "random_list_pairs": random_list_pairs,
    "coherence": lambda second, **given: coherence(ae.DCG(), ae.parse_measure(second), **given),
    "read_out": read_out,
    "load_qrels": load_qrels,
    "rank_one_test": lambda **given: rank_one_test(random_pairs(0, 20), **given),
    "ranker": lambda kind, **given: getattr(rankers, kind)(**given).fit(*top_k_items(1)),
    "ForestGradeModel": lambda **given: ForestGradeModel(**given).fit(*top_k_items(1)[:2]),
    "adapt": adapted,
    "preferences_from_clicks": lambda level: preferences_from_clicks(ClickLog([], [], [], [], []), level),
    "ClickLog": lambda **given: ClickLog(**LOG | given),
    "Run": lambda **given: Run(**RUN | given),
    "Grades.parse": Grades.parse,
    "measure": lambda kind, **given: getattr(measures, kind)(**given),
    "grades": lambda measure, grades: ae.parse_measure(measure).score(PAIR, grades, BOTH),
    "moments": lambda **given: ae.DCG().moments(PAIR, ranking=BOTH, **given),
    "top_k_grades": lambda k: ae.top_k_grades(PAIR, [1.0, 2.0], k),
    "grade model": lambda kind, X, y=None, **given: getattr(grade_models, kind)(**given).fit(X, y),
    "QueryFactor.fit": lambda **given: QueryFactor.fit(**FACTOR | given),
    "grade_agreement": lambda rows: grade_agreement(CodedGrades.of(rows)),
    "preference_agreement": lambda rows: preference_agreement(Relations.of(rows)),
    "QueryPool": lambda **given: QueryPool(**QUERIES | given),
    "PoolGrades": lambda **given: PoolGrades(POOL, **given),
    "PoolGrades.from_ids": lambda grades: PoolGrades.from_ids(POOL, grades),
    "Rankings": lambda **given: Rankings(POOL, **given),
    "Rankings.from_scores": lambda scores: Rankings.from_scores(POOL, scores),
    "Rankings.from_ids": lambda lists: Rankings.from_ids(POOL, lists),
    "Rankings.without": lambda fraction: Rankings.empty(POOL).without(fraction),
    "replicate": replicated,
    "campaign": lambda call, args: getattr(judged_campaign(), call)(*args),
    "Campaign": lambda **given: Campaign(judged_campaign().design, **given),
    "design": designed,
    "Price.judgments_for": lambda amount, **given: Price(**given).judgments_for(amount),
    "QueryDraw": lambda **given: QueryDraw(**DRAWN | given, log=DRAWN_FROM),
    "watch": lambda **given: Watch(**given),
} | {
    kind.__name__: kind
    for kind in (
        *(TopKLabelling, Assessors, CleaningRules, users.PositionBased, users.CascadeModel, users.ListImpressions),
        *(users.UserPopulation, b_measure, ae.parse_measure, QueryFactor, cohen_kappa, krippendorff_alpha, chi_squared),
        *(compare_scores, mean_interval, holm, Goal, Price),
    )
}
CASES = list(map(json.loads, Path(__file__).with_name("wrong-arguments.jsonl").read_text("utf-8").splitlines()))


@pytest.mark.parametrize("case", CASES, ids=[f"{case['call']} {case['given']}" for case in CASES])
def test_a_wrong_argument_is_one_line(case):
    with pytest.raises(ActiveEvalError) as told:
        CALLS[case["call"]](**case["given"])
    assert str(told.value) == case["says"]
    assert "\n" not in case["says"]


def test_a_word_is_one_of_some_whatever_the_type():
    assert one_of("a", ("a", "b"), "x") == "a"
    for value in (None, 3, ["a"], np.array(["a"])):
        with pytest.raises(InputError, match="x must be one of a, b"):
            one_of(value, ("a", "b"), "x")
