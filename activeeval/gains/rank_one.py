"""A test for gains that depend on the rank: likelihood ratio of free weights against gains times discounts.

The free model has a weight for every rank and grade, with the increments of its shape,

    P(preferred) = ε + (1 − 2ε) σ(s t / √(mean t²)),    t = Σ_k (w_{k,y_k} − w_{k,y'_k}),    w = M z, z ≥ 0,

and contains the model of `activeeval.gains.likelihood`, whose w_{k,y} = c_k g(y) has rank one. Twice the difference of
their largest log-likelihoods has no standard χ² distribution: increments lie on their bounds, and few preferences can
all be explained. Instead, a parametric bootstrap draws preferences between the same lists from the fitted rank-one
measure, and fits both models again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize

from activeeval.core.checks import whole_number
from activeeval.core.errors import InputError
from activeeval.core.types import Floats
from activeeval.gains.likelihood import Likelihood
from activeeval.gains.pairs import PreferenceData

_FIT = {"maxiter": 500, "ftol": 1e-9, "gtol": 1e-6}


@dataclass(frozen=True, slots=True, kw_only=True)
class RankOneTest:
    """Result of a test of preferences against gains times discounts.

    Attributes
    ----------
    statistic : float
        Twice the gain in log-likelihood of gains that depend on the rank.
    p_value : float
        Share of the bootstrap samples, the observed data included, with a statistic at least as large.
    n_bootstrap : int
    n_preferences : int
        Ties, and pairs of the same grades, left out.
    shape : {"decreasing", "monotone"}

    Examples
    --------
    >>> RankOneTest(statistic=3.1, p_value=0.4, n_bootstrap=199, n_preferences=300, shape="decreasing").p_value <= 0.05
    False
    """

    statistic: float
    p_value: float
    n_bootstrap: int
    n_preferences: int
    shape: str


def rank_one_test(
    data: PreferenceData, *, shape: str = "decreasing", n_bootstrap: int = 199, rng: np.random.Generator | int = 0
) -> RankOneTest:
    """Test whether gains times discounts explain preferences, against a gain for every rank and grade.

    Parameters
    ----------
    data : PreferenceData
        Pairs of graded lists.
    shape : {"decreasing", "monotone"}
        Constraint on both models: a better grade weighs no less ("monotone"), and in addition its advantage never grows
        with the rank ("decreasing").
    n_bootstrap : int
        Number of bootstrap samples; the smallest p-value is 1 / (n_bootstrap + 1).
    rng : Generator or int

    Returns
    -------
    RankOneTest
        Its p-value is at most .05 in no more than 5 % of the cases in which gains times discounts are true.

    Raises
    ------
    InputError
        On lists of documents without grades, on another shape, and if no preference is between different grades.

    Notes
    -----
    The test assumes independent preferences, also within a query.

    Examples
    --------
    >>> from activeeval import PreferenceData
    >>> lists = np.random.default_rng(0).integers(0, 3, size=(2, 300, 3))
    >>> weights = np.array([[0, 3, 4], [0, 0.2, 4], [0, 0, 1]])  # below the first rank, a grade of 1 is worth nothing
    >>> first, second = (weights[np.arange(3), side].sum(axis=1) for side in lists)
    >>> better = (first > second)[:, None]
    >>> data = PreferenceData(np.where(better, *lists), np.where(better, *lists[::-1]), ties=first == second)
    >>> bool(rank_one_test(data, shape="monotone", n_bootstrap=19).p_value <= 0.05)
    True
    """
    if data.documents:
        raise InputError("documents that nobody graded have no gains to test")
    if shape not in ("decreasing", "monotone"):
        raise InputError(f"shape must be decreasing or monotone, got {shape!r}")
    whole_number(n_bootstrap, "n_bootstrap", 1)
    chosen = np.flatnonzero(~data.ties & (data.preferred != data.other).any(axis=1))
    if not chosen.size:
        raise InputError("no preference is between lists of different grades, so there is nothing to test")
    likelihood = Likelihood.of(data.subset(chosen), shape == "decreasing")
    best = likelihood.best()
    observed = _gain(likelihood, best)
    random = np.random.default_rng(rng)
    chances = likelihood.chances(best)
    n_as_large = 0
    for _ in range(n_bootstrap):
        signs = np.where(random.random(chances.size) < chances, 1.0, -1.0)  # −1: the other list is preferred
        resample = replace(likelihood, rows=likelihood.rows * signs[:, None])
        n_as_large += _gain(resample, resample.best_from(best)) >= observed
    return RankOneTest(
        statistic=2 * observed,
        p_value=(1 + n_as_large) / (n_bootstrap + 1),
        n_bootstrap=n_bootstrap,
        n_preferences=int(chosen.size),
        shape=shape,
    )


def _gain(likelihood: Likelihood, best: Floats) -> float:
    """Compute the log-likelihood of the fitted free model minus that of the fitted gains times discounts.

    `best` has the variables z of the latter; the search for the free model starts there.
    """
    discounts, steps = np.split(best[:-2], [likelihood.n_ranks])
    start = np.concatenate((np.outer(discounts, steps).ravel(), best[-2:]))
    limits = [(0.0, None)] * (start.size - 2) + likelihood.limits[-2:]  # the last two: log s and ε
    search = minimize(_free_loss, start, (likelihood,), "L-BFGS-B", jac=True, bounds=limits, options=_FIT)
    return max(likelihood.loss(best)[0] - float(search.fun), 0.0)


def _free_loss(z: Floats, likelihood: Likelihood) -> tuple[float, Floats]:
    """Compute the negative log-likelihood of free weights, and its gradient by z.

    Here z holds the increments of a weight for every rank and grade, then log s and ε.
    """
    increments = z[:-2].reshape(likelihood.n_ranks, -1)
    value, by_weight, by_noise = likelihood.of_weights(likelihood.sums @ increments, z[-2], z[-1])
    return value, np.concatenate(((likelihood.sums.T @ by_weight).ravel(), by_noise))
