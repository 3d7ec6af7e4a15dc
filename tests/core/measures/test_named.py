"""What a measure is called: its short name means the same measure, and a name that was typed stays."""

import pytest

from activeeval import AP, DCG, ERR, NDCG, RBP, RR, Precision, parse_measure
from activeeval.core.measures import called, shown_name

USUAL = ["DCG", "nDCG", "P@5", "R@5", "Success@5", "RR", "AP", "RBP", "ERR", "DCG@10", "nDCG@10", "RR@10", "AP@10"]
USUAL += ["RBP@10", "ERR@10", "kNDCG", "kERR", "Judged@10"]
UNUSUAL = ["DCG(dcg='log2')@10", "nDCG(dcg='exp-log2')", "P(rel=2)@5", "RBP(p=0.5,rel=1)", "RR(rel=2)", "kNDCG(k=3)"]
UNUSUAL += ["DCG(gains={0:0,1:1})", "AP(rel=3)@7"]


@pytest.mark.parametrize("name", USUAL)
def test_a_usual_measure_is_shown_by_its_name_and_the_name_means_it(name):
    measure = parse_measure(name)
    assert shown_name(measure) == name
    assert parse_measure(shown_name(measure)) == measure
    in_full = parse_measure(str(measure)) if name[:3] != "ERR" else measure
    assert in_full == measure


@pytest.mark.parametrize("name", UNUSUAL)
def test_what_is_unusual_is_shown(name):
    measure = parse_measure(name)
    assert shown_name(measure) == str(measure) == name
    assert parse_measure(name) == measure


@pytest.mark.parametrize(
    ("measure", "name"),
    [
        (DCG(cutoff=10), "DCG@10"),
        (NDCG(cutoff=10), "nDCG@10"),
        (ERR(3, cutoff=20), "ERR@20"),
        (Precision(5), "P@5"),
        (RBP(), "RBP"),
        (RR(), "RR"),
        (AP(), "AP"),
        (AP(rel=2), "AP(rel=2)"),
    ],
)
def test_measures_made_in_python_show_their_short_name(measure, name):
    assert shown_name(measure) == name
    typed = parse_measure(name)
    assert (typed.bound_to(3) if name.startswith("ERR") else typed) == measure


@pytest.mark.parametrize("typed", ["ndcg_cut_10", "dcg@10", "map", "recip_rank", "P_10", "ndcg_burges@10"])
def test_a_typed_name_stays_and_makes_no_other_measure(typed):
    measure = called(parse_measure(typed), typed)
    assert shown_name(measure) == typed
    assert measure == parse_measure(str(measure))
    assert hash(measure) == hash(parse_measure(str(measure)))
    assert "label" not in str(measure)
    assert shown_name(measure.bound_to(3)) == typed


def test_a_scale_does_not_change_the_name():
    measure = parse_measure("ERR@10")
    assert shown_name(measure) == shown_name(measure.bound_to(4)) == "ERR@10"
    assert shown_name(called(ERR(4, cutoff=10), "ERR(max_rel=4)@10").bound_to(4)) == "ERR(max_rel=4)@10"


def test_only_another_name_is_kept():
    assert called(DCG(cutoff=10), "DCG@10").label == ""
    assert called(DCG(cutoff=10), "our DCG").label == "our DCG"
    assert called(DCG(cutoff=10), "our DCG") == DCG(cutoff=10)
