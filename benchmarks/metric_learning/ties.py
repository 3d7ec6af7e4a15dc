"""Tied pairs in the program: score differences and accuracy as their weight grows, for both margins of a tie."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from activeeval.gains import PreferenceData
from benchmarks.metric_learning.data import EQUAL, ONE_LIST, TRUTHS, Floats, draw, learned, orders_of
from benchmarks.metric_learning.news import folds
from benchmarks.metric_learning.news_data import generate
from benchmarks.metric_learning.running import Found, Row

WEIGHTS = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0)
TIE_MARGINS = (1.0, 0.0)
TIED_SHARE, JUDGE_NOISE = 0.3, 0.3
N_PAIRS, N_TEST = (200, 800), 20_000


def simulated(rng: np.random.Generator) -> Iterator[Found]:
    """A judge feels the true difference and a little noise, and calls pairs tied where it feels small."""
    for name, truth in TRUTHS.items():
        train, test = (draw(orders_of(ONE_LIST), truth, n, rng) for n in (max(N_PAIRS), N_TEST))
        limit = float(np.quantile(np.abs(test.gaps), TIED_SHARE))
        tied = np.abs(test.gaps) < limit
        for n in N_PAIRS:
            felt = train.gaps + JUDGE_NOISE * test.gaps.std() * rng.normal(size=len(train))
            own = replace(train, gaps=felt)[:n]
            data = own.preferences(np.abs(own.gaps) < limit)
            yield from over_weights({"set": f"{name}, {n} pairs"}, data, test.scores, tied, np.sign(test.gaps))


def news(rng: np.random.Generator) -> Iterator[Found]:
    """The 473 ties of the news-shaped set, in five folds."""
    made = generate(rng)
    for train, test in folds(made, rng):
        held, labels = made.pairs[test], made.labels[test]
        yield from over_weights(
            {"set": "news-shaped"}, made.preferences(train), held.scores, labels == 3, np.sign(3 - labels)
        )


def over_weights(keys: Row, data: PreferenceData, scores, tied: np.ndarray, signs: Floats) -> Iterator[Found]:
    """Learn with C as cross-validation chooses it without ties, and ties of growing weight."""
    C = learned(data.subset(~data.ties)).C_
    for tie_margin in TIE_MARGINS:
        first: dict[str, float] = {}
        for C_ties in WEIGHTS:
            weights = learned(data, C=C, C_ties=C_ties, tie_margin=tie_margin).weights_
            found = scores(weights)
            sizes, rights = np.abs(found), found * signs > EQUAL
            values = {
                "tied difference": sizes[tied].mean(),
                "over that of untied": sizes[tied].mean() / sizes[~tied].mean(),
                "accuracy": rights[~tied].mean(),
                "precision, all pairs": rights[signs != 0].mean(),
                "log10 of C": np.log10(C),
            }
            first = first or values
            change = {f"{name}, change": values[name] - first[name] for name in list(values)[:4]}
            yield "ties", keys | {"tie_margin": tie_margin, "C_ties": C_ties}, values | change
