"""The witness names what differs between two checkouts, field by field, and leaves out what is meant."""

from __future__ import annotations

from benchmarks import unchanged

BEFORE = {
    "score a": {"code": 0, "rows": [{"value": 1.0, "n": 3}]},
    "sample x": "abc",
    "verify": {"code": 0, "text": []},
}


def test_what_differs_is_named_by_field():
    now = {
        "score a": {"code": 10, "rows": [{"value": 1.5, "n": 3}, {"value": 2.0}]},
        "sample x": "abd",
        "verify": {"code": 0, "text": []},
    }
    assert unchanged.differences(BEFORE, now) == [
        "score a: code 0 → 10",
        "score a: 1 → 2 rows",
        "score a: row 0, value: 1.0 → 1.5",
        "sample x",
    ]
    assert unchanged.differences(BEFORE, BEFORE) == []


def test_what_is_meant_is_left_out(tmp_path, monkeypatch):
    listed = tmp_path / "intended.md"
    listed.write_text("| pattern | why |\n|---|---|\n| `score a: row *, value*` | the value is another |\n")
    monkeypatch.setattr(unchanged, "INTENDED", listed)
    now = {**BEFORE, "score a": {"code": 0, "rows": [{"value": 1.5, "n": 4}]}}
    assert unchanged.differences(BEFORE, now) == ["score a: row 0, n: 3 → 4"]


def test_numbers_keep_thirteen_digits_and_clocks_are_left_out():
    row = {"value": 0.1 + 0.2, "body": {"until": 5, "grade": 2}, "ends": [1 / 3]}
    assert unchanged.number(row) == {"value": 0.3, "body": {"grade": 2}, "ends": [0.3333333333333]}
