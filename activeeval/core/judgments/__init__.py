"""What judges say of items: judgments of any form, what several of them count as, how far judges agree."""

from typing import TYPE_CHECKING

from activeeval.core.lazily import attached

_HOMES = {
    "activeeval.core.judgments.agreement": (
        "Agreements",
        "GradeAgreement",
        "PreferenceAgreement",
        "agreements",
        "compare_agreement",
        "grade_agreement",
        "preference_agreement",
    ),
    "activeeval.core.judgments.coded": ("CodedGrades",),
    "activeeval.core.judgments.coefficient_intervals": ("Coefficient",),
    "activeeval.core.judgments.coefficients": ("chi_squared", "cohen_kappa", "gwet_ac", "krippendorff_alpha"),
    "activeeval.core.judgments.judgment": ("Judge", "Judgment"),
    "activeeval.core.judgments.table": ("Judgments",),
}
__all__ = [
    "Agreements",
    "CodedGrades",
    "Coefficient",
    "GradeAgreement",
    "Judge",
    "Judgment",
    "Judgments",
    "PreferenceAgreement",
    "agreements",
    "chi_squared",
    "cohen_kappa",
    "compare_agreement",
    "grade_agreement",
    "gwet_ac",
    "krippendorff_alpha",
    "preference_agreement",
]

if TYPE_CHECKING:
    from activeeval.core.judgments.agreement import (
        Agreements,
        GradeAgreement,
        PreferenceAgreement,
        agreements,
        compare_agreement,
        grade_agreement,
        preference_agreement,
    )
    from activeeval.core.judgments.coded import CodedGrades
    from activeeval.core.judgments.coefficient_intervals import Coefficient
    from activeeval.core.judgments.coefficients import chi_squared, cohen_kappa, gwet_ac, krippendorff_alpha
    from activeeval.core.judgments.judgment import Judge, Judgment
    from activeeval.core.judgments.table import Judgments

__getattr__, __dir__ = attached(__name__, _HOMES)
