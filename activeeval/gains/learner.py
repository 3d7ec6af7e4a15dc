"""DCGLearn: gains and discounts from preferences (Zhou, Zha, Chang and Xue)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from activeeval.core.checks import brief, is_number, one_of, whole_number
from activeeval.core.errors import InputError
from activeeval.core.measures import Additive, RankGains
from activeeval.core.types import Floats, Ints
from activeeval.gains.cautions import UndeterminedWarning, cautions, of_choice
from activeeval.gains.convex_program import MARGINS, SHAPES, Program
from activeeval.gains.pair_summary import both_ways, summarize_pairs
from activeeval.gains.pairs import PreferenceData
from activeeval.gains.readout import ReadOut, anchored, read_out, told_apart
from activeeval.gains.regularization_choice import Split, TunedC, folds, held_out_losses

# Half powers of ten. Wherever benchmarks/metric_learning chooses C from data, the mean of its logarithm lies between
# −1.5 and 2.2, inside both ends; the command line reports a C at an end.
GRID = tuple(float(f"{10.0**power:.4g}") for power in np.arange(-3, 3.5, 0.5))


class GainDiscountLearner(BaseEstimator):  # type: ignore[misc]
    """Learn the gain of each grade at each rank from preferences between ranked lists.

    With s(π) the indicator of the grade at each rank, the utility of a list is wᵀs(π), and the weights minimise

        wᵀw + C Σ_preferences ξ² + C_ties Σ_ties ξ²        (eqs. 1–3, with ties 6–8)

    subject to wᵀ(s(preferred) − s(other)) ≥ margin − ξ for preferences, ``|wᵀ(s_i − s_j)|`` ≤ tie_margin + ξ for ties,
    ξ ≥ 0 and the shape.

    Parameters
    ----------
    C : float or "cv"
        Weight of the loss of one preference. "cv" takes the value of `grid` with the least loss on held-out pairs: by
        cross-validation, or on the validation set passed to `fit`.
    C_ties : float, optional
        Weight of the loss of one tie; by default C. 0 ignores ties.
    shape : {"decreasing", "monotone", "free"}
        monotone: a better grade never has a smaller weight, w_{k,y+1} ≥ w_{k,y}, as in the paper. decreasing: in
        addition, its advantage never grows from a rank to the next, as in every DCG; this needs far fewer pairs.
        free: no constraint. Documents without grades are always free.
    margin : {"unit", "grades", "documents"}
        1 for every preference, or the number of ranks at which the lists hold different grades or documents.
    tie_margin : float
        Largest difference of the utilities of tied lists without loss: 1 as printed in the paper, or 0.
    conflicts : {"error", "keep"}
        If two lists of a query are preferred both ways: raise InputError, or learn from both.
    grid : sequence of float
        Candidates for C.
    n_folds : int
        Number of folds of the cross-validation.
    rng : Generator, int or None
        Random state that assigns pairs to folds.

    Attributes
    ----------
    weights_ : ndarray, shape (K, L)
        T(ŵ), the optimal weights minus those of grade 0: rows by rank (K), columns by grade (L); column 0 is 0.
    C_, C_ties_ : float
        Weights of the loss of a preference and of a tie that were used.
    choices_ : tuple of TunedC
        Held-out loss of each candidate for C; empty if C was preset.
    pair_summary_ : PairSummary
        Counts of repeated, contradictory and uninformative pairs.
    n_violated_ : int
        Number of preferences that the weights misorder.
    cautions_ : tuple of Caution
        Weights that the pairs do not determine; `fit` warns of them too (`UndeterminedWarning`).
    n_ranks_, n_levels_ : int
        K and L, numbers of ranks and grades (0 included).

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> lists = random.integers(0, 3, size=(2, 200, 4))
    >>> truth = np.outer([1, 0.6, 0.5, 0.4], [0, 1, 3])
    >>> first, second = (truth[np.arange(4), side].sum(axis=1) for side in lists)
    >>> better = (first > second)[:, None]
    >>> data = PreferenceData(np.where(better, *lists), np.where(better, *lists[::-1]), ties=first == second)
    >>> learner = GainDiscountLearner(C=10.0).fit(data)
    >>> print(f"{learner.score(data):.2f}", learner.read_out().discounts.round(1))
    0.99 [1.  0.6 0.5 0.4]
    """

    def __init__(
        self,
        C: float | str = "cv",
        C_ties: float | None = None,
        shape: str = "decreasing",
        margin: str = "unit",
        tie_margin: float = 1.0,
        conflicts: str = "error",
        grid: Sequence[float] = GRID,
        n_folds: int = 5,
        rng: np.random.Generator | int | None = 0,
    ) -> None:
        """Store the parameters; `fit` checks them.

        ``C`` and ``C_ties`` (None: C) weigh the loss of a preference and of a tie; "cv" takes the C of ``grid`` with
        the least loss in a cross-validation of ``n_folds`` folds, drawn with seed ``rng``. ``shape`` constrains the
        weights of grades at ranks: "decreasing", "monotone" or "free". ``margin`` of a preference: "unit" is 1,
        "grades" or "documents" the ranks at which they differ; ``tie_margin``: the difference of tied lists without
        loss. ``conflicts``: "error" refuses lists that are preferred both ways, "keep" learns from both.
        """
        self.C = C
        self.C_ties = C_ties
        self.shape = shape
        self.margin = margin
        self.tie_margin = tie_margin
        self.conflicts = conflicts
        self.grid = grid
        self.n_folds = n_folds
        self.rng = rng

    def fit(self, data: PreferenceData, y: Any = None, *, validation: PreferenceData | None = None) -> Self:
        """Learn weights from pairs.

        Parameters
        ----------
        data : PreferenceData
        y : None
            Ignored; exists for scikit-learn.
        validation : PreferenceData, optional
            Pairs that choose C in place of cross-validation.

        Raises
        ------
        InputError
            If all pairs are tied, lists of a query are preferred both ways, or a parameter is invalid.
        SolverError
            If the solver does not reach its tolerance.
        """
        self._check_parameters()
        if validation is not None and self.C != "cv":
            raise InputError("a validation set chooses C, which is given")
        self._check_pairs(data)
        program = self.program(data)
        self.choices_ = self._choices(data, program, validation) if self.C == "cv" else ()
        chosen = min(self.choices_, key=lambda choice: choice.loss, default=None)
        self.C_ = float(self.C) if chosen is None else chosen.C
        self.C_ties_ = self.C_ if self.C_ties is None else float(self.C_ties)
        self.n_ranks_, self.n_levels_, self.documents_ = data.depth, data.n_levels, data.documents
        self.weights_ = anchored(program.solve(self.C_))
        self.pair_summary_ = summarize_pairs(data)
        self.n_violated_ = int((~self._is_right(data)).sum())
        all_cautions = [] if chosen is None else of_choice(chosen, self.pair_summary_)
        if not data.documents:
            all_cautions += cautions(data, self.pair_summary_, self.weights_, self.shape, self.C_ties_ > 0)
        self.cautions_ = tuple(all_cautions)
        for caution in self.cautions_:
            warnings.warn(UndeterminedWarning(caution), stacklevel=2)
        return self

    def program(self, data: PreferenceData) -> Program:
        """Build the convex program (bounds on the weights, and their shape) of pairs; InputError on a bad parameter."""
        self._check_parameters()
        return Program.of(data, self.shape, self.margin, float(self.tie_margin), self.C_ties)

    def decision_function(self, data: PreferenceData) -> Floats:
        """Compute the utility of the first list of every pair minus that of the second, shape (n,).

        A difference within the solver's error is 0. InputError is raised if the pairs have other ranks or grades than
        learned.
        """
        check_is_fitted(self)
        check_alike(data, self.n_ranks_, self.n_levels_, self.documents_)
        return told_apart(data.differences(), self.weights_)

    def predict(self, data: PreferenceData) -> Ints:
        """Predict the preferred list of each pair: 1 the first, −1 the second, 0 neither; shape (n,)."""
        return np.sign(self.decision_function(data)).astype(np.int64)

    def score(self, data: PreferenceData, y: Any = None) -> float:
        """Compute the precision: the share of the preferences that the weights order correctly; ties are left out.

        `y` is ignored. InputError is raised if all pairs are tied.
        """
        right = self._is_right(data)
        if not right.size:
            raise InputError("all pairs are tied, so that none can be ordered rightly")
        return float(right.mean())

    def read_out(self) -> ReadOut:
        """Factor the weights into gains and discounts.

        Raises
        ------
        InputError
            If the documents are ungraded, all weights are 0, or those of the first rank are all equal.
        """
        check_is_fitted(self)
        if self.documents_:
            raise InputError("documents that nobody graded have no gains to read out; their weights are in weights_")
        return read_out(self.weights_)

    def measure(self, best_gain: float | None = None) -> Additive:
        """Build the measure Σ_k c_k g(y_k) from the gains g and discounts c of `read_out`, rounded to six digits.

        The name of the measure holds every number, so that any record of the measure identifies it.

        Parameters
        ----------
        best_gain : float, optional
            Gain of the best grade, positive; preferences do not depend on it. By default the gain on the scale of the
            weights.

        Raises
        ------
        InputError
            As `read_out`, and if `best_gain` or the learned gain of the best grade is not positive.
        """
        readout = self.read_out()
        if best_gain is not None and not (0 < best_gain < np.inf and readout.gains[-1] == 1):
            raise InputError(f"best_gain must be positive, as must be the gain of the best grade, got {best_gain!r}")
        gains = (readout.scale if best_gain is None else best_gain) * readout.gains
        return Additive(_short(gains), _short(readout.discounts), self.n_ranks_)

    def rank_gains(self, best_gain: float | None = None) -> RankGains:
        """Build a measure of the weights themselves: a gain for every rank and grade, rounded to six digits.

        Parameters
        ----------
        best_gain : float, optional
            Gain of the best grade at the first rank, positive.

        Raises
        ------
        InputError
            If the documents are ungraded, or `best_gain` or the learned gain of the best grade is not positive.

        Examples
        --------
        >>> lists = np.random.default_rng(0).integers(0, 3, size=(2, 50, 2))
        >>> first, second = (np.array([[0, 1, 3], [0, 0, 2]])[np.arange(2), side].sum(axis=1) for side in lists)
        >>> better = (first > second)[:, None]
        >>> data = PreferenceData(np.where(better, *lists), np.where(better, *lists[::-1]), ties=first == second)
        >>> measure = GainDiscountLearner(C=100.0).fit(data).rank_gains(best_gain=3)
        >>> measure.gains[0][-1], measure.max_grade
        (3.0, 2)
        """
        check_is_fitted(self)
        if self.documents_:
            raise InputError("documents that nobody graded have no gains; their weights are in weights_")
        best = float(self.weights_[0, -1])
        if best_gain is not None and not (0 < best_gain < np.inf and best > 0):
            raise InputError(f"best_gain must be positive, as must be the gain of the best grade, got {best_gain!r}")
        weights = self.weights_ if best_gain is None else self.weights_ * (best_gain / best)
        return RankGains(np.reshape(_short(weights.ravel()), weights.shape))

    def _is_right(self, data: PreferenceData) -> NDArray[np.bool_]:
        """Mark the preferences that the weights order correctly, shape (n_preferences,); ties are left out."""
        return np.asarray(self.decision_function(data)[~data.ties] > 0)

    def _choices(self, data: PreferenceData, program: Program, validation: PreferenceData | None) -> tuple[TunedC, ...]:
        """Compute the held-out loss of each candidate for C, on a validation set or (if None) by cross-validation."""
        if validation is None:
            return held_out_losses(program, self.grid, folds(data, program, int(self.n_folds), self.rng))
        self._check_pairs(validation)
        check_alike(validation, data.depth, data.n_levels, data.documents)
        program_of_validation = self.program(validation)
        return held_out_losses(program, self.grid, [Split(None, program_of_validation, ~program_of_validation.is_tie)])

    def _check_pairs(self, data: PreferenceData) -> None:
        """Raise InputError if no preference is between different lists, or if two lists are preferred both ways."""
        if not isinstance(data, PreferenceData):
            raise InputError(f"the pairs must be PreferenceData, got {type(data).__name__}")
        if data.ties.all():
            raise InputError(f"each of the {data.n_pairs} pairs is a tie: a preference is needed to learn from")
        if np.array_equal(data.preferred[~data.ties], data.other[~data.ties]):
            raise InputError("no preference is between lists of different grades, so there is nothing to learn from")
        conflicts = both_ways(data) if self.conflicts == "error" else np.empty((0, 2), dtype=np.int64)
        if len(conflicts):
            first, second = conflicts[0].tolist()
            raise InputError(
                f"{data.place(second)} prefers the lists of {data.place(first)} the other way round, one of "
                f"{len(conflicts)} such contradictions; with `conflicts` keep it is learned from both",
                field="conflicts",
            )

    def _check_parameters(self) -> None:
        """Raise InputError on the first invalid parameter."""
        is_chosen = isinstance(self.C, str) and self.C == "cv"
        if is_chosen and (not isinstance(self.grid, (Sequence, np.ndarray)) or len(self.grid) == 0):
            raise InputError(f"grid must hold candidates for C, got {self.grid!r}")
        loss_weights = {f"grid[{k}]": C for k, C in enumerate(self.grid)} if is_chosen else {"C": self.C}
        loss_weights["C_ties"] = 0.0 if self.C_ties is None else self.C_ties
        for name, value in loss_weights.items():
            is_weight = is_number(value) and 0 <= float(value) < np.inf
            if not is_weight or (name != "C_ties" and not float(value) > 0):
                kind = "finite and not negative" if name == "C_ties" else "positive and finite"
                or_cv = ", or 'cv'" if name == "C" else ""
                raise InputError(f"{name} must be {kind}{or_cv}, got {brief(value)}")
        for name, value, known in (
            ("shape", self.shape, SHAPES),
            ("margin", self.margin, MARGINS),
            ("conflicts", self.conflicts, ("error", "keep")),
        ):
            one_of(value, known, name)
        if not (is_number(self.tie_margin) and 0 <= self.tie_margin < np.inf):
            raise InputError(f"tie_margin must be a number that is not negative, got {brief(self.tie_margin)}")
        whole_number(self.n_folds, "n_folds", 2)


def _short(values: Floats) -> list[float]:
    """Round values to six significant digits; a value within the solver's error becomes 0."""
    cleaned = np.where(np.abs(values) > 1e-6 * np.abs(values).max(), values, 0.0)
    return [float(f"{value:.6g}") for value in cleaned]


def check_alike(data: PreferenceData, n_ranks: int, n_levels: int, documents: tuple[str, ...]) -> None:
    """Raise InputError if pairs have other ranks, grades or documents than the learned weights."""
    if (data.depth, data.n_levels) != (n_ranks, n_levels):
        raise InputError(
            f"the pairs have {data.depth} ranks of {data.n_levels} grades, learned were {n_ranks} ranks of {n_levels}"
        )
    if data.documents != documents:
        raise InputError("the pairs are of other documents than those that were learned")
