"""Models without features: equal probabilities, and probabilities from elsewhere, recalibrated against labels."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.base import clone

from activeeval.core.errors import InputError
from activeeval.core.grade_models.base import GradeModel
from activeeval.core.grade_models.probabilities import as_grades, as_probabilities, from_cumulative
from activeeval.core.types import Floats, Ints

# To which rows must sum to 1: a cumulative probability below it is rounding.
SMALLEST_CUMULATIVE = 1e-6
# 32 standard deviations of the prior at its default precision: they keep the search finite where there is hardly one.
LOG_SLOPE_BOUNDS = (-5.0, 5.0)
# The prior gives a threshold's own shift half the spread of the shared one. Simulated with four grades and 300 labels,
# 4 against 1: .0015 less log-loss is lost on calibrated probabilities, .06 of .25 less is won back where thresholds are
# shifted apart.
OWN_SHIFT = 4.0


class UniformGradeModel(GradeModel):
    """Every grade is equally probable, p(y = k) = 1/(Y + 1): where no model is at hand.

    Parameters
    ----------
    max_grade : int, optional
        Largest grade Y. With it the model needs no fit; without, `fit` takes the largest grade.

    Examples
    --------
    >>> UniformGradeModel(max_grade=1).predict_proba([[3.0], [4.0]])
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """

    def __init__(self, max_grade: int | None = None) -> None:
        self.max_grade = max_grade

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Take the number of grades from `max_grade` or else from the training grades."""
        top = self._check_max_grade()
        shape = np.shape(X)
        if not shape:
            raise InputError("X must have one row for each item")
        if y is not None:
            grades = as_grades(y, shape[0], top)
            top = int(grades.max(initial=0)) if top is None else top
        if not top:
            raise InputError("the number of grades is unknown: give max_grade, or training grades above 0")
        self.n_features_in_ = shape[1] if len(shape) > 1 else 1
        self.classes_ = np.arange(top + 1)
        return self

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return 1/(Y + 1) for every row and grade, shape (n, n_grades); only X's length matters."""
        n_grades = (self if hasattr(self, "classes_") else clone(self).fit(X)).classes_.size
        return np.full((np.shape(X)[0], n_grades), 1.0 / n_grades)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "classes_") or self.max_grade is not None


