"""`activeeval.draw_queries`, and its queries in the verbs that take them."""

import numpy as np
import polars as pl
import pytest

import activeeval as ae
from activeeval.core.planning.values import Values
from activeeval.core.pool import QueryDraw, QueryLog

LOG = {f"query {k}": 600 // (k + 1) + 1 for k in range(400)}


@pytest.fixture
def month():
    """Return drawn queries, two runs for them and what their documents are worth."""
    drawn, random = ae.draw_queries(LOG, n=40, seed=3), np.random.default_rng(2)
    ids = [row["query_id"] for row in drawn.rows()]
    runs = {
        name: {query: {f"d{k}": float(score) for k, score in enumerate(random.random(6))} for query in ids}
        for name in ("new", "old")
    }
    truth = {query: {f"d{k}": int(grade) for k, grade in enumerate(random.integers(0, 4, 6))} for query in ids}
    return drawn, runs, truth


def test_it_prints_what_was_drawn_and_saves_it(month, tmp_path):
    drawn, _, _ = month
    text = str(drawn)
    assert text.startswith("40 queries drawn from the log (sha256 ")
    assert "stratum" in text
    assert len(drawn) == 40
    frame = drawn.to_frame("polars")
    assert frame["inclusion_prob"].is_between(0, 1).all()
    path = drawn.save(tmp_path / "q.csv")
    again = ae.draw_queries(pl.DataFrame({"query": list(LOG), "count": list(LOG.values())}), n=40, seed=3, last=path)
    assert again.n_kept == 40
    assert again.frame_kind == "polars"


def test_verbs_take_it_or_its_file(month, tmp_path):
    drawn, runs, truth = month
    path = drawn.save(tmp_path / "q.csv")
    for queries in (drawn, path):
        answer = ae.compare(runs["old"], runs["new"], judgments=truth, measure="DCG@3", queries=queries)
        scores = ae.score(truth, runs, "DCG@3", baseline="old", queries=queries)
        assert answer.value == pytest.approx(scores["new", "DCG@3"].difference)
        assert tuple(answer.interval) == pytest.approx(tuple(scores["new", "DCG@3"].difference_interval))
        assert "all queries: all the traffic of the log." in answer.footnotes[-1]
    sample = ae.sample(runs, measure="DCG@3", budget=60, max_grade=3, seed=2, queries=drawn)
    sheet = sample.sheet("polars")
    grades = [truth[query][doc] for query, doc in sheet.select("query_id", "doc_id").iter_rows()]
    judged = sheet.with_columns(grade=pl.Series(grades))
    of_log, of_pool = (sample.estimate(judged, scope=scope) for scope in ("population", "pool"))
    assert of_log.value == of_pool.value
    assert of_log.low < of_pool.low < of_pool.high < of_log.high
    assert any("about all the traffic of the log." in note for note in of_log.footnotes)
    planned, alike = (
        ae.plan(runs, measure="DCG@3", budget=60, max_grade=3, **more).rows()[0]["half_width_population"]
        for more in ({"queries": drawn}, {})
    )
    assert planned != alike


def test_repetitions_are_of_the_pool(month):
    drawn, runs, truth = month
    sample = ae.sample(runs, measure="DCG@3", budget=60, max_grade=3, seed=2, queries=drawn)
    design = sample.drawn.campaign.design
    grades = np.array([truth[query][doc] for query, doc in design.pool.pairs_of(np.arange(design.pool.n_items))])
    assert ae.replicate(design, grades, [60], 5).values.shape[0] == 5
    with pytest.raises(ae.InputError, match="the draw of its queries from a log is not repeated"):
        ae.replicate(design, grades, [60], 5, scope="population")


def test_a_part_of_a_pool_has_its_part_of_the_draw():
    log = QueryLog(name="log", digest="", n_events=2.0, n_queries=2)
    draw = QueryDraw(inclusion_probs=[0.5, 1.0], strata=[0, 1], sizes=[1, 1], log=log)
    pool = ae.QueryPool(["a", "b"], [0, 1, 2], draw=draw)
    assert pool.subset([1])[0].draw.inclusion_probs.tolist() == [1.0]
    assert pool.replace(item_costs=[1.0, 2.0]).draw is draw
    with pytest.raises(ae.InputError, match="draw must have 1 queries, got 2"):
        ae.QueryPool(["a"], [0, 1], draw=draw)


def test_a_plan_expects_of_the_log_what_its_draw_leaves_open():
    p, means, variances = np.array([0.4, 0.3, 0.2, 0.1]), np.array([0.9, 0.5, 0.2, 0.6]), np.array([0.1, 0.2, 0.3, 0.4])
    pi, log = np.array([1.0, 0.5, 0.25, 0.25]), QueryLog(name="log", digest="", n_events=9.0, n_queries=9)
    strata = np.array([0, 0, 1, 1])
    for sizes in ([2, 2], [2, 3]):  # of the second stratum the pool may lack a query
        draw = QueryDraw(inclusion_probs=pi, strata=strata, sizes=sizes, log=log)
        values = Values(query_probs=p, means=means, variances=variances, draw=draw)
        first, all_of_it = (0.4 * 0.9 + 0.3 * 0.5) / 0.7, float(p @ means)
        second = (0.2 * 0.2 + 0.1 * 0.6) / 0.3 if sizes == [2, 2] else all_of_it
        expected = 0.5 * 0.3**2 * (0.2 + (0.5 - first) ** 2)
        expected += 0.75 * (0.2**2 * (0.3 + (0.2 - second) ** 2) + 0.1**2 * (0.4 + (0.6 - second) ** 2))
        assert values.of_population == pytest.approx(expected)
