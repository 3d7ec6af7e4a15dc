"""What is kept of a learned measure: the fields of its file."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from activeeval.gains.learner import GainDiscountLearner
from activeeval.gains.readout import told_apart
from activeeval.gains.stability import Stability
from activeeval.preferences.pairs import PreferenceData


def gains_fields(
    learner: GainDiscountLearner,
    data: PreferenceData,
    stability: Stability | None = None,
    level: float = 0.95,
    best_gain: float | None = None,
) -> dict[str, Any]:
    """Return the fields of a gains file, as plain numbers, texts and lists.

    Parameters
    ----------
    learner : GainDiscountLearner
        Fitted on ``data``.
    stability : Stability, optional
        Adds intervals: of gains as shares of the best grade's, of discounts as shares of the first rank's.
    best_gain : float, optional
        See `GainDiscountLearner.measure`; the weights stay on their own scale.
    """
    measure, found = learner.measure(best_gain), learner.read_out()
    table = np.outer(measure.discounts, measure.gains.values(learner.n_levels_))
    is_right = told_apart(data.differences(), table)[~data.ties] > 0
    chosen = next((choice for choice in learner.choices_ if choice.C == learner.C_), None)
    fields: dict[str, Any] = {
        "gains": measure.gains.values(learner.n_levels_).tolist(),
        "discounts": list(measure.discounts),
        "rank_one_share": found.rank_one_share,
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
        **asdict(learner.census_),
        "violated": learner.n_violated_,
        "violated_by_measure": int((~is_right).sum()),
        "unjudged": data.n_unjudged,
        "missing": data.n_missing,
        "cautions": list(learner.cautions_),
    }
    return fields if stability is None else fields | {"intervals": _intervals(stability, level)}


def _intervals(stability: Stability, level: float) -> dict[str, Any]:
    ends = {what: stability.interval(what, level) for what in ("gains", "discounts", "rank_one_shares")}
    return {
        "level": level,
        "resamples": len(stability.gains),
        "undetermined": stability.n_undetermined,
        "resampled": stability.unit,
        "units": stability.n_units,
        **{what: [low.tolist(), high.tolist()] for what, (low, high) in ends.items()},
    }
