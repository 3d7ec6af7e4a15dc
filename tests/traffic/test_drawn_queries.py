"""Queries drawn from a log: strata, what each gets, ids and numbers that stay, words."""

import numpy as np
import polars as pl
import pytest

from activeeval.core.errors import ActiveEvalError
from activeeval.report.message_lookup import text_of
from activeeval.traffic.query_draws import draw_queries

LOG = {f"query {k}": float(c) for k, c in enumerate(np.ceil(3000 / np.arange(1, 1501)))}


def said(made):
    return [text_of(note) for note in made.notes]


def ids(made):
    return set(made.drawn.query_ids)


def test_head_torso_and_tail_have_a_third_of_the_traffic_each():
    made = draw_queries(LOG, 90)
    assert [stratum.name for stratum in made.strata] == ["head", "torso", "tail"]
    # the head is taken whole, the others share what it leaves
    assert [(stratum.n_queries, stratum.n_certain) for stratum in made.strata[:1]] == [(made.strata[0].n_drawn,) * 2]
    assert [stratum.n_drawn for stratum in made.strata[1:]] == pytest.approx([40, 40], abs=4)
    assert sum(stratum.n_drawn for stratum in made.strata) == len(ids(made)) == 90
    assert [stratum.traffic for stratum in made.strata] == pytest.approx([1 / 3] * 3, abs=0.04)
    # what is asked as often is in one stratum, the more frequent in the one above
    head, torso, tail = (
        [count for count, stratum in zip(made.drawn.counts, made.drawn.strata, strict=True) if stratum == name]
        for name in ("head", "torso", "tail")
    )
    assert min(head) > max(torso) >= min(torso) > max(tail)


def test_strata_that_hold_nothing_are_left_out():
    made = draw_queries(dict.fromkeys("abcdef", 1), 3)
    assert [stratum.name for stratum in made.strata] == ["head"]
    assert said(made)[0].startswith("3 queries drawn from the log (sha256 ")
    assert not any(": 100.0%" in text for text in said(made))
    one = draw_queries({"only": 1_000_000, "Only ": 5}, 2)
    assert one.drawn.texts == ["only"]
    assert one.drawn.counts.tolist() == one.drawn.weights.tolist() == [1_000_005.0]


def test_numbers_belong_to_seed_and_normal_form_alone():
    shuffled = {key.upper(): LOG[key] for key in reversed(LOG)}
    assert draw_queries(shuffled, 90).drawn.query_ids == draw_queries(LOG, 90).drawn.query_ids
    assert draw_queries(shuffled, 90).drawn.probs.tolist() == draw_queries(LOG, 90).drawn.probs.tolist()
    other = ids(draw_queries(LOG, 90, seed=1))
    assert len(other & ids(draw_queries(LOG, 90))) < 60


def test_a_log_that_shares_most_of_its_traffic_keeps_most_queries(tmp_path):
    """90 % of the traffic stays, a tenth comes from queries that are new."""
    random = np.random.default_rng(3)
    names = list(LOG)
    leaves = set(random.choice(names, 150, replace=False).tolist())
    june = {f"new {key}" if key in leaves else key: count for key, count in LOG.items()}
    before = draw_queries(LOG, 200)
    before.drawn.write(tmp_path / "may.csv")
    after = draw_queries(june, 200, last=tmp_path / "may.csv")
    assert after.n_kept == len(ids(after) & ids(before)) >= 0.85 * 200
    assert f"{after.n_kept} of the 200 queries of {tmp_path / 'may.csv'} are kept" in said(after)


def test_segments_are_strata_and_a_query_of_two_is_two():
    rows = [("web", "news", 50), ("app", "news", 20), ("web", "shoes", 9), ("app", "shoes", 1), ("app", "mail", 20)]
    frame = pl.DataFrame(rows, schema=["segment", "query", "count"], orient="row")
    made = draw_queries(frame, 5)
    strata = [(stratum.name, stratum.n_queries, stratum.traffic) for stratum in made.strata]
    assert strata == [("app", 3, 0.41), ("web", 2, 0.59)]
    assert len(ids(made)) == 5
    assert made.drawn.n_certain == 5
    whole = draw_queries(frame, 3, strata="none")
    assert [stratum.name for stratum in whole.strata] == ["all"]


def test_neyman_gives_more_to_strata_that_differ_more(tmp_path):
    deviations = [0.05 if k < 12 else 0.1 if k < 150 else 0.4 for k in range(1500)]
    pl.DataFrame({"query": list(LOG), "deviation": deviations}).sample(fraction=0.5, seed=1).write_csv(
        tmp_path / "p.csv"
    )
    plain, made = draw_queries(LOG, 90), draw_queries(LOG, 90, pilot=tmp_path / "p.csv")
    assert made.strata[2].n_drawn > plain.strata[2].n_drawn + 15
    traffic = np.array([stratum.traffic for stratum in made.strata])
    wanted = traffic * np.array([0.05, 0.1, 0.4])
    open_ones = (90 - made.strata[0].n_drawn) * wanted[1:] / wanted[1:].sum()
    assert [stratum.n_drawn for stratum in made.strata[1:]] == pytest.approx(open_ones, abs=9)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("query,deviation\nquery 0,0.1\n", "it holds no query of stratum torso, expected some of each"),
        ("query,deviation\nquery 0,-0.1\n", "column deviation: holds -0.1, expected a standard deviation"),
        ("query,deviation\nquery 0,1\nQuery  0,2\n", "is there twice, expected it once"),
        ("query,spread\nquery 0,1\n", "no deviation column in: query, spread"),
        ("query,deviation\nquery 0,0\nquery 90,0\nquery 900,0\n", "every deviation is 0"),
    ],
)
def test_pilots_that_do_not_tell_are_refused(tmp_path, rows, expected):
    (tmp_path / "p.csv").write_text(rows)
    with pytest.raises(ActiveEvalError, match=expected):
        draw_queries(LOG, 90, pilot=tmp_path / "p.csv")


def test_more_than_there_are_takes_all_and_says_so():
    made = draw_queries({"a": 3, "b": 2, "c": 2}, 9)
    assert made.drawn.weights.tolist() == [3.0, 2.0, 2.0]
    assert made.drawn.n_certain == 3
    assert "seed 0: all of them" in said(made)[0]
    assert "the log has 3 of the 9 queries to draw: all are taken" in said(made)


@pytest.mark.parametrize("n", [0, -1, 2.5])
def test_n_is_a_positive_whole_number(n):
    with pytest.raises(ActiveEvalError, match="n must be a positive whole number"):
        draw_queries(LOG, n)


def test_strata_are_of_one_kind():
    with pytest.raises(ActiveEvalError, match="the log has no column segment"):
        draw_queries(LOG, 9, strata="segments")
    with pytest.raises(ActiveEvalError, match="must be one of thirds, segments, none, got 'two'"):
        draw_queries(LOG, 9, strata="two")
