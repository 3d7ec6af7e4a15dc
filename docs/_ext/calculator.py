"""What the calculator of page one knows: `python docs/_ext/calculator.py` writes its data and the fixtures of its test.

A generated collection of sixty kinds of queries stands for all: a pool of n queries holds each of them n / 60 times.
Per query the variance that a budget leaves, and how many queries chance chooses, are the same for every n: both
are stored on a grid of budget and overhead, and the page computes the rest: V = v / n · n_open / (n_open − 2) with
n_open = n · o, and the half-width as g(n_open) · √V, g being the package's own ratio of the median of half-widths.
Random queries are drawn with replacement until what was seen costs the budget: that is in closed form. How far values
differ is the same whatever a model knows: it is what the best model expects, and variances of the others are put on it.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import islice, product
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from activeeval import DCG, METHODS, NDCG, QueryPool, Rankings, Target, default_method
from activeeval.core.planning import Forecast, Planner, Prospect
from activeeval.core.pool.generated import WEIGHTS, GeneratedPool, generate_pool
from activeeval.inputs.modelling import GradeBeliefs
from activeeval.quickstart.demonstration import LISTED, MAX_GRADE, pooled, recipe_beliefs

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "docs" / "_static" / "calculator-data.js"
FIXTURES = ROOT / "tests" / "site" / "calculator-fixtures.json"
N_KINDS, N_TRAINING, SEED, N_FIXTURES, N_DRAWN = 60, 300, 5, 200, 320
MEASURES = {"nDCG@10": NDCG(cutoff=10), "DCG@10": DCG(cutoff=10)}
QUESTIONS = ("difference", "run")
QUALITIES = ("none", "weak", "good")
OVERHEADS = (0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 3.0, 4.0, 5.5, 7.0, 10.0)
SHARES = (
    *np.geomspace(0.004, 0.4, 17).round(5).tolist(),
    *(
        0.43,
        0.46,
        0.495,
        0.53,
        0.565,
        0.6,
        0.625,
        0.65,
        0.675,
        0.7,
        0.72,
        0.74,
        0.76,
        0.78,
        0.81,
        0.84,
        0.87,
        0.9,
        0.925,
    ),
)
"""Budgets of the grid, of what judging everything costs."""
FREEDOMS = tuple(np.geomspace(2.2, 100_000, 40).round(4).tolist())
MOST_SHARE = 0.8
"""Beyond that a budget is called nearly everything: what is left bends faster than the grid."""
FEWEST = 10
"""Below that many queries that chance chooses no number is given, as the package itself reads no segment below it."""
NOISES = (1.7, 2.2)
"""Of the new and of the old ranker, as in the files that `activeeval demo` leaves."""
TIMES = {"DCG@10": (1, 30), "nDCG@10": (12, 16)}
"""How often a fixture's pool holds each kind: moments of nDCG come from drawn labels, by which two plans of sixty
queries differ by 2 %, and take their time."""
SHARE_OF_NDCG = 0.25
LARGE = 20
"""How many times the grid's pool holds each kind."""


@cache
def kinds() -> tuple[np.ndarray, list[np.ndarray], dict[str, GradeBeliefs]]:
    """Return how many items each kind of query has, the scores of two rankers, and what models of each quality believe.

    All learn from the same listed documents of other queries, so that none is surer than it may be: *none* knows how
    often each grade is, *weak* sees the rankers' scores, *good* the features too.
    """
    training, others = generate_pool(N_TRAINING + N_KINDS, SEED).split(N_TRAINING)
    (learned, learned_scores), (asked, scores) = _listed(training, 1), _listed(others, 2)
    queries, grades = learned.pool.item_queries, learned.grades
    shares = np.bincount(grades, minlength=MAX_GRADE + 1) / grades.size
    models = {
        "none": GradeBeliefs(np.tile(shares, (asked.grades.size, 1))).taught(
            np.tile(shares, (grades.size, 1)), grades, queries
        )
    }
    seen = np.column_stack(learned_scores), np.column_stack(scores)
    both = [np.column_stack([columns, pool.features]) for columns, pool in zip(seen, (learned, asked), strict=True)]
    for name, (theirs, own) in {"weak": seen, "good": both}.items():
        models[name] = recipe_beliefs(replace(learned, features=theirs), replace(asked, features=own), SEED)
    return np.diff(asked.pool.query_offsets), scores, models


