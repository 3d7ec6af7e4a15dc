"""A third judge where two differ; what counts of an even number of judges."""

import pytest

from activeeval.campaigns.create_and_grow import create
from activeeval.campaigns.known_labels import grades_of
from activeeval.campaigns.state import state_of
from activeeval.campaigns.status import status
from activeeval.campaigns.store import JudgeAnswer, open_store
from activeeval.core.campaign import Rules
from activeeval.core.errors import InputError
from activeeval.inputs.budgets import Budget
from activeeval.inputs.choices import Choices
from activeeval.sampling.draw import SampleRequest, draw_for
from activeeval.sampling.policies import policy_for

RUN = [f"q{q} Q0 d{j} {j + 1} {20 - j} A" for q in range(1, 25) for j in range(6)]


@pytest.fixture
def store(either_url, tmp_path, monkeypatch):
    """Make a campaign of two judges an item and a third where they differ."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.run").write_text("\n".join(RUN) + "\n")
    choices = Choices(runs=("a.run",), max_grade=2, seed=1)
    request = SampleRequest(measures=("DCG@5",), budget=Budget.parse("30"))
    with open_store(either_url) as opened:
        rules = Rules(judges_per_item=2, policy="median", adjudicate=True)
        create(opened, "w", draw_for(choices, request).sample, rules)
        yield opened
        for _ in range(2):
            assert opened.verify("w") == []
            opened.rebuild("w")


def judge_all(store, judge, grade_of):
    """Judge all that there is for a judge; return how many items that were."""
    n = 0
    while (item := store.claim("w", judge)) is not None:
        store.submit("w", item.token, grade_of(item))
        n += 1
    return n


def grade(value):
    return lambda item: JudgeAnswer(kind="judged", grade=value)


def test_a_third_judge_is_asked_where_two_differ_and_nowhere_else(store):
    def differs(item):
        return JudgeAnswer(kind="judged", grade=2 if item.doc_id in ("d0", "d1") else 0)

    n = judge_all(store, "ann", grade(0))
    assert judge_all(store, "bob", differs) == n
    state = state_of(store, "w")
    n_differing = sum(doc in ("d0", "d1") for (_, doc) in state.judgments_by_item)
    assert 0 < n_differing < n
    row = status(state, store).row()
    assert (row["differing"], row["waiting"], row["free"]) == (n_differing, n_differing, n_differing)
    assert judge_all(store, "ann", grade(0)) == judge_all(store, "bob", grade(0)) == 0
    assert judge_all(store, "cy", grade(1)) == n_differing
    state = state_of(store, "w")
    assert status(state, store).row()["differing"] == 0
    assert state.progress.judged == n
    assert {value for (_, doc), value in grades_of(state).items() if doc == "d0"} == {1}
    assert judge_all(store, "dee", grade(1)) == 0


def test_files_ask_for_a_third_judge_too(store):
    first = [(unit.query_id, place.doc_id) for unit in store.units("w") for place in unit.places]
    store.record("w", "ann", [(*pair, JudgeAnswer(kind="judged", grade=0)) for pair in first])
    store.record("w", "bob", [(*pair, JudgeAnswer(kind="judged", grade=2)) for pair in first])
    assert store.waiting("w")["free"] == len(first)
    with pytest.raises(InputError):
        store.record("w", "cy", [(*first[0], JudgeAnswer(kind="judged", grade=9))])
    store.record("w", "cy", [(*pair, JudgeAnswer(kind="judged", grade=2)) for pair in first])
    assert set(grades_of(state_of(store, "w")).values()) == {2}


def test_what_one_of_two_cannot_judge_is_the_grade_of_the_other(store):
    judge_all(store, "ann", lambda item: JudgeAnswer(kind="cannot", reason="empty"))
    judge_all(store, "bob", grade(2))
    state = state_of(store, "w")
    assert (state.progress.waiting, set(grades_of(state).values())) == (0, {2})


@pytest.mark.parametrize(
    ("policy", "n_judges", "adjudicate", "measures", "expected"),
    [
        *((None, n, False, ("P@5",), "majority") for n in (1, 3)),
        (None, 2, False, ("DCG@5",), "mean-gain"),
        (None, 4, False, ("ERR@5",), "mean-gain"),
        (None, 2, True, ("AP",), "median"),
        ("majority", 2, False, ("AP",), "majority"),
    ],
)
def test_what_counts_by_default(policy, n_judges, adjudicate, measures, expected):
    assert policy_for(policy, n_judges, adjudicate, measures) == expected


def test_of_two_judges_a_measure_without_gains_between_grades_takes_a_policy():
    with pytest.raises(InputError, match=r"AP.* knows no gain between .*`policy` majority or median.*`adjudicate`"):
        policy_for(None, 2, False, ("AP",))
    with pytest.raises(InputError, match="`adjudicate` requires two judges per item, got 3"):
        Rules(judges_per_item=3, adjudicate=True)
