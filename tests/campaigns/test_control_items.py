"""Answers to items that check a judge look to the judge like answers to ordinary items."""

import pytest

from activeeval.campaigns.control_items import as_seen
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