def _listed(pool: GeneratedPool, seed: int) -> tuple[GeneratedPool, list[np.ndarray]]:
    """Return what either of two rankers lists among its first 20, and their scores of it."""
    rng, known = np.random.default_rng(seed), pool.features[:, : WEIGHTS.size] @ WEIGHTS
    scores = [known + noise * rng.standard_normal(known.size) for noise in NOISES]
    taken, rows, _ = pooled(pool.pool, scores)
    kept = GeneratedPool(taken, pool.grades[rows], pool.features[rows], pool.lengths[rows])
    return kept, [each[rows] for each in scores]


def planner(n_times: int, measure: str, question: str, quality: str, overhead: float) -> Planner:
    """Return the package's planner for a pool that holds each kind some times."""
    sizes, scores, models = kinds()
    lengths = np.tile(sizes, n_times)
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    names = [f"q{k}" for k in range(lengths.size)]
    items = [f"d{k}" for k in range(offsets[-1])]
    pool = QueryPool(names, offsets, items, query_costs=np.full(lengths.size, overhead))
    new, old = (Rankings.from_scores(pool, np.tile(each, n_times)).cut_at(LISTED) for each in scores)
    target = Target(MEASURES[measure], new, old if question == "difference" else None)
    beliefs = models[quality]
    beliefs = replace(beliefs, probs=np.tile(beliefs.probs, (n_times, 1)))
    return Planner(
        targets=[target],
        believed=lambda method: beliefs.for_method(method, MAX_GRADE + 1),
        max_grade=MAX_GRADE,
        held_out=beliefs.held_out,
        is_uniform=beliefs.is_uniform,
    )


def forecast(planned: Planner, measure: str, *, random: bool = False) -> Forecast:
    """Return the forecast of the measure's method with depths that are planned, or of random queries."""
    method = METHODS["passive"] if random else METHODS[default_method(MEASURES[measure]).name]
    (own,) = planned.forecasts(method.looking("off") if method.has_depths else method)
    return own


def on_one_spread(measure: str, question: str, quality: str) -> float:
    """Return by what variances under a model are multiplied, so that values differ as the best model expects."""
    spreads = [_spread(measure, question, each) for each in ("good", quality)]
    return spreads[0] / spreads[1]


@cache
def _spread(measure: str, question: str, quality: str) -> float:
    values = forecast(planner(1, measure, question, quality, 0.0), measure, random=True).values
    return float(values.query_probs @ values.squares)


def grid() -> dict[str, Any]:
    """Return all that the page computes with."""
    cells = list(product(MEASURES, QUESTIONS, QUALITIES))
    made = Parallel(n_jobs=-1)(delayed(_table)(*cell) for cell in cells)
    tables: dict[str, Any] = {}
    for (measure, question, quality), table in zip(cells, made, strict=True):
        tables.setdefault(f"{measure} {question}", {})[quality] = table
    for measure, question in product(MEASURES, QUESTIONS):
        tables[f"{measure} {question}"] |= {
            "S": _rounded(_scale(measure) * _spread(measure, question, "good")),
            "whole": [_rounded(_whole(measure, question, overhead)) for overhead in OVERHEADS],
        }
    own = forecast(planner(1, "DCG@10", "run", "good", 0.0), "DCG@10")
    return {
        "overheads": OVERHEADS,
        "shares": SHARES,
        "freedoms": FREEDOMS,
        "g": [_rounded(_ratio(own, freedom)) for freedom in FREEDOMS],
        "fewest": FEWEST,
        "most": MOST_SHARE,
        "tables": tables,
    }


def _whole(measure: str, question: str, overhead: float) -> float:
    """Return what judging a mean query whole costs."""
    return forecast(planner(1, measure, question, "good", overhead), measure, random=True).cost / N_KINDS


