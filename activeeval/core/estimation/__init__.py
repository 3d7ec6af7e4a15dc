"""What a judged sample says about the pool: estimates and their intervals."""

from activeeval.core.estimation.effective import effective_sample_size
from activeeval.core.estimation.estimators import (
    SCOPES,
    Evaluated,
    check_scope,
    estimate,
    evaluate,
    evaluated,
    joint_degrees,
    supported,
    variance_shares,
)
from activeeval.core.estimation.evidence import Evidence, EvidenceArrays, evidence_arrays, evidence_of
from activeeval.core.estimation.further_looks import confidence_after, p_value_after
from activeeval.core.estimation.intervals import (
    INTERVALS,
    GroupSequential,
    IntervalKind,
    Look,
    Student,
    find_interval,
    looks_of,
)
from activeeval.core.estimation.simultaneous import (
    certainly_better,
    hold_at_once,
    pair_roots,
    rank_ranges,
    simultaneous_confidence,
)
from activeeval.core.estimation.slopes import GradeSlope, grade_slope
from activeeval.core.interval_ends import half_widths

__all__ = [
    "INTERVALS",
    "SCOPES",
    "Evaluated",
    "Evidence",
    "EvidenceArrays",
    "GradeSlope",
    "GroupSequential",
    "IntervalKind",
    "Look",
    "Student",
    "certainly_better",
    "check_scope",
    "confidence_after",
    "effective_sample_size",
    "estimate",
    "evaluate",
    "evaluated",
    "evidence_arrays",
    "evidence_of",
    "find_interval",
    "grade_slope",
    "half_widths",
    "hold_at_once",
    "joint_degrees",
    "looks_of",
    "p_value_after",
    "pair_roots",
    "rank_ranges",
    "simultaneous_confidence",
    "supported",
    "variance_shares",
]
