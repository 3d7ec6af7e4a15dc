"""Grade model from a grader's values: expected grades of people for each value, updated by labels."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from activeeval.core.errors import InputError
from activeeval.core.grade_models.base import GradeModel
from activeeval.core.grade_models.probabilities import as_grades, as_probabilities
from activeeval.core.grade_models.values import PRIOR_LABELS, posterior
from activeeval.core.types import Floats, Ints


class GraderModel(GradeModel):
    """People's grades given the value of a grader (an LLM or another model), with a prior that labels update.

    The probabilities for a value r combine its labels' counts c with `PRIOR_LABELS` w pseudo-labels with the expected
    distribution: (c_rk + w P⁰_rk) / (c_r + w).

    Parameters
    ----------
    expected : array of float, shape (n_kinds + 1, n_grades)
        P⁰, as `ValueTable.probs`: the expected distribution for each distinct value, and last for a missing one.
    prior_labels : float
        w.
    max_grade : int, optional
        Largest grade; the last column of ``expected``.

    Examples
    --------
    >>> model = GraderModel([[0.8, 0.2], [0.4, 0.6], [0.5, 0.5]])
    >>> model.predict_proba([[1.0]]), model.fit([[1.0]] * 8, [1] * 8).predict_proba([[0.0], [1.0]])
    (array([[0.4, 0.6]]), array([[0.8, 0.2],
           [0.2, 0.8]]))
    """

    def __init__(self, expected: ArrayLike, prior_labels: float = PRIOR_LABELS, max_grade: int | None = None) -> None:
        """Store the parameters.

        ``expected`` (n_kinds + 1, n_grades) are the probabilities of the grades for each distinct value of the grader,
        last for a missing one; ``prior_labels`` is their weight, in labels; ``max_grade`` is n_grades − 1 or None.
        """
        self.expected = expected
        self.prior_labels = prior_labels
        self.max_grade = max_grade

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Update the expected probabilities by judged items.

        Parameters
        ----------
        X : array of float, shape (n, 1)
            Code of each item's value: its number among the distinct values, ascending, the last if it is missing.
        y : array of int, shape (n,), optional
            Grades from 0; None: no update.

        Raises
        ------
        InputError
            If ``expected``, a code or a grade is invalid.
        """
        table = as_probabilities(self.expected, "expected")
        if self.max_grade not in (None, table.shape[1] - 1):
            raise InputError(f"expected has {table.shape[1]} columns, max_grade is {self.max_grade}")
        self.n_features_in_, self.classes_ = 1, np.arange(table.shape[1])
        counts = np.zeros_like(table)
        if y is not None:
            codes = self._codes(X, len(table))
            np.add.at(counts, (codes, as_grades(y, codes.size, table.shape[1] - 1)), 1.0)
        self.probs_ = posterior(counts, table, self.prior_labels)
        return self

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Look up the grade probabilities for codes of values, shape (n, n_grades).

        X has shape (n, 1), the code of each item's value: its number among the distinct values, ascending, the last if
        it is missing. Raises InputError for an invalid code.
        """
        probs = self.probs_ if hasattr(self, "probs_") else as_probabilities(self.expected, "expected")
        return np.asarray(probs[self._codes(X, len(probs))])

    def __sklearn_is_fitted__(self) -> bool:
        """True: without a fit, the expected probabilities are used."""
        return True

    @staticmethod
    def _codes(X: ArrayLike, n_kinds: int) -> Ints:
        """Convert X to codes of values, shape (n,); raise InputError unless all lie in 0 … n_kinds − 1."""
        codes = np.asarray(X, dtype=np.float64).reshape(-1).astype(np.int64)
        if codes.size and not 0 <= codes.min() <= codes.max() < n_kinds:
            raise InputError(f"kinds of values lie between 0 and {n_kinds - 1}, got {codes.min()} to {codes.max()}")
        return codes
