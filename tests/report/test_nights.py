"""Nights in words: what is said of an alarm, tables without columns that nobody needs, a page and its picture."""

from __future__ import annotations

from dataclasses import replace

import pytest

from activeeval.answers import Needed
from activeeval.report.nights import page_of, picture_of, series_table, span_sentences, verdict_sentences
from activeeval.tasks.watching.series import Change, NightSays, Value

FIRST, SECOND = "2026-11-02", "2026-11-03"
CHANGE = Change(earlier=FIRST, later=SECOND, measure="P@5", value=-0.14, low=-0.25, high=-0.03, margin=0.1)


def night(date, *changes, value=0.5, waiting=0):
    read = {} if value is None else {"value": value, "low": value - 0.1, "high": value + 0.1}
    values = [Value(date=date, measure="P@5", judged=7, waiting=waiting, known=3, **read)]
    return NightSays(date=date, campaign=f"w.{date}", values=values, changes=changes, waiting=waiting)


@pytest.mark.parametrize(
    ("change", "lines"),
    [
        (CHANGE, []),
        (replace(CHANGE, alarm=True), ["ALARM: P@5 on 2026-11-03: more than 0.1 is lost since 2026-11-02."]),
        (replace(CHANGE, alarm=True, margin=0), ["ALARM: P@5 on 2026-11-03: something is lost since 2026-11-02."]),
        (replace(CHANGE, verdict="fine"), ["Fine: P@5 on 2026-11-03 has lost no more than 0.1 since 2026-11-02."]),
        (replace(CHANGE, verdict="fine", margin=0), ["Fine: P@5 on 2026-11-03 has lost nothing since 2026-11-02."]),
        (
            replace(CHANGE, verdict="open", needed=Needed(budget=93)),
            [
                "Open: whether P@5 on 2026-11-03 has lost more than 0.1 since 2026-11-02; about 93 more labels should "
                "decide."
            ],
        ),
    ],
)
def test_a_verdict_is_a_sentence(change, lines):
    assert verdict_sentences([change]) == lines


def test_a_table_shows_what_intervals_are_worth_and_no_column_that_is_empty():
    first, second = series_table([night(FIRST), night(SECOND, CHANGE)])
    assert first == {"night": FIRST, "measure": "P@5", "value": "0.50", "interval": "0.40 to 0.60", "change": "",
                     "its interval": "", "labels": 7, "in hand": 3}  # fmt: skip
    assert (second["change"], second["its interval"]) == ("−0.14", "−0.25 to −0.03")
    waits = series_table([night(FIRST), night(SECOND, value=None, waiting=4)])[1]
    assert (waits["value"], waits["interval"], waits["waiting"]) == ("", "", 4)
    assert series_table([night(FIRST), night(SECOND, replace(CHANGE, alarm=True))])[1]["alarm"] == "ALARM"


@pytest.mark.parametrize(("high", "shown"), [(-0.00001, "0.0"), (0.00001, "0.0"), (0.4, "0.4"), (-0.4, "−0.4")])
def test_nothing_is_minus_zero(high, shown):
    change = replace(CHANGE, value=(high - 2.0) / 2, low=-2.0, high=high)
    assert series_table([night(FIRST), night(SECOND, change)])[1]["its interval"] == f"−2.0 to {shown}"


def test_a_span_is_a_sentence_also_where_nothing_is_known():
    assert span_sentences([CHANGE]) == ["P@5 from 2026-11-02 to 2026-11-03: −0.14 (−0.25 to −0.03)."]
    unknown = replace(CHANGE, value=None, low=None, high=None)
    assert span_sentences([unknown]) == ["P@5 from 2026-11-02 to 2026-11-03: nothing can be said yet."]
    same = replace(CHANGE, value=0.0, low=0.0, high=0.0)
    assert span_sentences([same]) == ["P@5 from 2026-11-02 to 2026-11-03: 0 (0 to 0)."]


def test_a_page_has_the_last_night_the_alarms_and_a_picture(tmp_path):
    nights = [night(FIRST), night(SECOND, replace(CHANGE, alarm=True)), night("2026-11-04", value=None, waiting=2)]
    page, picture = tmp_path / "w.md", tmp_path / "w.png"
    picture_of(nights, str(picture))
    page_of("w", nights, str(picture), str(page))
    text = page.read_text()
    assert picture.stat().st_size > 10_000
    assert text.startswith("# w\n\nNights from 2026-11-02 to 2026-11-04.\n\n- P@5: nothing can be said yet\n")
    assert "- ALARM: P@5 on 2026-11-03: more than 0.1 is lost since 2026-11-02.\n" in text
    assert "![the series](w.png)" in text
    assert text.count("\n| 2026-") == len(nights)


def test_a_picture_of_one_night_or_of_none_that_can_be_read_is_drawn(tmp_path):
    for name, nights in (("one.png", [night(FIRST)]), ("waits.png", [night(FIRST, value=None, waiting=1)])):
        picture_of(nights, str(tmp_path / name))
        assert (tmp_path / name).stat().st_size > 0
