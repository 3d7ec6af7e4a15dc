"""Controls and texts in a store: an answer belongs to its own display, and pages follow one another."""

import pytest
from store_cases import complaint, grade

from activeeval.campaigns import lead_texts
from activeeval.campaigns.store import Control, ItemFilter, JudgeAnswer
from activeeval.core.errors import StateError

LATER = JudgeAnswer(kind="deferred")


def control(item="x"):
    return Control(judge="ann", item=item, what="known", expected=2, query_id="qx", doc_id=f"d{item}")


def test_each_display_of_a_control_has_its_own_answer(night):
    (first, shown), (second, _) = (night.pose("night", control(item)) for item in "xy")
    answers = [night.submit("night", token, grade(value)) for token, value in ((first, 1), (second, 3))]
    stored = [(done.event.kind, done.event.grade, done.event.doc_id) for done in answers]
    assert stored == [("checked", 1, "dx"), ("checked", 3, "dy")]
    assert shown.key.removeprefix("shown:") == answers[0].event.key.removeprefix("token:")
    assert [done.is_repeated for done in answers] == [False, False]
    again = night.submit("night", first, grade(1, active_ms=7))  # times make no other answer
    assert (again.is_repeated, again.event.seq) == (True, answers[0].event.seq)
    for other in (grade(2), LATER, JudgeAnswer(kind="cannot", reason="empty")):
        says = complaint(StateError, lambda other=other: night.submit("night", second, other))
        assert says == f"the token was answered by event {answers[1].event.seq}, which is a different answer"
    assert night.is_answered("night", first)


def test_of_two_displays_the_second_answer_is_late(night):
    (early, _), (late, _) = (night.pose("night", control()) for _ in range(2))
    assert night.submit("night", late, LATER).event.kind == "passed"
    stored = night.submit("night", early, grade(1)).event
    assert (stored.kind, stored.reason, stored.body["said"]) == ("late", "the item had been answered already", "judged")
    assert stored.body["item"] == "x"
    assert night.submit("night", early, grade(1)).is_repeated
    complaint(StateError, lambda: night.submit("night", early, grade(2)))


@pytest.mark.parametrize("most", [1, 3, 7, 8, 50])
def test_pages_of_texts_follow_one_another_to_the_last(night, monkeypatch, most):
    monkeypatch.setattr(lead_texts, "ON_A_PAGE", most)
    lines, after, n_pages = [], None, 0
    while n_pages == 0 or after is not None:
        page = lead_texts.texts_of(night, "night", ItemFilter(after=after))
        lines += [(query.query_id, doc.doc_id, doc.title) for query in page.queries for doc in query.documents]
        after, n_pages = page.following, n_pages + 1
    assert n_pages == -(-8 // most)
    docs = [(f"q{n % 3}", f"d{n}-{j}", f"Title {n} é") for n in (3, 1, 4, 2) for j in range(2)]  # by query and unit
    assert lines == docs
