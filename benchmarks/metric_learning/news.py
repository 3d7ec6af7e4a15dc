"""Side-by-side preferences in the shape of the news search data: five folds, two sets, one set alone, labels."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.metric_learning.data import SHAPES, Floats, Ints, Pairs, learned
from benchmarks.metric_learning.news_data import BASELINES, News, generate
from benchmarks.metric_learning.running import Found, Row

N_FOLDS = 5
CURVE = (20, 50, 100, 150, 200)


def folds(news: News, rng: np.random.Generator) -> Iterator[tuple[Ints, Ints]]:
    """Yield the pairs, ties too, that train and those that test, labels spread evenly over folds."""
    order = rng.permutation(news.labels.size)
    order = order[np.argsort(news.labels[order], kind="stable")]
    fold = np.empty(order.size, dtype=np.int64)
    fold[order] = np.arange(order.size) % N_FOLDS
    for number in range(N_FOLDS):
        # training pairs come in random order, so that the first n are a sample
        yield rng.permutation(np.flatnonzero(fold != number)), np.flatnonzero(fold == number)


def rights_by_set(news: News, rows: Ints, weights: Floats) -> dict[str, np.ndarray]:
    """Test which preferences among some pairs the weights order rightly: of all, of Set1, of Set2."""
    rows = rows[news.labels[rows] != 3]
    rights, clear = news.pairs[rows].rights(weights), news.is_clear[rows]
    return {"all": rights, "Set1": rights[clear], "Set2": rights[~clear]}


def accuracies(news: News, rows: Ints, weights: Floats) -> dict[str, float]:
    """Return the share that is ordered rightly: of all, of Set1, of Set2."""
    return {name: float(held.mean()) for name, held in rights_by_set(news, rows, weights).items()}


def news(rng: np.random.Generator) -> Iterator[Found]:
    """A new set each repetition, learned and tested in five folds; C by cross-validation."""
    made = generate(rng)
    for train, test in folds(made, rng):
        strict = train[made.labels[train] != 3]
        for name, weights in BASELINES.items():
            yield "accuracy", {"weights": name}, accuracies(made, test, weights)
        coins = rng.random(test.size) < 0.5
        yield "accuracy", {"weights": "random"}, _of_coins(made, test, coins)
        for shape in SHAPES:
            weights = learned(made.preferences(strict), shape=shape).weights_
            yield "accuracy", {"weights": f"learned, {shape}"}, accuracies(made, test, weights)
            if shape == "decreasing":
                yield from _by_label(made.pairs[test], made.labels[test], weights)
        for n in CURVE:
            weights = learned(made.preferences(strict[:n])).weights_
            yield "curve", {"pairs": n}, accuracies(made, test, weights)
        clear = made.is_clear[strict]
        sets = {"all": strict, "Set1": strict[clear], "Set2": strict[~clear]}
        for name, own in (sets | {"as many of Set2 as of Set1": strict[~clear][: clear.sum()]}).items():
            weights = learned(made.preferences(own)).weights_
            yield "one set", {"trained on": name}, {"training pairs": own.size, **accuracies(made, test, weights)}


def _of_coins(news: News, rows: Ints, coins: np.ndarray) -> dict[str, float]:
    strict, clear = news.labels[rows] != 3, news.is_clear[rows]
    return {"all": coins[strict].mean(), "Set1": coins[clear].mean(), "Set2": coins[strict & ~clear].mean()}


def _by_label(test: Pairs, labels: Ints, weights: Floats) -> Iterator[Found]:
    sizes = np.abs(test.scores(weights))
    for label in range(1, 6):
        keys: Row = {"label": label}
        yield "by label", keys, {"difference": sizes[labels == label].mean() / sizes[labels != 3].mean()}
