from activeeval.core.grade_models.base import GradeModel as GradeModel
from activeeval.core.grade_models.calibration import (
    CalibrationReport as CalibrationReport,
    calibration_report as calibration_report,
)
from activeeval.core.grade_models.cross_fitting import cross_fitted_probs as cross_fitted_probs
from activeeval.core.grade_models.featureless import (
    GivenProbabilities as GivenProbabilities,
    UniformGradeModel as UniformGradeModel,
)
from activeeval.core.grade_models.features import feature_names as feature_names, run_features as run_features
from activeeval.core.grade_models.forest import ForestGradeModel as ForestGradeModel
from activeeval.core.grade_models.grader import GraderModel as GraderModel
from activeeval.core.grade_models.mixture import (
    MixtureGradeModel as MixtureGradeModel,
    learned_weights as learned_weights,
    worth_fitting as worth_fitting,
)
from activeeval.core.grade_models.ordered_logit import OrderedLogitModel as OrderedLogitModel
from activeeval.core.grade_models.probabilities import (
    average_probabilities as average_probabilities,
    expected_grade as expected_grade,
    log_loss as log_loss,
)
from activeeval.core.grade_models.query_factor import QueryFactor as QueryFactor
from activeeval.core.grade_models.refit import ValueRefit as ValueRefit
from activeeval.core.grade_models.tuning import tune_grade_model as tune_grade_model
