"""How precise an estimate is, in words beside an item."""

import pytest

from activeeval.campaigns.judging_messages import precision_sentence


@pytest.mark.parametrize(
    ("half_width", "at_end", "in_all", "text"),
    [
        (None, 0.2, 40, ""),
        (0.342, 0.261, 1234, "± 0.34, about ± 0.26 after 1,234 more"),
        (0.0342, None, 40, "± 0.034"),
        (0.342, 0.261, 0, "± 0.34"),
    ],
)
def test_a_half_width_is_named_now_and_at_the_end(half_width, at_end, in_all, text):
    assert precision_sentence(half_width, at_end, in_all) == text
