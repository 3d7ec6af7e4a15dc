from activeeval.core.estimation.effective import effective_sample_size as effective_sample_size
from activeeval.core.estimation.estimators import (
    SCOPES as SCOPES,
    EstimatorResult as EstimatorResult,
    check_scope as check_scope,
    estimate as estimate,
    evaluate as evaluate,
    evaluated as evaluated,
    joint_degrees as joint_degrees,
    supported as supported,
    variance_shares as variance_shares,
)
from activeeval.core.estimation.evidence import (
    Evidence as Evidence,
    EvidenceArrays as EvidenceArrays,
    evidence_arrays as evidence_arrays,
    evidence_of as evidence_of,
)
from activeeval.core.estimation.further_looks import (
    confidence_after as confidence_after,
    p_value_after as p_value_after,
)
from activeeval.core.estimation.intervals import (
    INTERVALS as INTERVALS,
    GroupSequential as GroupSequential,
    InterimLook as InterimLook,
    IntervalKind as IntervalKind,
    Student as Student,
    find_interval as find_interval,
    looks_of as looks_of,
)
from activeeval.core.estimation.simultaneous import (
    certainly_better as certainly_better,
    hold_at_once as hold_at_once,
    pair_roots as pair_roots,
    rank_ranges as rank_ranges,
    simultaneous_confidence as simultaneous_confidence,
)
from activeeval.core.estimation.slopes import GradeSlope as GradeSlope, grade_slope as grade_slope
from activeeval.core.interval_ends import half_widths as half_widths
