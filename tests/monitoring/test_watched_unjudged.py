"""Unjudged documents of a watch's last night: which grades count, and down to which rank."""

import pytest
from watch_cases import DATES, GRADES, NAME, TOP, Watch, run_of, write_qrels

from activeeval.core.judgments.policies import CANNOT
from activeeval.core.measures import parse_measure
from activeeval.monitoring import unjudged
from activeeval.monitoring.unjudged import unjudged_of_last_night
from activeeval.scoring.run_scores import read_tables
from activeeval.scoring.unjudged import unjudged_bounds


def bounds_by_score(pairs, run, text):
    """Return the bounds of a run, the grades of some items being known."""
    qrels = {}
    for query, doc in pairs:
        qrels.setdefault(query, {})[doc] = GRADES[query, doc]
    measure = parse_measure(text)
    tables = read_tables(qrels, [run], [measure])
    return unjudged_bounds(tables, 0, run, DATES[0], [measure], max_grade=TOP)


def numbers(bounds):
    return [(each.n_queries, each.n_unjudged, each.n_counted, each.irrelevant, each.at_best) for each in bounds]


def test_grades_from_elsewhere_count_and_those_of_other_queries_do_not(tmp_path):
    known = [(f"q{k}", f"q{k}-d{j}") for k in range(8) for j in range(4)]
    write_qrels(tmp_path / "known.qrels", known)
    with (tmp_path / "known.qrels").open("a") as out:
        out.write("another 0 d1 2\n")
    watch, run = Watch(measures=("nDCG@5",)), run_of(1)
    watch.draw(1, run, judged=(str(tmp_path / "known.qrels"),))
    asked = watch.asked(1)
    watch.judge(1)
    said = unjudged_of_last_night(watch.store, NAME)
    assert numbers(said.bounds) == [
        pytest.approx(row) for row in numbers(bounds_by_score({*known, *asked}, run, "nDCG@5"))
    ]
    assert said.n_unjudged == 20 - len({query for query, _ in {*known, *asked}})


def test_what_nobody_could_judge_is_a_hole(monkeypatch):
    watch, run = Watch(), run_of(1)
    watch.night(1, run)
    pair, *others = sorted(watch.asked(1))
    labels = {each: GRADES[each] for each in others} | {pair: CANNOT}
    monkeypatch.setattr(unjudged, "labels_so_far", lambda *_: labels)
    assert numbers(unjudged_of_last_night(watch.store, NAME).bounds) == [
        pytest.approx(row) for row in numbers(bounds_by_score(others, run, "DCG@5"))
    ]


def test_lists_end_where_those_of_the_watch_end():
    watch, run = Watch(measures=("DCG",), pool_depth=3), run_of(1)
    watch.night(1, run)
    (bounds,) = unjudged_of_last_night(watch.store, NAME).bounds
    assert bounds.n_counted == 3 * bounds.n_queries


def test_before_anybody_has_judged_there_is_nothing():
    watch = Watch()
    watch.draw(1)
    assert unjudged_of_last_night(watch.store, NAME).bounds == ()
