"""What judges said of items: grades and preferences, what several of them count as, how far they agree.

The names are imported when they are first used: whoever wants the log alone waits for nothing else.
"""

from typing import TYPE_CHECKING

from activeeval.lazily import attached

_HOMES = {
    "activeeval.judgments.agreement": (
        "Coefficient",
        "GradeAgreement",
        "PreferenceAgreement",
        "compare_agreement",
        "grade_agreement",
        "preference_agreement",
    ),
    "activeeval.judgments.coefficients": ("chi_squared", "cohen_kappa", "krippendorff_alpha"),
    "activeeval.judgments.opinions": ("Graded", "Grades", "Preferred", "Relations"),
    "activeeval.judgments.reading": ("read_opinions",),
}
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

if TYPE_CHECKING:
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

__getattr__, __dir__ = attached(__name__, _HOMES)
