"""Whether to ask a machine, as planned and as it turns out: ``python -m benchmarks.asking``.

Passages of TREC Deep Learning 2021 and the four language models of `benchmarks.graders`, each at three prices of a
person's judgment. Asked about no item, about the first five places of each list and about all, people have what is left
of a tenth of what judging the pool whole costs. Planned is the ratio of squared half-widths that `plan` compares,
replayed that of mean squared errors; both are geometric means over four questions of one run, and of two. The regret is
the mean squared error of what would be chosen by the plan, over the least of the three.
Stores benchmarks/results/asking.json.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from activeeval.core.design.methods import METHODS
from activeeval.core.grade_models.values import PLANNED_RHO, ValueTable, default_shares
from activeeval.core.planning import Planner
from activeeval.core.simulation import simulate
from activeeval.inputs.grader_values import read_graders
from benchmarks.frame.experiment import Experiment, Options, spread
from benchmarks.frame.report import figure
from benchmarks.graders import PAIRS, SEED, TOP, USELESS, Row, dl21, questions

PRICES = (0.002, 0.01, 0.05)
WAYS = ("none", "first 5", "all")
_PLACES = 5


def cells(k: int, measure: str, repetitions: int) -> Iterator[Row]:
    """Yield planned and replayed variances of every way, price and grader, of the k-th pair."""
    collection, method = dl21(), METHODS["items"]
    for question in questions(collection, collection.pairs[k], [measure]):
        inputs, target, n = question.inputs, question.target, question.where["runs"]
        is_first = np.zeros(inputs.pool.n_items, dtype=np.bool_)
        for ranking in inputs.rankings:
            is_first[ranking.items[ranking.ranks <= _PLACES]] = True
        masks = dict(zip(WAYS, (is_first & False, is_first, is_first | True), strict=True))
        likely = {}
        for grader in read_graders(list(collection.graders.values())):
            table = ValueTable.of(grader.on(inputs.pool).values, default_shares(TOP + 1), PLANNED_RHO)
            likely[grader.name.removesuffix(".dl21")] = table.probs[table.codes]
        for name, belief in question.believed.items():
            if name == "no model" or name in USELESS:
                continue
            shares = np.tile(default_shares(TOP + 1), (inputs.pool.n_items, 1))
            for way, is_asked in masks.items():
                asked = replace(belief, probs=np.where(is_asked[:, None], belief.probs, shares))
                model = asked.for_method(method, TOP + 1)
                supposed = replace(belief, probs=np.where(is_asked[:, None], likely[name], shares))
                as_planned = supposed.for_method(method, TOP + 1)
                planner = Planner(targets=[target], believed=lambda _, as_planned=as_planned: as_planned, max_grade=TOP)
                (forecast,) = planner.forecasts(method)
                n_asked = int((is_asked & target.matters).sum())
                lefts = [question.budget - price * n_asked for price in PRICES]
                designs = {"passive": question.passive, way: method.design(target, **model)}
                budgets = sorted({left for left in lefts if forecast.works(left)})
                summaries = simulate(designs, inputs.grades, budgets, repetitions, SEED)
                replayed = {each.budget: each.row()["rmse"] ** 2 for each in summaries if each.method == way}
                for price, left in zip(PRICES, lefts, strict=True):
                    if left in replayed:
                        planned = forecast.at(left).half_width("pool", 0.95) ** 2
                        where = {"pair": k, "runs": n, "grader": name, "price": price, "way": way}
                        yield where | {"planned": planned, "replayed": replayed[left], "asked": n_asked, "left": left}


def figures_of(rows: Sequence[Row]) -> list[Row]:
    """Make the ratios to asking about nothing, and the regret of the choice, by price and number of runs."""
    out = []
    graders = list(dict.fromkeys(row["grader"] for row in rows))
    for n in (1, 2):
        for price in PRICES:
            of_price = [row for row in rows if (row["runs"], row["price"]) == (n, price)]
            regrets = []
            for grader in graders:
                means = _means([row for row in of_price if row["grader"] == grader])
                where = f"{grader}, {'one run' if n == 1 else 'two runs'}, price {price:g}"
                for way in list(means)[1:]:
                    planned, replayed = (means[way][j] / means["none"][j] for j in (0, 1))
                    out.append(
                        figure(
                            f"{where}, {way}", replayed, "of none's error", planned=planned, ratio=planned / replayed
                        )
                    )
                chosen = "none"
                for way in list(means)[1:]:
                    chosen = way if means[way][0] < means[chosen][0] else chosen
                regrets.append(means[chosen][1] / min(mse for _, mse in means.values()))
            what = f"regret of the choice, {'one run' if n == 1 else 'two runs'}, price {price:g}"
            out.append(figure(what, float(np.max(regrets)), "times the best's error", at_most=1.05))
    return out


def _means(rows: Sequence[Row]) -> dict[str, tuple[float, float]]:
    """Return the geometric means of planned and replayed variances by way, of those that every pair can pay."""
    out = {}
    for way in WAYS:
        of_way = [row for row in rows if row["way"] == way]
        if len(of_way) == len(PAIRS):
            out[way] = tuple(
                float(np.exp(np.mean([np.log(row[key]) for row in of_way]))) for key in ("planned", "replayed")
            )
    return out


def measure(options: Options) -> Row:
    """Work on every pair of runs."""
    rows = spread(cells, ((k, options.measure, options.repetitions) for k in range(len(PAIRS))), options.jobs)
    return {"figures": figures_of(rows), "rows": rows}


EXPERIMENT = Experiment(__spec__, __doc__, measure, repetitions=2000, measure="DCG@10", jobs=2)


if __name__ == "__main__":
    EXPERIMENT.main()
