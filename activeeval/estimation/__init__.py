"""What a judged sample says about the pool: estimates and their intervals."""

from activeeval.estimation.effective import effective_sample_size
from activeeval.estimation.estimators import (
    SCOPES,
    Evaluated,
    check_scope,
    estimate,
    evaluate,
    evaluated,
    population_variance,
    variance_shares,
)
from activeeval.estimation.intervals import (
    INTERVALS,
    Bootstrap,
    GroupSequential,
    IntervalKind,
    Look,
    Skewed,
    Student,
    crossing_probs,
    find_interval,
    half_widths,
    looks_of,
    spending_boundaries,
)
from activeeval.estimation.samples import JudgedSample, JudgedSamples, judged_sample, judged_samples
from activeeval.estimation.simultaneous import (
    certainly_better,
    hold_at_once,
    pair_roots,
    rank_ranges,
    simultaneous_level,
)

__all__ = [
    "INTERVALS",
    "SCOPES",
    "Bootstrap",
    "Evaluated",
    "GroupSequential",
    "IntervalKind",
    "JudgedSample",
    "JudgedSamples",
    "Look",
    "Skewed",
    "Student",
    "certainly_better",
    "check_scope",
    "crossing_probs",
    "effective_sample_size",
    "estimate",
    "evaluate",
    "evaluated",
    "find_interval",
    "half_widths",
    "hold_at_once",
    "judged_sample",
    "judged_samples",
    "looks_of",
    "pair_roots",
    "population_variance",
    "rank_ranges",
    "simultaneous_level",
    "spending_boundaries",
    "variance_shares",
]
