from activeeval.core.judgments.agreement import (
    Agreements as Agreements,
    GradeAgreement as GradeAgreement,
    PreferenceAgreement as PreferenceAgreement,
    agreements as agreements,
    compare_agreement as compare_agreement,
    grade_agreement as grade_agreement,
    preference_agreement as preference_agreement,
)
from activeeval.core.judgments.coded_grades import CodedGrades as CodedGrades
from activeeval.core.judgments.coefficient_intervals import Coefficient as Coefficient
from activeeval.core.judgments.coefficients import (
    chi_squared as chi_squared,
    cohen_kappa as cohen_kappa,
    gwet_ac as gwet_ac,
    krippendorff_alpha as krippendorff_alpha,
)
from activeeval.core.judgments.judgment import Judge as Judge, Judgment as Judgment
from activeeval.core.judgments.table import Judgments as Judgments
