"""Warnings about gains and discounts that the preference pairs do not determine."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from activeeval.core.errors import InputError
from activeeval.core.results import Caution
from activeeval.core.types import Floats
from activeeval.gains.pair_summary import PairSummary, open_pairs
from activeeval.gains.pairs import PreferenceData
from activeeval.gains.readout import ReadOut, read_out
from activeeval.gains.regularization_choice import TunedC

# Relative to the largest eigenvalue. With 20 to 800 pairs of ten ranks and five grades, hidden directions lie below
# 1e-15, the others above .008.
_UNSEEN = 1e-9
# Round figures. With 20 pairs or more, true gains times discounts have a rank-one share of .97 or more.
_MOST, _FEW = 0.9, 0.05
_RISE = 1e-6  # largest rise of a discount that is solver error, see `activeeval.gains.readout`
_ONE_IN_TWENTY = 1.64  # standard errors: random answers exceed it one time in twenty


class UndeterminedWarning(UserWarning):
    """Warning that preferences do not determine some gains or discounts: only the penalty and the shape constraint do.

    Parameters
    ----------
    caution : Caution
        The undetermined part; `activeeval.report.message_lookup` has its message.
    """

    def __init__(self, caution: Caution) -> None:
        """Store the caution (a warning as data); its text is the message."""
        super().__init__(str(caution))
        self.caution = caution


def cautions(data: PreferenceData, summary: PairSummary, weights: Floats, shape: str, with_ties: bool) -> list[Caution]:
    """List the warnings about weights learned from preference pairs, and about their gains and discounts.

    Parameters
    ----------
    data : PreferenceData
        All pairs.
    summary : PairSummary
        Counts of the uninformative pairs of `data`.
    weights : ndarray, shape (K, L)
        Learned weight of each rank (rows) and grade (columns).
    shape : str
        Constraint on the weights. Only "decreasing" assumes falling discounts, so only then are pairs uninformative on
        which all DCGs agree.
    with_ties : bool
        True if the weights were learned from ties too.
    """
    # counts of preferences: indistinguishable: between equal lists; decided, unexplainable: every DCG agrees, disagrees
    warnings: list[Caution] = []
    falls = shape == "decreasing"
    if falls and summary.unexplainable + summary.indistinguishable == summary.pairs:
        warnings.append(Caution("warning", "none explainable", {"pairs": summary.pairs}))
    n_silent = summary.indistinguishable + (summary.decided if falls else 0)
    if n_silent > _MOST * summary.pairs:
        warnings.append(Caution("warning", "silent preferences", {"n": n_silent, "pairs": summary.pairs}))
    informs = np.where(data.ties, with_ties, open_pairs(data) if falls else (data.preferred != data.other).any(axis=1))
    informative = data.subset(informs) if informs.any() else data
    try:
        readout = read_out(weights)
    except InputError as problem:
        unread = Caution("warning", "nothing read out", {"why": str(problem)})
        return [*warnings, *blind_spots(informative, None), unread]
    warnings += blind_spots(informative, readout)
    falls_but_for_a_constant = _hold_same_grades(informative).all() and not np.any(np.diff(readout.discounts) > _RISE)
    if not (readout.falls or falls_but_for_a_constant):
        warnings.append(Caution("warning", "rising discounts"))
    if readout.rank_one_share < _MOST:
        warnings.append(Caution("warning", "weights are no product", {"share": readout.rank_one_share}))
    return warnings


def of_choice(chosen: TunedC, summary: PairSummary) -> list[Caution]:
    """Warn if held-out preferences are ordered hardly better than by chance: a list of one warning, or an empty one.

    `chosen` is the selected value of C with its held-out performance. Preferences between equal lists are not counted.
    """
    n_informative = summary.pairs - summary.indistinguishable
    # no measure orders equal lists, so they count as wrong in the precision over all pairs
    share = min(chosen.precision * summary.pairs / n_informative, 1.0)
    if share > 0.5 + _ONE_IN_TWENTY * np.sqrt(0.25 / n_informative):
        return []
    return [Caution("warning", "hardly better than chance", {"share": float(share), "n": n_informative})]


def blind_spots(data: PreferenceData, readout: ReadOut | None) -> list[Caution]:
    """List the warnings about directions of gains and discounts that the pairs do not determine.

    A direction changes the gains g and discounts c. It is undetermined if it changes no pair's difference: a null
    vector of D J, with D the differences of the pairs (`PreferenceData.differences`) and J the derivative of c gᵀ by c
    and g. The overall scale of c and g is always such a direction. Each usual direction has a warning of its own; one
    more counts the rest.

    Parameters
    ----------
    data : PreferenceData
        The informative pairs.
    readout : ReadOut or None
        The gains and discounts. None if the weights have none; the rest is then not counted.
    """
    reasons = [reason for grade in range(1, data.n_levels) for reason in _of_grade(data, grade)]
    n_named = len(reasons)
    never = np.flatnonzero((data.preferred == data.other).all(axis=0)) + 1
    if never.size:
        reasons.append(Caution("warning", "ranks without difference", {"ranks": tuple(never.tolist())}))
    n_apart = data.n_pairs - int(_hold_same_grades(data).sum())
    if n_apart == 0:
        reasons.append(Caution("warning", "discounts up to a constant"))
    elif n_apart < _FEW * data.n_pairs:
        reasons.append(Caution("warning", "few tell the constant", {"n": n_apart, "pairs": data.n_pairs}))
    n_named += never.size + (n_apart == 0)
    if readout is not None and (n_left := _hidden_directions(data, readout) - n_named) > 0:
        reasons.append(Caution("warning", "hidden directions", {"n": n_left}))
    return reasons


def _hold_same_grades(data: PreferenceData) -> NDArray[np.bool_]:
    """Mark the pairs whose two lists hold the same grades in any order, shape (n_pairs,)."""
    return np.asarray((np.sort(data.preferred, axis=1) == np.sort(data.other, axis=1)).all(axis=1))


def _of_grade(data: PreferenceData, grade: int) -> list[Caution]:
    """Warn about a grade that occurs in no difference of a pair, or is never separated from the grade below.

    The list has one warning, or none.
    """
    if not np.any((data.preferred == grade) != (data.other == grade)):
        return [Caution("warning", "grade not weighed", {"grade": grade})]
    if not np.any((data.preferred >= grade) != (data.other >= grade)):
        return [Caution("warning", "grades not told apart", {"grade": grade, "below": grade - 1})]
    return []


def _hidden_directions(data: PreferenceData, readout: ReadOut) -> int:
    """Count the undetermined directions at these gains and discounts, except the overall scale.

    A direction is a joint change of gains and discounts; it is undetermined if, to first order, it changes the
    difference of no pair's two lists.
    """
    n_ranks, n_levels = data.depth, data.n_levels
    # derivatives of the weights c gᵀ, flattened by rank, then grade: one column for each discount and each gain above 0
    by_discount = np.kron(np.eye(n_ranks), readout.gains[:, None])
    by_gain = np.kron(readout.discounts[:, None], np.eye(n_levels)[:, 1:])
    differences = data.differences()
    seen = (differences.T @ differences).toarray()
    tangent = np.hstack((by_discount, by_gain))
    spectrum = np.linalg.eigvalsh(tangent.T @ seen @ tangent)  # ascending; 0 for a direction that no pair sees
    return int((spectrum < _UNSEEN * spectrum[-1]).sum()) - 1
