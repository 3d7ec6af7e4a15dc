"""What is kept of a learned measure: the fields of its file."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from activeeval.gains.intervals import GainIntervals
from activeeval.gains.learner import GainDiscountLearner
from activeeval.gains.pairs import PreferenceData
from activeeval.gains.readout import told_apart
from activeeval.gains.stability import Stability


def gains_fields(
    learner: GainDiscountLearner,
    data: PreferenceData,
    stability: Stability | None = None,
    confidence: float = 0.95,
    best_gain: float | None = None,
    intervals: GainIntervals | None = None,
) -> dict[str, Any]:
    """Return the fields of a gains file, as plain numbers, texts and lists.

    Parameters
    ----------
    learner : GainDiscountLearner
        Fitted on ``data``.
    stability : Stability, optional
        Adds the band that holds ``confidence`` of the resamples, which is no confidence interval.
    best_gain : float, optional
        See `GainDiscountLearner.measure`; the weights stay on their own scale.
    intervals : GainIntervals, optional
        Adds confidence intervals: of gains as shares of the best grade's, of discounts as shares of the first rank's.
    """
    measure, readout = learner.measure(best_gain), learner.read_out()
    table = np.outer(measure.discounts, measure.gains.values(learner.n_levels_))
    is_right = told_apart(data.differences(), table)[~data.ties] > 0
    chosen = next((choice for choice in learner.choices_ if choice.C == learner.C_), None)
    fields: dict[str, Any] = {
        "gains": measure.gains.values(learner.n_levels_).tolist(),
        "discounts": list(measure.discounts),
        "rank_one_share": readout.rank_one_share,
        "weights": learner.weights_.tolist(),
        "max_grade": learner.n_levels_ - 1,
        "depth": learner.n_ranks_,
        "C": learner.C_,
        "C_ties": learner.C_ties_,
        "shape": learner.shape,
        "margin": learner.margin,
        "tie_margin": learner.tie_margin,
        "held_out_precision": None if chosen is None else chosen.precision,
        "held_out_loss": None if chosen is None else chosen.loss,
        **asdict(learner.pair_summary_),
        "violated": learner.n_violated_,
        "violated_by_measure": int((~is_right).sum()),
        "unjudged": data.n_unjudged,
        "missing": data.n_missing,
        "cautions": [*learner.cautions_, *(() if intervals is None else intervals.cautions)],
    }
    if intervals is not None:
        fields["intervals"] = _intervals(intervals)
    return fields if stability is None else fields | {"stability": _stability(stability, confidence)}


def _intervals(intervals: GainIntervals) -> dict[str, Any]:
    return {
        "method": "likelihood ratio",
        "confidence": intervals.confidence,
        "turned": intervals.turned,
        "telling": intervals.n_telling,
        "independent": intervals.unit,
        "units": intervals.n_units,
        "gains": intervals.gains.tolist(),
        "discounts": intervals.discounts.tolist(),
    }


def _stability(stability: Stability, confidence: float) -> dict[str, Any]:
    ends = {what: stability.interval(what, confidence) for what in ("gains", "discounts", "rank_one_shares")}
    return {
        "method": "resampling, no confidence interval",
        "confidence": confidence,
        "resamples": len(stability.gains),
        "undetermined": stability.n_undetermined,
        "resampled": stability.unit,
        "units": stability.n_units,
        **{what: [low.tolist(), high.tolist()] for what, (low, high) in ends.items()},
    }
