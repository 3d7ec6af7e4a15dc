"""What was found, in words: a sentence for each verdict, digits that the interval is worth, a table of few columns."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from each_once import each_once

from activeeval.core.answers import Answer, MoreNeeded, about
from activeeval.report import answer_sentences
from activeeval.report.answer_sentences import WIDTH, figures, fitting, headline, sentence, short_name, table_of
from activeeval.report.rendering import render

PAIR = Answer(
    system="new.run", versus="old.run", measure="DCG@10", value=0.14, low=0.05, high=0.23, n_queries=25, n_items=200
)
LONG = ("bm25-k1=0.9-b=0.4-rm3-fb=10-docs-stemmed-v7.run", "splade-cocondenser-ensembledistil-max-length-256.run")


SENTENCES = [json.loads(line) for line in Path(__file__).with_name("sentences.jsonl").read_text("utf-8").splitlines()]


def between(low, high, **more):
    return replace(PAIR, low=low, high=high, value=(low + high) / 2, **more)


@pytest.mark.parametrize("row", SENTENCES, ids=lambda row: row["text"])
def test_a_sentence_says_the_verdict_of_what_how_sure_and_what_next(row):
    needed = {"needed": MoreNeeded(**row["answer"]["needed"])} if "needed" in row["answer"] else {}
    assert sentence(Answer(**row["answer"] | needed)) == row["text"]


@pytest.mark.parametrize(
    ("half", "shown"),
    [
        (0.00123, "7.3527 (7.3515 to 7.3539)"),
        (0.0299, "7.353 (7.323 to 7.383)"),
        (0.031, "7.353 (7.322 to 7.384)"),
        (0.14, "7.35 (7.21 to 7.49)"),
        (0.5, "7.35 (6.85 to 7.85)"),
        (1.2545, "7.4 (6.1 to 8.6)"),
        (4, "7.4 (3.4 to 11.4)"),
        (40, "7.4 (−32.6 to 47.4)"),
    ],
)
def test_as_many_digits_as_the_interval_is_worth(half, shown):
    value = 7.3527
    finding = replace(PAIR, versus="", value=value, low=value - half, high=value + half)
    assert figures(finding) == shown


def test_places_that_are_asked_for_are_shown():
    assert figures(PAIR, 4) == "+0.1400 (0.0500 to 0.2300)"
    assert figures(replace(PAIR, value=-1e-9, low=-0.5, high=0.5)) == "0.00 (−0.50 to 0.50)"


@pytest.mark.parametrize("finding", [between(0.3, 0.3), replace(PAIR, versus="", value=2.75, low=2.75, high=2.75)])
def test_what_is_exactly_known_has_no_interval(finding):
    assert figures(finding).endswith("(exactly known)")
    assert table_of([finding])[0]["interval"] == "exactly known"


def test_values_that_are_all_the_same_are_not_called_known():
    alike = replace(PAIR, value=1.0, low=1.0, high=1.0, versus="", p_value=None, is_constant=True)
    assert figures(alike) == "1.000 (the same in all 25 queries)"
    assert table_of([alike])[0]["interval"] == "the same in all 25 queries"


def test_one_query_is_not_counted_as_all():
    alone = replace(PAIR, value=0.0, low=0.0, high=0.0, n_queries=1)
    alike = "new.run and old.run have the same lists in the one query: DCG@10."
    assert sentence(replace(alone, same_lists=True)) == alike
    assert figures(replace(alone, versus="", is_constant=True)) == "0.00 (the same in the one query)"


def test_p_values_are_shown_even_where_they_are_alike():
    rows = table_of([replace(PAIR, p_value=0.04), replace(PAIR, measure="P@5", p_value=0.04)])
    assert [row["p"] for row in rows] == [".040", ".040"]


def test_a_column_that_says_the_same_of_all_is_left_out():
    other = replace(PAIR, measure="P@5", n_items=180, p_value=0.04)
    assert list(table_of([PAIR])[0]) == ["measure", "of", "value", "interval", "queries", "judgments"]
    assert list(table_of([PAIR, other])[0]) == ["measure", "of", "value", "interval", "p", "judgments"]
    assert list(table_of([PAIR, replace(PAIR, measure="P@5")])[0]) == ["measure", "of", "value", "interval"]
    assert table_of([replace(other, half_width_at_end=0.0512)])[0]["at the end"] == "± 0.051"


def test_long_names_lose_their_middle():
    for longest in (28, 21, 15, 11, 8):
        start, end = short_name(LONG[0], longest).split("…")
        assert len(start) + 1 + len(end) == longest
        assert (LONG[0].startswith(start), LONG[0].endswith(end)) == (True, True)
    assert short_name("a.run") == "a.run"
    assert (
        answer_sentences.some_names(LONG * 2)
        == f"{short_name(LONG[0])}, {short_name(LONG[1])}, {short_name(LONG[0])} and 1 more"
    )


@each_once(
    (("width", "at_the_end"), [(WIDTH, 0.0512), (88, None)]),
    ("segment", [None, "queries of more than six words, in English"]),
    ("measure", ["nDCG@10", "DCG(gains={0:0,1:1,2:3,3:7,4:15})@100"]),
    ("n_rows", [1, 3]),
)
def test_a_table_of_the_longest_names_stays_within_a_hundred_columns(segment, measure, n_rows, width, at_the_end):
    finding = replace(PAIR, system=LONG[0], versus=LONG[1], measure=measure, half_width_at_end=at_the_end)
    numbers = [{"n_queries": 1500 + k, "n_items": 12000 + k, "p_value": k / 10} for k in range(n_rows)]
    rows = [replace(finding, segment=segment and f"{segment} {k}", **more) for k, more in enumerate(numbers)]
    text = render(table_of(rows, width=width), "text")
    assert max(map(len, text.splitlines())) <= width, text


def test_names_are_cut_no_more_than_it_takes():
    asked = []

    def rows_of(longest):
        asked.append(longest)
        return [{"name": "x" * longest, "n": "7"}]

    assert len(fitting(rows_of, 25)[0]["name"]) == 21
    assert asked == [28, 21]
    assert len(fitting(rows_of, 3)[0]["name"]) == 8  # and no further


def test_three_sentences_at_most_begin_an_output():
    of_system = replace(PAIR, versus="")
    assert headline([of_system, PAIR]) == [sentence(PAIR)]
    assert headline([of_system]) == [sentence(of_system)]
    assert len(headline([replace(PAIR, measure=f"P@{k}") for k in range(1, 6)])) == 3


def test_segments_are_counted():
    parts = [replace(PAIR, segment="a"), between(-0.1, 0.3, segment="b"), between(-0.3, 0.1, segment="c")]
    assert headline(parts) == [
        "new.run and old.run by DCG@10, 3 segments: 1 better, 2 undecided; all intervals hold at once."
    ]
    alone = [replace(part, versus="") for part in parts]
    assert headline(alone) == [
        "new.run, 3 segments: DCG@10 lies between −0.10 (−0.30 to 0.10) for c and 0.140 (0.050 to 0.230) for a."
    ]


def test_of_several_systems_the_best_is_named():
    assert answer_sentences.contest_sentence("P@5", ["a", "b"], 3, 1, 3) == (
        "Which of 3 is the best by P@5 is open between a, b; 1 of 3 pairs is decided, with simultaneous intervals."
    )


def test_about_is_never_less():
    for amount in (0.1, 1, 9.5, 10, 99, 100.5, 1042, 123456):
        assert amount <= about(amount) <= max(1.1 * amount + 1, 2)


def test_counts_leave_the_table_before_names_become_unreadable():
    beside = replace(PAIR, low=0.01, high=0.29, scope="population")
    finding = replace(PAIR, p_value=0.91, half_width_at_end=1.3, other=beside)
    (row,) = table_of([finding], width=90)
    assert row["of"] == "new.run − old.run"
    assert "judgments" not in row
    assert row["queries like these"] == "0.01 to 0.29"
