"""Rprec, Bpref, infAP, F1 and R_cap, held against trec_eval and a plain count."""

import ir_measures
import numpy as np
import pytest

from activeeval import QueryPool, Rankings, parse_measure, score
from activeeval.core.errors import InputError
from activeeval.core.measures import CountMeasure, SoftLabels, check_sampled
from activeeval.core.measures.labels import LabelsLike
from activeeval.core.pool.grades import POOLED

OF_TREC_EVAL = {
    "Rprec": ir_measures.Rprec,
    "Rprec(rel=2)": ir_measures.Rprec(rel=2),
    "Bpref": ir_measures.Bpref,
    "Bpref(rel=2)": ir_measures.Bpref(rel=2),
    "infAP": ir_measures.infAP,
    "infAP(rel=2)": ir_measures.infAP(rel=2),
    "F1": ir_measures.SetF,
    "SetF(rel=2)": ir_measures.SetF(rel=2),
}
JUDGED_ONLY = ("nDCG@5", "AP", "P@5", "R@5", "Rprec", "RR", "Success@2")
"""Measures of condensed lists, spelt alike by both."""


def drawn_lists(seed):
    """Draw judgments with pooled unjudged documents, and a run with ties, unjudged documents and missing lists."""
    rng = np.random.default_rng(seed)
    judgments, run = {}, {}
    for query in map("q{}".format, range(rng.integers(2, 7))):
        n = int(rng.integers(1, 14))
        documents = [f"d{i}" for i in range(n + 4)]
        top = 1 if rng.random() < 0.2 else 3  # some queries have nothing relevant
        judgments[query] = dict(zip(documents[:n], rng.integers(-1, top, n).tolist(), strict=True))
        listed = rng.permutation(documents)[: rng.integers(0, n + 5)].tolist()
        if listed:
            run[query] = dict(zip(listed, rng.integers(0, 5, len(listed)).astype(float).tolist(), strict=True))
    judgments["last"], run["last"] = {"a": 1, "b": 0}, {"b": 2.0, "x": 1.0, "a": 0.0}
    return judgments, run


def by_query(judgments, run, measure, **options):
    """Return the value of each query."""
    scores = score(judgments, {"run": run}, measure, **options)
    return dict(zip(scores.query_ids, next(iter(scores)).by_query.tolist(), strict=True))


def of_trec_eval(judgments, run, measure):
    """Return trec_eval's value of each query; 0 for a query without a list."""
    values = {value.query_id: value.value for value in ir_measures.pytrec_eval.iter_calc([measure], judgments, run)}
    return {query: values.get(query, 0.0) for query in judgments}


@pytest.mark.parametrize("name", OF_TREC_EVAL)
@pytest.mark.parametrize("seed", range(8))
def test_values_are_those_of_trec_eval(name, seed):
    judgments, run = drawn_lists(seed)
    expected = of_trec_eval(judgments, run, OF_TREC_EVAL[name])
    assert by_query(judgments, run, name) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", JUDGED_ONLY)
@pytest.mark.parametrize("seed", range(6))
def test_condensed_lists_are_those_of_trec_eval(name, seed):
    judgments, run = drawn_lists(seed)
    measure = ir_measures.parse_measure(name)
    judged_only = type(measure)(**measure.params, judged_only=True)
    expected = of_trec_eval(judgments, run, judged_only)
    assert by_query(judgments, run, name, condensed=True) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_f1_at_a_cutoff_is_the_harmonic_mean_of_precision_and_recall(seed):
    judgments, run = drawn_lists(seed)
    precisions, recalls = (of_trec_eval(judgments, run, measure @ 4) for measure in (ir_measures.P, ir_measures.R))
    pairs = {query: (precisions[query], recalls[query]) for query in judgments}
    means = {query: 2 * p * r / (p + r) if p + r else 0.0 for query, (p, r) in pairs.items()}
    assert by_query(judgments, run, "F1@4") == pytest.approx(means, abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_capped_recall_divides_by_at_most_the_cutoff(seed):
    judgments, run = drawn_lists(seed)
    expected = {}
    for query, docs in judgments.items():
        listed = run.get(query, {})
        top = sorted(listed, key=lambda doc, of=listed: (of[doc], doc), reverse=True)[:3]
        n_relevant = sum(grade > 0 for grade in docs.values())
        expected[query] = sum(docs.get(doc, 0) > 0 for doc in top) / max(min(n_relevant, 3), 1)
    assert by_query(judgments, run, "R_cap@3") == pytest.approx(expected, abs=1e-12)


def test_inferred_ap_tells_pooled_documents_from_others():
    """By hand: the relevant document is second; above it is one pooled document, or one outside the pool."""
    pool = QueryPool(["q"], [0, 2], ["a", "b"])
    ranking = Rankings.from_ids(pool, {"q": ["a", "b"]})
    measure = CountMeasure("infAP")
    assert measure.score(pool, [POOLED, 1], ranking) == pytest.approx([1 / 2 + 1 / 2 * 1e-5 / 2e-5])
    assert measure.score(pool, [-1, 1], ranking) == pytest.approx([1 / 2])


def test_a_difference_of_two_rankings():
    pool = QueryPool(["q"], [0, 2], ["a", "b"])
    first, second = (Rankings.from_ids(pool, {"q": ids}) for ids in (["a", "b"], ["b", "a"]))
    assert CountMeasure("Rprec").score(pool, [1, 0], first, second) == pytest.approx([1.0])
    assert CountMeasure("Rprec").limits(1, 2) == (0.0, 1.0)


@pytest.mark.parametrize("text", ["Rprec", "Bpref", "infAP", "F1@5", "R_cap@5"])
def test_sampling_refuses_it_and_names_those_that_it_takes(text):
    with pytest.raises(InputError, match=r"can be scored but not sampled for: .* choose DCG, ERR, .* R or AP"):
        check_sampled(parse_measure(text))


def test_distributions_of_grades_are_refused():
    pool = QueryPool(["q"], [0, 2], ["a", "b"])
    labels: LabelsLike = SoftLabels.of_judges([1, 0], {0: (0, 1)}, n_grades=2)
    with pytest.raises(InputError, match=r"Rprec.* has no gain between relevant and not"):
        CountMeasure("Rprec").score(pool, labels, Rankings.from_scores(pool, [2.0, 1.0]))
