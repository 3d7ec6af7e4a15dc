"""How small and how large the value of each query can be, whatever its labels are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from activeeval.errors import InputError
from activeeval.measures.doors import sealed, whole_number
from activeeval.measures.target import Target
from activeeval.measures.terms import CASCADE

Floats = NDArray[np.float64]


def value_bounds(target: Target, max_grade: int | None = None) -> tuple[Floats, Floats]:
    """Return the least and the largest value that each query can have.

    An item that could not be judged earns nothing, so 0 is always among what an item may earn. Additive
    measures: Σ of the extremes of c_i g, Δc_i g in a comparison. Cascades: a recursion from the last rank; in
    a comparison the extremes of both lists after the items they have in common at the top. nDCG and AP:
    [0, 1], in a comparison [−1, 1].

    Parameters
    ----------
    target : Target
    max_grade : int, optional
        The largest grade that a label can have; needed where the measure takes any.

    Returns
    -------
    low, high : ndarray, shape (n_queries,)

    Raises
    ------
    InputError
        Where the largest grade is not known, or a measure that divides by an ideal has a negative gain.

    Examples
    --------
    >>> from activeeval import DCG, QueryPool, Rankings
    >>> pool = QueryPool(["q1", "q2"], [0, 1, 3], ["a", "b", "c"])
    >>> low, high = value_bounds(Target(DCG(), Rankings.from_scores(pool, [1.0, 2.0, 1.0])), max_grade=1)
    >>> low.tolist(), high.round(3).tolist()
    ([0.0, 0.0], [1.0, 1.631])
    """
    top = target.measure.max_grade if target.measure.max_grade is not None else max_grade
    if top is None:
        raise InputError(f"{target.measure} takes any grade: say the largest, max_grade, to bound its values")
    terms = target.terms(whole_number(top, "max_grade", 1) + 1)
    least, most = min(float(terms.values.min()), 0.0), max(float(terms.values.max()), 0.0)
    n_queries = target.pool.n_queries
    if not terms.is_exact:
        if least < 0:
            raise InputError(f"{target.measure} has a negative gain, so its values have no bounds")
        return np.full(n_queries, 0.0 if target.versus is None else -1.0), np.ones(n_queries)
    if terms.numerator == CASCADE:
        return _of_cascade(target, sealed(terms.discounts), least, most)
    ends = target.contrast * np.array([[least], [most]])
    queries = target.pool.item_queries
    low, high = np.empty((2, n_queries))
    low[:] = np.bincount(queries, ends.min(axis=0), minlength=n_queries)
    high[:] = np.bincount(queries, ends.max(axis=0), minlength=n_queries)
    return low, high


def _of_cascade(target: Target, discounts: Floats, least: float, most: float) -> tuple[Floats, Floats]:
    from activeeval.kernels import intervals

    low, high = np.empty((2, target.pool.n_queries))
    lists = (target.ranking.offsets, target.ranking.items, target.other.offsets, target.other.items)
    intervals.cascade_bounds(*lists, discounts, least, most, low, high)
    return low, high
