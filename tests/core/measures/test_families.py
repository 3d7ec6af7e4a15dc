import math
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest
from each_once import each_once
from naive import additive_value, average_precision, cascade_value, dcg, err, ndcg, pool_of, random_lists, rankings_of

from activeeval import InputError, QueryPool, Rankings, Target, parse_measure
from activeeval.core.measures import AP, DCG, ERR, NDCG, RBP, RR, Additive, Cascade, Judged, Precision, Recall, Success


class Collection:
    """Random judgments and runs with ties, missing documents, unjudged documents, a query without either."""

    def __init__(self, seed, ties=True):
        random = np.random.default_rng(seed)
        self.lengths = [1, 2, 3, *random.integers(1, 25, 30)]
        n = sum(self.lengths)
        docs = [f"d{d}" for length in self.lengths for d in random.permutation(120)[:length]]
        offsets = np.concatenate(([0], np.cumsum(self.lengths)))
        self.pool = QueryPool(np.arange(1, len(self.lengths) + 1), offsets, docs)
        self.grades = random.choice([-1, 0, 0, 1, 2, 3, 4], n)
        self.scores = random.integers(0, 6, n) / 4 if ties else random.permutation(n) / 4
        self.scores[random.random(n) < 0.25] = np.nan
        self.scores[offsets[5] : offsets[6]] = np.nan
        self.grades[offsets[7] : offsets[8]] = 0
        self.ranking = Rankings.from_scores(self.pool, self.scores)

    def as_dicts(self):
        queries = self.pool.query_ids[self.pool.item_queries].tolist()
        rows = list(zip(queries, self.pool.item_ids.tolist(), strict=True))
        qrels, run = {q: {} for q in self.pool.query_ids.tolist()}, {}
        for (q, d), grade, score in zip(rows, self.grades.tolist(), self.scores.tolist(), strict=True):
            if grade >= 0:
                qrels[q][d] = grade
            if not math.isnan(score):
                run.setdefault(q, {})[d] = score
        return {q: of for q, of in qrels.items() if of}, run

    def of_queries(self):
        """Yield (grades, ranked item numbers) of every query, both within the query."""
        starts, ends = self.pool.query_offsets, self.ranking.offsets
        for q in range(self.pool.n_queries):
            ranked = self.ranking.items[ends[q] : ends[q + 1]] - starts[q]
            yield self.grades[starts[q] : starts[q + 1]].tolist(), ranked.tolist()


# Values against other evaluators


def theirs(measure, collection, provider):
    ir_measures = pytest.importorskip("ir_measures")
    qrels, run = collection.as_dicts()
    values = {m.query_id: m.value for m in ir_measures.providers.registry[provider].iter_calc([measure], qrels, run)}
    return np.array([values.get(q, 0.0) for q in collection.pool.query_ids.tolist()])


ROWS = Path(__file__).with_name("ir-measures.tsv").read_text("utf-8").splitlines()[1:]
IR_MEASURES = [tuple(line.split("\t")) for line in ROWS]


@pytest.mark.kernel
@each_once(("seed", range(3)), (("name", "ours", "provider"), IR_MEASURES))
def test_scores_are_those_of_ir_measures(name, ours, provider, seed):
    ir_measures = pytest.importorskip("ir_measures")
    collection = Collection(seed, ties=provider == "pytrec_eval")
    expected = theirs(ir_measures.parse_measure(name), collection, provider)
    values = parse_measure(ours).score(collection.pool, collection.grades, collection.ranking)
    np.testing.assert_allclose(values, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "ours"), [("nDCG(dcg='exp-log2')@10", "nDCG(dcg='exp-log2')@10"), ("ERR@20", "ERR(max_rel=4)@20")]
)
def test_scores_are_those_of_gdeval(name, ours):
    ir_measures = pytest.importorskip("ir_measures")
    if shutil.which("perl") is None:
        pytest.skip("gdeval is written in perl")
    collection = Collection(4, ties=False)
    expected = theirs(ir_measures.parse_measure(name), collection, "gdeval")
    values = parse_measure(ours).score(collection.pool, collection.grades, collection.ranking)
    np.testing.assert_allclose(values, expected, atol=5.1e-6)