def _scale(measure: str) -> float:
    return forecast(planner(1, measure, "run", "good", 0.0), measure, random=True).scale.value


def _table(measure: str, question: str, quality: str) -> dict[str, Any]:
    variances, opens, costs = [], [], []
    times = on_one_spread(measure, question, quality)
    for overhead in OVERHEADS:
        own, n = forecast(planner(LARGE, measure, question, quality, overhead), measure), LARGE * N_KINDS
        costs.append(_rounded(own.cost / n))
        expected = [own.spending.expect(share * own.cost) for share in SHARES]
        variances.append([_rounded(own.scale.value * times * v * (o - 2) / o * n) for v, o, *_ in expected])
        opens.append([_rounded(o / n) for _, o, *_ in expected])
    return {"cost": costs, "v": variances, "o": opens}


def _ratio(own: Forecast, n_open: float) -> float:
    """Return the median of half-widths over the standard error, where chance chooses n_open queries."""
    prospect: Prospect = own.prospect(1.0, (1.0, n_open, n_open, n_open))
    return prospect.half_width_alone() / math.sqrt(prospect.of_pool)


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")


def fixtures() -> Iterator[tuple[dict[str, Any], float]]:
    """Yield pools drawn at random, and shares of what judging everything costs."""
    rng = np.random.default_rng(SEED)
    while True:
        measure = "nDCG@10" if rng.random() < SHARE_OF_NDCG else "DCG@10"
        n_times = int(np.exp(rng.uniform(*np.log(TIMES[measure]))))
        case = {
            "queries": n_times * N_KINDS,
            "measure": measure,
            "question": str(rng.choice(QUESTIONS)),
            "quality": str(rng.choice(QUALITIES)),
            "overhead": round(float(rng.uniform(0, 10)), 2),
        }
        share = float(np.exp(rng.uniform(np.log(0.01), np.log(0.9))))
        yield case, share


def planned_for(case: dict[str, Any], share: float) -> dict[str, Any]:
    """Return the budget, in judgments, with what the package's plans say of it."""
    own = forecast(_of_case(case), case["measure"])
    asked = case | {"budget": round(share * own.cost)}
    return asked | halves(asked) | {"share": asked["budget"] / own.cost}


def halves(case: dict[str, Any]) -> dict[str, float]:
    """Return the half-widths that two ways reach with a case's budget, and how many queries chance chooses in each."""
    measure, budget, times = (
        case["measure"],
        case["budget"],
        on_one_spread(case["measure"], case["question"], case["quality"]),
    )
    own = forecast(_of_case(case), measure)
    variance, n_open, *judged = own.spending.expect(budget)
    sampled = own.prospect(budget, (times * variance, n_open, *judged))
    random = forecast(_of_case(case | {"quality": "good"}), measure, random=True).at(budget)
    return {
        "n_open": n_open,
        "n_draws": random.n_open,
        "half_width": sampled.half_width_alone(),
        "random": random.half_width_alone(),
    }


def _of_case(case: dict[str, Any]) -> Planner:
    return planner(case["queries"] // N_KINDS, case["measure"], case["question"], case["quality"], case["overhead"])


def is_answered(case: dict[str, Any]) -> bool:
    """Whether the page gives numbers for a case."""
    return min(case["n_open"], case["n_draws"]) >= FEWEST and case["share"] <= MOST_SHARE


def write() -> None:
    """Write the data of the page and the fixtures."""
    if "--fixtures" not in sys.argv:
        DATA.write_text(f"window.ACTIVEEVAL_CALCULATOR = {json.dumps(grid(), separators=(',', ':'))};\n")
    drawn = list(islice(fixtures(), N_DRAWN))
    planned = Parallel(n_jobs=-1)(delayed(planned_for)(case, share) for case, share in drawn)
    kept = [case for case in planned if is_answered(case)][:N_FIXTURES]
    command = "python docs/_ext/calculator.py"
    FIXTURES.write_text(json.dumps({"command": command, "fixtures": kept}, indent=0) + "\n")


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "docs"))
    from _ext import calculator  # workers find functions by the name of their module

    calculator.write()
