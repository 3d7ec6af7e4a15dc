"""What judges said of items: grades and preferences, what several of them count as, how far they agree."""

from activeeval.judgments.agreement import (
    Coefficient,
    GradeAgreement,
    PreferenceAgreement,
    compare_agreement,
    grade_agreement,
    preference_agreement,
)
from activeeval.judgments.coefficients import chi_squared, cohen_kappa, krippendorff_alpha
from activeeval.judgments.opinions import Graded, Grades, Preferred, Relations
from activeeval.judgments.reading import read_opinions

__all__ = [
    "Coefficient",
    "GradeAgreement",
    "Graded",
    "Grades",
    "PreferenceAgreement",
    "Preferred",
    "Relations",
    "chi_squared",
    "cohen_kappa",
    "compare_agreement",
    "grade_agreement",
    "krippendorff_alpha",
    "preference_agreement",
    "read_opinions",
]
