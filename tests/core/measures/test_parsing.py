"""Measures as text: every spelling, what a text that is none is told, and that printing and parsing go together."""

import numpy as np
import pytest
from naive import pool_of, rankings_of

from activeeval import DCG, ERR, NDCG, RBP, RR, Additive, Precision, Recall, Success, parse_measure

SPELLINGS = {
    "nDCG@10": "nDCG(dcg='log2')@10",
    " nDCG @ 10 ": "nDCG(dcg='log2')@10",
    "ndcg": "nDCG(dcg='log2')",
    "ndcg@10": "nDCG(dcg='log2')@10",
    "ndcg_cut_10": "nDCG(dcg='log2')@10",
    "ndcg_burges@10": "nDCG(dcg='exp-log2')@10",
    "nDCG(dcg='exp-log2')@10": "nDCG(dcg='exp-log2')@10",
    "nDCG(gains={0:0,1:1,2:5})@5": "nDCG(gains={0:0,1:1,2:5})@5",
    "DCG": "DCG(dcg='exp-log2')",
    "DCG@5": "DCG(dcg='exp-log2')@5",
    "DCG(dcg='log2')": "DCG(dcg='log2')",
    "dcg@5": "DCG(dcg='log2')@5",
    "dcg_burges@5": "DCG(dcg='exp-log2')@5",
    "DCG(gains={0:0,1:0.5})": "DCG(gains={0:0,1:0.5})",
    "ERR": "ERR",
    "ERR@20": "ERR@20",
    "ERR(max_rel=4)@20": "ERR(max_rel=4)@20",
    "RBP": "RBP(p=0.8,rel=1)",
    "RBP(p=0.5, rel=2)@10": "RBP(p=0.5,rel=2)@10",
    "RBP(gains={0:0,1:0.5,2:1})": "RBP(p=0.8,gains={0:0,1:0.5,2:1})",
    "rbp.95": "RBP(p=0.95,rel=1)",
    "P@10": "P(rel=1)@10",
    "P_10": "P(rel=1)@10",
    "precision@5": "P(rel=1)@5",
    "P(rel=2)@5": "P(rel=2)@5",
    "R@10": "R(rel=1)@10",
    "recall@10": "R(rel=1)@10",
    "recall_10": "R(rel=1)@10",
    "recall.10": "R(rel=1)@10",
    "R(rel=2)@10": "R(rel=2)@10",
    "Success@5": "Success(rel=1)@5",
    "success_5": "Success(rel=1)@5",
    "hit_rate@5": "Success(rel=1)@5",
    "Success(rel=3)@1": "Success(rel=3)@1",
    "RR": "RR(rel=1)",
    "recip_rank": "RR(rel=1)",
    "mrr@10": "RR(rel=1)@10",
    "AP": "AP(rel=1)",
    "map": "AP(rel=1)",
    "map@10": "AP(rel=1)@10",
    "map_cut_100": "AP(rel=1)@100",
    "map_cut.100": "AP(rel=1)@100",
    "ndcg_cut.5": "nDCG(dcg='log2')@5",
    "P.5": "P(rel=1)@5",
    "AP(rel=2)@100": "AP(rel=2)@100",
    "Judged@10": "Judged@10",
    **dict.fromkeys(("Rprec", "RPrec", "rprec", "r_precision"), "Rprec(rel=1)"),
    **dict.fromkeys(("Bpref", "BPref", "bpref"), "Bpref(rel=1)"),
    **dict.fromkeys(("infAP", "infap"), "infAP(rel=1)"),
    **dict.fromkeys(("F1", "f1", "SetF", "set_F"), "F1(rel=1)"),
    "f1@10": "F1(rel=1)@10",
    "F1(rel=2) @ 10": "F1(rel=2)@10",
    **dict.fromkeys(("R_cap@10", "recall_cap@10"), "R_cap(rel=1)@10"),
    **dict.fromkeys(("alpha_nDCG@10", "α_nDCG@10", "α-nDCG@10", "alpha-nDCG@10"), "alpha_nDCG(alpha=0.5,rel=1)@10"),
    "alpha_nDCG(alpha=0.3, rel=2)@5": "alpha_nDCG(alpha=0.3,rel=2)@5",
    **dict.fromkeys(("ERR_IA@20", "ERR-IA@20"), "ERR_IA(rel=1)@20"),
}


@pytest.mark.parametrize(("text", "canonical"), SPELLINGS.items())
def test_every_spelling_prints_the_canonical_one(text, canonical):
    measure = parse_measure(text)
    assert str(measure) == canonical
    assert parse_measure(canonical) == measure


def test_plain_ndcg_is_linear_and_plain_dcg_exponential():
    assert parse_measure("nDCG@10") == NDCG("linear", 10)
    assert parse_measure("DCG@10") == DCG("exp", 10) == DCG(cutoff=10)


MADE = [Precision(3), Precision(7, rel=2), NDCG("exp"), NDCG([0, 1, 3], 5), ERR(3), RR(2, 4), Recall(20, 2), Success(3)]
MADE += [RBP(0.123456789), DCG([0, 1 / 3]), RBP(0.95, gains="exp")]


@pytest.mark.parametrize("measure", MADE, ids=str)
def test_printing_and_parsing_give_the_measure_back(measure):
    assert parse_measure(str(measure)) == measure


def test_a_cutoff_is_a_whole_number_of_any_type():
    pool = pool_of([3])
    ranking = rankings_of(pool, [[0, 1, 2]])
    for cutoff in (np.int32(2), 2.0):
        assert Additive(None, [1, 0.5, 0.1], cutoff).score(pool, [1, 0, 1], ranking)[0] == 1.0
