"""Two real runs with ties and unjudged documents: the values are those of trec_eval."""

import numpy as np
import pytest
from kit import SHARED

from activeeval import parse_measure
from activeeval.formats.loading import load_tables, pool_from_tables

OF_TREC_EVAL = {
    "P.5": "P(rel={rel})@5",
    "recall.10": "R(rel={rel})@10",
    "recall.1000": "R(rel={rel})@1000",
    "success.5": "Success(rel={rel})@5",
    "map_cut.10": "AP(rel={rel})@10",
    "map": "AP(rel={rel})",
    "recip_rank": "RR(rel={rel})",
}


@pytest.fixture(scope="module")
def robust():
    """Two real runs, and the same as dicts: with ties and with documents that nobody judged."""
    folder = SHARED / "data" / "trec-robust03"
    if not folder.exists():
        pytest.skip(f"needs {folder}; set ACTIVEEVAL_SHARED to the folder that holds data/")
    names = [str(folder / "runs" / f"input.{name}.gz") for name in ("pircRBa1", "humR03dc")]
    tables = pool_from_tables(*load_tables(str(folder / "robust03_qrels.txt.gz"), names), evaluated=2)
    pairs = list(
        zip(tables.pool.query_ids[tables.pool.item_queries].tolist(), tables.pool.item_ids.tolist(), strict=True)
    )
    qrels, runs = {}, ({}, {})
    for z in np.flatnonzero(tables.grades >= 0).tolist():
        qrels.setdefault(pairs[z][0], {})[pairs[z][1]] = int(tables.grades[z])
    for run, scores, ranking in zip(runs, tables.scores, tables.rankings, strict=True):
        for z in ranking.items.tolist():
            run.setdefault(pairs[z][0], {})[pairs[z][1]] = float(scores[z])
    return tables, qrels, runs


@pytest.mark.parametrize("rel", [1, 2])
@pytest.mark.parametrize("name", OF_TREC_EVAL)
def test_scores_of_real_runs_are_those_of_trec_eval(robust, name, rel):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    tables, qrels, runs = robust
    assert str(parse_measure(name)) == OF_TREC_EVAL[name].format(rel=1)
    measure, key = parse_measure(OF_TREC_EVAL[name].format(rel=rel)), name.replace(".", "_")
    for ranking, run in zip(tables.rankings, runs, strict=True):
        found = pytrec_eval.RelevanceEvaluator(qrels, {name}, relevance_level=rel).evaluate(run)
        expected = [found.get(query, {key: 0.0})[key] for query in tables.pool.query_ids.tolist()]
        np.testing.assert_allclose(measure.score(tables.pool, tables.grades, ranking), expected, rtol=1e-9, atol=1e-12)
