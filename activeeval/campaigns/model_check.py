"""Check the calibration of the grade model: expected against given grades of the judged items.

Judged items were chosen with unequal probabilities, so each has weight 1 / inclusion probability: a bin then represents
all items of the pool with similar expected grades. With these weights w, d = grade − expected and D = Σ w d / Σ w in a
bin, the standard error is that of a ratio with queries as clusters, because grades within a query are correlated:

    e_q = Σ_{i of q} w_i (d_i − D),        SE² = n / (n − 1) Σ e_q² / (Σ w)²,        n the queries of the bin,

which treats queries as drawn with replacement and is therefore slightly too large. If few grades differ it is too
small: 25 items with a low expected grade may all have grade 0. So the test uses the model's own variance of grades,
Σ w² Var(grade) / (Σ w)², if that is larger. The model is rejected if a bin, or all items together, have |D| / SE beyond
the t quantile at 5 % with Bonferroni correction. The degrees of freedom are the effective number of queries less one:
(Σ W_q)² / Σ W_q² − 1, W_q = Σ w of q. With a correct model, with and without a query factor that is unknown to it, 0.2
to 1.2 % of 1,000 campaigns each, of 40 queries by 3 and 100 by 4 items, rejected it.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import stdtr

from activeeval.campaigns.report.content import finite
from activeeval.campaigns.report.judges_content import Calibration, CalibrationBin
from activeeval.campaigns.state import CampaignState
from activeeval.core.campaign.probabilities import item_probabilities
from activeeval.core.types import Floats, Ints
from activeeval.sampling.drawn_sample import DrawnSample

MOST_BINS, FEWEST_ITEMS, FEWEST_QUERIES = 6, 20, 8
"""Maximum number of bins; minimum of judged items in a bin; minimum of queries for a test of a bin. With 20 items a
standard error has a relative error of at least a sixth; with 8 queries the t test still roughly keeps its level."""
FALSE_ALARMS = 0.05


def calibrations(state: CampaignState) -> list[Calibration]:
    """Check the calibration of the grade model of each round (sample) that is used in estimates.

    Judged items are put into bins of similar expected grade. Weighted by 1 / inclusion probability, the mean given
    grade of a bin is compared with the mean expected grade. Empty for designs without a model, and for top-k judging:
    ranks are not grades that the model predicts.
    """
    if state.block == 0 or not state.campaign.judging.has_grades:
        return []
    rows = (_of_round(k + 1, sample) for k, sample in enumerate(state.read))
    return [row for row in rows if row is not None]


def _of_round(number: int, sample: DrawnSample) -> Calibration | None:
    """Check the grade model of one round in bins of expected grades, and over all items.

    Return None without a model, or without judged items in complete blocks (parts of the sample). The p-value is the
    smallest of all tests times their number (Bonferroni).

    Parameters
    ----------
    number : int
        Number of the round, from 1.
    sample : DrawnSample
        Its sample with the judgments.
    """
    campaign = sample.campaign
    design, (block, level) = campaign.design, campaign.complete_block  # number of complete blocks, and where they end
    if design.beliefs is None or block == 0:  # beliefs: the grade model's probabilities
        return None
    units = [unit for unit in campaign.units if campaign.block_of(unit) <= block]
    items = np.array([item for unit in units for item in unit.items], dtype=np.int64)
    labels = campaign.labels
    items = items[labels.grades[items] >= 0]
    if items.size == 0:
        return None
    expected, variances = design.beliefs.expected_grades()
    columns = np.stack(  # expected grade, its variance, given grade and weight of each item
        (
            expected[items],
            variances[items],
            labels.values(np.arange(labels.largest + 1.0))[items],  # the mean, if several judges' grades count
            1 / item_probabilities(campaign, level)[items],
        )
    )
    queries, codes = design.pool.item_queries[items], code_of(expected[items])
    bins = [_compared(columns[:, codes == k], queries[codes == k]) for k in range(int(codes.max()) + 1)]
    whole = _compared(columns, queries)
    # index 0 is the test over all items, k the test of bin k − 1
    known = [(p, k) for k, part in enumerate([whole, *bins]) if (p := part.p_value) is not None]
    if not known:
        return Calibration(round=number, bins=bins, all=whole, is_off=None, p_value=None, worst=None)
    least, worst = min(known)
    p = min(1.0, least * len(known))
    return Calibration(
        round=number, bins=bins, all=whole, is_off=p < FALSE_ALARMS, p_value=p, worst=worst - 1 if worst else "all"
    )


def code_of(expected: Floats) -> Ints:
    """Assign each expected grade to a bin, from 0: bins of similar size, equal values in the same bin.

    Shapes (n_items,). There are at most `MOST_BINS` bins, of about `FEWEST_ITEMS` items or more.
    """
    n_bins = max(1, min(MOST_BINS, expected.size // FEWEST_ITEMS))
    edges = np.unique(np.quantile(expected, np.linspace(0, 1, n_bins + 1)[1:-1]))
    codes = np.searchsorted(edges, expected, side="left")
    return np.unique(codes, return_inverse=True)[1]  # numbered without gaps: a bin may be empty


def _compared(columns: Floats, queries: Ints) -> CalibrationBin:
    """Compare expected and given grades of n items, as one bin.

    With weights w and d = given − expected grade, the gap is D = Σ w d / Σ w. With e_q = Σ w (d − D) over the items of
    query q and m queries, its standard error is √(m / (m − 1) Σ e_q²) / Σ w (clustered by query), or that by the
    model's own variance, √(Σ w² Var) / Σ w, if larger. The standard error of the mean given grade is the first of these
    with grade − mean in place of d − D.

    Parameters
    ----------
    columns : array of shape (4, n)
        Expected grade, its variance under the model, given grade, and weight (1 / inclusion probability).
    queries : array of shape (n,)
        Index of each item's query.
    """
    expected, variances, observed, weights = columns
    total, code = float(weights.sum()), np.unique(queries, return_inverse=True)[1]
    mean_expected, mean_observed = float(weights @ expected) / total, float(weights @ observed) / total
    gap = mean_observed - mean_expected
    squares, gaps = (  # squared sums over each query
        np.asarray(np.bincount(code, weights * deviations) ** 2, dtype=np.float64)
        for deviations in (observed - mean_observed, observed - expected - gap)
    )
    spread = _clustered(gaps)  # variance of the sum of w d; a gap of 0 in each query says nothing about the error
    spread = max(spread, float(weights**2 @ variances)) if spread > 0 else math.nan
    return CalibrationBin(
        expected=mean_expected,
        observed=mean_observed,
        lowest=float(expected.min()),
        highest=float(expected.max()),
        gap=gap,
        std_error=finite(math.sqrt(_clustered(squares)) / total) or None,  # 0 if all grades are equal: unknown
        gap_std_error=finite(math.sqrt(spread) / total),
        p_value=_p_value(gap * total / math.sqrt(spread), np.asarray(np.bincount(code, weights), dtype=np.float64)),
        items=int(expected.size),
        queries=int(squares.size),
    )


def _clustered(squares: Floats) -> float:
    """Estimate the variance of a sum over n clusters from their squared totals: n / (n − 1) Σ squares.

    ``squares`` has shape (n,). NaN for one cluster.
    """
    n = squares.size
    return n / (n - 1) * float(squares.sum()) if n > 1 else math.nan


def _p_value(errors: float, weights: Floats) -> float | None:
    """Compute the two-sided p-value of a gap; None if there are fewer than `FEWEST_QUERIES` queries or it is undefined.

    Parameters
    ----------
    errors : float
        The gap divided by its standard error.
    weights : array of shape (n_queries,)
        Sum W_q of the items' weights in each query. Degrees of freedom of the t test: (Σ W_q)² / Σ W_q² − 1.
    """
    if weights.size < FEWEST_QUERIES or math.isnan(errors):
        return None
    freedom = float(weights.sum()) ** 2 / float(weights @ weights) - 1
    return 2 * float(stdtr(freedom, -abs(errors))) if freedom >= 1 else None
