"""Nights in words: what is said of an alarm, tables without columns that nobody needs, a page and its picture."""

import math
import re
from dataclasses import replace

import pytest

from activeeval.core.answers import Answer
from activeeval.monitoring.night_pages import (
    alarm_title,
    meaning,
    night_sentences,
    night_table,
    page_of,
    picture_of,
    series_table,
    span_sentences,
)
from activeeval.monitoring.series import NightContent, NightValue
from activeeval.monitoring.settings import Settings
from activeeval.report.answer_sentences import sentence

FIRST, SECOND = "2026-11-02", "2026-11-03"
CHANGE = Answer(system=SECOND, versus=FIRST, measure="P@5", value=-0.14, low=-0.25, high=-0.03, n_queries=20,
                n_items=90, margin=0.2)  # fmt: skip
ALARM = replace(CHANGE, margin=0.1)
SETTINGS = Settings(measures=("P@5",), budget=7.0, max_grade=1, seed=1, margin=0.1)


def night(date, *changes, value=0.5, waiting=0, n_missing=0):
    read = None if value is None else replace(CHANGE, value=value, low=value - 0.1, high=value + 0.1)
    values = [NightValue(date=date, measure="P@5", answer=read, judged=7, waiting=waiting, known=3)]
    before = FIRST if date > FIRST else ""
    shared = {"date": date, "before": before, "campaign": f"w.{date}", "waiting": waiting, "settings": SETTINGS}
    return NightContent(values=values, changes=changes, n_missing=n_missing, n_queries=20, run="half.run", **shared)


def test_alarms_come_first_and_missing_lists_before_them():
    lines = night_sentences(night(SECOND, CHANGE, ALARM, n_missing=5))
    assert lines[0] == "5 of 20 queries have no list in half.run: they count as 0."
    assert lines[1] == f"ALARM: {sentence(ALARM)}"
    assert lines[2] == sentence(CHANGE)
    assert alarm_title(night(SECOND, ALARM, n_missing=5)) == f"ALARM: {lines[0]}"
    titles = [alarm_title(night(SECOND, change)) for change in (ALARM, CHANGE, replace(CHANGE, low=0.0, high=0.0))]
    assert titles == ["ALARM", "undecided", "fine"]


def test_the_interval_that_decides_is_the_one_of_sentence_and_table():
    says = night(SECOND, ALARM)
    (row,) = night_table(says)
    assert row["interval"] == "−0.25 to −0.03"
    assert "worse than 2026-11-02 by 0.14 (0.03 to 0.25)" in night_sentences(says)[0]
    assert series_table([night(FIRST), says])[1]["since the night before"] == "−0.14 (−0.25 to −0.03)"
    assert series_table([says])[0]["since the night before"] == "−0.14 (−0.25 to −0.03)"  # the nights that are shown
    assert "1 false alarm in 100 nights" in meaning(says)


def test_the_other_scope_stands_beside():
    other = replace(ALARM, low=-0.3, high=0.02, scope="population")
    (row,) = night_table(night(SECOND, ALARM.with_other(other)))
    assert row["queries like these"] == "−0.30 to 0.02"


def test_a_table_shows_what_intervals_are_worth_and_no_column_that_is_empty():
    first, second = series_table([night(FIRST), night(SECOND, CHANGE)])
    assert first == {"night": FIRST, "measure": "P@5", "value": "0.50", "interval": "0.40 to 0.60",
                     "since the night before": "", "labels": 7, "in hand": 3}  # fmt: skip
    assert second["since the night before"] == "−0.14 (−0.25 to −0.03)"
    waits = series_table([night(FIRST), night(SECOND, value=None, waiting=4)])[1]
    assert (waits["value"], waits["interval"], waits["waiting"]) == ("", "", 4)
    assert series_table([night(FIRST), night(SECOND, ALARM)])[1]["alarm"] == "ALARM"
    since = replace(CHANGE, versus="reference")
    assert series_table([night(FIRST), night(SECOND, since)])[1]["since the reference"] == "−0.14 (−0.25 to −0.03)"


@pytest.mark.parametrize("width", [100, 70, 1])
def test_dates_are_never_cut(width):
    """They were `202…1-02` where intervals are wide; names that are long give way, and counts that sentences have."""
    full = replace(CHANGE, measure="DCG(gains={0:0,1:1,2:3,3:7,4:15})@100", low=-0.12345, p_value=0.001,
                   half_width_at_end=0.012345)  # fmt: skip
    other = replace(full, low=-0.2345, scope="population")
    rows = night_table(night(SECOND, full.with_other(other), replace(full, versus="reference")), width)
    assert [row["of"] for row in rows] == [f"{SECOND} − {FIRST}", f"{SECOND} − reference"]
    assert [len(row["measure"]) for row in rows] == [{100: 21}.get(width, 8)] * 2


@pytest.mark.parametrize("high", [-0.00001, -0.004])
def test_nothing_is_minus_zero(high):
    change = replace(CHANGE, value=(high - 2.0) / 2, low=-2.0, high=high)
    cell = series_table([night(FIRST), night(SECOND, change)])[1]["since the night before"]
    assert re.search(r" to 0\.0+\)$", cell)


def test_a_span_is_a_sentence_also_where_nothing_is_known():
    assert span_sentences([CHANGE]) == ["P@5 from 2026-11-02 to 2026-11-03: −0.14 (−0.25 to −0.03)."]
    unknown = replace(CHANGE, low=-math.inf, high=math.inf)
    assert "not bounded" in span_sentences([unknown])[0]


def test_a_page_has_the_last_night_the_alarms_and_a_picture(tmp_path):
    nights = [night(FIRST), night(SECOND, ALARM), night("2026-11-04", value=None, waiting=2)]
    page, picture = tmp_path / "w.md", tmp_path / "w.png"
    picture_of(nights, str(picture))
    page_of("w", nights, str(picture), str(page))
    text = page.read_text()
    assert picture.stat().st_size > 10_000
    assert text.startswith("# w\n\nNights from 2026-11-02 to 2026-11-04.\n\n- P@5: nothing can be said yet\n")
    assert f"- 2026-11-03: {sentence(ALARM)}\n" in text
    assert "![the series](w.png)" in text
    assert text.count("\n| 2026-") == len(nights)


def test_a_picture_of_no_night_that_can_be_read_is_drawn(tmp_path):
    picture_of([night(FIRST, value=None, waiting=1)], str(tmp_path / "waits.png"))
    assert (tmp_path / "waits.png").stat().st_size > 0
