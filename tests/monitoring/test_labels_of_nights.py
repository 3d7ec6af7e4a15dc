"""Histories of items and labels over nights, by hand: what stays when a night is drawn again or a text changes."""

from types import SimpleNamespace

import pytest

from activeeval.campaigns.store import NightRow
from activeeval.monitoring import judged_labels
from activeeval.monitoring.judged_labels import Label, labels_so_far
from activeeval.monitoring.night_outputs import ItemHistory, is_same_text, merge_histories

OLD = ItemHistory(prob=0.25, text=4, version=0, since=1)
NEW = ItemHistory(prob=0.5, text=4, version=0, since=2)
PAIR = ("q", "d")


@pytest.mark.parametrize(
    ("before", "drawn", "tonight", "after"),
    [
        (OLD, None, 4, OLD),
        (None, NEW, None, NEW),
        (None, NEW, 4, NEW),
        (None, NEW, 5, None),
        (None, NEW._replace(text=0), 5, NEW._replace(text=5)),  # its text was unknown
        (OLD, NEW, 4, NEW),
        (OLD, NEW._replace(text=0), 4, NEW),
        (OLD._replace(text=0), NEW, 4, NEW._replace(text=0)),
        (OLD, NEW._replace(text=5), 4, OLD),
        (OLD, NEW._replace(version=7), 4, OLD),
    ],
)
def test_a_night_drawn_again_keeps_the_chances_of_the_same_texts(before, drawn, tonight, after):
    one = [{} if value is None else {PAIR: value} for value in (before, drawn, tonight, after)]
    assert merge_histories(*one[:3]) == one[3]
    is_same = before is not None and drawn is not None and after != before
    assert is_same_text(before, drawn) == is_same_text(drawn, before) == is_same


STEPS = ("2026-11-01", "2026-11-02", "2026-11-02.redrawn-01", "2026-11-02.redrawn-01.more", "2026-11-03")
LABELS = {
    STEPS[0]: {"later": Label(1, False, 10), "decided": Label(0, True, 10), "new text": Label(1, False, 10)},
    STEPS[1]: {"same": Label(1, False, 20), "other": Label(1, False, 20), "not drawn": Label(1, False, 20)},
    STEPS[2]: {"later": Label(2, False, 30), "decided": Label(2, False, 30), "gone": Label(1, False, 30)},
    STEPS[3]: {"later": Label(0, False, 25), "new text": Label(-1, False, 40)},
    STEPS[4]: {"last": Label(2, False, 50), "last other": Label(2, False, 50)},
}


@pytest.mark.parametrize("replaces", [False, True])
def test_labels_count_for_the_text_that_they_were_made_for(monkeypatch, replaces):
    """Only drawings that were replaced, or are now, may have had other texts: the records of others are not read."""
    records = {STEPS[1]: {"same": OLD, "other": OLD._replace(text=5)}}
    if replaces:
        records[STEPS[4]] = {"last": OLD, "last other": OLD._replace(text=5)}
    night = dict.fromkeys(("later", "decided", "same", "other", "not drawn", "last", "last other"), OLD)
    night["new text"] = OLD._replace(since=4)
    monkeypatch.setattr(judged_labels, "labels_of_step", lambda _, row, __: LABELS[row.date])

    def record_of(store, name, row):
        return SimpleNamespace(histories=records[row.date])

    monkeypatch.setattr(judged_labels, "record_of_step", record_of)
    rows = [NightRow(date=date, campaign="", payload=b"") for date in STEPS]
    found = labels_so_far(None, "w", rows, night, None, replaces=replaces)
    expected = {"later": 2, "decided": 0, "same": 1, "new text": -1, "last": 2}
    assert found == expected | ({} if replaces else {"last other": 2})
