"""Bootstrap of learned gains and discounts: their variation over resampled pairs, which ignores bias.

The penalty biases every resample as it biases the fit, and with few kinds of pairs all resamples are alike: the band
of the resamples then misses the truth. Confidence intervals are those of `activeeval.gains.gain_intervals`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.utils.validation import check_is_fitted

from activeeval.core.checks import strict_share, whole_number
from activeeval.core.errors import InputError
from activeeval.core.types import Floats
from activeeval.gains.learner import GainDiscountLearner, check_alike
from activeeval.gains.pairs import PreferenceData
from activeeval.gains.readout import read_out


@dataclass(frozen=True, slots=True, eq=False)
class Stability:
    """Gains and discounts learned from resampled pairs.

    Attributes
    ----------
    gains : ndarray, shape (n, L)
        As shares of the best grade's gain.
    discounts : ndarray, shape (n, K)
        As shares of the first rank's.
    rank_one_shares : ndarray, shape (n,)
        Share of the squared weights that gains times discounts explain.
    n_undetermined : int
        Number of resamples without a discount of the first rank; they are left out.
    unit : str
        Resampled unit: ``"queries"`` with all their pairs, or ``"pairs"`` if there is one query or none is known.
    n_units : int
        Number of units; with few of them the band is rough.
    """

    gains: Floats
    discounts: Floats
    rank_one_shares: Floats
    n_undetermined: int
    unit: str
    n_units: int

    def interval(self, what: str, confidence: float = 0.95) -> tuple[Floats, Floats]:
        """Compute the ends (low, high) of the stability band of ``"gains"``, ``"discounts"`` or ``"rank_one_shares"``.

        The ends are quantiles over the resamples, so that a share ``confidence`` of them lies within. The band shows
        the variation of the pairs, neither the bias by the penalty nor the values that the pairs leave open: it is not
        a confidence interval (see `gain_intervals`).

        Raises
        ------
        InputError
            If `what` is another name, or the confidence is not between 0 and 1.
        """
        if what not in ("gains", "discounts", "rank_one_shares"):
            raise InputError(f"there are intervals of gains, discounts and rank_one_shares, not of {what!r}")
        strict_share(confidence, "confidence")
        low, high = np.quantile(getattr(self, what), [(1 - confidence) / 2, (1 + confidence) / 2], axis=0)
        return low, high


def bootstrap_gains(
    learner: GainDiscountLearner,
    data: PreferenceData,
    n_resamples: int = 200,
    rng: np.random.Generator | int | None = None,
) -> Stability:
    """Fit gains and discounts to resampled pairs at the learner's C, for a stability band, not a confidence interval.

    Queries are drawn with replacement, with all their pairs; if there is one query or none is known, pairs are.

    Parameters
    ----------
    learner : GainDiscountLearner
        Fitted on ``data``.
    n_resamples : int
    rng : Generator, int or None
        Random state of the resamples.

    Raises
    ------
    InputError
        If the pairs do not fit the learner, or no resample determines gains and discounts.

    Examples
    --------
    >>> from activeeval import GainDiscountLearner, PreferenceData
    >>> lists = np.random.default_rng(0).integers(0, 3, size=(2, 200, 4))
    >>> first, second = (np.array([0, 1, 3])[side] @ [1, 0.6, 0.5, 0.4] for side in lists)
    >>> better = (first > second)[:, None]
    >>> data = PreferenceData(np.where(better, *lists), np.where(better, *lists[::-1]), ties=first == second)
    >>> stability = bootstrap_gains(GainDiscountLearner(C=10.0).fit(data), data, n_resamples=20, rng=0)
    >>> stability.gains.shape, stability.gains[:, 1].mean().round(1)
    ((20, 3), np.float64(0.3))
    """
    n_resamples = whole_number(n_resamples, "n_resamples", 1)
    check_is_fitted(learner)
    check_alike(data, learner.n_ranks_, learner.n_levels_, learner.documents_)
    if data.documents:
        raise InputError("documents that nobody graded have no gains that could be stable")
    random = np.random.default_rng(rng)
    program, groups = learner.program(data), data.groups()
    n_groups = int(groups.max()) + 1
    readouts = []
    for _ in range(n_resamples):
        counts = np.bincount(random.integers(n_groups, size=n_groups), minlength=n_groups)[groups]
        try:
            readouts.append(read_out(program.solve(learner.C_, counts)))
        except InputError:
            continue
    if not readouts:
        why = "too few pairs, or were preferred and other exchanged?"
        raise InputError(f"none of {n_resamples} resamples tells gains and discounts: {why}")
    return Stability(
        np.array([readout.gains for readout in readouts]),
        np.array([readout.discounts for readout in readouts]),
        np.array([readout.rank_one_share for readout in readouts]),
        n_resamples - len(readouts),
        "queries" if data.is_grouped else "pairs",
        n_groups,
    )
