"""How long judging takes: by grades and by comparisons, from the times of logs."""

from __future__ import annotations

import pytest

from activeeval.core.errors import InputError
from activeeval.core.judgments import Judge, Judgment, Judgments
from activeeval.scoring.judging_times import times


def judged(query, item, judge, seconds, kind="grade", other=""):
    return Judgment(query, item, Judge(judge), kind, value=1, other=other, seconds=seconds)


def test_times_are_those_of_table_1():
    """ann takes 10 + 20 s on q1 and 30 on q2, bob 60 on q1; of comparisons one has no time."""
    rows = [
        judged("q1", "a", "ann", 10.0),
        judged("q1", "b", "ann", 20.0),
        judged("q2", "a", "ann", 30.0),
        judged("q1", "a", "bob", 60.0),
        judged("q1", "a", "cat", 5.0, "preference", "b"),
        judged("q1", "b", "cat", 7.0, "preference", "c"),
        judged("q1", "a", "cat", None, "preference", "c"),
    ]
    grades, comparisons = times(Judgments.of(rows)).methods
    assert (grades.method, grades.judges, grades.queries, grades.judgments, grades.untimed) == ("grades", 2, 2, 4, 0)
    assert (grades.seconds, grades.median, grades.a_query) == (30.0, 25.0, pytest.approx(4 / 3))
    assert grades.minutes == pytest.approx((30 + 30 + 60) / 3 / 60)
    assert (comparisons.judgments, comparisons.untimed, comparisons.seconds, comparisons.a_query) == (2, 1, 6.0, 2.0)
    assert comparisons.minutes == pytest.approx(0.2)


def test_judgments_without_times_are_refused(tmp_path):
    path = tmp_path / "x.qrels"
    path.write_text("q1 0 a 1\n")
    with pytest.raises(InputError, match=r"no judgment has a time, expected the log of a campaign"):
        times(path)
