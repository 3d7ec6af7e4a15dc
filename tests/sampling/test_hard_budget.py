"""A budget is a hard one: what judges are handed costs no more, counted from the rows of their sheets alone."""

import csv
from dataclasses import replace

import numpy as np
import pytest
from cli_cases import RUN, case_of, new_files
from each_once import each_once

from activeeval.core.errors import InputError
from activeeval.formats.tables.draws import read_draws
from activeeval.inputs.budgets import Budget
from activeeval.sampling.draw_case import draw

PAIR = {"runs": ("a.run",), "versus_run": "b.run", "max_grade": 3, "cost": "costs.csv"}
ASKED = {
    "items": (["DCG@5", "P@3"], [[], ["run"], ["difference", "run", "versus"]]),
    "depth": (["ERR@5", "DCG@4"], [[], ["run", "versus"]]),
    "whole": (["nDCG@5"], [["difference"], ["run", "difference"]]),
    "random": (["DCG@5"], [[], ["versus"]]),
}
N_SEEDS = 63  # times 4 methods and 4 cases: 1,008 samples, and as many top-ups


def pairs_of(*runs):
    """Return every item that a run holds, read with nothing of the library."""
    lines = [line.split() for run in runs for line in run.read_text().splitlines()]
    return sorted({(line[0], line[2]) for line in lines})


@pytest.fixture
def costs(folder):
    """Write what judging each item costs, from a tenth to ten, and grades of a third; return cost in mean items."""
    random, pairs = np.random.default_rng(11), pairs_of(folder / "a.run", folder / "b.run")
    prices = np.exp(random.uniform(-2.3, 2.3, len(pairs)))
    with open("costs.csv", "w", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(["query_id", "doc_id", "cost"])
        writer.writerows([*pair, repr(float(price))] for pair, price in zip(pairs, prices, strict=True))
    known = [pair for pair in pairs if random.random() < 1 / 3]
    (folder / "known.qrels").write_text("".join(f"{q} 0 {d} {random.integers(0, 4)}\n" for q, d in known))
    return dict(zip(pairs, (prices / prices.mean()).tolist(), strict=True)), set(known)


def rows_of(sample, name):
    """Write a sample and its sheet, and return what stands on the sheet."""
    sample.write(f"{name}.sample", f"{name}.csv")
    sheet = read_draws(f"{name}.csv")
    return list(zip(sheet.query_id.tolist(), sheet.doc_id.tolist(), strict=True))


def new_rows(sample, more):
    """Return what stands on the sheet of a top-up; nothing of one that pays for nothing more, which is refused."""
    try:
        grown = sample.topped_up(Budget(more), "before")
    except InputError:
        return []
    return rows_of(grown, "two")


def cost_of(rows, costs, overhead):
    """Return what rows cost: each item its own, and an overhead for each query that is turned to."""
    return sum(costs[row] for row in rows) + overhead * len({query for query, _ in rows})


@pytest.mark.slow
@each_once(("method", ASKED), ("judged", [(), ("known.qrels",)]), ("overhead", [0.0, 2.5]))
def test_no_budget_is_exceeded_by_what_stands_on_the_sheets(costs, method, judged, overhead):
    prices, known = costs
    measures, questions = ASKED[method]
    case, random, shares = case_of(**PAIR, overhead=overhead, judged=judged), np.random.default_rng(5), []
    for seed in range(N_SEEDS):
        budget, more = random.uniform(60, 110), random.uniform(1, 60)
        own = replace(case, seed=np.random.SeedSequence(seed))
        sample = draw(own, measures, questions[seed % len(questions)], Budget(budget), method=method)
        rows = rows_of(sample, "one")
        new = new_rows(sample, more)
        assert len(set(rows + new)) == len(rows) + len(new)
        assert not (judged and known & set(rows + new))
        spent, in_all = cost_of(rows, prices, overhead), cost_of(rows + new, prices, overhead)
        assert spent <= budget * (1 + 1e-9)
        assert in_all <= (budget + more) * (1 + 1e-9)
        shares.append(spent / budget)
    assert np.mean(shares) > 0.8  # it is spent, too


@pytest.mark.parametrize("first", ["5e-324", "1e101", "1e-16"])
def test_costs_that_break_arithmetic_are_refused_with_their_file(folder, call, first):
    n_items = len({tuple(line.split()[:3:2]) for line in (folder / "a.run").read_text().splitlines()})
    (folder / "tiny.costs").write_text(f"{first}\n" + "1\n" * (n_items - 1))
    told = call("sample", *RUN, "--budget", 20, "--cost", "tiny.costs", *new_files("s.csv"))
    assert told.code == 1
    assert "activeeval: tiny.costs: item_costs must lie " in told.err
    assert f"got {first} at item " in told.err.replace("1e+101", "1e101")
