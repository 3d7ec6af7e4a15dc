"""Numbers and counts as text: one plural, and no sign of what rounds to 0, whatever the value."""

import re

import pytest
from hypothesis import given, settings, strategies as st

from activeeval.core.answers import Answer
from activeeval.core.results import Note
from activeeval.report.answer_sentences import figures, sentence, table_of
from activeeval.report.message_lookup import text_of
from activeeval.report.numbers import agreeing, counted, number, places_of
from activeeval.report.rendering import format_cell, render

SIGNED_ZERO = re.compile(r"[-−+]0(?:\.0+)?(?![\d.e])")
VALUES = st.floats(-2000, 2000) | st.floats(-1e-3, 1e-3) | st.sampled_from([0.0, -0.0, -1e-300, -0.004999, -0.0005])
PLACES = st.integers(0, 6)


@given(VALUES, PLACES, st.booleans())
def test_a_number_that_rounds_to_0_has_no_sign(value, places, signed):
    text = number(value, places, signed=signed)
    assert not SIGNED_ZERO.search(text)
    assert float(text.replace("−", "-").replace(",", "")) == round(value, places)
    assert text.startswith("−") == (value < 0 and float(text.replace("−", "-").replace(",", "")) != 0)


@given(VALUES, PLACES)
def test_no_table_has_the_sign_of_a_0(value, places):
    assert not SIGNED_ZERO.search(format_cell(value, places))
    for form in ("text", "tsv", "md", "latex"):
        assert not SIGNED_ZERO.search(render([{"value": value, "low": -abs(value)}], form))


@settings(max_examples=200)
@given(VALUES, st.floats(0, 50), st.floats(0, 50), st.sampled_from(["", "old"]), st.sampled_from([0.0, 0.01, 2.0]))
def test_no_sentence_has_the_sign_of_a_0(value, below, above, versus, margin):
    numbers = {"value": value, "low": value - below, "high": value + above, "n_queries": 9, "n_items": 9}
    finding = Answer(system="new", versus=versus, measure="P@1", **numbers, margin=margin, p_value=0.5)
    for text in (sentence(finding), figures(finding), *map(str, table_of([finding])[0].values())):
        assert not SIGNED_ZERO.search(text)


@given(VALUES)
def test_no_note_has_the_sign_of_a_0(value):
    note = Note("grader drift", {"kind": "model", "most": "a", "least": "b", "high": abs(value), "low": value})
    assert not SIGNED_ZERO.search(text_of(note))


@given(st.floats(1e-4, 0.9999), st.floats(1e-4, 1000))
def test_a_value_inside_0_and_1_is_shown_as_neither(value, half_width):
    text = number(value, places_of(value, half_width))
    assert float(text) < 1
    assert float(text) > 0 or value < half_width / 100


PLURALS = {"item": "items", "judged query": "judged queries", "day": "days", "batch": "batches", "box": "boxes"}


@pytest.mark.parametrize(("noun", "plural"), [*PLURALS.items(), ("more judgment", "more judgments")])
def test_a_noun_has_the_plural_of_its_count(noun, plural):
    assert [counted(n, noun) for n in (0, 1, 2, 1040)] == [f"0 {plural}", f"1 {noun}", f"2 {plural}", f"1,040 {plural}"]
    assert counted(1.5, noun) == f"1.5 {plural}"
    assert [agreeing(n, "is", "are") for n in (0, 1, 2)] == ["are", "is", "are"]
