"""The body of linear rankers that follow the gradient of a smooth loss; how far they follow it regularises them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from activeeval.core.checks import whole_number
from activeeval.core.types import Floats
from activeeval.rankers.linear import StagedRanker, within_queries
from activeeval.rankers.lists import JudgedLists
from activeeval.rankers.losses import Loss


class GradientRanker(StagedRanker):
    """Base of the rankers that descend from w = 0 by L-BFGS, whose first n steps do not depend on how many follow."""

    def __init__(self, n_iter: int = 50, standardize: bool = True) -> None:
        self.n_iter = n_iter
        self.standardize = standardize

    def _loss(self) -> Loss:
        raise TypeError("a ranker says what it minimises")

    def _check_parameters(self) -> None:
        whole_number(self.n_iter, "n_iter", 1)

    def _learn_columns(self, features: NDArray[Any]) -> None:
        self._learn_scaling(features, self.standardize)

    def _learn(self, columns: Floats, lists: JudgedLists) -> None:
        term, differences = self._loss().on(lists), within_queries(columns, lists)

        def value_and_gradient(weights: Floats) -> tuple[float, Floats]:
            value, pulls = term(differences @ weights)
            return value, pulls @ differences

        path = [np.zeros(columns.shape[1])]
        # its own stopping rules are off but for rounding: the number of steps is the regulariser
        minimize(
            value_and_gradient,
            path[0],
            jac=True,
            method="L-BFGS-B",
            callback=lambda weights: path.append(weights.copy()),
            options={"maxiter": int(self.n_iter), "maxfun": 100 * int(self.n_iter), "ftol": 1e-15, "gtol": 1e-10},
        )
        self._take_path(np.array(path))
