"""Measures as text: every spelling, what a text that is none is told, and that printing and parsing go together."""

import numpy as np
import pytest
from naive import pool_of, rankings_of

from activeeval import DCG, ERR, NDCG, RBP, RR, Additive, InputError, Precision, Recall, Success, parse_measure

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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "cannot read the measure ''; expected Name(k=v,…)@cutoff, as nDCG@10 or ERR(max_rel=4)@20"),
        ("nDCG(", "cannot read the measure 'nDCG('; expected Name(k=v,…)@cutoff, as nDCG@10 or ERR(max_rel=4)@20"),
        ("foo@3", "unknown measure 'foo@3'; known: nDCG, DCG, ERR, RBP, P, R, Success, RR, AP, Judged, kNDCG, kERR, A"),
        ("ndgc@10", "unknown measure 'ndgc@10'; did you mean nDCG@10? known: nDCG, DCG"),
        ("NDGC_cut_10", "unknown measure 'NDGC_cut_10'; did you mean ndcg_cut_10? known: nDCG, DCG"),
        ("Sucess(rel=2)@5", "unknown measure 'Sucess(rel=2)@5'; did you mean Success(rel=2)@5? known: nDCG, DCG"),
        ("ap", "unknown measure 'ap'; did you mean AP? known: nDCG"),
        ("ERR(max_rl=4)", "measure 'ERR(max_rl=4)': unknown parameter 'max_rl'; did you mean max_rel? known: max_rel"),
        ("RBP.95", "cannot read the measure 'RBP.95'; expected Name(k=v,…)@cutoff"),
        ("R", "measure 'R': R needs a cutoff, as R@10"),
        ("Success(rel=2)", "measure 'Success(rel=2)': Success needs a cutoff, as Success@10"),
        ("R@1e9", "measure 'R@1e9': the cutoff must be a positive whole number, got '1e9'"),
        ("nDCG@0", "measure 'nDCG@0': the cutoff must be a positive whole number, got '0'"),
        ("nDCG@1.5", "measure 'nDCG@1.5': the cutoff must be a positive whole number, got '1.5'"),
        ("P", "measure 'P': P needs a cutoff, as P@10"),
        ("ERR(max=4)", "measure 'ERR(max=4)': unknown parameter 'max'; did you mean max_rel? known: max_rel"),
        ("Judged(rel=1)@5", "measure 'Judged(rel=1)@5': unknown parameter 'rel'; it takes none"),
        ("ERR(max_rel=0)", "measure 'ERR(max_rel=0)': max_grade must be a positive whole number, got 0"),
        ("RBP(p=1.5)", "measure 'RBP(p=1.5)': p must lie strictly between 0 and 1, got 1.5"),
        ("nDCG(dcg='exp')", "measure \"nDCG(dcg='exp')\": dcg must be 'log2' or 'exp-log2', got 'exp'"),
        ("nDCG(gains={1:1})", "measure 'nDCG(gains={1:1})': gains must map each grade from 0 to a number, got {1: 1}"),
        ("nDCG(10)", "measure 'nDCG(10)': cannot read the parameters '10'; expected k=v, k=v"),
        ("DCG(gains=__import__('os'))", "cannot read the parameters"),
        ("AP(rel=-1)", "measure 'AP(rel=-1)': rel must be a whole number from 0, got -1"),
        ("@gains.json", "measure '@gains.json' names a file, which is allowed in a caller's own argument only"),
        (" @gains.json", "measure ' @gains.json' names a file, which is allowed in a caller's own argument only"),
        ("@", "measure '@' names a file"),
    ],
)
def test_a_measure_string_that_is_none_says_why(text, message):
    with pytest.raises(InputError) as problem:
        parse_measure(text)
    assert message in str(problem.value)


@pytest.mark.parametrize(
    "text",
    [
        "RBP(p='a')",
        "RBP(p=None)",
        "ERR(max_rel='x')",
        "AP(rel='x')",
        "AP(rel=None)",
        "DCG(gains={0:0,1:'x'})",
        "DCG(dcg=[1])",
    ],
)
def test_a_parameter_of_the_wrong_kind_says_so(text):
    with pytest.raises(InputError):
        parse_measure(text)


def test_a_cutoff_is_a_whole_number_of_any_type():
    pool = pool_of([3])
    ranking = rankings_of(pool, [[0, 1, 2]])
    for cutoff in (np.int32(2), 2.0):
        assert Additive(None, [1, 0.5, 0.1], cutoff).score(pool, [1, 0, 1], ranking)[0] == 1.0
