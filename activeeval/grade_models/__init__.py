"""Models of the grade, p(y = k | item): what sampling designs are made from.

Each is a scikit-learn classifier whose classes are the grades 0 … Y; ``predict_proba`` has shape
(n, n_grades) and rows that sum to 1. A model is only a proposal: an estimate stays consistent
whatever it says, it only gets wider.
"""

from activeeval.grade_models.base import GradeModel
from activeeval.grade_models.features import feature_names, run_features
from activeeval.grade_models.files import load_model, save_model
from activeeval.grade_models.forest import ForestGradeModel
from activeeval.grade_models.given import GivenProbabilities
from activeeval.grade_models.mixture import MixtureGradeModel
from activeeval.grade_models.ordered_logit import OrderedLogitModel
from activeeval.grade_models.probabilities import average_probabilities, expected_grade, log_loss
from activeeval.grade_models.tuning import TuningRow, tune_grade_model
from activeeval.grade_models.uniform import UniformGradeModel

__all__ = [
    "ForestGradeModel",
    "GivenProbabilities",
    "GradeModel",
    "MixtureGradeModel",
    "OrderedLogitModel",
    "TuningRow",
    "UniformGradeModel",
    "average_probabilities",
    "expected_grade",
    "feature_names",
    "load_model",
    "log_loss",
    "run_features",
    "save_model",
    "tune_grade_model",
]