RANX = ["ndcg", "ndcg@10", "ndcg_burges@10", "dcg@5", "dcg_burges", "mrr", "mrr@3", "map", "precision@5", "rbp.95"]
RANX += ["recall@5", "hit_rate@3", "map@4"]


@pytest.mark.slow  # ranx compiles for half a minute where its cache is cold
@pytest.mark.parametrize("name", RANX)
def test_ranx_spellings_score_as_in_ranx(name):
    ranx = pytest.importorskip("ranx")
    collection = Collection(5, ties=False)
    if name.startswith("rbp"):  # ranx takes the grade for the gain
        collection.grades = np.minimum(collection.grades, 1)
    qrels, run = collection.as_dicts()
    shared = sorted(set(qrels) & set(run))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        values = ranx.evaluate(
            ranx.Qrels({q: qrels[q] for q in shared}), ranx.Run({q: run[q] for q in shared}), name, return_mean=False
        )
    ours = parse_measure(name).score(collection.pool, collection.grades, collection.ranking)
    index = [collection.pool.query_ids.tolist().index(q) for q in shared]
    np.testing.assert_allclose(ours[index], values, rtol=1e-9, atol=1e-12)


# Values against plain loops


PLAIN = {
    "DCG": (DCG(), lambda y, r: dcg(y, r)),
    "DCG@3": (DCG(cutoff=3), lambda y, r: dcg(y, r, cutoff=3)),
    "DCG linear": (DCG("linear"), lambda y, r: dcg(y, r, gain=float)),
    "nDCG exp@4": (NDCG("exp", 4), lambda y, r: ndcg(y, r, cutoff=4)),
    "nDCG linear": (NDCG(), lambda y, r: ndcg(y, r, gain=float)),
    "ERR": (ERR(4), lambda y, r: err(y, r, 4)),
    "ERR@2": (ERR(6, cutoff=2), lambda y, r: err(y, r, 6, cutoff=2)),
    "AP": (AP(), lambda y, r: average_precision(y, r)),
    "AP(rel=0)": (AP(rel=0), lambda y, r: average_precision(y, r, rel=0)),
    "AP(rel=3)@4": (AP(3, 4), lambda y, r: average_precision(y, r, 3, 4)),
    "RBP": (RBP(0.7), lambda y, r: sum(0.3 * 0.7**i for i, z in enumerate(r) if y[z] >= 1)),
    "RBP graded@3": (
        RBP(0.9, gains=[0, 0.2, 0.4, 0.6, 1], cutoff=3),
        lambda y, r: sum(0.1 * 0.9**i * [0, 0.2, 0.4, 0.6, 1][y[z]] for i, z in enumerate(r[:3]) if y[z] > 0),
    ),
    "P(rel=2)@5": (Precision(5, 2), lambda y, r: sum(y[z] >= 2 for z in r[:5]) / 5),
    "R(rel=2)@5": (
        Recall(5, 2),
        lambda y, r: sum(y[z] >= 2 for z in r[:5]) / sum(g >= 2 for g in y) if any(g >= 2 for g in y) else 0.0,
    ),
    "R(rel=0)@3": (Recall(3, 0), lambda y, r: sum(y[z] >= 0 for z in r[:3]) / max(sum(g >= 0 for g in y), 1)),
    "Success(rel=3)@4": (Success(4, 3), lambda y, r: float(any(y[z] >= 3 for z in r[:4]))),
    "RR(rel=2)@6": (RR(2, 6), lambda y, r: next((1 / (i + 1) for i, z in enumerate(r[:6]) if y[z] >= 2), 0.0)),
    "Judged@4": (Judged(4), lambda y, r: np.mean([y[z] >= 0 for z in r[:4]]) if r else 0.0),
    "Judged": (Judged(), lambda y, r: np.mean([y[z] >= 0 for z in r]) if r else 0.0),
    "Additive": (
        Additive([3, -1, 0, 2, 5], [1, 0.5, -0.25]),
        lambda y, r: additive_value(y, [3, -1, 0, 2, 5], [1, 0.5, -0.25], r),
    ),
    "Cascade": (
        Cascade([0, 0.1, 0.5, 0.7, 1], lambda rank: 1 / rank**2, 8),
        lambda y, r: cascade_value(y, [0, 0.1, 0.5, 0.7, 1], [1 / i**2 for i in range(1, 9)], r),
    ),
}


