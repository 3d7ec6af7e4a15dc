"""The body of linear rankers of largest margin; a ranker adds the loss that it minimises."""

from __future__ import annotations

import warnings
from typing import Any

from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from activeeval.core.checks import positive, whole_number
from activeeval.core.types import Floats
from activeeval.rankers.bundle import least_regularised
from activeeval.rankers.linear import ListRanker, within_queries
from activeeval.rankers.lists import JudgedLists
from activeeval.rankers.losses import Loss


class MarginRanker(ListRanker):
    """Base of the rankers that minimise ½‖w‖² + C · R(w) by a bundle method, R the loss of a subclass."""

    def __init__(self, C: float = 10.0, standardize: bool = True, tol: float = 1e-4, max_iter: int = 1000) -> None:
        self.C = C
        self.standardize = standardize
        self.tol = tol
        self.max_iter = max_iter

    def _loss(self) -> Loss:
        raise TypeError("a ranker says what it minimises")

    def _check_parameters(self) -> None:
        positive(self.C, "C")
        positive(self.tol, "tol")
        whole_number(self.max_iter, "max_iter", 1)

    def _learn_columns(self, features: NDArray[Any]) -> None:
        self._learn_scaling(features, self.standardize)

    def _learn(self, columns: Floats, lists: JudgedLists) -> None:
        term = self._loss().on(lists)
        solution = least_regularised(
            within_queries(columns, lists), term, float(self.C), float(self.tol), int(self.max_iter)
        )
        self.coef_, self.objective_, self.gap_ = solution.weights, solution.objective, solution.gap
        self.n_iter_ = solution.n_iter
        if not solution.converged:
            warnings.warn(
                f"{type(self).__name__} did not converge in {solution.n_iter} iterations: its objective"
                f" {solution.objective:.6g} may be {solution.gap:.2g} above the least one",
                ConvergenceWarning,
                stacklevel=3,
            )
