"""What the demonstration says of random queries and of activeeval, and draws."""

import math
from types import SimpleNamespace

import pytest

from activeeval.core.errors import InputError
from activeeval.core.results import Figure
from activeeval.core.simulation import saving_of
from activeeval.quickstart.demonstration import savings
from activeeval.quickstart.savings import plot_savings, saving_words, savings_rows

BUDGETS = (100.0, 200.0, 400.0, 800.0)


def summaries(random, sampled):
    return [
        SimpleNamespace(method=method, budget=budget, width=Figure(2 * half), coverage=Figure(0.95))
        for method, halves in (("passive", random), ("sampled", sampled))
        for budget, half in zip(BUDGETS, halves, strict=True)
    ]


def test_what_is_saved_is_read_off_the_two_lines():
    """Half-widths that fall with the square root of the budget: at half the width random queries need four times."""
    random = [8 / math.sqrt(budget) for budget in BUDGETS]
    saving = saving_of("DCG@10", summaries(random, [half / 2 for half in random]))
    compared = saving.compared
    assert (compared.budget, compared.half_width) == (200.0, pytest.approx(math.sqrt(0.08)))
    assert compared.random_budget == pytest.approx(800.0)
    assert compared.labels_saved == pytest.approx(0.75)
    assert saving_words(saving) == (
        "DCG@10, new − old: 200 judgments give ± 0.283; random queries judged whole need 800 for that, 75% are saved "
        "(95% of the 95 % intervals held the truth)."
    )
    assert savings_rows([saving])[1] == {
        "measure": "DCG@10", "judged": "activeeval", "100": "0.4", "200": "0.283", "400": "0.2", "800": "0.141",
    }  # fmt: skip


def test_nothing_is_said_of_budgets_that_were_not_tried():
    saving = saving_of("DCG@10", summaries([4.0, 3.0, 2.0, 1.0], [0.9, 0.5, 0.3, 0.1]))
    assert saving.compared is None
    assert "no budget reaches what another does" in saving_words(saving)


def test_where_nothing_is_saved_that_is_said():
    saving = saving_of("nDCG@10", summaries([0.8, 0.6, 0.4, 0.2], [0.9, 0.7, 0.5, 0.3]))
    assert saving.compared.labels_saved < 0
    assert saving_words(saving).endswith("for that, none are saved (95% of the 95 % intervals held the truth).")


def test_the_demonstration_is_drawn_and_its_lines_fall(tmp_path):
    measured = [run() for run in savings(100, 20, 3).values()]
    assert [saving.title for saving in measured] == ["DCG@10", "nDCG@10"]
    for saving in measured:
        assert saving.random[-1] < saving.random[0]
        assert saving.sampled[-1] < saving.sampled[0]
    plot_savings(measured, tmp_path / "demo.png")
    assert (tmp_path / "demo.png").read_bytes()[:4] == b"\x89PNG"
    with pytest.raises(InputError, match="expected a picture's name"):
        plot_savings(measured, tmp_path / "demo.txt")
