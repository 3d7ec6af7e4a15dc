"""Result of learning a measure's gains and discounts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from activeeval.core.results import Caution
from activeeval.gains.learner import GainDiscountLearner
from activeeval.gains.pair_summary import PairSummary
from activeeval.gains.pairs import PreferenceData
from activeeval.gains.profile_intervals import GainIntervals
from activeeval.gains.readout import told_apart
from activeeval.gains.stability import Stability


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalEnds:
    """Lower and upper ends of confidence intervals, as stored in a gains file.

    Attributes
    ----------
    method : str
        "likelihood ratio".
    confidence : float
        Nominal coverage of each interval.
    turned : float
        Estimated share of the preferences reversed at random.
    telling : int
        Number of informative preferences.
    independent : str
        Unit assumed to be drawn independently: "queries" or "pairs".
    units : int
        Number of these units.
    gains, discounts : list of two lists of float
        Lower ends, then upper ends, by grade and by rank.
    """

    method: str
    confidence: float
    turned: float
    telling: int
    independent: str
    units: int
    gains: list[list[float]]
    discounts: list[list[float]]

    @classmethod
    def of(cls, intervals: GainIntervals) -> Self:
        """Convert intervals to plain numbers and lists."""
        return cls(
            method="likelihood ratio",
            confidence=intervals.confidence,
            turned=intervals.turned,
            telling=intervals.n_telling,
            independent=intervals.unit,
            units=intervals.n_units,
            gains=intervals.gains.tolist(),
            discounts=intervals.discounts.tolist(),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StabilityBand:
    """Lower and upper quantiles over resamples: not a confidence interval.

    Attributes
    ----------
    method : str
    confidence : float
        Share of the resamples within the band.
    resamples, undetermined : int
        Number of resamples that determine gains and discounts, and of those that do not.
    resampled : str
        Resampled unit: "queries" with all their pairs, or "pairs".
    units : int
        Number of these units.
    gains, discounts : list of two lists of float
        Lower ends, then upper ends, by grade and by rank.
    rank_one_shares : list of two floats
        Ends for the share of the squared weights that gains times discounts explain.
    """

    method: str
    confidence: float
    resamples: int
    undetermined: int
    resampled: str
    units: int
    gains: list[list[float]]
    discounts: list[list[float]]
    rank_one_shares: list[float]

    @classmethod
    def of(cls, stability: Stability, confidence: float) -> Self:
        """Compute the band that holds a share ``confidence`` of the resamples."""
        bands = (stability.interval(name, confidence) for name in ("gains", "discounts", "rank_one_shares"))
        gains, discounts, shares = ([low.tolist(), high.tolist()] for low, high in bands)
        return cls(
            method="resampling, no confidence interval",
            confidence=confidence,
            resamples=len(stability.gains),
            undetermined=stability.n_undetermined,
            resampled=stability.unit,
            units=stability.n_units,
            gains=gains,
            discounts=discounts,
            rank_one_shares=shares,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedGains:
    """Learned gains and discounts with the settings and diagnostics of the fit, as plain numbers, texts and lists.

    Attributes
    ----------
    gains, discounts : list of float
        Of the measure: by grade and by rank.
    rank_one_share : float
        Share of the squared weights explained by gains times discounts.
    weights : list of list of float
        Rows by rank, columns by grade.
    by_rank : bool
        True if the weights are the measure, in place of gains and discounts.
    max_grade, depth : int
    C, C_ties : float
    shape, margin : str
    tie_margin : float
        Parameters of `GainDiscountLearner`: weights of a preference's and a tie's loss, constraint, margins.
    held_out_precision, held_out_loss : float or None
        Share of held-out preferences ordered correctly and their mean loss, at the chosen C; None if C was preset.
    pairs : PairSummary
    violated, violated_by_measure : int
        Number of preferences misordered by the weights, and by gains and discounts.
    unjudged, missing : int
        Number of list positions without a judged item, and without any item.
    cautions : tuple of Caution
    intervals : IntervalEnds or None
    stability : StabilityBand or None
    """

    gains: list[float]
    discounts: list[float]
    rank_one_share: float
    weights: list[list[float]]
    max_grade: int
    depth: int
    C: float
    C_ties: float
    shape: str
    margin: str
    tie_margin: float
    held_out_precision: float | None
    held_out_loss: float | None
    pairs: PairSummary
    violated: int
    violated_by_measure: int
    unjudged: int
    missing: int
    cautions: tuple[Caution, ...]
    by_rank: bool = False
    intervals: IntervalEnds | None = None
    stability: StabilityBand | None = None

    @classmethod
    def of(
        cls,
        learner: GainDiscountLearner,
        data: PreferenceData,
        stability: Stability | None = None,
        confidence: float = 0.95,
        best_gain: float | None = None,
        intervals: GainIntervals | None = None,
        by_rank: bool = False,
    ) -> Self:
        """Collect the results of a fitted learner.

        Parameters
        ----------
        learner : GainDiscountLearner
            Fitted on ``data``.
        stability : Stability, optional
            Adds the band that holds ``confidence`` of the resamples, which is not a confidence interval.
        best_gain : float, optional
            Gain of the best grade in the measure; by default on the scale of the weights, which keep their own scale
            unless they are the measure.
        intervals : GainIntervals, optional
            Adds confidence intervals: of gains as shares of the best grade's, of discounts as shares of the first
            rank's.
        by_rank : bool
            True if the weights are the measure.
        """
        measure = learner.measure(best_gain)
        gains = measure.gains.values(learner.n_levels_)
        is_right = told_apart(data.differences(), np.outer(measure.discounts, gains))[~data.ties] > 0
        chosen = next((choice for choice in learner.choices_ if choice.C == learner.C_), None)
        return cls(
            gains=gains.tolist(),
            discounts=list(measure.discounts),
            rank_one_share=learner.read_out().rank_one_share,
            weights=[list(row) for row in learner.rank_gains(best_gain).gains]
            if by_rank
            else learner.weights_.tolist(),
            by_rank=by_rank,
            max_grade=learner.n_levels_ - 1,
            depth=learner.n_ranks_,
            C=learner.C_,
            C_ties=learner.C_ties_,
            shape=learner.shape,
            margin=learner.margin,
            tie_margin=learner.tie_margin,
            held_out_precision=None if chosen is None else chosen.precision,
            held_out_loss=None if chosen is None else chosen.loss,
            pairs=learner.pair_summary_,
            violated=learner.n_violated_,
            violated_by_measure=int((~is_right).sum()),
            unjudged=data.n_unjudged,
            missing=data.n_missing,
            cautions=(*learner.cautions_, *(() if intervals is None else intervals.cautions)),
            intervals=None if intervals is None else IntervalEnds.of(intervals),
            stability=None if stability is None else StabilityBand.of(stability, confidence),
        )