@pytest.mark.kernel
@pytest.mark.parametrize("name", PLAIN)
def test_scores_are_those_of_plain_loops(name):
    measure, plain = PLAIN[name]
    for seed in range(3):
        collection = Collection(seed)
        expected = [plain(*query) for query in collection.of_queries()]
        values = measure.score(collection.pool, collection.grades, collection.ranking)
        np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-15)


@pytest.mark.kernel
@pytest.mark.parametrize("name", PLAIN)
def test_versus_is_the_difference_of_two_scores(name):
    measure, _ = PLAIN[name]
    one = Collection(0)
    other = rankings_of(one.pool, random_lists(np.random.default_rng(8), one.lengths))
    alone = [measure.score(one.pool, one.grades, ranking) for ranking in (one.ranking, other)]
    np.testing.assert_array_equal(measure.score(one.pool, one.grades, one.ranking, other), alone[0] - alone[1])


def test_an_open_scale_takes_the_largest_grade_of_what_is_scored():
    pool = pool_of([1, 1])
    ranking = rankings_of(pool, [[0], [0]])
    np.testing.assert_allclose(ERR().score(pool, [2, 1], ranking), [0.75, 0.25])
    np.testing.assert_allclose(ERR().bound_to(4).score(pool, [2, 1], ranking), [3 / 16, 1 / 16])
    assert str(ERR(cutoff=3).bound_to(4)) == "ERR(max_rel=4)@3"
    assert ERR(2).bound_to(4) == ERR(2)
    assert str(DCG().bound_to(4)) == str(DCG())
    with pytest.raises(InputError, match="grade 2 of item '1' of query 'q0' is above the measure's largest, 1"):
        DCG().bound_to(1).score(pool, [2, 1], ranking)


# The door


@pytest.mark.parametrize(
    "measure", [ERR(4), NDCG([0, 1, 3, 7, 15]), Additive([0, 1, 3, 7, 15]), Cascade([0, 0, 0, 0, 1])]
)
def test_a_grade_above_the_scale_is_an_error(measure):
    pool = pool_of([2, 2])
    ranking = rankings_of(pool, [[0], [1]])
    assert measure.max_grade == 4
    with pytest.raises(InputError, match="grade 5 of item '1' of query 'q1' is above the measure's largest, 4"):
        measure.score(pool, [4, 0, 5, 6], ranking)


def test_a_discount_function_must_give_a_number_for_every_rank():
    pool = pool_of([2])
    ranking = rankings_of(pool, [[0, 1]])
    for function in (lambda ranks: ranks[:1], lambda ranks: ranks * np.nan):
        with pytest.raises(InputError, match="discounts must give one finite number a rank, got shape"):
            Additive(None, function).score(pool, [1, 1], ranking)


def test_a_ranking_of_another_pool_is_refused():
    pool, other = pool_of([3]), pool_of([2])
    for measure in (DCG(), NDCG()):
        with pytest.raises(InputError, match="the ranking belongs to another pool"):
            measure.score(pool, [0, 0, 0], Rankings.empty(other))
    with pytest.raises(InputError, match="the ranking belongs to another pool"):
        Target(DCG(), Rankings.empty(pool), Rankings.empty(other))
