"""Models without features: equal probabilities, and given probabilities, recalibrated by labels."""

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

# Tolerance of row sums: a smaller cumulative probability is rounding error.
SMALLEST_CUMULATIVE = 1e-6
# 32 standard deviations of the prior at its default precision: bounds that keep the search finite with a weak prior.
LOG_SLOPE_BOUNDS = (-5.0, 5.0)
# The prior of a threshold's own shift has half the standard deviation of the common shift. In a simulation with four
# grades and 300 labels, 4 compared with 1 loses .0015 less log-loss on calibrated probabilities, and recovers .06 less
# of the .25 lost when each threshold is shifted by another amount.
OWN_SHIFT = 4.0


class UniformGradeModel(GradeModel):
    """A model with equal probabilities of all grades, p(y = k) = 1/(Y + 1), for use when no model is available.

    Parameters
    ----------
    max_grade : int, optional
        Largest grade Y. If given, the model needs no fit; otherwise `fit` uses the largest training grade.

    Examples
    --------
    >>> UniformGradeModel(max_grade=1).predict_proba([[3.0], [4.0]])
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """

    def __init__(self, max_grade: int | None = None) -> None:
        """Store the largest grade; None: `fit` takes the largest training grade."""
        self.max_grade = max_grade

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Set the number of grades from `max_grade`, or else from the training grades ``y``.

        Raises InputError if neither tells it, X has no rows axis, or a grade is invalid. The values of X are ignored.
        """
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
        """Predict 1/(Y + 1) for every row and grade, shape (n, n_grades); the values of X are ignored."""
        n_grades = (self if hasattr(self, "classes_") else clone(self).fit(X)).classes_.size
        return np.full((np.shape(X)[0], n_grades), 1.0 / n_grades)

    def __sklearn_is_fitted__(self) -> bool:
        """True if the number of grades is known, from `fit` or from `max_grade`."""
        return hasattr(self, "classes_") or self.max_grade is not None


class GivenProbabilities(GradeModel):
    """Given probabilities of the grades (from an LLM judge or a click model), recalibrated if labels are available.

    The features *are* the probabilities, one column per grade. With labels, `fit` learns

        logit p'(y ≤ k) = a · logit p(y ≤ k) − b_k,      a > 0,

    by the logistic losses of all thresholds {y ≤ k} and a Gaussian prior around the identity:
    log a ~ N(0, 1/π), b_k = b + d_k with b ~ N(0, 1/π) and d_k ~ N(0, 1/(4π)), so that a shift common
    to all thresholds is learned first. Different b_k can make p'(y ≤ k) decrease in k; such rows
    are rearranged (sorted). Without labels the probabilities are not changed.

    Parameters
    ----------
    recalibrate : bool
        If False, the probabilities are returned unchanged even with labels.
    max_grade : int, optional
        Columns of zeros are added up to this grade; by default the columns of X are the grades.
    prior_precision : float
        π above. A label's information on a shift is at most 1/4 per threshold, so that 40 weighs as
        much as 160 labels of two grades. Measured with four grades: for calibrated
        probabilities, labels raise the log-loss of 1.1 by 0.004 at most, for any number of labels; for distorted
        ones, 30 labels recover a quarter to a half of the loss from the distortion, 300 labels three
        quarters or more, but only a third if each threshold is shifted by another amount.

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
        """Store the parameters.

        ``recalibrate``: learn from labels to correct the given probabilities; ``max_grade``: add columns of zeros up to
        this grade (None: none); ``prior_precision``: weight of the prior of no correction (40: as much as 160 labels of
        two grades).
        """
        self.recalibrate = recalibrate
        self.max_grade = max_grade
        self.prior_precision = prior_precision

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Learn the recalibration.

        Parameters
        ----------
        X : array of float, shape (n, n_grades)
            Given probabilities; rows sum to 1 within 1e-6.
        y : array of int, shape (n,), optional
            Grades from 0; leave out unjudged rows. None: no recalibration.

        Raises
        ------
        InputError
            Names the first invalid row.
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
        """Compute the recalibrated probabilities of given ones, X of shape (n, n_grades).

        Raises
        ------
        InputError
            If a row is not a probability distribution; names the first.
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
        """True: without a fit, the given probabilities are returned unchanged."""
        return True

    def _learn(self, probs: Floats, grades: Ints) -> None:
        """Fit slope a and shifts b_k of logit p'(y ≤ k) = a logit p(y ≤ k) − b_k by minimizing `recalibration_loss`.

        ``probs`` (n, n_grades) are the given probabilities p, ``grades`` (n,) the labels.
        """
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
    """Compute the negative log posterior of the recalibration logit p'(y ≤ k) = a logit p(y ≤ k) − b − d_k.

    Returns the value and its gradient with respect to ``params``.

    Parameters
    ----------
    params : array, shape (2 + n_thresholds,)
        log a, the common shift b, then the shift d_k of each threshold.
    logits : array, shape (n, n_thresholds)
        logit p(y ≤ k).
    signs : array, shape (n, n_thresholds)
        1 if y ≤ k, else −1.
    precision : float
        Prior precision π of log a and b; that of d_k is four times as large.
    """
    slope, shifts = np.exp(params[0]), params[1] + params[2:]
    margins = signs * (slope * logits - shifts)
    # pulls: derivative of each logistic loss by its logit; pulled: that of the prior by the parameters
    pulls = -signs * expit(-margins)
    pulled = precision * np.concatenate((params[:2], OWN_SHIFT * params[2:]))
    loss = np.logaddexp(0, -margins).sum() + 0.5 * (params @ pulled)
    of_shifts = -pulls.sum(axis=0)
    gradient = np.concatenate(([slope * (pulls * logits).sum(), of_shifts.sum()], of_shifts)) + pulled
    return float(loss), gradient


def _cumulative_logits(probs: Floats) -> Floats:
    """Compute logit p(y ≤ k), clipped to a finite range, shape (n, n_grades − 1)."""
    cumulative = np.cumsum(probs, axis=1)[:, :-1] / probs.sum(axis=1, keepdims=True)
    clipped = np.clip(cumulative, SMALLEST_CUMULATIVE, 1 - SMALLEST_CUMULATIVE)
    return np.asarray(logit(clipped), dtype=np.float64)
