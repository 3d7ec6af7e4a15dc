"""Methods: a design and an estimator, as data, and the registry of those on offer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from activeeval.design import Design, defended, judging_costs, optimal_sampling_probs
from activeeval.errors import InputError
from activeeval.measures import Target

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Method:
    """How to choose queries and what to make of their judgments.

    Attributes
    ----------
    name : str
    when : str
        One line on when to use it.
    optimal : bool
        Sample by q* (Corollary 1); otherwise by p.
    ignores_model : bool
        Put the uniform grade distribution in the model's place.
    ignores_cost : bool
        Put λ ≡ 1 into q*; what judging costs is paid all the same.
    estimator : str
        A key of `activeeval.estimation.ESTIMATORS`.
    """

    name: str
    when: str
    optimal: bool = True
    ignores_model: bool = False
    ignores_cost: bool = False
    estimator: str = "ratio"

    def design(
        self,
        target: Target,
        grade_probs: ArrayLike | None = None,
        *,
        node_weights: ArrayLike | None = None,
        max_grade: int | None = None,
        defensive_share: float = 0.0,
    ) -> Design:
        """Return the method's design for a target.

        Parameters
        ----------
        grade_probs : array of float, shape (n_items, n_grades) or (n_nodes, n_items, n_grades), optional
            The grade model; needed by every method that samples by q* and does not ignore it.
        max_grade : int, optional
            Largest grade of the uniform model where neither `grade_probs` nor the measure says it.
        defensive_share : float
            ε of q ← (1 − ε) q* + ε p; 0 is the paper.

        Raises
        ------
        InputError
            Where the method needs a model and none is given.
        """
        pool = target.pool
        offsets, items = target.judging_lists()
        q = pool.query_probs
        mean = variance = np.full(pool.n_queries, np.nan)
        if self.optimal:
            probs = self._probs(target, grade_probs, max_grade)
            moments = target.moments(probs, None if self.ignores_model else node_weights)
            mean, variance = moments.mean, moments.variance
            spread = variance + (mean - pool.query_probs @ mean) ** 2
            costs = _design_costs(judging_costs(pool, offsets, items), float(pool.item_costs.min()))
            costs = np.ones(pool.n_queries) if self.ignores_cost else costs
            q = defended(optimal_sampling_probs(q, spread, costs), q, defensive_share)
        whole = np.ones(items.size)
        return Design(self.name, self.estimator, target, q, offsets, items, whole, mean, variance)

    def _probs(self, target: Target, grade_probs: ArrayLike | None, max_grade: int | None) -> ArrayLike:
        if not self.ignores_model:
            if grade_probs is None:
                raise InputError(f"method {self.name!r} needs a grade model: give grade_probs, or use active_uniD")
            return grade_probs
        n_grades = None if grade_probs is None else np.shape(grade_probs)[-1]
        top = target.measure.max_grade if target.measure.max_grade is not None else max_grade
        if n_grades is None and top is None:
            raise InputError(f"method {self.name!r} needs max_grade for its uniform model of {target.measure}")
        columns = n_grades if n_grades is not None else int(top) + 1  # type: ignore[arg-type]
        return np.full((target.pool.n_items, columns), 1.0 / columns)


def _design_costs(costs: Floats, cheapest_item: float) -> Floats:
    """Price a query with nothing to judge as the cheapest item: q* is not defined for a cost of 0."""
    return np.where(costs > 0, costs, cheapest_item)


METHODS = {
    method.name: method
    for method in (
        Method("passive", "the reference: queries drawn by traffic, judged whole", optimal=False),
        Method("active", "the paper's: a grade model is at hand and queries differ in cost"),
        Method("active_uniC", "active, but blind to cost: what a query costs is not known", ignores_cost=True),
        Method("active_uniD", "active without a grade model: nothing has been judged yet", ignores_model=True),
    )
}


def find_method(name: str) -> Method:
    """Return a method by its name, or say which there are."""
    if name not in METHODS:
        raise InputError(f"unknown method {name!r}; known: {', '.join(METHODS)}")
    return METHODS[name]
