"""Judging by grades and by comparisons: which one measures take, what a campaign keeps of it, what labels come to."""

import numpy as np
import pytest

from activeeval.campaigns.store import CampaignRow
from activeeval.core.errors import ChoiceError, InputError
from activeeval.core.judgments.comparisons import Truth, check_truths
from activeeval.core.judgments.judging import WHOLE, ByComparisons, ByGrades, DocumentToJudge, judging_in, judging_of
from activeeval.core.judgments.log import Event
from activeeval.core.judgments.policies import CANNOT
from activeeval.core.judgments.wilson_intervals import Share, share_of
from activeeval.core.measures import parse_measure
from activeeval.core.pool import QueryPool
from activeeval.core.results import Note

BOTH = [ByGrades(), ByComparisons(5)]
ITEMS = [DocumentToJudge(doc, 0.5, {"title": doc.upper()}) for doc in ("a", "b", "c")]


def judged(seq, judge, grade=None, *, kind="judged", body=None):
    return Event(seq=seq, kind=kind, at=seq, judge=judge, query_id="q", doc_id="d", grade=grade, body=body or {})


def of(*texts):
    return judging_of(parse_measure(text) for text in texts)


def test_measures_say_how_they_are_judged():
    assert of("DCG@10", "AP") == of() == ByGrades()
    assert of("kNDCG(k=5)@10", "kERR(k=5)") == ByComparisons(5)
    for mixed in (("DCG", "kERR(k=5)"), ("kNDCG(k=5)", "kERR(k=4)")):
        with pytest.raises(InputError, match="a sample is judged by grades, or by the top k with one k"):
            of(*mixed)


@pytest.mark.parametrize("judging", BOTH)
def test_what_a_campaign_keeps_of_it_is_read_back(judging):
    assert judging_in(judging.config) == CampaignRow(name="c", config=judging.config).judging == judging


def test_a_campaign_that_keeps_nothing_of_it_is_graded():
    assert judging_in({}) == ByGrades()


def test_grades_are_of_one_document():
    judgments = {"ann": judged(1, "ann", 2), "bob": judged(2, "bob", kind="cannot")}
    assert ByGrades().grades("a", ["a", "b"], judgments) == {"a": {"ann": 2, "bob": CANNOT}}
    # a sheet with truths in the place of grades holds κ-grades; a document may be called as a whole query is
    assert ByComparisons(5).grades("a", ["a", "b"], judgments) == {"a": {"ann": 2, "bob": CANNOT}}
    assert ByGrades().grades(WHOLE, [WHOLE, "b"], judgments) == {WHOLE: {"ann": 2, "bob": CANNOT}}


def test_an_order_gives_grades_to_all_documents():
    order = Truth.of([["b"], ["a", "d"]], below=["c"]).parts
    judgments = {"ann": judged(1, "ann", body=order), "bob": judged(2, "bob", kind="cannot")}
    assert ByComparisons(3).grades(WHOLE, ["a", "b", "c", "d"], judgments) == {
        "a": {"ann": 2, "bob": CANNOT},
        "b": {"ann": 3, "bob": CANNOT},
        "c": {"ann": 0, "bob": CANNOT},
        "d": {"ann": 2, "bob": CANNOT},
    }


def test_items_are_shown_one_by_one_or_all_as_one():
    assert ByGrades().shown("q", ITEMS) == ITEMS
    ((doc, probability, text),) = ByComparisons(2).shown("q", ITEMS)
    assert (doc, probability) == (WHOLE, 0.5)
    assert sorted(text["documents"], key=lambda d: d["doc_id"]) == [
        {"doc_id": item.doc_id, **item.text} for item in ITEMS
    ]
    assert ByComparisons(2).shown("q", ITEMS[::-1])[0].text == text  # ids decide which comes first


def test_notes_say_what_judges_do():
    assert ByGrades().notes(("ERR",), 3, 0) == [Note("judges grade", {"measures": ("ERR",), "max_grade": 3})]
    assert [note.code for note in ByGrades().notes(("nDCG",), None, 7)] == ["ideal of the pool"]
    assert ByComparisons(5).notes(("kERR",), 5, 7) == [Note("judges compare", {"measures": ("kERR",), "k": 5})]


def test_grades_refuse_ranks_and_nothing_else():
    judging = ByGrades()
    judging.check_choices(["judged", "cost"])
    judging.check_rules(3)
    judging.check_grade("x.csv:2")
    judging.check_sheets("week1")
    judging.check_known("week1")
    assert judging.about_labels == []
    with pytest.raises(InputError, match=r"^x\.csv: holds ranks$"):
        judging.of_ranks("x.csv: holds ranks")


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        (lambda j: j.check_choices(["cost"]), "`cost` applies to grades"),
        (lambda j: j.check_rules(2), "top-k judging takes one judge a query"),
        (lambda j: j.check_grade("x.csv:2"), "x.csv:2: holds a grade, but the 5 best documents get ranks"),
        (lambda j: j.check_sheets("week1"), "campaign week1: documents are compared two at a time"),
        (lambda j: j.check_known("week1"), "campaign week1: holds ranks, which cannot serve as known grades"),
    ],
)
def test_comparisons_refuse_what_is_of_grades(asked, problem):
    with pytest.raises((InputError, ChoiceError), match=problem):
        asked(ByComparisons(5))


def test_comparisons_take_ranks():
    judging = ByComparisons(5)
    judging.check_choices([])
    judging.check_rules(1)
    assert judging.of_ranks("not asked") is judging
    assert judging.about_labels == [Note("ranks as grades", {"k": 5})]


def test_k_ranks_are_enough_and_fewer_are_not_if_documents_remain():
    pool = QueryPool(["q"], [0, 4], list("abcd"))
    check_truths(pool, np.array([2, 1, -1, -1]), 2, "truths")
    check_truths(pool, np.array([1, 0, 0, 0]), 1, "truths")
    with pytest.raises(InputError, match="has ranks 1 … 1 and documents without one, expected the 2 best"):
        check_truths(pool, np.array([2, -1, -1, 0]), 2, "truths")


def test_a_share_of_nothing_may_be_any():
    assert share_of(0, 0) == Share(0, 0, 0.0, 1.0)
    assert share_of(3, 3).high == pytest.approx(1.0)
    assert share_of(0, 3).low == pytest.approx(0.0, abs=1e-12)
