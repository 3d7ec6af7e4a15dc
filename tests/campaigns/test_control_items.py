"""Answers to items that check a judge look to the judge like answers to ordinary items."""

import itertools

import pytest

from activeeval.campaigns.control_items import Controls, as_seen
from activeeval.campaigns.store.rows import Acknowledged
from activeeval.core.judgments.log import Event


@pytest.mark.parametrize(
    ("kind", "grade", "body", "seen"),
    [
        ("checked", 2, {"what": "again"}, "judged"),
        ("checked", None, {"what": "again"}, "cannot"),
        ("checked", None, {"what": "swapped", "preferred": "a"}, "preferred"),
        ("checked", None, {"what": "swapped"}, "cannot"),
        ("passed", None, {}, "deferred"),
        ("judged", 1, {}, "judged"),
    ],
)
def test_an_answer_to_a_control_looks_like_any_other(kind, grade, body, seen):
    done = as_seen(Acknowledged(event=Event(seq=3, kind=kind, at=1, grade=grade, body=body)))
    assert (done.event.kind, done.event.grade, done.event.seq) == (seen, grade, 3)


@pytest.mark.parametrize(("rate", "span"), [(0.1, 10), (0.3, 3), (0.5, 2)])
def test_answers_are_counted_to_the_last_item_as_one_by_one(rate, span):
    """A due control is shown if there is one; an ordinary item that was judged may be repeated later."""
    controls = Controls(rate=rate, secret="s")
    assert [controls.n_until("ann", k * span) for k in range(9)] == list(range(9))
    for n_said, n, n_known, n_spare in itertools.product((0, 1, 7), (0, 1, 5, 23), (0, 1, 4), (-3, 0, 1, 2, 5)):
        n_all, left, known, spare = 0, n, n_known, n_spare
        while left:
            if controls.is_due("ann", n_said + n_all) and (known or spare > 0):
                known, spare = (known - 1, spare) if known else (0, spare - 1)
            else:
                left, spare = left - 1, spare + 1
            n_all += 1
        assert controls.seen("ann", n_said, n, n_known, n_spare) == n_all, (n_said, n, n_known, n_spare)
