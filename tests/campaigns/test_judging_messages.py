"""Words beside an item: what is left, how fast, how precise."""

import pytest

from activeeval.campaigns.judging_messages import (
    controls_sentence,
    lasting,
    left_sentence,
    named_grade,
    pace_sentence,
    pairs_sentence,
    precision_sentence,
)


@pytest.mark.parametrize(
    ("sentence", "arguments", "text"),
    [
        (precision_sentence, (None, 0.2, 40), ""),
        (precision_sentence, (0.342, 0.261, 1234), "± 0.34, about ± 0.26 after 1,234 more"),
        (precision_sentence, (0.0342, None, 40), "± 0.034"),
        (precision_sentence, (0.342, 0.261, 0), "± 0.34"),
        (pace_sentence, (None, 200), ""),
        (pace_sentence, (0.9, 200), "you take less than a second an item"),
        (pace_sentence, (1.0, 0), "you take about 1 s an item"),
        (pace_sentence, (1.0, 60), "you take about 1 s an item; alone, all of it would take you about 1 minute"),
        (lasting, (59.9,), "less than a minute"),
        (lasting, (5399.0,), "about 90 minutes"),
        (lasting, (5400.0,), "about 1.5 hours"),
        (left_sentence, (0, 0), "nothing is left"),
        (left_sentence, (1, 1, "query"), "1 query left"),
        (left_sentence, (0, 2), "0 items left in this block, 2 in all"),
        (pairs_sentence, (1, 2, 3), "1 comparison of this query done, 2 to 3 to go"),
        (pairs_sentence, (0, 3, 3), "0 comparisons of this query done, 3 to go"),
        (controls_sentence, ("ann", "swapped", "4 of 4", 0), "ann: 4 of 4 as before, with sides swapped"),
        (controls_sentence, ("ann", "known", "4 of 4", 1234), "ann: 4 of 4 as known, 1,234 not graded"),
        (named_grade, (["no", "yes"], None), "Can’t judge"),
        (named_grade, (["no", "yes"], 1), "yes"),
        (named_grade, (["no", "yes"], 2), "2"),
    ],
)
def test_words_beside_an_item(sentence, arguments, text):
    assert sentence(*arguments) == text