class GivenProbabilities(GradeModel):
    """Given probabilities of the grades (an LLM judge's, a click model's), recalibrated if labels are at hand.

    The features *are* the probabilities, one column for each grade. With labels `fit` learns

        logit p'(y ≤ k) = a · logit p(y ≤ k) − b_k,      a > 0,

    by the logistic losses of all thresholds {y ≤ k} and a Gaussian prior around the identity:
    log a ~ N(0, 1/π), b_k = b + d_k with b ~ N(0, 1/π) and d_k ~ N(0, 1/(4π)), so that a shift which
    all thresholds share is learned first. Rows whose p'(y ≤ k) cross, which different b_k allow,
    are rearranged (sorted). Without labels nothing is changed.

    Parameters
    ----------
    recalibrate : bool
        False passes the probabilities through even where labels are given.
    max_grade : int, optional
        Columns of zeros are added up to this grade; by default the columns of X are the grades.
    prior_precision : float
        π, above. A label informs on a shift by at most 1/4 for each threshold, so that 40 weighs as
        much as 160 labels of two grades. Measured with four grades: labels of calibrated
        probabilities raise the log-loss of 1.1 by 0.004 at most, at any number of them; 30 labels
        of distorted ones win back a quarter to a half of what the distortion costs, 300 three
        quarters or more; but only a third where each threshold is shifted by another amount.

    Attributes
    ----------
    slope_ : float
        a.
    shifts_ : ndarray, shape (``n_features_in_`` − 1,)
        b_k; positive shifts mean higher grades.

    Examples
    --------
    >>> GivenProbabilities().fit([[0.25, 0.75]]).predict_proba([[0.25, 0.75]])
    array([[0.25, 0.75]])
    """

    def __init__(self, recalibrate: bool = True, max_grade: int | None = None, prior_precision: float = 40.0) -> None:
        self.recalibrate = recalibrate
        self.max_grade = max_grade
        self.prior_precision = prior_precision

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Learn the recalibration.

        Parameters
        ----------
        X : array of float, shape (n, n_grades)
            Given probabilities; rows sum to 1 to 1e-6.
        y : array of int, shape (n,), optional
            Grades from 0; rows that are not judged must be left out. None learns nothing.

        Raises
        ------
        InputError
            Names the first row that is wrong.
        """
        top = self._check_max_grade()
        if not self.prior_precision > 0:
            raise InputError(f"prior_precision must be positive, got {self.prior_precision!r}")
        probs = as_probabilities(X, "X")
        n_columns = probs.shape[1]
        if n_columns < 2:
            raise InputError("X has one column, one for each of at least two grades is expected")
        if top is not None and n_columns > top + 1:
            raise InputError(f"X has {n_columns} columns, max_grade allows {top + 1}")
        self.n_features_in_ = n_columns
        self.classes_ = np.arange(n_columns if top is None else top + 1)
        self.slope_, self.shifts_ = 1.0, np.zeros(n_columns - 1)
        self.is_identity_ = True
        if y is not None:
            grades = as_grades(y, probs.shape[0], n_columns - 1)
            if self.recalibrate and grades.size:
                self._learn(probs, grades)
        return self

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return the recalibrated probabilities, shape (n, n_grades).

        Raises
        ------
        InputError
            Names the first row that is no probability distribution.
        """
        if not hasattr(self, "classes_"):
            return np.asarray(clone(self).fit(X).predict_proba(X), dtype=np.float64)
        self._check_columns(X)
        given_probs = as_probabilities(X, "X")
        if self.is_identity_:
            probs = given_probs / given_probs.sum(axis=1, keepdims=True)
        else:
            probs = from_cumulative(expit(self.slope_ * _cumulative_logits(given_probs) - self.shifts_))
        return np.pad(probs, ((0, 0), (0, self.classes_.size - probs.shape[1])))

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def _learn(self, probs: Floats, grades: Ints) -> None:
        logits = _cumulative_logits(probs)
        signs = np.where(grades[:, None] <= np.arange(logits.shape[1]), 1.0, -1.0)
        solution = minimize(
            recalibration_loss,
            np.zeros(logits.shape[1] + 2),
            args=(logits, signs, self.prior_precision),
            jac=True,
            method="L-BFGS-B",
            bounds=[LOG_SLOPE_BOUNDS] + [(None, None)] * (logits.shape[1] + 1),
        )
        self.slope_ = float(np.exp(solution.x[0]))
        self.shifts_ = solution.x[1] + solution.x[2:]
        self.is_identity_ = False


def recalibration_loss(params: Floats, logits: Floats, signs: Floats, precision: float) -> tuple[float, Floats]:
    """Return the negative log posterior of the recalibration and its gradient.

    Parameters
    ----------
    params : array, shape (2 + n_thresholds,)
        log a, the shared shift b, then each threshold's own d_k.
    logits : array, shape (n, n_thresholds)
        logit p(y ≤ k).
    signs : array, shape (n, n_thresholds)
        1 where y ≤ k, else −1.
    precision : float
        π, of the prior of log a and b; d_k has four times as much.
    """
    slope, shifts = np.exp(params[0]), params[1] + params[2:]
    margins = signs * (slope * logits - shifts)
    pulls = -signs * expit(-margins)
    pulled = precision * np.concatenate((params[:2], OWN_SHIFT * params[2:]))
    loss = np.logaddexp(0, -margins).sum() + 0.5 * (params @ pulled)
    of_shifts = -pulls.sum(axis=0)
    gradient = np.concatenate(([slope * (pulls * logits).sum(), of_shifts.sum()], of_shifts)) + pulled
    return float(loss), gradient


def _cumulative_logits(probs: Floats) -> Floats:
    cumulative = np.cumsum(probs, axis=1)[:, :-1] / probs.sum(axis=1, keepdims=True)
    clipped = np.clip(cumulative, SMALLEST_CUMULATIVE, 1 - SMALLEST_CUMULATIVE)
    return np.asarray(logit(clipped), dtype=np.float64)
