"""Measures as text: every spelling, what a text that is none is told, and that printing and parsing go together."""

from pathlib import Path

import numpy as np
import pytest
from naive import pool_of, rankings_of

from activeeval import DCG, ERR, NDCG, RBP, RR, Additive, Precision, Recall, Success, parse_measure

ROWS = Path(__file__).with_name("spellings.tsv").read_text("utf-8").splitlines()[1:]
SPELLINGS = [line.split("\t") for line in ROWS]


@pytest.mark.parametrize(("text", "canonical"), SPELLINGS)
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
