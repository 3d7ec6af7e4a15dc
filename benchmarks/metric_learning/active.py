"""SimpleMargin against random choice, on simulated, Web-style and news-shaped pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from activeeval.gains import GainDiscountLearner, SimpleMargin
from benchmarks.metric_learning.data import ONE_LIST, SHAPES, TOP_GRADE, TRUTHS, Floats, Pairs, draw, orders_of
from benchmarks.metric_learning.news import folds, rights_by_set
from benchmarks.metric_learning.news_data import TOP, generate
from benchmarks.metric_learning.running import Found, Row
from benchmarks.metric_learning.web import Queries, is_there, label_lists

N_START, POOL, N_TEST = 10, 1000, 10_000
SHOWN = (10, 20, 30, 50, 75, 100, 150, 200)
C = {"simulated": 10.0, "news-shaped": 1.0}
Score = Callable[[Floats], float]


def simulated(rng: np.random.Generator) -> Iterator[Found]:
    """Choose among 1,000 pairs of orders of one list."""
    for name, truth in TRUTHS.items():
        pool, test = (draw(orders_of(ONE_LIST), truth, n, rng) for n in (POOL, N_TEST))
        for shape in SHAPES:
            yield from both({"set": name, "shape": shape}, pool, test.precision, C["simulated"], rng)


def web(rng: np.random.Generator) -> Iterator[Found]:
    """Choose among 1,000 pairs of four fifths of the queries, test on those of the rest."""
    if not is_there():
        return
    queries = Queries(label_lists())
    order = rng.permutation(len(queries.grades))
    held = order.size // 5
    pool, test = queries.pairs(order[held:], POOL, rng), queries.pairs(order[:held], N_TEST, rng)
    for shape in SHAPES:
        yield from both({"set": "Web-style", "shape": shape}, pool, test.precision, C["simulated"], rng)


def news(rng: np.random.Generator) -> Iterator[Found]:
    """Choose among the preferences of four folds."""
    made = generate(rng)
    for train, test in folds(made, rng):
        pool = made.pairs[train[made.labels[train] != 3]]

        def score(weights: Floats, test=test) -> float:
            return float(rights_by_set(made, test, weights)["all"].mean())

        yield from both({"set": "news-shaped", "shape": "decreasing"}, pool, score, C["news-shaped"], rng, TOP)


def both(
    keys: Row, pool: Pairs, score: Score, C: float, rng: np.random.Generator, top: int = TOP_GRADE
) -> Iterator[Found]:
    """Learn from pairs chosen by SimpleMargin and from as many chosen at random, after the same random start."""
    seed = int(rng.integers(2**32))
    learner = GainDiscountLearner(C=C, shape=keys["shape"], conflicts="keep")
    data = pool.preferences(top=top)
    for chosen, n_start in (("SimpleMargin", N_START), ("random", data.n_pairs)):
        chooser = SimpleMargin(data, learner, n_start, seed, skip_decided=False)
        for n in range(1, max(SHOWN) + 1):
            row = chooser.ask()
            if row is None:
                break
            chooser.tell(row, 1)
            if n in SHOWN:
                yield "active", keys | {"chosen": chosen, "pairs": n}, {"precision": score(chooser.learn().weights_)}
