"""Each task once, on a pool of six queries: what everything judged says is the mean score, in plain sums."""

import math
from pathlib import Path

import pytest
from cli_files import csv_rows, write_csv

from activeeval import METHODS, StateError
from activeeval.campaigns.create_and_grow import create
from activeeval.campaigns.scripted_judge import judge_all
from activeeval.campaigns.state import answered, state_of
from activeeval.campaigns.store import open_store
from activeeval.campaigns.verifying import verify
from activeeval.core.campaign import Rules
from activeeval.inputs.budgets import Budget
from activeeval.inputs.choices import Choices
from activeeval.inputs.prepared_case import prepare
from activeeval.sampling.answers import answers
from activeeval.sampling.draw_case import draw
from activeeval.sampling.judged_samples import judged

GRADES = {(f"q{q}", f"d{d}"): (3 * q + q * d + d // 2) % 4 for q in range(6) for d in range(5)}
RUN = {f"q{q}": {f"d{d}": float((d + q) % 5) for d in range(5)} for q in range(6)}
RANKED = {query: sorted(scores, key=scores.get, reverse=True) for query, scores in RUN.items()}
TRUTH = (
    sum((2 ** GRADES[q, d] - 1) / math.log2(rank + 2) for q, docs in RANKED.items() for rank, d in enumerate(docs)) / 6
)


@pytest.fixture
def case(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [f"{query} Q0 {doc} 1 {score} run" for query, scores in RUN.items() for doc, score in scores.items()]
    Path("a.run").write_text("\n".join(lines))
    return prepare(Choices(runs=("a.run",), max_grade=3, seed=1), use_labels=False)


def judge_sheet(path):
    write_csv(path, [row | {"grade": GRADES[row["query_id"], row["doc_id"]]} for row in csv_rows(path)])


@pytest.mark.parametrize(("method", "share"), [(name, (1.0, 0.7)[k % 2]) for k, name in enumerate(METHODS)])
def test_a_sheet_is_judged_and_read(case, method, share):
    sample = draw(case, ["DCG"], (), Budget(share, is_share=True), method=method)
    sample.write("a.sample", "a.csv")
    judge_sheet("a.csv")
    back, progress, _ = judged("a.sample", ["a.csv"])
    ((answer,), _) = answers(back, back.asked((), ()))
    live = sample.campaign.run(lambda query, docs: [GRADES[query, doc] for doc in docs])
    assert answer.estimate == live
    assert progress.waiting == 0
    if share == 1:
        assert (answer.estimate.value, answer.estimate.std_error) == (pytest.approx(TRUTH), 0)
    else:
        assert answer.estimate.n_items < len(GRADES)


def test_a_campaign_is_judged_and_read(case):
    with open_store("sqlite://", create=True) as store:
        create(store, "week", draw(case, ["DCG"], (), Budget(1.0, is_share=True)), Rules())
        with pytest.raises(StateError):
            answered(state_of(store, "week"))
        assert len(list(judge_all(store, "week", "ann", GRADES, limit=7))) == 7
        assert len(list(judge_all(store, "week", "bob", GRADES))) == len(GRADES) - 7
        ((answer,), _) = answered(state_of(store, "week"))
        assert (answer.estimate.value, answer.estimate.std_error) == (pytest.approx(TRUTH), 0)
        assert verify(store, "week") == []
