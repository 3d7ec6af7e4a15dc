"""Judging by comparison: the k best items of a query out of answers on pairs, and how far judges agree."""

from activeeval.judging.agreement import (
    Coefficient,
    GradeAgreement,
    PreferenceAgreement,
    compare_agreement,
    grade_agreement,
    preference_agreement,
)
from activeeval.judging.coefficients import chi_squared, cohen_kappa, krippendorff_alpha
from activeeval.judging.opinions import Graded, Grades, Preferred, Relations
from activeeval.judging.outlook import Expected, Remaining, expected_comparisons
from activeeval.judging.reading import read_opinions
from activeeval.judging.topk import Answer, Discard, TopKLabelling

__all__ = [
    "Answer",
    "Coefficient",
    "Discard",
    "Expected",
    "GradeAgreement",
    "Graded",
    "Grades",
    "PreferenceAgreement",
    "Preferred",
    "Relations",
    "Remaining",
    "TopKLabelling",
    "chi_squared",
    "cohen_kappa",
    "compare_agreement",
    "expected_comparisons",
    "grade_agreement",
    "krippendorff_alpha",
    "preference_agreement",
    "read_opinions",
]
