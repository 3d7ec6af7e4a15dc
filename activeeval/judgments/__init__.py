"""What judges say of items: judgments of any form, what several of them count as, how far judges agree."""

from typing import TYPE_CHECKING

from activeeval.lazily import attached

_HOMES = {
    "activeeval.judgments.agreement": (
        "Agreements",
        "Coefficient",
        "GradeAgreement",
        "PreferenceAgreement",
        "agreements",
        "compare_agreement",
        "grade_agreement",
        "preference_agreement",
    ),
    "activeeval.judgments.coded": ("Grades", "Relations"),
    "activeeval.judgments.coefficients": ("chi_squared", "cohen_kappa", "gwet_ac", "krippendorff_alpha"),
    "activeeval.judgments.judgment": ("Judge", "Judgment"),
    "activeeval.judgments.table": ("Judgments",),
}
__all__ = [
    "Agreements",
    "Coefficient",
    "GradeAgreement",
    "Grades",
    "Judge",
    "Judgment",
    "Judgments",
    "PreferenceAgreement",
    "Relations",
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
    from activeeval.judgments.agreement import (
        Agreements,
        Coefficient,
        GradeAgreement,
        PreferenceAgreement,
        agreements,
        compare_agreement,
        grade_agreement,
        preference_agreement,
    )
    from activeeval.judgments.coded import Grades, Relations
    from activeeval.judgments.coefficients import chi_squared, cohen_kappa, gwet_ac, krippendorff_alpha
    from activeeval.judgments.judgment import Judge, Judgment
    from activeeval.judgments.table import Judgments

__getattr__, __dir__ = attached(__name__, _HOMES)
