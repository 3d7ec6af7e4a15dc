"""The rankers that learn from a top-k truth, and the grids that validation queries choose their parameters from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from activeeval.rankers import (
    SVMMAP,
    AdaRank,
    FocusedBoost,
    FocusedNet,
    FocusedSVM,
    ListMLE,
    ListNet,
    RankBoost,
    RankNet,
    RankSVM,
)

# the step of Niu et al. (2012)
BETAS = [float(beta) for beta in np.round(np.linspace(0, 1, 21), 2)]
# losses are about 1 for a ranker that knows nothing; on fold 1 of MQ2008 costs from 1 to 100 are chosen
COSTS = [0.1, 1.0, 10.0, 100.0]
STEPS = [1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 100]
ROUNDS = [1, 2, 5, 10, 20, 30, 50, 100, 200, 300]

TOP_K_RANKERS: Mapping[str, tuple[Any, Mapping[str, list[Any]]]] = {
    "SVMMAP": (SVMMAP(), {"C": COSTS}),
    "RankSVM": (RankSVM(), {"C": COSTS}),
    "FocusedSVM": (FocusedSVM(), {"beta": BETAS, "C": COSTS}),
    "AdaRank": (AdaRank(), {"n_iter": ROUNDS, "max_repeats": [None, 1, 2, 5]}),
    "RankBoost": (RankBoost(), {"n_iter": ROUNDS, "n_thresholds": [None, 10, 30]}),
    "FocusedBoost": (FocusedBoost(), {"beta": BETAS, "n_iter": ROUNDS}),
    "ListNet": (ListNet(), {"n_iter": STEPS}),
    "RankNet": (RankNet(), {"n_iter": STEPS}),
    "FocusedNet": (FocusedNet(), {"beta": BETAS, "n_iter": STEPS}),
    "ListMLE": (ListMLE(k=10, rng=0), {"n_iter": STEPS}),
}
